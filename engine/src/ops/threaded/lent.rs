//! Attention maps that layers lend to later ones, and the gradients that come back.

use super::buffer::{Buffer, Pooled};

/// The maps of a layer that lends. `[batch, computed, tokens, tokens]`, from before dropout.
#[derive(Clone, Copy, Debug)]
pub struct LentMaps<'a, T> {
    /// Them.
    pub maps: &'a [T],
    /// How many heads compute there.
    pub computed: usize,
}

impl<'a, T> LentMaps<'a, T> {
    /// The map of one example and head, `size` elements long.
    pub fn map(&self, example: usize, place: usize, size: usize) -> &'a [T] {
        let first = (example * self.computed + place) * size;
        self.maps.get(first..first + size).unwrap_or(&[])
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
        let first = (slot * self.batch + example) * self.size;
        self.data.get(first..first + self.size)
    }

    /// Whether something was written for a head.
    pub fn is_filled(&self, place: usize) -> bool {
        self.places.contains(&(place, true))
    }

    /// Something was.
    pub fn fill(&mut self, place: usize) {
        for entry in self.places.iter_mut().filter(|entry| entry.0 == place) {
            entry.1 = true;
        }
    }

    /// Every head that lends with an example and its gradient.
    pub fn parts(&mut self) -> impl Iterator<Item = (usize, usize, &mut [T])> {
        let (batch, places) = (self.batch, &self.places);
        self.data.chunks_mut(self.size.max(1)).enumerate().filter_map(move |(index, part)| {
            let (place, _) = places.get(index / batch.max(1))?;
            Some((*place, index % batch.max(1), part))
        })
    }
}
