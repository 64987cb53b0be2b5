use egui::Ui;
use headroom_engine::config::{
    AllEndReuse, AlternateReuse, AttentionConfig, Baseline, Biases, Cache, Collaborative, Compatibility, Coverage,
    CustomReuse, FirstReuse, Full, FullReuse, Grouped, Latent, NoCache, NoReuse, Pairwise, PartialReuse, Reuse,
    SharedWeight, SkipReuse, Standard, Symmetric,
};

use super::super::{
    field::Words,
    form::{Form, note_ui},
};

const REUSE: Words =
    Words::new("attention.reuse", "Which heads score", "Which heads compute an attention map of their own.");
const REUSE_LAYERS: Words = Words::new("attention.reuse.layers", "Layers that borrow", "How many layers borrow, P.");
const REUSE_HEADS: Words =
    Words::new("attention.reuse.heads", "Heads that borrow", "How many heads of each of these layers borrow, K.");
const ROWS: Words = Words::new(
    "attention.reuse.rows",
    "Table of heads",
    "A row a layer, with / between rows: c computes, 0.1 borrows from layer 0 head 1, - does not exist.",
);
const MATCH: Words = Words::new(
    "attention.match_parameters",
    "Match parameters",
    "Adds layers until the model has about as many parameters as this one.",
);
const COMPATIBILITY: Words =
    Words::new("attention.compatibility", "How a pair is scored", "How a head rates a pair of positions.");
const BIASES: Words = Words::new("attention.compatibility.biases", "Biases", "Which maps of the layer have a bias.");
const SHARED_WIDTH: Words = Words::new(
    "attention.compatibility.d_k",
    "Shared width",
    "Width of the queries and keys that all heads share; the model's width is as many as in standard attention.",
);
const GROUPS: Words = Words::new(
    "attention.compatibility.kv_heads",
    "Key and value heads",
    "Groups of heads that share keys and values; must divide the heads.",
);
const RANK: Words =
    Words::new("attention.compatibility.rank", "Latent width", "Width of what keys and values come from.");
const COVERAGE: Words =
    Words::new("attention.coverage", "How many pairs", "Which pairs of positions are rated at all.");
const CACHE: Words =
    Words::new("attention.cache", "What is kept", "What is kept from token to token while generating.");

