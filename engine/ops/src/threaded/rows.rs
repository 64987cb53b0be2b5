//! Matrices whose rows are a little longer than their width, and passes over them.

use rayon::prelude::*;

use super::buffer::{Buffer, Pooled};
use super::rows_per_chunk;
use super::sums::in_order;
use crate::kernels::{self, DropoutMask, Matrix, MatrixMut, Real, layer_norm_gradient_row, layer_norm_row, part};

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
    ///
    /// # Panics
    /// If it has another shape.
    pub fn for_each_row_with(&mut self, other: &mut Self, f: impl Fn(&mut [T], &mut [T]) + Sync) {
        let (stride, width) = (self.stride, self.width);
        assert_eq!((other.count, other.width), (self.count, width), "rows beside {} x {width}", self.count);
        let chunk = rows_per_chunk(stride) * stride;
        if width == 0 {
            return;
        }
        self.data.par_chunks_mut(chunk).zip(other.data.par_chunks_mut(chunk)).for_each(|(xs, ys)| {
            for (xs, ys) in xs.chunks_exact_mut(stride).zip(ys.chunks_exact_mut(stride)) {
                f(xs.split_at_mut(width).0, ys.split_at_mut(width).0);
            }
        });
    }

    /// Calls `f` with the number and the elements of every row and with its place among `others`, many rows a task.
    ///
    /// # Panics
    /// If there are not as many others.
    pub fn for_each_row_and<R: Send>(&mut self, others: &mut [R], f: impl Fn(usize, &mut [T], &mut R) + Sync) {
        let (stride, width) = (self.stride, self.width);
        assert_eq!(others.len(), self.count, "places beside the rows of a matrix");
        let rows = rows_per_chunk(stride);
        if width == 0 {
            return;
        }
        let tasks = self.data.par_chunks_mut(rows * stride).zip(others.par_chunks_mut(rows)).enumerate();
        tasks.for_each(|(task, (chunk, others))| {
            for (row, (xs, other)) in chunk.chunks_exact_mut(stride).zip(others).enumerate() {
                f(task * rows + row, xs.split_at_mut(width).0, other);
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
            .map(|(task, chunk)| {
                f(task * count, &mut chunk.chunks_exact_mut(stride).map(|xs| xs.split_at_mut(width).0))
            })
            .collect()
    }

    /// Calls `f` with the number and the elements of every row, many rows a task, and gives the sum of the rows as it leaves them: that
    /// of [`Slab::column_sums`], bit for bit.
    pub fn for_each_row_summed(&mut self, f: impl Fn(usize, &mut [T]) + Sync) -> Vec<T> {
        let width = self.width;
        let partial = self.map_row_chunks(SUM_ROWS, |first, rows| {
            let mut sums = vec![T::ZERO; width];
            for (offset, row) in rows.enumerate() {
                f(first + offset, row);
                kernels::add_assign(&mut sums, row);
            }
            sums
        });
        in_order(partial, width)
    }

    /// Calls `f` with the number and the elements of every row, many rows a task.
    pub fn for_each_row(&mut self, f: impl Fn(usize, &mut [T]) + Sync) {
        let (stride, width) = (self.stride, self.width);
        for_each_row(&mut self.data, stride, width, f);
    }
}

/// Calls `f` with the number and the elements of every row of `data`, many rows a task.
///
/// # Panics
/// If it is no whole number of rows.
pub fn for_each_row<T: Real>(data: &mut [T], stride: usize, width: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    if width == 0 {
        return;
    }
    assert!(data.len().is_multiple_of(stride), "rows that lie {stride} apart in {} elements", data.len());
    let rows = rows_per_chunk(stride);
    data.par_chunks_mut(rows * stride).enumerate().for_each(|(task, chunk)| {
        for (row, xs) in chunk.chunks_exact_mut(stride).enumerate() {
            f(task * rows + row, xs.split_at_mut(width).0);
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
    ///
    /// # Panics
    /// If it is no whole number of rows.
    pub fn dense(data: &'a [T], width: usize) -> Self {
        assert!(data.len().is_multiple_of(width.max(1)), "rows of {width} in {} elements", data.len());
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

    /// One row.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn row(&self, row: usize) -> &'a [T] {
        part(self.data, row * self.stride, self.width)
    }

    /// For products.
    pub fn matrix(&self) -> Matrix<'a, T> {
        Matrix::new(self.data, self.rows, self.width, self.stride, 1)
    }

    /// `count` columns from `first`.
    ///
    /// # Panics
    /// If they are not all there.
    pub fn columns(&self, first: usize, count: usize) -> Self {
        assert!(first + count <= self.width, "columns {first}..{} of {}", first + count, self.width);
        let data = if self.rows == 0 { self.data } else { self.data.split_at(first).1 };
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
    /// Fails unless it is for rows of `width`; `name` is told then.
    pub fn check(&self, name: &str, width: usize) {
        assert_eq!((self.gain.len(), self.bias.len()), (width, width), "gain and bias of the norm of {name}: {width}");
    }

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
    ///
    /// # Panics
    /// If a gradient has another shape than `x`.
    pub fn backward(&self, x: Slab<'_, T>, dy: Slab<'_, T>, beside: Option<&[T]>, dx: &mut [T]) -> NormGradients<T> {
        let width = x.width();
        let size = x.rows() * width;
        assert_eq!((dy.rows(), dy.width()), (x.rows(), width), "gradient of normalised rows {} x {width}", x.rows());
        assert_eq!(dx.len(), size, "gradient of rows before a norm: {} x {width}", x.rows());
        assert!(beside.is_none_or(|beside| beside.len() == size), "gradient beside a norm: {} x {width}", x.rows());
        if size == 0 {
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
                    if let Some(beside) = beside {
                        kernels::add_assign(dx, part(beside, row * width, width));
                    }
                }
                (dgain, dbias)
            })
            .unzip();
        NormGradients { gain: in_order(gain, width), bias: in_order(bias, width) }
    }
}

/// `y = x + dropout(f)` row by row, where `f` starts out in `y`.
///
/// # Panics
/// If `x` has another size.
pub fn add_to_stream<T: Real>(y: &mut [T], x: &[T], width: usize, dropout: Option<&DropoutMask>) {
    assert_eq!(x.len(), y.len(), "stream that a sub-layer is added to");
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
