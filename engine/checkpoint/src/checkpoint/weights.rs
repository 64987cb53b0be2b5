//! Between the tensors of a file and a model's parameters, with every tensor accounted for.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    path::Path,
};

use candle_core::Tensor;

use super::{
    CheckpointError,
    families::{HeadTensor, TiedTensors, family},
};
use crate::{
    attention::{ModelPlan, OutputPlan},
    model::{ModelError, ParameterSet, check_shapes, renamed_since, tensor_shapes},
    text::shortened,
};

/// The table of a head that is not tied.
const HEAD_TABLE: &str = "head.tokens.weight";

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
    let mut written = tensors.iter().map(named).collect::<Result<BTreeMap<_, _>, ModelError>>()?;
    // Where tables are not tied `transformers` 5 ties no biases either.
    if let Some((copy, original)) = family(plan.naming).ties().and_then(|ties| ties.head_bias)
        && tensors.contains_key(HEAD_TABLE)
        && let Some(bias) = written.get(original).cloned()
    {
        let _ = written.insert(copy.to_owned(), bias);
    }
    Ok(written)
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

/// Tensors of files, as a plan needs them.
pub(super) struct Matched {
    /// Names in the files of every tensor, under our names.
    pub names: BTreeMap<String, String>,
    /// Names in the files of tensors of heads that the plan does not have.
    pub left_out: Vec<String>,
}

/// Names that a sentence shows.
const MOST_NAMED: usize = 8;

/// The sentence about what was left out; none where nothing was.
pub(super) fn left_out_note(left_out: &[String]) -> Option<String> {
    let (first, rest) = left_out.split_at_checked(MOST_NAMED).unwrap_or((left_out, &[]));
    let names: Vec<String> = first.iter().map(|name| shortened(name, 100)).collect();
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!names.is_empty()).then(|| format!("Left out of the model: {}{more}.", names.join(", ")))
}

/// Names in the files of every tensor that a plan needs, under our names, found by names and shapes alone.
///
/// Takes the names of `transformers` with or without the prefix of the base model, BERT's old names of norms
/// (`gamma`, `beta`), and leaves out what these models do not use: tied copies of the word table, masks kept as
/// buffers, BERT's pooler and next-sentence head, and further heads outside of the base model.
///
/// # Errors
/// If a tensor is missing, has another shape, or is known to nobody, with its name in the file.
pub(super) fn matched<'a>(
    plan: &ModelPlan,
    tied: &TiedTensors,
    found: impl Iterator<Item = (&'a str, &'a [usize])>,
    dir: &Path,
) -> Result<Matched, CheckpointError> {
    let names = family(plan.naming).names(plan);
    let wanted = tensor_shapes(plan);
    // What a family has no word for, such as mixing matrices in BART, stands in files under our own name.
    let is_own = |name: &str| wanted.contains_key(name) && names.file_name(name) == *name;
    let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
    let ends_in_states = matches!(plan.head, OutputPlan::States { .. });
    let mut left_out = Vec::new();
    let found: Vec<(&str, &[usize])> = found.collect();
    let has_whole_names = found.iter().any(|(name, _)| names.begins_whole(name));
    // Modules of the head that is computed: nothing of them may be left out.
    let modules: BTreeSet<String> =
        wanted.keys().filter(|name| name.starts_with("head.")).map(|name| module(&names.file_name(name))).collect();
    for (found, shape) in found {
        let is_same_head = tied.head == HeadTensor::Same && tied.head_name.as_deref() == Some(found);
        if tied.copies.contains(found) || (is_same_head && !wanted.contains_key(HEAD_TABLE)) {
            continue;
        }
        let renamed = tied.renamed.iter().find(|(name, _)| name == found);
        let whole = renamed.map_or_else(|| names.whole(found), |(_, whole)| (*whole).to_owned());
        let is_of_base = names.is_of_base(found, has_whole_names);
        if names.is_unused(&whole) {
            if ends_in_states && !is_of_base {
                left_out.push(found.to_owned());
            }
            continue;
        }
        match names.ours(&whole).or_else(|| is_own(found).then(|| found.to_owned())) {
            Some(ours) if wanted.contains_key(&ours) => match known.entry(ours) {
                Entry::Vacant(place) => {
                    let _ = place.insert((found, shape));
                }
                Entry::Occupied(_) => unknown.push(found.to_owned()),
            },
            _ if !is_of_base && !modules.contains(&module(found)) => left_out.push(found.to_owned()),
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
    let names = known.into_iter().map(|(ours, (found, _))| (ours, found.to_owned())).collect();
    Ok(Matched { names, left_out })
}

/// The module at the beginning of a name.
fn module(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_owned()
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
