//! Numbers as people read them.

/// With a comma every three digits.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Some five significant digits, without noise behind them.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "infinite" } else { "-infinite" }.to_owned();
    }
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.3e}")
    } else if size >= 1000.0 {
        format!("{value:.1}")
    } else {
        let decimals = 4_i32.saturating_sub(size.log10().floor() as i32).clamp(0, 7) as usize;
        format!("{value:.decimals$}")
    }
}

/// A number or a dash.
pub fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), number)
}

/// Seconds in the two largest units that fit.
pub fn duration(secs: f64) -> String {
    if !secs.is_finite() || secs < 0.0 {
        return "-".to_owned();
    }
    if secs < 10.0 {
        return format!("{secs:.1} s");
    }
    let whole = secs.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {:02} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// Bytes in the unit that fits, 1 KiB = 1,024 bytes.
pub fn bytes(value: u64) -> String {
    let mut scaled = value as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1024.0 {
            return if unit == "B" { format!("{value} B") } else { format!("{scaled:.1} {unit}") };
        }
        scaled /= 1024.0;
    }
    format!("{scaled:.1} PiB")
}

/// A large count with its metric prefix, as in `1.50 GFLOP`.
pub fn metric(value: f64, unit: &str) -> String {
    let mut scaled = value;
    for prefix in ["", "k", "M", "G", "T", "P"] {
        if scaled < 1000.0 {
            return if prefix.is_empty() {
                format!("{scaled:.0} {unit}")
            } else {
                format!("{scaled:.2} {prefix}{unit}")
            };
        }
        scaled /= 1000.0;
    }
    format!("{scaled:.2} E{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn numbers_keep_five_digits() {
        assert_eq!(
            [0.0, 2.345_678, 0.012_345_67, 123.456_78, 12_345.6, 1e-7, -2.5].map(number),
            ["0", "2.3457", "0.012346", "123.46", "12345.6", "1.000e-7", "-2.5000"]
        );
        assert_eq!(number(f64::NAN), "NaN");
    }

    #[test]
    fn durations_and_sizes_use_the_unit_that_fits() {
        assert_eq!(
            [0.25, 59.4, 61.0, 3600.0, 90_000.0, f64::NAN].map(duration),
            ["0.2 s", "59 s", "1 min 01 s", "1 h 00 min", "1 d 01 h", "-"]
        );
        assert_eq!([0, 1023, 1024, 5 << 30].map(bytes), ["0 B", "1023 B", "1.0 KiB", "5.0 GiB"]);
        assert_eq!(metric(1.5e9, "FLOP"), "1.50 GFLOP");
    }
}
