//! The weights of one attention, by module.

use std::collections::{BTreeMap, btree_map::Entry};

use candle_core::{DType, Device, Tensor};

use super::{ConvertError, HeadMaps};
use crate::{
    analysis::Dense,
    attention::{AttentionKind, HeadPlan, ModelPlan, StackPlan, compatibility::LayerHeads},
    config::Compatibility,
    model::{ModelError, attention_name, specifications},
    ops::{Orientation, part},
};

/// The tensors of a model by name.
pub type Tensors = BTreeMap<String, Tensor>;

/// Queries, keys and values as GPT-2 has them: one module.
const JOINED: &str = "query_key_value";

/// What is in it, in its order.
const PARTS: [&str; 3] = ["query", "key", "value"];

/// One attention of a model.
pub struct Place<'a> {
    pub name: String,
    pub stack: &'a StackPlan,
    pub head_plan: &'a HeadPlan,
    pub compatibility: &'a Compatibility,
    pub layer: usize,
}

/// Every attention of a plan, in the order of a forward pass.
pub(super) fn places(plan: &ModelPlan) -> Vec<Place<'_>> {
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

/// The plan with another answer to how a pair is scored, everywhere.
pub(super) fn with_compatibility(plan: &ModelPlan, compatibility: &Compatibility) -> ModelPlan {
    let mut after = plan.clone();
    for stack in after.encoder.as_deref_mut().into_iter().chain([&mut after.stack]) {
        stack.compatibility = compatibility.clone();
        if let Some(cross) = &mut stack.cross {
            cross.compatibility = compatibility.clone();
        }
    }
    after
}

/// What makes the scores of one attention.
pub struct Scoring {
    pub maps: HeadMaps,
    /// Zeros where there is none. `[c d_k]`
    pub query_bias: Vec<f64>,
}

/// The weights of one attention of standard scoring.
pub struct Weights<'a> {
    pub place: &'a Place<'a>,
    pub heads: LayerHeads,
}

impl<'a> Weights<'a> {
    pub fn of(place: &'a Place<'a>) -> Self {
        Self { place, heads: LayerHeads::alone(place.head_plan, place.layer, place.stack.head_size) }
    }

    pub fn named(&self, module: &str) -> String {
        format!("{}.{module}", self.place.name)
    }

    pub fn dtype(&self, tensors: &Tensors) -> DType {
        tensors.get(&self.named("output.weight")).map_or(DType::F32, Tensor::dtype)
    }

    /// The side of a map on which its outputs are.
    pub fn side(&self) -> usize {
        match self.place.stack.matrices {
            Orientation::InputsFirst => 1,
            Orientation::OutputsFirst => 0,
        }
    }

    /// Makes queries, keys and values modules of their own where they are one.
    pub fn split(&self, tensors: &mut Tensors) -> Result<(), ConvertError> {
        let Some(weight) = tensors.remove(&self.named(&format!("{JOINED}.weight"))) else { return Ok(()) };
        let bias = tensors.remove(&self.named(&format!("{JOINED}.bias")));
        let width = self.heads.width();
        for (place, module) in PARTS.into_iter().enumerate() {
            let own = weight.narrow(self.side(), place * width, width)?.contiguous()?;
            tensors.insert(self.named(&format!("{module}.weight")), own.copy()?);
            if let Some(bias) = &bias {
                let own = bias.narrow(0, place * width, width)?.copy()?;
                tensors.insert(self.named(&format!("{module}.bias")), own);
            }
        }
        Ok(())
    }

    /// The maps of queries and keys, which are modules of their own, and the bias of queries; none where no head computes.
    pub fn scoring(&self, tensors: &Tensors) -> Result<Option<Scoring>, ConvertError> {
        let columns = self.heads.scoring_width();
        let [query, key] = ["query", "key"].map(|module| self.map(tensors, module));
        let (Some(query), Some(key)) = (query?, key?) else { return Ok(None) };
        let query_bias = self.bias(tensors, "query")?.unwrap_or_else(|| vec![0.0; columns]);
        let shape = [self.heads.width(), columns];
        Ok(Some(Scoring { maps: HeadMaps::new(query.values, key.values, shape, self.heads.head_size), query_bias }))
    }

    /// A linear map in double precision, inputs by outputs; none where no head has a use for it.
    pub fn map(&self, tensors: &Tensors, module: &str) -> Result<Option<Dense>, ConvertError> {
        let is_needed = match module {
            "query" | "key" => self.heads.scoring_width() > 0,
            _ => self.heads.mixing_width() > 0,
        };
        if !is_needed {
            return Ok(None);
        }
        let name = self.named(&format!("{module}.weight"));
        let Some(weight) = tensors.get(&name) else { return Err(ModelError::Missing { name }.into()) };
        let weight = match self.place.stack.matrices {
            Orientation::InputsFirst => weight.clone(),
            Orientation::OutputsFirst => weight.t()?,
        };
        let (rows, columns) = weight.dims2()?;
        let values = weight.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
        Ok(Some(Dense { rows, columns, values }))
    }

