use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Digits in Crockford's order: no i, l, o or u, so that an id can be read aloud, and in the order of their bytes.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 2024-01-01, in unix milliseconds: ids need no digits for the years before Headroom.
const EPOCH_MS: u64 = 1_704_067_200_000;

/// The name of a run that never changes: ten characters, ordered by the time of making.
///
/// Eight digits of milliseconds since 2024 (enough until 2058) and two of chance. Cheap to clone.
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
        Self((0..10).rev().map(digit).collect::<String>().into())
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

impl From<&str> for RunId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for RunId {
    fn from(text: String) -> Self {
        Self(text.into())
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
        String::deserialize(deserializer).map(Self::from)
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
        let id = RunId::from("00000001zz");
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"00000001zz\"");
        assert_eq!(serde_json::from_str::<RunId>("\"00000001zz\"").unwrap(), id);
    }
}
