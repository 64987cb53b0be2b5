//! What the draft costs, part by part on hover.

use std::{cell::Cell, collections::BTreeMap};

use egui::{Grid, RichText, Ui};
use headroom_engine::{
    attention::{Part, PartCost},
    config::{DataConfig, Source},
    data::DataPreview,
    store::{RunId, RunSummary},
};
use serde_json::Value;

use super::{
    difference::{Change, Difference},
    draft::Draft,
    estimate::Estimate,
};
use crate::{common::Expected, compare::flatten, context::PanelContext, format, state::State, theme};

/// Room for a name and its number, in points.
const PAIR: f32 = 236.0;

/// The newest runs, among which one that has read the same text is looked for.
const RUNS_OF_TEXT: usize = 256;

/// What takes the place of a number that is not known.
const UNKNOWN: &str = "—";

/// What stands beside a number: its difference from the baseline, how it is written, and whether less is better.
type Beside = Option<(fn(&Difference) -> Change, fn(u64) -> String, bool)>;

/// Tokens of the draft's text, looked up once for each version of the draft and each new run.
#[derive(Default)]
pub struct TextTokens {
    /// The version of the draft, how many runs are known to have read something, and the newest of them.
    of: Option<(u64, usize, Option<RunId>)>,
    found: Option<u64>,
}

impl TextTokens {
    fn of(&mut self, state: &mut State, draft: &Draft) -> Option<u64> {
        let mut readers = state.runs.iter().filter(|run| tokens_of(run, state).is_some());
        let newest = readers.next().map(|run| run.id.clone());
        let now = (draft.version(), readers.count(), newest);
        if self.of.as_ref() == Some(&now) {
            return self.found;
        }
        let is_settled;
        (self.found, is_settled) = train_tokens(state, draft);
        self.of = is_settled.then_some(now);
        self.found
    }
}

