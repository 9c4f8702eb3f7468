//! `<think>` tags that a host leaves in its text, read only at the very start of it.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of text, told apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Thinking(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    After,
}

/// Tells reasoning and text apart, however the tags are cut.
#[derive(Debug)]
pub(super) struct ThinkTags {
    state: State,
    /// What may become a tag.
    held: String,
}

impl Default for ThinkTags {
    fn default() -> Self {
        ThinkTags { state: State::Start, held: String::new() }
    }
}

impl ThinkTags {
    /// Takes a delta.
    pub(super) fn push(&mut self, delta: &str, mut emit: impl FnMut(Piece<'_>)) {
        if self.state == State::After {
            return emit(Piece::Text(delta));
        }
        let mut text = std::mem::take(&mut self.held);
        text.push_str(delta);
        let mut rest = text.as_str();
        if self.state == State::Start {
            if let Some(inside) = rest.strip_prefix(OPEN) {
                self.state = State::Inside;
                rest = inside;
            } else if OPEN.starts_with(rest) {
                self.held = text;
                return;
            } else {
                self.state = State::After;
                return emit(Piece::Text(rest));
            }
        }
        if let Some((inside, after)) = rest.split_once(CLOSE) {
            self.state = State::After;
            emit(Piece::Thinking(inside));
            return emit(Piece::Text(after));
        }
        let (sure, held) = rest.split_at(rest.len() - tag_begun(rest));
        emit(Piece::Thinking(sure));
        self.held = held.to_owned();
    }

    /// The text ended: what was held is what it looks like.
    pub(super) fn finish(&mut self, mut emit: impl FnMut(Piece<'_>)) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => emit(Piece::Thinking(&held)),
            _ => emit(Piece::Text(&held)),
        }
    }
}

/// How many bytes at the end may be the begin of a closing tag.
fn tag_begun(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|n| text.ends_with(CLOSE.get(..*n).unwrap_or(CLOSE))).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn read(text: &str, size: usize) -> (String, String) {
        let mut tags = ThinkTags::default();
        let (mut thinking, mut plain) = (String::new(), String::new());
        let mut sort = |p: Piece<'_>| match p {
            Piece::Text(t) => plain.push_str(t),
            Piece::Thinking(t) => thinking.push_str(t),
        };
        let chars: Vec<char> = text.chars().collect();
        for chunk in chars.chunks(size) {
            tags.push(&chunk.iter().collect::<String>(), &mut sort);
        }
        tags.finish(&mut sort);
        (thinking, plain)
    }

    #[test]
    fn tags_survive_any_cut_and_count_only_at_the_start() {
        let table = [
            ("<think>a < b</think>c</think>", "a < b", "c</think>"),
            ("x <think>a</think>", "", "x <think>a</think>"),
            ("<thin", "", "<thin"),
            ("<think>never closed </thi", "never closed </thi", ""),
            ("", "", ""),
        ];
        for (text, thinking, plain) in table {
            for size in [1, 2, 3, 100] {
                assert_eq!(read(text, size), (thinking.to_owned(), plain.to_owned()), "{text} by {size}");
            }
        }
    }
}
