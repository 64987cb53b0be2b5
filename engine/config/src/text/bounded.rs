//! A value of JSON of bounded size: what a part of a large file holds is not known before it is read.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::shortened;

/// Reader of a value that counts down what is left of its budget, in bytes of memory.
#[derive(Clone, Copy)]
pub struct Bounded<'b>(pub &'b Cell<usize>);

/// Cost of a value, about the bytes of memory that it takes, and what an object costs beside: it has room for several entries.
const VALUE: usize = 64;
const OBJECT: usize = 576;

impl Bounded<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left =
            self.0.get().checked_sub(VALUE + bytes).ok_or_else(|| E::custom("a part of it is larger than any"))?;
        self.0.set(left);
        Ok(())
    }

    fn plain<E: Error>(self, value: Value) -> Result<Value, E> {
        self.take(0)?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.plain(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.plain(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.plain(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.plain(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.plain(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len())?;
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.take(OBJECT)?;
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.take(key.len())?;
            // Programs take the first, the last or none of them.
            if values.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {:?} stands twice in an object",
                    shortened(&key, 100)
                )));
            }
            let _ = values.insert(key, map.next_value_seed(self)?);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_up_to_the_budget() {
        let text = r#"{"a": [1, -2, 0.5, null, true, "bcd"]}"#;
        let read =
            |budget: usize| Bounded(&Cell::new(budget)).deserialize(&mut serde_json::Deserializer::from_str(text));
        let needed = 9 * VALUE + OBJECT + 1 + 3;
        assert_eq!(read(needed).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert!(read(needed - 1).unwrap_err().to_string().contains("larger than any"));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_by_its_name() {
        let read = |text: &str| {
            Bounded(&Cell::new(1 << 16))
                .deserialize(&mut serde_json::Deserializer::from_str(text))
                .map_err(|error| error.to_string())
        };
        for text in [r#"{"a": 1, "label": 0, "label": 0}"#, r#"[{"b": {"label": 1, "label": null}}]"#] {
            let why = read(text).unwrap_err();
            assert!(why.contains("the key \"label\" stands twice"), "{why}");
        }
        assert!(read(r#"{"a": {"label": 1}, "b": {"label": 1}}"#).is_ok());
    }
}
