//! Values of any type that serde reads, made by answering what the type asks for.
//!
//! Most types say what they want: a number, one of these variants, these fields. Of tagged enums and flattened fields serde first reads
//! anything and complains afterwards: such a value is mended complaint by complaint until it is taken.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::{
    Deserializer,
    de::{self, DeserializeOwned, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Map, Value, json};

use crate::config::{DataConfig, RunConfig};

/// Attempts to mend a value until it is given up.
const MOST_ATTEMPTS: usize = 5_000;

/// Texts of types that take no others: an id, a name and a commit of a hub, a device, a part of a config, a path in a repository, a
/// number.
const TEXTS: [&str; 8] =
    ["0bkq3m5x2a", "org/name", "0123456789abcdef0123456789abcdef01234567", "cpu", "encoder", "main", "a/b.json", "1.5"];

/// Fault of a value.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// It has no such field.
    Missing(&'static str),
    /// A field is not known.
    Unknown,
    /// It is none of these.
    Variant(&'static [&'static str]),
    /// Anything else.
    Other(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self::Unknown
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::Variant(expected)
    }
}

/// Value that was read last, by its path.
#[derive(Clone, PartialEq)]
enum Last {
    Nothing,
    Text(String),
    Any(String),
}

/// A value of which serde reads anything first, and where it was changed last.
#[derive(Clone, Default)]
struct Mended {
    value: Value,
    /// Places that were filled, newest last, each with the next candidate for it.
    filled: Vec<(String, usize)>,
    /// The variant that was chosen last.
    variant: &'static str,
}

/// Makes values: the same ones for the same seed.
pub(in super::super) struct Maker {
    seed: u64,
    texts: RefCell<BTreeMap<String, usize>>,
    mended: RefCell<BTreeMap<String, Mended>>,
    last: RefCell<Last>,
}

impl Maker {
    pub(in super::super) fn new(seed: u64) -> Self {
        Self { seed, texts: RefCell::default(), mended: RefCell::default(), last: RefCell::new(Last::Nothing) }
    }

    /// A value of a type.
    pub(in super::super) fn make<T: DeserializeOwned>(&mut self) -> T {
        let root = std::any::type_name::<T>();
        for _ in 0..MOST_ATTEMPTS {
            match self.attempt(root) {
                Ok(value) => return value,
                Err(fault) => self.mend::<T>(root, fault),
            }
        }
        panic!("No {root} could be made: {:?}", self.attempt::<T>(root).err());
    }

    fn attempt<T: DeserializeOwned>(&self, root: &str) -> Result<T, Fault> {
        *self.last.borrow_mut() = Last::Nothing;
        T::deserialize(Asked { maker: self, path: root.to_owned() })
    }

    /// A number that is always the same at a place.
    fn number(&self, path: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, path).hash(&mut hasher);
        hasher.finish()
    }

    fn float(&self, path: &str) -> f64 {
        let number = self.number(path);
        match number % 4 {
            0 => f64::from(number as u32) / 8.0,
            1 => -1.0 / (number as f64),
            _ => Some(f64::from_bits(number)).filter(|number| number.is_finite()).unwrap_or(5e-324),
        }
    }

    fn text(&self, path: &str) -> String {
        match self.texts.borrow().get(path) {
            Some(&known) => TEXTS[known % TEXTS.len()].to_owned(),
            None => {
                ["", "a \"b\"\\\n\u{7}\u{2028} ä", "x", "\u{1f980} / ..\0"][self.number(path) as usize % 4].to_owned()
            }
        }
    }

    fn mend<T: DeserializeOwned>(&mut self, root: &str, fault: Fault) {
        let last = self.last.borrow().clone();
        match last {
            Last::Text(path) => {
                let next = self.texts.get_mut().get(&path).map_or(0, |known| known + 1);
                assert!(next < TEXTS.len(), "no text fits at {path}: {fault}");
                self.texts.get_mut().insert(path, next);
            }
            Last::Any(path) => {
                let before = self.mended.borrow().get(&path).cloned().unwrap_or_default();
                let after = match fault {
                    Fault::Missing(field) => self.with_field::<T>(root, (&path, before), field),
                    Fault::Variant(expected) => {
                        let variant = expected[self.number(&path) as usize % expected.len()];
                        Mended { variant, ..before.with_newest(variant.into()) }
                    }
                    Fault::Unknown => panic!("{path}: a field of {} is not known", before.value),
                    Fault::Other(why) => before.with_next_candidate(self, &format!("{path}: {why}")),
                };
                self.mended.get_mut().insert(path, after);
            }
            Last::Nothing => panic!("no {root} can be made: {fault}"),
        }
    }

    /// The value with one field more, in the object that misses it: the newest of which the complaint goes away.
    fn with_field<T: DeserializeOwned>(
        &mut self,
        root: &str,
        (path, before): (&str, Mended),
        field: &'static str,
    ) -> Mended {
        let mut objects: Vec<String> = before.filled.iter().map(|(place, _)| place.clone()).collect();
        objects.insert(0, String::new());
        for object in objects.iter().rev() {
            let mut after = before.clone();
            let Some(Value::Object(fields)) = after.value.pointer_mut(object) else { continue };
            if fields.insert(field.to_owned(), Value::Null).is_some() {
                continue;
            }
            after.filled.push((format!("{object}/{field}"), 0));
            self.mended.get_mut().insert(path.to_owned(), after.clone());
            // Where it does not belong, it is still missing, not known, or no variant.
            match self.attempt::<T>(root).err() {
                Some(Fault::Missing(still)) if still == field => {}
                Some(Fault::Unknown | Fault::Variant(_)) => {}
                _ => return after,
            }
        }
        panic!("no object of {} takes a field {field}", before.value)
    }
}

