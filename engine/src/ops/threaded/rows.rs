//! Matrices whose rows are a little longer than their width, and passes over them.

use rayon::prelude::*;

use super::buffer::{Buffer, Pooled};
use super::rows_per_chunk;
use super::sums::in_order;
use crate::ops::kernels::{self, DropoutMask, Matrix, MatrixMut, Real, layer_norm_gradient_row, layer_norm_row};

/// Rows of a partial sum of columns.
const SUM_ROWS: usize = 64;
/// What a row whose bytes are a multiple of a kibibyte is lengthened by: 64 bytes. Elements of a column would
/// otherwise share a few sets of the cache.
const PADDING_BYTES: usize = 64;

/// A row-major matrix of working memory; rows may be apart.
#[derive(Debug)]
pub struct Rows<T: Pooled> {
    data: Buffer<T>,
    count: usize,
    width: usize,
    stride: usize,
}

impl<T: Pooled> Rows<T> {
    /// Room for `rows` by `width` elements, with whatever was there before.
    pub fn take(rows: usize, width: usize) -> Self {
        let size = size_of::<T>();
        let is_aliased = width > 0 && (width * size).is_multiple_of(1024);
        let stride = if is_aliased { width + PADDING_BYTES / size } else { width };
        Self { data: Buffer::take(rows * stride), count: rows, width, stride }
    }

    /// As a matrix to read.
    pub fn view(&self) -> Slab<'_, T> {
        Slab { data: &self.data, rows: self.count, width: self.width, stride: self.stride }
    }

    /// As a matrix to write.
    pub fn output(&mut self) -> MatrixMut<'_, T> {
        MatrixMut::strided(&mut self.data, self.count, self.width, self.stride)
    }

    /// Calls `f` with every row and that of another matrix of the same shape, many rows a task.
    pub fn for_each_row_with(&mut self, other: &mut Self, f: impl Fn(&mut [T], &mut [T]) + Sync) {
        let (stride, width) = (self.stride, self.width);
        let chunk = rows_per_chunk(stride) * stride;
        if width == 0 {
            return;
        }
        self.data.par_chunks_mut(chunk).zip(other.data.par_chunks_mut(chunk)).for_each(|(xs, ys)| {
            for (xs, ys) in xs.chunks_mut(stride).zip(ys.chunks_mut(stride)) {
                if let (Some(xs), Some(ys)) = (xs.get_mut(..width), ys.get_mut(..width)) {
                    f(xs, ys);
                }
            }
        });
    }

    /// Calls `f` with the number and the elements of every row and with its place among `others`, many rows a task.
    pub fn for_each_row_and<R: Send>(&mut self, others: &mut [R], f: impl Fn(usize, &mut [T], &mut R) + Sync) {
        let (stride, width) = (self.stride, self.width);
        let rows = rows_per_chunk(stride);
        if width == 0 {
            return;
        }
        let tasks = self.data.par_chunks_mut(rows * stride).zip(others.par_chunks_mut(rows)).enumerate();
        tasks.for_each(|(task, (chunk, others))| {
            for (row, (xs, other)) in chunk.chunks_mut(stride).zip(others).enumerate() {
                if let Some(xs) = xs.get_mut(..width) {
                    f(task * rows + row, xs, other);
                }
            }
        });
    }

    /// Calls `f` with every `count` rows in turn: the number of the first, and them. Gives the results in order.
    pub fn map_row_chunks<R: Send>(
        &mut self,
        count: usize,
        f: impl Fn(usize, &mut dyn Iterator<Item = &mut [T]>) -> R + Sync,
    ) -> Vec<R> {
        let (stride, width) = (self.stride, self.width);
        if width == 0 {
            return Vec::new();
        }
        let tasks = self.data.par_chunks_mut(count * stride).enumerate();
        tasks
            .map(|(task, chunk)| f(task * count, &mut chunk.chunks_mut(stride).filter_map(|xs| xs.get_mut(..width))))
            .collect()
    }

    /// Calls `f` with the number and the elements of every row, many rows a task.
    pub fn for_each_row(&mut self, f: impl Fn(usize, &mut [T]) + Sync) {
        let (stride, width) = (self.stride, self.width);
        for_each_row(&mut self.data, stride, width, f);
    }
}

/// Calls `f` with the number and the elements of every row of `data`, many rows a task.
pub fn for_each_row<T: Real>(data: &mut [T], stride: usize, width: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    if width == 0 {
        return;
    }
    let rows = rows_per_chunk(stride);
    data.par_chunks_mut(rows * stride).enumerate().for_each(|(task, chunk)| {
        for (row, xs) in chunk.chunks_mut(stride).enumerate() {
            if let Some(xs) = xs.get_mut(..width) {
                f(task * rows + row, xs);
            }
        }
    });
}

