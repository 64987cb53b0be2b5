use egui::{Button, Grid, ProgressBar, RichText, Ui};
use headroom_engine::{
    config::{Precision, counted},
    generate::CacheProof,
    protocol::PrecisionProof,
};
use serde::{Deserialize, Serialize};

use crate::{
    format,
    state::{Phase, Proving},
    theme,
    widgets::number_ui,
};

/// How caches are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProofForm {
    /// Examples of the held-out text.
    pub examples: usize,
    /// Whether the written text is taken instead, a source in each line.
    pub of_written: bool,
    /// Also in 16 bits with 11 bits of precision.
    pub f16: bool,
    /// Also in 16 bits with the range of 32.
    pub bf16: bool,
}

impl Default for ProofForm {
    fn default() -> Self {
        Self { examples: 32, of_written: false, f16: false, bf16: false }
    }
}

/// What was asked for with the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clicked {
    /// The comparison.
    Prove,
    /// Its end.
    Stop,
    /// The result as a file.
    Export,
    /// The result as a table on the clipboard.
    Copy,
}

impl ProofForm {
    /// The number formats, 32 bits first.
    pub fn precisions(&self) -> Vec<Precision> {
        let also = [(self.f16, Precision::F16), (self.bf16, Precision::Bf16)];
        let also = also.into_iter().filter(|(wanted, _)| *wanted).map(|(_, precision)| precision);
        std::iter::once(Precision::F32).chain(also).collect()
    }

    /// Draws the form and what was found. `verdict`: why it cannot begin.
    pub fn ui(&mut self, ui: &mut Ui, proving: Option<&Proving>, verdict: Result<(), &str>) -> Option<Clicked> {
        let palette = theme::palette(ui.visuals());
        let mut clicked = None;
        let text = "Generates from the same sources with every cache, by the first setting, and compares the tokens; then every \
                    cache reads the text that came without one, and the logits are compared.";
        ui.label(RichText::new(text).color(palette.weak));
        let is_open = proving.is_some_and(|proving| proving.phase.is_open());
        ui.horizontal_wrapped(|ui| {
            ui.add_enabled_ui(!self.of_written, |ui| {
                let label = ui.label("Examples");
                let examples = number_ui(ui, &mut self.examples, 1..=100_000, |drag| drag);
                examples
                    .labelled_by(label.id)
                    .on_hover_text("Of the held-out text: the first half of each is the prompt; a model that translates reads the whole source");
            });
            ui.checkbox(&mut self.of_written, "The text above, a source in each line");
            ui.checkbox(&mut self.f16, "f16").on_hover_text("Compare in this number format too");
            ui.checkbox(&mut self.bf16, "bf16").on_hover_text("Compare in this number format too");
            let button = ui.add_enabled(verdict.is_ok() && !is_open, Button::new("Prove"));
            let button = button.on_hover_text("Runs when its turn in the queue comes");
            let button = if let Err(why) = verdict { button.on_disabled_hover_text(why) } else { button };
            if button.accessible_name("Compare the caches").clicked() {
                clicked = Some(Clicked::Prove);
            }
            if let Some(proving) = proving.filter(|proving| proving.phase.is_open()) {
                let words = if proving.is_stopping { "Stopping…" } else { "Stop" };
                let stop = ui.add_enabled(!proving.is_stopping, Button::new(words));
                if stop.accessible_name("Stop the comparison").clicked() {
                    clicked = Some(Clicked::Stop);
                }
            }
            if proving.is_some_and(|proving| !proving.proofs.is_empty()) {
                if ui.button("Export…").accessible_name("Export the comparison").clicked() {
                    clicked = Some(Clicked::Export);
                }
                if ui.button("Copy CSV").accessible_name("Copy the comparison").clicked() {
                    clicked = Some(Clicked::Copy);
                }
            }
        });
        if let Some(proving) = proving {
            proving_ui(ui, proving);
        }
        clicked
    }
}

fn proving_ui(ui: &mut Ui, proving: &Proving) {
    let palette = theme::palette(ui.visuals());
    match &proving.phase {
        Phase::Waiting => {
            ui.horizontal(|ui| {
                ui.add(egui::Spinner::new().size(14.0));
                ui.label("Waiting in the queue, or reading the model");
            });
        }
        Phase::Going => {
            let (stage, share) = proving.progress();
            let bar = ProgressBar::new(share as f32).desired_width(260.0).text(stage.to_owned());
            ui.add(bar).accessible_name("Progress of the comparison");
        }
        Phase::Failed(why) => {
            ui.label(RichText::new(why).color(palette.error));
        }
        Phase::Done { stopped } => {
            if *stopped {
                let text = if proving.proofs.is_empty() { "Stopped." } else { "Stopped; what was compared is shown." };
                ui.label(RichText::new(text).color(palette.warning));
            }
            if !proving.proofs.is_empty() {
                ui.label(RichText::new(format!("{}, {}", proving.name, proving.data)).small().color(palette.weak));
            }
            for found in &proving.proofs {
                proof_ui(ui, found);
            }
        }
    }
}

/// What a comparison says, in a sentence.
fn verdict(precision: Precision, proof: &CacheProof) -> String {
    let (texts, tokens) = (counted(proof.texts as u64, "text"), counted(proof.tokens as u64, "token"));
    let result = if proof.texts == 0 {
        "nothing was compared"
    } else if proof.is_lossless() {
        "every cache wrote the same tokens"
    } else {
        "not every cache wrote the same tokens"
    };
    format!("{}: {result} ({texts}, {tokens})", precision.name())
}

fn proof_ui(ui: &mut Ui, PrecisionProof { precision, proof }: &PrecisionProof) {
    let palette = theme::palette(ui.visuals());
    let colour = if proof.is_lossless() { palette.better } else { palette.warning };
    ui.label(RichText::new(verdict(*precision, proof)).color(colour));
    let has_reference = proof.caches.iter().any(|row| row.as_reference.is_some());
    let id = ("proof", precision.name());
    Grid::new(id).striped(true).spacing([18.0, 4.0]).show(ui, |ui| {
        let mut headings = vec!["Kept between tokens", "Same tokens", "Largest logit difference", "Bytes kept", "Time"];
        if has_reference {
            headings.insert(2, "Same as f32");
        }
        for heading in headings {
            ui.label(RichText::new(heading).small().color(palette.weak));
        }
        ui.end_row();
        for row in &proof.caches {
            ui.label(row.cache.label());
            if let Some(why) = &row.why {
                ui.label(RichText::new(why).color(palette.warning));
                ui.end_row();
                continue;
            }
            let share = |count: usize| {
                let of_all = count as f64 / proof.texts.max(1) as f64;
                format!(
                    "{} of {} ({})",
                    format::count(count as u64),
                    format::count(proof.texts as u64),
                    format::percent(of_all)
                )
            };
            ui.label(share(row.identical));
            if has_reference {
                ui.label(row.as_reference.map_or_else(String::new, share));
            }
            let difference =
                if row.cache.is_none() { "–".to_owned() } else { format::number(row.largest_difference) };
            ui.label(difference);
            ui.label(format::bytes(row.cache_bytes));
            ui.label(format::duration(row.seconds));
            ui.end_row();
        }
    });
}
