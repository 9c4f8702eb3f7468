//! `read`: a file's lines, or an image.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;

use super::encoding::Encoding;
use super::image::Image;
use super::lines::{Lines, Wanted, named, scan};
use super::text::{BYTES, failed, integer, size, string};
use super::{Answer, Context, Output};
use crate::error::Error;
use crate::message::Block;
use crate::prompt::estimate::{CharCounts, Class};
use crate::value::{HostValue, Value, json};

/// Lines that a call gets when it asks for no other number.
const LINES: usize = 2000;

/// A NUL among so many first bytes makes a file binary.
const NUL_WITHIN: usize = 8000;

/// Bytes of the head in which an image's size is looked for.
const HEAD: usize = 64 * 1024;

/// Pixels that a side of an image may have.
const SIDE: u32 = 2000;

/// Bytes of base64 that an image may have.
const IMAGE_BASE64: u64 = 4_718_592;

/// Reads `path` from line `offset` on, `limit` lines.
///
/// # Errors
/// Argument `path`: missing, a directory, unreadable. Argument `offset` or `limit`: below 1.
pub fn read(input: &Value, context: &Context) -> Answer {
    let written = string(input, "path").unwrap_or_default();
    let path = context.site.path(written);
    let mut file = open(&path)?;
    let mut head = Vec::new();
    let taken = Read::by_ref(&mut file).take(HEAD as u64).read_to_end(&mut head);
    taken.map_err(|e| failed("path", &path, &e))?;
    if let Some(image) = Image::of(&head) {
        return picture(&path, &image, head, file, context);
    }
    if Encoding::marked(&head).is_none() && head[..head.len().min(NUL_WITHIN)].contains(&0) {
        let bytes = file.metadata().map_or(head.len() as u64, |m| m.len());
        return Ok(note(binary(&path, bytes, context), context));
    }
    let asked = integer(input, "limit");
    let wanted = Wanted {
        from: integer(input, "offset").unwrap_or(1).max(1),
        lines: match asked {
            Some(n) if context.asker.takes_value() => n,
            Some(n) => n.min(LINES),
            None => LINES,
        },
        bytes: if asked.is_some() && context.asker.takes_value() { usize::MAX / 2 } else { BYTES },
    };
    let (lines, encoding) = scan(&path, &head, &mut file, wanted, context)?;
    let reading = Reading { path: &path, wanted, asked, lines, encoding, context };
    Ok(if context.asker.takes_value() { reading.value() } else { reading.text() })
}

/// Opens a regular file: others may block for ever, or have no end.
fn open(path: &Path) -> Result<File, Error> {
    let meta = path.metadata().map_err(|e| failed("path", path, &e))?;
    if meta.is_dir() {
        return Err(failed("path", path, &std::io::ErrorKind::IsADirectory.into()));
    }
    if !meta.is_file() {
        return Err(Error::argument_message("path", format!("EINVAL: not a regular file: {}", path.display())));
    }
    File::open(path).map_err(|e| failed("path", path, &e))
}

/// A bracket in place of a text.
fn note(text: String, context: &Context) -> Output {
    if context.asker.takes_value() {
        return Output::value(HostValue::named([("note", text.into())]));
    }
    Output::text(text)
}

/// What is said of a file that is no text: how R code reads it.
fn binary(path: &Path, bytes: u64, context: &Context) -> String {
    let extension = path.extension().map(|x| x.to_string_lossy().to_lowercase()).unwrap_or_default();
    let reader = match extension.as_str() {
        "rds" => "readRDS()",
        "rda" | "rdata" => "load()",
        "parquet" => "arrow::read_parquet()",
        "feather" | "arrow" => "arrow::read_feather()",
        "xlsx" | "xls" => "readxl::read_excel()",
        "sav" => "haven::read_sav()",
        "dta" => "haven::read_dta()",
        "sas7bdat" => "haven::read_sas()",
        "fst" => "fst::read_fst()",
        "qs" => "qs::qread()",
        _ => "readBin()",
    };
    let name = named(path, context);
    format!("[Binary file {name} ({}) is not shown. Load it in `r`, e.g. with {reader}]", size(bytes))
}

