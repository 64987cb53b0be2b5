//! The version of a file of questions, which may stand behind what it is about.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The version that a file says, wherever it stands; a text alone counts.
pub(super) struct Version(pub(super) String);

impl<'de> DeserializeSeed<'de> for &mut Version {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Version {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the list `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "version" {
                self.0 = map.next_value::<Word>()?.0;
            } else {
                let _ = map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A text; empty where something else stands.
pub(super) struct Word(pub(super) String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Word;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }

            fn visit_str<E>(self, word: &str) -> Result<Word, E> {
                Ok(Word(word.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Word, E> {
                Ok(Word(String::new()))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Word, E> {
                Ok(Word(String::new()))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Word, E> {
                Ok(Word(String::new()))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Word, E> {
                Ok(Word(String::new()))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Word, E> {
                Ok(Word(String::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Word, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Word(String::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Word, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Word(String::new()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
