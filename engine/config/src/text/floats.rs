//! Numbers that may not be finite, in JSON, which has none: `#[serde(with = "text::floats")]` on an `f64` or `f32`, or on
//! vectors and options of them.
//!
//! NaN is written as `null`, the infinities as `"inf"` and `"-inf"`; all come back. An option is written only where it is
//! there (`default, skip_serializing_if = "Option::is_none"`), since its `null` is a NaN.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// For serde.
///
/// # Errors
/// The serializer's own.
pub fn serialize<T: Floats, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.to_plain().serialize(serializer)
}

/// For serde.
///
/// # Errors
/// What is there is no such number.
pub fn deserialize<'de, T: Floats, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Plain::deserialize(deserializer).map(T::from_plain)
}

/// Numbers, and what they are written as.
pub trait Floats {
    /// What is written.
    type Plain: Serialize + for<'de> Deserialize<'de>;

    /// To be written.
    fn to_plain(&self) -> Self::Plain;

    /// As it was before.
    fn from_plain(plain: Self::Plain) -> Self;
}

/// A number as JSON has it.
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            nan if nan.is_nan() => serializer.serialize_none(),
            finite => serializer.serialize_f64(finite),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNumber;

        impl Visitor<'_> for AnyNumber {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, null, \"inf\" or \"-inf\"")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Number, E> {
                Ok(Number(f64::NAN))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Number, E> {
                match value {
                    "inf" => Ok(Number(f64::INFINITY)),
                    "-inf" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(AnyNumber)
    }
}

impl Floats for f64 {
    type Plain = Number;

    fn to_plain(&self) -> Number {
        Number(*self)
    }

    fn from_plain(plain: Number) -> Self {
        plain.0
    }
}

/// A single-precision number, written with as few digits as it takes.
pub struct Single(f32);

impl Serialize for Single {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f32(self.0) } else { Number(self.0.into()).serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Single {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Number::deserialize(deserializer).map(|number| Self(number.0 as f32))
    }
}

impl Floats for f32 {
    type Plain = Single;

    fn to_plain(&self) -> Single {
        Single(*self)
    }

    fn from_plain(plain: Single) -> Self {
        plain.0
    }
}

impl<T: Floats> Floats for Vec<T> {
    type Plain = Vec<T::Plain>;

    fn to_plain(&self) -> Self::Plain {
        self.iter().map(T::to_plain).collect()
    }

    fn from_plain(plain: Self::Plain) -> Self {
        plain.into_iter().map(T::from_plain).collect()
    }
}

/// What is written is there, so that `null` is a NaN.
impl<T: Floats> Floats for Option<T> {
    type Plain = Present<T::Plain>;

    fn to_plain(&self) -> Self::Plain {
        Present(self.as_ref().map(T::to_plain))
    }

    fn from_plain(plain: Self::Plain) -> Self {
        plain.0.map(T::from_plain)
    }
}

/// An option that is always there where it is read.
pub struct Present<P>(Option<P>);

impl<P: Serialize> Serialize for Present<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(plain) => plain.serialize(serializer),
            None => serializer.serialize_none(),
        }
    }
}

impl<'de, P: Deserialize<'de>> Deserialize<'de> for Present<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        P::deserialize(deserializer).map(|plain| Self(Some(plain)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct All {
        #[serde(with = "super")]
        one: f64,
        #[serde(default, with = "super", skip_serializing_if = "Option::is_none")]
        there: Option<f64>,
        #[serde(default, with = "super", skip_serializing_if = "Option::is_none")]
        absent: Option<f64>,
        #[serde(with = "super")]
        rows: Vec<Vec<f32>>,
    }

    #[test]
    fn numbers_that_are_not_finite_come_back() {
        for one in [0.5, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE] {
            let rows = vec![vec![0.1, f32::NAN], vec![], vec![f32::NEG_INFINITY, f32::MAX]];
            let all = All { one, there: Some(one), absent: None, rows };
            let text = serde_json::to_string(&all).unwrap();
            let back: All = serde_json::from_str(&text).unwrap();
            assert_eq!(format!("{back:?}"), format!("{all:?}"), "{text}");
        }
        let text = serde_json::to_string(&All { one: f64::NAN, there: None, absent: None, rows: vec![] }).unwrap();
        assert_eq!(text, r#"{"one":null,"rows":[]}"#);
        assert!(serde_json::from_str::<All>(r#"{"one":"large","rows":[]}"#).is_err());
    }
}
