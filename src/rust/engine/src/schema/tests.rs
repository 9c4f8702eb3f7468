#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::value::{HostData, Opaque, Signature, json};

fn schema(json: Value) -> Schema {
    Schema::compile(&json).unwrap()
}

fn object(properties: Value) -> Schema {
    schema(json!({"type": "object", "properties": properties}))
}

fn named(items: &[(&str, HostValue)]) -> HostValue {
    HostValue::named(items.iter().cloned())
}

fn args(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn case_106_a_missing_property_is_named_and_extras_are_kept() {
    let s = schema(json!({"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}));
    let checked = s.check_host(&named(&[("n", 3.into())]));
    assert_eq!(checked.errors, ["missing required property 'code'."]);
    assert_eq!(checked.input, json!({"n": 3}));
    assert_eq!(s.validate(&json!({"n": 3})), ["missing required property 'code'."]);
}

#[test]
fn case_107_r_values_are_coerced_as_the_schema_asks() {
    let s = object(json!({"timeout": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}));
    let checked = s.check_host(&named(&[("timeout", 30.0.into()), ("tags", "a".into())]));
    assert_eq!(checked, Checked { input: json!({"timeout": 30, "tags": ["a"]}), errors: vec![] });
    assert!(checked.input["timeout"].is_i64());
}

#[test]
fn case_107_four_wrong_values_are_four_errors() {
    let s = object(json!({
        "code": {"type": "string"}, "n": {"type": "integer"}, "size": {"enum": ["small", "large"]}, "ok": {"type": "boolean"}
    }));
    let wrong = named(&[("code", 1.0.into()), ("n", 2.5.into()), ("size", "medium".into()), ("ok", "yes".into())]);
    let expected = [
        "'code' must be string, not numeric of length 1.",
        "'n' must be integer, not numeric of length 1.",
        "'size' must be one of \"small\", \"large\".",
        "'ok' must be boolean, not character of length 1.",
    ];
    let sorted = |mut v: Vec<String>| {
        v.sort();
        v
    };
    let expected = sorted(expected.iter().map(|s| (*s).to_owned()).collect());
    assert_eq!(sorted(s.check_host(&wrong).errors), expected);
    assert_eq!(sorted(s.validate(&json!({"code": 1.5, "n": 2.5, "size": "medium", "ok": "yes"}))), expected);
}

#[test]
fn case_107_liberties_of_a_models_json_are_put_right() {
    let s = schema(json!({
        "type": "object",
        "properties": {
            "timeout": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}, "n": {"type": "number"},
            "ids": {"$ref": "#/$defs/ids"}, "rows": {"type": "array", "items": {"type": "object"}},
            "both": {"type": ["string", "array"]},
            "deep": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "array"}}}}
        },
        "$defs": {"ids": {"type": ["array", "null"], "items": {"type": "integer"}}}
    }));
    let input =
        json!({"timeout": 30.0, "tags": "a", "n": 2.0, "ids": 7.0, "both": "x", "deep": [{"k": 1}, {"k": [2]}]});
    let right =
        json!({"timeout": 30, "tags": ["a"], "n": 2.0, "ids": [7], "both": "x", "deep": [{"k": [1]}, {"k": [2]}]});
    let adapted = s.adapted(&input);
    assert_eq!(*adapted, right);
    assert!(adapted["timeout"].is_i64() && adapted["n"].is_f64() && s.validate(&adapted).is_empty());
    for kept in [
        json!({"timeout": "30"}),
        json!({"timeout": [30]}),
        json!({"rows": "x"}),
        json!({"tags": null}),
        json!({"timeout": 2.5}),
    ] {
        assert_eq!(*s.adapted(&kept), kept);
        assert_eq!(s.validate(&kept).len(), 1, "{kept}");
    }
}

#[test]
fn a_schema_is_compiled_once_for_all_who_have_its_text() {
    let json = json!({"type": "object", "properties": {"once": {"type": "string"}}});
    let (a, b) = (schema(json.clone()), schema(json));
    assert!(Arc::ptr_eq(&a.inner, &b.inner));
    assert!(!Arc::ptr_eq(&a.inner, &schema(json!({"type": "object"})).inner));
    for n in 0..600 {
        assert_eq!(schema(json!({"const": n})).json()["const"], n);
    }
}

