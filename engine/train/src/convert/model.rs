//! Checks before and entry of every conversion.

use std::ops::ControlFlow;

use super::{
    Conversion, ConvertError,
    description::{Converted, ModelOnText, Progress, Run},
    weights::places,
};
use crate::{
    attention::{ModelPlan, Positions},
    config::{Compatibility, Coverage},
    model::ParameterSet,
};

/// Refuses what a model cannot become, before anything else is looked at.
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
    if conversion.starts_from_standard() {
        for place in places(plan) {
            if !matches!(place.compatibility, Compatibility::Standard(_)) {
                return Err(ConvertError::NotStandard { attention: place.name, kind: place.compatibility.kind() });
            }
        }
    }
    conversion.plan(plan).map(drop)
}

/// Plan of a converted model; none where that depends on a text.
///
/// # Errors
/// What stands in the way, and what to do.
pub fn planned(plan: &ModelPlan, conversion: &Conversion) -> Result<Option<ModelPlan>, ConvertError> {
    check(plan, conversion)?;
    conversion.plan(plan)
}

/// Converts a model that passes [`check`], where it has to on what it does with a `text`. What a conversion does not name stays as it is, bit
/// for bit. `each` hears of every sweep of a search and may end it.
///
/// # Errors
/// If the model cannot be converted, or `each` ends it.
pub fn convert(
    (plan, parameters): (&ModelPlan, &ParameterSet),
    conversion: &Conversion,
    text: Option<&dyn ModelOnText>,
    each: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Converted, ConvertError> {
    conversion.run(Run { plan, parameters, text, each })
}