/// A row-major matrix to read, whose rows may be apart.
#[derive(Clone, Copy, Debug)]
pub struct Slab<'a, T> {
    data: &'a [T],
    rows: usize,
    width: usize,
    stride: usize,
}

impl<'a, T: Real> Slab<'a, T> {
    /// All of `data`, `width` elements a row.
    pub fn dense(data: &'a [T], width: usize) -> Self {
        Self { data, rows: data.len() / width.max(1), width, stride: width }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One row; empty outside of the matrix.
    pub fn row(&self, row: usize) -> &'a [T] {
        self.data.get(row * self.stride..row * self.stride + self.width).unwrap_or(&[])
    }

    /// For products.
    pub fn matrix(&self) -> Matrix<'a, T> {
        Matrix::new(self.data, self.rows, self.width, self.stride, 1)
    }

    /// `count` columns from `first`.
    pub fn columns(&self, first: usize, count: usize) -> Self {
        let data = if self.rows == 0 { self.data } else { self.data.get(first..).unwrap_or(&[]) };
        Self { data, width: count, ..*self }
    }

    /// The sum of the rows, in an order that depends on the shape alone.
    pub fn column_sums(&self) -> Vec<T> {
        let partial: Vec<Vec<T>> = (0..self.rows.div_ceil(SUM_ROWS))
            .into_par_iter()
            .map(|task| {
                let mut sums = vec![T::ZERO; self.width];
                for row in task * SUM_ROWS..((task + 1) * SUM_ROWS).min(self.rows) {
                    kernels::add_assign(&mut sums, self.row(row));
                }
                sums
            })
            .collect();
        in_order(partial, self.width)
    }
}

/// A layer norm's parameters.
#[derive(Clone, Copy, Debug)]
pub struct NormWeights<'a, T> {
    /// `[width]`
    pub gain: &'a [T],
    /// `[width]`
    pub bias: &'a [T],
    /// Added to the variance.
    pub epsilon: f64,
}

/// The gradients of a layer norm's parameters.
#[derive(Debug)]
pub struct NormGradients<T> {
    /// `[width]`
    pub gain: Vec<T>,
    /// `[width]`
    pub bias: Vec<T>,
}

impl<T: Pooled> NormWeights<'_, T> {
    /// Every row of `x`, normalised.
    pub fn normalised(&self, x: Slab<'_, T>) -> Rows<T> {
        let mut y = Rows::take(x.rows(), x.width());
        y.for_each_row(|row, y| self.normalise(x.row(row), y));
        y
    }

    /// The same into `y`, row after row.
    pub fn write_normalised(&self, x: Slab<'_, T>, y: &mut [T]) {
        for_each_row(y, x.width(), x.width(), |row, y| self.normalise(x.row(row), y));
    }

    fn normalise(&self, x: &[T], y: &mut [T]) {
        layer_norm_row(x, self.gain, self.bias, T::of(self.epsilon), y);
    }

    /// Replaces the gradient `dy` of the normalised rows by that of the rows `x`, and adds `beside` to it: the
    /// gradient that reached `x` on another way.
    pub fn backward(&self, x: Slab<'_, T>, dy: Slab<'_, T>, beside: Option<&[T]>, dx: &mut [T]) -> NormGradients<T> {
        let width = x.width();
        if width == 0 || x.rows() == 0 {
            return NormGradients { gain: vec![T::ZERO; width], bias: vec![T::ZERO; width] };
        }
        let tasks = dx.par_chunks_mut(SUM_ROWS / 2 * width).enumerate();
        let (gain, bias) = tasks
            .map(|(task, dx)| {
                let (mut dgain, mut dbias) = (vec![T::ZERO; width], vec![T::ZERO; width]);
                for (row, dx) in dx.chunks_exact_mut(width).enumerate() {
                    let row = task * (SUM_ROWS / 2) + row;
                    let epsilon = T::of(self.epsilon);
                    layer_norm_gradient_row(x.row(row), self.gain, dy.row(row), epsilon, dx, &mut dgain, &mut dbias);
                    if let Some(beside) = beside.and_then(|beside| beside.get(row * width..(row + 1) * width)) {
                        kernels::add_assign(dx, beside);
                    }
                }
                (dgain, dbias)
            })
            .unzip();
        NormGradients { gain: in_order(gain, width), bias: in_order(bias, width) }
    }
}

/// `y = x + dropout(f)` row by row, where `f` starts out in `y`.
pub fn add_to_stream<T: Real>(y: &mut [T], x: &[T], width: usize, dropout: Option<&DropoutMask>) {
    let chunk = rows_per_chunk(width) * width;
    if chunk == 0 {
        return;
    }
    y.par_chunks_mut(chunk).zip(x.par_chunks(chunk)).enumerate().for_each(|(task, (y, x))| {
        if let Some(mask) = dropout {
            mask.apply(y, task * chunk);
        }
        kernels::add_assign(y, x);
    });
}