#[test]
fn vectors_are_read_alike_whatever_their_length_and_errors_name_the_element() {
    let s = object(json!({
        "n": {"type": "array", "items": {"type": "number"}}, "i": {"type": "array", "items": {"type": "integer"}},
        "s": {"type": "array", "items": {"type": ["string", "null"]}}, "list": {"type": "array"}
    }));
    let check = |name: &str, data: HostData| s.check_host(&named(&[(name, data.into())]));
    let numbers = check("n", HostData::Double(vec![Some(1.0), Some(2.5), Some(1e300)]));
    assert_eq!(numbers, Checked { input: json!({"n": [1, 2.5, 1e300]}), errors: vec![] });
    let gaps = check("s", HostData::Character(vec![Some("a".into()), None]));
    assert_eq!(gaps, Checked { input: json!({"s": ["a", null]}), errors: vec![] });
    let wrong = check("i", HostData::Double(vec![Some(1.0), Some(2.5), None]));
    assert_eq!(
        wrong.errors,
        ["'i[2]' must be integer, not numeric of length 1.", "'i[3]' must be integer, not numeric of length 1."]
    );
    let infinite = check("n", HostData::Double(vec![Some(1.0), Some(f64::INFINITY)]));
    assert_eq!(infinite.errors, ["'n[2]' must be number, not numeric of length 1."]);
    let nan = check("list", HostData::Double(vec![Some(1.0), Some(f64::NAN)]));
    assert_eq!(nan.errors, ["'list[2]' must be a finite number: JSON has no NaN and no infinity."]);
    let digits = check("i", HostData::Character(vec![Some("9007199254740993".into()), Some("x".into())]));
    assert_eq!(digits.input, json!({"i": [9_007_199_254_740_993_i64, "x"]}));
    assert_eq!(digits.errors, ["'i[2]' must be integer, not character of length 1."]);
}

#[test]
fn what_the_schema_leaves_alone_is_not_read() {
    let s = schema(json!({
        "type": "object", "properties": {"x": {"description": "Anything"}, "y": {}, "t": {"type": "string"}},
        "anyOf": [{"properties": {"y": {"type": "number"}}}, true]
    }));
    let odd = HostValue::list([HostData::Double(vec![Some(f64::NAN)]).into(), HostValue::function([("a", true)])]);
    let mixed = HostValue::named([("a", 1.into()), ("a", f64::INFINITY.into())]);
    for value in [odd.clone(), mixed, f64::NAN.into(), HostValue::strings(["a", "b"])] {
        let checked = s.check_host(&named(&[("x", value), ("t", "a".into())]));
        assert_eq!(checked.errors, Vec::<String>::new());
        assert_eq!(checked.input["t"], "a");
    }
    assert_eq!(s.check_host(&named(&[("x", 1.5.into())])).input, json!({"x": 1.5}));
    // A branch says something about `y`, so it is read.
    assert!(!s.check_host(&named(&[("y", odd)])).errors.is_empty());
}

#[test]
fn schemas_that_branch_and_recur_are_decided_in_bounded_time() {
    let branch = |extra: &str| json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "required": [extra]});
    let s = schema(json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [branch("p"), branch("q")]}}}));
    let nested = |levels: usize| (0..levels).fold(json!({"q": 1}), |inner, _| json!({"x": inner, "q": 1}));
    assert!(s.validate(&nested(8)).is_empty());
    let refused = ["the input is too much work to check against the schema."];
    assert_eq!(s.validate(&nested(100)), refused);
    assert_eq!(*s.adapted(&nested(100)), nested(100));
    let mut host = named(&[("q", 1.into())]);
    for _ in 0..100 {
        host = named(&[("x", host), ("q", 1.into())]);
    }
    assert_eq!(s.check_host(&host).errors, refused);
    // The same without recursion: each definition refers to the next one twice.
    let twice = |to: usize| json!({"allOf": [{"$ref": format!("#/$defs/d{to}")}, {"$ref": format!("#/$defs/d{to}")}]});
    let mut defs: Map<String, Value> = (0..40).map(|at| (format!("d{at}"), twice(at + 1))).collect();
    defs.insert("d40".into(), json!({"type": "object"}));
    assert_eq!(schema(json!({"$ref": "#/$defs/d0", "$defs": defs})).validate(&json!({})), refused);
}

#[test]
fn a_chain_of_references_at_every_level_does_not_exhaust_the_stack() {
    let mut defs: Map<String, Value> =
        (0..100).map(|at| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)}))).collect();
    defs.insert("d100".into(), json!({"properties": {"x": {"$ref": "#/$defs/d0"}}}));
    let s = schema(json!({"$ref": "#/$defs/d0", "$defs": defs}));
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"x": inner}));
    assert!(s.validate(&nested(3)).is_empty());
    assert_eq!(s.validate(&nested(120)).len(), 1);
}

