//! The three sections: which heads, how many dimensions, how many pairs.

use egui::{Label, RichText, Ui};
use headroom_engine::{attention::HeadAt, config::counted};

use super::{
    chart::{Charts, PartChart},
    derived::{OfAnalysis, OfThresholds},
    memory::Memory,
};
use crate::{
    findings, format,
    panels::{analysis::head_name, redundancy::spot},
    plot::{Axis, Quantity},
    theme,
    widgets::{HeadMap, HeadSpot, slider_ui},
};

/// Heads that are written out.
const MOST: usize = 12;

const HEADS: &str = "A head may use the map of any head of an earlier layer that computes one. Each is compared with \
                     the head that computes its new map, never along a chain: the similarity is the lowest of all \
                     heads that get that map. \
    S(A, B) = 1 - mean over p of ½ Σ_j |A[p,j] - B[p,j]| (Reuse Transformers, equation 2)";
const DIMENSIONS: &str = "Queries and keys of all heads come from projections that the heads share, D_k columns each; \
                          every \
    head mixes them in its own way. The energy is that of W_Q W_K^T with the weights of all heads side by side: the first D_k \
    squared singular values over all of them, in the layer that needs most. It says nothing of single heads. (Collaborate \
    instead of concatenate, figure 1)";
const PAIRS: &str = "In all layers but the last each query scores k keys; its other scores follow by a fixed linear \
                     map, \
    R = C_P̄P C_PP⁻¹. The error is what that leaves of the scores' energy in the trained model. Pairs and R come from its best \
    checkpoint. (Eigen analysis, section 3)";

/// The charts' titles, by number.
pub const CHARTS: [&str; 3] =
    ["Heads that could borrow", "Energy of W_Q W_K^T, all heads of a layer", "Error of restored scores"];

/// A section's switch with what it is, and its slider; whether the slider can do anything.
fn head_ui(ui: &mut Ui, is_on: &mut bool, title: &str, help: &str, slider: (&str, &mut f64), is_known: bool) {
    ui.horizontal_wrapped(|ui| {
        ui.add_enabled(is_known, egui::Checkbox::new(is_on, RichText::new(title).strong())).on_hover_text(help);
    });
    ui.horizontal(|ui| {
        let (name, value) = slider;
        let label = ui.add_enabled(is_known, Label::new(name));
        ui.spacing_mut().slider_width = (ui.available_width() - 80.0).clamp(80.0, 260.0);
        let slider = ui.add_enabled_ui(is_known, |ui| {
            slider_ui(ui, value, 0.0..=1.0, |slider| slider.fixed_decimals(2).step_by(0.01))
        });
        slider.inner.labelled_by(label.id).on_hover_text(help);
    });
}

fn told_ui(ui: &mut Ui, words: &str) {
    ui.add(Label::new(words).wrap());
}

fn missing_ui(ui: &mut Ui, why: &str) {
    let palette = theme::palette(ui.visuals());
    ui.add(Label::new(RichText::new(why).color(palette.weak)).wrap());
}

