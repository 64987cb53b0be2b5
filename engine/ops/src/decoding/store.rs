use std::sync::Arc;

use candle_core::{Result, bail};
use rayon::prelude::*;

use super::reach::{Reach, Reaches};
use crate::{
    kernels::{Places, Rows, combine, dots, part, part_mut},
    threaded::Slab,
};

/// What was kept of the positions that all rows of a source attend to: of a prompt, or of what an encoder read. Once for a
/// source, however many rows there are, and without padding.
///
/// What a head reads lies together, so that a pass over it goes through memory from one end to the other: source by source, and
/// of each the columns in blocks. A block lies position after position, or, where only scores are made of it, turned: in panels
/// of some positions, column after column, so that the scores of neighbouring positions are lanes of one vector.
#[derive(Clone, Debug)]
pub struct SharedRows {
    data: Arc<Vec<f32>>,
    /// Numbers of a position.
    pub(super) width: usize,
    /// From left to right, of all columns.
    blocks: Arc<Vec<Block>>,
    /// The first position of each source and how many it has.
    pub(super) spans: Arc<Vec<(usize, usize)>>,
}

/// The columns of a position that heads read, in the blocks in which they lie.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// All columns.
    pub width: usize,
    /// From left to right.
    blocks: Arc<Vec<Block>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// The first column.
    first: usize,
    /// How many columns.
    count: usize,
    is_turned: bool,
}

/// Positions of a panel.
const PANEL: usize = 64;

/// What heads score against: rows for positions, or panels of positions with rows for columns.
pub(super) enum Keys<'a> {
    Rows(Rows<'a>),
    Panels { data: &'a [f32], columns: usize, positions: usize },
}

impl Keys<'_> {
    /// The scores of some queries: those of query i begin at `outs.at(i)`.
    pub fn scores(&self, queries: Rows<'_>, width: usize, out: &mut [f32], outs: Places<'_>) {
        match *self {
            Self::Rows(keys) => dots(queries, keys, width, out, outs),
            Self::Panels { data, columns, positions } => {
                for first in (0..positions).step_by(PANEL) {
                    let count = PANEL.min(positions - first);
                    let panel = Rows::every(data, first * columns, count, columns);
                    combine(queries, panel, count, out, outs.from(first), false);
                }
            }
        }
    }
}

impl SharedRows {
    /// Room for sources of `lengths` positions.
    pub(super) fn with_room(lengths: &[usize], Blocks { width, blocks }: &Blocks) -> Self {
        let mut begin = 0;
        let span = |length: &usize| {
            begin += length;
            (begin - length, *length)
        };
        let spans: Vec<(usize, usize)> = lengths.iter().map(span).collect();
        let data = Arc::new(vec![0.0; begin * width]);
        Self { data, width: *width, blocks: Arc::clone(blocks), spans: Arc::new(spans) }
    }

    /// Puts what was kept of some neighbouring sources in its place.
    ///
    /// # Shapes
    /// `rows`: as many for each source of the group as it has positions; `columns` of them, first and count, are kept side by
    /// side.
    ///
    /// # Errors
    /// If there are other sources, positions or columns, or somebody else holds them already.
    pub(super) fn fill(
        &mut self,
        Group { first, longest }: Group,
        rows: Slab<'_, f32>,
        columns: &[(usize, usize)],
    ) -> Result<()> {
        let sources = rows.rows().checked_div(longest).unwrap_or(0);
        let spans = self.spans.get(first..first + sources).unwrap_or_default();
        let kept: usize = columns.iter().map(|(_, count)| count).sum();
        let is_other = spans.len() != sources || rows.rows() != sources * longest || kept != self.width;
        if is_other || spans.iter().any(|(_, length)| *length > longest) {
            bail!(
                "{kept} numbers of {} positions were to be kept as {} numbers of the sources {spans:?}.",
                rows.rows(),
                self.width
            )
        }
        let Some(data) = Arc::get_mut(&mut self.data) else {
            bail!("What was kept of a source cannot change any more.")
        };
        let start = spans.first().map_or(0, |span| span.0);
        let count: usize = spans.iter().map(|span| span.1).sum();
        let mut rest = part_mut(data, start * self.width, count * self.width);
        let mut pieces = Vec::with_capacity(sources * self.blocks.len());
        for (source, (_, length)) in spans.iter().enumerate() {
            for &block in self.blocks.iter() {
                let piece;
                (piece, rest) = rest.split_at_mut(length * block.count);
                pieces.push((source, block, piece));
            }
        }
        pieces.into_par_iter().for_each(|(source, block, out)| {
            let mut before = 0;
            for &(column, kept) in columns {
                // The columns of the block that are among these.
                let (left, right) = (block.first.max(before), (block.first + block.count).min(before + kept));
                if left < right {
                    let row = |position: usize| {
                        part(rows.row(source * longest + position), column + left - before, right - left)
                    };
                    block.fill(left - block.first, out, row);
                }
                before += kept;
            }
        });
        Ok(())
    }