#[test]
fn case_108_closed_objects_name_the_unknown_property() {
    let s = object(json!({"box": {"type": "object", "properties": {"a": {}}, "additionalProperties": false}}));
    assert_eq!(s.validate(&json!({"box": {"a": 1, "extra": 2}})), ["unknown property 'box.extra'."]);
    let closed = schema(json!({"type": "object", "properties": {}, "unevaluatedProperties": false}));
    assert_eq!(closed.validate(&json!({"extra": 1})), ["unknown property 'extra'."]);
}

#[test]
fn case_109_paths_count_items_from_one() {
    let edit = json!({"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old", "new"]});
    let s = object(json!({"edits": {"type": "array", "items": edit}}));
    let expected = ["missing required property 'edits[1].new'."];
    assert_eq!(s.validate(&json!({"edits": [{"old": "a"}]})), expected);
    let host = named(&[("edits", HostValue::list([named(&[("old", "a".into())])]))]);
    assert_eq!(s.check_host(&host).errors, expected);
}

#[test]
fn case_110_null_counts_as_an_empty_object_at_the_root_only() {
    let s = object(json!({"a": {"type": "object"}}));
    assert_eq!(s.check_host(&HostValue::null()), Checked { input: json!({}), errors: vec![] });
    assert!(s.validate(&Value::Null).is_empty());
    assert_eq!(s.validate(&json!({"a": null})), ["'a' must be object, not null."]);
    let nullable = schema(json!({"type": ["object", "null"]}));
    assert_eq!(nullable.check_host(&HostValue::null()).input, Value::Null);
    assert_eq!(schema(json!({"type": "array"})).validate(&Value::Null), ["the input must be array, not null."]);
}

#[test]
fn case_111_empty_object_and_empty_array_differ() {
    let (object, array) = (schema(json!({"type": "object"})), schema(json!({"type": "array"})));
    assert!(object.validate(&json!({})).is_empty() && !array.validate(&json!({})).is_empty());
    assert!(array.validate(&json!([])).is_empty() && !object.validate(&json!([])).is_empty());
    let named_empty = HostValue::named::<String>([]);
    assert!(!array.check_host(&named_empty).errors.is_empty());
    assert_eq!(object.check_host(&HostValue::list([])).input, json!({}));
    assert_eq!(array.check_host(&HostValue::list([])).input, json!([]));
}

#[test]
fn case_112_enums_compare_without_changing_types() {
    let s = object(json!({"x": {"enum": [1, null]}, "y": {"type": "number"}}));
    let errors = |name: &str, v: HostValue| s.check_host(&named(&[(name, v)])).errors.len();
    assert_eq!(errors("x", 1.into()), 0);
    assert_eq!(errors("x", 1.0.into()), 0);
    assert_eq!(errors("x", HostValue::null()), 0);
    assert_eq!(errors("x", "1".into()), 1);
    assert_eq!(errors("x", true.into()), 1);
    assert_eq!(errors("x", f64::INFINITY.into()), 1);
    assert_eq!(errors("y", f64::INFINITY.into()), 1);
    assert_eq!(errors("y", f64::NAN.into()), 1);
}

#[test]
fn case_113_a_signature_has_types_marks_and_the_first_sentence() {
    let s = json!({
        "type": "object",
        "properties": {
            "code": {"type": "string"}, "record": {"type": "boolean"}, "n": {"type": ["number", "null"]}, "any": {},
            "how": {"enum": ["fast", 1]}, "ref": {"$ref": "#/$defs/id"}, "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}
        },
        "required": ["code"],
        "$defs": {"id": {"type": "integer"}}
    });
    assert_eq!(
        signature("", "r", &s, Some("Run R code in the session. More.\nEven more.")),
        "r(code: string, record?: boolean, n?: number|null, any?: any, how?: \"fast\"|1, ref?: integer, \
         either?: string|null)  # Run R code in the session."
    );
    assert_eq!(signature("peter$demo$", "f", &json!({"type": "object"}), None), "peter$demo$f()");
    assert_eq!(signature("", "f", &json!({"description": "Do it! Now."}), None), "f()  # Do it!");
}

#[test]
fn the_first_sentence_ends_before_a_space_or_at_the_line() {
    assert_eq!(first_sentence("Uses v1.2 of it. Then more"), "Uses v1.2 of it.");
    assert_eq!(first_sentence("no end\nsecond line."), "no end");
    assert_eq!(first_sentence("Wirklich? Ja."), "Wirklich?");
    assert_eq!(first_sentence(""), "");
}

