//! A second look for a text that has no exact match: compatible characters, quotes, dashes and blanks count as the plain
//! ones, blanks at the ends of lines don't count.

use memchr::memmem;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Texts that are longer are compared exactly only: each of their characters would need a note of its place.
const LONGEST: usize = 8 * 1024 * 1024;

/// A text in its plain form, and where each piece of it comes from.
pub struct Fuzzy {
    plain: String,
    /// A row for each character with its marks: where it begins in the plain text, and its place in the text.
    pieces: Vec<Piece>,
}

struct Piece {
    plain: usize,
    start: usize,
    end: usize,
}

impl Fuzzy {
    /// The plain form of a text with lines ended by line feeds. One that is too long, or no UTF-8, has none.
    pub fn new(text: &[u8]) -> Self {
        let text = if text.len() <= LONGEST { std::str::from_utf8(text).unwrap_or_default() } else { "" };
        let mut fuzzy = Fuzzy { plain: String::new(), pieces: Vec::new() };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches('\n');
            fuzzy.add(body.trim_end_matches(is_blank), at);
            if body.len() < line.len() {
                fuzzy.push("\n", at + body.len(), at + line.len());
            }
            at += line.len();
        }
        fuzzy
    }

    fn add(&mut self, line: &str, from: usize) {
        let mut chars = line.char_indices().peekable();
        while let Some((start, _)) = chars.next() {
            while chars.next_if(|(_, c)| joins(*c)).is_some() {}
            let end = chars.peek().map_or(line.len(), |(at, _)| *at);
            let piece = &line[start..end];
            if piece.is_ascii() {
                self.push(piece, from + start, from + end);
            } else {
                self.push(&plain(piece), from + start, from + end);
            }
        }
    }

    fn push(&mut self, plain: &str, start: usize, end: usize) {
        self.pieces.push(Piece { plain: self.plain.len(), start, end });
        self.plain.push_str(plain);
    }

    /// Where a text stands, whole characters only, as places in the original text.
    pub fn find(&self, old: &str, all: bool) -> Vec<(usize, usize)> {
        let wanted = Fuzzy::new(old.as_bytes()).plain;
        if wanted.trim().is_empty() {
            return Vec::new();
        }
        let finder = memmem::Finder::new(&wanted);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(at) = finder.find(&self.plain.as_bytes()[from..]) {
            let (start, end) = (from + at, from + at + wanted.len());
            let place = self.place(start, end);
            found.extend(place);
            from = if all && place.is_some() { end } else { start + 1 };
        }
        found
    }

    fn place(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let first = self.pieces.binary_search_by_key(&start, |p| p.plain).ok()?;
        let after = if end == self.plain.len() {
            self.pieces.len()
        } else {
            self.pieces.binary_search_by_key(&end, |p| p.plain).ok()?
        };
        Some((self.pieces.get(first)?.start, self.pieces.get(after.checked_sub(1)?)?.end))
    }
}

fn plain(piece: &str) -> String {
    piece.nfkc().map(plain_char).collect()
}

fn plain_char(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{00A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        c => c,
    }
}

fn is_blank(c: char) -> bool {
    c == '\t' || plain_char(c) == ' '
}

/// True for what composes with the character before it: marks, and the vowels and finals of Korean syllables.
fn joins(c: char) -> bool {
    is_combining_mark(c) || ('\u{1160}'..='\u{11FF}').contains(&c)
}
