//! Ranked search by Okapi BM25.

use indexmap::IndexSet;

use super::words::words;
use crate::value::Value;

/// How soon repeated words stop to count (BM25's k1).
const SATURATION: f64 = 1.2;
/// How much long texts are held against a document (BM25's b).
const LENGTH_WEIGHT: f64 = 0.75;

/// A document to be found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Doc {
    /// What it is found as.
    pub id: String,
    /// Its kind: member, plugin, deferred, mcp, skill, or a source's own.
    pub kind: String,
    /// Its signature.
    pub signature: String,
    /// The text that is searched.
    pub text: String,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hit {
    /// The document's id.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its signature.
    pub signature: String,
    /// Its score, rounded to three decimals.
    pub score: f64,
}

/// The documents that share a word with the query, best first, at most `limit`; equal ones in the order given.
///
/// One pass over all texts.
pub fn search(docs: &[Doc], query: &str, limit: usize) -> Vec<Hit> {
    let terms: IndexSet<String> = words(query).into_iter().collect();
    if terms.is_empty() || docs.is_empty() {
        return Vec::new();
    }
    let profiles: Vec<Profile> = docs.iter().map(|doc| Profile::of(doc, &terms)).collect();
    let weights = weights(&profiles, terms.len());
    let mean_length = profiles.iter().map(|p| p.length).sum::<f64>() / docs.len() as f64;
    let scored = profiles.iter().zip(docs).map(|(profile, doc)| (profile.score(&weights, mean_length), doc));
    let mut hits: Vec<(f64, &Doc)> = scored.filter(|(score, _)| *score > 0.0).collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0));
    hits.into_iter().take(limit).map(|(score, doc)| Hit::of(doc, score)).collect()
}

impl Hit {
    fn of(doc: &Doc, score: f64) -> Hit {
        let score = (score * 1000.0).round() / 1000.0;
        Hit { name: doc.id.clone(), kind: doc.kind.clone(), signature: doc.signature.clone(), score }
    }
}

/// A document as the ranking sees it: how often it has each term, and its length in words.
struct Profile {
    counts: Vec<f64>,
    length: f64,
}

impl Profile {
    fn of(doc: &Doc, terms: &IndexSet<String>) -> Profile {
        let words = words(&doc.text);
        let mut counts = vec![0.0; terms.len()];
        for at in words.iter().filter_map(|word| terms.get_index_of(word)) {
            if let Some(count) = counts.get_mut(at) {
                *count += 1.0;
            }
        }
        Profile { counts, length: words.len() as f64 }
    }

    fn score(&self, weights: &[f64], mean_length: f64) -> f64 {
        let length = if mean_length > 0.0 { self.length / mean_length } else { 1.0 };
        let damping = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
        let terms = self.counts.iter().zip(weights);
        terms.map(|(count, weight)| weight * count * (SATURATION + 1.0) / (count + damping)).sum()
    }
}

/// The inverse document frequency of each term.
fn weights(profiles: &[Profile], terms: usize) -> Vec<f64> {
    let all = profiles.len() as f64;
    let having = |at: usize| profiles.iter().filter(|p| p.counts.get(at).is_some_and(|c| *c > 0.0)).count() as f64;
    (0..terms).map(having).map(|f| (1.0 + (all - f + 0.5) / (f + 0.5)).ln()).collect()
}

/// What of a tool is searched.
#[derive(Debug, Clone, Copy)]
pub struct ToolText<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: Option<&'a str>,
    /// Its description.
    pub description: &'a str,
    /// The schema of its arguments.
    pub schema: Option<&'a Value>,
}

/// The searched text of a tool: name, name in words, description, names and descriptions of arguments, namespace.
pub fn tool_text(tool: ToolText<'_>) -> String {
    let spaced = tool.name.replace('_', " ");
    let mut parts = vec![tool.name, &spaced, tool.description];
    if let Some(schema) = tool.schema {
        schema_words(schema, &mut parts);
    }
    parts.extend(tool.namespace);
    parts.join(" ")
}

