#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::tool::Asker;
use crate::tool::folder::Folder;
use crate::tool::tests::{context_at, text_of};

fn change(folder: &Folder, edits: Value) -> Answer {
    edit(&json!({"path": "f", "edits": edits}), &context_at(folder, Asker::Model))
}

/// The file after these edits.
fn edited(before: impl AsRef<[u8]>, edits: Value) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("f", before);
    change(&folder, edits).unwrap();
    folder.bytes("f")
}

/// The message and the argument of edits that fail; the file stays as it is.
fn refused(before: &str, edits: Value) -> (String, String) {
    let folder = Folder::new();
    folder.write("f", before);
    let error = change(&folder, edits).unwrap_err();
    assert_eq!(folder.bytes("f"), before.as_bytes(), "nothing is written");
    let path = folder.at("f").to_string_lossy().into_owned();
    let message = error.to_string();
    assert!(message.contains(&path), "{message}");
    let Error::InvalidArgument { arg, .. } = error else { panic!("{error:?}") };
    (arg, message.replace(&path, "F"))
}

fn one(old: &str, new: &str) -> Value {
    json!([{"oldText": old, "newText": new}])
}

#[test]
fn several_edits_match_the_file_as_it_is() {
    let edits = json!([{"oldText": "c", "newText": "a"}, {"oldText": "a", "newText": "c"}]);
    assert_eq!(edited("a b c\n", edits), b"c b a\n");
    assert_eq!(edited("keep\nold line\nkeep\n", one("old line\n", "")), b"keep\nkeep\n");
}

#[test]
fn the_text_has_a_diff() {
    let folder = Folder::new();
    folder.write("f", (1..=20).map(|i| format!("line {i}\n")).collect::<String>());
    let text = text_of(change(&folder, json!([{"oldText": "line 10\n", "newText": "ten\nand more\n"}])));
    let path = folder.at("f");
    let expected = format!(
        "Successfully replaced 1 block(s) in {}.\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n+and more\n line \
         11\n line 12\n line 13",
        path.display()
    );
    assert_eq!(text, expected);
}

#[test]
fn case_55_a_second_edit_that_does_not_match_leaves_all_as_it_is() {
    let (arg, message) =
        refused("one\ntwo\n", json!([{"oldText": "one", "newText": "1"}, {"oldText": "three", "newText": "3"}]));
    assert_eq!(arg, "edits[2]");
    assert!(message.starts_with("`edits[2]`: oldText was not found in F. It must match exactly"), "{message}");
}

#[test]
fn case_55_curly_quotes_match_after_normalisation() {
    let folder = Folder::new();
    folder.write("f", "say \u{201C}hi\u{201D} \u{2013} now  \nnext\u{a0}line\n");
    let output = change(&folder, one("say \"hi\" - now\nnext line", "bye\nline")).unwrap();
    assert_eq!(output.details["fuzzy"], true);
    assert_eq!(output.details["reasons"], json!(["matched after normalisation"]));
    assert!(text_of(Ok(output)).contains("\n[matched after normalisation]\n"));
    assert_eq!(folder.bytes("f"), b"bye\nline\n");
}

#[test]
fn normalisation_touches_nothing_else_and_is_for_the_last_resort() {
    let before = "\u{201C}a\u{201D}  \nold \u{201C}b\u{201D}\ne\u{301}\u{201D} \n";
    assert_eq!(edited(before, one("old \"b\"", "new")), "\u{201C}a\u{201D}  \nnew\ne\u{301}\u{201D} \n".as_bytes());
    // An exact match wins over others that are like it.
    assert_eq!(edited("\u{201C}x\u{201D} \"x\"", one("\"x\"", "y")), "\u{201C}x\u{201D} y".as_bytes());
    assert_eq!(refused("\u{201C}x\u{201D} \u{201E}x\u{201D}", one("\"x\"", "y")).0, "edits");
    assert_eq!(edited("\u{FB01}t", one("fit", "x")), b"x");
    assert!(refused("\u{FB01}t", one("it", "x")).1.contains("not found"), "half of a character is none");
    assert_eq!(edited("e\u{301}te", one("\u{e9}te", "x")), b"x");
}

