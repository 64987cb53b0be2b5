//! The first question: which heads score.

use egui::Ui;
use headroom_engine::config::{
    AllEndReuse, AlternateReuse, Baseline, CustomReuse, FirstReuse, FullReuse, PartialReuse, Reuse, RunConfig,
    SkipReuse,
};

use super::{
    super::{
        difference::{Difference, Question, figures},
        field::Words,
        form::{Form, note_ui},
        heads::{most, usual_reuse},
    },
    head_editor::HeadEditor,
    judged::Judged,
};

const REUSE: &str = "attention.reuse";
const LAYERS: Words = Words::new("attention.reuse.layers", "Layers that borrow", "How many layers borrow, P.");
const SKIPPED: Words =
    Words::new("attention.reuse.layers", "Layers without attention", "How many layers have no attention, P.");
const HEADS: Words =
    Words::new("attention.reuse.heads", "Heads that borrow", "How many heads of each of these layers borrow, K.");
const ROWS: Words = Words::new(
    "attention.reuse.rows",
    "Table of heads",
    "A row a layer, layer 0 first, with / between rows: c computes, 0.1 borrows from layer 0 head 1, - is off.",
);

/// The answers by their name in the file.
const ANSWERS: [(&str, &str); 8] = [
    ("none", "Every head"),
    ("first", "Early layers borrow some"),
    ("partial", "Inner layers borrow some"),
    ("full", "Early layers borrow all"),
    ("alternate", "Every second layer borrows"),
    ("all_end", "Late layers borrow"),
    ("skip", "Early layers have none"),
    ("custom", "A table of your own"),
];

fn words(kind: &str) -> Words {
    let help = match kind {
        "none" => {
            "Which heads compute an attention map of their own.\nA = softmax(Q Kᵀ / √d) in each of the L × H heads."
        }
        "first" => {
            "Algorithm 1 of Reuse Transformers: in the layers 1 to P, the heads 0 to H−K−1 compute, and head H−K+j uses \
             map j of the layer before. A borrowing head has no query and key, but values and an output."
        }
        "partial" => {
            "As algorithm 1 with P = L − 2: in the layers 1 to L−2, head H−K+j uses map j of the layer before."
        }
        "full" => "As algorithm 1 with K = H: the layers 1 to P use the maps of layer 0.",
        "alternate" => "In the layers 1, 3, 5 … head H−K+j uses map j of the layer before.",
        "all_end" => "In the layers L−1−P to L−2, head H−K+j uses map j of the layer before; the last layer computes.",
        "skip" => "The layers 1 to P are a feed-forward block alone: no map, no values, no output.",
        _ => "Each head computes, uses the map of any head of an earlier layer, or is off.",
    };
    Words::new(REUSE, "Which heads score", help)
}

fn note(kind: &str) -> &'static str {
    match kind {
        "none" => "Each head of each layer computes its own map; none is borrowed.",
        "first" => "From layer 1 on, the last heads use the maps of the layer before.",
        "partial" => "In all layers but the first and the last, the last heads use maps of the layer before.",
        "full" => "From layer 1 on, layers use the maps of the first one.",
        "alternate" => "The layers 1, 3, 5 … use the maps of the layer before.",
        "all_end" => "The layers before the last one borrow; the last one computes.",
        "skip" => "From layer 1 on, layers have no attention at all.",
        _ => "Head by head, as you click it.",
    }
}

/// The answer with its numbers, and the map of all heads.
pub(super) fn reuse_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    config: &mut RunConfig,
    judged: &Judged<'_>,
    editor: &mut HeadEditor,
) {
    let mut kind = config.attention.reuse.kind();
    let given = config.attention.reuse.clone();
    let cost = |kind: &&'static str| {
        let reuse = if *kind == given.kind() { given.clone() } else { usual_reuse(kind, config) };
        let mut other = config.clone();
        other.attention.reuse = reuse;
        let of = figures(config, Question::Reuse.alone(&other));
        let baseline = figures(config, config.attention.baseline(Baseline::Standard));
        of.zip(baseline).map_or_else(String::new, |(of, baseline)| Difference { of, baseline }.words())
    };
    if form.choice_noted(ui, words(kind), &mut kind, &ANSWERS, cost) {
        config.attention.reuse = usual_reuse(kind, config);
        form.unreadable.forget("attention.reuse.");
    }
    note_ui(ui, note(kind));
    judged.difference_ui(ui, Question::Reuse);
    let (p, k) = most(&config.attention.reuse, config.model.layers, config.model.heads);
    match &mut config.attention.reuse {
        Reuse::None(_) => {}
        Reuse::First(FirstReuse { layers, heads }) => {
            form.slider(ui, LAYERS, layers, p);
            form.slider(ui, HEADS, heads, k);
        }
        Reuse::Partial(PartialReuse { heads }) => drop(form.slider(ui, HEADS, heads, k)),
        Reuse::Full(FullReuse { layers }) => drop(form.slider(ui, LAYERS, layers, p)),
        Reuse::Skip(SkipReuse { layers }) => drop(form.slider(ui, SKIPPED, layers, p)),
        Reuse::Alternate(AlternateReuse { layers, heads }) => {
            form.optional_slider(ui, LAYERS, layers, p);
            form.optional_slider(ui, HEADS, heads, k);
        }
        Reuse::AllEnd(AllEndReuse { layers, heads }) => {
            form.slider(ui, LAYERS, layers, p);
            form.optional_slider(ui, HEADS, heads, k);
        }
        Reuse::Custom(CustomReuse { rows }) => {
            let mut text = rows.join(" / ");
            if form.text(ui, ROWS, &mut text) {
                *rows = text.split('/').map(|row| row.trim().to_owned()).collect();
            }
        }
    }
    editor.ui(ui, form, config, judged);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_can_be_chosen() {
        let kinds: Vec<&str> = Reuse::examples(3, 3).iter().map(Reuse::kind).collect();
        assert_eq!(ANSWERS.map(|(kind, _)| kind).as_slice(), kinds);
    }
}