/// Descriptions and property names anywhere in a schema. Keeps its own stack: a schema's depth is its author's choice.
fn schema_words<'a>(schema: &'a Value, parts: &mut Vec<&'a str>) {
    let mut open = vec![(schema, false)];
    while let Some((value, names_are_properties)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (item, false))),
            Value::Object(fields) if names_are_properties => {
                parts.extend(fields.keys().map(String::as_str));
                open.extend(fields.values().rev().map(|field| (field, false)));
            }
            Value::Object(fields) => {
                parts.extend(fields.get("description").and_then(Value::as_str));
                open.extend(fields.iter().rev().map(|(name, field)| (field, name == "properties")));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    fn doc(id: &str, kind: &str, text: &str) -> Doc {
        Doc { id: id.into(), kind: kind.into(), signature: format!("peter${id}()"), text: text.into() }
    }

    #[test]
    fn case_120_clinical_trials_finds_the_lookup_first() {
        let schema = json!({"type": "object", "properties": {"nct_id": {"type": "string", "description": "Registry number of the trial"}}});
        let text = tool_text(ToolText {
            name: "trial_lookup",
            namespace: Some("trials"),
            description: "Look up a clinical trial",
            schema: Some(&schema),
        });
        let docs = [
            doc("read", "member", "read Read a file"),
            doc("trials/trial_lookup", "plugin", &text),
            doc("lab", "deferred", "clinical chemistry units"),
        ];
        let hits = search(&docs, "clinical trials", 8);
        assert_eq!(
            hits.iter().map(|h| (h.name.as_str(), h.kind.as_str())).collect::<Vec<_>>(),
            [("trials/trial_lookup", "plugin"), ("lab", "deferred")]
        );
        assert_eq!(hits[0].signature, "peter$trials/trial_lookup()");
        assert!(search(&docs, "zebra", 8).is_empty() && search(&docs, "the of", 8).is_empty());
    }

    #[test]
    fn case_120_a_deferred_tool_is_found_by_its_description() {
        let text = tool_text(ToolText {
            name: "melt_table",
            namespace: None,
            description: "Reshape a wide table into a long one",
            schema: None,
        });
        let docs = [doc("read", "member", "read Read a file"), doc("melt_table", "deferred", &text)];
        assert_eq!(search(&docs, "reshape wide long", 8)[0].kind, "deferred");
    }

    #[test]
    fn scores_are_bm25() {
        // Two documents of two and four words; "x" once in the first: ln(1 + 1.5/1.5) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2/3)).
        let docs = [doc("a", "member", "x y"), doc("b", "member", "p q r s")];
        let expected: f64 = 2.0_f64.ln() * 2.2 / (1.0 + 1.2 * 0.75);
        let hits = search(&docs, "x x", 8);
        assert_eq!(hits.len(), 1);
        assert!((hits[0].score - (expected * 1000.0).round() / 1000.0).abs() < 1e-12);
    }

    #[test]
    fn ties_keep_their_order_and_the_limit_counts() {
        let docs: Vec<Doc> = ["c", "a", "b"].iter().map(|id| doc(id, "member", "same words")).collect();
        let names: Vec<String> = search(&docs, "words", 2).into_iter().map(|h| h.name).collect();
        assert_eq!(names, ["c", "a"]);
        assert!(search(&docs, "words", 0).is_empty());
    }

    #[test]
    fn a_property_called_description_is_a_name_and_no_text() {
        let schema = json!({"properties": {"description": {"type": "string", "description": "Inner"}, "items": {"items": {"description": "Deep"}}}});
        let text = tool_text(ToolText { name: "t", namespace: None, description: "D", schema: Some(&schema) });
        assert_eq!(text, "t t D description items Inner Deep");
    }
}