#[test]
fn case_55_a_file_with_crlf_keeps_it() {
    let folder = Folder::new();
    folder.write("f", "a\r\nb\r\nc\r\n");
    let output = change(&folder, one("a\nb", "x\ny\nz")).unwrap();
    assert_eq!(output.details["reasons"], json!(["line endings written as CRLF"]));
    assert_eq!(folder.bytes("f"), b"x\r\ny\r\nz\r\nc\r\n");
    assert_eq!(edited("a\r\nb\r\n", one("a\r\nb", "a\r\nc")), b"a\r\nc\r\n");
    assert_eq!(edited("a\r\nb\r\n", one("\nb", "\nc")), b"a\r\nc\r\n");
    assert_eq!(edited("a\rb\r", one("a\nb", "x\ny")), b"x\ry\r");
    // The lines of oldText that stay keep their own ends.
    assert_eq!(edited("a\nb\r\nc\r\nd\r\n", one("a\nb\nc\n", "a\nb\nC\n")), b"a\nb\r\nC\r\nd\r\n");
}

#[test]
fn marks_and_encodings_are_kept() {
    assert_eq!(edited(b"\xEF\xBB\xBFa b", one("a", "\u{e9}")), b"\xEF\xBB\xBF\xC3\xA9 b");
    assert_eq!(edited(b"caf\xE9 cr\xE8me\n", one("crème", "thé")), b"caf\xE9 th\xE9\n");
    assert_eq!(edited(b"\xFF\xFEa\0b\0", one("b", "\u{e9}")), b"\xFF\xFEa\0\xE9\0");
    assert_eq!(edited(b"\xC3\xA9\xC3\xA9 \xFF old", one("old", "new")), b"\xC3\xA9\xC3\xA9 \xFF new");
    let folder = Folder::new();
    folder.write("f", b"caf\xE9 old\n");
    let output = change(&folder, one("old", "日")).unwrap();
    assert_eq!(output.details["reasons"], json!(["file re-encoded as UTF-8"]));
    assert_eq!(folder.bytes("f"), "café 日\n".as_bytes());
    folder.write("f", b"\xC3\xA9\xC3\xA9 \xFF old");
    assert_eq!(change(&folder, one("old", "new")).unwrap().details["reasons"], json!(["invalid UTF-8 bytes kept"]));
}

#[test]
fn what_is_wrong_with_edits() {
    let message = |before: &str, edits: Value| refused(before, edits).1;
    assert!(message("a", json!([])).starts_with("There are no edits"));
    assert!(message("a", json!([{"oldText": "a"}])).contains("`newText` must be a string"));
    assert!(message("a", one("", "x")).contains("oldText is empty"));
    assert_eq!(
        message("x\nx\nxx", one("x", "y")),
        "`edits`: oldText was found 4 times in F (lines 1, 2, 3, 3). Give more context, so that it is unique."
    );
    assert!(message("aaa", one("aa", "b")).contains("2 times"), "overlapping places are two");
    assert!(message("a b", one("a", "a")).contains("change nothing"));
    let overlap = json!([{"oldText": "a b", "newText": "x"}, {"oldText": "b c", "newText": "y"}]);
    assert_eq!(refused("a b c", overlap).0, "edits[2]");
    assert!(
        message("first\n  second\nthird", one("first\nsecond\n", "x")).contains("Its first line stands at line 1.")
    );
    assert!(message("Foo (x)", one("foo(x)", "x")).contains("differs in blanks or case only stands at line 1."));
}

#[test]
fn what_is_no_text_file_is_not_edited() {
    let folder = Folder::new();
    folder.write("f", b"a\0b");
    assert!(change(&folder, one("a", "b")).unwrap_err().to_string().contains("binary"));
    let at = |path: &str| edit(&json!({"path": path, "edits": one("a", "b")}), &context_at(&folder, Asker::Model));
    assert!(at("nope").unwrap_err().to_string().starts_with("ENOENT"));
    assert!(at(".").unwrap_err().to_string().starts_with("EISDIR"));
    assert!(at("/dev/null").unwrap_err().to_string().starts_with("EINVAL"));
}

