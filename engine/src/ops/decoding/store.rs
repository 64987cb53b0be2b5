use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::reach::Reaches;
use crate::ops::{
    element::Reading,
    kernels::{Rows, part},
};

/// What was kept of the positions that all rows of a source attend to: of a prompt, or of what an encoder read. Once for a
/// source, however many rows there are, and without padding.
///
/// What a head reads lies together, position after position, so that a pass over it goes through memory from one end to the
/// other: source by source, and of each the columns in blocks.
#[derive(Clone, Debug)]
pub struct SharedRows {
    data: Arc<Vec<f32>>,
    /// Numbers of a position.
    pub(super) width: usize,
    /// First column and count of each block, from left to right, of all columns.
    blocks: Arc<Vec<(usize, usize)>>,
    /// The first position of each source and how many it has.
    pub(super) spans: Arc<Vec<(usize, usize)>>,
}

impl SharedRows {
    /// What was kept of sources, side by side in some tensors; `lengths` says how many positions each source has, of those that
    /// the tensors have for it. `reaches` says what heads read.
    ///
    /// # Shapes
    /// `parts` `[sources, n, _]`, of [`Reaches::width`] columns together.
    ///
    /// # Errors
    /// If the tensors have other shapes, or are not in single precision on the processor.
    pub fn new(parts: &[Tensor], lengths: &[usize], reaches: &Reaches) -> Result<Self> {
        let parts = parts.iter().map(|part| part.detach().contiguous()).collect::<Result<Vec<_>>>()?;
        let shapes = parts.iter().map(Tensor::dims3).collect::<Result<Vec<_>>>()?;
        let longest = shapes.first().map_or(0, |shape| shape.1);
        let width: usize = shapes.iter().map(|shape| shape.2).sum();
        let is_other = shapes.iter().any(|(sources, n, _)| (*sources, *n) != (lengths.len(), longest));
        if is_other || width != reaches.width || lengths.iter().any(|length| *length > longest) {
            bail!(
                "Heads that read {} numbers of a position were given tensors of the shapes {shapes:?}.",
                reaches.width
            )
        }
        let blocks = blocks(reaches);
        let mut begin = 0;
        let span = |length: &usize| {
            begin += length;
            (begin - length, *length)
        };
        let spans: Vec<(usize, usize)> = lengths.iter().map(span).collect();
        let mut data = vec![0.0; begin * width];
        // Which part has a column, and where.
        let opened: Vec<Reading<'_>> = parts.iter().map(Reading::of).collect();
        let values = opened.iter().map(Reading::slice::<f32>).collect::<Result<Vec<_>>>()?;
        let mut pieces = Vec::new();
        let mut rest = data.as_mut_slice();
        for (source, length) in lengths.iter().enumerate() {
            for &block in &blocks {
                let piece;
                (piece, rest) = rest.split_at_mut(length * block.1);
                pieces.push((source, block, piece));
            }
        }
        pieces.into_par_iter().for_each(|(source, (first, count), out)| {
            let mut start = 0;
            for (values, (_, _, width)) in values.iter().zip(&shapes) {
                // The columns of the block that this part has.
                let (from, to) = (first.max(start), (first + count).min(start + width));
                for (position, row) in out.chunks_exact_mut(count.max(1)).enumerate().filter(|_| from < to) {
                    let columns = part(values, (source * longest + position) * width + from - start, to - from);
                    row[from - first..to - first].copy_from_slice(columns);
                }
                start += width;
            }
        });
        Ok(Self { data: Arc::new(data), width, blocks: Arc::new(blocks), spans: Arc::new(spans) })
    }

    /// Columns from `column` on of all positions of a source, as far as their block goes.
    pub(super) fn rows(&self, source: usize, column: usize) -> Rows<'_> {
        let (start, positions) = self.span(source);
        let block = self.blocks.iter().find(|(first, count)| column < first + count);
        let (first, count) = block.copied().unwrap_or_default();
        Rows::every(&self.data, start * self.width + first * positions + column - first, count, positions)
    }

    /// The positions of a source.
    pub(super) fn span(&self, source: usize) -> (usize, usize) {
        self.spans.get(source).copied().unwrap_or_default()
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

/// Columns in blocks that heads read together: those of two heads that have some in common are in the same one.
fn blocks(reaches: &Reaches) -> Vec<(usize, usize)> {
    let read = reaches.keys.iter().chain(&reaches.contents).chain(&reaches.values);
    let mut read: Vec<(usize, usize)> = read.map(|reach| (reach.first, reach.count)).collect();
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
    blocks
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

    /// Places that were taken so far, by rows that do not go on too.
    pub fn places_taken(&self) -> usize {
        self.written as usize
    }

    /// Tokens that a row has written.
    pub fn written(&self, row: usize) -> usize {
        self.rows.get(row).map_or(0, |row| row.places.len())
    }

    /// The source of a row.
    pub fn source(&self, row: usize) -> usize {
        self.rows.get(row).map_or(0, |row| row.source)
    }

    /// Rows that go on from others: row i from `parents[i]`.
    pub fn select(&mut self, parents: &[usize]) {
        self.rows = parents.iter().filter_map(|parent| self.rows.get(*parent)).cloned().collect();
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
        self.rows.get(row).map_or(&[], |row| &row.places)
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
