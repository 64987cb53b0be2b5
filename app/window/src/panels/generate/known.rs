//! What is known of the chosen model before it is asked for anything.

use headroom_engine::{
    config::ModelKind,
    protocol::{Target, Which},
    store::RunSummary,
};

use crate::{common::is_there, context::PanelContext, panels::model_choice::ModelChoice};

/// What is known of a model before it is asked for anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether it is an encoder, which fills in hidden words.
    pub fills_in: bool,
    /// Whether it predicts no tokens at all.
    pub is_mute: bool,
    /// Tokens that it reads and writes at most.
    pub positions: Option<usize>,
}

impl Known {
    /// Of the chosen model. A folder is looked into as soon as one that holds a model is named.
    pub fn of(model: &ModelChoice, run: Option<&RunSummary>, cx: &mut PanelContext<'_>) -> Self {
        match (model.target(run.map(|run| (run, Which::Best)), cx), run) {
            (Ok((target @ Target::Directory(_), _)), _) => {
                let Target::Directory(folder) = &target else { return Self::default() };
                let is_model = is_there(&folder.join("config.json"), "generate.model", cx.dialogs);
                // Its config.json alone: its weights are read where it is asked for something.
                let plan = if is_model { cx.state.models.plan(&target) } else { Ok(None) };
                plan.ok().flatten().map_or_else(Self::default, |plan| Self {
                    fills_in: plan.fills_in(),
                    is_mute: !plan.predicts_tokens(),
                    positions: Some(plan.stack.longest()),
                })
            }
            (_, Some(run)) if model.is_of_run() => {
                let Some(record) = cx.state.records.get(&run.id) else { return Self::default() };
                let kind = record.config.pointer("/model/kind").and_then(|kind| ModelKind::named(kind.as_str()?));
                let length = |path: &str| usize::try_from(record.config.pointer(path)?.as_u64()?).ok();
                Self {
                    fills_in: kind.is_some_and(|kind| !kind.generates()),
                    is_mute: false,
                    positions: length("/model/positions").or_else(|| length("/data/sequence_length")),
                }
            }
            _ => Self::default(),
        }
    }
}