/// The four questions.
pub fn attention_ui(ui: &mut Ui, form: &mut Form<'_>, attention: &mut AttentionConfig) {
    reuse_ui(ui, form, &mut attention.reuse);
    let baselines = [
        (None, "No"),
        (Some(Baseline::Standard), "Of standard attention"),
        (Some(Baseline::WithoutReuse), "Of the same without reuse"),
    ];
    form.choice(ui, MATCH, &mut attention.match_parameters, &baselines);
    compatibility_ui(ui, form, &mut attention.compatibility);
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

/// The first answer takes the place of the one that the value has now: each kind has numbers of its own.
fn reuse_ui(ui: &mut Ui, form: &mut Form<'_>, reuse: &mut Reuse) {
    let names = [
        (Reuse::None(NoReuse {}), "Every head"),
        (Reuse::First(FirstReuse::default()), "Some layers borrow some maps"),
        (Reuse::Partial(PartialReuse::default()), "Inner layers borrow some maps"),
        (Reuse::Full(FullReuse::default()), "Some layers borrow all maps"),
        (Reuse::Alternate(AlternateReuse::default()), "Every second layer borrows"),
        (Reuse::AllEnd(AllEndReuse::default()), "The layers before the last borrow"),
        (Reuse::Skip(SkipReuse::default()), "Some layers without attention"),
        (Reuse::Custom(CustomReuse::default()), "A table of your own"),
    ];
    let kind = reuse.kind();
    let choices = names.map(|(usual, words)| (if usual.kind() == kind { reuse.clone() } else { usual }, words));
    if form.choice(ui, REUSE, reuse, &choices) {
        form.unreadable.forget("attention.reuse.");
    }
    note_ui(
        ui,
        match reuse {
            Reuse::None(_) => "Each head of each layer computes its own map; none is borrowed.",
            Reuse::First(_) => "From the second layer on, the last heads use the maps of the layer before.",
            Reuse::Partial(_) => {
                "In all layers but the first and the last, the last heads use maps of the layer before."
            }
            Reuse::Full(_) => "From the second layer on, layers use the maps of the first one.",
            Reuse::Alternate(_) => "The layers 2, 4, 6 … use the maps of the layer before.",
            Reuse::AllEnd(_) => "The layers before the last one borrow; the last one computes.",
            Reuse::Skip(_) => "From the second layer on, layers have no attention at all.",
            Reuse::Custom(_) => "Head by head.",
        },
    );
    match reuse {
        Reuse::None(_) => {}
        Reuse::First(FirstReuse { layers, heads }) => {
            form.size(ui, REUSE_LAYERS, layers, 1);
            form.size(ui, REUSE_HEADS, heads, 1);
        }
        Reuse::Partial(PartialReuse { heads }) => drop(form.size(ui, REUSE_HEADS, heads, 1)),
        Reuse::Full(FullReuse { layers }) | Reuse::Skip(SkipReuse { layers }) => {
            form.size(ui, REUSE_LAYERS, layers, 1);
        }
        Reuse::Alternate(AlternateReuse { layers, heads }) => {
            form.optional_size(ui, REUSE_LAYERS, layers);
            form.optional_size(ui, REUSE_HEADS, heads);
        }
        Reuse::AllEnd(AllEndReuse { layers, heads }) => {
            form.size(ui, REUSE_LAYERS, layers, 1);
            form.optional_size(ui, REUSE_HEADS, heads);
        }
        Reuse::Custom(CustomReuse { rows }) => {
            let mut text = rows.join(" / ");
            if form.text(ui, ROWS, &mut text) {
                *rows = text.split('/').map(|row| row.trim().to_owned()).collect();
            }
        }
    }
}

fn compatibility_ui(ui: &mut Ui, form: &mut Form<'_>, compatibility: &mut Compatibility) {
    let names = [
        (Compatibility::Standard(Standard::default()), "Standard: query times key"),
        (Compatibility::Symmetric(Symmetric {}), "Symmetric: query times query"),
        (Compatibility::Pairwise(Pairwise {}), "Pairwise: query, matrix, query"),
        (Compatibility::SharedWeight(SharedWeight {}), "Shared weight"),
        (Compatibility::Collaborative(Collaborative::default()), "Collaborative heads"),
        (Compatibility::Grouped(Grouped::default()), "Grouped keys and values"),
        (Compatibility::Latent(Latent::default()), "Latent keys and values"),
    ];
    let kind = compatibility.kind();
    let choices = names.map(|(usual, words)| (if usual.kind() == kind { compatibility.clone() } else { usual }, words));
    if form.choice(ui, COMPATIBILITY, compatibility, &choices) {
        form.unreadable.forget("attention.compatibility.");
    }
    note_ui(
        ui,
        match compatibility {
            Compatibility::Standard(_) => "Query · key / √d, with projections of its own for each head.",
            Compatibility::Symmetric(_) => "Query · query / √d: a query is the key too.",
            Compatibility::Pairwise(_) => "Query · U · query / √d, with a matrix U for each head.",
            Compatibility::SharedWeight(_) => "Query · key / √d of one matrix, told apart by diagonals.",
            Compatibility::Collaborative(_) => {
                "All heads share queries and keys; each mixes their dimensions its own way."
            }
            Compatibility::Grouped(_) => "Query · key / √d, where several heads share keys and values.",
            Compatibility::Latent(_) => "Query · key / √d, where keys and values come from one narrow vector.",
        },
    );
    match compatibility {
        Compatibility::Standard(Standard { biases }) => {
            let choices = [
                (Biases::All, "On all maps"),
                (Biases::WithoutKey, "On all maps but the key's"),
                (Biases::None, "On none"),
            ];
            form.choice(ui, BIASES, biases, &choices);
        }
        Compatibility::Symmetric(_) | Compatibility::Pairwise(_) | Compatibility::SharedWeight(_) => {}
        Compatibility::Collaborative(Collaborative { d_k }) => drop(form.size(ui, SHARED_WIDTH, d_k, 16)),
        Compatibility::Grouped(Grouped { kv_heads }) => drop(form.size(ui, GROUPS, kv_heads, 1)),
        Compatibility::Latent(Latent { rank }) => drop(form.size(ui, RANK, rank, 16)),
    }
}
