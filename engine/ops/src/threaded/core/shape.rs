use super::super::{
    buffer::{Buffer, Pooled},
    heads::{Columns, CoreHead, CoreHeads, HeadScores, Side},
    lent::LentMaps,
    rows::Slab,
};
use crate::kernels::{DropoutMask, Matrix, MatrixMut, Real, part};

/// Queries that are worked on together: their scores stay in the cache, and hidden keys of all of them are left out.
const MOST_QUERIES: usize = 128;
/// The same where a query sees only what stands before it and a sequence is short.
const MOST_CAUSAL_QUERIES: usize = 64;
/// Scores that fit into the cache of one core.
const MOST_SCORES: usize = 128 * 1024;

/// Sizes, mask and scale of an attention, of a sequence to itself or to another one.
#[derive(Clone, Copy, Debug)]
pub struct CoreShape<'a> {
    /// Examples.
    pub batch: usize,
    /// Positions of an example that ask.
    pub tokens: usize,
    /// Positions of an example that are attended to: the same ones in self-attention.
    pub keys: usize,
    /// The heads that attend.
    pub heads: &'a CoreHeads,
    /// Columns of a head's values.
    pub head_size: usize,
    /// What scores are multiplied with.
    pub scale: f64,
    /// Whether key `j` is hidden from query `i` where `j > i`; in self-attention alone.
    pub causal: bool,
    /// `[batch, keys]`: zero where a key is hidden from every query.
    pub visible_keys: Option<&'a [u8]>,
    /// What is dropped from the maps, as elements of `[batch, heads, tokens, keys]`.
    pub dropout: Option<DropoutMask>,
}

/// What the backward pass needs of the maps that heads computed.
#[derive(Debug)]
pub enum KeptMaps<T: Pooled> {
    /// Themselves, from before dropout. `[batch, computed, tokens, keys]`
    Whole(Buffer<T>),
    /// Shift and factor of every row. `[batch, computed, tokens, 2]`
    Rows(Buffer<T>),
}

impl<T: Pooled> KeptMaps<T> {
    /// The maps, if they were kept, of so many heads that compute.
    pub fn whole(&self, computed: usize) -> Option<LentMaps<'_, T>> {
        match self {
            Self::Whole(maps) => Some(LentMaps { maps, computed }),
            Self::Rows(_) => None,
        }
    }
}

/// What heads read.
#[derive(Clone, Debug)]
pub struct CoreInput<'a, T> {
    /// What the projections gave.
    pub projected: Slab<'a, T>,
    /// What was made of it.
    pub derived: Slab<'a, T>,
    /// Both of another sequence that is attended to; none in self-attention.
    pub memory: Option<[Slab<'a, T>; 2]>,
    /// The maps of each layer that lends.
    pub lent: Vec<LentMaps<'a, T>>,
}

impl<T: Real> CoreInput<'_, T> {
    /// A matrix that heads read.
    ///
    /// # Panics
    /// If there is none, which [`CoreShape::check`] sees before.
    pub(super) fn side(&self, side: Side) -> Slab<'_, T> {
        match (side, self.memory) {
            (Side::Projected, _) => self.projected,
            (Side::Derived, _) => self.derived,
            (Side::MemoryProjected, Some([projected, _])) => projected,
            (Side::MemoryDerived, Some([_, derived])) => derived,
            (Side::MemoryProjected | Side::MemoryDerived, None) => unreachable!("attention without a memory"),
        }
    }

    pub(super) fn block(&self, shape: &CoreShape<'_>, columns: Columns, example: usize) -> Matrix<'_, T> {
        let rows = shape.rows(columns.side);
        self.side(columns.side).matrix().row_block(example * rows, rows).column_block(columns.first, columns.count)
    }

    /// A block of one column, gathered.
    pub(super) fn column(&self, shape: &CoreShape<'_>, columns: Columns, example: usize) -> Vec<T> {
        let (side, count) = (self.side(columns.side), shape.rows(columns.side));
        let rows = example * count..(example + 1) * count;
        rows.flat_map(|row| part(side.row(row), columns.first, 1)).copied().collect()
    }

    /// The map that a head of one example borrows.
    pub(super) fn lent_map(&self, shape: &CoreShape<'_>, lender: usize, place: usize, example: usize) -> &[T] {
        self.lent[lender].map(example, place, shape.tokens * shape.keys)
    }
}

