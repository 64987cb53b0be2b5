use egui::Ui;
use headroom_engine::config::{
    AttentionConfig, Cache, Compatibility, Coverage, Full, NoCache, NoReuse, Reuse, Standard,
};

use super::super::{
    field::Words,
    form::{Form, note_ui},
};

const REUSE: Words =
    Words::new("attention.reuse", "Which heads score", "Which heads compute an attention map of their own.");
const COMPATIBILITY: Words =
    Words::new("attention.compatibility", "How a pair is scored", "How a head rates a pair of positions.");
const COVERAGE: Words =
    Words::new("attention.coverage", "How many pairs", "Which pairs of positions are rated at all.");
const CACHE: Words =
    Words::new("attention.cache", "What is kept", "What is kept from token to token while generating.");

/// The four questions.
pub fn attention_ui(ui: &mut Ui, form: &mut Form<'_>, attention: &mut AttentionConfig) {
    form.choice(ui, REUSE, &mut attention.reuse, &[(Reuse::None(NoReuse {}), "Every head")]);
    note_ui(
        ui,
        match attention.reuse {
            Reuse::None(_) => "Each head of each layer computes its own map; none is borrowed.",
        },
    );
    let ways = [(Compatibility::Standard(Standard {}), "Standard: query times key")];
    form.choice(ui, COMPATIBILITY, &mut attention.compatibility, &ways);
    note_ui(
        ui,
        match attention.compatibility {
            Compatibility::Standard(_) => "Query · key / √d, with projections of its own for each head.",
        },
    );
    form.choice(ui, COVERAGE, &mut attention.coverage, &[(Coverage::Full(Full {}), "All of them")]);
    note_ui(
        ui,
        match attention.coverage {
            Coverage::Full(_) => "Every pair that the mask allows is scored.",
        },
    );
    form.choice(ui, CACHE, &mut attention.cache, &[(Cache::None(NoCache {}), "Nothing")]);
    note_ui(
        ui,
        match attention.cache {
            Cache::None(_) => "Every new token computes the whole text before it again.",
        },
    );
}
