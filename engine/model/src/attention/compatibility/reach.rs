//! What heads read of a position, as linear maps of what is there of it.
//!
//! A query, key, content or value is always a linear map `z M + o` of what a cache keeps of a position, whichever family it
//! is of: of the columns of [`ScoringForm::memory`](crate::ops::ScoringForm::memory), or of the stream itself. So a score
//! `q · (z M + o)` is `(q Mᵀ) · z + q · o`, and a head's mixed value `Σ p (z M + o)` is `(Σ p z) M + o Σ p`: the map moves to the
//! side of the query that asks, of which there is one for each new token, and what was kept is read as it is. Of the stream
//! this is EL-attention (Yan et al., 2021, equations 5 to 9); of a latent it is how `DeepSeek-V2` (2024) absorbs its matrices.

use candle_core::{Result, Tensor, bail};

use super::projected::kept_parts;
use crate::ops::{Affine, Columns, Derived, HeadProjections, Orientation, Reach, Reaches, Source, Through};

/// What heads read of what a key/value cache keeps: the outputs of maps that
/// [`HeadAttention::kept`](super::HeadAttention::kept) gives, side by side.
///
/// # Errors
/// If a form reads what is not there.
pub fn kept_reaches(projections: &HeadProjections) -> Result<Reaches> {
    let parts = kept_parts(projections.form());
    let width = parts.iter().map(|part| part.count).sum();
    reaches(projections, width, |columns| of_parts(projections, &parts, columns))
}

/// What heads read of the stream that the maps take.
///
/// # Errors
/// If a form reads what is not there.
pub fn stream_reaches(projections: &HeadProjections, width: usize) -> Result<Reaches> {
    reaches(projections, width, |columns| of_stream(projections, width, columns))
}

/// How queries of the heads that compute are read from outputs of the maps of the stream, and what is kept of these.
#[derive(Clone, Debug)]
pub struct QueryReaches {
    /// The maps whose outputs stand side by side.
    pub maps: Vec<Affine>,
    /// For each head.
    pub queries: Vec<Reach>,
    /// What a key/value cache keeps of them: first column and count.
    pub kept: Vec<(usize, usize)>,
}

impl QueryReaches {
    /// Of a layer; `keeps`: with what is kept of a new position, which cross-attention has nothing of.
    ///
    /// # Errors
    /// If a form reads what is not there.
    pub fn of(projections: &HeadProjections, keeps: bool) -> Result<Self> {
        let form = projections.form();
        let asked: Vec<Columns> = form.scores().filter_map(|scores| form.behind(scores.query)).collect();
        let is_asked = |part: &Columns| asked.iter().any(|columns| part.overlaps(*columns));
        let parts: Vec<Columns> = form.parts().into_iter().filter(|part| keeps || is_asked(part)).collect();
        let queries = form.scores().map(|scores| of_parts(projections, &parts, scores.query)).collect::<Result<_>>()?;
        let kept = if keeps { kept_parts(form) } else { Vec::new() };
        let kept = kept.into_iter().map(|part| Ok((place(&parts, part)?, part.count))).collect::<Result<_>>()?;
        Ok(Self { maps: maps_of(projections, parts)?, queries, kept })
    }
}

/// The maps of the stream whose outputs, side by side, are what [`HeadAttention::kept`](super::HeadAttention::kept) gives.
///
/// # Errors
/// If a form reads what is not there.
pub fn kept_maps(projections: &HeadProjections) -> Result<Vec<Affine>> {
    maps_of(projections, kept_parts(projections.form()))
}

/// Maps to these parts of outputs, side by side.
fn maps_of(projections: &HeadProjections, parts: Vec<Columns>) -> Result<Vec<Affine>> {
    // Neighbours of one map are one.
    let mut joined: Vec<Columns> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.of == part.of && last.first + last.count == part.first => last.count += part.count,
            _ => joined.push(part),
        }
    }
    let map = |part: Columns| match part.of {
        Source::Map(map) => projections.map(map)?.outputs(part.first, part.count),
        Source::Derived(_) => bail!("{part:?} of an attention layer are outputs of no map."),
    };
    joined.into_iter().map(map).collect()
}

