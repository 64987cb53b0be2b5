//! What is known of a model before anything is done with it.

use serde::{Deserialize, Serialize};

use super::{
    Event, Target, hub_job,
    subject::{self, Subject},
    viewer::{ViewContext, spawn},
};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    checkpoint::{describe_model_dir, read_plan},
    config::Precision,
    convert::{Conversion, planned},
    hub::{self, HubSettings},
};

/// What a model costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCost {
    /// Trained numbers.
    pub parameters: u64,
    /// FLOPs of reading one example of as many tokens as it has positions.
    pub forward_flops: u64,
    /// These tokens.
    pub tokens: usize,
}

impl ModelCost {
    fn of(plan: &ModelPlan) -> Self {
        let tokens = plan.stack.longest();
        let cost = Cost::of(plan, &Workload::inference(1, tokens, Precision::F32));
        Self { parameters: cost.parameters, forward_flops: cost.forward_flops, tokens }
    }
}

/// Answers with what the files of a model say.
pub(super) fn describe(context: ViewContext, target: Target) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || {
        let found = subject::open(&context.store, &target)
            .and_then(|(directory, _)| describe_model_dir(&directory).map_err(|error| error.to_string()));
        match found {
            Ok(facts) => Event::ModelDescribed { target, facts: Box::new(facts) },
            Err(why) => failed(&Subject::called(&context.store, &target), &why),
        }
    });
}

/// Answers with the plan of a model.
pub(super) fn plan(context: ViewContext, target: Target) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || match plan_of(&context, &target) {
        Ok(plan) => Event::PlanRead { target, plan: Box::new(plan) },
        Err(why) => Event::Refused { why },
    });
}

/// What a model is, by the settings in its directory alone.
fn plan_of(context: &ViewContext, target: &Target) -> Result<ModelPlan, String> {
    let (directory, _) = subject::open(&context.store, target)?;
    read_plan(&directory).map_err(|error| error.to_string())
}

/// Answers with where the hub is and what of it is here.
pub(super) fn describe_hub(context: &ViewContext) {
    spawn(&context.outbox, || match HubSettings::from_environment() {
        Ok(settings) => Event::HubDescribed { facts: Box::new(hub::describe_hub(&settings)) },
        Err(error) => Event::Refused { why: error.to_string() },
    });
}

/// Answers with what would be uploaded of a model.
pub(super) fn preview_push(context: ViewContext, target: Target) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || match hub_job::contents(&context.store, &target) {
        Ok(contents) => Event::PushPreviewed { target, bytes: contents.bytes(), contents: Box::new(contents) },
        Err(error) => {
            let why = format!("{} cannot be uploaded. {}", Subject::called(&context.store, &target), error.why);
            if error.is_refusal {
                Event::Refused { why }
            } else {
                Event::Failed { run: None, why, what_to_do: String::new() }
            }
        }
    });
}

/// Answers with what a conversion would come to.
pub(super) fn preview(context: ViewContext, target: Target, conversion: Conversion) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || {
        let found = plan_of(&context, &target).and_then(|plan| {
            let after = planned(&plan, &conversion).map_err(|error| error.to_string())?;
            Ok((ModelCost::of(&plan), after.as_ref().map(ModelCost::of)))
        });
        match found {
            Ok((before, after)) => Event::ConversionPreviewed { target, conversion, before, after },
            Err(why) => Event::Refused { why },
        }
    });
}

fn failed(named: &str, why: &str) -> Event {
    Event::Failed { run: None, why: format!("{named} cannot be read. {why}"), what_to_do: String::new() }
}