fn picture(path: &Path, image: &Image, head: Vec<u8>, mut file: File, context: &Context) -> Answer {
    let bytes = file.metadata().map_or(0, |m| m.len());
    let pixels = image.size.map(|(w, h)| format!(", {w} x {h}")).unwrap_or_default();
    let what = format!("{}, {}{pixels}", image.mime, size(bytes));
    let name = named(path, context);
    let large = image.size.is_some_and(|(w, h)| w.max(h) > SIDE) || bytes.div_ceil(3) * 4 > IMAGE_BASE64;
    let refusal = if image.animated {
        Some("animated images are not shown")
    } else if image.mime == "image/bmp" {
        Some("models take no BMP: convert it with package magick, in `r`")
    } else if large {
        Some("it is too large: reduce it with package magick, in `r`")
    } else {
        None
    };
    if let Some(why) = refusal {
        return Ok(note(format!("[Image {name} ({what}) is not attached: {why}]"), context));
    }
    let mut data = head;
    file.read_to_end(&mut data).map_err(|e| failed("path", path, &e))?;
    let text = format!("Read image file [{}]", image.mime);
    let block = Block::Image {
        mime: image.mime.to_owned(),
        data: base64::engine::general_purpose::STANDARD.encode(&data),
        source: "file".to_owned(),
        width: image.size.map(|s| s.0),
        height: image.size.map(|s| s.1),
    };
    let details = json!({"path": path.to_string_lossy(), "image": image.mime});
    let value = context
        .asker
        .takes_value()
        .then(|| HostValue::named([("note", text.as_str().into()), ("image", host(&block))]));
    let details = details.as_object().cloned().unwrap_or_default();
    Ok(Output { content: vec![Block::text(text), block], details, gloss: None, value })
}

/// An image block as R has it.
fn host(block: &Block) -> HostValue {
    let json = block.to_json();
    let field = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => HostValue::from(text.as_str()),
            other => other.as_f64().map_or_else(HostValue::null, HostValue::from),
        };
        (name.clone(), value)
    };
    HostValue::named(json.as_object().into_iter().flatten().map(field))
}

/// What a pass through a file gave.
struct Reading<'a> {
    path: &'a Path,
    wanted: Wanted,
    asked: Option<usize>,
    lines: Lines,
    encoding: Encoding,
    context: &'a Context,
}

