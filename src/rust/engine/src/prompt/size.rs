//! Sizes in bytes as people read them.

const KIB: f64 = 1024.0;
const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];

/// The size of an object: `512 B`, `7 KB`, `1.5 MB`, `12 MB`.
pub fn object_size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (scaled, unit) = scale(bytes, 1023.5);
    // Kilobytes are small enough to be told as whole numbers; above that, one decimal while it says something.
    let whole = unit == UNITS[0] || scaled >= 9.95;
    if whole { format!("{scaled:.0} {unit}") } else { format!("{scaled:.1} {unit}") }
}

/// The number in the largest unit that keeps it under `limit`, so that rounding never shows 1024 of a unit.
fn scale(bytes: u64, limit: f64) -> (f64, &'static str) {
    let mut scaled = bytes as f64 / KIB;
    let mut at = 0;
    while scaled >= limit && at + 1 < UNITS.len() {
        scaled /= KIB;
        at += 1;
    }
    (scaled, UNITS.get(at).copied().unwrap_or("TB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_precision_that_says_something() {
        assert_eq!(object_size(7208), "7 KB");
        assert_eq!([object_size(0), object_size(1023), object_size(1024)], ["0 B", "1023 B", "1 KB"]);
        assert_eq!([object_size(1_572_864), object_size(12_582_912)], ["1.5 MB", "12 MB"]);
    }

    #[test]
    fn rounding_moves_up_a_unit() {
        assert_eq!(object_size(1024 * 1024 - 1), "1.0 MB");
        assert_eq!(object_size(u64::MAX), "16777216 TB");
    }
}
