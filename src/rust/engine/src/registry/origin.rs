//! Where a record comes from, and who may say so.

use crate::error::Error;
use crate::value::{HostData, HostValue};

/// The highest rank that a record may have.
const HIGHEST_RANK: f64 = 99.0;
/// The rank of the person at the console, and the one that an origin without a rank has.
const USER_RANK: u8 = 3;

/// Where a record comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Precedence.
    pub rank: u8,
    /// The source string.
    pub source: String,
    /// The extension's own name.
    pub extension: String,
    /// The session that alone sees the record.
    pub session: Option<String>,
    /// The load of an extension.
    pub load: Option<u64>,
    /// File and line.
    pub place: Option<Place>,
}

/// Where in a file something was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, when it is known.
    pub line: Option<u32>,
}

impl Place {
    /// Reads list(`file`, `line`); the line may be NA.
    pub fn read(v: &HostValue) -> Option<Self> {
        let line = v.field("line").and_then(HostValue::as_number).filter(|x| *x >= 1.0).map(|x| x as u32);
        Some(Place { file: v.field("file")?.as_str()?.to_owned(), line })
    }
}

impl Origin {
    /// The person at the console.
    pub fn user() -> Self {
        Origin::process("user", USER_RANK)
    }

    /// A built-in of this name.
    pub fn builtin(name: &str) -> Self {
        Origin::process(&format!("builtin:{name}"), 6)
    }

    /// A plugin of this name.
    pub fn plugin(name: &str) -> Self {
        Origin::process(&format!("plugin:{name}"), 5)
    }

    /// An argument of a call: this session only.
    pub fn session(id: &str, extension: &str) -> Self {
        Origin { session: Some(id.into()), extension: extension.into(), ..Origin::process("session", 0) }
    }

    /// A source that every session sees, under its own name.
    pub fn process(source: &str, rank: u8) -> Self {
        Origin { rank, source: source.into(), extension: source.into(), session: None, load: None, place: None }
    }

    /// Reads list(`source`, `rank`, `extension`, `session`, `place`): source and session exactly, a missing rank is the
    /// user's.
    ///
    /// # Errors
    /// `InvalidArgument` (`source`, `rank` or `session`).
    pub fn checked(v: &HostValue) -> Result<Self, Error> {
        let source = checked_source(v.get("source").unwrap_or(&HostValue::null()))?;
        let rank = v.field("rank").map_or(Ok(USER_RANK), checked_rank)?;
        let session = checked_session(v.get("session").unwrap_or(&HostValue::null()))?;
        if source == "session" && session.is_none() {
            return Err(session_error("NULL"));
        }
        let place = v.field("place").and_then(Place::read);
        let extension = v.field("extension").and_then(HostValue::as_str).unwrap_or(&source).to_owned();
        Ok(Origin { rank, source, extension, session, load: None, place })
    }
}

fn checked_source(v: &HostValue) -> Result<String, Error> {
    let expected = "\"session\", \"project\", \"user\", \"builtin:<name>\" or \"plugin:<name>\"";
    let known =
        |s: &&str| matches!(*s, "session" | "project" | "user") || owned_by(s, "builtin:") || owned_by(s, "plugin:");
    v.as_str().filter(known).map(str::to_owned).ok_or_else(|| Error::argument("source", expected, &v.describe()))
}

/// True for the prefix and a name on one line.
fn owned_by(source: &str, prefix: &str) -> bool {
    source.strip_prefix(prefix).is_some_and(|name| !name.is_empty() && !name.contains(['\n', '\r']))
}

fn checked_rank(v: &HostValue) -> Result<u8, Error> {
    let fits = |x: &f64| x.fract() == 0.0 && (0.0..=HIGHEST_RANK).contains(x);
    v.as_number()
        .filter(fits)
        .map(|x| x as u8)
        .ok_or_else(|| Error::argument("rank", "a whole number between 0 and 99", &v.describe()))
}

/// A session's id: a string that is not empty, or a list with such an `id`.
fn checked_session(v: &HostValue) -> Result<Option<String>, Error> {
    if v.is_null() {
        return Ok(None);
    }
    let id = match &v.data {
        HostData::List(_) => v.field("id").and_then(HostValue::as_str),
        _ => v.as_str(),
    };
    id.filter(|id| !id.is_empty()).map(|id| Some(id.to_owned())).ok_or_else(|| session_error(&v.describe()))
}

fn session_error(got: &str) -> Error {
    Error::argument("session", "a session's id", got)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn origin(source: &str, session: HostValue) -> HostValue {
        HostValue::named([("source", source.into()), ("session", session)])
    }

    fn arg(v: &HostValue) -> String {
        match Origin::checked(v) {
            Err(Error::InvalidArgument { arg, .. }) => arg,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn case_36_only_the_known_sources_are_sources() {
        for good in ["project", "user", "builtin:x", "plugin:a b"] {
            assert_eq!(Origin::checked(&origin(good, HostValue::null())).unwrap().source, good);
        }
        for bad in
            ["somewhere", "", "user\n", "User", "plugin:", "plugin:a\n", "builtin:a\rb", "xplugin:a", "session\n"]
        {
            assert_eq!(arg(&origin(bad, HostValue::null())), "source", "{bad:?}");
        }
        assert_eq!(arg(&HostValue::named([("source", HostValue::strings(["user", "user"]))])), "source");
        assert_eq!(arg(&HostValue::null()), "source");
    }

    #[test]
    fn case_51_a_session_record_needs_a_session() {
        let na: HostValue = HostData::Character(vec![None]).into();
        let wrong_id = HostValue::named([("id", 42.into())]);
        for bad in [HostValue::null(), "".into(), na, wrong_id, 7.into(), HostValue::list([])] {
            assert_eq!(arg(&origin("session", bad.clone())), "session", "{bad:?}");
            if !bad.is_null() {
                assert_eq!(arg(&origin("user", bad)), "session");
            }
        }
        let by_object = HostValue::named([("id", "s1".into())]);
        assert_eq!(Origin::checked(&origin("session", by_object)).unwrap().session.as_deref(), Some("s1"));
    }

    #[test]
    fn ranks_are_whole_numbers_up_to_99() {
        let with_rank = |rank: HostValue| HostValue::named([("source", "user".into()), ("rank", rank)]);
        assert_eq!(Origin::checked(&with_rank(99.0.into())).unwrap().rank, 99);
        for bad in
            [(-1.0).into(), 100.into(), 2.5.into(), f64::NAN.into(), "3".into(), HostData::Integer(vec![None]).into()]
        {
            assert_eq!(arg(&with_rank(bad)), "rank");
        }
    }
}