impl Reading<'_> {
    fn decoded(&self) -> impl Iterator<Item = String> + '_ {
        // UTF-16 was decoded before it was cut into lines.
        let encoding = if self.encoding == Encoding::Cp1252 { Encoding::Cp1252 } else { Encoding::Utf8 };
        self.lines.kept.iter().map(move |line| encoding.text(line).into_owned())
    }

    fn name(&self) -> String {
        named(self.path, self.context)
    }

    /// The encoding for people: what is not plain UTF-8 is worth a word.
    fn encoding_note(&self) -> Option<String> {
        match self.encoding {
            Encoding::Utf8 if self.lines.census.invalid > 0 => {
                Some(format!("{} invalid UTF-8 byte(s) of the file are shown as \u{FFFD}", self.lines.census.invalid))
            }
            Encoding::Utf8 => None,
            other => Some(format!("The file is read as {}", other.name())),
        }
    }

    fn value(&self) -> Output {
        let lines: Vec<String> = match self.lines.longest {
            Some(_) => self.decoded().map(|line| cut(&line, self.wanted.bytes).to_owned()).collect(),
            None => self.decoded().collect(),
        };
        let last = self.wanted.from - 1 + lines.len();
        let truncated = last < self.lines.total || self.lines.longest.is_some();
        Output::value(HostValue::named([
            ("lines", HostValue::strings(lines)),
            ("path", self.path.to_string_lossy().into_owned().into()),
            ("offset", (self.wanted.from as f64).into()),
            ("limit", self.asked.map_or_else(HostValue::null, |n| (n as f64).into())),
            ("total", (self.lines.total as f64).into()),
            ("truncated", truncated.into()),
            ("encoding", self.encoding.name().into()),
        ]))
    }

    fn text(&self) -> Output {
        let (text, shown, cap) = self.within_tokens();
        let mut notes: Vec<String> = Vec::new();
        let from = self.wanted.from;
        let (total, last) = (self.lines.total, from - 1 + shown);
        let next = last + 1;
        if total == 0 {
            notes.push(format!("The file {} is empty", self.name()));
        } else if from > total {
            notes.push(format!("Offset {from} is past the end: {} has {total} line(s)", self.name()));
        } else if shown == 0 || self.lines.longest.is_some() {
            notes.push(self.long_line(text.len()));
        } else if last < total && self.asked == Some(shown) {
            notes.push(format!("{} more line(s). Use offset={next} to go on", total - last));
        } else if last < total {
            let cap = cap.map(|c| format!(" ({c} limit)")).unwrap_or_default();
            notes.push(format!("Lines {from}-{last} of {total}{cap}. Use offset={next} to go on"));
        }
        notes.extend(self.encoding_note());
        let bracket = if notes.is_empty() { String::new() } else { format!("[{}]", notes.join(". ")) };
        let parts: Vec<&str> = [text.as_str(), &bracket].into_iter().filter(|p| !p.is_empty()).collect();
        let truncated = last < total || self.lines.longest.is_some();
        let mut output = Output::text(parts.join("\n\n"));
        let details = json!({
            "path": self.path.to_string_lossy(), "offset": from, "limit": self.asked, "lines_total": total,
            "truncated": truncated, "image": Value::Null, "encoding": self.encoding.name(),
            "eol": self.lines.ends.name()
        });
        output.details = details.as_object().cloned().unwrap_or_default();
        output
    }

    /// The lines within the bytes and tokens that a model gets, how many they are, and what ended them.
    fn within_tokens(&self) -> (String, usize, Option<String>) {
        let class = class_of(self.path);
        let mut counts = CharCounts::default();
        let mut text = String::new();
        let mut shown = 0;
        let tokens = self.context.site.read_tokens;
        for line in self.decoded() {
            counts.join(CharCounts::of(&line));
            let over_bytes = text.len() + line.len() > BYTES;
            if over_bytes || counts.tokens(class) > tokens {
                if shown == 0 {
                    text = cut(&line, BYTES.min(share(&line, tokens, counts.tokens(class)))).to_owned();
                }
                let cap = if over_bytes { size(BYTES as u64) } else { format!("{tokens} tokens") };
                return (text, shown, Some(cap));
            }
            if shown > 0 {
                text.push('\n');
            }
            text.push_str(&line);
            shown += 1;
        }
        let by_bytes = shown < self.wanted.lines && self.wanted.from - 1 + shown < self.lines.total;
        (text, shown, by_bytes.then(|| size(BYTES as u64)))
    }

    fn long_line(&self, shown: usize) -> String {
        let from = self.wanted.from;
        let bytes = self.lines.longest.unwrap_or_else(|| self.lines.kept.first().map_or(0, |l| l.len() as u64));
        format!(
            "Line {from} of {} has {}, more than the limit of {} or {} tokens: its first {} are shown. In `r`, \
             substr(readLines(\"{}\", {from})[{from}], first, last) gives any part of it",
            self.lines.total,
            size(bytes),
            size(BYTES as u64),
            self.context.site.read_tokens,
            size(shown as u64),
            self.name()
        )
    }
}

/// Bytes of a line that cost so many tokens of all that it would.
fn share(line: &str, tokens: u64, all: u64) -> usize {
    (line.len() as u128 * u128::from(tokens) / u128::from(all.max(1))) as usize
}

/// The head of a text, within so many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// How many characters of a file a token holds, by its extension.
fn class_of(path: &Path) -> Class {
    let extension = path.extension().map(|x| x.to_string_lossy().to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "csv" | "tsv" | "dat" => Class::Csv,
        "json" | "jsonl" | "geojson" | "ipynb" => Class::Json,
        "r" | "rs" | "c" | "h" | "cpp" | "hpp" | "cc" | "py" | "js" | "ts" | "java" | "go" | "sh" | "sql" | "jl"
        | "f90" | "stan" | "toml" | "yml" | "yaml" | "xml" | "html" | "css" | "rmd" | "qmd" | "rnw" | "rd" => {
            Class::Code
        }
        _ => Class::Prose,
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
