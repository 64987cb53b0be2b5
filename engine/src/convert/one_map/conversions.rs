//! Conversions to attention whose queries and keys come from one map.

use super::{OneMap, attention};
use crate::{
    attention::ModelPlan,
    config::{Compatibility, Pairwise, SharedWeight, Symmetric},
    convert::{
        ConvertError,
        description::{ConversionInfo, Convert, Converted, Run},
        each_attention::each_attention,
        weights::with_compatibility,
    },
};

impl OneMap {
    fn run(self, mut run: Run<'_>, after: Option<ModelPlan>) -> Result<Converted, ConvertError> {
        let after = after.unwrap_or_else(|| run.plan.clone());
        each_attention(&mut run, after, &mut |weights, _, tensors, tell| {
            let found = attention(weights, self, tensors, &mut |sweep, error| tell(0, sweep, error))?;
            Ok((found.map(|(error, _)| error), found.map_or(0, |(_, sweeps)| sweeps)))
        })
    }
}

impl Convert for Symmetric {
    fn info(&self) -> &'static ConversionInfo {
        &ConversionInfo {
            flag: "symmetric",
            usage: "--symmetric",
            help: "Queries become keys too, `Q Qᵀ`: of every head the nearest product that is found",
            label: "Symmetric",
            word: "symmetric",
            note: "Queries are keys too: W_Q W_K^T of each head by the nearest W W^T. Half of the parameters of queries and keys; \
                   much is lost, and training further brings some of it back.",
        }
    }

    fn label(&self) -> String {
        "symmetric, queries that are keys too".to_owned()
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        Ok(Some(with_compatibility(plan, &Compatibility::Symmetric(self.clone()))))
    }

    fn run(&self, run: Run<'_>) -> Result<Converted, ConvertError> {
        let after = self.plan(run.plan)?;
        OneMap::Symmetric.run(run, after)
    }
}

impl Convert for Pairwise {
    fn info(&self) -> &'static ConversionInfo {
        &ConversionInfo {
            flag: "pairwise",
            usage: "--pairwise",
            help: "Queries become keys too with a matrix between them, `Q U Qᵀ`: the nearest product that is found",
            label: "Pairwise",
            word: "pairwise",
            note: "Queries are keys too, with a matrix U between them: W_Q W_K^T of each head by the nearest W U W^T that is found. \
                   Much is lost, and training further brings some of it back.",
        }
    }

    fn label(&self) -> String {
        "pairwise, queries that are keys too and a matrix between them".to_owned()
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        Ok(Some(with_compatibility(plan, &Compatibility::Pairwise(self.clone()))))
    }

    fn run(&self, run: Run<'_>) -> Result<Converted, ConvertError> {
        let after = self.plan(run.plan)?;
        OneMap::Pairwise.run(run, after)
    }
}

impl Convert for SharedWeight {
    fn info(&self) -> &'static ConversionInfo {
        &ConversionInfo {
            flag: "shared-weight",
            usage: "--shared-weight",
            help: "Queries, keys and values get one matrix, told apart by diagonals; the output is refitted to it",
            label: "Shared weight",
            word: "shared-weight",
            note: "One matrix for queries, keys and values, told apart by diagonals, and an output that is refitted: a third of their \
                   parameters. Most is lost, and training further brings some of it back.",
        }
    }

    fn label(&self) -> String {
        "shared weight, one matrix for queries, keys and values".to_owned()
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        Ok(Some(with_compatibility(plan, &Compatibility::SharedWeight(self.clone()))))
    }

    fn run(&self, run: Run<'_>) -> Result<Converted, ConvertError> {
        let after = self.plan(run.plan)?;
        OneMap::SharedWeight.run(run, after)
    }
}
