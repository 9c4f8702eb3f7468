//! Server-sent events from raw bytes (WHATWG HTML, section 9.2, and what hosts make of it).
//!
//! Lines end in LF, CR or CRLF, each judged alone. A line end counts at once; an LF directly after a CR, also in a
//! later chunk, belongs to it. Text is decoded when an event is complete, so a chunk may cut a character.

/// No event may be larger than this.
pub const EVENT_LIMIT: usize = 32 * 1024 * 1024;

/// One event: its name, when it has one, and its data lines joined by LF.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The `event` field; `error` for hosts that send a field of that name instead of data.
    pub name: Option<String>,
    /// The data, invalid UTF-8 replaced by U+FFFD. May be empty.
    pub data: String,
}

/// Bytes that are no event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event over the limit.
    #[error("an event of the stream is larger than {} MiB", EVENT_LIMIT / (1024 * 1024))]
    TooLarge,
    /// A NUL byte, which no JSON text has.
    #[error("the stream has a NUL byte")]
    Nul,
}

/// Splits a stream. Each byte is looked at once, however the chunks fall.
#[derive(Debug)]
pub struct Splitter {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Option<Vec<u8>>,
    at_start: bool,
    after_cr: bool,
    broken: Option<SseError>,
}

impl Default for Splitter {
    fn default() -> Self {
        Splitter::with_limit(EVENT_LIMIT)
    }
}

impl Splitter {
    /// A splitter with another limit for one event, in bytes.
    pub fn with_limit(limit: usize) -> Self {
        Splitter {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: None,
            at_start: true,
            after_cr: false,
            broken: None,
        }
    }

