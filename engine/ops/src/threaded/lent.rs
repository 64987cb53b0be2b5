//! Attention maps that layers lend to later ones, and the gradients that come back.

use super::buffer::{Buffer, Pooled};
use crate::kernels::part;

/// The maps of a layer that lends. `[batch, computed, tokens, tokens]`, from before dropout.
#[derive(Clone, Copy, Debug)]
pub struct LentMaps<'a, T> {
    /// One after the other.
    pub maps: &'a [T],
    /// How many heads compute there.
    pub computed: usize,
}

impl<'a, T> LentMaps<'a, T> {
    /// The map of one example and head, `size` elements long.
    pub fn map(&self, example: usize, place: usize, size: usize) -> &'a [T] {
        part(self.maps, (example * self.computed + place) * size, size)
    }
}

/// The gradient of lent maps, as far as the borrowers seen so far have added to it.
///
/// Only what the mask lets a tile of queries see is ever written; the rest holds anything.
#[derive(Debug)]
pub struct LentGradient<T: Pooled> {
    /// `[lent heads, batch, tokens, tokens]`
    data: Buffer<T>,
    /// The heads that lend, by their number among those that compute, and whether anything was written.
    places: Vec<(usize, bool)>,
    size: usize,
    batch: usize,
}

impl<T: Pooled> LentGradient<T> {
    /// Room for the gradients of the maps of the heads `places`, of `size` elements each.
    pub fn take(places: &[usize], batch: usize, size: usize) -> Self {
        let data = Buffer::take(places.len() * batch * size);
        Self { data, places: places.iter().map(|&place| (place, false)).collect(), size, batch }
    }

    /// The gradient of one map; none if nobody added to it.
    pub fn map(&self, example: usize, place: usize) -> Option<&[T]> {
        let slot = self.places.iter().position(|entry| *entry == (place, true))?;
        Some(part(&self.data, (slot * self.batch + example) * self.size, self.size))
    }

    /// Whether something was written for a head.
    pub fn is_filled(&self, place: usize) -> bool {
        self.places.contains(&(place, true))
    }

    /// Says that something was written for a head.
    pub fn fill(&mut self, place: usize) {
        for entry in self.places.iter_mut().filter(|entry| entry.0 == place) {
            entry.1 = true;
        }
    }

    /// Every head that lends with an example and its gradient.
    pub fn parts(&mut self) -> impl Iterator<Item = (usize, usize, &mut [T])> {
        let batch = self.batch;
        let places = self.places.iter().flat_map(move |(place, _)| (0..batch).map(move |example| (*place, example)));
        let parts = self.data.chunks_exact_mut(self.size.max(1));
        parts.zip(places).map(|(part, (place, example))| (place, example, part))
    }
}
