//! Where the time of a step goes, operation by operation.
//!
//! Off unless [`record`] runs: then a span costs an atomic read. Spans do not overlap, so that their times add up to the
//! time spent in operations; what is left of a step is spent between them. An operation that consists of others is one span: theirs
//! inside of it add their work to it and nothing else.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

static IS_ON: AtomicBool = AtomicBool::new(false);
/// By name, those of cross-attention apart.
static TOTALS: Mutex<BTreeMap<(&'static str, bool), OperationTime>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The work of the spans inside of the one that runs; none outside of spans.
    static INSIDE: Cell<Option<Work>> = const { Cell::new(None) };
    /// Whether what runs is attention to what an encoder read.
    static IS_CROSS: Cell<bool> = const { Cell::new(false) };
}

/// What one kind of operation took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationTime {
    /// What it does, forward or backward.
    pub name: String,
    /// How often it ran.
    pub calls: u64,
    /// Time in all calls, on all threads together as the clock on the wall shows it.
    pub seconds: f64,
    /// Floating-point operations of its matrix products: two for each multiply-accumulate; zero without products.
    pub flops: u64,
    /// Bytes that it must read and write once at least.
    pub bytes: u64,
}

/// Runs `f` and gives what the operations in it took, by name.
///
/// Operations of other threads count too: nothing else should compute meanwhile. Whoever records at the same time waits.
pub fn record<R>(f: impl FnOnce() -> R) -> (R, Vec<OperationTime>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    totals().clear();
    INSIDE.set(None);
    IS_CROSS.set(false);
    IS_ON.store(true, Ordering::Relaxed);
    let result = f();
    IS_ON.store(false, Ordering::Relaxed);
    let found = std::mem::take(&mut *totals());
    let named = |((name, is_cross), time): ((&str, bool), OperationTime)| OperationTime {
        name: if is_cross && name.starts_with("attention") { format!("cross-{name}") } else { name.to_owned() },
        ..time
    };
    (result, found.into_iter().map(named).collect())
}

/// Whether times are taken: what runs on a GPU must then be waited for.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Runs an operation under a name, with the work that it does.
pub fn span<R>(name: &'static str, work: Work, f: impl FnOnce() -> R) -> R {
    if !is_on() {
        return f();
    }
    if let Some(inside) = INSIDE.get() {
        INSIDE.set(Some(inside + work));
        return f();
    }
    INSIDE.set(Some(work));
    let start = Instant::now();
    let result = f();
    let seconds = start.elapsed().as_secs_f64();
    let work = INSIDE.take().unwrap_or(work);
    let mut totals = totals();
    let total = totals.entry((name, IS_CROSS.get())).or_default();
    total.calls += 1;
    total.seconds += seconds;
    total.flops += work.flops;
    total.bytes += work.bytes;
    result
}

/// Runs attention to what an encoder read: its spans are told apart from those of self-attention, `cross-attention: …`.
pub fn in_cross<R>(f: impl FnOnce() -> R) -> R {
    let before = IS_CROSS.replace(true);
    let result = f();
    IS_CROSS.set(before);
    result
}

/// What an operation must do at least.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Floating-point operations of products.
    pub flops: u64,
    /// Bytes read and written once.
    pub bytes: u64,
}

impl Work {
    /// Reading and writing so many elements of type `T`.
    pub fn pass<T>(elements: usize) -> Self {
        Self::moving(elements, size_of::<T>())
    }

    /// Reading and writing so many elements of `size` bytes.
    pub fn moving(elements: usize, size: usize) -> Self {
        Self { flops: 0, bytes: (elements * size) as u64 }
    }

    /// The product of matrices as [`Work::product`] counts it, of elements of `size` bytes.
    pub fn product_of(size: usize, [rows, inner, columns]: [usize; 3]) -> Self {
        Self {
            flops: 2 * (rows * inner * columns) as u64,
            ..Self::moving(rows * inner + inner * columns + rows * columns, size)
        }
    }

    /// The product of a `rows` by `inner` and an `inner` by `columns` matrix.
    pub fn product<T>(rows: usize, inner: usize, columns: usize) -> Self {
        Self::product_of(size_of::<T>(), [rows, inner, columns])
    }

    /// The same so many times.
    pub fn times(self, count: usize) -> Self {
        Self { flops: self.flops * count as u64, bytes: self.bytes * count as u64 }
    }
}

impl std::ops::Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { flops: self.flops + other.flops, bytes: self.bytes + other.bytes }
    }
}

fn totals() -> std::sync::MutexGuard<'static, BTreeMap<(&'static str, bool), OperationTime>> {
    TOTALS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_while_recording_only() {
        let work = Work::product::<f32>(2, 3, 4) + Work::pass::<f64>(5).times(2);
        span("a test, unseen", work, || ());
        let (result, times) = record(|| {
            span("a test", work, || ());
            span("a test", work, || 7)
        });
        assert_eq!(result, 7);
        // Other tests may run operations at the same time.
        assert!(times.iter().all(|time| time.name != "a test, unseen"));
        let time = times.iter().find(|time| time.name == "a test").unwrap();
        assert_eq!((time.calls, time.flops, time.bytes), (2, 96, 2 * (4 * 26 + 80)));
        assert!(time.seconds >= 0.0);
    }
    #[test]
    fn a_span_of_others_has_their_work_and_its_own_time() {
        let work = Work::product::<f32>(2, 3, 4);
        let ((), times) = record(|| {
            span("attention: a test", Work::pass::<f32>(1), || span("a test inside", work, || ()));
            in_cross(|| {
                span("attention: a test", work, || ());
                span("a test of something else", work, || ());
            });
        });
        let of =
            |name: &str| times.iter().find(|time| time.name == name).map(|time| (time.calls, time.flops, time.bytes));
        assert_eq!(of("attention: a test"), Some((1, 48, 4 * 27)));
        assert_eq!(of("cross-attention: a test"), Some((1, 48, 4 * 26)));
        assert_eq!(of("a test of something else").map(|time| time.0), Some(1));
        assert_eq!(of("a test inside"), None);
    }
}
