//! A JSON text as a row of pieces: what is read first, so that R objects are made of known lengths, and none is made of
//! a text that turns out to be no JSON.

use std::borrow::Cow;
use std::collections::HashSet;

use gptr_engine::provider::json_repair::{self, BadJson, Sink};

/// Levels of nesting that a text may have; R's stack has to hold them while the objects are made.
pub const DEEPEST: usize = 1_000;

/// Up to here the names of an object are compared one by one.
const FEW_NAMES: usize = 16;

/// One piece. A container stands before its members, each member's name before its value.
#[derive(Clone, Copy)]
pub enum Piece {
    Null,
    Flag(bool),
    /// A whole number within R's range.
    Integer(i32),
    /// Any other number that a double holds.
    Double(f64),
    /// A whole number beyond 2^53, by its digits.
    Digits(Place),
    Text(Place),
    /// So many items, and what they have in common.
    Array(u32, Kind),
    /// An object of so many members.
    Object(u32),
}

/// Where a piece's text stands: a string of R's has less than 2^31 bytes.
#[derive(Clone, Copy)]
pub enum Place {
    /// In the text itself, as it is.
    Here { start: u32, bytes: u32 },
    /// Among those that are written in another way.
    Apart(u32),
}

/// A text that was read.
pub struct Tape<'t> {
    text: &'t str,
    pub pieces: Vec<Piece>,
    apart: Vec<String>,
    /// Where the names of the open objects stand, the innermost last.
    open: Vec<u32>,
    /// By depth, where the names of the last object there stand: the next one often has the same.
    last: Vec<Vec<u32>>,
    depth: usize,
}

/// What the items of an array are, each of them or null.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
pub enum Kind {
    /// Nothing was seen but null.
    Nothing,
    Flags,
    Integers,
    Doubles,
    Texts,
    Mixed,
}

impl Kind {
    fn with(self, item: Kind) -> Kind {
        use Kind::*;
        match (self, item) {
            (Nothing, kind) | (kind, Nothing) => kind,
            (Integers, Doubles) | (Doubles, Integers) => Doubles,
            (a, b) if a == b => a,
            _ => Mixed,
        }
    }

    fn of(piece: &Piece) -> Kind {
        match piece {
            Piece::Null => Kind::Nothing,
            Piece::Flag(_) => Kind::Flags,
            Piece::Integer(_) => Kind::Integers,
            Piece::Double(_) => Kind::Doubles,
            Piece::Text(_) => Kind::Texts,
            // Digits are no number to R, and must not become one.
            Piece::Digits(_) | Piece::Array(..) | Piece::Object(_) => Kind::Mixed,
        }
    }
}

/// Reads a text.
///
/// # Errors
/// As the arguments of a tool call have them.
pub fn read(text: &str) -> Result<Tape<'_>, BadJson> {
    let mut tape = Tape { text, pieces: Vec::new(), apart: Vec::new(), open: Vec::new(), last: Vec::new(), depth: 0 };
    json_repair::build(text, DEEPEST, &mut tape)?;
    Ok(tape)
}

/// An array that is open, from piece `at`.
pub struct OpenArray {
    at: usize,
    count: u32,
    kind: Kind,
}

/// An object that is open, from piece `at`.
pub struct OpenObject {
    at: usize,
    /// Where its names begin among the open ones.
    names: usize,
    /// All its names so far are those of the last object at this depth.
    follows: bool,
    /// All its names, once they are many.
    many: Option<HashSet<String>>,
}

impl<'t> Tape<'t> {
    /// The text of a piece.
    pub fn text(&self, place: Place) -> &str {
        match place {
            Place::Here { start, bytes } => self.here(start, bytes),
            Place::Apart(at) => &self.apart[at as usize],
        }
    }

    /// The text of the piece at `at`, when it has one.
    pub fn text_at(&self, at: u32) -> &str {
        match self.pieces.get(at as usize) {
            Some(Piece::Text(place) | Piece::Digits(place)) => self.text(*place),
            _ => "",
        }
    }