fn reaches(projections: &HeadProjections, width: usize, reach: impl Fn(Columns) -> Result<Reach>) -> Result<Reaches> {
    let form = projections.form();
    let keys = form.scores().map(|scores| reach(scores.key)).collect::<Result<_>>()?;
    let contents = form.scores().filter_map(|scores| scores.content).map(&reach).collect::<Result<_>>()?;
    let values = form.heads.iter().map(|head| reach(head.value)).collect::<Result<_>>()?;
    Ok(Reaches { width, keys, contents, values })
}

/// Where columns of a map stand among some parts of maps, side by side.
fn place(parts: &[Columns], columns: Columns) -> Result<usize> {
    let mut before = 0;
    for part in parts {
        if part.overlaps(columns) {
            return Ok(before + columns.first - part.first);
        }
        before += part.count;
    }
    bail!("{columns:?} of an attention layer are not there.")
}

/// Columns read from parts of maps.
fn of_parts(projections: &HeadProjections, parts: &[Columns], columns: Columns) -> Result<Reach> {
    let behind = behind(projections, columns)?;
    let (through, offset) = through(projections, columns)?;
    Ok(Reach { first: place(parts, behind)?, count: behind.count, through, offset })
}

fn behind(projections: &HeadProjections, columns: Columns) -> Result<Columns> {
    match projections.form().behind(columns) {
        Some(behind) => Ok(behind),
        None => bail!("{columns:?} of an attention layer are made of nothing."),
    }
}

/// How columns are made of those of a map that stand behind them.
fn through(projections: &HeadProjections, columns: Columns) -> Result<(Through, Option<Tensor>)> {
    let Source::Derived(number) = columns.of else { return Ok((Through::Same, None)) };
    let Some(derived) = projections.form().derived.get(number) else {
        bail!("An attention layer has no derived matrix {number}.")
    };
    Ok(match derived {
        Derived::Mapped { map, .. } => {
            let (matrix, bias) = matrix(projections.map(*map)?, columns.first, columns.count)?;
            (Through::Matrix(matrix), bias)
        }
        Derived::Multiplied { by, .. } => {
            let block = projections.tensor(*by)?.get(columns.first / columns.count.max(1))?;
            (Through::Matrix(block.detach()), None)
        }
        Derived::Scaled { by, .. } | Derived::Mixed { by, .. } => {
            let factors = projections.tensor(*by)?.flatten_all()?.narrow(0, columns.first, columns.count)?;
            (Through::Factors(factors.detach()), None)
        }
    })
}

/// A map to some of its outputs as a matrix, and its bias. `[inputs, count]`, `[count]`
fn matrix(map: &Affine, first: usize, count: usize) -> Result<(Tensor, Option<Tensor>)> {
    let Affine { weight, bias, orientation } = map.outputs(first, count)?;
    let weight = match orientation {
        Orientation::InputsFirst => weight,
        Orientation::OutputsFirst => weight.t()?,
    };
    Ok((weight.detach().contiguous()?, bias.map(|bias| bias.detach().contiguous()).transpose()?))
}

/// Columns read from the stream: first the map that stands behind them, then what is made of its outputs.
fn of_stream(projections: &HeadProjections, width: usize, columns: Columns) -> Result<Reach> {
    let behind = behind(projections, columns)?;
    let Source::Map(map) = behind.of else { bail!("{columns:?} of an attention layer are outputs of no map.") };
    let (first, bias) = matrix(projections.map(map)?, behind.first, behind.count)?;
    let (through, offset) = through(projections, columns)?;
    let (matrix, bias) = match through {
        Through::Same => (first, bias),
        Through::Factors(factors) => (first.broadcast_mul(&factors)?, bias.map(|bias| bias.mul(&factors)).transpose()?),
        Through::Matrix(second) => {
            let bias = bias.map(|bias| bias.unsqueeze(0)?.matmul(&second)?.squeeze(0)).transpose()?;
            (first.matmul(&second.contiguous()?)?, bias)
        }
    };
    let offset = match (bias, offset) {
        (Some(bias), Some(offset)) => Some((bias + offset)?),
        (bias, offset) => bias.or(offset),
    };
    Ok(Reach { first: 0, count: width, through: Through::Matrix(matrix), offset })
}