impl CoreShape<'_> {
    /// Elements of all maps that heads compute.
    pub fn map_elements(&self) -> usize {
        self.batch * self.heads.computed() * self.tokens * self.keys
    }

    /// Positions of an example in a matrix that heads read.
    pub(super) fn rows(&self, side: Side) -> usize {
        if side.is_memory() { self.keys } else { self.tokens }
    }

    /// Fails unless what heads read is as large as the sizes say.
    pub(super) fn check<T: Real>(&self, x: &CoreInput<'_, T>) {
        for (name, side) in [("projected", x.projected), ("derived", x.derived)] {
            assert_eq!(side.rows(), self.batch * self.tokens, "rows of the {name} columns of attention");
        }
        let rows = self.batch * self.keys;
        for (name, side) in ["projected", "derived"].into_iter().zip(x.memory.into_iter().flatten()) {
            assert_eq!(side.rows(), rows, "rows of the {name} columns of what attention is paid to");
        }
        assert!(
            x.memory.is_some() || self.keys == self.tokens,
            "self-attention to {} of {} positions",
            self.keys,
            self.tokens
        );
        assert!(x.memory.is_none() || !self.causal, "attention to another sequence up to a position of this one");
        assert!(self.visible_keys.is_none_or(|keys| keys.len() == rows), "key mask of attention: {rows}");
        for head in self.heads.all() {
            self.check_head(x, head);
        }
        for lent in &x.lent {
            let expected = self.batch * lent.computed * self.tokens * self.keys;
            assert_eq!(lent.maps.len(), expected, "lent attention maps of {} heads", lent.computed);
        }
    }

    /// Fails unless the columns and the map that a head reads are there.
    fn check_head<T: Real>(&self, x: &CoreInput<'_, T>, head: &CoreHead) {
        for Columns { side, first, count } in head.blocks() {
            assert!(x.memory.is_some() || !side.is_memory(), "{side:?} columns of attention, which has none");
            let width = x.side(side).width();
            assert!(first + count <= width, "{side:?} columns {first}..{} of attention: {width}", first + count);
        }
        assert_eq!(head.value.count, self.head_size, "value columns of a head of attention");
        match head.scores {
            HeadScores::Own(own) => {
                assert_eq!(own.key.count, own.query.count, "key columns of a head of attention");
                assert!(own.bias.is_none_or(|bias| bias.count == 1), "bias columns of a head of attention");
                assert!(own.place < self.heads.computed(), "map {} of attention: {}", own.place, self.heads.computed());
            }
            HeadScores::Lent { lender, place } => {
                let computed = x.lent.get(lender).map_or(0, |lent| lent.computed);
                assert!(place < computed, "map {place} lent by layer {lender} of the lenders, which has {computed}");
            }
        }
    }

    pub(super) fn tile(&self) -> usize {
        let most = if self.causal && self.tokens <= 256 { MOST_CAUSAL_QUERIES } else { MOST_QUERIES };
        most.min((MOST_SCORES / self.keys.max(1)).max(16)).min(self.tokens.max(1))
    }

    /// First query, number of queries and number of keys that any of them sees, of each tile.
    pub(super) fn tiles(&self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> {
        let Self { tokens, keys, causal, .. } = *self;
        let tile = self.tile();
        (0..tokens.div_ceil(tile)).map(move |index| {
            let first = index * tile;
            let count = tile.min(tokens - first);
            (first, count, if causal { first + count } else { keys })
        })
    }

    pub(super) fn keys(&self, example: usize) -> Option<&[u8]> {
        self.visible_keys.map(|keys| part(keys, example * self.keys, self.keys))
    }

    /// The parts of the mixed values, head by head, example by example.
    pub(super) fn mixed_parts<'a, T>(&self, all: MatrixMut<'a, T>) -> Vec<MatrixMut<'a, T>> {
        let mut parts = Vec::with_capacity(self.batch * self.heads.count());
        let mut examples = all;
        for _ in 0..self.batch {
            let mut columns;
            (columns, examples) = examples.split_rows(self.tokens);
            for _ in 0..self.heads.count() {
                let part;
                (part, columns) = columns.split_columns(self.head_size);
                parts.push(part);
            }
        }
        parts
    }

    /// Applies `row` to every row of a tile of scores: its number, how many keys it sees, and its scores.
    pub(super) fn for_rows<T>(
        &self,
        scores: &mut [T],
        first: usize,
        width: usize,
        mut row: impl FnMut(usize, usize, &mut [T]),
    ) {
        for (query, scores) in (first..).zip(scores.chunks_exact_mut(width.max(1))) {
            row(query, if self.causal { query + 1 } else { self.keys }, scores);
        }
    }

    /// Drops elements of a tile of the map of head `index % heads` of example `index / heads`, `width` keys a row.
    pub(super) fn drop_out<T: Real>(
        &self,
        mask: &DropoutMask,
        tile: &mut [T],
        index: usize,
        first: usize,
        width: usize,
    ) {
        for (query, row) in (first..).zip(tile.chunks_exact_mut(width.max(1))) {
            mask.apply(row, (index * self.tokens + query) * self.keys);
        }
    }
}
