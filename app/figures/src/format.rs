//! Numbers for people: thousands separated, units always, a true minus sign. Names that are longer than their place.

mod elide;

pub use elide::{Names, brief};

/// The first letters of a text, `letters` at most, with a sign where there are more.
pub fn shortened(text: &str, letters: usize) -> String {
    let mut all = text.chars();
    let short: String = all.by_ref().take(letters).collect();
    if all.next().is_some() { short + "…" } else { short }
}

/// The sign of negative numbers in the window (U+2212). Machine formats (CSV, LaTeX, JSON) never use it.
pub const MINUS: char = '\u{2212}';

const SI: [(f64, &str); 6] = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];

fn special(x: f64) -> Option<String> {
    if x.is_nan() {
        Some("NaN".to_owned())
    } else if x.is_infinite() {
        Some(if x > 0.0 { "∞".to_owned() } else { format!("{MINUS}∞") })
    } else {
        None
    }
}

/// `digits` with a comma between groups of three before the point, and a true minus.
fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 3);
    if sign == "-" && digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push(MINUS);
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A whole number: `1,234,567`.
pub fn integer(n: i64) -> String {
    group(&n.to_string())
}

/// A count: `1,234,567`.
pub fn count(n: u64) -> String {
    headroom_config::config::grouped(n)
}

/// With exactly this many decimals: `1,234.50`.
pub fn fixed(x: f64, decimals: usize) -> String {
    special(x).unwrap_or_else(|| group(&format!("{x:.decimals$}")))
}

/// A measured value with `digits` significant digits, trailing zeros kept, so that columns of them line up:
/// `6.914`, `0.01230`, `1,234`, `1.230e−7`.
pub fn significant(x: f64, digits: usize) -> String {
    if let Some(text) = special(x) {
        return text;
    }
    if x == 0.0 {
        return "0".to_owned();
    }
    let digits = digits.max(1);
    let rounded = format!("{x:.*e}", digits - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or_default();
    if (-4..9).contains(&exponent) {
        let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
        group(&format!("{x:.decimals$}"))
    } else {
        rounded.replace('-', &MINUS.to_string())
    }
}

/// A measured value with four significant digits: the default for losses and the like.
pub fn number(x: f64) -> String {
    significant(x, 4)
}

/// With an SI prefix and two or three digits, unit appended: `si(1.24e6, "")` is `1.24 M`, `si(3.4e9, "FLOP")` is
/// `3.40 GFLOP`, `si(950.0, "tokens")` is `950 tokens`, `si(1.2e4, "tokens")` is `12.0 k tokens`.
pub fn si(x: f64, unit: &str) -> String {
    if let Some(text) = special(x) {
        return join(&text, "", unit);
    }
    for (i, (scale, prefix)) in SI.iter().enumerate().rev() {
        // 999.6 k must become 1.00 M, so compare what will be printed.
        let next = i.checked_sub(1).and_then(|up| SI.get(up));
        let reaches_next = next.is_some() && x.abs() / scale >= 999.5;
        if x.abs() >= scale * 0.9995 && !reaches_next {
            return join(&three(x / scale), prefix, unit);
        }
    }
    if x.abs() >= 999.5 {
        return join(&significant(x, 3), "", unit);
    }
    let text = if x.fract() == 0.0 { group(&format!("{x:.0}")) } else { significant(x, 3) };
    join(&text, "", unit)
}

fn three(x: f64) -> String {
    let decimals = match x.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        _ => 2,
    };
    group(&format!("{x:.decimals$}"))
}

/// Symbols (`FLOP`, `B`, `Hz`) take the prefix directly, words get a space.
fn join(number: &str, prefix: &str, unit: &str) -> String {
    let word = unit.chars().next().is_some_and(char::is_lowercase);
    match (prefix.is_empty(), unit.is_empty()) {
        (true, true) => number.to_owned(),
        (false, true) => format!("{number} {prefix}"),
        (true, false) => format!("{number} {unit}"),
        (false, false) if word => format!("{number} {prefix} {unit}"),
        (false, false) => format!("{number} {prefix}{unit}"),
    }
}

/// Parameters: `1.24 M params`.
pub fn parameters(n: u64) -> String {
    si(n as f64, "params")
}

/// Floating point operations: `3.40 GFLOP`.
pub fn flops(x: f64) -> String {
    si(x, "FLOP")
}