    /// Takes a chunk and appends the events that it completes.
    ///
    /// # Errors
    /// [`SseError`]; the splitter then answers every further chunk with the same error.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        if let Some(e) = self.broken {
            return Err(e);
        }
        self.consume(chunk, out).inspect_err(|e| self.broken = Some(*e))
    }

    /// The stream ended: an event without its blank line is complete too.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self, out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        self.push(b"\n\n", out)
    }

    fn consume(&mut self, mut chunk: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        while let Some(&first) = chunk.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                chunk = chunk.get(1..).unwrap_or_default();
                continue;
            }
            let end = chunk.iter().position(|b| matches!(b, b'\n' | b'\r' | 0));
            let (text, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            if self.data.len() + self.line.len() + text.len() > self.limit {
                return Err(SseError::TooLarge);
            }
            let Some((&ending, rest)) = rest.split_first() else {
                self.line.extend_from_slice(text);
                return Ok(());
            };
            if ending == 0 {
                return Err(SseError::Nul);
            }
            self.after_cr = ending == b'\r';
            if self.line.is_empty() {
                self.end_line(text, out);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(text);
                self.end_line(&line, out);
                line.clear();
                self.line = line;
            }
            chunk = rest;
        }
        Ok(())
    }

    fn end_line(&mut self, mut line: &[u8], out: &mut Vec<SseEvent>) {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(out);
        }
        let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(value),
            b"event" => self.name = Some(value.to_vec()),
            b"error" => {
                self.name = Some(b"error".to_vec());
                self.add_data(value);
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let name = self.name.take();
        if std::mem::take(&mut self.has_data) {
            let name = name.filter(|n| !n.is_empty()).map(|n| String::from_utf8_lossy(&n).into_owned());
            out.push(SseEvent { name, data: String::from_utf8_lossy(&self.data).into_owned() });
            self.data.clear();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Result<Vec<(Option<String>, String)>, SseError> {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, &mut out)?;
        }
        splitter.finish(&mut out)?;
        Ok(out.into_iter().map(|e| (e.name, e.data)).collect())
    }

    fn data(chunks: &[&[u8]]) -> Vec<String> {
        split(chunks).unwrap().into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn b01_crlf_line_ends_complete_an_event() {
        let mut out = Vec::new();
        Splitter::default().push(b"data: {\"a\":1}\r\n\r\n", &mut out).unwrap();
        assert_eq!(out, [SseEvent { name: None, data: "{\"a\":1}".into() }]);
    }

    #[test]
    fn b02_a_crlf_cut_by_a_chunk_is_one_line_end() {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        for chunk in [b"data: 1\r".as_slice(), b"\n\r", b"\n"] {
            splitter.push(chunk, &mut out).unwrap();
        }
        assert_eq!(out.len(), 1);
        assert_eq!(data(&[b"data: 1\r\r"]), ["1"]);
    }

    #[test]
    fn b02_a_lone_cr_ends_an_event_at_once() {
        let mut out = Vec::new();
        Splitter::default().push(b"data: 1\r\r", &mut out).unwrap();
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn b04_mixed_line_ends_are_judged_one_by_one() {
        let out = split(&[b"event: a\ndata: 1\r\n\ndata: 2\n\r\n"]).unwrap();
        assert_eq!(out, [(Some("a".into()), "1".into()), (None, "2".into())]);
    }

    #[test]
    fn b05_a_character_cut_by_a_chunk_survives() {
        assert_eq!(data(&[b"data: {\"content\":\"\xC3", b"\xA9\"}\n\n"]), ["{\"content\":\"\u{e9}\"}"]);
    }

    #[test]
    fn b07_the_blank_after_the_colon_is_optional_and_only_one_goes() {
        assert_eq!(data(&[b"data:{\"a\":1}\n\n"]), ["{\"a\":1}"]);
        assert_eq!(data(&[b"data:  x\n\n"]), [" x"]);
    }

    #[test]
    fn b08_comments_are_no_data() {
        assert_eq!(data(&[b": OPENROUTER PROCESSING\n\ndata: 1\n\n"]), ["1"]);
    }

    #[test]
    fn b10_a_comment_is_no_event_and_an_empty_data_line_is_an_empty_one() {
        assert!(data(&[b": hi\n\n"]).is_empty());
        assert_eq!(data(&[b"data:\n\n"]), [""]);
    }

    #[test]
    fn b11_a_name_without_data_does_not_stick_to_the_next_event() {
        assert_eq!(split(&[b"event: ping\n\ndata: 1\n\n"]).unwrap(), [(None, "1".into())]);
    }

    #[test]
    fn b13_an_endless_event_is_an_error_at_the_limit() {
        let mut splitter = Splitter::with_limit(1000);
        let mut out = Vec::new();
        let mut pushed = 0;
        let error = loop {
            match splitter.push(b"data: xxxx", &mut out) {
                Ok(()) => pushed += 10,
                Err(e) => break e,
            }
        };
        assert_eq!((error, pushed), (SseError::TooLarge, 1000));
        assert_eq!(splitter.push(b"\n\n", &mut out), Err(SseError::TooLarge));
    }

    #[test]
    fn b13_many_data_lines_of_one_event_count_together() {
        let mut splitter = Splitter::with_limit(100);
        let lines = "data: 0123456789\n".repeat(20);
        assert_eq!(splitter.push(lines.as_bytes(), &mut Vec::new()), Err(SseError::TooLarge));
    }

    #[test]
    fn b14_line_and_paragraph_separators_are_no_line_ends() {
        let out = data(&["data: {\"t\":\"a\u{2028}b\u{2029}\u{85}\"}\n\n".as_bytes()]);
        assert_eq!(out, ["{\"t\":\"a\u{2028}b\u{2029}\u{85}\"}"]);
    }

    #[test]
    fn b17_a_field_called_error_is_an_error_event() {
        let out = split(&[b"error: {\"code\":500,\"message\":\"slot failed\"}\n\n"]).unwrap();
        assert_eq!(out, [(Some("error".into()), "{\"code\":500,\"message\":\"slot failed\"}".into())]);
    }

    #[test]
    fn b80_a_nul_byte_is_an_error() {
        assert_eq!(split(&[b"data: {\"t\":\"a\0b\"}\n\n"]), Err(SseError::Nul));
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once() {
        assert_eq!(data(&[b"\xEF", b"\xBB\xBFdata: 1\n\n"]), ["1"]);
        assert!(data(&[b"\xEF\xBB\xBF\xEF\xBB\xBFdata: 1\n\n"]).is_empty());
    }

    #[test]
    fn several_data_lines_join_by_lf_and_the_last_name_wins() {
        let out = split(&[b"event: a\ndata: {\ndata\ndata: }\nevent: b\nid: 7\nretry: 1\n\n"]).unwrap();
        assert_eq!(out, [(Some("b".into()), "{\n\n}".into())]);
    }

    #[test]
    fn the_last_event_needs_no_blank_line() {
        assert_eq!(data(&[b"data: 1\n\ndata: 2"]), ["1", "2"]);
    }

    /// Bytes made of the pieces that matter to a splitter.
    fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"data".to_vec()),
            Just(b"event: e".to_vec()),
            Just(b"error:x".to_vec()),
            Just(b":".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just("\u{feff}".as_bytes().to_vec()),
            Just("\u{e9}\u{1f600}".as_bytes().to_vec()),
            proptest::collection::vec(1..=255u8, 0..4),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_the_chunks(bytes in stream_bytes(), sizes in proptest::collection::vec(1..9usize, 1..20)) {
            let mut chunks: Vec<&[u8]> = Vec::new();
            let mut rest = bytes.as_slice();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break }
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(split(&chunks), split(&[bytes.as_slice()]));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = split(&[bytes.as_slice()]);
        }
    }
}
