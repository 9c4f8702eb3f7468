#![allow(clippy::unwrap_used)]

use super::*;
use crate::tool::folder::Folder;
use crate::tool::tests::{context_at, text_of};
use crate::tool::{Asker, cancelled};

fn shown(folder: &Folder, input: Value) -> String {
    text_of(read(&input, &context_at(folder, Asker::Model)))
}

fn details(folder: &Folder, input: Value) -> Value {
    Value::Object(read(&input, &context_at(folder, Asker::Model)).unwrap().details)
}

fn value(folder: &Folder, input: Value) -> HostValue {
    read(&input, &context_at(folder, Asker::Person)).unwrap().value.unwrap()
}

fn failure(folder: &Folder, path: &str) -> String {
    read(&json!({"path": path}), &context_at(folder, Asker::Model)).unwrap_err().to_string()
}

#[test]
fn case_54_three_thousand_lines_and_what_is_left_of_them() {
    let folder = Folder::new();
    folder.write("f.txt", (1..=3000).map(|i| format!("{i}\n")).collect::<String>());
    let text = shown(&folder, json!({"path": "f.txt"}));
    assert!(
        text.ends_with("\n2000\n\n[Lines 1-2000 of 3000. Use offset=2001 to go on]"),
        "{}",
        &text[text.len() - 80..]
    );
    let text = shown(&folder, json!({"path": "f.txt", "offset": 2001}));
    assert!(text.starts_with("2001\n") && text.ends_with("\n3000"));
    let text = shown(&folder, json!({"path": "f.txt", "offset": 10, "limit": 2}));
    assert_eq!(text, "10\n11\n\n[2989 more line(s). Use offset=12 to go on]");
    assert_eq!(shown(&folder, json!({"path": "f.txt", "offset": 2999, "limit": 2})), "2999\n3000");
    let d = details(&folder, json!({"path": "f.txt"}));
    assert_eq!(
        (&d["lines_total"], &d["truncated"], &d["eol"], &d["encoding"]),
        (&json!(3000), &json!(true), &json!("LF"), &json!("UTF-8"))
    );
}

#[test]
fn case_54_empty_past_the_end_binary_directory_missing() {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.write("two", "a\nb");
    folder.write("x.rds", b"\x1f\x8b\0\0");
    folder.write("sub/x", "");
    assert_eq!(shown(&folder, json!({"path": "empty"})), "[The file empty is empty]");
    assert_eq!(shown(&folder, json!({"path": "two", "offset": 3})), "[Offset 3 is past the end: two has 2 line(s)]");
    assert_eq!(shown(&folder, json!({"path": "two", "offset": 2})), "b");
    let binary = shown(&folder, json!({"path": "x.rds"}));
    assert_eq!(binary, "[Binary file x.rds (4B) is not shown. Load it in `r`, e.g. with readRDS()]");
    assert!(failure(&folder, "sub").starts_with("EISDIR: "));
    assert!(failure(&folder, "nope").starts_with("ENOENT: ") && failure(&folder, "nope").contains("nope"));
    assert!(failure(&folder, "two/x").starts_with("ENOTDIR: "));
    assert!(failure(&folder, "").starts_with("EISDIR: "));
}

#[test]
fn the_bytes_of_a_model_end_at_a_whole_line() {
    let folder = Folder::new();
    folder.write("wide.csv", format!("{}\n", "é".repeat(500)).repeat(100));
    let text = shown(&folder, json!({"path": "wide.csv"}));
    assert!(
        text.ends_with("\n\n[Lines 1-51 of 100 (50.0KB limit). Use offset=52 to go on]"),
        "{}",
        &text[text.len() - 90..]
    );
    folder.write("numbers.csv", "1,2,3,4,5,6,7,8\n".repeat(1900));
    let text = shown(&folder, json!({"path": "numbers.csv"}));
    assert!(text.contains(" (12000 tokens limit). Use offset="), "{}", &text[text.len() - 90..]);
}

#[test]
fn r_code_has_no_limit_but_those_it_is_told() {
    let folder = Folder::new();
    folder.write("f.txt", (1..=3000).map(|i| format!("{i:0>40}\n")).collect::<String>());
    let lines = |input: Value| value(&folder, input).field("lines").unwrap().len();
    assert!(lines(json!({"path": "f.txt"})) < 2000);
    assert_eq!(lines(json!({"path": "f.txt", "limit": 2500})), 2500);
    let v = value(&folder, json!({"path": "f.txt", "limit": 1e300, "offset": 2}));
    assert_eq!(v.field("lines").unwrap().len(), 2999);
    assert_eq!(v.field("truncated").and_then(HostValue::as_flag), Some(false));
    assert_eq!(v.field("total").and_then(HostValue::as_number), Some(3000.0));
    assert_eq!(value(&folder, json!({"path": "f.txt", "offset": 4000})).field("lines").unwrap().len(), 0);
}

