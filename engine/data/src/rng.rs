//! The engine's one source of randomness, named once for this room.

pub(super) use crate::ops::random::{Purpose, Stream};

/// A uniform index below `count`, which is at least 1.
pub(super) fn below(stream: &mut Stream, count: usize) -> usize {
    stream.below(count as u64) as usize
}
