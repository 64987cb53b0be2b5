//! Working memory that is kept between steps.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use crate::kernels::{Paired, Real};

/// Shorter buffers are left to the allocator.
const SHORTEST: usize = 4096;

/// Vectors that are not in use, by their length, and what is in use.
#[derive(Debug)]
pub struct Pool<T> {
    idle: BTreeMap<usize, Vec<Vec<T>>>,
    idle_elements: usize,
    used_elements: usize,
    most_used_elements: usize,
}

impl<T> Pool<T> {
    const fn new() -> Self {
        Self { idle: BTreeMap::new(), idle_elements: 0, used_elements: 0, most_used_elements: 0 }
    }
}

/// A number that has a pool.
pub trait Pooled: Real {
    /// Every buffer of this type comes from here.
    fn pool() -> &'static Mutex<Pool<Self>>;
}

static SINGLE: Mutex<Pool<f32>> = Mutex::new(Pool::new());
static PAIRED: Mutex<Pool<Paired>> = Mutex::new(Pool::new());
static DOUBLE: Mutex<Pool<f64>> = Mutex::new(Pool::new());

impl Pooled for f32 {
    fn pool() -> &'static Mutex<Pool<Self>> {
        &SINGLE
    }
}

impl Pooled for Paired {
    fn pool() -> &'static Mutex<Pool<Self>> {
        &PAIRED
    }
}

impl Pooled for f64 {
    fn pool() -> &'static Mutex<Pool<Self>> {
        &DOUBLE
    }
}

/// Gives all memory that is not in use back to the allocator: after a run, since the next one has other shapes.
pub fn release_buffers() {
    fn release<T: Pooled>() {
        let mut pool = T::pool().lock().unwrap_or_else(PoisonError::into_inner);
        pool.idle.clear();
        pool.idle_elements = 0;
        pool.most_used_elements = pool.used_elements;
    }
    release::<f32>();
    release::<Paired>();
    release::<f64>();
}

/// A slice of working memory whose contents are whatever was there before: to be written before it is read.
///
/// Fresh memory costs a page fault for every 4 KiB, each step anew; a pool pays once. What is idle never exceeds the
/// most that was in use at one time.
#[derive(Debug)]
pub struct Buffer<T: Pooled> {
    /// At least as long as asked for.
    data: Vec<T>,
    length: usize,
}

impl<T: Pooled> Buffer<T> {
    /// Room for `length` elements.
    pub fn take(length: usize) -> Self {
        if length < SHORTEST {
            return Self { data: vec![T::ZERO; length], length };
        }
        let class = size_class(length);
        let mut pool = T::pool().lock().unwrap_or_else(PoisonError::into_inner);
        pool.used_elements += class;
        pool.most_used_elements = pool.most_used_elements.max(pool.used_elements);
        let found = pool.idle.get_mut(&class).and_then(Vec::pop);
        if found.is_some() {
            pool.idle_elements -= class;
        }
        drop(pool);
        Self { data: found.unwrap_or_else(|| vec![T::ZERO; class]), length }
    }
}

impl<T: Pooled> Drop for Buffer<T> {
    fn drop(&mut self) {
        let class = self.data.len();
        if class < SHORTEST {
            return;
        }
        let mut pool = T::pool().lock().unwrap_or_else(PoisonError::into_inner);
        pool.used_elements -= class;
        if pool.idle_elements + class <= pool.most_used_elements {
            pool.idle_elements += class;
            pool.idle.entry(class).or_default().push(std::mem::take(&mut self.data));
        }
    }
}

impl<T: Pooled> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.data.split_at(self.length).0
    }
}

impl<T: Pooled> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.data.split_at_mut(self.length).0
    }
}

/// The next multiple of a sixty-fourth of a power of two, so that shapes that differ a little share their memory.
fn size_class(length: usize) -> usize {
    let step = (length.next_power_of_two() / 64).max(1);
    length.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_long_as_asked_and_little_longer_inside() {
        for length in [0, 1, 4095, 4096, 5000, 65_537, 1 << 20] {
            let buffer = Buffer::<f64>::take(length);
            assert_eq!(buffer.len(), length);
            assert!(buffer.data.len() <= length + length / 32 + 1, "{length}: {}", buffer.data.len());
        }
    }

    #[test]
    fn memory_comes_back_and_can_be_given_back() {
        // A length that nothing else asks for.
        let length = 777_777;
        let mut buffer = Buffer::<f64>::take(length);
        let place = buffer.as_ptr();
        buffer.fill(3.0);
        drop(buffer);
        assert_eq!(Buffer::<f64>::take(length - 7).as_ptr(), place);
        release_buffers();
        assert!(!f64::pool().lock().unwrap().idle.contains_key(&size_class(length)));
    }
}
