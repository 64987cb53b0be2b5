//! Tokens beside maps, and maps without the special ones.

use std::sync::Arc;

use headroom_engine::{config::counted, text::escaped_line};

use crate::{
    export::MapFigure,
    plot::{HeatAxis, HeatData},
};

/// A token as it stands beside a map: what cannot be seen is written.
pub fn visible(token: &str) -> String {
    match escaped_line(token).trim() {
        "" => "·".to_owned(),
        word => word.to_owned(),
    }
}

/// Whether a token marks something rather than being text: `[CLS]`, `<s>`.
pub fn is_special(token: &str) -> bool {
    let inside = |open, close| {
        let inner = token.trim().strip_prefix(open).and_then(|rest: &str| rest.strip_suffix(close));
        inner.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "|_/".contains(c))
        })
    };
    inside('[', ']') || inside('<', '>')
}

/// Queries down and keys across, by their tokens.
pub fn token_axes(words: &Arc<[String]>) -> (HeatAxis, HeatAxis) {
    (HeatAxis::names("Query", Arc::clone(words)), HeatAxis::names("Key", Arc::clone(words)))
}

/// What stands for the value where a query cannot attend.
pub const MASKED: &str = "masked, a later token";

/// What a cell of a map is: `5 "river" attends to 2 "the"`, by the places of its tokens in the text; or that it does not.
pub fn attends(
    (words, map): (&[String], &HeatData),
    place: impl Fn(usize) -> usize,
    query: usize,
    key: usize,
) -> String {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let verb = if map.at(query, key).is_nan() { "does not attend to" } else { "attends to" };
    format!("{} \"{}\" {verb} {} \"{}\"", place(query), word(query), place(key), word(key))
}

/// The figure of a model's map on a text.
pub fn of_text(figure: MapFigure, target: &str, tokens: &[String]) -> MapFigure {
    let metadata = [
        ("program", format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
        ("model", target.to_owned()),
        ("text", tokens.join(" ")),
    ];
    let subtitle = format!("{target}, {}", counted(tokens.len(), "token"));
    figure.origin(subtitle, metadata.map(|(key, value)| (key.to_owned(), value)).into())
}

/// A map as it is shown: special tokens left out where that is wanted, and nothing where a query cannot attend.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    of: Option<(u64, bool, usize)>,
    /// The map.
    pub map: HeatData,
    /// The places of its tokens in the text.
    pub places: Vec<usize>,
    /// Their words.
    pub words: Arc<[String]>,
}

impl Kept {
    /// Brings the map up to date.
    pub fn update(&mut self, map: &HeatData, tokens: &[String], hides_special: bool) {
        let of = Some((map.version(), hides_special, tokens.len()));
        if self.of == of {
            return;
        }
        self.of = of;
        let is_kept = |place: &usize| !hides_special || !tokens.get(*place).is_some_and(|token| is_special(token));
        self.places = (0..map.rows()).filter(is_kept).collect();
        self.words = self.places.iter().map(|place| visible(tokens.get(*place).map_or("", String::as_str))).collect();
        let looks_ahead = (0..map.rows()).any(|row| (row + 1..map.columns()).any(|column| map.at(row, column) != 0.0));
        let value = |row: usize, column: usize| {
            if column > row && !looks_ahead { f32::NAN } else { map.at(row, column) }
        };
        let values = self.places.iter().flat_map(|&row| self.places.iter().map(move |&column| value(row, column)));
        self.map = HeatData::new(self.places.len(), self.places.len(), values.collect());
    }
}

/// The first minus the second, where both have the same tokens.
pub fn difference(first: &Kept, second: &Kept) -> Option<HeatData> {
    if first.words != second.words || first.map.values().is_empty() {
        return None;
    }
    let values = first.map.values().iter().zip(second.map.values()).map(|(a, b)| a - b).collect();
    Some(HeatData::new(first.map.rows(), first.map.columns(), values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written() {
        assert_eq!([" the", "\n", " ", "a\tb", ""].map(visible), ["the", "\\n", "·", "a\\tb", "·"]);
        let special = ["[CLS]", "<s>", "<|end|>", "[MASK]"];
        assert!(special.iter().all(|token| is_special(token)));
        assert!(!["[", "<", "a", "[]", "<a b>", "x]"].iter().any(|token| is_special(token)));
    }

    #[test]
    fn special_tokens_go_and_the_future_is_empty() {
        let tokens = ["[CLS]", "a", "b"].map(str::to_owned);
        let map = HeatData::new(3, 3, vec![1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.25, 0.25, 0.5]);
        let mut kept = Kept::default();
        kept.update(&map, &tokens, true);
        assert_eq!((kept.places.as_slice(), kept.map.at(1, 0), &kept.words[0]), (&[1, 2][..], 0.25, &"a".to_owned()));
        assert!(kept.map.at(0, 1).is_nan(), "a causal query does not look ahead");
        let mut whole = Kept::default();
        let seeing = HeatData::new(3, 3, vec![1.0 / 3.0; 9]);
        whole.update(&seeing, &tokens, false);
        assert_eq!((whole.places.len(), whole.map.extent().has_gaps), (3, false));
        assert!(difference(&kept, &whole).is_none(), "other tokens");
        assert_eq!(difference(&whole, &whole).map(|map| map.at(2, 1)), Some(0.0));
    }
}
