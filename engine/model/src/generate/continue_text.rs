use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{GenerateError, distribution::Distribution};
use crate::{
    model::{Model, ModelInput},
    ops::random::{Purpose, Stream},
};

/// How tokens are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// How many tokens at most.
    pub max_new_tokens: usize,
    /// Logits are divided by it, 0..=100: 1 = the model's distribution, 0 = always the most probable token.
    pub temperature: f64,
    /// Draw from that many most probable tokens only; all when absent.
    pub top_k: Option<usize>,
    /// The same seed gives the same text.
    pub seed: u64,
    /// The token that ends a text; it is given back as the last one.
    pub end_token: Option<u32>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { max_new_tokens: 64, temperature: 0.8, top_k: Some(40), seed: 1, end_token: None }
    }
}

/// A token that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// The token's id.
    pub token: u32,
    /// The probability that the model gives it, 0..=1, at temperature 1 among all tokens.
    pub probability: f64,
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The end token came.
    EndToken,
    /// As many tokens as were asked for.
    Length,
    /// The model has no more positions.
    Positions,
    /// Whoever listened said stop.
    Stopped,
    /// An encoder filled in every hidden word of it.
    Filled,
}

/// What follows a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Continuation {
    /// The new tokens.
    pub tokens: Vec<Sampled>,
    /// Why there are no more.
    pub ending: Ending,
}

impl Continuation {
    /// The ids of the new tokens.
    pub fn ids(&self) -> Vec<u32> {
        self.tokens.iter().map(|sampled| sampled.token).collect()
    }
}

/// Continues a text token by token. `each` hears every token at once and may stop.
///
/// Nothing is kept between tokens: the whole prefix is computed again for each, cut at the front to the last
/// `positions` tokens when it grows longer than the model's positions.
///
/// # Errors
/// If the model is no decoder, the prompt is empty, or a setting is out of range.
pub fn continue_text(
    model: &Model,
    prompt: &[u32],
    sampling: &Sampling,
    mut each: impl FnMut(&Sampled) -> ControlFlow<()>,
) -> Result<Continuation, GenerateError> {
    if !model.plan().stack.is_causal {
        return Err(GenerateError::NoDecoder);
    }
    if prompt.is_empty() {
        return Err(GenerateError::EmptyPrompt);
    }
    if !(0.0..=100.0).contains(&sampling.temperature) {
        return Err(GenerateError::Temperature(sampling.temperature));
    }
    if sampling.top_k == Some(0) {
        return Err(GenerateError::TopK);
    }
    let mut stream = Stream::new(sampling.seed, Purpose::Sampling, 0);
    let mut text = prompt.to_vec();
    let mut tokens = Vec::new();
    while tokens.len() < sampling.max_new_tokens {
        let window = text.split_at(text.len().saturating_sub(model.plan().stack.longest())).1;
        let input = ModelInput::new(window, None, 1, window.len(), model.device())?;
        let logits = model.logits_at(&input, &[window.len() as u32 - 1])?;
        let distribution = Distribution::rows(&logits)?.pop();
        let drawn = distribution.and_then(|row| row.draw(sampling.temperature, sampling.top_k, &mut stream));
        let Some(drawn) = drawn else { return Err(GenerateError::NotFinite) };
        let sampled = Sampled { token: drawn.token, probability: drawn.probability };
        text.push(sampled.token);
        tokens.push(sampled);
        let stops = each(&sampled).is_break();
        if Some(sampled.token) == sampling.end_token {
            return Ok(Continuation { tokens, ending: Ending::EndToken });
        }
        if stops {
            return Ok(Continuation { tokens, ending: Ending::Stopped });
        }
    }
    Ok(Continuation { tokens, ending: Ending::Length })
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

    /// A decoder with weights so wide that its predictions are sharp.
    fn model(kind: ModelKind) -> Model {
        let mut config = RunConfig::default();
        (config.model.kind, config.model.layers, config.model.heads) = (kind, 1, 2);
        (config.model.width, config.model.feed_forward, config.data.sequence_length) = (8, 8, 6);
        let plan = ModelPlan::resolve(&config, 30).unwrap();
        let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
        for (_, variable) in parameters.iter().filter(|(_, variable)| variable.rank() == 2) {
            variable.set(&variable.affine(20.0, 0.0).unwrap().detach()).unwrap();
        }
        Model::frozen(&plan, &parameters).unwrap()
    }

    fn go(_: &Sampled) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn greedy_takes_the_most_probable_token_and_slides_past_the_positions() {
        let model = model(ModelKind::Decoder);
        let greedy = Sampling { temperature: 0.0, max_new_tokens: 10, ..Sampling::default() };
        let mut heard = Vec::new();
        let found = continue_text(&model, &[3, 4], &greedy, |sampled| {
            heard.push(*sampled);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!((found.tokens.len(), found.ending), (10, Ending::Length));
        assert_eq!(heard, found.tokens);
        let mut text = vec![3, 4];
        for token in found.ids() {
            let window = &text[text.len().saturating_sub(6)..];
            let input = ModelInput::new(window, None, 1, window.len(), &Device::Cpu).unwrap();
            let logits = model.forward(&input, &ForwardOptions::default()).unwrap().logits;
            let last: Vec<f32> = logits.to_vec3().unwrap()[0].pop().unwrap();
            assert!(last.iter().all(|logit| *logit <= last[token as usize]));
            text.push(token);
        }
    }

    #[test]
    fn the_seed_decides() {
        let model = model(ModelKind::Decoder);
        let text = |seed| {
            let sampling = Sampling { seed, temperature: 2.0, top_k: None, ..Sampling::default() };
            continue_text(&model, &[1], &sampling, go).unwrap().ids()
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn ends_at_the_end_token_or_when_told() {
        let model = model(ModelKind::Decoder);
        let greedy = Sampling { temperature: 0.0, max_new_tokens: 8, ..Sampling::default() };
        let ids = continue_text(&model, &[3, 4], &greedy, go).unwrap().ids();
        let first = ids.iter().position(|id| *id == ids[4]).unwrap();
        let ended = Sampling { end_token: Some(ids[4]), ..greedy.clone() };
        let found = continue_text(&model, &[3, 4], &ended, go).unwrap();
        assert_eq!((found.ids().as_slice(), found.ending), (&ids[..=first], Ending::EndToken));
        let found = continue_text(&model, &[3, 4], &greedy, |_| ControlFlow::Break(())).unwrap();
        assert_eq!((found.ids().as_slice(), found.ending), (&ids[..1], Ending::Stopped));
    }

    #[test]
    fn wrong_requests_are_refused() {
        let decoder = model(ModelKind::Decoder);
        let ask = |model: &Model, prompt: &[u32], change: fn(&mut Sampling)| {
            let mut sampling = Sampling::default();
            change(&mut sampling);
            continue_text(model, prompt, &sampling, go).unwrap_err()
        };
        assert_eq!(ask(&model(ModelKind::Encoder), &[1], |_| {}), GenerateError::NoDecoder);
        assert_eq!(ask(&decoder, &[], |_| {}), GenerateError::EmptyPrompt);
        assert_eq!(ask(&decoder, &[1], |s| s.temperature = -1.0), GenerateError::Temperature(-1.0));
        assert!(matches!(ask(&decoder, &[1], |s| s.temperature = f64::NAN), GenerateError::Temperature(_)));
        assert_eq!(ask(&decoder, &[1], |s| s.top_k = Some(0)), GenerateError::TopK);
        assert!(matches!(ask(&decoder, &[30], |_| {}), GenerateError::Model(_)));
    }
}
