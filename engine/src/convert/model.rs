//! A whole model, one attention after the other.

use std::{collections::BTreeMap, ops::ControlFlow, time::Instant};

use serde::{Deserialize, Serialize};

use super::{
    Conversion, ConvertError, OneMap, ToCollaborative, ToGrouped, borrow, collaborative_attention, grouped, one_map,
    weights::{Weights, complete, places},
};
use crate::{
    attention::{HeadPlan, ModelPlan, Positions},
    config::{Biases, Collaborative, Compatibility, Coverage, Grouped, Standard},
    model::ParameterSet,
};

/// What became of one attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvertedAttention {
    /// Which, as in `encoder.0.self`.
    pub attention: String,
    /// `‖T - T~‖ / ‖T‖` of its products `W_Q W_Kᵀ`; none where heads have the map of another layer, or its products are what
    /// they were and not all of them are used.
    pub relative_error: Option<f64>,
    /// Sweeps of the search; 0 where nothing had to be searched for.
    pub sweeps: usize,
    /// Time that it took.
    pub seconds: f64,
}

/// How far a conversion is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// The attention in progress, as in `encoder.0.self`.
    pub attention: &'a str,
    /// Its number, from 0.
    pub number: usize,
    /// All of them.
    pub count: usize,
    /// Which beginning of the search, from 0.
    pub start: usize,
    /// The sweep, from 1.
    pub sweep: usize,
    /// The least error so far from this beginning.
    pub relative_error: f64,
}

/// A model that was converted.
#[derive(Clone, Debug)]
pub struct Converted {
    /// What it is now.
    pub plan: ModelPlan,
    /// Its weights, in the number format of those before.
    pub parameters: ParameterSet,
    /// What became of each attention, in the order of a forward pass.
    pub attentions: Vec<ConvertedAttention>,
}

/// A conversion, with what was found out about the model on a text where it needs that.
#[derive(Clone, Copy, Debug)]
pub enum Recipe<'a> {
    /// All heads share queries and keys.
    Collaborative(&'a ToCollaborative),
    /// Heads that compute now borrow where this plan says so.
    Borrow {
        /// Who borrows from whom.
        heads: &'a HeadPlan,
        /// Whether lenders get the best single map for themselves and their borrowers.
        merges: bool,
    },
    /// Queries and keys are one map.
    OneMap(OneMap),
    /// Several heads share keys and values.
    Grouped(&'a ToGrouped),
    /// Keys lose their biases.
    WithoutKeyBiases,
}

/// Whether a model can be converted, before anything else is looked at.
///
/// # Errors
/// What stands in the way, and what to do.
pub fn check(plan: &ModelPlan, conversion: &Conversion) -> Result<(), ConvertError> {
    for stack in plan.stacks() {
        let why = match stack.design.positions {
            Positions::Rotary(_) => {
                Some("queries and keys are turned by their positions, after the maps that are decomposed")
            }
            Positions::Relative { .. } => {
                Some("scores have a bias for the distance of a pair, and maps have no biases")
            }
            Positions::Learned | Positions::Sinusoidal => None,
        };
        let why = if stack.design.shares_layers { Some("all layers have the same maps") } else { why };
        if let Some(why) = why {
            return Err(ConvertError::Design { why });
        }
        match &stack.coverage {
            Coverage::Full(_) => {}
            other @ (Coverage::Partial(_) | Coverage::Eigen(_)) => {
                return Err(ConvertError::PairsLeftOut { kind: other.kind() });
            }
        }
    }
    // Leaving pairs out asks nothing of how they are scored.
    if !matches!(conversion, Conversion::Coverage(_)) {
        for place in places(plan) {
            if !matches!(place.compatibility, Compatibility::Standard(_)) {
                return Err(ConvertError::NotStandard { attention: place.name, kind: place.compatibility.kind() });
            }
        }
    }
    match conversion {
        Conversion::Collaborative(to) => collaborative_plan(plan, to.d_k).map(drop),
        Conversion::Grouped(to) => grouped_plan(plan, to.kv_heads).map(drop),
        Conversion::WithoutKeyBiases(_) => without_key_biases(plan).map(drop),
        Conversion::Borrow(to) if !(0.0..=1.0).contains(&to.similarity) => {
            Err(ConvertError::Similarity { similarity: to.similarity })
        }
        Conversion::Borrow(_) if plan.encoder.is_some() => Err(ConvertError::SeveralStacks),
        Conversion::Borrow(_) | Conversion::Symmetric(_) | Conversion::Pairwise(_) | Conversion::SharedWeight(_) => {
            Ok(())
        }
        Conversion::Coverage(to) => {
            let after = plan.with_coverage(to.coverage.of_model());
            let leaves_out = (0..after.stack.layers).any(|layer| after.stack.approximates(layer));
            if leaves_out || to.coverage.is_full() { Ok(()) } else { Err(ConvertError::NothingToLeaveOut) }
        }
    }
}

/// What the plan of a model becomes, where that follows from the conversion alone: who borrows is not known before the model has
/// read a text.
///
/// # Errors
/// What stands in the way, and what to do.
pub fn planned(plan: &ModelPlan, conversion: &Conversion) -> Result<Option<ModelPlan>, ConvertError> {
    check(plan, conversion)?;
    match conversion {
        Conversion::Collaborative(to) => Recipe::Collaborative(to).plan(plan).map(Some),
        Conversion::Symmetric(_) => Recipe::OneMap(OneMap::Symmetric).plan(plan).map(Some),
        Conversion::Pairwise(_) => Recipe::OneMap(OneMap::Pairwise).plan(plan).map(Some),
        Conversion::SharedWeight(_) => Recipe::OneMap(OneMap::SharedWeight).plan(plan).map(Some),
        Conversion::Grouped(to) => Recipe::Grouped(to).plan(plan).map(Some),
        Conversion::WithoutKeyBiases(_) => Recipe::WithoutKeyBiases.plan(plan).map(Some),
        Conversion::Coverage(to) => Ok(Some(plan.with_coverage(to.coverage.of_model()))),
        Conversion::Borrow(_) => Ok(None),
    }
}

/// The plan with another answer to how a pair is scored, everywhere.
fn with_compatibility(plan: &ModelPlan, compatibility: &Compatibility) -> ModelPlan {
    let mut after = plan.clone();
    for stack in after.encoder.as_deref_mut().into_iter().chain([&mut after.stack]) {
        stack.compatibility = compatibility.clone();
        if let Some(cross) = &mut stack.cross {
            cross.compatibility = compatibility.clone();
        }
    }
    after
}

fn collaborative_plan(plan: &ModelPlan, d_k: usize) -> Result<ModelPlan, ConvertError> {
    for stack in plan.stacks() {
        let most = stack.heads * stack.head_size;
        if !(1..=most).contains(&d_k) {
            return Err(ConvertError::Width { d_k, most, heads: stack.heads });
        }
    }
    Ok(with_compatibility(plan, &Compatibility::Collaborative(Collaborative { d_k })))
}

fn grouped_plan(plan: &ModelPlan, kv_heads: usize) -> Result<ModelPlan, ConvertError> {
    for stack in plan.stacks() {
        if kv_heads == 0 || !stack.heads.is_multiple_of(kv_heads) {
            return Err(ConvertError::Groups { kv_heads, heads: stack.heads });
        }
    }
    Ok(with_compatibility(plan, &Compatibility::Grouped(Grouped { kv_heads })))
}

fn without_key_biases(plan: &ModelPlan) -> Result<ModelPlan, ConvertError> {
    let has =
        |compatibility: &Compatibility| *compatibility == Compatibility::Standard(Standard { biases: Biases::All });
    if places(plan).iter().all(|place| has(place.compatibility)) {
        return Ok(with_compatibility(plan, &Compatibility::Standard(Standard { biases: Biases::WithoutKey })));
    }
    Err(ConvertError::NoKeyBiases)
}

impl Recipe<'_> {
    /// What the plan of a model that passes [`check`] becomes.
    ///
    /// # Errors
    /// If the model cannot be converted so.
    pub fn plan(&self, before: &ModelPlan) -> Result<ModelPlan, ConvertError> {
        match self {
            Self::Collaborative(to) => collaborative_plan(before, to.d_k),
            Self::Grouped(to) => grouped_plan(before, to.kv_heads),
            Self::OneMap(to) => Ok(with_compatibility(before, &to.compatibility())),
            Self::WithoutKeyBiases => without_key_biases(before),
            Self::Borrow { heads, .. } => {
                let mut after = before.clone();
                after.stack.head_plan = (*heads).clone();
                Ok(after)
            }
        }
    }
}