impl Mended {
    fn newest(&self) -> Option<&Value> {
        self.value.pointer(self.filled.last().map_or("", |(place, _)| place))
    }

    fn with_newest(mut self, value: Value) -> Self {
        let place = self.filled.last().map_or("", |(place, _)| place);
        if let Some(newest) = self.value.pointer_mut(place) {
            *newest = value;
        }
        self
    }

    /// The value with something else at the place that was filled last.
    fn with_next_candidate(mut self, maker: &Maker, why: &str) -> Self {
        if self.filled.is_empty() {
            self.filled.push((String::new(), 0));
        }
        if self.newest().is_some_and(|newest| newest == self.variant) {
            // It holds something.
            let place = self.filled.last().map_or("", |(place, _)| place);
            let inside = (format!("{place}/{}", self.variant), 0);
            let mut after = self.clone().with_newest(json!({ self.variant: null }));
            after.filled.push(inside);
            return after;
        }
        let (place, next) = self.filled.last_mut().expect("one was pushed");
        let number = maker.number(place) as u32;
        let mut candidates = vec![json!({}), json!(number), json!(0.5), json!(number.is_multiple_of(2)), json!([])];
        candidates.extend(TEXTS.map(Value::from));
        candidates.extend([json!([number]), json!([number, 1]), json!([["x"]]), json!([{}])]);
        let candidate =
            candidates.get(*next).unwrap_or_else(|| panic!("nothing fits at {place} of {}: {why}", self.value));
        *next += 1;
        self.with_newest(candidate.clone())
    }
}

/// Request of a type at a place.
struct Asked<'a> {
    maker: &'a Maker,
    path: String,
}

impl Asked<'_> {
    fn below(&self, name: impl fmt::Display) -> Self {
        Self { maker: self.maker, path: format!("{}/{name}", self.path) }
    }

    fn number(&self) -> u64 {
        self.maker.number(&self.path)
    }

    /// As many of a list as there are.
    fn count(&self) -> usize {
        self.number() as usize % 3
    }

    fn mended<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let value = self.maker.mended.borrow_mut().entry(self.path.clone()).or_default().value.clone();
        *self.maker.last.borrow_mut() = Last::Any(self.path);
        Any(value).deserialize_any(visitor)
    }
}

/// Expectation of a visitor, in words.
fn expected<'de>(visitor: &impl Visitor<'de>) -> String {
    struct Words<'a, V>(&'a V);
    impl<'de, V: Visitor<'de>> fmt::Display for Words<'_, V> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.expecting(f)
        }
    }
    Words(visitor).to_string()
}

