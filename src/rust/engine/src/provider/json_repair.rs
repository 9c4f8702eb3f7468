//! JSON as models and hosts write it.
//!
//! Three readings of one grammar: [`parse`] for arguments that will be run, [`lenient`] for events of a host, and
//! [`partial`] for texts that are still arriving. Repairs happen only inside of strings: raw control characters
//! stand for themselves, a bad escape keeps its backslash, a lone surrogate or NUL becomes U+FFFD.

use std::borrow::Cow;

use crate::value::{Map, Value};

/// Values deeper than this are refused, or left out where a host's unknown keys must not matter.
const MAX_DEPTH: usize = 120;

/// What [`build`] makes of a text, piece by piece. The pieces borrow from the text where they stand in it as they are.
pub trait Sink<'t> {
    /// A value.
    type Node;
    /// An array that is open.
    type Array;
    /// An object that is open.
    type Object;

    /// `null`, `true`, `false` or a number, by its text; `None` when it is none of these.
    fn scalar(&mut self, word: &'t str) -> Option<Self::Node>;
    /// A string.
    fn string(&mut self, text: Cow<'t, str>) -> Self::Node;
    /// An array begins.
    fn open_array(&mut self) -> Self::Array;
    /// Its next item.
    fn item(&mut self, array: &mut Self::Array, item: Self::Node);
    /// It ends.
    fn close_array(&mut self, array: Self::Array) -> Self::Node;
    /// An object begins.
    fn open_object(&mut self) -> Self::Object;
    /// The name of its next member; false when it has one of that name.
    fn name(&mut self, object: &mut Self::Object, name: Cow<'t, str>) -> bool;
    /// The member.
    fn member(&mut self, object: &mut Self::Object, member: Self::Node);
    /// It ends.
    fn close_object(&mut self, object: Self::Object) -> Self::Node;
}

/// Makes [`Value`]s; the last of repeated names counts.
struct Values;

impl<'t> Sink<'t> for Values {
    type Node = Value;
    type Array = Vec<Value>;
    type Object = (Map<String, Value>, String);

    fn scalar(&mut self, word: &'t str) -> Option<Value> {
        serde_json::from_str(word).ok()
    }

    fn string(&mut self, text: Cow<'t, str>) -> Value {
        Value::String(text.into_owned())
    }

    fn open_array(&mut self) -> Vec<Value> {
        Vec::new()
    }

    fn item(&mut self, array: &mut Vec<Value>, item: Value) {
        array.push(item);
    }

    fn close_array(&mut self, array: Vec<Value>) -> Value {
        Value::Array(array)
    }

    fn open_object(&mut self) -> Self::Object {
        (Map::new(), String::new())
    }

    fn name(&mut self, (map, next): &mut Self::Object, name: Cow<'t, str>) -> bool {
        let new = !map.contains_key(name.as_ref());
        *next = name.into_owned();
        new
    }

    fn member(&mut self, (map, next): &mut Self::Object, member: Value) {
        map.insert(std::mem::take(next), member);
    }

    fn close_object(&mut self, (map, _): Self::Object) -> Value {
        Value::Object(map)
    }
}

/// Why a text is no JSON for arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON: {problem}")]
pub struct BadJson {
    /// What is wrong, with its byte.
    pub problem: String,
}

/// Reads the arguments of a tool call. Blank text and `null` are the empty object.
///
/// # Errors
/// [`BadJson`] for a text that is cut off or malformed outside of strings, and for a name given twice in one object
/// at any depth: two readers could take different ones.
pub fn parse(text: &str) -> Result<Value, BadJson> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value = read(text)?;
    Ok(if value.is_null() { Value::Object(Map::new()) } else { value })
}

/// Reads any JSON value, with the repairs and the refusals of [`parse`].
///
/// # Errors
/// [`BadJson`] as there, and for blank text.
pub fn read(text: &str) -> Result<Value, BadJson> {
    build(text, MAX_DEPTH, &mut Values)
}

/// As [`read`], into a sink of the caller's, with as many levels of nesting as it says.
///
/// # Errors
/// [`BadJson`] as there; what the sink was given until then is void.
pub fn build<'t, S: Sink<'t>>(text: &'t str, levels: usize, sink: &mut S) -> Result<S::Node, BadJson> {
    let mut parser = Parser::new(text, Mode { cut: false, repeats: false, prune: false }, levels, sink);
    let value = parser.value(0)?;
    parser.blanks();
    if parser.at < parser.bytes.len() {
        return Err(parser.bad("something follows the value"));
    }
    Ok(value)
}

/// Reads an event of a host: the last of repeated names counts, and what is nested too deep is null.
pub fn lenient(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut values = Values;
    let mut parser = Parser::new(text, Mode { cut: false, repeats: true, prune: true }, MAX_DEPTH, &mut values);
    let value = parser.value(0).ok()?;
    parser.blanks();
    (parser.at == parser.bytes.len()).then_some(value)
}

/// Reads as much as there is of a text that may be cut anywhere; the empty object when nothing can be read. For
/// previews, never to run a tool.
pub fn partial(text: &str) -> Value {
    let mut values = Values;
    let mut parser = Parser::new(text, Mode { cut: true, repeats: true, prune: false }, MAX_DEPTH, &mut values);
    parser.value(0).ok().filter(|v| !v.is_null()).unwrap_or_else(|| Value::Object(Map::new()))
}

#[derive(Clone, Copy)]
struct Mode {
    /// The text may be cut: what is open is closed.
    cut: bool,
    /// A name may be repeated.
    repeats: bool,
    /// What is too deep is skipped instead of refused.
    prune: bool,
}

struct Parser<'t, 's, S> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
    mode: Mode,
    levels: usize,
    sink: &'s mut S,
    /// The text is over (or unreadable from here on) and open containers close. Only in `cut` mode.
    over: bool,
}

