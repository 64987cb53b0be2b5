use std::collections::BTreeMap;

use headroom_engine::store::{ExampleOutcomes, RunId};

use crate::compare::RunOutcomes;

/// Identity of the outcomes of an evaluation: step, number of examples, and the bits of the first and the last loss.
pub(super) type Print = (u64, usize, Option<u32>, Option<u32>);

/// Derived values, by run, with the evaluations that it was derived from.
#[derive(Default)]
pub struct SamplingNoiseCache(pub(super) BTreeMap<RunId, (Vec<Print>, RunOutcomes)>);

/// Identity of these outcomes.
pub(super) fn print(outcomes: &ExampleOutcomes) -> Print {
    let bits = |loss: Option<&f32>| loss.map(|loss| loss.to_bits());
    (outcomes.step, outcomes.len(), bits(outcomes.loss.first()), bits(outcomes.loss.last()))
}