#[test]
fn nothing_more_is_said_below_a_type_mismatch() {
    let s = object(json!({"a": {"type": "object", "required": ["b"], "enum": [{}], "minProperties": 1}}));
    assert_eq!(s.validate(&json!({"a": "x"})), ["'a' must be object, not character of length 1."]);
    let both = schema(json!({"allOf": [{"type": "object"}, {"type": ["object", "array"]}]}));
    assert_eq!(both.validate(&json!("x")), ["the input must be object, not character of length 1."]);
}

#[test]
fn other_keywords_use_the_crates_words_and_never_the_value() {
    let s = object(json!({
        "n": {"minimum": 3}, "s": {"type": "string", "maxLength": 2}, "c": {"const": 5}, "d": {"format": "date"},
        "e": {"pattern": "^a+$"}, "f": {"not": {"type": "string"}}
    }));
    let errors = s.validate(&json!({"n": 1, "s": "secret", "c": 4, "d": "secret", "e": "secret", "f": "secret"}));
    assert_eq!(errors.len(), 6);
    assert!(errors.contains(&"'n' is less than the minimum of 3.".to_owned()), "{errors:?}");
    assert!(errors.contains(&"'c': 5 was expected.".to_owned()), "{errors:?}");
    assert!(!errors.iter().any(|e| e.contains("secret")), "{errors:?}");
}

#[test]
fn alternatives_that_differ_in_type_alone_are_one_type_error() {
    let s = object(json!({"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}}));
    assert_eq!(s.validate(&json!({"a": 1})), ["'a' must be string or array, not integer of length 1."]);
    assert_eq!(s.check_host(&named(&[("a", "x".into())])).input, json!({"a": "x"}));
    let boxed = HostValue { class: vec!["AsIs".into()], ..HostValue::from("x") };
    assert_eq!(s.check_host(&named(&[("a", boxed)])).input, json!({"a": ["x"]}));
    assert_eq!(s.check_host(&named(&[("a", HostValue::strings(["x", "y"]))])).input, json!({"a": ["x", "y"]}));
}

#[test]
fn vectors_lists_and_data_frames_are_arrays_where_arrays_are_asked() {
    let s = object(json!({"a": {"type": "array"}, "rows": {"type": "array", "items": {"type": "object"}}}));
    let read = |name: &str, v: HostValue| s.check_host(&named(&[(name, v)]));
    assert_eq!(read("a", HostData::Double(vec![Some(1.0), None]).into()).input, json!({"a": [1, null]}));
    assert_eq!(read("a", HostValue::strings::<String>([])).input, json!({"a": []}));
    let frame = HostValue {
        class: vec!["data.frame".into()],
        ..named(&[("x", HostData::Integer(vec![Some(1), Some(2)]).into()), ("y", HostValue::strings(["p", "q"]))])
    };
    let rows = read("rows", frame);
    assert_eq!(rows, Checked { input: json!({"rows": [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}]}), errors: vec![] });
    assert_eq!(read("rows", "x".into()).errors, ["'rows' must be array, not character of length 1."]);
}

#[test]
fn an_array_of_one_is_no_scalar_and_strings_are_no_numbers() {
    let s = object(json!({"s": {"type": "string"}, "n": {"type": "number"}, "i": {"type": "integer"}}));
    let errors = |name: &str, v: HostValue| s.check_host(&named(&[(name, v)])).errors;
    assert_eq!(errors("s", HostValue::list(["a".into()])), ["'s' must be string, not list of length 1."]);
    assert_eq!(errors("n", "1".into()).len(), 1);
    assert_eq!(errors("i", "12".into()).len(), 1);
    assert_eq!(errors("s", HostData::Character(vec![None]).into()), ["'s' must be string, not character of length 1."]);
    assert_eq!(
        s.check_host(&named(&[("i", "9007199254740993".into())])).input,
        json!({"i": 9_007_199_254_740_993_i64})
    );
}

#[test]
fn references_and_branches_lead_the_reading() {
    let s = schema(json!({
        "type": "object",
        "properties": {"ids": {"$ref": "#/$defs/ids"}},
        "oneOf": [{"properties": {"tags": {"$ref": "#ids"}}}],
        "$defs": {"ids": {"$anchor": "ids", "type": "array", "items": {"type": "integer"}}}
    }));
    let checked = s.check_host(&named(&[("ids", 1.0.into()), ("tags", 2.0.into())]));
    assert_eq!(checked, Checked { input: json!({"ids": [1], "tags": [2]}), errors: vec![] });
}

#[test]
fn what_stays_in_r_satisfies_a_schema_only_where_it_gives_no_type() {
    let s = object(json!({"fit": {}, "n": {"type": "object"}}));
    let env: HostValue = HostData::Opaque(Opaque { kind: "environment".into(), length: 3 }).into();
    let free = s.check_host(&named(&[("fit", env.clone())]));
    assert!(free.errors.is_empty());
    assert_eq!(free.input["fit"]["class"], "environment");
    assert_eq!(s.check_host(&named(&[("n", env)])).errors, ["'n' must be object, not environment of length 3."]);
    let descriptor = named(&[("$r", "7".into()), ("class", "lm".into())]);
    assert!(s.check_host(&named(&[("fit", descriptor.clone())])).errors.is_empty());
    assert_eq!(s.check_host(&named(&[("n", descriptor)])).errors.len(), 1);
}

#[test]
fn names_that_json_cant_hold_are_errors_with_their_path() {
    let s = object(json!({"a": {"type": "object"}}));
    let twice = HostValue::named([("x", 1.into()), ("x", 2.into())]);
    assert_eq!(s.check_host(&named(&[("a", twice)])).errors, ["'a' must have unique, non-empty names."]);
    assert_eq!(s.check_host(&named(&[("b", f64::NAN.into())])).errors.len(), 1);
}

#[test]
fn arguments_are_unknown_unless_a_reachable_schema_declares_them() {
    let s = schema(json!({
        "type": "object", "properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/more"}], "anyOf": [{"properties": {"c": {}}}],
        "if": {"properties": {"d": {}}}, "then": {"properties": {"e": {}}},
        "$defs": {"more": {"properties": {"b": {}}}, "unused": {"properties": {"z": {}}}}
    }));
    assert_eq!(s.accepted(), ["a", "b", "c", "d", "e"]);
    assert_eq!(s.unknown_arguments(&args(json!({"a": 1, "e": 1, "z": 1, "y": 1}))), ["z", "y"]);
    let bare = schema(json!({"type": "object"}));
    assert_eq!(bare.unknown_arguments(&args(json!({"x": 1}))), ["x"]);
}

