//! Reading a table.
//!
//! A table is a text file. Its head says what is there: `mode`, `settings`, `script` (a reply a line, or `=closure`),
//! `register` (a record a line), `watch` (events that the trace shows), and `on <closure>: <acts>` (the first call of a
//! closure does the first such line, the last repeats). Each `say <prompt>` begins a run, with what is expected of it:
//! `trace`, `messages`, `diagnostics`, `request <n>: <roles>`, `requests <n>`, `end <status> [<class>: <message>]`.
//! In what is expected, `*` stands for any text. `#` begins a comment.

use gptr_engine::value::{Value, json};

use super::spec::Entry;

/// A whole table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Arguments of the session: `mode`, `settings` and others.
    pub args: Value,
    /// Scripts of fake providers; the first one is the session's.
    pub scripts: Vec<(String, Script)>,
    /// What is registered, in order.
    pub records: Vec<Entry>,
    /// Events that the trace shows.
    pub watched: Vec<String>,
    /// What closures do, call by call.
    pub answers: Vec<(String, Answer)>,
    /// The runs.
    pub says: Vec<Say>,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            args: json!({"mode": "auto"}),
            scripts: Vec::new(),
            records: Vec::new(),
            watched: Vec::new(),
            answers: Vec::new(),
            says: Vec::new(),
        }
    }
}

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub enum Script {
    /// The replies.
    Replies(Vec<Value>),
    /// A closure.
    Closure(String),
}

/// One run and what is expected of it. What is `None` is not checked.
#[derive(Debug, Clone, Default)]
pub struct Say {
    /// The prompt; `None` runs what is queued.
    pub prompt: Option<String>,
    /// What happens before, outside of any run.
    pub before: Vec<Act>,
    /// Ctrl-C at each wait.
    pub cancel_on_wait: bool,
    /// The trace.
    pub trace: Option<Vec<String>>,
    /// The new messages.
    pub messages: Option<Vec<String>>,
    /// The new diagnostics.
    pub diagnostics: Option<Vec<String>>,
    /// The number of a request, and the roles in it.
    pub requests: Vec<(usize, String)>,
    /// How many requests there were in all.
    pub count: Option<usize>,
    /// The end.
    pub end: Option<String>,
}

/// What a closure does in one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it does first.
    pub acts: Vec<Act>,
    /// How it is left.
    pub outcome: Outcome,
}

/// What a handler can do to the program while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// `call <key> <input>`: calls a member.
    Call(String, Value),
    /// `register <record>`.
    Register(Entry),
    /// `remove <label>`.
    Remove(String),
    /// `steer <text>` and `follow_up <text>`.
    Steer(&'static str, String),
    /// `abort <reason>`: `ctx$abort()`.
    Abort(String),
    /// `abort_outermost <reason>`: the same of the session that the table is about.
    AbortOutermost(String),
    /// `child <args> <prompt>`: another session.
    Child(Value, String),
    /// `run`: runs the session that is running.
    Run,
    /// `choose <args>`: changes the session's options.
    Choose(Value),
}

/// How a handler is left.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// `null`, or `value <json>`.
    Value(Value),
    /// `text <text>`: a tool's result.
    Text(String),
    /// `result <json>`: a tool's result, by fields.
    Result(Value),
    /// `error <message>`, `error:<class> <message>`.
    Error(String, String),
    /// `interrupt`.
    Interrupt,
    /// `jump`: to the top level.
    Jump,
    /// `timeout`.
    Timeout,
    /// `echo`: a tool's input as its text.
    Echo,
    /// `frame` and `na`: values that are no answer.
    Odd(&'static str),
}

