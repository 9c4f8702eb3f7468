//! The lines of a text file, in one pass that keeps no more than is wanted.

use std::io::Read;

use super::encoding::{Census, Encoding};
use super::{Context, text};
use crate::error::Error;
use crate::tool::site::shown;
use std::path::Path;

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// How lines end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// Line feeds.
    pub lf: u64,
    /// Carriage returns with a line feed.
    pub crlf: u64,
    /// Carriage returns alone.
    pub cr: u64,
}

impl Ends {
    /// `LF`, `CRLF`, `CR` or `mixed`; none in a text of one line.
    pub fn name(self) -> Option<&'static str> {
        match (self.lf > 0, self.crlf > 0, self.cr > 0) {
            (false, false, false) => None,
            (true, false, false) => Some("LF"),
            (false, true, false) => Some("CRLF"),
            (false, false, true) => Some("CR"),
            _ => Some("mixed"),
        }
    }
}

/// Which lines are kept.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The first one, from 1.
    pub from: usize,
    /// At most so many.
    pub lines: usize,
    /// At most so many bytes of them; a first line that is longer is kept in part.
    pub bytes: usize,
}

/// What a pass found.
#[derive(Debug, Default)]
pub struct Lines {
    /// The kept lines, without their ends.
    pub kept: Vec<Vec<u8>>,
    /// The length of the first wanted line in bytes, where it was kept in part.
    pub longest: Option<u64>,
    /// All lines.
    pub total: usize,
    /// How they end.
    pub ends: Ends,
    /// What says which encoding it is.
    pub census: Census,
}

/// Reads lines piece by piece.
pub struct Scan {
    wanted: Wanted,
    found: Lines,
    line: Vec<u8>,
    /// Bytes of the present line so far.
    length: u64,
    room: usize,
    after_cr: bool,
}

impl Scan {
    /// A pass that keeps these lines.
    pub fn new(wanted: Wanted) -> Self {
        Scan { wanted, found: Lines::default(), line: Vec::new(), length: 0, room: wanted.bytes, after_cr: false }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.found.census.feed(piece);
        let mut rest = piece;
        if std::mem::take(&mut self.after_cr) {
            match rest.split_first() {
                Some((b'\n', after)) => {
                    rest = after;
                    self.found.ends.crlf += 1;
                }
                _ => self.found.ends.cr += 1,
            }
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            self.add(&rest[..at]);
            self.end_line();
            let after = &rest[at + 1..];
            rest = match (rest[at], after.first()) {
                (b'\n', _) => {
                    self.found.ends.lf += 1;
                    after
                }
                (_, Some(b'\n')) => {
                    self.found.ends.crlf += 1;
                    &after[1..]
                }
                (_, Some(_)) => {
                    self.found.ends.cr += 1;
                    after
                }
                (_, None) => {
                    self.after_cr = true;
                    after
                }
            };
        }
        self.add(rest);
    }

    /// The end of the file.
    pub fn end(mut self) -> Lines {
        self.found.ends.cr += u64::from(self.after_cr);
        if self.length > 0 {
            self.end_line();
        }
        self.found.census.end();
        self.found
    }

