/// A number that can be typed into a field.
pub trait Number: Copy + PartialEq {
    /// As it is shown in the field.
    fn show(self) -> String;
    /// As it was typed, or why it is none.
    fn read(text: &str) -> Result<Self, String>;
    /// One step up or down with the arrow keys.
    fn step(self, up: bool) -> Self;
}

/// Without the separators that people type: `1,000`, `1_000`, `1 000`.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ',' | '_' | ' ' | '\u{202f}' | '\u{a0}')).collect()
}

macro_rules! whole {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn show(self) -> String {
                self.to_string()
            }

            fn read(text: &str) -> Result<Self, String> {
                let plain = plain(text);
                if plain.is_empty() {
                    return Err("give a whole number".to_owned());
                }
                plain.parse().map_err(|_| {
                    // 1e6 and the like: whole, but not written so.
                    match plain.parse::<f64>() {
                        Ok(x) if x < 0.0 => format!("{} is below 0", text.trim()),
                        _ => format!("\"{}\" is not a whole number", text.trim()),
                    }
                })
            }

            fn step(self, up: bool) -> Self {
                if up { self.saturating_add(1) } else { self.saturating_sub(1) }
            }
        }
    )*};
}

whole!(u64, usize);

impl Number for f64 {
    fn show(self) -> String {
        let size = self.abs();
        if size != 0.0 && !(1e-3..1e7).contains(&size) { format!("{self:e}") } else { self.to_string() }
    }

    fn read(text: &str) -> Result<Self, String> {
        let plain = plain(text);
        if plain.is_empty() {
            return Err("give a number".to_owned());
        }
        match plain.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(format!("\"{}\" is not a number", text.trim())),
        }
    }

    /// By one unit of the first digit: 0.1 to 0.2, 3e-4 to 4e-4, and 1e-3 down to 9e-4.
    fn step(self, up: bool) -> Self {
        if self == 0.0 {
            return if up { 0.1 } else { 0.0 };
        }
        let exponent = self.abs().log10().floor() as i32;
        let leads_down = !up && (self.abs() / 10f64.powi(exponent) - 1.0).abs() < 1e-9;
        let unit = 10f64.powi(if leads_down { exponent - 1 } else { exponent });
        let next = if up { self + unit } else { self - unit };
        // Through text, so that 0.1 + 0.2 does not become 0.30000000000000004.
        format!("{next:.12e}").parse().unwrap_or(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_what_they_show() {
        for x in [0.0, 0.001, 2e-3, 3e-4, 1e-8, 0.999, 1.0, 150.0, 1e9, -2.5] {
            assert_eq!(f64::read(&x.show()), Ok(x));
        }
        assert_eq!(3e-4.show(), "3e-4");
        assert_eq!(0.002.show(), "0.002");
        assert_eq!(usize::read(" 1,000 "), Ok(1000));
        assert_eq!(u64::read("1_000_000"), Ok(1_000_000));
    }

    #[test]
    fn what_is_no_number_says_so() {
        assert!(usize::read("").unwrap_err().contains("give"));
        assert!(usize::read("four").unwrap_err().contains("\"four\""));
        assert!(usize::read("-1").unwrap_err().contains("below 0"));
        assert!(usize::read("2.5").unwrap_err().contains("not a whole number"));
        assert!(f64::read("1e").is_err() && f64::read("NaN").is_err() && f64::read("inf").is_err());
    }

    #[test]
    fn arrow_keys_step_by_the_first_digit() {
        assert_eq!(3e-4.step(true), 4e-4);
        assert_eq!(1e-3.step(false), 9e-4);
        assert_eq!(0.2.step(true), 0.3);
        assert_eq!(0usize.step(false), 0);
        assert_eq!(4usize.step(true), 5);
    }
}
