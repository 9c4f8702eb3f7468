//! What a tool gave back, as it goes to the model.

use crate::hook::patch;
use crate::message::Block;
use crate::prompt::estimate::{Class, estimate, image};
use crate::reply::object;
use crate::session::outputs::Receipt;
use crate::value::{HostValue, Map, Value, json};

/// Share of the budget that the head of a cut text gets.
const HEAD: f64 = 0.4;

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResult {
    /// What the model reads.
    pub content: Vec<Block>,
    /// What programs read.
    pub details: Map<String, Value>,
    /// True for a failure that the model should react to.
    pub is_error: bool,
    /// The line that a person sees.
    pub gloss: Option<String>,
    /// True when the run should end after this turn.
    pub terminate: bool,
}

impl ToolResult {
    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        ToolResult { content: vec![Block::text(text)], ..ToolResult::default() }
    }

    /// An error result.
    pub fn error(text: impl Into<String>) -> Self {
        ToolResult { is_error: true, ..ToolResult::text(text) }
    }

    /// Reads what the host made of a tool's return value: a list of class `gptr_tool_result`, or a list whose
    /// `malformed` says why it is none.
    ///
    /// # Errors
    /// Why the return can't be used.
    pub fn read(value: &HostValue) -> Result<Self, String> {
        if let Some(problem) = value.field("malformed").and_then(HostValue::as_str) {
            return Err(problem.to_owned());
        }
        let content = value.field("content").ok_or("the result has no content")?;
        let content = content.to_json().map_err(|e| e.to_string())?;
        let content = patch::blocks(&content).ok_or("the content must be text and image blocks")?;
        let details = match value.field("details") {
            Some(d) => object(d).map_err(|problem| format!("`details` {problem}"))?,
            None => Map::new(),
        };
        let flag = |name: &str| value.field(name).and_then(HostValue::as_flag).unwrap_or(false);
        Ok(ToolResult {
            content,
            details,
            is_error: flag("is_error"),
            gloss: value.field("gloss").and_then(HostValue::as_str).map(str::to_owned),
            terminate: flag("terminate"),
        })
    }

    /// All text, images as `[image]`.
    pub fn plain(&self) -> String {
        let parts: Vec<&str> = self
            .content
            .iter()
            .map(|b| match b {
                Block::Text { text, .. } => text.as_str(),
                _ => "[image]",
            })
            .collect();
        parts.join("\n")
    }

    /// Tokens that its images take.
    pub fn image_tokens(&self) -> u64 {
        let of = |b: &Block| match b {
            Block::Image { width, height, .. } => image(*width, *height),
            _ => 0,
        };
        self.content.iter().map(of).sum()
    }

    /// Cuts each text over the budget; `keep` stores the full text.
    pub fn cut(&mut self, budget: u64, mut keep: impl FnMut(String) -> Receipt) {
        for block in &mut self.content {
            let Block::Text { text, .. } = block else { continue };
            if estimate(text, Class::ROutput) <= budget {
                continue;
            }
            let kept = keep(text.clone());
            *text = cut_text(text, budget, &format!("peter$out(\"{}\")", kept.id));
            self.details.insert("truncated".into(), json!(true));
            self.details.insert("out_id".into(), json!(kept.id));
            self.details.insert("spill".into(), json!(kept.spill));
        }
    }
}

/// A text within a budget of tokens: all of it, or its head and tail; `call` gives the reader the whole.
pub fn within(text: &str, budget: u64, call: &str) -> String {
    if estimate(text, Class::ROutput) <= budget { text.to_owned() } else { cut_text(text, budget, call) }
}

/// Whole lines from the head and the tail of a text within the budget, and a line that says what is missing.
fn cut_text(text: &str, budget: u64, call: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let cost = |line: &str| estimate(line, Class::ROutput).max(1);
    let take = |lines: &mut dyn Iterator<Item = &&str>, room: u64| {
        let mut used = 0;
        lines
            .take_while(|l| {
                used += cost(l);
                used <= room
            })
            .count()
    };
    let head_room = (budget as f64 * HEAD) as u64;
    let head = take(&mut lines.iter(), head_room);
    let tail = take(&mut lines[head..].iter().rev(), budget - head_room);
    if head + tail == 0 {
        return cut_line(text, budget, call);
    }
    let missing = lines.len() - head - tail;
    let note = format!("[... {missing} lines not shown; {call} has all]");
    let mut out: Vec<&str> = lines[..head].to_vec();
    out.push(&note);
    out.extend(&lines[lines.len() - tail..]);
    out.join("\n")
}

/// A single line over the budget is cut in its middle.
fn cut_line(text: &str, budget: u64, call: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let whole = estimate(text, Class::ROutput).max(1);
    let room = usize::try_from(chars.len() as u64 * budget / whole).unwrap_or(0).max(2);
    let head = (room as f64 * HEAD) as usize;
    let tail = room - head;
    let missing = chars.len().saturating_sub(room);
    let start: String = chars.iter().take(head).collect();
    let end: String = chars[chars.len() - tail.min(chars.len())..].iter().collect();
    format!("{start}[... {missing} characters not shown; {call} has all]{end}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn result(text: &str) -> HostValue {
        let block = HostValue::named([("type", "text".into()), ("text", text.into())]);
        HostValue::named([("content", HostValue::list([block])), ("is_error", false.into())])
    }

    fn receipt() -> Receipt {
        Receipt { id: "o1".into(), spill: None }
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_and_all_of_it_is_kept() {
        let long: String = (1..=5000).map(|i| format!("line {i}\n")).collect();
        let mut r = ToolResult::read(&result(&long)).unwrap();
        let mut kept = String::new();
        r.cut(50, |text| {
            kept = text;
            receipt()
        });
        let text = r.plain();
        assert!(text.starts_with("line 1\n") && text.ends_with("line 5000"));
        assert!(text.contains("lines not shown; peter$out(\"o1\") has all]"));
        assert!(estimate(&text, Class::ROutput) <= 50 + 40);
        assert_eq!(kept, long);
        assert_eq!(r.details["truncated"], true);
    }

    #[test]
    fn a_single_long_line_is_cut_in_its_middle() {
        let mut r = ToolResult::read(&result(&"x".repeat(100_000))).unwrap();
        r.cut(50, |_| receipt());
        let text = r.plain();
        assert!(text.len() < 300 && text.starts_with("xx") && text.ends_with("xx"));
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let mut r = ToolResult::read(&result("short")).unwrap();
        r.cut(50, |_| panic!("nothing to keep"));
        assert_eq!((r.plain().as_str(), r.details.len()), ("short", 0));
    }

    #[test]
    fn a_malformed_return_says_why() {
        let bad = HostValue::named([("malformed", "a data.frame".into())]);
        assert_eq!(ToolResult::read(&bad), Err("a data.frame".into()));
        assert!(ToolResult::read(&HostValue::null()).is_err());
    }
}
