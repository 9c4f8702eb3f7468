//! The forms that a secret takes in addresses, JSON and base64.

use crate::value::Value;

/// All forms, each once.
pub(super) fn of(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let json = json.trim_start_matches('"');
    let json = json.strip_suffix('"').unwrap_or(json).to_owned();
    let ascii = ascii_json(&json);
    let slashes = |s: &str| s.replace('/', "\\/");
    let percent = [percent(secret, true), percent(secret, false)];
    let plus = percent.clone().map(|p| p.replace("%20", "+"));
    let mut all = vec![secret.to_owned(), slashes(&json), slashes(&ascii), json, ascii];
    all.extend(percent);
    all.extend(plus);
    for url_safe in [false, true] {
        all.extend((0..3).map(|offset| base64_inside(secret.as_bytes(), offset, url_safe)));
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|form| form.len() >= super::MIN_SECRET);
    all
}

/// JSON with everything beyond ASCII as `\uXXXX`.
fn ascii_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0u16; 2];
            c.encode_utf16(&mut units).iter().for_each(|u| out.push_str(&format!("\\u{u:04x}")));
        }
    }
    out
}

/// RFC 3986: everything but unreserved characters encoded.
fn percent(text: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if upper => out.push_str(&format!("%{byte:02X}")),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// The characters of a base64 text that the secret alone decides, when it begins at a byte offset of 0, 1 or 2
/// modulo 3.
fn base64_inside(secret: &[u8], offset: usize, url_safe: bool) -> String {
    let padded: Vec<u8> = std::iter::repeat_n(0, offset).chain(secret.iter().copied()).collect();
    let text = base64(&padded, url_safe);
    let first = (offset * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    text.get(first..last).unwrap_or_default().to_owned()
}

/// RFC 4648, with padding.
pub(super) fn base64(bytes: &[u8], url_safe: bool) -> String {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let alphabet = if url_safe { URL_SAFE } else { STANDARD };
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let c = alphabet.get((bits >> (18 - 6 * i) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if i > group.len() { '=' } else { char::from(c) });
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_vectors_of_its_standard() {
        for (text, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes(), false), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff], true), "-_8=");
    }
}
