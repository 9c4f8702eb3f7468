//! The text of a shell script taken apart, as far as it says what it does.

use std::iter::Peekable;
use std::str::Chars;

/// One command of a script.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Simple {
    /// The words, the program first.
    pub(super) words: Vec<String>,
    /// Files that it reads by redirection.
    pub(super) reads: Vec<String>,
    /// Files that it writes by redirection.
    pub(super) writes: Vec<String>,
}

/// Takes a script apart; `None` when it has anything but plain commands, joined or piped, with plain redirections.
pub(super) fn parse(text: &str) -> Option<Vec<Simple>> {
    let mut script = Vec::new();
    let mut now = Simple::default();
    let mut target = Target::Word;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => {}
            '\n' | ';' | '|' | '&' => {
                let doubled = c != '\n' && rest.next_if_eq(&c).is_some();
                if target != Target::Word || (c == '&' && !doubled) || (c == '|' && rest.peek() == Some(&'&')) {
                    return None;
                }
                finish(&mut now, &mut script);
            }
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '<' if target == Target::Word => target = Target::Read,
            '>' if target == Target::Word => {
                if rest.next_if(|c| matches!(c, '>' | '|')).is_none() && rest.next_if_eq(&'&').is_some() {
                    // To another open stream.
                    rest.next_if(|c| matches!(c, '1' | '2'))?;
                    continue;
                }
                target = Target::Write;
            }
            '<' | '>' => return None,
            _ => {
                let (word, quoted) = word(c, &mut rest)?;
                let stream = !quoted && matches!(word.as_str(), "1" | "2") && rest.peek() == Some(&'>');
                match std::mem::replace(&mut target, Target::Word) {
                    _ if stream => {}
                    Target::Word => now.words.push(word),
                    Target::Read => now.reads.push(word),
                    Target::Write => now.writes.push(word),
                }
            }
        }
    }
    if target != Target::Word {
        return None;
    }
    finish(&mut now, &mut script);
    Some(script)
}

#[derive(PartialEq)]
enum Target {
    Word,
    Read,
    Write,
}

fn finish(now: &mut Simple, script: &mut Vec<Simple>) {
    let done = std::mem::take(now);
    if done != Simple::default() {
        script.push(done);
    }
}

/// Reads a word that begins with `first`, and whether a part was quoted; `None` when something in it expands to what is
/// not written there. Globs stay: they expand to names of files.
fn word(first: char, rest: &mut Peekable<Chars>) -> Option<(String, bool)> {
    let mut out = String::new();
    let mut quoted = false;
    let mut next = Some(first);
    while let Some(c) = next {
        match c {
            '\'' => {
                quoted = true;
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => out.push(c),
                    }
                }
            }
            '"' => {
                quoted = true;
                loop {
                    match rest.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => out.push(rest.next()?),
                        c => out.push(c),
                    }
                }
            }
            '\\' => {
                quoted = true;
                out.push(rest.next()?);
            }
            '$' | '`' | '(' | ')' | '{' | '}' | '!' => return None,
            c => out.push(c),
        }
        next = rest.next_if(|c| !matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>'));
    }
    Some((out, quoted))
}
