//! Dates and times as ISO 8601 writes them, in UTC (proleptic Gregorian calendar, no leap seconds).

/// Beyond this a date is no date: year 3,000,000 and more.
const MOST_DAYS: f64 = 1e9;

const DAY: f64 = 86_400.0;

/// The date that is `days` after 1970-01-01; `None` for what no calendar has.
pub fn date(days: f64) -> Option<String> {
    (days.abs() < MOST_DAYS).then(|| day_text(days.floor() as i64))
}

/// The time that is `seconds` after 1970-01-01T00:00:00Z, with up to six digits of a second.
pub fn time(seconds: f64) -> Option<String> {
    if seconds.is_nan() || seconds.abs() >= MOST_DAYS * DAY {
        return None;
    }
    let whole = seconds.floor();
    // A double near today resolves a quarter of a microsecond.
    let micros = ((seconds - whole) * 1e6).round() as i64;
    let second = whole as i64 + micros / 1_000_000;
    let (day, second) = (second.div_euclid(86_400), second.rem_euclid(86_400));
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    let fraction = format!(".{:06}", micros % 1_000_000);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    Some(format!("{}T{clock}{fraction}Z", day_text(day)))
}

/// Years of more than four digits have a sign, as the standard asks.
fn day_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        format!("{year:04}-{month:02}-{day:02}")
    } else {
        format!("{year:+07}-{month:02}-{day:02}")
    }
}

/// Year, month and day of a day number. Years begin in March here, so that the leap day comes last; 719,468 days lie
/// between 0000-03-01 and 1970-01-01, and 146,097 are the 400 years after which the calendar repeats.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
