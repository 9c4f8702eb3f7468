//! Time and fresh ids.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

/// Whole milliseconds since 1970, as messages carry them.
pub fn now_ms() -> f64 {
    (now() * 1000.0).floor()
}

/// A fresh id: the prefix and `digits` hex digits. Random numbers of the host are never used.
pub fn fresh_id(prefix: &str, digits: usize) -> String {
    let mut id = prefix.to_owned();
    while id.len() < prefix.len() + digits {
        // The keys of a new RandomState come from the operating system; hashing the time keeps two of them apart.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos()));
        id.push_str(&format!("{:016x}", hasher.finish()));
    }
    id.truncate(prefix.len() + digits);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_form_and_differ() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| fresh_id("s", 10)).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|i| i.len() == 11 && i[1..].bytes().all(|b| b.is_ascii_hexdigit())));
        assert_eq!(fresh_id("o", 40).len(), 41);
    }
}
