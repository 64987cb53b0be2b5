use std::ops::ControlFlow;

use super::{
    ConvertError, Found, Search, ToCollaborative, decompose,
    weights::{Scoring, Tensors, Weights, tensor},
};

/// Makes one attention collaborative; none where no head computes. Query biases become content biases, key biases go.
pub(super) fn attention(
    weights: &Weights<'_>,
    to: &ToCollaborative,
    number: usize,
    tensors: &mut Tensors,
    tell: &mut dyn FnMut(usize, usize, f64) -> ControlFlow<()>,
) -> Result<Option<Found>, ConvertError> {
    let scoring = weights.scoring(tensors)?;
    weights.remove(tensors, "query");
    weights.remove(tensors, "key");
    let Some(Scoring { maps, query_bias }) = scoring else { return Ok(None) };
    let search = Search {
        d_k: to.d_k,
        random_starts: to.random_starts,
        seed: to.seed,
        index: number as u64,
        sweeps: to.sweeps,
        tolerance: to.tolerance,
    };
    let found = decompose(&maps, &search, tell)?;
    let content = maps.content_biases(&query_bias);
    weights.put(tensors, "query", &found.factors.query.values, to.d_k)?;
    weights.put(tensors, "key", &found.factors.key.values, to.d_k)?;
    weights.put(tensors, "content", &content, maps.heads())?;
    let mixing = tensor(found.factors.mixing.values.clone(), &[maps.heads(), to.d_k], weights.dtype(tensors))?;
    tensors.insert(weights.named("mixing.weight"), mixing);
    Ok(Some(found))
}
