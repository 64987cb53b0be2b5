//! Alternating least squares: mixing, queries and keys in turns, each the best for the others.
//!
//! # One sweep
//! With `G_M = MᵀM` and so on, `∘` element by element and `T` times the other two factors from [`HeadMaps`]:
//!
//! ```text
//! M (G_Q ∘ G_K) = T(Q, K)      Q (G_M ∘ G_K) = T(M, K)      K (G_M ∘ G_Q) = T(M, Q)
//! ```
//!
//! Four products of `[d, H d_k]` by `[H d_k, D]` and three systems of `D` unknowns: `O(H d d_k D + d D²)`.
//! The squared error follows from what the last of the three has computed: `‖T‖² - 2 ⟨T(M, Q), K⟩ + Σ G_M ∘ G_Q ∘ G_K`.
//!
//! Each factor goes on a little further in the direction it took (Ang, Cohen, Gillis, Hien, "Accelerating block coordinate
//! descent for nonnegative tensor factorization", 2021): further from sweep to sweep while the error falls; where it rises, the
//! sweep is taken back and the next steps are shorter. So the error never rises.

use std::ops::ControlFlow;

use super::{
    Factors, HeadMaps,
    factors::{beyond, gram, inner, times_each},
    least_squares::solve,
    start,
};
use crate::convert::ConvertError;

/// How far factors go on at first, as a share of the last step.
const FIRST_STEP: f64 = 0.5;

/// How much further after a sweep that made the error less, and how much less far after one that did not.
const LONGER: f64 = 1.05;
const SHORTER: f64 = 1.5;

/// How much the longest step that is allowed grows after such a sweep.
const ALLOWED: f64 = 1.01;

/// Sweeps between two looks at whether it still gets better.
const LOOK_EVERY: usize = 10;

/// The error at which nothing is left to find, relative to `‖T‖`: differences of norms say no less.
const LEAST_ERROR: f64 = 1e-8;

/// How factors are searched for.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Shared width D.
    pub d_k: usize,
    /// Random beginnings beside the one from singular vectors.
    pub random_starts: usize,
    /// What the random ones are drawn from.
    pub seed: u64,
    /// Tells the searches of one seed apart.
    pub index: u64,
    /// The most sweeps from each beginning.
    pub sweeps: usize,
    /// A search ends where ten sweeps make the error less by a smaller share than this.
    pub tolerance: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The factors.
    pub factors: Factors,
    /// `‖T - T~‖ / ‖T‖`.
    pub relative_error: f64,
    /// Sweeps of all beginnings together; 0 where none was needed.
    pub sweeps: usize,
}

/// The best factors of a width. `each` hears of the beginning, from 0, of every sweep and of the relative error, and may
/// end the search.
///
/// # Errors
/// If numbers are not finite, or `each` ends it.
pub fn decompose(
    maps: &HeadMaps,
    search: &Search,
    each: &mut dyn FnMut(usize, usize, f64) -> ControlFlow<()>,
) -> Result<Found, ConvertError> {
    let norm = maps.norm_squared();
    if !norm.is_finite() {
        return Err(ConvertError::NotFinite);
    }
    if let Some(factors) = Factors::exact(maps, search.d_k) {
        return Ok(Found { relative_error: maps.relative_error(&factors), factors, sweeps: 0 });
    }
    if norm == 0.0 {
        let factors = start::at_random(maps, search.d_k, search.seed, search.index);
        return Ok(Found { factors, relative_error: 0.0, sweeps: 0 });
    }
    let mut best: Option<(Factors, f64)> = None;
    let mut sweeps = 0;
    for number in 0..=search.random_starts {
        let from = if number == 0 {
            start::from_singular_vectors(maps, search.d_k)?
        } else {
            let index = (search.index << 16) + number as u64;
            start::at_random(maps, search.d_k, search.seed, index)
        };
        let mut tell = |sweep: usize, error: f64| each(number, sweep, error);
        let run = alternate(maps, norm, from, search, &mut tell)?;
        sweeps += run.sweeps;
        if best.as_ref().is_none_or(|(_, error)| run.error < *error) {
            best = Some((run.factors, run.error));
        }
        if best.as_ref().is_some_and(|(_, error)| *error <= LEAST_ERROR) {
            break;
        }
    }
    let Some((factors, _)) = best else { return Err(ConvertError::NotFinite) };
    let factors = factors.normalised();
    Ok(Found { relative_error: maps.relative_error(&factors), factors, sweeps })
}