/// Which heads could borrow.
pub fn heads_ui(
    ui: &mut Ui,
    known: &OfAnalysis,
    now: &OfThresholds,
    memory: &mut Memory,
    charts: &mut Charts,
    pointed: &mut Option<HeadSpot>,
) {
    let is_known = known.adviser.borrowing().is_ok();
    let title = "Which heads could borrow";
    head_ui(ui, &mut memory.heads, title, HEADS, ("Similarity from", &mut memory.similarity), is_known);
    let heads = match &now.heads {
        Ok(heads) => heads,
        Err(why) => return missing_ui(ui, why),
    };
    let could = heads.borrowers();
    let computing: usize = (0..known.adviser.plan().layers()).map(|layer| known.adviser.plan().computed(layer)).sum();
    told_ui(
        ui,
        &match could {
            0 => {
                let best = known.adviser.borrowing().ok().and_then(|found| found.steps().first().copied());
                // Without a first one no threshold helps.
                let best = best.map_or_else(
                    || " No layer before theirs computes maps that they could borrow.".to_owned(),
                    |best| format!(" The first could from a similarity of {}.", format::fixed(best, 3)),
                );
                format!("None of {} could borrow.{best}", counted(computing, "head"))
            }
            could => format!("{} of {} could borrow.", format::count(could as u64), counted(computing, "head")),
        },
    );
    let place = known.adviser.borrowing().ok().map(|found| (memory.similarity, found.count(memory.similarity) as f64));
    PartChart {
        salt: "could borrow",
        title: CHARTS[0],
        curves: &[("heads", &known.borrowers)],
        axes: (Axis::new("Similarity from"), Axis::new("Heads").quantity(Quantity::Count)),
        place,
        empty: "The maps were not compared",
    }
    .show(ui, 0, charts);
    let shown = HeadMap::new("adviser", &now.grid).selectable().selected(*pointed).height(260.0).show(ui);
    if shown.chosen.is_some() {
        *pointed = shown.chosen;
    }
    let palette = theme::palette(ui.visuals());
    if could > 0 {
        let words = "A head that lends has the same colour as those that use its map.";
        ui.label(RichText::new(words).small().color(palette.weak));
    }
    if let Some(at) = *pointed
        && let Some(words) = head_words(now, at)
    {
        told_ui(ui, &words);
    }
    let named = heads.heads.iter().filter_map(|head| borrowed(head.at, &head.verdict));
    let words: Vec<String> = named.take(MOST).collect();
    if !words.is_empty() {
        let more = if could > MOST { format!(", and {} more", could - MOST) } else { String::new() };
        let words = format!("{}{more}", words.join(", "));
        ui.add(Label::new(RichText::new(words).small().color(palette.weak)).wrap());
    }
}

fn borrowed(at: HeadAt, verdict: &headroom_engine::advise::Verdict) -> Option<String> {
    match verdict {
        headroom_engine::advise::Verdict::Borrows { lender, similarity } => {
            Some(format!("{} from {} ({})", head_name(at), head_name(*lender), format::fixed(*similarity, 3)))
        }
        _ => None,
    }
}

/// Why one head does what it does.
fn head_words(now: &OfThresholds, at: HeadSpot) -> Option<String> {
    use headroom_engine::advise::Verdict;
    let heads = now.heads.as_ref().ok()?;
    let head = heads.heads.iter().find(|head| spot(head.at) == at)?;
    let name = head_name(head.at);
    Some(match head.verdict {
        Verdict::Borrows { lender, similarity } => {
            format!(
                "{name} would use the map of {}, whose similarity to its own is {}.",
                head_name(lender),
                format::fixed(similarity, 3)
            )
        }
        Verdict::Computes { nearest: Some(nearest), similarity: Some(similarity) } => format!(
            "{name} keeps computing: the most similar map of an earlier layer is that of {}, with a similarity of {}.",
            head_name(nearest),
            format::fixed(similarity, 3)
        ),
        Verdict::Computes { .. } => format!("{name} keeps computing: there is no earlier layer to borrow from."),
        Verdict::BorrowedBefore { lender } => {
            format!("{name} borrows already; its map is that of {}.", head_name(lender))
        }
        Verdict::NoMap => format!("{name} has no map."),
    })
}

