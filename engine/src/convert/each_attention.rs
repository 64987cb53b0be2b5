//! A whole model, one attention after the other.

use std::{ops::ControlFlow, time::Instant};

use super::{
    ConvertError,
    description::{Converted, ConvertedAttention, Progress, Run},
    weights::{Tensors, Weights, complete, places},
};
use crate::{attention::ModelPlan, model::ParameterSet};

/// Hears of a search: its beginning, the sweep and the error.
pub(super) type Tell<'a> = dyn FnMut(usize, usize, f64) -> ControlFlow<()> + 'a;

/// Converts one attention, the one of a number; returns the relative error of its products, none where no head computes, and the sweeps of a
/// search.
type ConvertOne<'a> =
    dyn FnMut(&Weights<'_>, usize, &mut Tensors, &mut Tell<'_>) -> Result<(Option<f64>, usize), ConvertError> + 'a;

/// Converts a model to the plan `after`. Everything that `convert` leaves alone stays as it is, bit for bit.
pub(super) fn each_attention(
    run: &mut Run<'_>,
    after: ModelPlan,
    convert: &mut ConvertOne<'_>,
) -> Result<Converted, ConvertError> {
    let mut tensors = run.parameters.tensors();
    let places = places(run.plan);
    let mut attentions = Vec::with_capacity(places.len());
    for (number, place) in places.iter().enumerate() {
        let begun = Instant::now();
        let weights = Weights::of(place);
        if weights.heads.attending() == 0 {
            continue;
        }
        weights.split(&mut tensors)?;
        let mut tell = |start: usize, sweep: usize, relative_error: f64| {
            let (attention, count) = (place.name.as_str(), places.len());
            (run.each)(Progress { attention, number, count, start, sweep, relative_error })
        };
        let (relative_error, sweeps) = convert(&weights, number, &mut tensors, &mut tell)?;
        let seconds = begun.elapsed().as_secs_f64();
        attentions.push(ConvertedAttention { attention: place.name.clone(), relative_error, sweeps, seconds });
    }
    complete(&after, &mut tensors)?;
    let parameters = ParameterSet::from_tensors(&after, tensors)?;
    Ok(Converted { plan: after, parameters, attentions, found: None, reuse: None, coverage: None })
}
