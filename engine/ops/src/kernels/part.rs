//! Parts of slices whose sizes were checked at the entry of an operation.

/// `count` elements from `first`.
///
/// # Panics
/// If they are not all there.
#[inline]
#[track_caller]
pub fn part<T>(data: &[T], first: usize, count: usize) -> &[T] {
    assert!(first + count <= data.len(), "elements {first}..{} of {}", first + count, data.len());
    data.split_at(first).1.split_at(count).0
}

/// The same to write.
///
/// # Panics
/// If they are not all there.
#[inline]
#[track_caller]
pub fn part_mut<T>(data: &mut [T], first: usize, count: usize) -> &mut [T] {
    assert!(first + count <= data.len(), "elements {first}..{} of {}", first + count, data.len());
    data.split_at_mut(first).1.split_at_mut(count).0
}