/// How many dimensions could be shared.
pub fn dimensions_ui(ui: &mut Ui, known: &OfAnalysis, now: &OfThresholds, memory: &mut Memory, charts: &mut Charts) {
    let is_known = known.adviser.captured().is_ok();
    let title = "How many dimensions heads could share";
    head_ui(ui, &mut memory.dimensions, title, DIMENSIONS, ("Energy kept", &mut memory.energy), is_known);
    let found = match &now.dimensions {
        Ok(found) => found,
        Err(why) => return missing_ui(ui, why),
    };
    told_ui(
        ui,
        &format!(
            "d_k = {}: layer {} needs the most. It has {} now{}.",
            format::count(found.d_k as u64),
            found.layer,
            format::count(found.present as u64),
            if found.is_fewer() { "" } else { ", so this saves nothing" }
        ),
    );
    let curves: Vec<(&str, &crate::plot::Series)> =
        known.energies.iter().map(|(name, series)| (name.as_str(), series)).collect();
    PartChart {
        salt: "shared dimensions",
        title: CHARTS[1],
        curves: &curves,
        axes: (
            Axis::new("Dimensions d_k").quantity(Quantity::Count),
            Axis::new("Share of the energy").quantity(Quantity::Fraction),
        ),
        place: Some((found.d_k as f64, memory.energy)),
        empty: "The weights were not analysed",
    }
    .show(ui, 1, charts);
    let palette = theme::palette(ui.visuals());
    let words = format!(
        "The weights of queries alone need {} for that share, those of keys {}.",
        format::count(found.queries as u64),
        format::count(found.keys as u64)
    );
    ui.add(Label::new(RichText::new(words).small().color(palette.weak)).wrap());
}

/// What is to be done about errors that the analysis does not know.
pub enum PairsWish {
    /// Another analysis is to be shown, which knows them.
    Show,
    /// They are to be found first.
    Analyse,
}

/// Draws how many pairs are enough. `other`: the step of an analysis of this model that knows the errors.
pub fn pairs_ui(
    ui: &mut Ui,
    known: &OfAnalysis,
    now: &OfThresholds,
    memory: &mut Memory,
    (sources, other): (&[String], Option<&str>),
    charts: &mut Charts,
) -> Option<PairsWish> {
    let is_known = known.adviser.errors().is_ok();
    let title = "How many pairs are enough";
    head_ui(ui, &mut memory.pairs, title, PAIRS, ("Error allowed", &mut memory.error), is_known);
    let place = match &now.pairs {
        Ok(found) => {
            told_ui(
                ui,
                &format!(
                    "k = {} of {} per row leave an error of {}.",
                    format::count(found.k as u64),
                    counted(found.tokens, "pair"),
                    format::percent(found.error)
                ),
            );
            Some((found.k as f64, found.error))
        }
        Err(why) => {
            let elsewhere = other
                .filter(|_| !is_known)
                .map(|other| format!("Scores were not restored in this analysis, but in that of {other}."));
            missing_ui(ui, elsewhere.as_ref().unwrap_or(why));
            None
        }
    };
    if !is_known {
        let mut wish = None;
        ui.horizontal_wrapped(|ui| {
            if let Some(other) = other {
                let button = ui.button(format!("Show that of {other}"));
                let help = "The newest analysis of this model in which scores were restored from some of their pairs";
                if button.on_hover_text(help).accessible_name("Show the analysis that has it").clicked() {
                    wish = Some(PairsWish::Show);
                }
            }
            let button = ui.button("Analyse reconstruction now");
            if button.on_hover_text("On the best checkpoint; runs when its turn in the queue comes").clicked() {
                wish = Some(PairsWish::Analyse);
            }
        });
        return wish;
    }
    if let Ok(found) = &now.pairs
        && known.adviser.is_causal()
    {
        let words = findings::exact_rows_words(found.k, found.tokens);
        ui.add(Label::new(RichText::new(words).small().color(theme::palette(ui.visuals()).weak)).wrap());
    }
    for words in sources {
        let palette = theme::palette(ui.visuals());
        ui.add(Label::new(RichText::new(words).small().color(palette.warning)).wrap());
    }
    if known.errors.is_empty() {
        return None;
    }
    PartChart {
        salt: "pairs",
        title: CHARTS[2],
        curves: &[("error", &known.errors)],
        axes: (
            Axis::new("Pairs per row, k").quantity(Quantity::Count),
            Axis::new("Share of the scores' squares").quantity(Quantity::Fraction),
        ),
        place,
        empty: "Reconstruction was not analysed",
    }
    .show(ui, 2, charts);
    None
}
