//! Words of a text as search compares them.

const STOP_WORDS: [&str; 21] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on", "or", "that", "the",
    "this", "to", "with",
];

/// Plurals in `-es`: what is left of the ending once `es` is gone.
const ES_STEMS: [&str; 5] = ["ch", "sh", "ss", "x", "z"];

/// The words of a text: camelCase split, lower case, without stop words, singular.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut previous_lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && previous_lower) {
            finish(&mut word, &mut out);
        }
        previous_lower = c.is_lowercase() || c.is_numeric();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    finish(&mut word, &mut out);
    out
}

fn finish(word: &mut String, out: &mut Vec<String>) {
    if !word.is_empty() && !STOP_WORDS.contains(&word.as_str()) {
        out.push(singular(word));
    }
    word.clear();
}

/// A naive singular: enough to make a query in the plural meet a description in the singular.
fn singular(word: &str) -> String {
    let length = word.chars().count();
    if let (Some(stem), true) = (word.strip_suffix("ies"), length > 4) {
        return format!("{stem}y");
    }
    if let (Some(stem), true) = (word.strip_suffix("es"), length > 4)
        && ES_STEMS.iter().any(|ending| stem.ends_with(ending))
    {
        return stem.to_owned();
    }
    match word.strip_suffix('s') {
        Some(stem) if length > 3 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_and_punctuation_split_and_stop_words_go() {
        assert_eq!(
            words("readCsvFile the data_frame, v2Beta is in HTTP"),
            ["read", "csv", "file", "data", "frame", "v2", "beta", "http"]
        );
        assert!(words("  .. with a the --").is_empty());
    }

    #[test]
    fn plurals_meet_singulars() {
        let pairs = [
            ("trials", "trial"),
            ("studies", "study"),
            ("ties", "tie"),
            ("boxes", "box"),
            ("matches", "match"),
            ("classes", "class"),
            ("class", "class"),
            ("gas", "gas"),
            ("axes", "axe"),
            ("tables", "table"),
            ("buzzes", "buzz"),
            ("dishes", "dish"),
        ];
        for (plural, singular) in pairs {
            assert_eq!(words(plural), [singular], "{plural}");
        }
    }
}
