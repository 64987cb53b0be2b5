use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Digits in Crockford's order: no i, l, o or u, so that an id can be read aloud, and in the order of their bytes.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of an id.
const LENGTH: usize = 10;
/// 2024-01-01, in unix milliseconds: ids need no digits for the years before Headroom.
const EPOCH_MS: u64 = 1_704_067_200_000;

/// The name of a run that never changes: ten characters, ordered by the time of making.
///
/// Eight digits of milliseconds since 2024 (enough until 2058) and two of chance. Cheap to clone.
///
/// It names the folder of the run's files. An id from a store, a file or a command line is a text of strangers: it becomes a
/// `RunId` only by parsing, which takes nothing but ten of these digits, so that it is one part of a path and cannot leave the
/// folder that it is joined to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Arc<str>);

impl RunId {
    /// A new id for this moment.
    pub fn new() -> Self {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let chance = RandomState::new().build_hasher().finish() & 0x3ff;
        Self::from_parts(now_ms.saturating_sub(EPOCH_MS), chance)
    }

    /// Several at once, no two alike: ids are made of the moment and of chance, and those of one moment may meet.
    pub fn distinct<const N: usize>() -> [Self; N] {
        let mut known: Vec<Self> = Vec::with_capacity(N);
        std::array::from_fn(|_| {
            let mut id = Self::new();
            while known.contains(&id) {
                id = Self::new();
            }
            known.push(id.clone());
            id
        })
    }

    fn from_parts(since_epoch_ms: u64, chance: u64) -> Self {
        let bits = ((since_epoch_ms & 0xff_ffff_ffff) << 10) | (chance & 0x3ff);
        let digit = |place: u64| char::from(DIGITS[(bits >> (5 * place) & 31) as usize]);
        Self((0..LENGTH as u64).rev().map(digit).collect::<String>().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for RunId {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id: ids have ten characters, digits and small letters without i, l, o and u")]
pub struct NoId(String);

impl NoId {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.chars().take(TOLD).collect())
    }
}

/// So many characters of what is no id are told.
const TOLD: usize = 60;

impl FromStr for RunId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let is_id = text.len() == LENGTH && text.bytes().all(|byte| DIGITS.contains(&byte));
        if is_id { Ok(Self(text.into())) } else { Err(NoId::of(text)) }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ten_characters_and_sort_by_time() {
        let early = RunId::from_parts(1, 1023);
        let late = RunId::from_parts(2, 0);
        assert!(early < late);
        assert_eq!(early.as_str(), "00000001zz");
        assert_eq!(RunId::new().as_str().len(), 10);
    }

    #[test]
    fn ids_are_plain_text_in_json() {
        let id: RunId = "00000001zz".parse().unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"00000001zz\"");
        assert_eq!(serde_json::from_str::<RunId>("\"00000001zz\"").unwrap(), id);
    }

    #[test]
    fn nothing_but_an_id_is_one() {
        for _ in 0..100 {
            let id = RunId::new();
            assert_eq!(id.as_str().parse(), Ok(id));
        }
        for text in [
            "",
            ".",
            "..",
            "/",
            "../../x",
            "/home/me/victim",
            "a",
            "000000000",
            "00000000000",
            "00000/0000",
            "00000\x000",
            "..........",
            "000000000\0",
            "0000000\u{e9}0",
            "000000000I",
            "000000000A",
            "00000000 0",
            "000000000l",
            "C:00000000",
        ] {
            let error = text.parse::<RunId>().unwrap_err().to_string();
            assert!(error.contains("is no id") && !error.contains('\0'), "{error}");
            assert!(serde_json::from_value::<RunId>(text.into()).is_err(), "{text:?}");
        }
    }
}
