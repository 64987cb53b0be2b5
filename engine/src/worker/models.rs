//! What is known of a model before anything is done with it.

use super::viewer::{ViewContext, spawn};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    checkpoint::{describe_model_dir, read_plan},
    config::Precision,
    convert::{Conversion, planned},
    hub::{self, HubSettings},
    jobs::{
        Refusal, push_contents,
        subject::{self, Subject},
    },
    protocol::{Event, ModelCost, Target, events},
};

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
        let found =
            subject::open(&context.store, &target).and_then(|(directory, _)| Ok(describe_model_dir(&directory)?));
        match found {
            Ok(facts) => Event::ModelDescribed(events::ModelDescribed { target, facts: Box::new(facts) }),
            Err(why) => failed(&Subject::called(&context.store, &target), &why.to_string()),
        }
    });
}

/// Answers with the plan of a model.
pub(super) fn plan(context: ViewContext, target: Target) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || match plan_of(&context, &target) {
        Ok(plan) => Event::PlanRead(events::PlanRead { target, plan: Box::new(plan) }),
        Err(why) => Event::Refused(events::Refused { why: why.into() }),
    });
}

/// What a model is, by the settings in its directory alone.
fn plan_of(context: &ViewContext, target: &Target) -> Result<ModelPlan, Refusal> {
    let (directory, _) = subject::open(&context.store, target)?;
    Ok(read_plan(&directory)?)
}

/// Answers with where the hub is and what of it is here.
pub(super) fn describe_hub(context: &ViewContext) {
    spawn(&context.outbox, || match HubSettings::from_environment() {
        Ok(settings) => Event::HubDescribed(events::HubDescribed { facts: Box::new(hub::describe_hub(&settings)) }),
        Err(error) => Event::Refused(events::Refused { why: error.to_string() }),
    });
}

/// Answers with what would be uploaded of a model.
pub(super) fn preview_push(context: ViewContext, target: Target) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || match push_contents(&context.store, &target) {
        Ok(contents) => Event::PushPreviewed(events::PushPreviewed {
            target,
            bytes: contents.bytes(),
            contents: Box::new(contents),
        }),
        Err(error) => {
            let why = format!("{} cannot be uploaded. {}", Subject::called(&context.store, &target), error.why);
            if error.is_refusal {
                Event::Refused(events::Refused { why })
            } else {
                Event::Failed(events::Failed { run: None, why, what_to_do: String::new() })
            }
        }
    });
}

/// Answers with what a conversion would come to.
pub(super) fn preview(context: ViewContext, target: Target, conversion: Conversion) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || {
        let found = plan_of(&context, &target).and_then(|plan| {
            let after = planned(&plan, &conversion)?;
            Ok((ModelCost::of(&plan), after.as_ref().map(ModelCost::of)))
        });
        match found {
            Ok((before, after)) => {
                Event::ConversionPreviewed(events::ConversionPreviewed { target, conversion, before, after })
            }
            Err(why) => Event::Refused(events::Refused { why: why.into() }),
        }
    });
}

fn failed(named: &str, why: &str) -> Event {
    Event::Failed(events::Failed {
        run: None,
        why: format!("{named} cannot be read. {why}"),
        what_to_do: String::new(),
    })
}