struct Run {
    factors: Factors,
    error: f64,
    sweeps: usize,
}

/// One search, from one beginning.
fn alternate(
    maps: &HeadMaps,
    norm: f64,
    from: Factors,
    search: &Search,
    each: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Run, ConvertError> {
    // The best so far; where the last sweep ended; where the next one begins.
    let (mut best, mut least) = (from.clone(), f64::INFINITY);
    let (mut before, mut ahead) = (from.clone(), from);
    let (mut step, mut allowed) = (FIRST_STEP, 1.0_f64);
    let mut looked = f64::INFINITY;
    // What stays the same from one sweep to the next.
    let mut queries = maps.of_queries(&ahead.query);
    let mut gram_of_queries = gram(&ahead.query);
    let mut sweep = 0;
    while sweep < search.sweeps {
        sweep += 1;
        // The first sweep has no direction yet.
        let go = if sweep == 1 { 0.0 } else { step };
        let keys = maps.of_keys(&ahead.key);
        let gram_of_keys = gram(&ahead.key);
        let system = times_each(gram_of_queries.clone(), &gram_of_keys);
        let mixing = solve(&system, maps.times_both(&queries, &keys), &ahead.mixing).ok_or(ConvertError::NotFinite)?;
        let mixing_ahead = beyond(&mixing, &before.mixing, go);

        let gram_of_mixing = gram(&mixing_ahead);
        let system = times_each(gram_of_keys, &gram_of_mixing);
        let right = maps.times_keys(&mixing_ahead, &keys);
        let query = solve(&system, right, &ahead.query).ok_or(ConvertError::NotFinite)?;
        let query_ahead = beyond(&query, &before.query, go);

        queries = maps.of_queries(&query_ahead);
        gram_of_queries = gram(&query_ahead);
        let system = times_each(gram_of_mixing, &gram_of_queries);
        let right = maps.times_queries(&mixing_ahead, &queries);
        let key = solve(&system, right.clone(), &ahead.key).ok_or(ConvertError::NotFinite)?;

        let square = (norm - 2.0 * inner(&right, &key) + inner(&system, &gram(&key))) / norm;
        let error = square.max(0.0).sqrt();
        if error <= least {
            let key_ahead = beyond(&key, &before.key, go);
            before = Factors { mixing, query, key: key.clone() };
            best = Factors { mixing: mixing_ahead.clone(), query: query_ahead.clone(), key };
            ahead = Factors { mixing: mixing_ahead, query: query_ahead, key: key_ahead };
            least = error;
            if sweep > 1 {
                allowed = (ALLOWED * allowed).min(1.0);
                step = (LONGER * step).min(allowed);
            }
        } else if go == 0.0 || error.is_nan() {
            // Rounding alone: nothing is left to find.
            break;
        } else {
            allowed = step;
            step /= SHORTER;
            before = best.clone();
            ahead = best.clone();
            queries = maps.of_queries(&ahead.query);
            gram_of_queries = gram(&ahead.query);
        }
        if each(sweep, least).is_break() {
            return Err(ConvertError::Stopped);
        }
        if least <= LEAST_ERROR {
            break;
        }
        if sweep.is_multiple_of(LOOK_EVERY) {
            if looked - least < search.tolerance * least {
                break;
            }
            looked = least;
            best.balance(&mut [&mut before, &mut ahead]);
            queries = maps.of_queries(&ahead.query);
            gram_of_queries = gram(&ahead.query);
        }
    }
    Ok(Run { factors: best, error: least, sweeps: sweep })
}
