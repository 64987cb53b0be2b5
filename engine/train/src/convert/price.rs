//! What a conversion changed in what a model computes, on a text.

use candle_core::{D, DType, Tensor};
use serde::{Deserialize, Serialize};

use super::ConvertError;
use crate::{
    attention::ModelPlan,
    model::{ForwardOptions, Model},
    objective::Batch,
};

/// How far a model is from the one that it was made from, while both read the same text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The text in words.
    pub data: String,
    /// Examples of it.
    pub examples: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Every layer.
    pub layers: Vec<LayerPrice>,
    /// Mean loss in nats before; none of a model that predicts nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_before: Option<f64>,
    /// And now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

/// How far one layer is. Both models run as wholes: a layer reads what those before it make of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerPrice {
    /// Layer, from 0 next to the embeddings.
    pub layer: usize,
    /// Total-variation distance of its heads' maps to what they were, a mean over rows, heads and examples, 0..=1; none
    /// where no head attends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_distance: Option<f64>,
    /// `‖x - x~‖ / ‖x‖` of the stream after the layer, over all positions. Of the last layer after the norm at the end, where the model
    /// has one.
    pub output_error: f64,
}

/// Compares two models of one stack on batches; none where `should_stop` ends it.
///
/// # Errors
/// If a batch cannot be read.
pub fn price(
    [before, after]: [&Model; 2],
    batches: impl Iterator<Item = Batch>,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Price>, ConvertError> {
    let layers = before.plan().stack.layers;
    let mut sums = vec![Sums::default(); layers];
    let options = ForwardOptions { keep_maps: true, keep_hidden: true, ..ForwardOptions::default() };
    let mut found = Price::default();
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        let [old, new] = [before, after].map(|model| model.attend(&batch.input(model)?, &options));
        let (old, new) = (old?, new?);
        (found.examples, found.tokens) = (found.examples + batch.batch, batch.sequence);
        for (layer, sums) in sums.iter_mut().enumerate() {
            if let (Some(old), Some(new)) = (old.maps.get(layer), new.maps.get(layer)) {
                sums.distance += scalar(&(old - new)?.abs()?)? / 2.0;
                sums.rows += (batch.batch * batch.sequence * before.plan().stack.head_plan.live(layer)) as f64;
            }
            if let (Some(old), Some(new)) = (old.hidden.get(layer + 1), new.hidden.get(layer + 1)) {
                sums.lost += scalar(&(old - new)?.sqr()?)?;
                sums.all += scalar(&old.sqr()?)?;
            }
        }
    }
    let priced = |(layer, sums): (usize, &Sums)| LayerPrice {
        layer,
        map_distance: (sums.rows > 0.0).then(|| sums.distance / sums.rows),
        output_error: super::products::share(sums.lost, sums.all),
    };
    found.layers = sums.iter().enumerate().map(priced).collect();
    Ok(Some(found))
}

/// Whether two models can be compared so.
pub fn can_be_priced(plan: &ModelPlan) -> bool {
    plan.encoder.is_none() && plan.vocabulary() > 0
}

#[derive(Clone, Debug, Default)]
struct Sums {
    distance: f64,
    rows: f64,
    lost: f64,
    all: f64,
}

/// The sum of all numbers: of rows as they are, then in double precision.
fn scalar(tensor: &Tensor) -> Result<f64, ConvertError> {
    Ok(tensor.sum(D::Minus1)?.to_dtype(DType::F64)?.sum_all()?.to_scalar()?)
}
