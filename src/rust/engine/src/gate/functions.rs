//! The table of what functions of R do.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::facts::{Arg, Kind};
use super::risk::Category;

/// One row: what a function does, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its level.
    pub level: u8,
    /// What it does.
    pub category: Category,
    /// Its package.
    pub package: &'static str,
    when: When,
}

/// When a row applies; the words are explained in the table's head.
#[derive(Debug, Clone, PartialEq)]
enum When {
    Always,
    Args,
    NoArgs,
    Named,
    Arg(&'static str, usize),
    Mode(&'static str, usize),
    Url,
}

/// A row that a `risk_rule` record adds.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The package, empty for any.
    pub package: String,
    /// The function.
    pub function: String,
    /// Its level.
    pub level: u8,
    /// What it does.
    pub category: Option<Category>,
    /// True when it may lower a level.
    pub lower: bool,
}

static ROWS: LazyLock<HashMap<&'static str, Vec<Row>>> = LazyLock::new(|| {
    let mut rows: HashMap<&'static str, Vec<Row>> = HashMap::new();
    for line in include_str!("risk_functions.tsv").lines().filter(|l| !l.starts_with('#')) {
        if let Some((row, names)) = parse_line(line) {
            for name in names.split(' ').filter(|n| !n.is_empty()) {
                rows.entry(name).or_default().push(row.clone());
            }
        }
    }
    rows
});

fn parse_line(line: &'static str) -> Option<(Row, &'static str)> {
    let mut fields = line.split('\t');
    let level = fields.next()?.parse().ok()?;
    let category = Category::parse(fields.next()?)?;
    let package = fields.next()?;
    let when = parse_when(fields.next()?)?;
    Some((Row { level, category, package, when }, fields.next()?))
}

fn parse_when(text: &'static str) -> Option<When> {
    let mut parts = text.split(':');
    let word = parts.next()?;
    let mut argument = || Some((parts.next()?, parts.next()?.parse().ok()?));
    Some(match word {
        "-" => When::Always,
        "args" => When::Args,
        "noargs" => When::NoArgs,
        "named" => When::Named,
        "arg" => argument().map(|(n, p)| When::Arg(n, p))?,
        "mode" => argument().map(|(n, p)| When::Mode(n, p))?,
        "url" => When::Url,
        _ => return None,
    })
}

/// The row for a call; `None` for a function that no row lists. Without a package any package counts.
pub fn row(function: &str, package: Option<&str>, args: &[Arg]) -> Option<&'static Row> {
    ROWS.get(function)?.iter().find(|r| package.is_none_or(|p| p == r.package) && r.when.applies(args))
}

/// The strictest row of a function that is not called here but handed on.
pub fn strictest(function: &str, package: Option<&str>) -> Option<&'static Row> {
    ROWS.get(function)?.iter().filter(|r| package.is_none_or(|p| p == r.package)).max_by_key(|r| r.level)
}

/// True for the address of something that is not on this machine.
pub fn is_url(text: &str) -> bool {
    let lower = text.trim_start().to_ascii_lowercase();
    ["http://", "https://", "ftp://", "ftps://"].iter().any(|s| lower.starts_with(s))
}

/// First arguments of the functions whose second one the table asks for: given by name, they move the second to the front.
const FIRST: &[&str] = &["text", "object", "x", "path", "description", "con"];

/// The argument with this name (or a beginning of it, as R matches), else the unnamed one at this position, counted
/// from 1; position 0 is by whole name only.
pub fn argument<'a>(args: &'a [Arg], name: &str, position: usize) -> Option<&'a Arg> {
    let fits = |a: &&Arg| a.name == name || (position > 0 && !a.name.is_empty() && name.starts_with(&a.name));
    args.iter().find(fits).or_else(|| {
        let moved = args.iter().filter(|a| FIRST.contains(&a.name.as_str())).count();
        let index = position.checked_sub(1)?.checked_sub(moved)?;
        args.iter().filter(|a| a.name.is_empty()).nth(index)
    })
}

impl When {
    fn applies(&self, args: &[Arg]) -> bool {
        match self {
            When::Always => true,
            When::Args => args.iter().any(|a| a.kind != Kind::Missing),
            When::NoArgs => args.is_empty(),
            When::Named => args.iter().any(|a| !a.name.is_empty() || !matches!(a.kind, Kind::Strings | Kind::Null)),
            When::Arg(name, position) => argument(args, name, *position).is_some_and(|a| !goes_nowhere(a)),
            When::Mode(name, position) => argument(args, name, *position).is_some_and(|a| !only_reads(a)),
            When::Url => args.iter().any(|a| a.strings.iter().any(|s| is_url(s))),
        }
    }
}

/// `file = ""`, `con = stdout()` and the like print, or keep in memory.
fn goes_nowhere(arg: &Arg) -> bool {
    match arg.kind {
        Kind::Null | Kind::Missing => true,
        Kind::Strings => arg.strings.iter().all(String::is_empty),
        Kind::Call => ["stdout", "stderr", "raw"].contains(&arg.symbol.as_str()),
        _ => false,
    }
}

fn only_reads(arg: &Arg) -> bool {
    arg.kind == Kind::Strings && arg.strings.iter().all(|m| ["", "r", "rt", "rb"].contains(&m.as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = include_str!("risk_functions.tsv").lines().filter(|l| !l.starts_with('#'));
        for line in lines {
            let (row, names) = parse_line(line).unwrap_or_else(|| panic!("{line}"));
            assert!(row.level <= 4 && !names.is_empty());
        }
        assert!(ROWS.len() > 1000);
    }

    #[test]
    fn a_function_that_is_listed_always_has_a_row() {
        let open: Vec<_> = ROWS.iter().filter(|(_, rows)| rows.iter().all(|r| r.when != When::Always)).collect();
        assert!(open.is_empty(), "without a last row: {open:?}");
    }

    #[test]
    fn packages_count_when_they_are_given() {
        assert_eq!(row("filter", None, &[]).map(|r| r.level), Some(0));
        assert_eq!(row("filter", Some("stats"), &[]).map(|r| r.level), Some(0));
        assert!(row("filter", Some("dplyr"), &[]).is_none());
        assert!(row("nosuchfn", None, &[]).is_none());
    }

    #[test]
    fn arguments_are_found_by_name_beginning_or_place() {
        let arg = |name: &str| Arg { name: name.into(), ..Arg::default() };
        let at = |args: &[Arg]| argument(args, "con", 2).and_then(|a| args.iter().position(|b| std::ptr::eq(a, b)));
        assert_eq!(at(&[arg(""), arg("")]), Some(1));
        assert_eq!(at(&[arg("text"), arg("")]), Some(1));
        assert_eq!(at(&[arg(""), arg("sep")]), None);
        assert_eq!(at(&[arg("con"), arg("")]), Some(0));
        assert_eq!(at(&[arg(""), arg("co")]), Some(1));
        assert!(argument(&[arg("")], "file", 0).is_none());
    }

    #[test]
    fn urls_are_known_by_their_scheme() {
        assert!(is_url("HTTPS://a.b"));
        assert!(!is_url("data/http.csv"));
    }
}
