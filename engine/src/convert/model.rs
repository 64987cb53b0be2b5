//! A whole model, one attention after the other.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::ControlFlow,
    time::Instant,
};

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{Conversion, ConvertError, HeadMaps, Search, ToCollaborative, decompose};
use crate::{
    attention::{AttentionKind, HeadPlan, ModelPlan, StackPlan, compatibility::LayerHeads},
    config::{Collaborative, Compatibility, Coverage},
    model::{ParameterSet, attention_name, specifications},
    ops::{Orientation, part},
};

/// What became of one attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvertedAttention {
    /// Which, as in `encoder.0.self`.
    pub attention: String,
    /// `‖T - T~‖ / ‖T‖` of its products `W_Q W_Kᵀ`, 0..=1.
    pub relative_error: f64,
    /// Sweeps of the search; 0 where nothing had to be searched for.
    pub sweeps: usize,
    /// Time that it took.
    pub seconds: f64,
}

/// How far a conversion is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// The attention in progress, as in `encoder.0.self`.
    pub attention: &'a str,
    /// Its number, from 0.
    pub number: usize,
    /// All of them.
    pub count: usize,
    /// Which beginning of the search, from 0.
    pub start: usize,
    /// The sweep, from 1.
    pub sweep: usize,
    /// The least error so far from this beginning.
    pub relative_error: f64,
}

/// A model that was converted.
#[derive(Clone, Debug)]
pub struct Converted {
    /// What it is now.
    pub plan: ModelPlan,
    /// Its weights, in the number format of those before.
    pub parameters: ParameterSet,
    /// What became of each attention, in the order of a forward pass.
    pub attentions: Vec<ConvertedAttention>,
}

/// One attention of a model.
struct Place<'a> {
    name: String,
    stack: &'a StackPlan,
    head_plan: &'a HeadPlan,
    compatibility: &'a Compatibility,
    layer: usize,
}

/// Every attention of a plan, in the order of a forward pass.
fn places(plan: &ModelPlan) -> Vec<Place<'_>> {
    let mut found = Vec::new();
    for stack in plan.stacks() {
        let cross = stack.cross.as_ref().map(|cross| (AttentionKind::Cross, &cross.head_plan, &cross.compatibility));
        for layer in 0..stack.layers {
            let own = (AttentionKind::Own, &stack.head_plan, &stack.compatibility);
            for (kind, head_plan, compatibility) in [own].into_iter().chain(cross) {
                let name = attention_name(stack, layer, kind);
                found.push(Place { name, stack, head_plan, compatibility, layer });
            }
        }
    }
    found
}

/// Whether a model can be converted, and what its plan is then.
///
/// # Errors
/// What stands in the way, and what to do.
pub fn check(plan: &ModelPlan, conversion: &Conversion) -> Result<ModelPlan, ConvertError> {
    let Conversion::Collaborative(ToCollaborative { d_k, .. }) = *conversion;
    for place in places(plan) {
        if !matches!(place.compatibility, Compatibility::Standard(_)) {
            return Err(ConvertError::NotStandard { attention: place.name, kind: place.compatibility.kind() });
        }
    }
    for stack in plan.stacks() {
        match &stack.coverage {
            Coverage::Full(_) => {}
            other @ (Coverage::Partial(_) | Coverage::Eigen(_)) => {
                return Err(ConvertError::PairsLeftOut { kind: other.kind() });
            }
        }
        let most = stack.heads * stack.head_size;
        if !(1..=most).contains(&d_k) {
            return Err(ConvertError::Width { d_k, most, heads: stack.heads });
        }
    }
    let mut after = plan.clone();
    for stack in after.encoder.as_deref_mut().into_iter().chain([&mut after.stack]) {
        stack.compatibility = Compatibility::Collaborative(Collaborative { d_k });
        if let Some(cross) = &mut stack.cross {
            cross.compatibility = Compatibility::Collaborative(Collaborative { d_k });
        }
    }
    Ok(after)
}

