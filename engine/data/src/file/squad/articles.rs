//! A file of questions, taken in object by object as the parser comes to them: no list of it is ever in memory.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize as _, Deserializer};

use super::version::Word;
use super::{Asked, Reader};
use crate::SquadPlace;
use crate::text::shortened;

/// Keys of a file that are kept to be told where there are no articles.
const MOST_KEYS: usize = 1 << 10;

/// Takes in a whole file.
pub(super) struct Root<'r, 'a>(pub(super) &'r mut Reader<'a>);

impl<'de> DeserializeSeed<'de> for Root<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Root<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the list `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "data" => {
                    let read =
                        map.next_value_seed(List { expected: "a list of articles", take: Articles(&mut *self.0) })?;
                    self.0.has_data |= read.is_some();
                }
                "version" => {
                    let version = map.next_value::<Word>()?.0;
                    if self.0.articles == 0 {
                        self.0.take_version(&version);
                    }
                }
                _ => {
                    let _ = map.next_value::<IgnoredAny>()?;
                    if self.0.others.len() < MOST_KEYS {
                        self.0.others.insert(shortened(&key, 100));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Takes in one object of a list.
trait TakeObject {
    /// The object with this number, from 1.
    fn object<'de, A: MapAccess<'de>>(&mut self, number: usize, map: A) -> Result<(), A::Error>;
}

/// A list of objects, each taken in before the next is read; none where it is null.
struct List<T> {
    expected: &'static str,
    take: T,
}

impl<'de, T: TakeObject> DeserializeSeed<'de> for List<T> {
    type Value = Option<()>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<()>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: TakeObject> Visitor<'de> for List<T> {
    type Value = Option<()>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_unit<E>(self) -> Result<Option<()>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Option<()>, A::Error> {
        let mut number = 1;
        while list.next_element_seed(Object { number, take: &mut self.take })?.is_some() {
            number += 1;
        }
        Ok(Some(()))
    }
}

/// One object of a list.
struct Object<'t, T> {
    number: usize,
    take: &'t mut T,
}

impl<'de, T: TakeObject> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: TakeObject> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.take.object(self.number, map)
    }
}

/// Takes in articles.
struct Articles<'r, 'a>(&'r mut Reader<'a>);

impl TakeObject for Articles<'_, '_> {
    fn object<'de, A: MapAccess<'de>>(&mut self, number: usize, mut map: A) -> Result<(), A::Error> {
        let mut place = SquadPlace { article: number.to_string(), ..SquadPlace::default() };
        let mut has_paragraphs = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "title" => {
                    let title = map.next_value::<Option<String>>()?.filter(|title| !title.trim().is_empty());
                    if let Some(title) = title {
                        place.article = format!("\"{}\"", shortened(&title, 200));
                    }
                }
                "paragraphs" if has_paragraphs => return Err(serde::de::Error::duplicate_field("paragraphs")),
                "paragraphs" => {
                    let take = Paragraphs { reader: &mut *self.0, place: place.clone() };
                    has_paragraphs |= map.next_value_seed(List { expected: "a list of paragraphs", take })?.is_some();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if !has_paragraphs {
            let why = self.0.missing(&place, "paragraphs");
            return Err(self.0.refuse(why));
        }
        self.0.articles += 1;
        self.0.has_data = true;
        if self.0.articles >= self.0.most_articles {
            return Err(serde::de::Error::custom("enough"));
        }
        Ok(())
    }
}

/// Takes in the paragraphs of an article.
struct Paragraphs<'r, 'a> {
    reader: &'r mut Reader<'a>,
    place: SquadPlace,
}

impl TakeObject for Paragraphs<'_, '_> {
    fn object<'de, A: MapAccess<'de>>(&mut self, number: usize, mut map: A) -> Result<(), A::Error> {
        self.place.paragraph = number;
        self.place.question.clear();
        let (mut text, mut asked) = (None, None);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "context" if text.is_some() => return Err(serde::de::Error::duplicate_field("context")),
                "qas" if asked.is_some() => return Err(serde::de::Error::duplicate_field("qas")),
                "context" => text = map.next_value::<Option<String>>()?,
                "qas" => {
                    let mut all = Vec::new();
                    let take = AskedOnes { reader: &mut *self.reader, place: &mut self.place, all: &mut all };
                    let read = map.next_value_seed(List { expected: "a list of questions", take })?;
                    asked = read.map(|()| all);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        self.place.question.clear();
        let text = text.filter(|text| !text.trim().is_empty()).ok_or("context");
        let read = match (text, asked.ok_or("qas")) {
            (Err(field), _) | (_, Err(field)) => Err(self.reader.missing(&self.place, field)),
            (Ok(text), Ok(asked)) => self.reader.paragraph(&mut self.place, text, asked),
        };
        read.map_err(|why| self.reader.refuse(why))
    }
}

/// Keeps the questions of a paragraph, whose text may come after them. One without a name or a text ends reading at once.
struct AskedOnes<'r, 'a> {
    reader: &'r mut Reader<'a>,
    place: &'r mut SquadPlace,
    all: &'r mut Vec<Asked>,
}

impl TakeObject for AskedOnes<'_, '_> {
    fn object<'de, A: MapAccess<'de>>(&mut self, number: usize, map: A) -> Result<(), A::Error> {
        let asked = Asked::deserialize(MapAccessDeserializer::new(map))?;
        let is_there = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        let lacks = match (is_there(&asked.id.0), is_there(&asked.question)) {
            (false, _) => Some("id"),
            (true, false) => Some("question"),
            (true, true) => None,
        };
        if let Some(field) = lacks {
            self.place.question = asked.id.0.unwrap_or_else(|| number.to_string());
            let why = self.reader.missing(self.place, field);
            return Err(self.reader.refuse(why));
        }
        self.all.push(asked);
        Ok(())
    }
}
