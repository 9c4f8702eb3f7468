//! Cutting a text to a number of tokens.

use super::estimate::{CharCounts, Class};

/// What stays when not even the first line fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstLine {
    /// Nothing: only whole lines are shown.
    Drop,
    /// As much of it as fits.
    Cut,
}

/// The text, or its first whole lines and a last line that says what happened: `[... <what> truncated to <N> tokens]`.
///
/// A line costs its own estimate and 1; the marker counts too, but stays even where the budget is too small for it.
pub fn cut(text: &str, class: Class, budget: u64, what: &str, first: FirstLine) -> String {
    if CharCounts::of(text).tokens(class) <= budget {
        return text.to_owned();
    }
    let marker = format!("[... {what} truncated to {budget} tokens]");
    let room = budget.saturating_sub(CharCounts::of(&marker).tokens(class));
    let mut kept: Vec<&str> = whole_lines(text, class, room).collect();
    if kept.is_empty() && first == FirstLine::Cut {
        kept.extend(text.lines().next().map(|line| prefix(line, class, room)).filter(|line| !line.is_empty()));
    }
    kept.push(&marker);
    kept.join("\n")
}

/// The leading lines whose summed cost stays within `room`.
pub fn whole_lines(text: &str, class: Class, room: u64) -> impl Iterator<Item = &str> {
    let mut used = 0_u64;
    text.lines().take_while(move |line| {
        used = used.saturating_add(CharCounts::of(line).tokens(class) + 1);
        used <= room
    })
}

/// The longest beginning of a line that costs at most `room`, the line break included.
fn prefix(line: &str, class: Class, room: u64) -> &str {
    let mut counts = CharCounts::default();
    for (at, c) in line.char_indices() {
        counts.append(CharCounts::of(c.encode_utf8(&mut [0; 4])));
        if counts.tokens(class) + 1 > room {
            return &line[..at];
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::estimate::estimate;

    #[test]
    fn a_text_within_its_budget_is_untouched() {
        assert_eq!(cut("a\n\nb\n", Class::Prose, 10, "section", FirstLine::Drop), "a\n\nb\n");
    }

    #[test]
    fn whole_lines_stay_and_the_last_line_says_so() {
        let text = vec!["a line of some twenty ch"; 40].join("\n");
        let short = cut(&text, Class::Prose, 60, "section", FirstLine::Drop);
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!(lines.last(), Some(&"[... section truncated to 60 tokens]"));
        assert_eq!(lines.len(), 8, "each line costs 6 + 1, the marker 9: (60 - 9) / 7 = 7 lines");
        assert!(estimate(&short, Class::Prose) <= 60);
    }

    #[test]
    fn a_first_line_that_is_too_long_is_dropped_or_cut() {
        let text = "x".repeat(4000);
        assert_eq!(cut(&text, Class::Prose, 100, "section", FirstLine::Drop), "[... section truncated to 100 tokens]");
        let block = cut(&text, Class::Prose, 100, "block", FirstLine::Cut);
        assert!(block.starts_with("xxx") && estimate(&block, Class::Prose) <= 100 && block.len() > 380);
        assert_eq!(cut(&text, Class::Prose, 1, "block", FirstLine::Cut), "[... block truncated to 1 tokens]");
    }
}
