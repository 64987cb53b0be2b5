//! Between the tensors of a file and a model's parameters, with every tensor accounted for.

use std::{collections::BTreeMap, path::Path};

use candle_core::Tensor;

use super::{CheckpointError, families::family};
use crate::{
    attention::ModelPlan,
    model::{ModelError, ParameterSet, check_shapes, renamed_since, tensor_shapes},
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

/// Names and shapes that the tensors of a plan have in files.
pub(super) fn file_shapes(plan: &ModelPlan) -> BTreeMap<String, Vec<usize>> {
    let (family, names) = (family(plan.naming), family(plan.naming).names(plan));
    let named = |(name, shape): (String, Vec<usize>)| {
        let of_file = family.file_shape(plan, &name, &shape);
        (names.file_name(&name), of_file.map_or(shape, |shape| shape.clone()))
    };
    tensor_shapes(plan).into_iter().map(named).collect()
}

/// The state of an optimiser under our names of parameters: earlier versions saved it under those of `transformers`.
pub(super) fn under_our_names(state: BTreeMap<String, Tensor>) -> BTreeMap<String, Tensor> {
    state.into_iter().map(|(name, tensor)| (renamed_since(&name).unwrap_or(name), tensor)).collect()
}

/// Names in the files of every tensor that a plan needs, under our names, found by names and shapes alone.
///
/// Takes the names of `transformers` with or without the prefix of the base model, BERT's old names of norms
/// (`gamma`, `beta`), and leaves out what these models do not use: tied copies of the word table, masks kept as
/// buffers, BERT's pooler and next-sentence head.
///
/// # Errors
/// If a tensor is missing, has another shape, or is known to nobody, with its name in the file.
pub(super) fn matched<'a>(
    plan: &ModelPlan,
    found: impl Iterator<Item = (&'a str, &'a [usize])>,
    dir: &Path,
) -> Result<BTreeMap<String, String>, CheckpointError> {
    let names = family(plan.naming).names(plan);
    let wanted = tensor_shapes(plan);
    // What a family has no word for, such as mixing matrices in BART, stands in files under our own name.
    let is_own = |name: &str| wanted.contains_key(name) && names.file_name(name) == *name;
    let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
    for (found, shape) in found {
        let whole = names.whole(found);
        if names.is_unused(&whole) {
            continue;
        }
        match names.ours(&whole).or_else(|| is_own(found).then(|| found.to_owned())) {
            Some(ours) if !known.contains_key(&ours) => drop(known.insert(ours, (found, shape))),
            _ => unknown.push(found.to_owned()),
        }
    }
    for stack in plan.stacks() {
        let expected = stack.first_position + stack.positions;
        let table = known.get(&format!("{}.positions.weight", stack.name.word()));
        if let Some((_, [found, _])) = table
            && *found != expected
        {
            return Err(CheckpointError::Positions { expected, found: *found, path: dir.to_owned() });
        }
    }
    let shapes = known.iter().map(|(ours, (_, shape))| {
        let own = wanted.get(ours).filter(|own| is_file_shape(plan, ours, own, shape));
        (ours.as_str(), own.map_or(*shape, Vec::as_slice))
    });
    let checked = check_shapes(plan, &shapes.collect()).map_err(|error| error.renamed(|name| names.file_name(name)));
    let checked = match checked {
        Ok(()) if !unknown.is_empty() => Err(ModelError::Unexpected { names: unknown }),
        checked => checked,
    };
    checked.map_err(|source| CheckpointError::Weights { source, path: dir.to_owned() })?;
    Ok(known.into_iter().map(|(ours, (found, _))| (ours, found.to_owned())).collect())
}

/// True where files have a tensor of ours in another shape, and `found` is that shape.
fn is_file_shape(plan: &ModelPlan, name: &str, own: &[usize], found: &[usize]) -> bool {
    family(plan.naming).file_shape(plan, name, own).is_some_and(|shape| shape == found)
}

/// Joins tensors under our names, as files have them, with a plan.
///
/// # Errors
/// If they are not those of the plan, or the device fails.
pub(super) fn join(
    plan: &ModelPlan,
    mut tensors: BTreeMap<String, Tensor>,
    dir: &Path,
) -> Result<ParameterSet, CheckpointError> {
    let names = family(plan.naming).names(plan);
    for (name, own) in tensor_shapes(plan) {
        if let Some(tensor) = tensors.get_mut(&name)
            && is_file_shape(plan, &name, &own, tensor.dims())
        {
            let ours = tensor.reshape(own).map_err(ModelError::from);
            *tensor = ours.map_err(|source| CheckpointError::Tensor { source, path: dir.to_owned() })?;
        }
    }
    let joined = ParameterSet::from_tensors(plan, tensors).map_err(|error| error.renamed(|name| names.file_name(name)));
    joined.map_err(|source| match source {
        ModelError::Tensor(_) => CheckpointError::Tensor { source, path: dir.to_owned() },
        _ => CheckpointError::Weights { source, path: dir.to_owned() },
    })
}
