//! The second question: how a head scores a pair.

use egui::Ui;
use headroom_engine::config::{
    Baseline, Biases, Collaborative, Compatibility, Grouped, Latent, ModelConfig, Pairwise, RunConfig, SharedWeight,
    Standard, Symmetric,
};

use super::{
    super::{
        difference::{Difference, Question, figures},
        field::Words,
        form::{Form, note_ui},
    },
    judged::Judged,
};

const COMPATIBILITY: &str = "attention.compatibility";
const BIASES: Words = Words::new(
    "attention.compatibility.biases",
    "Biases",
    "Which maps of the layer have a bias. A key bias adds the same to all scores of a row, which softmax ignores.",
);
const SHARED_WIDTH: Words = Words::new(
    "attention.compatibility.d_k",
    "Shared width",
    "Width D_k of the queries and keys that all heads share; the model's width is as many as in standard attention.",
);
const GROUPS: Words = Words::new(
    "attention.compatibility.kv_heads",
    "Key and value heads",
    "Groups of heads that share keys and values; must divide the heads.",
);
const RANK: Words =
    Words::new("attention.compatibility.rank", "Latent width", "Width r of what keys and values come from.");

/// The answers by their name in the file.
const ANSWERS: [(&str, &str); 7] = [
    ("standard", "Standard: query · key"),
    ("symmetric", "Symmetric: query · query"),
    ("pairwise", "Pairwise: query · U · query"),
    ("shared_weight", "Shared weight"),
    ("collaborative", "Collaborative heads"),
    ("grouped", "Grouped keys and values"),
    ("latent", "Latent keys and values"),
];

fn words(kind: &str) -> Words {
    let help = match kind {
        "standard" => "How a head scores a pair of positions.\nS = Q Kᵀ / √d with Q = x W_Q, K = x W_K in each head.",
        "symmetric" => "S = Q Qᵀ / √d: the key projection is the query's. (Shared-weight attention, table 3)",
        "pairwise" => "S = Q U Qᵀ / √d with a d × d matrix U in each head. (Shared-weight attention, table 3)",
        "shared_weight" => {
            "Q = (x W) D_q, K = (x W) D_k, V = (x W) D_v with one matrix W and three diagonal ones. (Shared-weight \
             attention, equation 1)"
        }
        "collaborative" => {
            "S = x W̃_Q diag(m) W̃_Kᵀ xᵀ / √d with W̃_Q and W̃_K of all heads together, a mixing row m and a content \
             bias \
             in each. (Collaborative attention, equations 11 to 13)"
        }
        "grouped" => "S = Q Kᵀ / √d where a group of heads has one K and one V. One group is multi-query attention.",
        _ => "C = x W_c of width r; K = C W_k, V = C W_v. As in multi-head latent attention, without its rotary part.",
    };
    Words::new(COMPATIBILITY, "How a pair is scored", help)
}

fn note(kind: &str) -> &'static str {
    match kind {
        "standard" => "Query · key / √d, with projections of its own for each head.",
        "symmetric" => "Query · query / √d: a query is the key too.",
        "pairwise" => "Query · U · query / √d, with a matrix U for each head.",
        "shared_weight" => "Query · key / √d of one matrix, told apart by diagonals.",
        "collaborative" => "All heads share queries and keys; each mixes their dimensions its own way.",
        "grouped" => "Query · key / √d, where several heads share keys and values.",
        _ => "Query · key / √d, where keys and values come from one narrow vector.",
    }
}

/// A way to score of this kind, with numbers that fit the model and save something.
fn usual(kind: &str, model: &ModelConfig) -> Compatibility {
    match kind {
        "symmetric" => Compatibility::Symmetric(Symmetric {}),
        "pairwise" => Compatibility::Pairwise(Pairwise {}),
        "shared_weight" => Compatibility::SharedWeight(SharedWeight {}),
        "collaborative" => Compatibility::Collaborative(Collaborative { d_k: (model.width / 2).clamp(1, 65_536) }),
        "grouped" => {
            let half = model.heads / 2;
            let kv_heads = if half > 0 && model.heads.is_multiple_of(half) { half } else { 1 };
            Compatibility::Grouped(Grouped { kv_heads })
        }
        "latent" => Compatibility::Latent(Latent { rank: (model.width / 4).max(1) }),
        _ => Compatibility::Standard(Standard::default()),
    }
}

/// The answer with its numbers.
pub(super) fn compatibility_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    let mut kind = config.attention.compatibility.kind();
    let given = config.attention.compatibility.clone();
    let cost = |kind: &&'static str| {
        let mut other = config.clone();
        other.attention.compatibility = if *kind == given.kind() { given.clone() } else { usual(kind, &config.model) };
        let of = figures(config, Question::Compatibility.alone(&other));
        let baseline = figures(config, config.attention.baseline(Baseline::Standard));
        of.zip(baseline).map_or_else(String::new, |(of, baseline)| Difference { of, baseline }.words())
    };
    if form.choice_noted(ui, words(kind), &mut kind, &ANSWERS, cost) {
        config.attention.compatibility = usual(kind, &config.model);
        form.unreadable.forget("attention.compatibility.");
    }
    note_ui(ui, note(kind));
    judged.difference_ui(ui, Question::Compatibility);
    match &mut config.attention.compatibility {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_score_can_be_chosen_and_fits_the_model() {
        let mut kinds: Vec<&str> = Compatibility::examples(4, 64).iter().map(Compatibility::kind).collect();
        kinds.dedup();
        assert_eq!(ANSWERS.map(|(kind, _)| kind).as_slice(), kinds);
        for (heads, width) in [(1, 1), (3, 15), (12, 768)] {
            let model = ModelConfig { heads, width, ..ModelConfig::default() };
            for (kind, _) in ANSWERS {
                let usual = usual(kind, &model);
                assert_eq!((usual.kind(), usual.problems(&model)), (kind, vec![]));
            }
        }
    }
}