#[test]
fn a_schema_that_opens_itself_knows_all_arguments() {
    for open in [
        json!({"additionalProperties": true}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"patternProperties": {"^x": {}}}),
    ] {
        assert!(schema(open.clone()).unknown_arguments(&args(json!({"q": 1}))).is_empty(), "{open}");
    }
    assert_eq!(schema(json!({"additionalProperties": false})).unknown_arguments(&args(json!({"q": 1}))), ["q"]);
}

#[test]
fn invalid_schemas_are_refused_with_their_problem() {
    let refused = [
        (json!({"properties": {"a": {"type": "nonsense"}}}), "a: type 'nonsense' is not known"),
        (json!({"minimum": "x"}), "'minimum'"),
        (json!({"$ref": "https://example.com/s.json"}), "example.com"),
        (json!({"$ref": "#/$defs/none"}), "none"),
        (json!({"pattern": "(?=a)"}), "pattern"),
        (json!({"pattern": "(a)\\1"}), "pattern"),
        (json!({"$ref": "#"}), "leads back to itself"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
            "leads back",
        ),
        (json!("x"), ""),
    ];
    for (json, part) in refused {
        let problem = Schema::compile(&json).unwrap_err();
        assert!(problem.contains(part), "{json}: {problem}");
    }
}

#[test]
fn recursion_that_goes_down_into_the_value_is_fine() {
    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}});
    let s = schema(tree);
    assert_eq!(
        s.validate(&json!({"left": {"right": {"n": "x"}}})),
        ["'left.right.n' must be integer, not character of length 1."]
    );
}

#[test]
fn deep_schemas_and_inputs_are_refused_not_followed() {
    let nest = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    assert!(Schema::compile(&nest(60)).is_ok());
    assert!(Schema::compile(&nest(200)).is_err());
    let deep = (0..1000).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(schema(json!(true)).validate(&deep).len(), 1);
    let host = (0..1000).fold(HostValue::from(1), |inner, _| HostValue::list([inner]));
    assert_eq!(schema(json!(true)).check_host(&host).errors.len(), 1);
}

