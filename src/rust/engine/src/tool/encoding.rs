//! Encodings of text files: found out, read, and written back as they were.

use std::borrow::Cow;

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The mark that UTF-8 files may begin with.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How the bytes of a text file stand for characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, maybe with bytes that are not.
    Utf8,
    /// UTF-16, low byte first; a mark says so.
    Utf16Le,
    /// UTF-16, high byte first; a mark says so.
    Utf16Be,
    /// The single bytes of Western Europe: Windows-1252, of which Latin-1 is the greater part.
    Cp1252,
}

impl Encoding {
    /// The name that R's `iconv()` knows.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Le => "UTF-16LE",
            Encoding::Utf16Be => "UTF-16BE",
            Encoding::Cp1252 => "CP1252",
        }
    }

    /// The encoding that a byte order mark at the head of a file says, and the mark's length.
    pub fn marked(head: &[u8]) -> Option<(Self, usize)> {
        match head {
            [0xEF, 0xBB, 0xBF, ..] => Some((Encoding::Utf8, 3)),
            [0xFF, 0xFE, ..] => Some((Encoding::Utf16Le, 2)),
            [0xFE, 0xFF, ..] => Some((Encoding::Utf16Be, 2)),
            _ => None,
        }
    }

    /// A decoder to UTF-8 for what has to be decoded before one looks for lines.
    pub fn decoder(self) -> Option<Decoder> {
        match self {
            Encoding::Utf16Le => Some(UTF_16LE.new_decoder_without_bom_handling()),
            Encoding::Utf16Be => Some(UTF_16BE.new_decoder_without_bom_handling()),
            _ => None,
        }
    }

    /// Bytes of an encoding whose line ends are those of ASCII as text; what is no text becomes U+FFFD.
    pub fn text(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Encoding::Cp1252 => WINDOWS_1252.decode_without_bom_handling(bytes).0,
            _ => String::from_utf8_lossy(bytes),
        }
    }
}

/// Counts what says whether bytes are UTF-8. Fed in pieces.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// Bytes that are no part of a character.
    pub invalid: u64,
    /// Characters of several bytes.
    pub wide: u64,
    carried: Vec<u8>,
}

impl Census {
    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.carried.is_empty() && bytes.is_ascii() {
            return;
        }
        if self.carried.is_empty() {
            return self.count(bytes, false);
        }
        let mut joined = std::mem::take(&mut self.carried);
        joined.extend_from_slice(bytes);
        self.count(&joined, false);
    }

    /// No more bytes come.
    pub fn end(&mut self) {
        let rest = std::mem::take(&mut self.carried);
        self.count(&rest, true);
    }

    fn count(&mut self, mut bytes: &[u8], last: bool) {
        while !bytes.is_empty() {
            let (valid, broken) = match std::str::from_utf8(bytes) {
                Ok(_) => (bytes.len(), None),
                Err(e) => (e.valid_up_to(), Some(e.error_len())),
            };
            self.wide += bytes[..valid].iter().filter(|b| **b >= 0xC0).count() as u64;
            let rest = &bytes[valid..];
            match broken {
                None => return,
                Some(None) if !last => {
                    self.carried = rest.to_vec();
                    return;
                }
                Some(n) => {
                    let n = n.unwrap_or(rest.len());
                    self.invalid += n as u64;
                    bytes = &rest[n..];
                }
            }
        }
    }

    /// The encoding of an unmarked file: invalid bytes that outnumber the characters of several bytes are letters of a
    /// single-byte encoding.
    pub fn encoding(&self) -> Encoding {
        if self.invalid > self.wide { Encoding::Cp1252 } else { Encoding::Utf8 }
    }
}

/// A text file as a whole, in UTF-8: what is edited and written back.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The text without its mark. Not all UTF-8 when [`Document::invalid`].
    pub text: Vec<u8>,
    /// How it is written.
    pub encoding: Encoding,
    /// True for a file that begins with a byte order mark.
    pub mark: bool,
    /// Bytes that are no text.
    pub invalid: bool,
}

