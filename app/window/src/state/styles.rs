//! Colours and dashes, given out among what is shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::theme::LineStyle;

/// The place of everything that is shown in the list of line styles. What is shown keeps its place as long as it is shown,
/// whatever else comes or goes; what comes new takes the first that is free. What was hidden takes none, and has its own again
/// where nothing that is shown has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Styles<K: Ord> {
    places: BTreeMap<K, usize>,
    /// The places that were left by what is hidden now.
    left: BTreeMap<K, usize>,
}

impl<K: Ord> Default for Styles<K> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), left: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Styles<K> {
    /// Only these are shown from now on; those that are back take their own places where they are free, and those that are new the
    /// first free ones in this order.
    pub fn assign<'a>(&mut self, shown: impl IntoIterator<Item = &'a K>)
    where
        K: 'a,
    {
        let shown: Vec<&K> = shown.into_iter().collect();
        let all: BTreeSet<&K> = shown.iter().copied().collect();
        self.left.extend(self.places.extract_if(.., |key, _| !all.contains(key)));
        for &key in &shown {
            if let Some(place) = self.left.remove(key) {
                self.take_back(key, place);
            }
        }
        for key in shown {
            if !self.places.contains_key(key) {
                let free = self.first_free();
                self.places.insert(key.clone(), free);
            }
        }
    }

    /// Gives it the place that it had before, where nothing else has taken it since.
    pub fn take_back(&mut self, key: &K, place: usize) {
        if !self.has(key) && !self.is_taken(place) {
            self.places.insert(key.clone(), place);
        }
    }

    /// How it is drawn; what is not shown, as it would be if it were shown next.
    pub fn style_of(&self, key: &K) -> LineStyle {
        let own = self.places.get(key).or_else(|| self.left.get(key).filter(|place| !self.is_taken(**place)));
        LineStyle::of_place(own.copied().unwrap_or_else(|| self.first_free()))
    }

    /// The places as they were when the window was closed.
    pub fn with_places(places: BTreeMap<K, usize>) -> Self {
        Self { places, left: BTreeMap::new() }
    }

    /// The place of everything that is shown.
    pub fn places(&self) -> &BTreeMap<K, usize> {
        &self.places
    }

    /// Whether it has a place.
    pub fn has(&self, key: &K) -> bool {
        self.places.contains_key(key)
    }

    fn is_taken(&self, place: usize) -> bool {
        self.places.values().any(|taken| *taken == place)
    }

    fn first_free(&self) -> usize {
        let taken: BTreeSet<usize> = self.places.values().copied().collect();
        // Of one more place than are taken one is free.
        (0..=taken.len()).find(|place| !taken.contains(place)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_keeps_its_style_and_what_comes_new_takes_the_first_free_one() {
        let mut styles = Styles::default();
        styles.assign(&[7, 3, 900]);
        let style = |styles: &Styles<i32>, key: i32| styles.style_of(&key);
        let first: Vec<LineStyle> = (0..4).map(LineStyle::of_place).collect();
        assert_eq!([7, 3, 900].map(|key| style(&styles, key)), first[..3]);
        // The set grows: nothing changes.
        styles.assign(&[1, 3, 7, 900]);
        assert_eq!([7, 3, 900, 1].map(|key| style(&styles, key)), first[..]);
        // One is hidden: the others keep theirs, and the next one takes what it left.
        styles.assign(&[7, 900, 1]);
        assert_eq!([7, 900, 1].map(|key| style(&styles, key)), [first[0], first[2], first[3]]);
        assert_eq!(style(&styles, 55), first[1], "what it would look like");
        styles.assign(&[7, 900, 1, 3, 55]);
        assert_eq!([3, 55].map(|key| style(&styles, key)), [first[1], LineStyle::of_place(4)]);
        // What goes and comes back takes the place that it had, if nobody has it now.
        styles.assign(&[7, 1, 55]);
        styles.take_back(&900, 2);
        styles.assign(&[7, 900, 1, 55, 60]);
        assert_eq!([900, 60].map(|key| style(&styles, key)), [first[2], first[1]]);
        styles.assign(&[900, 1, 55, 60]);
        styles.take_back(&7, 2);
        assert_eq!(style(&styles, 7), first[0], "its place is taken");
    }

    #[test]
    fn what_is_hidden_takes_no_style_from_others_and_has_its_own_again() {
        let mut styles = Styles::default();
        styles.assign(&[1, 2, 3]);
        let style = |styles: &Styles<i32>, key: i32| styles.style_of(&key);
        let first: Vec<LineStyle> = (0..4).map(LineStyle::of_place).collect();
        styles.assign(&[3]);
        assert_eq!([1, 2, 3].map(|key| style(&styles, key)), first[..3], "hidden, they look as they did");
        styles.assign(&[2, 3]);
        assert_eq!([1, 2, 3].map(|key| style(&styles, key)), first[..3], "and shown again too, in whatever order");
        // What is shown comes first.
        styles.assign(&[2, 3, 4]);
        assert_eq!((style(&styles, 4), style(&styles, 1)), (first[0], first[3]));
        styles.assign(&[2, 3]);
        assert_eq!(style(&styles, 1), first[0], "its place is free again");
    }
}
