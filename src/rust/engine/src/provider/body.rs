//! What a response body is, told by its first byte: an event stream, one JSON document, or a page of a proxy.
//!
//! Content types are not trusted: proxies answer a request for a stream with one document, and the other way round.

use super::sse::{EVENT_LIMIT, Splitter, SseError, SseEvent};

/// Why a body can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Not an event stream.
    #[error("{0}")]
    Sse(#[from] SseError),
    /// A document over the limit.
    #[error("the reply is larger than {} MiB", EVENT_LIMIT / (1024 * 1024))]
    TooLarge,
    /// An HTML page where a reply should be.
    #[error("the host sent an HTML page instead of a reply")]
    Html,
}

#[derive(Debug)]
enum Kind {
    Unknown,
    Stream(Splitter),
    Document(Vec<u8>),
}

/// Reads a body chunk by chunk.
#[derive(Debug)]
pub struct BodyReader {
    kind: Kind,
    /// Bytes before the first one that decides.
    head: Vec<u8>,
    /// How many of them are known to be blank.
    blank: usize,
}

impl Default for BodyReader {
    fn default() -> Self {
        BodyReader { kind: Kind::Unknown, head: Vec::new(), blank: 0 }
    }
}

impl BodyReader {
    /// Takes a chunk and appends the events that it completes.
    ///
    /// # Errors
    /// [`BodyError`]; the body is of no use then.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<SseEvent>) -> Result<(), BodyError> {
        match &mut self.kind {
            Kind::Stream(splitter) => Ok(splitter.push(chunk, out)?),
            Kind::Document(text) if text.len() + chunk.len() > EVENT_LIMIT => Err(BodyError::TooLarge),
            Kind::Document(text) => {
                text.extend_from_slice(chunk);
                Ok(())
            }
            Kind::Unknown => self.sniff(chunk, out),
        }
    }

    /// The body ended.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self, out: &mut Vec<SseEvent>) -> Result<(), BodyError> {
        match &mut self.kind {
            Kind::Stream(splitter) => Ok(splitter.finish(out)?),
            Kind::Document(text) => {
                let data = String::from_utf8_lossy(text).into_owned();
                out.push(SseEvent { name: None, data });
                Ok(())
            }
            Kind::Unknown => Ok(()),
        }
    }

    /// True when the body is one document.
    pub fn is_document(&self) -> bool {
        matches!(self.kind, Kind::Document(_))
    }

    fn sniff(&mut self, chunk: &[u8], out: &mut Vec<SseEvent>) -> Result<(), BodyError> {
        self.head.extend_from_slice(chunk);
        let bom = "\u{feff}".as_bytes();
        if self.head.len() < bom.len() && bom.starts_with(&self.head) {
            return Ok(());
        }
        let start = if self.head.starts_with(bom) { bom.len() } else { 0 };
        let unseen = self.head.get(start.max(self.blank)..).unwrap_or_default();
        let Some(first) = unseen.iter().find(|b| !b.is_ascii_whitespace()) else {
            self.blank = self.head.len();
            return if self.blank > EVENT_LIMIT { Err(BodyError::TooLarge) } else { Ok(()) };
        };
        match first {
            b'{' | b'[' => self.kind = Kind::Document(self.head.split_off(start)),
            b'<' => return Err(BodyError::Html),
            _ => {
                let mut splitter = Splitter::default();
                let head = std::mem::take(&mut self.head);
                let result = splitter.push(&head, out);
                self.kind = Kind::Stream(splitter);
                result?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> Result<Vec<String>, BodyError> {
        let mut body = BodyReader::default();
        let mut out = Vec::new();
        for chunk in bytes.chunks(size) {
            body.push(chunk, &mut out)?;
        }
        body.finish(&mut out)?;
        Ok(out.into_iter().map(|e| e.data).collect())
    }

    #[test]
    fn a_stream_and_a_document_are_told_apart_however_they_are_cut() {
        for size in [1, 2, 1000] {
            assert_eq!(read(b"\n\ndata: 1\n\n", size).unwrap(), ["1"]);
            assert_eq!(read(b"\xEF\xBB\xBFdata: 1\n\n", size).unwrap(), ["1"]);
            assert_eq!(read(b"\n \n{\"a\":\n1}", size).unwrap(), ["\n \n{\"a\":\n1}"]);
            assert_eq!(read(b"\xEF\xBB\xBF[1]", size).unwrap(), ["[1]"]);
            assert_eq!(read(b"<html>", size), Err(BodyError::Html));
            assert_eq!(read(b"  data: 1\n\ndata: 2", size).unwrap(), ["2"]);
        }
    }

    #[test]
    fn an_empty_body_has_no_events() {
        assert!(read(b"", 1).unwrap().is_empty());
    }
}