impl Document {
    /// Reads a file's bytes.
    pub fn read(bytes: &[u8]) -> Self {
        let (marked, skip) = Encoding::marked(bytes).map_or((None, 0), |(e, n)| (Some(e), n));
        let body = &bytes[skip..];
        let mut census = Census::default();
        census.feed(body);
        census.end();
        let encoding = marked.unwrap_or_else(|| census.encoding());
        let (text, invalid) = match encoding {
            Encoding::Utf8 => (body.to_vec(), census.invalid > 0),
            Encoding::Cp1252 => (encoding.text(body).into_owned().into_bytes(), false),
            Encoding::Utf16Le => utf16(UTF_16LE.decode_without_bom_handling(body)),
            Encoding::Utf16Be => utf16(UTF_16BE.decode_without_bom_handling(body)),
        };
        Document { text, encoding, mark: skip > 0, invalid }
    }

    /// The bytes for a changed text. One that the encoding can't hold is written in UTF-8.
    pub fn write(&self, text: &[u8]) -> (Vec<u8>, Encoding) {
        let encoded = match (self.encoding, std::str::from_utf8(text)) {
            (Encoding::Utf16Le, Ok(text)) => Some(units(text, u16::to_le_bytes)),
            (Encoding::Utf16Be, Ok(text)) => Some(units(text, u16::to_be_bytes)),
            (Encoding::Cp1252, Ok(text)) => {
                let (bytes, _, unmappable) = WINDOWS_1252.encode(text);
                (!unmappable).then(|| bytes.into_owned())
            }
            _ => None,
        };
        let (body, encoding) = encoded.map_or((text.to_vec(), Encoding::Utf8), |bytes| (bytes, self.encoding));
        let mark: &[u8] = match encoding {
            _ if !self.mark => &[],
            Encoding::Utf16Le => &[0xFF, 0xFE],
            Encoding::Utf16Be => &[0xFE, 0xFF],
            _ => BOM,
        };
        ([mark, &body].concat(), encoding)
    }
}

fn utf16((text, broken): (Cow<'_, str>, bool)) -> (Vec<u8>, bool) {
    (text.into_owned().into_bytes(), broken)
}

fn units(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(pieces: &[&[u8]]) -> (u64, u64) {
        let mut census = Census::default();
        pieces.iter().for_each(|p| census.feed(p));
        census.end();
        (census.invalid, census.wide)
    }

    #[test]
    fn characters_across_pieces_are_whole() {
        assert_eq!(census(&["é".as_bytes()]), (0, 1));
        assert_eq!(census(&[b"a\xC3", b"\xA9b"]), (0, 1));
        assert_eq!(census(&[b"\xF0\x9F", b"\x99", b"\x82"]), (0, 1));
        assert_eq!(census(&[b"a\xC3"]), (1, 0));
        assert_eq!(census(&[b"caf\xE9 ", b"na\xEFve"]), (2, 0));
    }

    #[test]
    fn every_encoding_is_written_back_as_it_was() {
        let all: Vec<u8> = (1..=255).collect();
        for bytes in [
            b"plain\r\n".to_vec(),
            "é\n".as_bytes().to_vec(),
            [BOM, "é".as_bytes()].concat(),
            all,
            b"\xFF\xFEa\0\xE9\0".to_vec(),
            b"\xFE\xFF\0a\xD8\x3D\xDE\x42".to_vec(),
            "é è à, and one broken \u{e9}".as_bytes().iter().copied().chain([0xFF]).collect(),
            Vec::new(),
        ] {
            let document = Document::read(&bytes);
            assert_eq!(document.write(&document.text), (bytes.clone(), document.encoding), "{bytes:?}");
        }
    }

    #[test]
    fn what_an_encoding_lacks_is_written_in_utf8() {
        let document = Document::read(b"caf\xE9");
        assert_eq!((document.encoding, document.text.as_slice()), (Encoding::Cp1252, "café".as_bytes()));
        assert_eq!(document.write("café 日".as_bytes()), ("café 日".as_bytes().to_vec(), Encoding::Utf8));
        assert_eq!(document.write("café €".as_bytes()), (b"caf\xE9 \x80".to_vec(), Encoding::Cp1252));
    }

    #[test]
    fn invalid_bytes_in_utf8_stay() {
        let document = Document::read(b"\xC3\xA9\xC3\xA8 \xFF");
        assert_eq!((document.encoding, document.invalid), (Encoding::Utf8, true));
    }
}
