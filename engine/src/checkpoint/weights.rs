//! Between the tensors of a file and a model's parameters, with every tensor accounted for.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use candle_core::Tensor;

use super::{CheckpointError, families::family};
use crate::{
    attention::ModelPlan,
    model::{ModelError, ParameterSet, renamed_since, specifications},
};

/// What a parameter is called in the files of a plan's model.
pub fn file_name(plan: &ModelPlan, name: &str) -> String {
    family(plan.naming).names(plan).file_name(name)
}

/// Tensors under the names and in the shapes that they have in files.
///
/// # Errors
/// If the device fails.
pub(super) fn under_file_names(
    plan: &ModelPlan,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<BTreeMap<String, Tensor>, ModelError> {
    let names = family(plan.naming).names(plan);
    let named = |(name, tensor): (&String, &Tensor)| {
        let tensor = match family(plan.naming).file_shape(plan, name, tensor.dims()) {
            Some(shape) => tensor.reshape(shape)?,
            None => tensor.clone(),
        };
        Ok((names.file_name(name), tensor))
    };
    tensors.iter().map(named).collect()
}

/// The state of an optimiser under our names of parameters: earlier versions saved it under those of `transformers`.
pub(super) fn under_our_names(state: BTreeMap<String, Tensor>) -> BTreeMap<String, Tensor> {
    state.into_iter().map(|(name, tensor)| (renamed_since(&name).unwrap_or(name), tensor)).collect()
}

/// Joins the tensors of a file with a plan.
///
/// Takes the names of `transformers` with or without the prefix of the base model, BERT's old names of norms
/// (`gamma`, `beta`), and leaves out what these models do not use: tied copies of the word table, masks kept as
/// buffers, BERT's pooler and next-sentence head.
///
/// # Errors
/// If a tensor is missing, has another shape, or is known to nobody, with its name in the file.
pub(super) fn join(
    plan: &ModelPlan,
    tensors: BTreeMap<String, Tensor>,
    dir: &Path,
) -> Result<ParameterSet, CheckpointError> {
    let names = family(plan.naming).names(plan);
    // What a family has no word for, such as mixing matrices in BART, stands in files under our own name.
    let own: BTreeSet<String> = specifications(plan)
        .into_iter()
        .map(|specification| specification.name)
        .filter(|name| names.file_name(name) == *name)
        .collect();
    let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
    for (found, tensor) in tensors {
        let whole = names.whole(&found);
        if names.is_unused(&whole) {
            continue;
        }
        match names.ours(&whole).or_else(|| own.get(&found).cloned()) {
            Some(ours) if !known.contains_key(&ours) => drop(known.insert(ours, tensor)),
            _ => unknown.push(found),
        }
    }
    for stack in plan.stacks() {
        let expected = stack.first_position + stack.positions;
        let table = known.get(&format!("{}.positions.weight", stack.name.word()));
        if let Some([found, _]) = table.map(Tensor::dims)
            && *found != expected
        {
            return Err(CheckpointError::Positions { expected, found: *found, path: dir.to_owned() });
        }
    }
    for specification in specifications(plan) {
        let shape = family(plan.naming).file_shape(plan, &specification.name, &specification.shape);
        if let (Some(shape), Some(tensor)) = (shape, known.get_mut(&specification.name))
            && tensor.dims() == shape
        {
            let ours = tensor.reshape(specification.shape).map_err(ModelError::from);
            *tensor = ours.map_err(|source| CheckpointError::Tensor { source, path: dir.to_owned() })?;
        }
    }
    let joined = ParameterSet::from_tensors(plan, known).map_err(|error| error.renamed(|name| names.file_name(name)));
    let joined = joined
        .and_then(|set| if unknown.is_empty() { Ok(set) } else { Err(ModelError::Unexpected { names: unknown }) });
    joined.map_err(|source| match source {
        ModelError::Tensor(_) => CheckpointError::Tensor { source, path: dir.to_owned() },
        _ => CheckpointError::Weights { source, path: dir.to_owned() },
    })
}
