#![allow(clippy::unwrap_used)]

use super::*;
use crate::tool::cancelled;
use crate::tool::folder::Folder;
use crate::tool::tests::{context_at, text_of};

fn found(folder: &Folder, input: Value) -> String {
    text_of(grep(&input, &context_at(folder, Asker::Model)))
}

fn value(folder: &Folder, input: Value) -> HostValue {
    grep(&input, &context_at(folder, Asker::Code)).unwrap().value.unwrap()
}

fn column(value: &HostValue, name: &str) -> Vec<String> {
    let column = value.field("columns").unwrap().field(name).unwrap();
    match &column.data {
        HostData::Integer(x) => x.iter().map(|i| i.unwrap().to_string()).collect(),
        _ => column.as_strings().unwrap().into_iter().map(str::to_owned).collect(),
    }
}

#[test]
fn lines_in_the_order_of_paths() {
    let folder = Folder::new();
    folder.write("b.R", "x <- 1\ny\nx\n");
    folder.write("A.R", "no\r\nthe x\r\n");
    folder.write("sub/é f.txt", "x");
    assert_eq!(found(&folder, json!({"pattern": "x"})), "A.R:2: the x\nb.R:1: x <- 1\nb.R:3: x\nsub/é f.txt:1: x");
    assert_eq!(found(&folder, json!({"pattern": "x", "path": "sub"})), "sub/é f.txt:1: x");
    assert_eq!(found(&folder, json!({"pattern": "x", "path": "b.R"})), "b.R:1: x <- 1\nb.R:3: x");
    assert_eq!(found(&folder, json!({"pattern": "x", "glob": "*.txt"})), "sub/é f.txt:1: x");
    assert_eq!(found(&folder, json!({"pattern": "x", "glob": "!*.R"})), "sub/é f.txt:1: x");
    assert_eq!(found(&folder, json!({"pattern": "^THE", "ignoreCase": true})), "A.R:2: the x");
    assert_eq!(found(&folder, json!({"pattern": "x <-", "literal": true})), "b.R:1: x <- 1");
    assert_eq!(found(&folder, json!({"pattern": "nothing"})), "No matches found");
}

#[test]
fn case_56_a_hundred_and_one_hits() {
    let folder = Folder::new();
    folder.write("f", "hit\n".repeat(101));
    let text = found(&folder, json!({"pattern": "hit"}));
    assert!(text.ends_with("\nf:100: hit\n\n[100 matches limit reached. Use limit=200 for more]"), "{text}");
    folder.write("f", "hit\n".repeat(100));
    assert!(found(&folder, json!({"pattern": "hit"})).ends_with("f:100: hit"));
    folder.write("g", "hit\n");
    assert!(found(&folder, json!({"pattern": "hit"})).contains("limit=200"), "the last one is in another file");
    let v = value(&folder, json!({"pattern": "hit", "limit": 2}));
    assert_eq!(
        (column(&v, "line"), v.field("truncated").unwrap().as_flag()),
        (vec!["1".into(), "2".into()], Some(true))
    );
    assert_eq!(column(&value(&folder, json!({"pattern": "hit"})), "line").len(), 101);
}

#[test]
fn the_first_matches_are_those_of_the_first_files_whoever_is_faster() {
    let folder = Folder::new();
    for i in 0..200 {
        folder.write(&format!("{i:03}"), if i % 2 == 0 { "hit\n".repeat(3) } else { "x\n".repeat(5000) });
    }
    for _ in 0..5 {
        let v = value(&folder, json!({"pattern": "hit", "limit": 10}));
        let expected: Vec<String> = ["000", "002", "004"]
            .iter()
            .flat_map(|f| std::iter::repeat_n((*f).to_owned(), 3))
            .chain(["006".to_owned()])
            .collect();
        assert_eq!(column(&v, "file"), expected);
    }
}

#[test]
fn lines_around_a_match() {
    let folder = Folder::new();
    folder.write("f", "1\n2\nhit\n4\n5\n6\nhit\nhit\n9\n");
    assert_eq!(
        found(&folder, json!({"pattern": "hit", "context": 1})),
        "f-2- 2\nf:3: hit\nf-4- 4\n--\nf-6- 6\nf:7: hit\nf:8: hit\nf-9- 9"
    );
    folder.write("g", "hit\n");
    assert!(found(&folder, json!({"pattern": "hit", "context": 1})).ends_with("f-9- 9\n--\ng:1: hit"));
    let v = value(&folder, json!({"pattern": "hit", "context": 1, "limit": 1}));
    assert_eq!(column(&v, "text"), ["hit"]);
    assert_eq!(v.field("display").unwrap().as_strings().unwrap()[..2], ["f-2- 2", "f:3: hit"]);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let folder = Folder::new();
    folder.write("f", format!("{}needle{}\n", "é".repeat(2000), "b".repeat(2000)));
    let text = found(&folder, json!({"pattern": "needle"}));
    assert!(text.starts_with("f:1: ...éé") && text.contains("needlebb"), "{text}");
    assert!(text.ends_with("bb... [truncated]\n\n[Some lines are cut to 500 characters: use read to see them whole]"));
    assert_eq!(around_match("short", 0, 500), None);
    assert_eq!(around_match(&"a".repeat(501), 0, 500), Some(format!("{}... [truncated]", "a".repeat(500))));
    assert_eq!(around_match(&"a".repeat(501), 501, 500), Some(format!("...{}", "a".repeat(500))));
    assert_eq!(
        column(&value(&folder, json!({"pattern": "needle"})), "text")[0].chars().count(),
        4006,
        "R code gets it whole"
    );
}

