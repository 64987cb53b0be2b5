//! Names of tensors in files from elsewhere.

use std::{collections::BTreeMap, path::Path};

use candle_core::Tensor;

use super::CheckpointError;
use crate::{
    attention::ModelPlan,
    config::Architecture,
    model::{ModelError, ParameterSet},
};

/// Joins the tensors of a file with a plan.
///
/// Takes the names of `transformers` with or without the prefix of the base model, BERT's old names of norms
/// (`gamma`, `beta`), and leaves out what these models do not use: tied copies of the word table, masks kept as
/// buffers, BERT's pooler and next-sentence head.
pub(super) fn join(
    plan: &ModelPlan,
    tensors: BTreeMap<String, Tensor>,
    dir: &Path,
) -> Result<ParameterSet, CheckpointError> {
    let tensors: BTreeMap<String, Tensor> =
        tensors.into_iter().filter_map(|(name, tensor)| Some((known_name(plan, &name)?, tensor))).collect();
    let positions = match plan.architecture {
        Architecture::Encoder => "bert.embeddings.position_embeddings.weight",
        Architecture::Decoder => "transformer.wpe.weight",
    };
    if let Some([found, _]) = tensors.get(positions).map(Tensor::dims)
        && *found != plan.positions
    {
        return Err(CheckpointError::Positions { expected: plan.positions, found: *found, path: dir.to_owned() });
    }
    ParameterSet::from_tensors(plan, tensors).map_err(|source| match source {
        ModelError::Tensor(_) => CheckpointError::Tensor { source, path: dir.to_owned() },
        _ => CheckpointError::Weights { source, path: dir.to_owned() },
    })
}

/// Our name of a tensor; none when it is not used.
fn known_name(plan: &ModelPlan, name: &str) -> Option<String> {
    let name = match name.rsplit_once('.') {
        Some((module, "gamma")) => format!("{module}.weight"),
        Some((module, "beta")) => format!("{module}.bias"),
        _ => name.to_owned(),
    };
    let (prefix, others): (_, &[&str]) = match plan.architecture {
        Architecture::Encoder => ("bert.", &["cls."]),
        Architecture::Decoder => ("transformer.", &["lm_head."]),
    };
    let name = if name.starts_with(prefix) || others.iter().any(|other| name.starts_with(other)) {
        name
    } else {
        format!("{prefix}{name}")
    };
    let unused = match plan.architecture {
        Architecture::Encoder => {
            ["cls.predictions.decoder.", "cls.seq_relationship.", "bert.pooler."].iter().any(|p| name.starts_with(p))
                || name == "bert.embeddings.position_ids"
        }
        Architecture::Decoder => {
            name == "lm_head.weight" || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")
        }
    };
    if unused { None } else { Some(name) }
}