    /// Columns from `column` on of all positions of a source, as far as their block goes, which is not turned.
    pub(super) fn rows(&self, source: usize, column: usize) -> Rows<'_> {
        let (_, positions) = self.span(source);
        let (start, block) = self.block(source, column);
        debug_assert!(!block.is_turned, "column {column} lies turned");
        Rows::every(&self.data, start + column - block.first, block.count, positions)
    }

    /// What heads that read columns from `column` on score against.
    pub(super) fn keys(&self, source: usize, column: usize) -> Keys<'_> {
        let (start, Block { count, is_turned, .. }) = self.block(source, column);
        if !is_turned {
            return Keys::Rows(self.rows(source, column));
        }
        let (_, positions) = self.span(source);
        Keys::Panels { data: part(&self.data, start, count * positions), columns: count, positions }
    }

    /// Where a column's block begins of a source, and which it is.
    fn block(&self, source: usize, column: usize) -> (usize, Block) {
        let (start, positions) = self.span(source);
        let block = self.blocks[self.blocks.partition_point(|block| column >= block.first + block.count)];
        (start * self.width + block.first * positions, block)
    }

    /// The positions of a source.
    pub(super) fn span(&self, source: usize) -> (usize, usize) {
        self.spans[source]
    }

    /// What is allocated for it.
    pub fn bytes(&self) -> u64 {
        (self.data.capacity() * size_of::<f32>()) as u64
    }

    /// Whether both are the same numbers in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }
}

impl Blocks {
    /// What heads read together: columns of two heads that have some in common are in the same block.
    pub fn of(reaches: &Reaches) -> Self {
        let columns = |reaches: &[Reach]| -> Vec<(usize, usize)> {
            reaches.iter().map(|reach| (reach.first, reach.count)).collect()
        };
        let keys = columns(&reaches.keys);
        let others = [columns(&reaches.contents), columns(&reaches.values)].concat();
        let mut read = [keys.clone(), others.clone()].concat();
        read.sort_unstable();
        let mut blocks: Vec<(usize, usize)> = Vec::new();
        let mut end = 0;
        for (first, count) in read {
            match blocks.last_mut() {
                Some(block) if first < end => block.1 = block.1.max(first + count - block.0),
                _ => {
                    if first > end {
                        blocks.push((end, first - end));
                    }
                    blocks.push((first, count));
                }
            }
            end = end.max(first + count);
        }
        if end < reaches.width {
            blocks.push((end, reaches.width - end));
        }
        let block = |(first, count): (usize, usize)| {
            let is_inside = |other: &(usize, usize)| other.0 < first + count && first < other.0 + other.1;
            // Only whole keys are read of it.
            let is_turned = keys.contains(&(first, count))
                && keys.iter().filter(|key| is_inside(key)).all(|key| *key == (first, count))
                && !others.iter().any(is_inside);
            Block { first, count, is_turned }
        };
        Self { width: reaches.width, blocks: Arc::new(blocks.into_iter().map(block).collect()) }
    }
}

