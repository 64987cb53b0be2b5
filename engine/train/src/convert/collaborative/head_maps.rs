use rayon::prelude::*;

use super::{Factors, factors::dot};
use crate::{
    analysis::Dense,
    convert::products::norm_squared,
    ops::{Matrix, MatrixMut, parallel_product, part},
};

/// Rows of a residual that are formed at the same time.
const BLOCK_ROWS: usize = 64;

/// `W_Q` and `W_K` of the heads of a layer: the tensor `T_i = W_Q,i W_K,iᵀ` by its own factors.
#[derive(Clone, Debug)]
pub struct HeadMaps {
    /// `W_Q` of all heads side by side. `[d, H d_k]`
    pub(in crate::convert) query: Dense,
    /// `W_K` likewise.
    pub(in crate::convert) key: Dense,
    /// Size of a head `d_k`.
    pub(super) size: usize,
}

impl HeadMaps {
    /// Heads of size `size` side by side, row after row. `[d, H d_k]` both.
    ///
    /// # Panics
    /// If the numbers are not as many as the shapes say, or the columns no whole heads.
    pub fn new(query: Vec<f64>, key: Vec<f64>, [width, columns]: [usize; 2], size: usize) -> Self {
        assert!(size > 0 && columns.is_multiple_of(size), "{columns} columns of heads of size {size}");
        let of = |values: Vec<f64>, what: &str| {
            assert_eq!(values.len(), width * columns, "{what} of the heads");
            Dense { rows: width, columns, values }
        };
        Self { query: of(query, "queries"), key: of(key, "keys"), size }
    }

    /// Heads H.
    pub fn heads(&self) -> usize {
        self.query.columns / self.size
    }

    /// Columns of all heads, `H d_k`: from as many shared columns on, nothing is lost.
    pub fn exact_width(&self) -> usize {
        self.query.columns
    }

    /// Width d of the stream.
    pub fn width(&self) -> usize {
        self.query.rows
    }

    /// `‖T‖²`, the sum over heads of the products of two Gram matrices.
    pub(super) fn norm_squared(&self) -> f64 {
        let of_head = |head: usize| {
            let [query, key] = [&self.query, &self.key].map(|all| all.columns(head * self.size, self.size));
            norm_squared(&query, &key)
        };
        (0..self.heads()).map(of_head).sum()
    }

    /// `W_Qᵀ q` of every head's columns: what queries of the factors are to the heads. `[H d_k, D]`
    pub(super) fn of_queries(&self, shared: &Dense) -> Dense {
        self.query.transposed_times(shared)
    }

    /// The same of keys.
    pub(super) fn of_keys(&self, shared: &Dense) -> Dense {
        self.key.transposed_times(shared)
    }

    /// `T` times both shared maps, for every head: `out[i, r] = q_rᵀ T_i k_r`. `[H, D]` from [`Self::of_queries`] and
    /// [`Self::of_keys`].
    pub(super) fn times_both(&self, queries: &Dense, keys: &Dense) -> Dense {
        let d = queries.columns;
        let mut out = Dense::zeros(self.heads(), d);
        out.values.par_chunks_mut(d.max(1)).enumerate().for_each(|(head, out)| {
            for row in head * self.size..(head + 1) * self.size {
                let (query, key) = (part(&queries.values, row * d, d), part(&keys.values, row * d, d));
                for ((out, query), key) in out.iter_mut().zip(query).zip(key) {
                    *out += query * key;
                }
            }
        });
        out
    }

    /// `T` times the mixing matrix and the shared keys: `out[:, r] = Σ_i m_ir T_i k_r`. `[d, D]` from [`Self::of_keys`].
    pub(super) fn times_keys(&self, mixing: &Dense, keys: &Dense) -> Dense {
        self.query.times(&self.mixed(mixing, keys))
    }

    /// `T` times the mixing matrix and the shared queries: `out[:, r] = Σ_i m_ir T_iᵀ q_r`. `[d, D]` from
    /// [`Self::of_queries`].
    pub(super) fn times_queries(&self, mixing: &Dense, queries: &Dense) -> Dense {
        self.key.times(&self.mixed(mixing, queries))
    }