impl<'t, 's, S: Sink<'t>> Parser<'t, 's, S> {
    fn new(text: &'t str, mode: Mode, levels: usize, sink: &'s mut S) -> Self {
        Parser { bytes: text.as_bytes(), text, at: 0, mode, levels, sink, over: false }
    }

    fn bad(&self, problem: &str) -> BadJson {
        BadJson { problem: format!("{problem} at byte {}", self.at + 1) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<S::Node, BadJson> {
        self.blanks();
        match self.peek() {
            None => Err(self.bad("the text ends before a value")),
            Some(b'{' | b'[') if depth >= self.levels => self.too_deep(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                Ok(self.sink.string(text))
            }
            Some(_) => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Result<S::Node, BadJson> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let in_word = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
        let end = self.at + rest.iter().position(|c| !in_word(c)).unwrap_or(rest.len());
        let word = self.text.get(self.at..end).unwrap_or_default();
        let value = self.sink.scalar(word).ok_or_else(|| self.bad("a value can't be read"))?;
        self.at = end;
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<S::Node, BadJson> {
        self.at += 1;
        let mut array = self.sink.open_array();
        self.members(b']', |p| {
            let item = p.value(depth + 1)?;
            p.sink.item(&mut array, item);
            Ok(())
        })?;
        Ok(self.sink.close_array(array))
    }

    fn object(&mut self, depth: usize) -> Result<S::Node, BadJson> {
        self.at += 1;
        let mut object = self.sink.open_object();
        self.members(b'}', |p| {
            if p.peek() != Some(b'"') {
                return Err(p.bad("a name in quotes is missing"));
            }
            let start = p.at;
            let name = p.string()?;
            p.blanks();
            if p.over || p.peek() != Some(b':') {
                return Err(p.bad("a colon is missing"));
            }
            p.at += 1;
            if !p.sink.name(&mut object, name) && !p.mode.repeats {
                p.at = start;
                let name = Value::String(p.string()?.into_owned());
                return Err(BadJson { problem: format!("the name {name} is given twice") });
            }
            let member = p.value(depth + 1)?;
            p.sink.member(&mut object, member);
            Ok(())
        })?;
        Ok(self.sink.close_object(object))
    }

    /// Reads members up to `close`. In `cut` mode the first one that fails ends the container.
    fn members(&mut self, close: u8, mut member: impl FnMut(&mut Self) -> Result<(), BadJson>) -> Result<(), BadJson> {
        self.blanks();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.blanks();
            let step = member(self).and_then(|()| self.separator(close));
            match step {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) if self.mode.cut => {
                    self.over = true;
                    return Ok(());
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// True after the closing bracket, false after a comma.
    fn separator(&mut self, close: u8) -> Result<bool, BadJson> {
        if self.over {
            return Ok(true);
        }
        self.blanks();
        let closed = match self.peek() {
            Some(c) if c == close => true,
            Some(b',') => false,
            None => return Err(self.bad("the text ends inside of a list or object")),
            Some(_) => return Err(self.bad("a comma or a closing bracket is missing")),
        };
        self.at += 1;
        Ok(closed)
    }

    /// The string that begins here: a piece of the text where nothing in it is written in another way.
    fn string(&mut self) -> Result<Cow<'t, str>, BadJson> {
        self.at += 1;
        let start = self.at;
        self.plain();
        let text: &'t str = self.text;
        let piece = text.get(start..self.at).unwrap_or_default();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(piece));
        }
        let mut out = String::from(piece);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') if self.escape(&mut out) => {}
                Some(0) => {
                    self.at += 1;
                    out.push('\u{fffd}');
                }
                _ if self.mode.cut => {
                    self.over = true;
                    return Ok(Cow::Owned(out));
                }
                _ => return Err(self.bad("the text ends inside of a string")),
            }
            let start = self.at;
            self.plain();
            out.push_str(text.get(start..self.at).unwrap_or_default());
        }
    }

    /// Goes on to the next byte of a string that doesn't stand for itself.
    fn plain(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|c| matches!(c, b'"' | b'\\' | 0)).unwrap_or(rest.len());
    }

    /// Reads one escape; false when the text ends in it.
    fn escape(&mut self, out: &mut String) -> bool {
        let Some(kind) = self.bytes.get(self.at + 1).copied() else { return false };
        let plain = match kind {
            b'"' | b'\\' | b'/' => Some(char::from(kind)),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'n' => Some('\n'),
            b'r' => Some('\r'),
            b't' => Some('\t'),
            _ => None,
        };
        if let Some(c) = plain {
            out.push(c);
            self.at += 2;
            return true;
        }
        if kind == b'u' {
            return self.unicode(out);
        }
        out.push('\\');
        self.at += 1;
        true
    }

    fn unicode(&mut self, out: &mut String) -> bool {
        let Some(unit) = self.hex(self.at + 2) else {
            // Cut off in the middle, or not four digits: then the backslash stays.
            if self.mode.cut && self.bytes.len() < self.at + 6 {
                return false;
            }
            out.push('\\');
            self.at += 1;
            return true;
        };
        let low = self.bytes.get(self.at + 6..self.at + 8).filter(|b| *b == b"\\u").and_then(|_| self.hex(self.at + 8));
        let pair = low.and_then(|low| char::decode_utf16([unit, low]).next()?.ok().filter(|c| c.len_utf16() == 2));
        let (c, length) = match pair {
            Some(c) => (c, 12),
            None => (char::from_u32(u32::from(unit)).filter(|c| *c != '\0').unwrap_or('\u{fffd}'), 6),
        };
        out.push(c);
        self.at += length;
        true
    }

    fn hex(&self, at: usize) -> Option<u16> {
        let digits = self.bytes.get(at..at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    fn too_deep(&mut self) -> Result<S::Node, BadJson> {
        if !self.mode.prune {
            return Err(self.bad("the value is nested too deep"));
        }
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return self.sink.scalar("null").ok_or_else(|| self.bad("a value can't be read"));
            }
        }
        Err(self.bad("the text ends inside of a list or object"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;
    use proptest::prelude::*;

    #[test]
    fn valid_json_is_read_as_it_is() {
        for text in [
            r#"{"a":[1,-2.5,1e3,true,false,null,"x\"\\\/\b\f\n\r\té😀"],"b":{}}"#,
            r#" [ ] "#,
            "12",
            r#"{"id":76561198003753554}"#,
        ] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn blank_arguments_are_the_empty_object() {
        for text in ["", " \n", "null"] {
            assert_eq!(parse(text).unwrap(), json!({}));
        }
    }

    #[test]
    fn b82_raw_control_characters_inside_strings_stand_for_themselves() {
        assert_eq!(parse("{\"t\":\"a\nb\tc\"}").unwrap(), json!({"t": "a\nb\tc"}));
        assert!(parse("{\"t\":\u{1}1}").is_err());
    }

    #[test]
    fn a_bad_escape_keeps_its_backslash() {
        assert_eq!(parse(r#"{"p":"C:\d\u12 \'"}"#).unwrap(), json!({"p": r"C:\d\u12 \'"}));
    }

    #[test]
    fn a_lone_surrogate_or_nul_is_the_replacement_character() {
        assert_eq!(
            parse(r#"["\ud800","\ude00x","\ud800\ud83d\ude00","\u0000"]"#).unwrap(),
            json!(["\u{fffd}", "\u{fffd}x", "\u{fffd}\u{1f600}", "\u{fffd}"])
        );
    }

    #[test]
    fn h35_a_name_given_twice_is_refused_at_any_level() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#] {
            assert!(parse(text).unwrap_err().to_string().starts_with("not valid JSON: the name \"a\" is given twice"));
        }
        assert_eq!(lenient(r#"{"a":1,"a":2}"#), Some(json!({"a": 2})));
    }

    #[test]
    fn b43_a_cut_text_is_refused_and_partly_readable() {
        let text = r#"{"path":"a","text":"ab"#;
        assert!(parse(text).is_err());
        assert_eq!(partial(text), json!({"path": "a", "text": "ab"}));
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["{", "[1,]", "{\"a\"}", "{a:1}", "{} x", "01", "+1", "tru", "{\"a\":1,}", "\"", "1e999", "NaN"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_cut_text_shows_what_is_whole() {
        let table = [
            ("", json!({})),
            ("{\"a\": tr", json!({})),
            ("{\"a\":1,\"b", json!({"a": 1})),
            ("{\"a\":[1,{\"b\":\"x\\", json!({"a": [1, {"b": "x"}]})),
            ("{\"a\":\"\\u00", json!({"a": ""})),
            ("[1,2", json!([1, 2])),
            ("nonsense", json!({})),
        ];
        for (text, value) in table {
            assert_eq!(partial(text), value, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_or_left_out() {
        let deep = format!("{{\"x\":{}{},\"a\":1}}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(parse(&deep).is_err());
        let (fits, over) =
            (format!("{}{}", "[".repeat(9), "]".repeat(9)), format!("{}{}", "[".repeat(10), "]".repeat(10)));
        assert!(build(&fits, 9, &mut Values).is_ok() && build(&over, 9, &mut Values).is_err());
        assert_eq!(lenient(&deep).unwrap()["a"], 1);
        let _ = partial(&deep);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}\":,\\\\u0-9a-f \u{0}\u{e9}]{0,40}") {
            let _ = (parse(&text), lenient(&text), partial(&text));
        }

        #[test]
        fn no_change_of_a_valid_text_panics(at in 0..90usize, bytes in proptest::collection::vec(any::<char>(), 0..3), cut in 0..4usize) {
            let text = r#"{"a":[1,{"b":"x\u00e9\n\ud83d\ude00"}],"c":{"d":null,"e":[true,2.5e3,-0.1]},"a b":"\"\\"}"#;
            let from = (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap();
            let to = (from + cut).min(text.len());
            let (head, tail) = (&text[..from], text.get(to..).unwrap_or_default());
            let changed = format!("{head}{}{tail}", bytes.iter().collect::<String>());
            let (strict, loose, part) = (parse(&changed), lenient(&changed), partial(&changed));
            if let Ok(value) = strict {
                prop_assert_eq!(loose, Some(value.clone()));
                prop_assert!(part == value || !value.is_object());
            }
        }

        #[test]
        fn what_serde_writes_is_read_back(keys in proptest::collection::hash_set(any::<String>(), 0..4), s: String, n: i64) {
            let map: Map<String, Value> = keys.into_iter().map(|k| (k.replace('\0', ""), json!([s.replace('\0', ""), n]))).collect();
            let value = Value::Object(map);
            prop_assert_eq!(parse(&value.to_string()), Ok(value.clone()));
            prop_assert_eq!(partial(&value.to_string()), value);
        }

        #[test]
        fn every_cut_of_an_object_gives_an_object(cut in 0..60usize) {
            let text = r#"{"a":[1,{"b":"x\u00e9\n"}],"c":{"d":null,"e":[true,2.5e3]}}"#;
            let cut = cut.min(text.len());
            prop_assert!(partial(text.get(..cut).unwrap()).is_object());
        }
    }
}
