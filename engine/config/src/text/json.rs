use std::{borrow::Cow, fmt::Write as _};

use serde::Serialize;

use super::is_deceptive;

/// A value as JSON on one line, in which no deceptive character stands raw.
pub fn to_json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|text| escaped_json(&text).into_owned())
}

/// A value as JSON, indented for people, in which no deceptive character stands raw.
pub fn to_json_pretty(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| escaped_json(&text).into_owned())
}

/// JSON whose strings spell out the deceptive characters that `serde_json` leaves as they are (DEL, C1, marks of direction,
/// characters without width), as in `\u202e`. It means the same: outside strings JSON has none of them but line breaks.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let is_raw = |c: char| is_deceptive(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.chars().any(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_raw(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_deceptive_is_raw_and_nothing_is_lost() {
        let all: String = (0..=0xe_0fff).filter_map(char::from_u32).filter(|c| is_deceptive(*c)).collect();
        let value = serde_json::json!({ "name": all, (all.as_str()): [1, "\u{9b}\"\\"] });
        for json in [to_json(&value).unwrap(), to_json_pretty(&value).unwrap()] {
            assert!(!json.chars().any(|c| is_deceptive(c) && c != '\n'), "{json}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
        }
    }
}