/// Bytes with binary prefixes: `512 B`, `1.5 MiB`, `12.0 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A duration: `0.42 s`, `8.3 s`, `2:10` (minutes and seconds), `1 h 03 min`, `2 d 04 h`. Negative ones get a minus.
pub fn duration(secs: f64) -> String {
    if let Some(text) = special(secs) {
        return text;
    }
    if secs < 0.0 {
        return format!("{MINUS}{}", duration(-secs));
    }
    if secs == 0.0 {
        return "0 s".to_owned();
    }
    if secs < 0.0995 {
        return if secs < 0.000_999_5 {
            format!("{} µs", significant(secs * 1e6, 2))
        } else {
            format!("{} ms", significant(secs * 1e3, 2))
        };
    }
    if secs < 0.995 {
        return format!("{secs:.2} s");
    }
    if secs < 9.95 {
        return format!("{secs:.1} s");
    }
    let whole = secs.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{}:{:02}", whole / 60, whole % 60),
        3600..86_400 => {
            let minutes = (secs / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
        _ => {
            let hours = (secs / 3600.0).round() as u64;
            format!("{} d {:02} h", hours / 24, hours % 24)
        }
    }
}

/// A speed: `rate(12_300.0, "tokens")` is `12.3 k tokens/s`.
pub fn rate(per_sec: f64, unit: &str) -> String {
    format!("{}/s", si(per_sec, unit))
}

/// A fraction as percent: `0.41` is `41 %`, `0.0312` is `3.1 %`, `1.0` is `100 %`.
pub fn percent(fraction: f64) -> String {
    let x = fraction * 100.0;
    if let Some(text) = special(x) {
        return format!("{text} %");
    }
    let decimals = match x.abs() {
        0.0 => 0,
        a if a < 0.095 => 2,
        a if a < 9.95 => 1,
        _ => 0,
    };
    format!("{} %", fixed(x, decimals))
}

/// A mean and its spread: the spread with two digits, the mean as exactly: `5.9320 ± 0.0081`, `90.7 ± 8.1`.
pub fn mean_and_spread(mean: f64, spread: f64) -> String {
    if spread == 0.0 {
        return format!("{} ± 0", number(mean));
    }
    let decimals = 1.0 - spread.abs().log10().floor();
    if !(-1.0..=MOST_DECIMALS).contains(&decimals) {
        // More digits would be written than anybody reads, or there is no spread that could be written.
        return format!("{} ± {}", number(mean), significant(spread, 2));
    }
    let decimals = decimals.max(0.0) as usize;
    format!("{} ± {}", fixed(mean, decimals), fixed(spread, decimals))
}

/// Decimals of a mean at most.
const MOST_DECIMALS: f64 = 6.0;

/// A measured share as percent, to three digits: `0.9312` is `93.1 %`, `0.0312` is `3.1 %`, `1.0` is `100 %`.
pub fn share(fraction: f64) -> String {
    let x = fraction * 100.0;
    if (9.95..99.95).contains(&x.abs()) { format!("{} %", fixed(x, 1)) } else { percent(fraction) }
}

/// A difference with its sign: `+0.01300`, `−0.5000`, `±0`.
pub fn delta(x: f64) -> String {
    if x == 0.0 {
        "±0".to_owned()
    } else if x > 0.0 {
        format!("+{}", number(x))
    } else {
        number(x)
    }
}

/// A relative difference with its sign: `0.05` is `+5.0 %`.
pub fn delta_percent(fraction: f64) -> String {
    if fraction == 0.0 {
        "±0 %".to_owned()
    } else if fraction > 0.0 {
        format!("+{}", percent(fraction))
    } else {
        percent(fraction)
    }
}

/// The calendar date and time of a Unix time in UTC: (year, month, day, hour, minute, second).
///
/// Days to date after Howard Hinnant, "chrono-compatible low-level date algorithms".
pub fn civil(unix_secs: f64) -> (i64, u32, u32, u32, u32, u32) {
    let secs = if unix_secs.is_finite() { unix_secs.floor() as i64 } else { 0 };
    let (days, rest) = (secs.div_euclid(86_400), secs.rem_euclid(86_400) as u32);
    let z = days.saturating_add(719_468);
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = (if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 }) as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day, rest / 3600, rest / 60 % 60, rest % 60)
}