    fn here(&self, start: u32, bytes: u32) -> &'t str {
        self.text.get(start as usize..(start + bytes) as usize).unwrap_or_default()
    }

    fn push(&mut self, piece: Piece) -> Kind {
        self.pieces.push(piece);
        Kind::of(&piece)
    }

    fn place(&mut self, text: Cow<'t, str>) -> Place {
        match text {
            Cow::Borrowed(piece) => {
                let start = piece.as_ptr().addr() - self.text.as_ptr().addr();
                Place::Here { start: start as u32, bytes: piece.len() as u32 }
            }
            Cow::Owned(text) => {
                self.apart.push(text);
                Place::Apart(self.apart.len() as u32 - 1)
            }
        }
    }

    /// True when the object's next name is that of the last object at its depth.
    fn goes_on(&self, object: &OpenObject, name: &str) -> bool {
        let so_far = self.open.len() - object.names;
        let last = self.last.get(self.depth).and_then(|names| names.get(so_far));
        object.follows && last.is_some_and(|at| self.text_at(*at) == name)
    }

    fn is_new(&self, object: &mut OpenObject, name: &str) -> bool {
        let own = &self.open[object.names..];
        if own.len() <= FEW_NAMES {
            return own.iter().all(|at| self.text_at(*at) != name);
        }
        let text = |at: &u32| self.text_at(*at).to_owned();
        object.many.get_or_insert_with(|| own.iter().map(text).collect()).insert(name.to_owned())
    }
}

impl<'t> Sink<'t> for Tape<'t> {
    type Node = Kind;
    type Array = OpenArray;
    type Object = OpenObject;

    fn scalar(&mut self, word: &'t str) -> Option<Kind> {
        let piece = match word {
            "null" => Piece::Null,
            "true" => Piece::Flag(true),
            "false" => Piece::Flag(false),
            number => match self::number(number)? {
                Number::Integer(i) => Piece::Integer(i),
                Number::Double(x) => Piece::Double(x),
                Number::Digits => Piece::Digits(self.place(Cow::Borrowed(number))),
            },
        };
        Some(self.push(piece))
    }

    fn string(&mut self, text: Cow<'t, str>) -> Kind {
        let place = self.place(text);
        self.push(Piece::Text(place))
    }

    fn open_array(&mut self) -> OpenArray {
        self.pieces.push(Piece::Array(0, Kind::Nothing));
        OpenArray { at: self.pieces.len() - 1, count: 0, kind: Kind::Nothing }
    }

    fn item(&mut self, array: &mut OpenArray, item: Kind) {
        array.count += 1;
        array.kind = array.kind.with(item);
    }

    fn close_array(&mut self, array: OpenArray) -> Kind {
        self.pieces[array.at] = Piece::Array(array.count, array.kind);
        Kind::Mixed
    }

    fn open_object(&mut self) -> OpenObject {
        self.pieces.push(Piece::Object(0));
        self.depth += 1;
        OpenObject { at: self.pieces.len() - 1, names: self.open.len(), follows: true, many: None }
    }

    fn name(&mut self, object: &mut OpenObject, name: Cow<'t, str>) -> bool {
        object.follows = self.goes_on(object, &name);
        // The names of the last object differ from each other.
        let is_new = (object.follows && object.many.is_none()) || self.is_new(object, &name);
        if is_new {
            self.open.push(self.pieces.len() as u32);
            let place = self.place(name);
            self.pieces.push(Piece::Text(place));
        }
        is_new
    }

    fn member(&mut self, _: &mut OpenObject, _: Kind) {}

    fn close_object(&mut self, object: OpenObject) -> Kind {
        let count = self.open.len() - object.names;
        self.pieces[object.at] = Piece::Object(count as u32);
        self.last.resize_with(self.last.len().max(self.depth + 1), Vec::new);
        let is_last = object.follows && self.last[self.depth].len() == count;
        if !is_last {
            self.last[self.depth] = self.open[object.names..].to_vec();
        }
        self.open.truncate(object.names);
        self.depth -= 1;
        Kind::Mixed
    }
}

/// What a number is to R.
enum Number {
    Integer(i32),
    Double(f64),
    Digits,
}

/// A number as JSON writes it; `None` for any other word, and for what no double holds.
fn number(word: &str) -> Option<Number> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if !all_digits(digits) {
        return fraction(word);
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    match word.parse::<i64>() {
        Ok(0) if word.starts_with('-') => Some(Number::Double(-0.0)),
        Ok(whole) => Some(match i32::try_from(whole) {
            Ok(small) if small != i32::MIN => Number::Integer(small),
            _ if whole.unsigned_abs() <= 1 << 53 => Number::Double(whole as f64),
            _ => Number::Digits,
        }),
        Err(_) => Some(Number::Digits),
    }
}

/// A number with a fraction or an exponent: digits, perhaps a point and digits, perhaps an exponent with digits.
fn fraction(word: &str) -> Option<Number> {
    let bytes = word.as_bytes();
    let digits_from =
        |at: usize| bytes.get(at..).map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count());
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits_from(at);
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let part = digits_from(at + 1);
        if part == 0 {
            return None;
        }
        at += 1 + part;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits_from(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    if at < bytes.len() {
        return None;
    }
    word.parse::<f64>().ok().filter(|x| x.is_finite()).map(Number::Double)
}

fn all_digits(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())
}
