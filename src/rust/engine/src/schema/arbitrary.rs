//! Any schema against any value: nothing panics, and what is said agrees with what is so.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::value::json;

/// Any JSON of a few names, so that schemas and values meet.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        prop_oneof![Just(1.0), Just(2.5), any::<f64>()].prop_map(|x| json!(x)),
        prop_oneof![Just("a".to_owned()), any::<String>()].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[abc]", inner), 0..4).prop_map(|f| Value::Object(f.into_iter().collect())),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let word = |words: &'static [&'static str]| proptest::sample::select(words).prop_map(Value::from);
    let types = word(&["object", "array", "string", "number", "integer", "boolean", "null"]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        types.clone().prop_map(|t| json!({"type": t})),
        proptest::collection::hash_set(types.prop_map(|t| t.to_string()), 1..3)
            .prop_map(|t| { json!({"type": t.iter().map(|t| t.trim_matches('"')).collect::<Vec<_>>()}) }),
        proptest::collection::vec(value(), 1..3).prop_map(|e| json!({"enum": e})),
        value().prop_map(|c| json!({"const": c})),
        word(&["^a", "b$", "[", "(a+)+$", "(?=x)", "\\d"]).prop_map(|p| json!({"pattern": p})),
        word(&["date", "email", "uri", "nothing"]).prop_map(|f| json!({"format": f})),
        (0u32..4, 0u32..4)
            .prop_map(|(a, b)| json!({"minItems": a, "maxLength": b, "minProperties": a, "uniqueItems": true})),
        word(&["#", "#/$defs/a", "#/properties/a", "#nowhere", "other.json"]).prop_map(|r| json!({"$ref": r})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let several = proptest::collection::vec(inner.clone(), 1..4);
        let fields = proptest::collection::vec(("[abc]", inner.clone()), 0..4)
            .prop_map(|f| Value::Object(f.into_iter().collect::<Map<String, Value>>()));
        let required = proptest::collection::vec("[abc]", 0..3);
        let in_place = proptest::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let single =
            proptest::sample::select(vec!["not", "items", "contains", "additionalProperties", "unevaluatedItems"]);
        prop_oneof![
            (fields.clone(), required, inner.clone())
                .prop_map(|(p, r, d)| json!({"properties": p, "required": r, "$defs": {"a": d}})),
            (in_place, several).prop_map(|(k, s)| Value::Object(Map::from_iter([(k.to_owned(), Value::from(s))]))),
            (single, inner).prop_map(|(k, s)| Value::Object(Map::from_iter([(k.to_owned(), s)]))),
            fields.prop_map(|p| json!({"patternProperties": p, "unevaluatedProperties": false})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_schema_judges_any_value(json in schema(), input in value()) {
        prop_assert!(structural_problems(&json).iter().all(|p| !p.is_empty()));
        let _ = (signature("", "f", &json, None), formals_of(&json), parameters_json(&to_host(&json)));
        let Ok(compiled) = Schema::compile(&json) else { return Ok(()) };
        let errors = compiled.validate(&input);
        if compiled.bounded(&input).is_ok() {
            prop_assert_eq!(errors.is_empty(), compiled.inner.validator.is_valid(&compiled.root(&input)));
        }
        prop_assert!(errors.iter().all(|e| e.ends_with('.')));
        // What was right stays right, and is not put right again.
        let adapted = compiled.adapted(&input).into_owned();
        prop_assert!(!errors.is_empty() || compiled.validate(&adapted).is_empty(), "{} {}", input, adapted);
        prop_assert_eq!(&*compiled.adapted(&adapted), &adapted);
        let checked = compiled.check_host(&HostValue::from_json(&input));
        prop_assert!(checked.errors.iter().all(|e| e.ends_with('.')));
        if let Some(fields) = input.as_object() {
            let _ = compiled.unknown_arguments(fields);
        }
    }

    #[test]
    fn a_schema_survives_the_way_to_r_and_back_when_it_is_valid(json in schema()) {
        if json.is_object() && Schema::compile(&json).is_ok() {
            prop_assert!(parameters_json(&to_host(&json)).is_ok(), "{}", json);
        }
    }
}
