//! `Content-Range`: which bytes of a file an answer holds.

use std::str::FromStr;

/// `bytes FIRST-LAST/TOTAL`, with `*` for a total that the server does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentRange {
    first: u64,
    last: u64,
    total: Option<u64>,
}

impl ContentRange {
    /// Bytes of the whole file, where it is said.
    pub(super) fn total(self) -> Option<u64> {
        self.total
    }

    /// The place after the last byte.
    fn end(self) -> u64 {
        self.last.saturating_add(1)
    }

    /// Returns true if this follows the first `from` bytes of a file of `size` bytes, in an answer of `length` bytes.
    pub(super) fn follows(self, from: u64, size: Option<u64>, length: Option<u64>) -> bool {
        let size = size.or(self.total);
        self.first == from
            && self.last >= self.first
            && size.is_none_or(|size| self.last < size)
            && self.total.is_none_or(|total| size == Some(total))
            && length.is_none_or(|length| length == self.end() - self.first)
    }
}

impl FromStr for ContentRange {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (range, total) = text.trim().strip_prefix("bytes ").and_then(|rest| rest.split_once('/')).ok_or(())?;
        let (first, last) = range.split_once('-').ok_or(())?;
        // Digits alone: numbers elsewhere may have a sign.
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { text.parse::<u64>().map_err(drop) } else { Err(()) }
        };
        let total = if total.trim() == "*" { None } else { Some(number(total.trim())?) };
        Ok(Self { first: number(first.trim())?, last: number(last.trim())?, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_follows() {
        let follows = |text: &str, length: Option<u64>| {
            text.parse::<ContentRange>().is_ok_and(|range| range.follows(100, Some(1000), length))
        };
        assert!(follows("bytes 100-999/1000", Some(900)));
        assert!(follows("bytes 100-999/*", None));
        assert!(follows(" bytes 100-499/1000 ", Some(400)), "a part of it, and the rest is asked for");
        for wrong in [
            "bytes 0-999/1000",
            "bytes 99-999/1000",
            "bytes 101-999/1000",
            "bytes 100-1000/1001",
            "bytes 100-999/2000",
            "bytes 100-999/999",
            "bytes 100-1000/*",
            "bytes 100-99/1000",
            "bytes 100-18446744073709551615/*",
            "bytes 100-999",
            "bytes +100-999/1000",
            "bytes */1000",
            "bits 100-999/1000",
            "",
        ] {
            assert!(!follows(wrong, None), "{wrong}");
        }
        assert!(!follows("bytes 100-999/1000", Some(1000)), "the answer is longer than it says");
        let unknown: ContentRange = "bytes 5-9/20".parse().unwrap();
        assert!(unknown.follows(5, None, None));
        assert_eq!((unknown.total(), unknown.end()), (Some(20), 10));
    }
}