    /// Every head's rows times its mixing row, element by element. `[H d_k, D]`
    fn mixed(&self, mixing: &Dense, rows: &Dense) -> Dense {
        let d = rows.columns;
        let mut out = rows.clone();
        out.values.par_chunks_mut((self.size * d).max(1)).enumerate().for_each(|(head, rows)| {
            let mixing = part(&mixing.values, head * d, d);
            for row in rows.chunks_exact_mut(d.max(1)) {
                for (value, weight) in row.iter_mut().zip(mixing) {
                    *value *= weight;
                }
            }
        });
        out
    }

    /// `‖T - T~‖ / ‖T‖` in Frobenius norms, of differences and not of a difference of norms, so that the smallest error is
    /// right too. It forms a few rows of the residual at a time. 0 where there is nothing to approximate.
    pub fn relative_error(&self, factors: &Factors) -> f64 {
        let (d, shared) = (self.width(), factors.width());
        let norm = self.norm_squared();
        if norm == 0.0 || d == 0 {
            return 0.0;
        }
        let blocks: Vec<(usize, usize)> =
            (0..self.heads()).flat_map(|head| (0..d).step_by(BLOCK_ROWS).map(move |row| (head, row))).collect();
        let key = factors.key.view();
        let of_block = |&(head, first): &(usize, usize)| {
            let count = BLOCK_ROWS.min(d - first);
            let weights = part(&factors.mixing.values, head * shared, shared);
            let rows = part(&factors.query.values, first * shared, count * shared);
            let rows: Vec<f64> =
                rows.chunks_exact(shared.max(1)).flat_map(|row| row.iter().zip(weights).map(|(q, m)| -q * m)).collect();
            let mut left = Dense::zeros(count, d);
            let own = self.query.view().row_block(first, count).column_block(head * self.size, self.size);
            let own_key = self.key.view().column_block(head * self.size, self.size).transposed();
            parallel_product(MatrixMut::new(&mut left.values, count, d), own, own_key, false);
            let rows = Matrix::row_major(&rows, count, shared);
            parallel_product(MatrixMut::new(&mut left.values, count, d), rows, key.transposed(), true);
            dot(&left.values, &left.values)
        };
        let squares: Vec<f64> = blocks.par_iter().map(of_block).collect();
        (squares.iter().sum::<f64>() / norm).sqrt()
    }

    /// Content biases `v_i = W_K,i b_Q,i` of all heads, a column each (equation 12). `[d, H]`
    ///
    /// # Panics
    /// If there are not as many biases as columns of the heads.
    pub fn content_biases(&self, query_bias: &[f64]) -> Vec<f64> {
        assert_eq!(query_bias.len(), self.exact_width(), "query biases of the heads");
        let rows = self.key.values.chunks_exact(self.exact_width().max(1));
        let of_row = |row: &[f64]| -> Vec<f64> {
            let heads = row.chunks_exact(self.size).zip(query_bias.chunks_exact(self.size));
            heads.map(|(key, bias)| dot(key, bias)).collect()
        };
        rows.flat_map(of_row).collect()
    }
}

impl Factors {
    /// The factors that lose nothing: heads side by side, each mixing row one in its own columns and zero elsewhere
    /// (equation 8). Columns beyond those of the heads are zero. None where `d_k` is less than `H` times the size of a head.
    pub fn exact(maps: &HeadMaps, d_k: usize) -> Option<Self> {
        let beyond = d_k.checked_sub(maps.exact_width())?;
        let padded = |all: &Dense| {
            let none = Dense::zeros(all.rows, beyond);
            Dense::side_by_side(&[all.clone(), none])
        };
        let mut mixing = Dense::zeros(maps.heads(), d_k);
        for (head, row) in mixing.values.chunks_exact_mut(d_k.max(1)).enumerate() {
            for weight in row.iter_mut().skip(head * maps.size).take(maps.size) {
                *weight = 1.0;
            }
        }
        Some(Self { mixing, query: padded(&maps.query), key: padded(&maps.key) })
    }
}