#[test]
fn what_is_not_searched() {
    let folder = Folder::new();
    folder.write("binary", b"hit\n\0\n");
    folder.write("late", [&b"hit\n"[..], &b"x\n".repeat(100_000), b"\0"].concat());
    folder.write(".git/config", "hit");
    folder.write(".gitignore", "ignored");
    folder.write("ignored", "hit");
    folder.write(".hidden", "hit");
    folder.write(".env", "KEY=hit");
    folder.write("large", vec![b'\n'; 20 * 1024 * 1024 + 1]);
    let text = found(&folder, json!({"pattern": "hit"}));
    assert_eq!(text, ".hidden:1: hit\n\n[1 file(s) over 20 MB skipped. 1 file(s) that may hold secrets skipped]");
    assert_eq!(found(&folder, json!({"pattern": "hit", "path": ".env"})), ".env:1: KEY=hit");
    assert_eq!(found(&folder, json!({"pattern": "hit", "path": "ignored"})), "ignored:1: hit");
    let person = grep(&json!({"pattern": "hit"}), &context_at(&folder, Asker::Person)).unwrap().value.unwrap();
    assert_eq!(column(&person, "file"), [".env", ".hidden"]);
}

#[test]
fn encodings_with_a_mark_are_searched() {
    let folder = Folder::new();
    folder.write("f", b"\xFF\xFEh\0i\0t\0\n\0");
    folder.write("g", b"caf\xE9 hit\n");
    assert_eq!(found(&folder, json!({"pattern": "hit"})), "f:1: hit\ng:1: caf\u{FFFD} hit");
}

#[test]
fn files_and_numbers() {
    let folder = Folder::new();
    folder.write("a", "hit\n");
    folder.write("b", "hit\nhit\nx\n");
    folder.write("c", "x\n");
    assert_eq!(found(&folder, json!({"pattern": "hit", "output": "files"})), "a\nb");
    assert_eq!(found(&folder, json!({"pattern": "hit", "output": "count", "sort": "count"})), "b: 2\na: 1");
    let v = value(&folder, json!({"pattern": "hit", "output": "count"}));
    assert_eq!((column(&v, "file"), column(&v, "n")), (vec!["a".into(), "b".into()], vec!["1".into(), "2".into()]));
    let v = value(&folder, json!({"pattern": "hit", "output": "files", "limit": 1}));
    assert_eq!((column(&v, "path"), v.field("truncated").unwrap().as_flag()), (vec!["a".into()], Some(true)));
}

#[test]
fn what_is_wrong_with_a_search() {
    let folder = Folder::new();
    let wrong = |input: Value| match grep(&input, &context_at(&folder, Asker::Model)) {
        Err(Error::InvalidArgument { arg, message, .. }) => (arg, message),
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(json!({"pattern": "("})).0, "pattern");
    assert_eq!(wrong(json!({"pattern": "a\nb"})).0, "pattern");
    assert_eq!(wrong(json!({"pattern": "(a{1000}){1000}"})).0, "pattern");
    assert_eq!(wrong(json!({"pattern": "a", "glob": "["})).0, "glob");
    let (arg, message) = wrong(json!({"pattern": "a", "path": "nope"}));
    assert_eq!((arg.as_str(), message), ("path", format!("Path not found: {}", folder.at("nope").display())));
}

#[test]
fn a_pattern_that_others_never_finish() {
    let folder = Folder::new();
    folder.write("f", format!("{}!\n", "a".repeat(5000)));
    assert_eq!(found(&folder, json!({"pattern": "^(a+)+$"})), "No matches found");
}

#[test]
fn a_cancelled_search_ends() {
    let folder = Folder::new();
    folder.write("f", "x");
    let context = context_at(&folder, Asker::Model);
    context.cancel.cancel();
    assert_eq!(grep(&json!({"pattern": "x"}), &context), Err(cancelled()));
}