impl Block {
    /// Writes neighbouring columns from `first` on of all positions of a source; `row` gives those of one.
    fn fill<'a>(&self, first: usize, out: &mut [f32], row: impl Fn(usize) -> &'a [f32]) {
        let count = self.count.max(1);
        if !self.is_turned {
            for (position, out) in out.chunks_exact_mut(count).enumerate() {
                let row = row(position);
                part_mut(out, first, row.len()).copy_from_slice(row);
            }
            return;
        }
        for (number, panel) in out.chunks_mut(PANEL * count).enumerate() {
            let positions = panel.len() / count;
            for position in 0..positions {
                let columns = part_mut(panel, first * positions, (count - first) * positions);
                let places = columns.iter_mut().skip(position).step_by(positions);
                for (place, number) in places.zip(row(number * PANEL + position)) {
                    *place = *number;
                }
            }
        }
    }
}

/// What was kept of the tokens that rows have written, in places that never move: which of them are a row's own past, a
/// [`Past`] says, so that nothing is copied where rows go on from others.
#[derive(Clone, Debug)]
pub struct WrittenRows {
    pub(super) data: Vec<f32>,
    pub(super) width: usize,
}

impl WrittenRows {
    /// Room for as many tokens.
    pub fn with_room(tokens: usize, width: usize) -> Self {
        Self { data: vec![0.0; tokens * width], width }
    }

    /// The numbers of a place, which is made if there was no room for it.
    pub(super) fn place(&mut self, place: usize) -> &mut [f32] {
        let end = (place + 1) * self.width;
        if self.data.len() < end {
            self.data.resize(end, 0.0);
        }
        &mut self.data[end - self.width..end]
    }

    /// What is allocated for it.
    pub fn bytes(&self) -> u64 {
        (self.data.capacity() * size_of::<f32>()) as u64
    }

    /// What as many tokens take of it.
    pub fn bytes_of(&self, tokens: usize) -> u64 {
        (tokens * self.width * size_of::<f32>()) as u64
    }
}

/// Where the past of each row stands, the same for all layers.
#[derive(Clone, Debug, Default)]
pub struct Past {
    rows: Vec<PastRow>,
    written: u32,
}

#[derive(Clone, Debug)]
struct PastRow {
    source: usize,
    places: Vec<u32>,
}

/// Neighbouring rows of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub source: usize,
    pub first: usize,
    pub rows: usize,
}

impl Past {
    /// One row for each source, which has written nothing.
    pub fn of_sources(sources: usize) -> Self {
        Self { rows: (0..sources).map(|source| PastRow { source, places: Vec::new() }).collect(), written: 0 }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Tokens that the rows which go on have written; what rows have in common counts for each, up to the places that there
    /// are.
    pub fn tokens_held(&self) -> usize {
        let of_rows: usize = self.rows.iter().map(|row| row.places.len()).sum();
        of_rows.min(self.written as usize)
    }

    /// Tokens that a row has written.
    pub fn written(&self, row: usize) -> usize {
        self.rows[row].places.len()
    }

    /// The source of a row.
    pub fn source(&self, row: usize) -> usize {
        self.rows[row].source
    }

    /// Rows that go on from others: row i from `parents[i]`.
    pub fn select(&mut self, parents: &[usize]) {
        self.rows = parents.iter().map(|parent| self.rows[*parent].clone()).collect();
    }

    /// A place for one more token of every row, in order; the first of them.
    pub(super) fn grow(&mut self) -> u32 {
        let first = self.written;
        for (place, row) in (first..).zip(&mut self.rows) {
            row.places.push(place);
        }
        self.written += self.rows.len() as u32;
        first
    }

    pub(super) fn places(&self, row: usize) -> &[u32] {
        &self.rows[row].places
    }

    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if run.source == row.source => run.rows += 1,
                _ => runs.push(Run { source: row.source, first: at, rows: 1 }),
            }
        }
        runs
    }
}

