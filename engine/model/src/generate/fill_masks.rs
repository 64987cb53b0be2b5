use serde::{Deserialize, Serialize};

use super::{GenerateError, Prediction, distribution::Distribution};
use crate::model::{Model, ModelInput};

/// What stands where a token was masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilledMask {
    /// Position in the text, from 0.
    pub position: usize,
    /// The most probable tokens, most probable first.
    pub predictions: Vec<Prediction>,
}

/// Predicts every masked token of a text; `count` predictions each.
///
/// # Errors
/// If the model is no encoder, the text has no mask token, or is longer than the model's positions.
pub fn fill_masks(
    model: &Model,
    text: &[u32],
    mask_token: u32,
    count: usize,
) -> Result<Vec<FilledMask>, GenerateError> {
    if model.plan().stack.is_causal {
        return Err(GenerateError::NoEncoder);
    }
    let positions: Vec<u32> = (0..).zip(text).filter(|(_, token)| **token == mask_token).map(|(i, _)| i).collect();
    if positions.is_empty() {
        return Err(GenerateError::NoMask { mask_token });
    }
    let input = ModelInput::new(text, None, 1, text.len(), model.device())?;
    let rows = Distribution::rows(&model.logits_at(&input, &positions)?)?;
    let fill =
        |(position, row): (u32, Distribution)| FilledMask { position: position as usize, predictions: row.best(count) };
    Ok(positions.into_iter().zip(rows).map(fill).collect())
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::{
        attention::ModelPlan,
        config::{ModelKind, RunConfig},
        model::{ForwardOptions, ParameterSet},
    };

    fn model(kind: ModelKind) -> Model {
        let mut config = RunConfig::default();
        (config.model.kind, config.model.layers, config.model.heads) = (kind, 1, 2);
        (config.model.width, config.model.feed_forward, config.data.sequence_length) = (8, 8, 6);
        let plan = ModelPlan::resolve(&config, 30).unwrap();
        Model::frozen(&plan, &ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap()).unwrap()
    }

    #[test]
    fn every_mask_gets_the_most_probable_tokens() {
        let model = model(ModelKind::Encoder);
        let text = [5, 4, 7, 4, 9];
        let filled = fill_masks(&model, &text, 4, 3).unwrap();
        assert_eq!(filled.iter().map(|mask| mask.position).collect::<Vec<_>>(), [1, 3]);
        let input = ModelInput::new(&text, None, 1, 5, &Device::Cpu).unwrap();
        let logits = model.forward(&input, &ForwardOptions::default()).unwrap().logits.to_vec3::<f32>().unwrap();
        for mask in filled {
            let row = &logits[0][mask.position];
            let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            let best = mask.predictions[0];
            assert!(row.iter().all(|x| *x <= row[best.token as usize]));
            assert!((best.probability - f64::from(row[best.token as usize]).exp() / total).abs() < 1e-6);
            assert_eq!(mask.predictions.len(), 3);
            assert!(mask.predictions.windows(2).all(|pair| pair[0].probability >= pair[1].probability));
        }
    }

    #[test]
    fn wrong_requests_are_refused() {
        assert_eq!(fill_masks(&model(ModelKind::Decoder), &[4], 4, 1), Err(GenerateError::NoEncoder));
        let encoder = model(ModelKind::Encoder);
        assert_eq!(fill_masks(&encoder, &[1, 2], 4, 1), Err(GenerateError::NoMask { mask_token: 4 }));
        assert!(matches!(fill_masks(&encoder, &[4; 7], 4, 1), Err(GenerateError::Model(_))));
    }
}
