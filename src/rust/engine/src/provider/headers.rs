//! What response headers say. Names are lower case.

/// The value of a header; the names in `headers` are lower case.
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

/// The host's id of the request.
pub fn request_id(headers: &[(String, String)]) -> Option<String> {
    ["request-id", "x-request-id"].iter().find_map(|n| header(headers, n)).map(str::to_owned)
}

/// The wait that the host asks for, in seconds: `retry-after-ms`, or `retry-after` as seconds or date. Negative or
/// past is 0, what can't be read is `None`.
pub fn retry_after(headers: &[(String, String)], now: f64) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let millis = header(headers, "retry-after-ms").and_then(number).map(|ms| ms / 1000.0);
    let wait = millis.or_else(|| {
        let text = header(headers, "retry-after")?;
        number(text).or_else(|| imf_date(text.trim()).map(|at| at - now))
    })?;
    Some(wait.max(0.0))
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Unix time of an IMF-fixdate (RFC 9110, section 5.6.7): `Wed, 01 Jan 2020 00:00:00 GMT`.
fn imf_date(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once(", ")?;
    let parts: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, clock, "GMT"] = parts.as_slice() else { return None };
    let month = MONTHS.iter().position(|m| m == month)? as i64 + 1;
    let (day, year) = (day.parse::<i64>().ok()?, year.parse::<i64>().ok()?);
    let clock: Vec<i64> = clock.split(':').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    let [hour, minute, second] = clock.as_slice() else { return None };
    let sane =
        (1..=31).contains(&day) && (1970..10_000).contains(&year) && (0..24).contains(hour) && (0..60).contains(minute);
    if !sane || !(0..=60).contains(second) {
        return None;
    }
    Some((days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second) as f64)
}

/// Days of a date of the Gregorian calendar, counted from March so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = y / 4 - y / 100 + y / 400;
    y * 365 + leap_days + (m * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn headers(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn b23_retry_after_in_all_its_forms() {
        let at = 1_577_836_800.0;
        let date = "Wed, 01 Jan 2020 00:00:00 GMT";
        assert_eq!(retry_after(&headers("retry-after", date), at + 5.0), Some(0.0));
        assert_eq!(retry_after(&headers("retry-after", date), at - 5.0), Some(5.0));
        assert_eq!(retry_after(&headers("retry-after", "Thu, 29 Feb 2024 12:30:45 GMT"), 1_709_209_845.0), Some(0.0));
        assert_eq!(retry_after(&headers("retry-after", "-5"), at), Some(0.0));
        assert_eq!(retry_after(&headers("retry-after", "soon"), at), None);
        assert_eq!(retry_after(&headers("retry-after", "1.5"), at), Some(1.5));
        assert_eq!(retry_after(&headers("retry-after-ms", "250"), at), Some(0.25));
        assert_eq!(retry_after(&headers("retry-after", "NaN"), at), None);
        assert_eq!(retry_after(&headers("retry-after", "Mi, 99 Jan 2020 00:00:00 GMT"), at), None);
    }
}
