//! Token counts, under whatever name a host has them.

use crate::message::Usage;
use crate::value::Value;

const CACHE_READ: &[&str] = &["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"];
const CACHE_WRITE: &[&str] = &["/prompt_tokens_details/cache_write_tokens", "/cache_creation_input_tokens"];
const REASONING: &[&str] = &["/completion_tokens_details/reasoning_tokens"];

/// Where a chunk may hold its usage, beside the choice.
const PLACES: &[&str] = &["/usage", "/x_groq/usage"];

/// The usage object of a chunk, if it has one.
pub(super) fn usage_in<'a>(chunk: &'a Value, choice: Option<&'a Value>) -> Option<&'a Value> {
    PLACES.iter().filter_map(|p| chunk.pointer(p)).chain(choice.and_then(|c| c.get("usage"))).find(|u| u.is_object())
}

/// Reads a usage object. What the host does not say stays unknown. `prompt_tokens` contains what was read from and
/// written to a cache; reasoning is part of the output, also for hosts that count it beside `completion_tokens`.
pub(super) fn read(usage: &Value) -> Usage {
    let number = |path: &str| match usage.pointer(path)? {
        Value::Number(n) => n.as_u64().or_else(|| n.as_f64().filter(|x| *x >= 0.0).map(|x| x as u64)),
        _ => None,
    };
    let first = |paths: &[&str]| paths.iter().find_map(|p| number(p));
    let (prompt, completion) = (number("/prompt_tokens"), number("/completion_tokens"));
    let (cache_read, cache_write, reasoning) = (first(CACHE_READ), first(CACHE_WRITE), first(REASONING));
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: prompt.map(|p| p.saturating_sub(cached)),
        output: completion.map(|c| c.saturating_add(beside(prompt, c, reasoning, number("/total_tokens")))),
        cache_read,
        cache_write_5m: cache_write,
        reasoning,
        cost: usage.get("cost").and_then(Value::as_f64),
        ..Usage::default()
    }
}

/// Reasoning tokens that are not in the completion's, which the total gives away.
fn beside(prompt: Option<u64>, completion: u64, reasoning: Option<u64>, total: Option<u64>) -> u64 {
    let reasoning = reasoning.unwrap_or(0);
    let sum = prompt.and_then(|p| p.checked_add(completion)?.checked_add(reasoning));
    if reasoning > 0 && sum.is_some() && sum == total { reasoning } else { 0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn cached_tokens_are_taken_out_of_the_input() {
        for cached in [
            json!({"prompt_tokens": 12, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}),
            json!({"prompt_tokens": 12, "completion_tokens": 4, "prompt_cache_hit_tokens": 8}),
            json!({"prompt_tokens": 12, "completion_tokens": 4, "cached_tokens": 8, "prompt_tokens_details": null}),
        ] {
            let u = read(&cached);
            assert_eq!((u.input, u.cache_read, u.output, u.total()), (Some(4), Some(8), Some(4), Some(16)));
        }
    }

    #[test]
    fn what_is_absent_is_unknown() {
        assert_eq!(read(&json!({})), Usage::default());
        let u = read(&json!({"prompt_tokens": 3, "completion_tokens": null}));
        assert_eq!((u.input, u.output, u.cache_read), (Some(3), None, None));
    }

    #[test]
    fn reasoning_counted_beside_the_completion_is_output_too() {
        let u = read(
            &json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22, "completion_tokens_details": {"reasoning_tokens": 7}}),
        );
        assert_eq!((u.output, u.reasoning), (Some(12), Some(7)));
        let u = read(
            &json!({"prompt_tokens": 10, "completion_tokens": 12, "total_tokens": 22, "completion_tokens_details": {"reasoning_tokens": 7}}),
        );
        assert_eq!(u.output, Some(12));
    }

    #[test]
    fn usage_is_found_in_all_its_places() {
        let u = json!({"prompt_tokens": 1});
        assert!(usage_in(&json!({"x_groq": {"usage": u}, "usage": null}), None).is_some());
        assert!(usage_in(&json!({}), Some(&json!({"usage": u}))).is_some());
        assert!(usage_in(&json!({"usage": []}), None).is_none());
    }
}
