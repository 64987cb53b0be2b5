//! Conversions to attention whose queries and keys come from one map.

use super::{OneMap, attention};
use crate::{
    attention::ModelPlan,
    config::{Compatibility, Pairwise, SharedWeight, Symmetric},
    convert::{
        ConvertError,
        description::{ConversionInfo, Convert, Tell},
        weights::{Tensors, Weights, with_compatibility},
    },
};

macro_rules! one_map {
    ($name:ident, $label:literal, $info:expr) => {
        impl Convert for $name {
            fn info(&self) -> &'static ConversionInfo {
                const INFO: ConversionInfo = $info;
                &INFO
            }

            fn label(&self) -> String {
                $label.to_owned()
            }

            fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
                Ok(Some(with_compatibility(plan, &Compatibility::$name(self.clone()))))
            }

            fn attention(
                &self,
                weights: &Weights<'_>,
                _: usize,
                tensors: &mut Tensors,
                tell: &mut Tell<'_>,
            ) -> Result<(Option<f64>, usize), ConvertError> {
                let found = attention(weights, OneMap::$name, tensors, &mut |sweep, error| tell(0, sweep, error))?;
                Ok((found.map(|(error, _)| error), found.map_or(0, |(_, sweeps)| sweeps)))
            }
        }
    };
}

one_map!(
    Symmetric,
    "symmetric, queries that are keys too",
    ConversionInfo {
        flag: "symmetric",
        usage: "--symmetric",
        help: "Queries become keys too, `Q Qᵀ`: of every head the nearest product that is found",
        label: "Symmetric",
        word: "symmetric",
        note: "Queries are keys too: W_Q W_K^T of each head by the nearest W W^T. Half of the parameters of queries and keys; \
               much is lost, and training further brings some of it back.",
    }
);

one_map!(
    Pairwise,
    "pairwise, queries that are keys too and a matrix between them",
    ConversionInfo {
        flag: "pairwise",
        usage: "--pairwise",
        help: "Queries become keys too with a matrix between them, `Q U Qᵀ`: the nearest product that is found",
        label: "Pairwise",
        word: "pairwise",
        note: "Queries are keys too, with a matrix U between them: W_Q W_K^T of each head by the nearest W U W^T that is found. \
               Much is lost, and training further brings some of it back.",
    }
);

one_map!(
    SharedWeight,
    "shared weight, one matrix for queries, keys and values",
    ConversionInfo {
        flag: "shared-weight",
        usage: "--shared-weight",
        help: "Queries, keys and values get one matrix, told apart by diagonals; the output is refitted to it",
        label: "Shared weight",
        word: "shared-weight",
        note: "One matrix for queries, keys and values, told apart by diagonals, and an output that is refitted: a third of their \
               parameters. Most is lost, and training further brings some of it back.",
    }
);
