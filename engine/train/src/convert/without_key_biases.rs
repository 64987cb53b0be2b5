//! Standard attention without key biases.

use serde::{Deserialize, Serialize};

use super::{
    ConvertError,
    description::{ConversionInfo, Convert, Tell},
    weights::{Tensors, Weights, places, with_compatibility},
};
use crate::{
    attention::ModelPlan,
    config::{Biases, Compatibility, Standard},
};

/// Nothing is to be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithoutKeyBiases {}

const INFO: ConversionInfo = ConversionInfo {
    flag: "drop-key-biases",
    usage: "--drop-key-biases",
    help: "Keys lose their biases, which softmax ignores: nothing is lost",
    label: "No key biases",
    word: "without-key-biases",
    note: "A key bias adds the same to all scores of a row, which softmax ignores: nothing is lost.",
};

impl Convert for WithoutKeyBiases {
    fn info(&self) -> &'static ConversionInfo {
        &INFO
    }

    fn label(&self) -> String {
        "without key biases".to_owned()
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        let with = |biases| Compatibility::Standard(Standard { biases });
        if places(plan).iter().all(|place| *place.compatibility == with(Biases::All)) {
            return Ok(Some(with_compatibility(plan, &with(Biases::WithoutKey))));
        }
        let why = "There are no key biases to take away in every attention of this model. It can stay as it is.";
        Err(ConvertError::Refused { why })
    }

    fn attention(
        &self,
        weights: &Weights<'_>,
        _: usize,
        tensors: &mut Tensors,
        _: &mut Tell<'_>,
    ) -> Result<(Option<f64>, usize), ConvertError> {
        tensors.remove(&weights.named("key.bias"));
        Ok((Some(0.0), 0))
    }
}
