use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::map::WORTH_THREADS;
use crate::{
    kernels::{Places, Rows, add_assign, add_product, combine, multiply_assign, part},
    profile::Work,
    threaded::Buffer,
};

/// A linear map from some columns of a row to what a head reads: `z[first..first + count] M + o`.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The first of the columns.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// M.
    pub through: Through,
    /// o, if there is one. `[w]`
    pub offset: Option<Tensor>,
}

/// The matrix of a [`Reach`].
#[derive(Clone, Debug)]
pub enum Through {
    /// Columns are read as they are.
    Same,
    /// Each column times a number. `[count]`
    Factors(Tensor),
    /// `[count, w]`
    Matrix(Tensor),
}

/// What the heads of an attention read of a position, from one matrix with a row for each.
#[derive(Clone, Debug, Default)]
pub struct Reaches {
    /// Numbers of a row.
    pub width: usize,
    /// Keys of the heads that compute.
    pub keys: Vec<Reach>,
    /// What is added to the scores of a key, one number for each of these heads; empty where nothing is.
    pub contents: Vec<Reach>,
    /// Values of the heads that attend.
    pub values: Vec<Reach>,
}

/// Reaches of several heads, all of the same sizes, as numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    /// Where the columns of each head begin.
    pub firsts: Vec<usize>,
    /// How many columns.
    pub count: usize,
    /// Numbers that a head reads.
    pub size: usize,
    matrices: Matrices,
    /// `[heads, size]`; empty where all are zero.
    offsets: Vec<f32>,
}

#[derive(Clone, Debug, Default)]
enum Matrices {
    #[default]
    None,
    /// `[heads, count]`
    Factors(Vec<f32>),
    /// `[heads, count, size]`, or `[heads, size, count]` where that was asked for.
    Whole(Vec<f32>),
}