/// Converts a model. Everything but its queries and keys stays as it is, bit for bit. `each` hears of every sweep of a search
/// and may end it.
///
/// # Errors
/// If the model cannot be converted, or `each` ends it.
pub fn convert(
    plan: &ModelPlan,
    parameters: &ParameterSet,
    conversion: &Conversion,
    each: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Converted, ConvertError> {
    let Conversion::Collaborative(to) = conversion;
    let after = check(plan, conversion)?;
    let mut tensors = parameters.tensors();
    let places = places(plan);
    let mut attentions = Vec::with_capacity(places.len());
    for (number, place) in places.iter().enumerate() {
        let begun = Instant::now();
        let heads = LayerHeads::alone(place.head_plan, place.layer, place.stack.head_size);
        if heads.attending() == 0 {
            continue;
        }
        let weights = Weights { place, heads: &heads };
        let found = weights.take(&mut tensors)?;
        let (mut relative_error, mut sweeps) = (0.0, 0);
        if let Some(Scoring { maps, query_bias }) = found {
            let search = Search {
                d_k: to.d_k,
                random_starts: to.random_starts,
                seed: to.seed,
                index: number as u64,
                sweeps: to.sweeps,
                tolerance: to.tolerance,
            };
            let count = places.len();
            let mut tell = |start: usize, sweep: usize, relative_error: f64| {
                each(Progress { attention: &place.name, number, count, start, sweep, relative_error })
            };
            let found = decompose(&maps, &search, &mut tell)?;
            (relative_error, sweeps) = (found.relative_error, found.sweeps);
            let content = maps.content_biases(&query_bias);
            weights.put(&mut tensors, "query", &found.factors.query.values, to.d_k)?;
            weights.put(&mut tensors, "key", &found.factors.key.values, to.d_k)?;
            weights.put(&mut tensors, "content", &content, maps.heads())?;
            let mixing = tensor(found.factors.mixing.values, &[maps.heads(), to.d_k], weights.dtype(&tensors))?;
            tensors.insert(weights.named("mixing.weight"), mixing);
        }
        let seconds = begun.elapsed().as_secs_f64();
        attentions.push(ConvertedAttention { attention: place.name.clone(), relative_error, sweeps, seconds });
    }
    // What standard attention can lack: biases, which are zero then; and maps without columns, where no head computes.
    let dtype = tensors.values().map(Tensor::dtype).find(DType::is_float).unwrap_or(DType::F32);
    for specification in specifications(&after) {
        if let Entry::Vacant(missing) = tensors.entry(specification.name) {
            missing.insert(Tensor::zeros(specification.shape, dtype, &Device::Cpu)?);
        }
    }
    let parameters = ParameterSet::from_tensors(&after, tensors)?;
    Ok(Converted { plan: after, parameters, attentions })
}

/// What makes the scores of one attention.
struct Scoring {
    maps: HeadMaps,
    query_bias: Vec<f64>,
}

/// The weights of one attention.
struct Weights<'a> {
    place: &'a Place<'a>,
    heads: &'a LayerHeads,
}

type Tensors = BTreeMap<String, Tensor>;

impl Weights<'_> {
    fn named(&self, module: &str) -> String {
        format!("{}.{module}", self.place.name)
    }

    fn dtype(&self, tensors: &Tensors) -> DType {
        tensors.get(&self.named("output.weight")).map_or(DType::F32, Tensor::dtype)
    }

    /// Takes the maps of queries and keys out, and leaves values as a module of their own. None where no head computes.
    fn take(&self, tensors: &mut Tensors) -> Result<Option<Scoring>, ConvertError> {
        let (width, columns) = (self.heads.width(), self.heads.scoring_width());
        let joined = self.named("query_key_value.weight");
        if let Some(weight) = tensors.remove(&joined) {
            // GPT-2: the three side by side.
            let bias = tensors.remove(&self.named("query_key_value.bias"));
            let side = usize::from(self.place.stack.matrices == Orientation::InputsFirst);
            for (place, module) in ["query", "key", "value"].into_iter().enumerate() {
                let own = weight.narrow(side, place * width, width)?.contiguous()?;
                tensors.insert(self.named(&format!("{module}.weight")), own.copy()?);
                if let Some(bias) = &bias {
                    let own = bias.narrow(0, place * width, width)?.copy()?;
                    tensors.insert(self.named(&format!("{module}.bias")), own);
                }
            }
        }
        let [query, key] = ["query", "key"].map(|module| tensors.remove(&self.named(&format!("{module}.weight"))));
        let query_bias = tensors.remove(&self.named("query.bias"));
        tensors.remove(&self.named("key.bias"));
        let (Some(query), Some(key)) = (query, key) else { return Ok(None) };
        if columns == 0 {
            return Ok(None);
        }
        let values = |weight: &Tensor| -> Result<Vec<f64>, ConvertError> {
            let weight = match self.place.stack.matrices {
                Orientation::InputsFirst => weight.clone(),
                Orientation::OutputsFirst => weight.t()?,
            };
            Ok(weight.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?)
        };
        let query_bias = match query_bias {
            Some(bias) => bias.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_vec1()?,
            None => vec![0.0; columns],
        };
        let maps = HeadMaps::new(values(&query)?, values(&key)?, [width, columns], self.heads.head_size);
        Ok(Some(Scoring { maps, query_bias }))
    }

    /// Puts a linear map there, given row after row from inputs to `outputs`.
    fn put(&self, tensors: &mut Tensors, module: &str, values: &[f64], outputs: usize) -> Result<(), ConvertError> {
        let inputs = self.heads.width();
        let dtype = self.dtype(tensors);
        let map = tensor(part(values, 0, inputs * outputs).to_vec(), &[inputs, outputs], dtype)?;
        let map = match self.place.stack.matrices {
            Orientation::InputsFirst => map,
            Orientation::OutputsFirst => map.t()?.contiguous()?,
        };
        tensors.insert(self.named(&format!("{module}.weight")), map);
        Ok(())
    }
}

fn tensor(values: Vec<f64>, shape: &[usize], dtype: DType) -> Result<Tensor, ConvertError> {
    Ok(Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?)
}
