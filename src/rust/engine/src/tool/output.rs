//! What commands write, as text.

/// Text of bytes: U+FFFD for what is not UTF-8, no NUL, and line ends of Windows as others.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "").replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn any_bytes_give_text() {
        assert_eq!(text(b"caf\xc3\xa9\r\n\0x\r"), "caf\u{e9}\nx\r");
        assert_eq!(text(b"a\xff\xed\xa0\x80b"), "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}b");
        assert_eq!(text(b""), "");
    }
}