/// What is applied to a row of a head.
pub(super) enum OfHead<'a> {
    Same,
    Factors(&'a [f32]),
    Matrix(&'a [f32]),
}

impl Reached {
    /// `transposed`: matrices as they take queries to rows.
    pub fn new(reaches: &[Reach], transposed: bool) -> Result<Self> {
        let Some(first) = reaches.first() else { return Ok(Self::default()) };
        let size = match &first.through {
            Through::Matrix(matrix) => matrix.dim(1)?,
            Through::Same | Through::Factors(_) => first.count,
        };
        let mut reached = Self { count: first.count, size, ..Self::default() };
        let has_offsets = reaches.iter().any(|reach| reach.offset.is_some());
        let numbers = |tensor: &Tensor| tensor.detach().contiguous()?.flatten_all()?.to_vec1::<f32>();
        for reach in reaches {
            if reach.count != first.count {
                bail!("The heads of an attention layer read blocks of different sizes.")
            }
            reached.firsts.push(reach.first);
            match (&reach.through, &mut reached.matrices) {
                (Through::Same, Matrices::None) => {}
                (Through::Factors(factors), Matrices::Factors(all)) => all.extend(numbers(factors)?),
                (Through::Factors(factors), empty @ Matrices::None) => *empty = Matrices::Factors(numbers(factors)?),
                (Through::Matrix(matrix), all) => {
                    let matrix = if transposed { matrix.t()? } else { matrix.clone() };
                    match all {
                        Matrices::Whole(all) => all.extend(numbers(&matrix)?),
                        empty => *empty = Matrices::Whole(numbers(&matrix)?),
                    }
                }
                _ => bail!("The heads of an attention layer read their blocks in different ways."),
            }
            if has_offsets {
                match &reach.offset {
                    Some(offset) => reached.offsets.extend(numbers(offset)?),
                    None => reached.offsets.extend(vec![0.0; size]),
                }
            }
        }
        Ok(reached)
    }

    /// How many heads there are.
    pub fn heads(&self) -> usize {
        self.firsts.len()
    }

    /// Whether columns are read as they are.
    pub fn is_same(&self) -> bool {
        matches!(self.matrices, Matrices::None)
    }

    /// What is done to the columns of a head.
    pub fn of_head(&self, head: usize) -> OfHead<'_> {
        match &self.matrices {
            Matrices::None => OfHead::Same,
            Matrices::Factors(all) => OfHead::Factors(part(all, head * self.count, self.count)),
            Matrices::Whole(all) => OfHead::Matrix(part(all, head * self.count * self.size, self.count * self.size)),
        }
    }

    /// The matrices of all heads, as they are, where there are whole ones; otherwise nothing.
    fn whole(self) -> Vec<f32> {
        match self.matrices {
            Matrices::Whole(all) => all,
            Matrices::None | Matrices::Factors(_) => Vec::new(),
        }
    }

    /// Whether any head has an offset.
    pub fn has_offsets(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// The offset of a head, if there is one.
    pub fn offset(&self, head: usize) -> Option<&[f32]> {
        self.has_offsets().then(|| part(&self.offsets, head * self.size, self.size))
    }

    /// Multiply-accumulates of the matrices of all heads for one row.
    fn work(&self) -> usize {
        match &self.matrices {
            Matrices::None | Matrices::Factors(_) => 0,
            Matrices::Whole(all) => all.len(),
        }
    }

    /// Columns that heads read of a row, those that several read once.
    pub fn columns(&self) -> usize {
        let is_first = |(place, first): &(usize, &usize)| !self.firsts[..*place].contains(first);
        self.firsts.iter().enumerate().filter(is_first).count() * self.count
    }

    /// What the matrices of all heads must do for some rows, for profiles; nothing where columns are read as they are.
    pub fn mapping(&self, rows: usize) -> Work {
        let numbers = self.work();
        let of_rows = if numbers > 0 { self.heads() * rows * (self.count + self.size) } else { 0 };
        Work { flops: 2 * (numbers * rows) as u64, bytes: 0 } + Work::pass::<f32>(numbers + of_rows)
    }

    /// What [`Self::read`] must do, for profiles.
    pub fn reading(&self, rows: usize) -> Work {
        if self.work() > 0 { self.mapping(rows) } else { Work::pass::<f32>(2 * self.heads() * rows * self.size) }
    }

    /// What a head reads of rows of its columns, which are not as they are, without its offset: written to `out`, or added.
    /// `[rows, count]` to `[rows, size]`
    pub fn through(&self, head: usize, rows: Rows<'_>, out: &mut [f32], adds: bool) {
        let Self { count, size, .. } = *self;
        match self.of_head(head) {
            OfHead::Matrix(matrix) => combine(
                rows,
                Rows::every(matrix, 0, size, count),
                size,
                out,
                Places::Every { first: 0, stride: size, count: rows.places.count() },
                adds,
            ),
            OfHead::Factors(factors) => {
                if !adds {
                    out.fill(0.0);
                }
                for (row, out) in out.chunks_exact_mut(size.max(1)).enumerate() {
                    add_product(out, rows.row(row, count), factors);
                }
            }
            OfHead::Same => {}
        }
    }

    /// What heads read of some rows of `width` numbers. `[rows, width]` to `[heads, rows, size]`
    pub fn read(&self, rows: &[f32], width: usize, count: usize) -> Buffer<f32> {
        let (size, columns) = (self.size, self.count);
        let mut out = Buffer::take(self.heads() * count * size);
        if out.is_empty() {
            return out;
        }
        for_each_chunk(&mut out, count * size, self.work() * count, |(head, out)| {
            let first = self.firsts[head];
            match self.of_head(head) {
                OfHead::Matrix(matrix) => combine(
                    Rows::every(rows, first, width, count),
                    Rows::every(matrix, 0, size, columns),
                    size,
                    out,
                    Places::Every { first: 0, stride: size, count },
                    false,
                ),
                of_head => {
                    for (row, out) in out.chunks_exact_mut(size).enumerate() {
                        out.copy_from_slice(&rows[row * width + first..][..size]);
                        if let OfHead::Factors(factors) = of_head {
                            multiply_assign(out, factors);
                        }
                    }
                }
            }
            if let Some(offset) = self.offset(head) {
                for out in out.chunks_exact_mut(size) {
                    add_assign(out, offset);
                }
            }
        });
        out
    }
}

/// Chunks of a slice, over threads where the work is worth it.
pub(super) fn for_each_chunk(
    out: &mut [f32],
    chunk: usize,
    work: usize,
    each: impl Fn((usize, &mut [f32])) + Send + Sync,
) {
    if work < WORTH_THREADS {
        out.chunks_exact_mut(chunk).enumerate().for_each(each);
    } else {
        out.par_chunks_exact_mut(chunk).enumerate().for_each(each);
    }
}

/// How the heads of an attention read one kind of kept rows.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub width: usize,
    /// Keys; their matrices take queries to rows.
    pub keys: Reached,
    pub contents: Contents,
    /// Values; their matrices take rows to what heads mix.
    pub values: Reached,
}

