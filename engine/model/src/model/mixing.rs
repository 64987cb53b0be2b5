use candle_core::DType;

use super::{ModelError, ParameterSet, names::AttentionNames};
use crate::{
    attention::{AttentionKind, ModelPlan},
    config::Compatibility,
};

/// The mixing matrix M of a collaborative layer: how much each head that computes weighs each column of the queries and
/// keys that all heads share (Cordonnier, Loukas, Jaggi 2020, equation 12).
#[derive(Clone, Debug, PartialEq)]
pub struct Mixing {
    /// The layer.
    pub layer: usize,
    /// Heads that compute in it: rows.
    pub heads: usize,
    /// Shared columns `D_k`.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f32>,
}

/// The mixing matrices of a collaborative model, by layer; none where no head computes, and none of other models.
///
/// # Errors
/// If the weights cannot be read from their device.
pub fn mixing_matrices(plan: &ModelPlan, parameters: &ParameterSet) -> Result<Vec<Mixing>, ModelError> {
    let stack = &plan.stack;
    if !matches!(stack.compatibility, Compatibility::Collaborative(_)) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for layer in 0..stack.layers {
        let name = AttentionNames::new(stack, layer, AttentionKind::Own).module("mixing.weight");
        let Some(variable) = parameters.get(&name) else { continue };
        let tensor = variable.as_detached_tensor().to_dtype(DType::F32)?;
        let (heads, width) = tensor.dims2()?;
        found.push(Mixing { layer, heads, width, values: tensor.flatten_all()?.to_vec1()? });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::config::{Collaborative, FirstReuse, ModelKind, Reuse, RunConfig, Symmetric};

    #[test]
    fn each_layer_has_a_row_for_each_head_that_computes() {
        for kind in ModelKind::LANGUAGE_MODELS {
            let mut config = RunConfig::default();
            config.model.kind = kind;
            (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 4, 16, 8);
            config.attention.compatibility = Compatibility::Collaborative(Collaborative { d_k: 6 });
            config.attention.reuse = Reuse::First(FirstReuse { layers: 1, heads: 3 });
            let plan = ModelPlan::resolve(&config, 30).unwrap();
            let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
            let found = mixing_matrices(&plan, &parameters).unwrap();
            let shapes: Vec<_> = found.iter().map(|one| (one.layer, one.heads, one.width, one.values.len())).collect();
            assert_eq!(shapes, [(0, 4, 6, 24), (1, 1, 6, 6), (2, 4, 6, 24)]);
            let name = parameters.iter().map(|(name, _)| name).find(|name| name.ends_with("mixing.weight")).unwrap();
            let kept = parameters.get(name).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert_eq!(found[0].values, kept);

            config.attention.compatibility = Compatibility::Symmetric(Symmetric {});
            let plan = ModelPlan::resolve(&config, 30).unwrap();
            let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
            assert_eq!(mixing_matrices(&plan, &parameters).unwrap(), []);
        }
    }
}
