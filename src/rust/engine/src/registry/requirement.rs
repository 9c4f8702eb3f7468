//! Requirements on a version: `1.2` (at least that, same major) or `>= 1.0, < 2`.

use std::cmp::Ordering;

/// A requirement or version that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version requirement")]
pub struct Malformed;

type Holds = fn(Ordering) -> bool;

/// Two characters before one, so that `>=` is not read as `>`.
const OPERATORS: [(&str, Holds); 5] = [
    (">=", Ordering::is_ge),
    ("<=", Ordering::is_le),
    ("==", Ordering::is_eq),
    (">", Ordering::is_gt),
    ("<", Ordering::is_lt),
];

/// True when the version `available` meets `requirement`: a bare version is a caret range, otherwise parts
/// `<op> <version>` are joined by commas. A version of one component means `x.0`.
///
/// # Errors
/// `Malformed` for anything else: words, a trailing comma, a bare version among several parts, a component above
/// R's largest integer.
pub fn satisfies(requirement: &str, available: &str) -> Result<bool, Malformed> {
    let have = version(available)?;
    let parts: Vec<&str> = requirement.split(',').map(|p| p.trim_matches([' ', '\t'])).collect();
    if let [bare] = parts.as_slice()
        && bare.starts_with(|c: char| c.is_ascii_digit())
    {
        let least = version(bare)?;
        return Ok(have >= least && have.first() == least.first());
    }
    let mut met = true;
    for part in parts {
        let (operator, holds) = OPERATORS.iter().find(|(op, _)| part.starts_with(op)).ok_or(Malformed)?;
        let bound = version(part.strip_prefix(operator).unwrap_or_default().trim_start_matches([' ', '\t']))?;
        met &= holds(have.cmp(&bound));
    }
    Ok(met)
}

/// The components, without trailing zeros beyond the second, so that 1.0 and 1.0.0 are the same.
fn version(text: &str) -> Result<Vec<i32>, Malformed> {
    let component = |s: &str| {
        let digits = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        s.parse::<i32>().ok().filter(|_| digits).ok_or(Malformed)
    };
    let mut out = text.split(['.', '-']).map(component).collect::<Result<Vec<i32>, Malformed>>()?;
    while out.len() > 2 && out.last() == Some(&0) {
        out.pop();
    }
    if out.len() == 1 {
        out.push(0);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_81_requirements_against_api_1_0() {
        for met in ["1.0", "1", ">= 1.0, < 2", ">=1.0", "== 1.0.0", "<= 1", "> 0.9"] {
            assert_eq!(satisfies(met, "1.0"), Ok(true), "{met}");
        }
        for unmet in ["1.9", ">= 2.0", "0.9", "> 1.0", ">= 1.0, < 1.0"] {
            assert_eq!(satisfies(unmet, "1.0"), Ok(false), "{unmet}");
        }
        for bad in
            ["one", "1.0,", "1.0, < 2", "", ">= 99999999999", "99999999999.0", ">=", "~ 1", "1.", "1.0\n", "+1.0"]
        {
            assert_eq!(satisfies(bad, "1.0"), Err(Malformed), "{bad}");
        }
    }

    #[test]
    fn a_bare_version_allows_later_minors_of_its_major() {
        assert_eq!(satisfies("1.2", "1.10"), Ok(true));
        assert_eq!(satisfies("1.2", "2.0"), Ok(false));
    }
}