/// What is added to the scores of a key.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    None,
    /// A vector to be added to the query of each head as it meets rows, since it reads the same columns as its key, and a
    /// number.
    Folded {
        vectors: Vec<f32>,
        numbers: Vec<f32>,
    },
    /// One column of a row for each head.
    Columns(Vec<usize>),
}

impl Side {
    pub fn new(parts: &Reaches) -> Result<Self> {
        let keys = Reached::new(&parts.keys, true)?;
        let contents = Reached::new(&parts.contents, false)?;
        let contents = if contents.heads() == 0 {
            Contents::None
        } else if contents.is_same() {
            Contents::Columns(contents.firsts)
        } else if contents.firsts == keys.firsts && contents.count == keys.count {
            let numbers = if contents.has_offsets() { contents.offsets.clone() } else { vec![0.0; contents.heads()] };
            Contents::Folded { numbers, vectors: contents.whole() }
        } else {
            bail!("The content biases of an attention layer are of other columns than its keys.")
        };
        Ok(Self { width: parts.width, keys, contents, values: Reached::new(&parts.values, false)? })
    }

    /// The column of a head's content bias, where it is one.
    pub fn content_column(&self, head: usize) -> Option<usize> {
        match &self.contents {
            Contents::Columns(columns) => columns.get(head).copied(),
            Contents::None | Contents::Folded { .. } => None,
        }
    }

    /// Queries as they meet rows, `q Mᵀ` with folded contents, and what offsets add to all scores of each, head by head and row
    /// by row; no queries where these are as they were. `[heads, rows, size]` to `[heads, rows, count]`
    pub fn expand(&self, q: &[f32], rows: usize) -> (Option<Buffer<f32>>, Vec<f32>) {
        let Reached { count, size, .. } = self.keys;
        let heads = self.keys.heads();
        let mut biases = vec![0.0; heads * rows];
        if let Contents::Folded { numbers, .. } = &self.contents {
            for (biases, number) in biases.chunks_exact_mut(rows.max(1)).zip(numbers) {
                biases.fill(*number);
            }
        }
        for head in 0..heads {
            let Some(offset) = self.keys.offset(head) else { break };
            for row in 0..rows {
                let q = &q[(head * rows + row) * size..][..size];
                biases[head * rows + row] += q.iter().zip(offset).map(|(q, o)| q * o).sum::<f32>();
            }
        }
        let folded = match &self.contents {
            Contents::Folded { vectors, .. } => Some(vectors),
            Contents::None | Contents::Columns(_) => None,
        };
        if (self.keys.is_same() && folded.is_none()) || heads * rows * count == 0 {
            return (None, biases);
        }
        let mut expanded = Buffer::take(heads * rows * count);
        for_each_chunk(&mut expanded, rows * count, self.keys.work() * rows, |(head, out)| {
            let q = &q[head * rows * size..][..rows * size];
            match self.keys.of_head(head) {
                OfHead::Matrix(matrix) => combine(
                    Rows::every(q, 0, size, rows),
                    Rows::every(matrix, 0, count, size),
                    count,
                    out,
                    Places::Every { first: 0, stride: count, count: rows },
                    false,
                ),
                OfHead::Factors(factors) => {
                    out.copy_from_slice(q);
                    out.chunks_exact_mut(count).for_each(|out| multiply_assign(out, factors));
                }
                OfHead::Same => out.copy_from_slice(q),
            }
            if let Some(vectors) = folded {
                for out in out.chunks_exact_mut(count) {
                    add_assign(out, &vectors[head * count..][..count]);
                }
            }
        });
        (Some(expanded), biases)
    }
}