/// The column of numbers.
pub fn summary_ui(ui: &mut Ui, draft: &Draft, tokens: &mut TextTokens, cx: &mut PanelContext<'_>) {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new("What it takes").strong());
    let estimate = draft.estimate.as_ref();
    let known = Known {
        train_tokens: tokens.of(cx.state, draft),
        train_rows: train_rows(draft.preview(cx.state), &draft.config.data),
    };
    let free = free_bytes(draft, cx.state);
    let difference = estimate.and_then(|estimate| estimate.difference).filter(|difference| !difference.is_none());
    let is_old = estimate.is_some() && (draft.is_estimate_old || draft.unreadable.problems().next().is_some());
    if is_old {
        ui.colored_label(palette.weak, "Numbers of the last valid config: fix the marked fields.");
    }
    if draft.assumes_images() {
        let words = "For images of 32 × 32 pixels in colour, until they are read.";
        ui.label(RichText::new(words).small().color(palette.weak));
    }
    if draft.assumes_vocabulary()
        && let Some(estimate) = estimate
    {
        let entries = format::count(estimate.vocabulary as u64);
        let words = format!("For a vocabulary of {entries}, until the tokenizer is read.");
        ui.label(RichText::new(words).small().color(palette.weak));
    }
    ui.scope(|ui| {
        if is_old {
            ui.multiply_opacity(theme::OUTDATED_OPACITY);
        }
        // Where it stands above the form there is more width than height.
        let across = ((ui.available_width() / PAIR) as usize).clamp(1, 4);
        let shown = Cell::new(0_usize);
        let grid = Grid::new(("summary", across)).num_columns(2 * across);
        grid.spacing([12.0, 5.0]).min_col_width(if across > 1 { 0.0 } else { 96.0 }).show(ui, |ui| {
            let line_beside = |ui: &mut Ui, name: &str, value: String, beside: Beside, hover: &dyn Fn(&mut Ui)| {
                ui.colored_label(palette.weak, name);
                let value = if value == UNKNOWN {
                    RichText::new(value).color(palette.weak)
                } else {
                    RichText::new(value).strong()
                };
                ui.horizontal(|ui| {
                    ui.label(value).on_hover_ui(|ui| hover(ui));
                    if let (Some((of, show, has_direction)), Some(difference)) = (beside, &difference) {
                        let change = of(difference);
                        let colour = if has_direction { change.colour(palette) } else { palette.text };
                        let about =
                            format!("{} against standard attention in which every head computes", change.amount(show));
                        ui.label(RichText::new(change.percent()).color(colour)).on_hover_text(about);
                    }
                    if across > 1 {
                        ui.add_space(12.0);
                    }
                });
                shown.set(shown.get() + 1);
                if shown.get().is_multiple_of(across) {
                    ui.end_row();
                }
            };
            let line = |ui: &mut Ui, name: &str, value: String, hover: &dyn Fn(&mut Ui)| {
                line_beside(ui, name, value, None, hover);
            };
            let show = |of: fn(&Estimate) -> String| estimate.map_or_else(|| UNKNOWN.to_owned(), of);
            let parameters: Beside = Some((Difference::parameters, |n| format::si(n as f64, ""), false));
            line_beside(ui, "Parameters", show(|e| format::si(e.cost.parameters as f64, "")), parameters, &|ui| {
                parts_ui(
                    ui,
                    estimate,
                    "Trainable parameters, with the requested or the known vocabulary",
                    |part| part.parameters,
                    format::count,
                );
            });
            let flops: Beside = Some((Difference::flops, |n| format::flops(n as f64), true));
            line_beside(ui, "FLOPs per step", show(|e| format::flops(e.cost.flops_per_step as f64)), flops, &|ui| {
                let words = "Of the matrix products, forward and backward, in one pass";
                parts_ui(
                    ui,
                    estimate,
                    words,
                    |part| part.forward_flops.saturating_add(part.backward_flops),
                    |n| format::flops(n as f64),
                );
            });
            line(
                ui,
                "FLOPs in all",
                estimate.and_then(|e| Some((e, steps_of(draft, e, known)?))).map_or_else(
                    || UNKNOWN.to_owned(),
                    |(e, steps)| format::flops(e.cost.flops_per_step as f64 * steps as f64),
                ),
                &|ui| {
                    ui.label("FLOPs per step times steps.");
                },
            );
            let memory: Beside = Some((Difference::memory, format::bytes, true));
            line_beside(ui, "Memory to train", show(|e| format::bytes(e.cost.memory_bytes)), memory, &|ui| {
                memory_ui(ui, estimate);
            });
            let name = if across > 1 { "Free memory" } else { "  free" };
            line(ui, name, free.map_or_else(|| UNKNOWN.to_owned(), format::bytes), &|ui| {
                ui.label("Free memory on the chosen device now.");
            });
            let source = &draft.config.data.source;
            let most = if source.has_labels() && !source.has_images() { "up to " } else { "" };
            let tokens = show(|e| format::count(e.tokens_per_step));
            let tokens = if tokens == UNKNOWN { tokens } else { format!("{most}{tokens}") };
            line(ui, "Tokens per step", tokens, &|ui| {
                ui.label("Batch × accumulation × sequence length.");
                if !most.is_empty() {
                    ui.label("Shorter texts are not padded to the sequence length: a step has fewer, and costs less.");
                }
            });
            let per_epoch = steps_per_epoch(draft, estimate, known);
            let (unknown, about) = if is_of_examples(source) {
                let about = "The examples to train on divided by those of a step; known of a short table at once.";
                (UNKNOWN, about)
            } else {
                ("after the first run", "Known once a run has read and tokenised this text.")
            };
            line(ui, "Steps per epoch", per_epoch.map_or_else(|| unknown.to_owned(), format::count), &|ui| {
                ui.label(about);
            });
            let steps = estimate.and_then(|e| steps_of(draft, e, known));
            line(ui, "Steps", steps.map_or_else(|| UNKNOWN.to_owned(), format::count), &|ui| {
                ui.label("Optimiser steps of the whole run.");
            });
            let time = estimate.zip(steps).and_then(|(e, steps)| {
                let flops = e.cost.flops_per_step as f64 * steps as f64;
                Expected::of(flops, e.cost.flops_per_step, &draft.config, cx.state)
            });
            let words = time.as_ref().map_or_else(|| UNKNOWN.to_owned(), Expected::words);
            line(ui, "Expected time", words, &|ui| {
                let unknown = || "Known once a run has been measured on this device.".to_owned();
                ui.label(time.as_ref().map_or_else(unknown, Expected::about));
            });
        });
    });
    if let (Some(estimate), Some(free)) = (estimate, free)
        && !is_old
        && estimate.cost.memory_bytes > free
    {
        ui.colored_label(palette.error, "This needs more memory than is free.");
    }
    if estimate.is_none() {
        ui.colored_label(palette.weak, "Fix the marked fields to see the numbers.");
    }
}

