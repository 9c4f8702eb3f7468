//! How many tokens a text is likely to cost, from counts of its characters.
//!
//! Counts add up, so the estimate of a growing text costs what was added and never a second look at the whole.

/// What kind of text is estimated; each kind packs a different number of characters into a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Class {
    /// Running text; also context and thinking.
    #[default]
    Prose,
    /// Program code.
    Code,
    /// What R prints.
    ROutput,
    /// What `str()` prints.
    Str,
    /// Delimited data.
    Csv,
    /// JSON, such as the arguments of a call.
    Json,
    /// Conditions and tracebacks.
    Error,
    /// Descriptions of objects: workspace and attached blocks.
    Describe,
}

/// Name and hundredths of characters a token, one row a class.
const CLASSES: [(Class, &str, u64); 8] = [
    (Class::Prose, "prose", 436),
    (Class::Code, "code", 324),
    (Class::ROutput, "r_output", 213),
    (Class::Str, "str", 201),
    (Class::Csv, "csv", 157),
    (Class::Json, "json", 290),
    (Class::Error, "error", 298),
    (Class::Describe, "describe", 239),
];

/// Thousandths of a token for one Chinese, Japanese or Korean character.
const CJK_MILLI: u64 = 848;
/// Thousandths of a token for any other character outside ASCII.
const OTHER_MILLI: u64 = 350;

impl Class {
    /// The class's name in R.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The class of that name.
    pub fn from_name(name: &str) -> Option<Class> {
        CLASSES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// All names, in the order of the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CLASSES.iter().map(|row| row.1)
    }

    fn row(self) -> &'static (Class, &'static str, u64) {
        CLASSES.iter().find(|row| row.0 == self).unwrap_or(&CLASSES[0])
    }
}

/// Characters of a text by the groups that cost differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CharCounts {
    /// ASCII characters.
    pub ascii: u64,
    /// Characters of the scripts Han, Hiragana, Katakana and Hangul.
    pub cjk: u64,
    /// All others.
    pub other: u64,
}

impl CharCounts {
    /// Counts a text in one pass; a text of ASCII alone is counted without decoding it.
    pub fn of(text: &str) -> CharCounts {
        let ascii = count_ascii(text.as_bytes());
        let mut counts = CharCounts { ascii, cjk: 0, other: 0 };
        if ascii == text.len() as u64 {
            return counts;
        }
        for c in text.chars().filter(|c| !c.is_ascii()) {
            if is_cjk(c) {
                counts.cjk += 1;
            } else {
                counts.other += 1;
            }
        }
        counts
    }

