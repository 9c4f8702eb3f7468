//! The list of plugin members in the system prompt.

use crate::prompt::estimate::{CharCounts, Class};

/// The budget of the section `plugins`, in tokens.
pub const CATALOG_BUDGET: u64 = 1500;

const HEADER: &str = "\
Members of `peter$` that plugins and users added, to be called in R code. peter$help(\"<namespace>/<name>\") explains the \
arguments of one.";

/// One member of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogLine {
    /// `<ns>/<name>`, which the lines are sorted by.
    pub key: String,
    /// The signature, with or without its comment.
    pub signature: String,
}

/// The catalog: a header and a line a member, sorted by key in byte order. Nothing without members.
///
/// Over `budget`, comments go from the last line backwards, for as long as it takes; names always stay.
pub fn plugins_catalog(mut members: Vec<CatalogLine>, budget: u64) -> Option<String> {
    if members.is_empty() {
        return None;
    }
    members.sort_by(|a, b| a.key.cmp(&b.key));
    let mut lines: Vec<String> = members.into_iter().map(|m| m.signature.replace(['\r', '\n'], " ")).collect();
    let mut size = CharCounts::of_elements(std::iter::once(HEADER).chain(lines.iter().map(String::as_str)).map(Some));
    for line in lines.iter_mut().rev() {
        if size.tokens(Class::Prose) <= budget {
            break;
        }
        let bare = without_comment(line).len();
        size.remove(CharCounts::of(&line[bare..]));
        line.truncate(bare);
    }
    lines.insert(0, HEADER.to_owned());
    Some(lines.join("\n"))
}

/// The part before the trailing comment: two blanks, `#`. Looked for behind the arguments first, as one of their
/// values may read like a comment.
fn without_comment(line: &str) -> &str {
    match line.find(")  # ") {
        Some(at) => &line[..=at],
        None => line.find("  # ").map_or(line, |at| &line[..at]),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::prompt::estimate::estimate;

    fn members(n: usize) -> Vec<CatalogLine> {
        let line = |i: usize| CatalogLine {
            key: format!("demo/f{i:02}"),
            signature: format!(
                "peter$demo$f{i:02}(x: number)  # A sentence that says what member {i} is good for, at length."
            ),
        };
        (0..n).rev().map(line).collect()
    }

    #[test]
    fn case_118_forty_members_over_budget_keep_their_lines_and_lose_comments_from_the_end() {
        let text = plugins_catalog(members(40), 800).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines.len(), 40);
        assert!(lines[0].starts_with("peter$demo$f00(x: number)  # A sentence"));
        assert_eq!(lines[39], "peter$demo$f39(x: number)");
        let first_bare = lines.iter().position(|line| !line.contains('#')).unwrap();
        assert!(lines[first_bare..].iter().all(|line| !line.contains('#')));
        assert!(estimate(&text, Class::Prose) <= 800);
        let with_one_more = estimate(&text, Class::Prose)
            + estimate("  # A sentence that says what member 10 is good for, at length.", Class::Prose);
        assert!(with_one_more > 800, "no more comments went than had to");
    }

    #[test]
    fn case_118_names_stay_whatever_the_budget() {
        assert_eq!(plugins_catalog(members(40), 1).unwrap().lines().count(), 41);
    }

    #[test]
    fn case_119_a_catalog_without_members_is_absent() {
        assert_eq!(plugins_catalog(vec![], CATALOG_BUDGET), None);
        assert!(plugins_catalog(members(1), CATALOG_BUDGET).unwrap().ends_with("at length."));
    }

    #[test]
    fn a_value_that_reads_like_a_comment_stays() {
        assert_eq!(without_comment("peter$a$b(x: \"  # no\")  # Yes."), "peter$a$b(x: \"  # no\")");
        assert_eq!(without_comment("peter$a$b  # Yes."), "peter$a$b");
    }
}
