//! The official suite of JSON Schema, when its data lie beside the repository.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use super::*;

/// Where this product differs from the suite, and why: part of the file's path, part of the outcome, the reason.
const DIFFERENCES: [(&str, &str, &str); 2] = [
    ("", "'http://localhost:1234/", "remote documents are never fetched"),
    ("/format.json", "true expected, false", "formats are asserted; this file takes them for annotations"),
];

fn suite() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = |dir: &Path| dir.join("../shared/fixtures/json-schema/tests");
    manifest.ancestors().map(beside).find(|p| p.is_dir())
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

#[derive(Default)]
struct Count {
    agree: usize,
    differ: Vec<String>,
}

fn judge(draft: &str, file: &str, group: &Value, count: &mut Count) {
    let mut schema = group["schema"].clone();
    if let (Value::Object(map), "draft7") = (&mut schema, draft) {
        map.entry("$schema").or_insert("http://json-schema.org/draft-07/schema#".into());
    }
    let compiled = Schema::compile(&schema);
    for test in group["tests"].as_array().unwrap() {
        let outcome = match &compiled {
            Err(problem) => format!("refused: {problem}"),
            Ok(s) => s.inner.validator.is_valid(&test["data"]).to_string(),
        };
        let expected = test["valid"].to_string();
        if outcome == expected {
            count.agree += 1;
        } else {
            let name = format!("{draft}/{file} | {} | {} | ", group["description"], test["description"]);
            count.differ.push(format!("{name}{expected} expected, {outcome}"));
        }
    }
}

#[test]
fn the_official_suite_passes_but_for_known_differences() {
    let Some(root) = suite() else {
        println!("skipped: no ../shared/fixtures/json-schema beside the repository");
        return;
    };
    let mut count = Count::default();
    for draft in ["draft2020-12", "draft7"] {
        let dir = root.join(draft);
        let mut paths = Vec::new();
        files(&dir, &mut paths);
        for path in paths {
            let file = path.strip_prefix(&dir).unwrap().display().to_string();
            let groups: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            groups.as_array().unwrap().iter().for_each(|g| judge(draft, &file, g, &mut count));
        }
    }
    let reason = |line: &str| DIFFERENCES.iter().position(|(file, part, _)| line.contains(file) && line.contains(part));
    let unexplained: Vec<&str> = count.differ.iter().map(String::as_str).filter(|l| reason(l).is_none()).collect();
    println!("{} agree", count.agree);
    for (at, (_, _, why)) in DIFFERENCES.iter().enumerate() {
        let lines = count.differ.iter().filter(|l| reason(l) == Some(at)).count();
        println!("{lines} differ: {why}");
        assert!(lines > 0, "no longer a difference: {why}");
    }
    assert!(count.agree > 3000);
    assert!(unexplained.is_empty(), "{} unexplained:\n{}", unexplained.len(), unexplained.join("\n"));
}