/// A Unix time as `2025-03-09 14:05:09` in UTC.
pub fn date_time(unix_secs: f64) -> String {
    let (year, month, day, hour, minute, second) = civil(unix_secs);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The words as a sentence begins.
pub fn with_capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(integer(0), "0");
        assert_eq!(integer(999), "999");
        assert_eq!(integer(-1_234_567), "−1,234,567");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(fixed(1234.5, 2), "1,234.50");
        assert_eq!(fixed(-0.0001, 2), "0.00");
    }

    #[test]
    fn values_have_significant_digits() {
        assert_eq!(number(6.9144), "6.914");
        assert_eq!(number(0.0123), "0.01230");
        assert_eq!(number(123_456.7), "123,457");
        assert_eq!(number(9.99996), "10.00");
        assert_eq!(number(1.23e-7), "1.230e−7");
        assert_eq!(number(-4e12), "−4.000e12");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(f64::NEG_INFINITY), "−∞");
        assert_eq!(significant(3e-4, 1), "0.0003");
    }

    #[test]
    fn si_prefixes() {
        assert_eq!(si(1.24e6, ""), "1.24 M");
        assert_eq!(parameters(124_439_808), "124 M params");
        assert_eq!(flops(3.4e9), "3.40 GFLOP");
        assert_eq!(si(950.0, "tokens"), "950 tokens");
        assert_eq!(si(999.7, "tokens"), "1.00 k tokens");
        assert_eq!(si(999_600.0, ""), "1.00 M");
        assert_eq!(si(999_400.0, ""), "999 k");
        assert_eq!(si(-12_000.0, ""), "−12.0 k");
        assert_eq!(si(0.5, "tokens"), "0.500 tokens");
        assert_eq!(si(0.0, "FLOP"), "0 FLOP");
        assert_eq!(rate(12_300.0, "tokens"), "12.3 k tokens/s");
    }

    #[test]
    fn bytes_are_binary() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(1_572_864), "1.5 MiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(bytes(200 << 30), "200 GiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn durations_read_like_a_clock() {
        for (secs, text) in [
            (0.0, "0 s"),
            (0.000_012, "12 µs"),
            (0.0123, "12 ms"),
            (0.42, "0.42 s"),
            (8.34, "8.3 s"),
            (59.4, "59 s"),
            (59.6, "1:00"),
            (130.0, "2:10"),
            (3599.7, "1 h 00 min"),
            (3780.0, "1 h 03 min"),
            (86_399.0, "24 h 00 min"),
            (187_200.0, "2 d 04 h"),
            (-130.0, "−2:10"),
        ] {
            assert_eq!(duration(secs), text);
        }
        assert_eq!(duration(f64::INFINITY), "∞");
    }

    #[test]
    fn percent_and_deltas() {
        assert_eq!(percent(0.41), "41 %");
        assert_eq!(percent(0.0312), "3.1 %");
        assert_eq!(percent(0.0004), "0.04 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(delta(0.013), "+0.01300");
        assert_eq!(delta(-0.5), "−0.5000");
        assert_eq!(delta(0.0), "±0");
        let spread = |mean, spread| mean_and_spread(mean, spread);
        assert_eq!(spread(5.932, 0.008_123), "5.9320 ± 0.0081");
        assert_eq!((spread(90.71, 8.13), spread(1234.5, 210.0)), ("90.7 ± 8.1".to_owned(), "1,234 ± 210".to_owned()));
        assert_eq!((spread(60.0, 0.0), spread(2.5, 1e-9)), ("60.00 ± 0".to_owned(), "2.500 ± 1.0e−9".to_owned()));
        assert_eq!(spread(2.5, f64::NAN), "2.500 ± NaN");
        assert_eq!([0.9312, 0.0312, 1.0, 0.5].map(share), ["93.1 %", "3.1 %", "100 %", "50.0 %"]);
        assert_eq!(delta(f64::NAN), "NaN");
        assert_eq!(delta_percent(0.05), "+5.0 %");
        assert_eq!(delta_percent(-0.25), "−25 %");
    }

    #[test]
    fn dates() {
        assert_eq!(date_time(0.0), "1970-01-01 00:00:00");
        assert_eq!(date_time(951_782_400.0), "2000-02-29 00:00:00");
        assert_eq!(date_time(1_741_529_109.9), "2025-03-09 14:05:09");
        assert_eq!(date_time(-1.0), "1969-12-31 23:59:59");
    }
}