#[test]
fn long_chains_of_references_end_in_an_answer() {
    let chain = |links: usize| {
        let step = |i: usize| (format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}));
        let mut defs: Map<String, Value> = (0..links).map(step).collect();
        defs.insert(format!("d{links}"), json!({"type": "integer"}));
        Schema::compile(&json!({"$ref": "#/$defs/d0", "$defs": defs}))
    };
    assert_eq!(chain(100).unwrap().validate(&json!("x")), ["the input must be integer, not character of length 1."]);
    assert!(chain(500).unwrap_err().contains("too long"));
    assert!(chain(10_000).unwrap_err().contains("too long"));
}

#[test]
fn draft_07_is_taken_by_its_name() {
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": false});
    assert_eq!(schema(old).validate(&json!(["a", "b"])).len(), 1);
}

#[test]
fn r_lists_are_boxed_by_keyword() {
    let list = named(&[
        ("type", "object".into()),
        ("required", "a".into()),
        (
            "properties",
            named(&[
                ("a", named(&[("type", "string".into()), ("enum", "x".into())])),
                ("required", HostValue::list([])),
            ]),
        ),
        ("$defs", HostValue::list([])),
        ("anyOf", HostValue::list([named(&[("required", HostValue::strings::<String>([]))])])),
        ("default", HostValue::list([])),
        ("title", HostValue::null()),
        ("x-tags", HostValue { class: vec!["AsIs".into()], ..HostValue::from("t") }),
    ]);
    assert_eq!(
        parameters_json(&list),
        Ok(json!({
            "type": "object", "required": ["a"], "properties": {"a": {"type": "string", "enum": ["x"]}, "required": {}},
            "$defs": {}, "anyOf": [{"required": []}], "default": [], "x-tags": ["t"]
        }))
    );
}

#[test]
fn parameters_are_a_list_or_the_text_of_an_object() {
    assert_eq!(parameters_json(&"{\"type\":\"object\"}".into()), Ok(json!({"type": "object"})));
    for bad in ["{\"type\":", "[1]", "1", "", "{} {}"] {
        assert!(parameters_json(&bad.into()).is_err(), "{bad}");
    }
    for bad in [HostValue::list([1.into()]), 1.into(), HostValue::named([("a", 1.into()), ("a", 1.into())])] {
        assert!(parameters_json(&bad).is_err(), "{bad:?}");
    }
    let with_function =
        named(&[("properties", named(&[("a", named(&[("default", HostValue::function([("x", true)]))]))]))]);
    assert_eq!(
        parameters_json(&with_function).unwrap_err(),
        "is not a schema: properties$a$default is a function, which JSON can't hold"
    );
}

#[test]
fn schema_json_survives_the_way_to_r_and_back() {
    let s = json!({
        "type": ["object", "null"], "required": ["a"], "description": "d",
        "properties": {"a": {"enum": [1, "x", null]}, "b": {"type": ["string"], "examples": [["k"]]}, "c": {"default": {"required": ["a"]}}},
        "allOf": [{"properties": {}}], "minimum": 0.5, "maximum": 3_000_000_000_i64, "prefixItems": [true]
    });
    assert_eq!(parameters_json(&to_host(&s)), Ok(s));
}

#[test]
fn case_18_formals_become_a_schema_and_back() {
    let s = from_formals(&Signature::new([("a", true), ("b", false), ("...", true)]));
    assert_eq!(
        s,
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]})
    );
    assert_eq!(from_formals(&Signature::new([("...", true)])), json!({"type": "object", "properties": {}}));
}

#[test]
fn case_35_formals_put_required_properties_first() {
    let s = json!({"properties": {"note": {}, "y": {}, "x": {}}, "required": ["x", "gone", "y", "x"]});
    let expected = [("x", true), ("y", true), ("note", false)].map(|(n, r)| (n.to_owned(), r));
    assert_eq!(formals_of(&s), expected);
}

#[test]
fn structural_problems_name_their_place() {
    let s = json!({
        "type": "thing", "required": ["q"],
        "properties": {"a": {"type": "array", "items": {"enum": []}}, "b": 1, "c": {"properties": []}, "d": {"required": "x"}}
    });
    assert_eq!(
        structural_problems(&s),
        [
            "type 'thing' is not known",
            "required property 'q' is not in properties",
            "a[]: enum is empty",
            "b: the schema is not an object",
            "c: properties is not an object",
            "d: required is not an array of strings",
        ]
    );
    assert!(structural_problems(&json!({})).is_empty() && structural_problems(&json!([])).is_empty());
    assert_eq!(structural_problems(&json!("x")), ["the schema is not an object"]);
}