    fn is_kept(&self) -> bool {
        let n = self.found.total + 1;
        n >= self.wanted.from && self.found.kept.len() < self.wanted.lines && self.room > 0
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.is_kept() {
            let room = (self.room + 1).saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        self.length += bytes.len() as u64;
    }

    fn end_line(&mut self) {
        if self.is_kept() {
            let line = std::mem::take(&mut self.line);
            if line.len() <= self.room {
                self.room = (self.room - line.len()).saturating_sub(1);
                self.found.kept.push(line);
            } else {
                if self.found.kept.is_empty() {
                    self.found.longest = Some(self.length);
                    self.found.kept.push(line);
                }
                self.room = 0;
            }
        }
        self.found.total += 1;
        self.length = 0;
    }
}

/// One pass through a file whose first bytes are `head`.
///
/// # Errors
/// What the system says, or the call was cancelled.
pub fn scan(
    path: &Path,
    head: &[u8],
    rest: &mut impl Read,
    wanted: Wanted,
    context: &Context,
) -> Result<(Lines, Encoding), Error> {
    let marked = Encoding::marked(head);
    let mut decoder = marked.and_then(|(e, _)| e.decoder());
    let mut scan = Scan::new(wanted);
    let mut decoded = String::new();
    let mut feed = |piece: &[u8], last: bool| match &mut decoder {
        None => scan.feed(piece),
        Some(decoder) => {
            decoded.clear();
            decoded.reserve(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len() * 3 + 3));
            let _ = decoder.decode_to_string(piece, &mut decoded, last);
            scan.feed(decoded.as_bytes());
        }
    };
    feed(&head[marked.map_or(0, |m| m.1)..], false);
    let mut piece = vec![0; PIECE];
    loop {
        context.check()?;
        match rest.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => feed(&piece[..n], false),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(text::failed("path", path, &e)),
        }
    }
    feed(&[], true);
    let lines = scan.end();
    let encoding = marked.map_or_else(|| lines.census.encoding(), |m| m.0);
    Ok((lines, encoding))
}

/// A path for a text: relative to the working directory where it lies there.
pub fn named(path: &Path, context: &Context) -> String {
    shown(path, &context.site.cwd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]], wanted: Wanted) -> Lines {
        let mut scan = Scan::new(wanted);
        pieces.iter().for_each(|p| scan.feed(p));
        scan.end()
    }

    const ALL: Wanted = Wanted { from: 1, lines: usize::MAX, bytes: usize::MAX - 1 };

    fn texts(found: &Lines) -> Vec<String> {
        found.kept.iter().map(|l| String::from_utf8_lossy(l).into_owned()).collect()
    }

    #[test]
    fn every_end_of_a_line_counts_once() {
        let found = lines(&[b"a\nb\r", b"\nc\rd\r\n\r", b"e"], ALL);
        assert_eq!(texts(&found), ["a", "b", "c", "d", "", "e"]);
        assert_eq!(found.ends, Ends { lf: 1, crlf: 2, cr: 2 });
        assert_eq!(found.total, 6);
        for (text, total) in [(&b""[..], 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\r", 1), (b"a\n\n", 2)] {
            assert_eq!(lines(&[text], ALL).total, total, "{text:?}");
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        let text: String = (1..=9).map(|i| format!("line {i}\n")).collect();
        let found = lines(&[text.as_bytes()], Wanted { from: 3, lines: 2, bytes: 1000 });
        assert_eq!((texts(&found), found.total), (vec!["line 3".into(), "line 4".into()], 9));
        let found = lines(&[text.as_bytes()], Wanted { from: 1, lines: 100, bytes: 15 });
        assert_eq!((texts(&found), found.longest), (vec!["line 1".into(), "line 2".into()], None));
        assert!(texts(&lines(&[text.as_bytes()], Wanted { from: 10, ..ALL })).is_empty());
    }

    #[test]
    fn a_first_line_over_the_bytes_is_kept_in_part() {
        let long = vec![b'x'; 1000];
        let found = lines(&[&long, &long, b"\nnext"], Wanted { from: 1, lines: 10, bytes: 100 });
        assert_eq!((found.kept.len(), found.kept[0].len(), found.longest, found.total), (1, 101, Some(2000), 2));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[ab\\r\\n\u{e9}]{0,40}", cut in 0_usize..60) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            let whole = lines(&[bytes], ALL);
            let parts = lines(&[&bytes[..cut], &bytes[cut..]], ALL);
            prop_assert_eq!(&whole.kept, &parts.kept);
            prop_assert_eq!((whole.ends, whole.total), (parts.ends, parts.total));
            prop_assert_eq!(whole.census.invalid + parts.census.invalid, 0);
            let unified = text.replace("\r\n", "\n").replace('\r', "\n");
            let naive: Vec<&str> = unified.lines().collect();
            prop_assert_eq!(texts(&whole), naive);
        }
    }
}