    /// The bias of a linear map in double precision.
    pub fn bias(&self, tensors: &Tensors, module: &str) -> Result<Option<Vec<f64>>, ConvertError> {
        let Some(bias) = tensors.get(&self.named(&format!("{module}.bias"))) else { return Ok(None) };
        Ok(Some(bias.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_vec1()?))
    }

    /// Takes a module away.
    pub fn remove(&self, tensors: &mut Tensors, module: &str) {
        for of in ["weight", "bias"] {
            tensors.remove(&self.named(&format!("{module}.{of}")));
        }
    }

    /// Puts a linear map there, given row after row from inputs to `outputs`.
    pub fn put(&self, tensors: &mut Tensors, module: &str, values: &[f64], outputs: usize) -> Result<(), ConvertError> {
        let rows = self.heads.width();
        let values = part(values, 0, rows * outputs).to_vec();
        self.put_map(tensors, module, &Dense { rows, columns: outputs, values })
    }

    /// Puts a linear map there, inputs by outputs.
    pub fn put_map(&self, tensors: &mut Tensors, module: &str, map: &Dense) -> Result<(), ConvertError> {
        let dtype = self.dtype(tensors);
        let map = tensor(map.values.clone(), &[map.rows, map.columns], dtype)?;
        let map = match self.place.stack.matrices {
            Orientation::InputsFirst => map,
            Orientation::OutputsFirst => map.t()?.contiguous()?,
        };
        tensors.insert(self.named(&format!("{module}.weight")), map);
        Ok(())
    }

    /// Puts the bias of a linear map there.
    pub fn put_bias(&self, tensors: &mut Tensors, module: &str, values: Vec<f64>) -> Result<(), ConvertError> {
        let shape = [values.len()];
        let bias = tensor(values, &shape, self.dtype(tensors))?;
        tensors.insert(self.named(&format!("{module}.bias")), bias);
        Ok(())
    }

    /// Keeps these columns of a map and of its bias, bit for bit.
    pub fn keep(&self, tensors: &mut Tensors, module: &str, columns: &[usize]) -> Result<(), ConvertError> {
        let columns: Vec<u32> = columns.iter().map(|column| u32::try_from(*column).unwrap_or(u32::MAX)).collect();
        let of = [("weight", self.side()), ("bias", 0)];
        for (name, side) in of.map(|(of, side)| (self.named(&format!("{module}.{of}")), side)) {
            let Some(tensor) = tensors.remove(&name) else { continue };
            // What is left of none is made from the plan.
            if !columns.is_empty() {
                let index = Tensor::new(columns.as_slice(), tensor.device())?;
                tensors.insert(name, tensor.index_select(&index, side)?.contiguous()?);
            }
        }
        Ok(())
    }
}

/// Numbers as a tensor of a format.
pub(super) fn tensor(values: Vec<f64>, shape: &[usize], dtype: DType) -> Result<Tensor, ConvertError> {
    Ok(Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?)
}

/// What a plan has and standard attention can lack: queries, keys and values as one module again; biases, which are zero
/// then; maps without columns, where no head computes.
pub(super) fn complete(after: &ModelPlan, tensors: &mut Tensors) -> Result<(), ConvertError> {
    let dtype = tensors.values().map(Tensor::dtype).find(DType::is_float).unwrap_or(DType::F32);
    for specification in specifications(after) {
        let Entry::Vacant(missing) = tensors.entry(specification.name) else { continue };
        let name = missing.key().clone();
        let joined = name.rsplit_once(&format!(".{JOINED}."));
        let Some((attention, of)) = joined else {
            let is_bias = name.rsplit('.').next() == Some("bias");
            if !is_bias && specification.shape.iter().product::<usize>() > 0 {
                return Err(ModelError::Missing { name }.into());
            }
            missing.insert(Tensor::zeros(specification.shape, dtype, &Device::Cpu)?);
            continue;
        };
        // A layer in which no head computes has values alone.
        let parts: Vec<Tensor> =
            PARTS.iter().filter_map(|module| tensors.remove(&format!("{attention}.{module}.{of}"))).collect();
        let side = usize::from(of == "weight" && after.stack.matrices == Orientation::InputsFirst);
        tensors.insert(name, Tensor::cat(&parts, side)?);
    }
    Ok(())
}