#[test]
fn all_places_of_a_text() {
    assert_eq!(edited("a.a.a", json!([{"oldText": "a", "newText": "bb", "replaceAll": true}])), b"bb.bb.bb");
    let folder = Folder::new();
    folder.write("f", "a\na\n");
    let input = json!({"path": "f", "replaceAll": true, "edits": one("a", "b")});
    let value = edit(&input, &context_at(&folder, Asker::Code)).unwrap().value.unwrap();
    assert_eq!(value.field("n_edits").and_then(HostValue::as_number), Some(2.0));
    assert_eq!(value.field("diff").and_then(HostValue::as_str), Some("@@ -1,2 +1,2 @@\n-a\n-a\n+b\n+b"));
    assert_eq!(folder.bytes("f"), b"b\nb\n");
}

#[test]
fn the_forms_that_models_write() {
    let usual = json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]});
    for form in [
        json!({"path": "f", "oldText": "a", "newText": "b"}),
        json!({"path": "f", "old_text": "a", "new_text": "b"}),
        json!({"path": "f", "edits": {"oldText": "a", "newText": "b"}}),
        json!({"path": "f", "edits": [{"old_text": "a", "new_text": "b"}]}),
        json!({"path": "f", "edits": "[{\"oldText\": \"a\", \"newText\": \"b\"}]"}),
        usual.clone(),
    ] {
        assert_eq!(tidy(form.clone()), usual, "{form}");
    }
    assert_eq!(tidy(json!({"path": "f", "edits": "text"})), json!({"path": "f", "edits": "text"}));
}

/// What a plain replacement of unique texts gives.
fn naive(before: &str, edits: &[(String, String)]) -> Option<String> {
    let mut places = Vec::new();
    for (old, new) in edits {
        let at = before.find(old.as_str())?;
        if (at + 1..before.len()).any(|i| before.is_char_boundary(i) && before[i..].starts_with(old.as_str())) {
            return None;
        }
        places.push((at, at + old.len(), new));
    }
    places.sort();
    if places.windows(2).any(|p| p[1].0 < p[0].1) {
        return None;
    }
    let mut out = before.to_owned();
    for (start, end, new) in places.into_iter().rev() {
        out.replace_range(start..end, new);
    }
    Some(out).filter(|out| out != before)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn exact_edits_are_plain_replacements_or_nothing(
        before in "[abcé\\n]{0,24}",
        edits in prop::collection::vec(("[abcé\\n]{1,4}", "[xyz\\n]{0,4}"), 1..4),
        crlf in any::<bool>(),
    ) {
        let folder = Folder::new();
        let ended = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        // More line feeds than anything else decide what new lines get.
        let before = format!("{before}#\n\n\n\n");
        folder.write("f", ended(&before));
        let list: Vec<Value> = edits.iter().map(|(o, n)| json!({"oldText": o, "newText": n})).collect();
        let answer = change(&folder, json!(list));
        match naive(&before, &edits) {
            Some(after) => {
                prop_assert!(answer.is_ok(), "{answer:?}");
                prop_assert_eq!(folder.bytes("f"), ended(&after).into_bytes());
            }
            None => {
                // A text that ends in blanks is compared without them in the second look; there are none here.
                prop_assert!(answer.is_err());
                prop_assert_eq!(folder.bytes("f"), ended(&before).into_bytes());
            }
        }
    }

    #[test]
    fn bytes_outside_of_the_edited_lines_stay(
        head in prop::collection::vec(any::<u8>().prop_filter("text", |b| *b != 0), 0..40),
        tail in prop::collection::vec(any::<u8>().prop_filter("text", |b| *b != 0), 0..40),
    ) {
        // Valid characters outnumber the rest, so that it stays UTF-8.
        let wide = "é".repeat(80);
        let head = [wide.as_bytes(), &head, b"\n"].concat();
        let tail = [&b"\n"[..], &tail].concat();
        prop_assume!(!head.windows(6).any(|w| w == b"@here@") && !tail.windows(6).any(|w| w == b"@here@"));
        let folder = Folder::new();
        folder.write("f", [&head[..], b"@here@", &tail].concat());
        change(&folder, one("@here@", "@there@")).unwrap();
        prop_assert_eq!(folder.bytes("f"), [&head[..], b"@there@", &tail].concat());
    }
}