/// Free memory: as the engine said of the chosen device, else of the machine.
fn free_bytes(draft: &Draft, state: &State) -> Option<u64> {
    let checked = state.check.as_ref().and_then(|check| check.free_bytes);
    let is_cpu = draft.config.device == headroom_engine::config::DeviceChoice::Cpu;
    checked.or(state.system.as_ref().filter(|_| is_cpu).map(|load| load.free_bytes))
}

/// What is known of the text before it is trained on.
#[derive(Clone, Copy)]
struct Known {
    train_tokens: Option<u64>,
    train_rows: Option<u64>,
}

/// Steps of the run, also where it is given in epochs over a text that is known.
fn steps_of(draft: &Draft, estimate: &Estimate, known: Known) -> Option<u64> {
    estimate.steps.or_else(|| {
        let train = &draft.config.train;
        let per_epoch = match known {
            Known { train_rows: Some(rows), .. } => {
                rows.div_ceil((train.batch * train.accumulation).max(1) as u64) as f64
            }
            Known { train_tokens, .. } => train_tokens? as f64 / estimate.tokens_per_step.max(1) as f64,
        };
        Some((train.epochs? * per_epoch).ceil() as u64)
    })
}

/// Steps of one pass over the text, rounded up.
fn steps_per_epoch(draft: &Draft, estimate: Option<&Estimate>, known: Known) -> Option<u64> {
    let train = &draft.config.train;
    match known {
        Known { train_rows: Some(rows), .. } => Some(rows.div_ceil((train.batch * train.accumulation).max(1) as u64)),
        Known { train_tokens, .. } => estimate.zip(train_tokens).map(|(e, tokens)| e.steps_per_epoch(tokens)),
    }
}

/// Rows of the config's table, or images, that are trained on, where the engine has seen all of them.
fn train_rows(found: Option<&DataPreview>, data: &DataConfig) -> Option<u64> {
    let rows = match found? {
        DataPreview::Table(table) => table.is_whole.then_some(table.rows)?,
        DataPreview::Images(images) => images.images,
        DataPreview::Examples(_) => return None,
    };
    let held_out = if data.source.has_own_split() { 0.0 } else { data.validation_fraction };
    Some((rows as f64 * (1.0 - held_out)).round() as u64).filter(|rows| *rows > 0)
}

/// Tokens that a run has read, once it has.
fn tokens_of(run: &RunSummary, state: &State) -> Option<u64> {
    state.started.get(&run.id).map(|facts| facts.train_tokens).or(run.train_tokens)
}

/// Tokens of this very text, where a run of the store has read it, and whether more will not be known. None where steps are counted in
/// examples, each of which has a length of its own.
fn train_tokens(state: &mut State, draft: &Draft) -> (Option<u64>, bool) {
    if is_of_examples(&draft.config.data.source) {
        return (None, true);
    }
    let config = draft.config.clone().anchored(&draft.base_dir);
    let own = flatten(&serde_json::to_value(&config).unwrap_or_default());
    let read = |run: &RunSummary| Some((run.id.clone(), tokens_of(run, state)?));
    let runs: Vec<(RunId, u64)> = state.runs.iter().filter_map(read).take(RUNS_OF_TEXT).collect();
    let mut configs = std::mem::take(&mut state.configs);
    let missing = configs.want(state, runs.iter().map(|(run, _)| run.clone()));
    let is_same = |run: &RunId| configs.get(run).is_some_and(|other| text_of(other).eq(text_of(&own)));
    let found = runs.iter().find(|(run, _)| is_same(run)).map(|(_, tokens)| *tokens);
    state.configs = configs;
    (found, found.is_some() || missing == 0)
}

/// Whether a batch is so many examples, and not so many tokens.
fn is_of_examples(source: &Source) -> bool {
    source.has_labels() || source.has_pairs()
}

/// The fields that decide which tokens are trained on.
fn text_of(config: &BTreeMap<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let has_tokens_of_model = config.get("data.tokenizer.kind").is_some_and(|kind| kind == "initial");
    let counts = move |key: &str| key.starts_with("data.") || (has_tokens_of_model && key == "model.initial");
    config.iter().filter(move |(key, _)| counts(key))
}