    /// Counts of the elements of a character vector joined by newlines; NA counts as the letters `NA`.
    pub fn of_elements<'a>(elements: impl IntoIterator<Item = Option<&'a str>>) -> CharCounts {
        let mut sum = CharCounts::default();
        let mut seen = 0_u64;
        for element in elements {
            sum.append(CharCounts::of(element.unwrap_or("NA")));
            seen += 1;
        }
        sum.ascii += seen.saturating_sub(1);
        sum
    }

    /// Adds a text on a line of its own: a sum that has characters gets one for the line break.
    pub fn join(&mut self, added: CharCounts) {
        if !self.is_empty() {
            self.ascii += 1;
        }
        self.append(added);
    }

    /// Adds a text that follows without a break.
    pub fn append(&mut self, added: CharCounts) {
        self.ascii += added.ascii;
        self.cjk += added.cjk;
        self.other += added.other;
    }

    /// Takes a part out again.
    pub fn remove(&mut self, part: CharCounts) {
        self.ascii = self.ascii.saturating_sub(part.ascii);
        self.cjk = self.cjk.saturating_sub(part.cjk);
        self.other = self.other.saturating_sub(part.other);
    }

    /// True without a character.
    pub fn is_empty(&self) -> bool {
        *self == CharCounts::default()
    }

    /// The estimate, rounded up: whole numbers all the way, so that no rounding error adds a token.
    pub fn tokens(&self, class: Class) -> u64 {
        let hundredths = u128::from(class.row().2);
        let ascii = u128::from(self.ascii) * 100 * 1000;
        let wide = u128::from(self.cjk) * u128::from(CJK_MILLI) + u128::from(self.other) * u128::from(OTHER_MILLI);
        let tokens = (ascii + wide * hundredths).div_ceil(hundredths * 1000);
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

/// The estimate of one text.
pub fn estimate(text: &str, class: Class) -> u64 {
    CharCounts::of(text).tokens(class)
}

/// Pixels of an image for a token.
const IMAGE_PIXELS: u64 = 750;
/// The longest side to which hosts scale an image down.
const IMAGE_EDGE: f64 = 1568.0;
/// Width and height that an image of unknown size counts with.
const IMAGE_SIZE: (u32, u32) = (1000, 700);

/// The estimate of an image of this size in pixels.
pub fn image(width: Option<u32>, height: Option<u32>) -> u64 {
    let (width, height) = width.zip(height).unwrap_or(IMAGE_SIZE);
    let scale = (IMAGE_EDGE / f64::from(width.max(height).max(1))).min(1.0);
    let side = |pixels: u32| (f64::from(pixels) * scale) as u64;
    (side(width) * side(height)).div_ceil(IMAGE_PIXELS)
}

/// Bytes below 0x80; written so that the compiler makes wide instructions of it.
fn count_ascii(bytes: &[u8]) -> u64 {
    // Sums of 255 bytes fit a byte, which lets a whole register of them be added at once.
    bytes
        .chunks(255)
        .map(|chunk| u64::from(chunk.iter().map(|b| u8::from(*b < 0x80)).fold(0_u8, u8::wrapping_add)))
        .sum()
}

/// True for a character of the scripts Han, Hiragana, Katakana or Hangul.
fn is_cjk(c: char) -> bool {
    let code = c as u32;
    let after = CJK_RANGES.partition_point(|range| range.0 <= code);
    after.checked_sub(1).and_then(|at| CJK_RANGES.get(at)).is_some_and(|range| code <= range.1)
}

/// Code points of the four scripts, ascending (Unicode 16, property Script).
#[rustfmt::skip]
const CJK_RANGES: [(u32, u32); 53] = [
    (0x1100, 0x11ff), (0x2e80, 0x2e99), (0x2e9b, 0x2ef3), (0x2f00, 0x2fd5), (0x3005, 0x3005), (0x3007, 0x3007),
    (0x3021, 0x3029), (0x302e, 0x302f), (0x3038, 0x303b), (0x3041, 0x3096), (0x309d, 0x309f), (0x30a1, 0x30fa),
    (0x30fd, 0x30ff), (0x3131, 0x318e), (0x31f0, 0x321e), (0x3260, 0x327e), (0x32d0, 0x32fe), (0x3300, 0x3357),
    (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xa960, 0xa97c), (0xac00, 0xd7a3), (0xd7b0, 0xd7c6), (0xd7cb, 0xd7fb),
    (0xf900, 0xfa6d), (0xfa70, 0xfad9), (0xff66, 0xff6f), (0xff71, 0xff9d), (0xffa0, 0xffbe), (0xffc2, 0xffc7),
    (0xffca, 0xffcf), (0xffd2, 0xffd7), (0xffda, 0xffdc), (0x16fe2, 0x16fe3), (0x16ff0, 0x16ff1), (0x1aff0, 0x1aff3),
    (0x1aff5, 0x1affb), (0x1affd, 0x1affe), (0x1b000, 0x1b122), (0x1b132, 0x1b132), (0x1b150, 0x1b152),
    (0x1b155, 0x1b155), (0x1b164, 0x1b167), (0x1f200, 0x1f200), (0x20000, 0x2a6df), (0x2a700, 0x2b739),
    (0x2b740, 0x2b81d), (0x2b820, 0x2cea1), (0x2ceb0, 0x2ebe0), (0x2ebf0, 0x2ee5d), (0x2f800, 0x2fa1d),
    (0x30000, 0x3134a), (0x31350, 0x323af),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn an_image_costs_by_its_area_up_to_a_limit() {
        assert_eq!(image(Some(768), Some(512)), 525);
        assert_eq!(image(None, Some(5)), image(Some(1000), Some(700)));
        assert_eq!(image(Some(16_000), Some(16_000)), image(Some(1568), Some(1568)));
        assert_eq!(image(Some(0), Some(0)), 0);
    }

    #[test]
    fn case_62_prose_is_436_characters_for_100_tokens_and_nothing_is_0() {
        assert_eq!(estimate(&"a".repeat(436), Class::Prose), 100);
        assert_eq!(estimate(&"a".repeat(437), Class::Prose), 101);
        assert_eq!(estimate("", Class::Prose), 0);
        assert_eq!(CharCounts::of_elements([]).tokens(Class::Prose), 0);
    }

    #[test]
    fn elements_are_joined_by_newlines_and_na_counts_as_its_letters() {
        assert_eq!(CharCounts::of_elements([Some("ab"), None, Some("")]).ascii, 2 + 1 + 2 + 1);
    }

    #[test]
    fn summed_counts_equal_the_counts_of_the_joined_text() {
        let texts = ["first line", "zweite Zeile: \u{e4}\u{f6}", "\u{6f22}\u{5b57} and kana \u{304b}"];
        let mut sum = CharCounts::default();
        for text in texts {
            sum.join(CharCounts::of(text));
        }
        assert_eq!(sum, CharCounts::of(&texts.join("\n")));
        assert_eq!((sum.cjk, sum.other), (3, 2));
    }

    #[test]
    fn scripts_have_their_own_weight() {
        assert_eq!(estimate(&"\u{6f22}".repeat(1000), Class::Code), 848);
        assert_eq!(estimate(&"\u{ac00}".repeat(1000), Class::Prose), 848);
        assert_eq!(estimate(&"\u{e9}".repeat(1000), Class::Json), 350);
        assert_eq!(estimate("\u{1f600}", Class::Prose), 1);
    }

    #[test]
    fn the_ranges_are_those_of_the_four_scripts() {
        let scripts = regex::Regex::new(r"^[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]$").unwrap();
        let member = |code: u32| char::from_u32(code).is_some_and(|c| scripts.is_match(c.encode_utf8(&mut [0; 4])));
        let mut last = 0;
        for (from, to) in CJK_RANGES {
            assert!(last < from && from <= to, "{from:x} is out of order");
            assert!(member(from) && member(to) && !member(from - 1) && !member(to + 1), "{from:x} to {to:x}");
            assert!(is_cjk(char::from_u32(from).unwrap()) && is_cjk(char::from_u32(to).unwrap()));
            last = to;
        }
        assert!(!is_cjk('a') && !is_cjk('\u{10ffff}'));
    }

    #[test]
    fn ascii_is_counted_right_over_many_chunks() {
        let text = format!("{}\u{e4}{}", "x".repeat(100_000), "y".repeat(77));
        assert_eq!(CharCounts::of(&text), CharCounts { ascii: 100_077, cjk: 0, other: 1 });
    }

    #[test]
    fn a_class_is_found_by_its_name() {
        assert_eq!(Class::from_name("r_output"), Some(Class::ROutput));
        assert_eq!(Class::from_name("nope"), None);
    }
}