impl Table {
    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut table = Table::default();
        let mut lines =
            text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')).peekable();
        while let Some((at, line)) = lines.next() {
            let mut block = Vec::new();
            while let Some((_, l)) = lines.next_if(|(_, l)| l.starts_with("  ")) {
                block.push(l.trim().to_owned());
            }
            table.section(line, block).map_err(|problem| format!("line {}: {problem}", at + 1))?;
        }
        Ok(table)
    }

    fn section(&mut self, line: &str, block: Vec<String>) -> Result<(), String> {
        let (word, rest) = split(line);
        let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| format!("{e} in {text}"));
        match word {
            "mode" => self.args["mode"] = json!(rest),
            "settings" => self.args["settings"] = json(rest)?,
            "session" => json(rest)?.as_object().into_iter().flatten().for_each(|(k, v)| self.args[k] = v.clone()),
            "script" => {
                let script = match rest.strip_prefix('=') {
                    Some(closure) => Script::Closure(closure.to_owned()),
                    None => Script::Replies(block.iter().map(|l| json(l)).collect::<Result<_, _>>()?),
                };
                let name = if rest.is_empty() || rest.starts_with('=') { "fake" } else { rest };
                self.scripts.push((name.to_owned(), script));
            }
            "register" => self.records.extend(block.iter().map(|l| Entry::parse(l)).collect::<Result<Vec<_>, _>>()?),
            "watch" => self.watched.extend(rest.split_whitespace().map(str::to_owned)),
            "on" => {
                let (closure, acts) = rest.split_once(':').ok_or("`on` needs a colon")?;
                self.answers.push((closure.to_owned(), Answer::parse(acts.trim())?));
            }
            "say" => {
                self.says.push(Say { prompt: Some(rest.to_owned()).filter(|p| !p.is_empty()), ..Say::default() });
            }
            _ => self.says.last_mut().ok_or_else(|| format!("`{word}` before a `say`"))?.section(word, rest, block)?,
        }
        Ok(())
    }
}

impl Say {
    fn section(&mut self, word: &str, rest: &str, block: Vec<String>) -> Result<(), String> {
        match word {
            "before" => self.before.push(Act::parse(rest)?.ok_or_else(|| format!("`{rest}` is not an act"))?),
            "cancel" => self.cancel_on_wait = true,
            "trace" => self.trace = Some(block),
            "messages" => self.messages = Some(block),
            "diagnostics" => self.diagnostics = Some(block),
            "requests" => self.count = Some(rest.parse().map_err(|_| "`requests` needs a number")?),
            "request" => {
                let (n, roles) = rest.split_once(':').ok_or("`request` needs a colon")?;
                self.requests.push((n.parse().map_err(|_| "`request` needs a number")?, roles.trim().to_owned()));
            }
            "end" => self.end = Some(rest.to_owned()),
            _ => return Err(format!("`{word}` means nothing here")),
        }
        Ok(())
    }
}

impl Answer {
    /// Reads acts, joined by ` & `; the last one may be an outcome.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut answer = Answer { acts: Vec::new(), outcome: Outcome::Value(Value::Null) };
        for part in text.split(" & ") {
            match Act::parse(part)? {
                Some(act) => answer.acts.push(act),
                None => answer.outcome = Outcome::parse(part)?,
            }
        }
        Ok(answer)
    }
}

impl Act {
    fn parse(text: &str) -> Result<Option<Self>, String> {
        let (word, rest) = split(text);
        let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| format!("{e} in {text}"));
        Ok(Some(match word {
            "call" => {
                let (key, input) = split(rest);
                Act::Call(key.to_owned(), if input.is_empty() { json!({}) } else { json(input)? })
            }
            "register" => Act::Register(Entry::parse(rest)?),
            "remove" => Act::Remove(rest.to_owned()),
            "steer" => Act::Steer("steer", rest.to_owned()),
            "follow_up" => Act::Steer("follow_up", rest.to_owned()),
            "abort" => Act::Abort(rest.to_owned()),
            "abort_outermost" => Act::AbortOutermost(rest.to_owned()),
            "child" => {
                let end = rest.rfind('}').ok_or("`child` needs arguments")?;
                Act::Child(json(&rest[..=end])?, rest[end + 1..].trim().to_owned())
            }
            "run" => Act::Run,
            "choose" => Act::Choose(json(rest)?),
            _ => return Ok(None),
        }))
    }
}

impl Outcome {
    fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = split(text);
        let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| format!("{e} in {text}"));
        Ok(match word {
            "null" => Outcome::Value(Value::Null),
            "value" => Outcome::Value(json(rest)?),
            "text" => Outcome::Text(rest.to_owned()),
            "result" => Outcome::Result(json(rest)?),
            "interrupt" => Outcome::Interrupt,
            "jump" => Outcome::Jump,
            "timeout" => Outcome::Timeout,
            "echo" => Outcome::Echo,
            "frame" => Outcome::Odd("frame"),
            "na" => Outcome::Odd("na"),
            "error" => Outcome::Error("simpleError".into(), rest.to_owned()),
            _ => match word.split_once(':') {
                Some(("error", class)) => Outcome::Error(class.to_owned(), rest.to_owned()),
                _ => return Err(format!("`{text}` is neither an act nor an outcome")),
            },
        })
    }
}

fn split(line: &str) -> (&str, &str) {
    line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()))
}