/// One number part by part.
fn parts_ui(ui: &mut Ui, estimate: Option<&Estimate>, words: &str, of: fn(&PartCost) -> u64, show: fn(u64) -> String) {
    ui.label(words);
    let Some(estimate) = estimate else { return };
    Grid::new(words).num_columns(3).spacing([14.0, 2.0]).show(ui, |ui| {
        let parts = Part::ALL.map(|part| (part, of(&estimate.cost.part(part))));
        let all = parts.iter().map(|(_, n)| *n).fold(0, u64::saturating_add).max(1);
        for (part, n) in parts {
            ui.label(part.name());
            ui.label(show(n));
            ui.label(format::percent(n as f64 / all as f64));
            ui.end_row();
        }
    });
}

fn memory_ui(ui: &mut Ui, estimate: Option<&Estimate>) {
    ui.label("An estimate of the peak of what training holds.");
    ui.label("The text, the program and the window come on top: the peak memory of a run is of all of these.");
    let Some(Estimate { cost, .. }) = estimate else { return };
    Grid::new("memory").num_columns(2).spacing([14.0, 2.0]).show(ui, |ui| {
        for (name, bytes) in [
            ("Weights", cost.weights_bytes),
            ("Gradients", cost.gradient_bytes),
            ("Optimiser", cost.optimiser_bytes),
            ("Activations", cost.activation_bytes),
            ("Working memory", cost.working_bytes),
        ] {
            ui.label(name);
            ui.label(format::bytes(bytes));
            ui.end_row();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use headroom_engine::config::{FileSource, NumberWordsSource, RunConfig};

    use super::*;
    use crate::examples;

    #[test]
    fn a_run_of_the_store_that_read_the_same_text_says_how_many_tokens_it_has() {
        let mut state = State::default();
        state.runs.push(examples::summary(1, "run"));
        let file = |path: &str| Source::File(FileSource { path: path.into(), ..FileSource::default() });
        let mut draft = Draft::default();
        draft.load(RunConfig::default(), PathBuf::from("/texts"));
        let edit = |draft: &mut Draft, edit: &dyn Fn(&mut RunConfig)| {
            let before = draft.config.clone();
            edit(&mut draft.config);
            draft.edited(before, "data");
        };
        edit(&mut draft, &|config| config.data.source = file("a.txt"));
        let mut tokens = TextTokens::default();
        let mut found = |state: &mut State, draft: &Draft| tokens.of(state, draft);
        assert_eq!(found(&mut state, &draft), None, "its config is not there yet");
        assert_eq!(state.take_requests().len(), 1);
        let mut record = examples::record(1, "run");
        let mut stored = RunConfig::default();
        stored.data.source = file("a.txt");
        record.config = serde_json::to_value(stored.clone().anchored(&draft.base_dir)).unwrap();
        state.records.insert(record.summary.id.clone(), record);
        assert_eq!(found(&mut state, &draft), Some(51_200));
        // However it is trained, and whatever reads it.
        edit(&mut draft, &|config| (config.model.layers, config.train.batch) = (3, 7));
        assert_eq!(found(&mut state, &draft), Some(51_200));
        // Nothing is looked at again as long as nothing changes; a run that reads something is.
        let known = std::mem::take(&mut state.configs);
        let records = std::mem::take(&mut state.records);
        assert_eq!(found(&mut state, &draft), Some(51_200));
        assert!(state.take_requests().is_empty());
        state.runs.insert(0, examples::summary(2, "run"));
        assert_eq!(found(&mut state, &draft), None);
        assert!(!state.take_requests().is_empty());
        state.runs.remove(0);
        (state.configs, state.records) = (known, records);
        edit(&mut draft, &|config| config.data.source = file("b.txt"));
        assert_eq!(found(&mut state, &draft), None);
        // Pairs are counted, not their tokens.
        stored.data.source = Source::NumberWords(NumberWordsSource::default());
        edit(&mut draft, &|config| config.data.source = Source::NumberWords(NumberWordsSource::default()));
        let id = state.runs[0].id.clone();
        state.configs.insert(id, &serde_json::to_value(&stored).unwrap());
        assert_eq!(found(&mut state, &draft), None);
    }
}