#[test]
fn a_single_line_of_many_bytes_is_shown_in_part() {
    let folder = Folder::new();
    folder.write("one.txt", "x".repeat(3 * 1024 * 1024));
    let text = shown(&folder, json!({"path": "one.txt"}));
    assert!(text.len() < 52_000 && text.starts_with("xxx"));
    assert!(text.contains("[Line 1 of 1 has 3.0MB, more than the limit of 50.0KB or 12000 tokens"));
    assert!(text.contains("substr(readLines(\"one.txt\", 1)[1], first, last)"));
    assert_eq!(details(&folder, json!({"path": "one.txt"}))["truncated"], true);
    folder.write("second.txt", format!("short\n{}\nend", "y".repeat(200_000)));
    let text = shown(&folder, json!({"path": "second.txt"}));
    assert!(text.starts_with("short\n\n[Lines 1-1 of 3 (50.0KB limit). Use offset=2 to go on]"), "{text}");
}

#[test]
fn encodings_are_found_out_and_said() {
    let folder = Folder::new();
    let of = |bytes: &[u8]| {
        folder.write("f", bytes);
        (
            shown(&folder, json!({"path": "f"})),
            details(&folder, json!({"path": "f"}))["encoding"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(of("é\n".as_bytes()), ("é".into(), "UTF-8".into()));
    assert_eq!(of(b"\xEF\xBB\xBFa\n"), ("a".into(), "UTF-8".into()));
    assert_eq!(
        of(b"caf\xE9\nna\xEFve \x80\n"),
        ("café\nnaïve €\n\n[The file is read as CP1252]".into(), "CP1252".into())
    );
    assert_eq!(of(b"\xFF\xFEa\0\r\0\n\0b\0"), ("a\nb\n\n[The file is read as UTF-16LE]".into(), "UTF-16LE".into()));
    assert_eq!(of(b"\xFE\xFF\0a\0\n\0\xE9"), ("a\né\n\n[The file is read as UTF-16BE]".into(), "UTF-16BE".into()));
    let (text, encoding) = of(b"\xC3\xA9\xC3\xA8 \xFF");
    assert_eq!(text, "éè \u{FFFD}\n\n[1 invalid UTF-8 byte(s) of the file are shown as \u{FFFD}]");
    assert_eq!(encoding, "UTF-8");
}

#[test]
fn any_end_of_line_is_one() {
    let folder = Folder::new();
    folder.write("f", "a\r\nb\rc\nd");
    assert_eq!(shown(&folder, json!({"path": "f"})), "a\nb\nc\nd");
    assert_eq!(details(&folder, json!({"path": "f"}))["eol"], "mixed");
}

#[test]
fn images_are_known_by_their_bytes() {
    let folder = Folder::new();
    let gif = b"GIF89a\x0a\0\x05\0rest";
    folder.write("picture.txt", gif);
    let context = context_at(&folder, Asker::Model);
    let output = read(&json!({"path": "picture.txt"}), &context).unwrap();
    assert_eq!(output.content[0], Block::text("Read image file [image/gif]"));
    let Block::Image { mime, data, width, height, .. } = &output.content[1] else { panic!("{output:?}") };
    assert_eq!((mime.as_str(), *width, *height), ("image/gif", Some(10), Some(5)));
    assert_eq!(base64::engine::general_purpose::STANDARD.decode(data).unwrap(), gif);
    folder.write("large.gif", b"GIF89a\xFF\x0F\x05\0rest");
    let text = shown(&folder, json!({"path": "large.gif"}));
    assert!(text.starts_with("[Image large.gif (image/gif, 14B, 4095 x 5) is not attached: it is too large"), "{text}");
}

#[test]
#[cfg(unix)]
fn what_is_no_file_is_not_opened() {
    let folder = Folder::new();
    assert!(failure(&folder, "/dev/zero").starts_with("EINVAL: not a regular file"));
    folder.link("b", "a");
    folder.link("a", "b");
    assert!(read(&json!({"path": "a"}), &context_at(&folder, Asker::Model)).is_err());
}

#[test]
fn paths_have_blanks_and_other_letters() {
    let folder = Folder::new();
    folder.write("ein Ordner/Größe 日本.txt", "x");
    folder.link("ein Ordner", "link");
    assert_eq!(shown(&folder, json!({"path": "ein Ordner/Größe 日本.txt"})), "x");
    assert_eq!(shown(&folder, json!({"path": "link/Größe 日本.txt"})), "x");
}

#[test]
fn a_cancelled_reading_ends() {
    let folder = Folder::new();
    folder.write("f", "x\n".repeat(1_000_000));
    let context = context_at(&folder, Asker::Model);
    context.cancel.cancel();
    assert_eq!(read(&json!({"path": "f"}), &context), Err(cancelled()));
}