macro_rules! whole {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            // Few bits or many: the last ones of long numbers are the first to be lost.
            let number = self.number();
            visitor.$visit((number >> (number % 60)) as $type)
        }
    )*};
}

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Fault;

    whole!(
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64
    );

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // Numbers that may not be finite.
        if expected(&visitor).starts_with("a number, null") {
            let others = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            let number = self.number() as usize % 6;
            return visitor.visit_f64(others.get(number).copied().unwrap_or_else(|| self.maker.float(&self.path)));
        }
        self.mended(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bool(self.number().is_multiple_of(2))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f32(f32::from(self.number() as u16) / 256.0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f64(self.maker.float(&self.path))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_char('ä')
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let text = self.maker.text(&self.path);
        *self.maker.last.borrow_mut() = Last::Text(self.path);
        visitor.visit_string(text)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_string(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_byte_buf(self.number().to_le_bytes().to_vec())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.number().is_multiple_of(3) { visitor.visit_none() } else { visitor.visit_some(self.below("some")) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // Heads borrow from heads of earlier layers.
        if self.path.ends_with("plan") {
            let (compute, skip) = (json!({ "kind": "compute" }), json!({ "kind": "skip" }));
            let borrow = json!({ "kind": "borrow", "from": { "layer": 0, "head": 1 } });
            return Any(json!([[skip, compute], [borrow, compute]])).deserialize_any(visitor);
        }
        let count = self.count();
        visitor.visit_seq(Items { of: self, done: 0, count })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(Items { of: self, done: 0, count })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(count, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // A struct with flattened fields does not say which.
        if expected(&visitor).starts_with("struct ") {
            return self.mended(visitor);
        }
        // A table of TOML is the part of a config that says which data; its fields depend on each other.
        if std::any::type_name::<V::Value>() == std::any::type_name::<toml::Table>() {
            return Any(serde_json::to_value(DataConfig::default()).unwrap()).deserialize_any(visitor);
        }
        let count = self.count();
        visitor.visit_map(Items { of: self, done: 0, count })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        // Its fields depend on each other.
        if name == "RunConfig" {
            return Any(serde_json::to_value(RunConfig::default()).unwrap()).deserialize_any(visitor);
        }
        visitor.visit_map(Fields { of: self, names: fields.iter(), current: Cell::new("") })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let variant = variants[self.number() as usize % variants.len()];
        visitor.visit_enum(Chosen { of: self, variant })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }
}

/// Items of a list or of a map.
struct Items<'a> {
    of: Asked<'a>,
    done: usize,
    count: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.done += 1;
        (self.done <= self.count).then(|| seed.deserialize(self.of.below(self.done))).transpose()
    }
}

impl<'de> MapAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.done += 1;
        let key = self.of.below(format_args!("key {}", self.done));
        (self.done <= self.count).then(|| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.of.below(self.done))
    }
}

/// All fields of a struct.
struct Fields<'a> {
    of: Asked<'a>,
    names: std::slice::Iter<'static, &'static str>,
    current: Cell<&'static str>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.current.set(name);
        seed.deserialize(Any(Value::from(*name))).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.of.below(self.current.get()))
    }
}

/// A variant of an enum, with what it holds.
struct Chosen<'a> {
    of: Asked<'a>,
    variant: &'static str,
}

impl<'de, 'a> EnumAccess<'de> for Chosen<'a> {
    type Error = Fault;
    type Variant = Asked<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Asked<'a>), Fault> {
        let inside = self.of.below(self.variant);
        Ok((seed.deserialize(Any(Value::from(self.variant)))?, inside))
    }
}

impl<'de> VariantAccess<'de> for Asked<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_tuple(count, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_struct("", fields, visitor)
    }
}

/// A value that is there already, whatever is asked for.
struct Any(Value);

impl<'de> Deserializer<'de> for Any {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(de::value::SeqDeserializer::new(items.into_iter().map(Any))),
            Value::Object(fields) => visitor.visit_map(of_map(fields)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Object(fields) => visitor.visit_enum(de::value::MapAccessDeserializer::new(of_map(fields))),
            Value::String(variant) => visitor.visit_enum(de::value::StringDeserializer::new(variant)),
            _ => Err(Fault::Other("no variant".to_owned())),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

fn of_map<'de>(fields: Map<String, Value>) -> impl MapAccess<'de, Error = Fault> {
    de::value::MapDeserializer::new(fields.into_iter().map(|(name, value)| (name, Any(value))))
}

impl de::IntoDeserializer<'_, Fault> for Any {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