/// Where neighbouring sources stand that are read together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The first of them.
    pub first: usize,
    /// Positions of each, padding included.
    pub longest: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Through, threaded};

    fn reach(first: usize, count: usize) -> Reach {
        Reach { first, count, through: Through::Same, offset: None }
    }

    fn number(row: usize, column: usize) -> f32 {
        ((row * 31 + column * 7) % 23) as f32 - 11.0
    }

    /// Two heads with keys of 3 columns, a column of content, and values of 2, of which the second are keys of a third head.
    fn reaches() -> Reaches {
        Reaches {
            width: 11,
            keys: vec![reach(0, 3), reach(3, 3), reach(9, 2)],
            contents: vec![reach(6, 1)],
            values: vec![reach(7, 2), reach(9, 2)],
        }
    }

    #[test]
    fn columns_that_only_scores_read_are_turned() {
        let blocks = Blocks::of(&reaches());
        let found: Vec<_> = blocks.blocks.iter().map(|block| (block.first, block.count, block.is_turned)).collect();
        assert_eq!(found, [(0, 3, true), (3, 3, true), (6, 1, false), (7, 2, false), (9, 2, false)]);
        // Keys that are a part of what another head reads stay rows.
        let overlapping = Reaches { width: 4, keys: vec![reach(0, 2), reach(0, 4)], ..Reaches::default() };
        assert!(Blocks::of(&overlapping).blocks.iter().all(|block| !block.is_turned));
    }

    #[test]
    fn what_is_kept_is_found_again_wherever_it_lies() {
        let reaches = reaches();
        // More than two panels, a whole one, a short one, one position.
        let lengths = [150, 64, 9, 1];
        let mut kept = SharedRows::with_room(&lengths, &Blocks::of(&reaches));
        // Two groups, each with padding; kept columns are two pieces of wider rows, in another order there.
        let columns = [(6, 5), (0, 6)];
        let (width, column) = (12, |column: usize| if column < 5 { column + 6 } else { column - 5 });
        for (first, longest) in [(0, 151), (2, 9)] {
            let mut rows = threaded::Rows::<f32>::take(2 * longest, width);
            rows.for_each_row(|row, out| {
                let (source, position) = (first + row / longest, row % longest);
                let is_there = position < lengths[source];
                for (at, out) in out.iter_mut().enumerate() {
                    *out = if is_there { number(source * 1000 + position, at) } else { f32::NAN };
                }
            });
            kept.fill(Group { first, longest }, rows.view(), &columns).unwrap();
        }
        for (source, length) in lengths.iter().enumerate() {
            let value = |position: usize, at: usize| number(source * 1000 + position, column(at));
            for key in &reaches.keys {
                let queries: Vec<f32> = (0..2 * key.count).map(|at| at as f32 - 1.0).collect();
                let mut out = vec![f32::NAN; 2 * length];
                let outs = Places::Every { first: 0, stride: *length, count: 2 };
                kept.keys(source, key.first).scores(Rows::every(&queries, 0, key.count, 2), key.count, &mut out, outs);
                for (at, score) in out.iter().enumerate() {
                    let (query, position) = (&queries[at / length * key.count..][..key.count], at % length);
                    let expected: f32 = query.iter().enumerate().map(|(c, q)| q * value(position, key.first + c)).sum();
                    assert_eq!(*score, expected, "source {source}, position {position}, key {}", key.first);
                }
            }
            for other in reaches.contents.iter().chain(&reaches.values) {
                let rows = kept.rows(source, other.first);
                for position in 0..*length {
                    let expected: Vec<f32> = (0..other.count).map(|c| value(position, other.first + c)).collect();
                    assert_eq!(rows.row(position, other.count), expected, "source {source}, column {}", other.first);
                }
            }
        }
        assert_eq!(kept.bytes(), (lengths.iter().sum::<usize>() * 11 * 4) as u64);
    }

    #[test]
    fn other_sources_columns_and_holders_are_refused() {
        let mut kept = SharedRows::with_room(&[3, 2], &Blocks::of(&reaches()));
        let rows = threaded::Rows::<f32>::take(6, 11);
        let all = [(0, 11)];
        let refused = |kept: &mut SharedRows, first, longest, columns: &[(usize, usize)]| {
            kept.fill(Group { first, longest }, rows.view(), columns).unwrap_err().to_string()
        };
        assert!(refused(&mut kept, 1, 3, &all).contains("were to be kept"));
        assert!(refused(&mut kept, 0, 3, &[(0, 10)]).contains("10 numbers"));
        // Fewer positions than the first source has.
        assert!(refused(&mut kept, 0, 2, &all).contains("were to be kept"));
        let other = kept.clone();
        assert!(refused(&mut kept, 0, 3, &all).contains("cannot change"));
        drop(other);
        kept.fill(Group { first: 0, longest: 3 }, rows.view(), &all).unwrap();
    }
}