/// Converts a model that passes [`check`]. What a conversion does not name stays as it is, bit for bit. `each` hears of every
/// sweep of a search and may end it.
///
/// # Errors
/// If the model cannot be converted, or `each` ends it.
pub fn convert(
    plan: &ModelPlan,
    parameters: &ParameterSet,
    recipe: &Recipe<'_>,
    each: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Converted, ConvertError> {
    let after = recipe.plan(plan)?;
    let mut tensors = parameters.tensors();
    let places = places(plan);
    let merged = match recipe {
        Recipe::Borrow { heads, merges: true } => borrow::merged(&places, heads, &tensors)?,
        _ => BTreeMap::new(),
    };
    let mut attentions = Vec::with_capacity(places.len());
    for (number, place) in places.iter().enumerate() {
        let begun = Instant::now();
        let weights = Weights::of(place);
        if weights.heads.attending() == 0 {
            continue;
        }
        weights.split(&mut tensors)?;
        let (mut relative_error, mut sweeps) = (Some(0.0), 0);
        match recipe {
            Recipe::Collaborative(to) => {
                let count = places.len();
                let mut tell = |start: usize, sweep: usize, relative_error: f64| {
                    each(Progress { attention: &place.name, number, count, start, sweep, relative_error })
                };
                if let Some(found) = collaborative_attention::attention(&weights, to, number, &mut tensors, &mut tell)?
                {
                    (relative_error, sweeps) = (Some(found.relative_error), found.sweeps);
                }
            }
            Recipe::OneMap(to) => {
                let count = places.len();
                let mut tell = |sweep: usize, relative_error: f64| {
                    each(Progress { attention: &place.name, number, count, start: 0, sweep, relative_error })
                };
                let found = one_map::attention(&weights, *to, &mut tensors, &mut tell)?;
                (relative_error, sweeps) = (found.map(|(error, _)| error), found.map_or(0, |(_, sweeps)| sweeps));
            }
            Recipe::Grouped(to) => relative_error = grouped::attention(&weights, to.kv_heads, &mut tensors)?,
            Recipe::Borrow { heads, .. } => {
                relative_error = borrow::attention(&weights, heads, &merged, &mut tensors)?;
            }
            Recipe::WithoutKeyBiases => {
                tensors.remove(&weights.named("key.bias"));
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        attentions.push(ConvertedAttention { attention: place.name.clone(), relative_error, sweeps, seconds });
    }
    complete(&after, &mut tensors)?;
    let parameters = ParameterSet::from_tensors(&after, tensors)?;
    Ok(Converted { plan: after, parameters, attentions })
}
