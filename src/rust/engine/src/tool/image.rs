//! Images, known by their first bytes.

/// What the first bytes of a file say of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The media type.
    pub mime: &'static str,
    /// Pixels, where the bytes say.
    pub size: Option<(u32, u32)>,
    /// True for a PNG file that moves.
    pub animated: bool,
}

impl Image {
    /// Reads the head of a file; some formats need a few kilobytes of it.
    pub fn of(head: &[u8]) -> Option<Self> {
        let still = |mime, size| Some(Image { mime, size, animated: false });
        match head {
            [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => {
                let size = pair(be32(head, 16), be32(head, 20));
                Some(Image { mime: "image/png", size, animated: moves(head) })
            }
            [0xFF, 0xD8, 0xFF, ..] => still("image/jpeg", jpeg(head)),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => still("image/gif", pair(le16(head, 6), le16(head, 8))),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => still("image/webp", webp(head)),
            // The two letters alone begin many a text: the length of the second header is one of a few.
            [b'B', b'M', ..] if matches!(le32(head, 14), Some(12 | 40 | 52 | 56 | 64 | 108 | 124)) => {
                still("image/bmp", pair(le32(head, 18), le32(head, 22)))
            }
            _ => None,
        }
    }
}

fn pair(width: Option<u32>, height: Option<u32>) -> Option<(u32, u32)> {
    Some((width?, height?)).filter(|(w, h)| *w > 0 && *h > 0)
}

fn bytes<const N: usize>(head: &[u8], at: usize) -> Option<[u8; N]> {
    head.get(at..at + N)?.try_into().ok()
}

fn be32(head: &[u8], at: usize) -> Option<u32> {
    bytes(head, at).map(u32::from_be_bytes)
}

fn be16(head: &[u8], at: usize) -> Option<u32> {
    bytes(head, at).map(|b| u32::from(u16::from_be_bytes(b)))
}

fn le32(head: &[u8], at: usize) -> Option<u32> {
    bytes(head, at).map(u32::from_le_bytes)
}

fn le16(head: &[u8], at: usize) -> Option<u32> {
    bytes(head, at).map(|b| u32::from(u16::from_le_bytes(b)))
}

/// A chunk `acTL` before the pixels makes a PNG file move.
fn moves(head: &[u8]) -> bool {
    let mut at = 8;
    while let (Some(length), Some(kind)) = (be32(head, at), head.get(at + 4..at + 8)) {
        match kind {
            b"acTL" => return true,
            b"IDAT" => return false,
            _ => at += 12 + length as usize,
        }
    }
    false
}

/// The frame header among the segments of a JPEG file.
fn jpeg(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let [start, marker] = bytes::<2>(head, at)?;
        match (start, marker) {
            (0xFF, 0xFF) => at += 1,
            (0xFF, 0xC0..=0xCF) if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                return pair(be16(head, at + 7), be16(head, at + 5));
            }
            (0xFF, 0xD8 | 0x01) => at += 2,
            (0xFF, _) => at += 2 + be16(head, at + 2)? as usize,
            _ => return None,
        }
    }
}

fn webp(head: &[u8]) -> Option<(u32, u32)> {
    let le24 = |at: usize| Some(le16(head, at)? | (u32::from(*head.get(at + 2)?) << 16));
    match head.get(12..16)? {
        b"VP8 " => pair(le16(head, 26).map(|w| w & 0x3FFF), le16(head, 28).map(|h| h & 0x3FFF)),
        b"VP8L" => {
            let bits = le32(head, 21)?;
            pair(Some((bits & 0x3FFF) + 1), Some(((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => pair(Some(le24(24)? + 1), Some(le24(27)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(chunks: &[(&[u8], usize)]) -> Vec<u8> {
        let mut out = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x01\0\0\0\0\x80\x08\x02\0\0\0crc!".to_vec();
        for (kind, length) in chunks {
            out.extend((*length as u32).to_be_bytes());
            out.extend(*kind);
            out.extend(vec![0; length + 4]);
        }
        out
    }

    #[test]
    fn types_and_sizes() {
        let of = |head: &[u8]| Image::of(head).map(|i| (i.mime, i.size));
        assert_eq!(of(&png(&[(b"IDAT", 3)])), Some(("image/png", Some((256, 128)))));
        assert_eq!(of(b"GIF89a\x0a\0\x05\0"), Some(("image/gif", Some((10, 5)))));
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x11\x08\0\x20\0\x40";
        assert_eq!(of(jpeg), Some(("image/jpeg", Some((64, 32)))));
        assert_eq!(of(b"RIFF....WEBPVP8X....\0\0\0\0\x3F\0\0\x1F\0\0"), Some(("image/webp", Some((64, 32)))));
        let mut bmp = vec![0; 30];
        bmp[..2].copy_from_slice(b"BM");
        (bmp[14], bmp[18], bmp[22]) = (40, 7, 9);
        assert_eq!(of(&bmp), Some(("image/bmp", Some((7, 9)))));
        for text in [&b"BMW is a car, this is text"[..], b"GIF8", b"plain", b""] {
            assert_eq!(of(text), None);
        }
    }

    #[test]
    fn a_cut_head_has_a_type_and_no_size() {
        assert_eq!(Image::of(b"\xFF\xD8\xFF"), Some(Image { mime: "image/jpeg", size: None, animated: false }));
    }

    #[test]
    fn a_png_that_moves() {
        let animated = |head: &[u8]| Image::of(head).is_some_and(|i| i.animated);
        assert!(animated(&png(&[(b"tEXt", 5), (b"acTL", 8), (b"IDAT", 3)])));
        assert!(!animated(&png(&[(b"IDAT", 3), (b"acTL", 8)])));
    }
}
