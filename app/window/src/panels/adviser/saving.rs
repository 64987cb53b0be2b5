//! What the plan saves, and the buttons that go on with it.

use std::collections::BTreeSet;

use egui::{Button, Grid, Label, RichText, Ui};
use headroom_engine::{
    config::{RunConfig, free_tag},
    protocol::commands,
    store::{Advised, RunSummary},
};

use super::{derived::OfThresholds, memory::Memory};
use crate::{
    context::{Action, PanelContext},
    file_dialogs::current_folder,
    findings, theme,
};

/// Where advice comes from.
pub struct Source<'a> {
    /// The run that was measured.
    pub run: &'a RunSummary,
    /// The config that it was trained with.
    pub given: &'a RunConfig,
    /// The analysis in words.
    pub words: &'a str,
    /// Its step, where known.
    pub step: Option<u64>,
}

/// Draws the table and the buttons.
pub fn saving_ui(ui: &mut Ui, source: &Source<'_>, now: &OfThresholds, memory: &mut Memory, cx: &mut PanelContext<'_>) {
    let Source { run, given, words, step } = *source;
    // Its own name, without what tells it from others in lists.
    let name = cx.state.run(&run.id).map_or_else(|| run.name.clone(), |run| run.name.clone());
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new("What that would save").color(palette.strong));
    let advice = &now.advice;
    let why_not = advice.why_not();
    match &advice.prediction {
        Err(problems) => {
            for problem in problems {
                ui.add(Label::new(RichText::new(problem.to_string()).color(palette.error)).wrap());
            }
        }
        Ok(prediction) => {
            rows_ui(ui, findings::saving_rows(prediction));
            words_ui(ui, &findings::measured_words(prediction));
        }
    }
    let words_of_loss = "Counted by the cost model. Quality after training is not predicted: train the model to see.";
    ui.add(Label::new(RichText::new(words_of_loss).small().color(palette.weak)).wrap());
    ui.add_space(4.0);
    let again = ui.checkbox(&mut memory.again, "Train this run again beside it");
    again.on_hover_text(
        "The run is trained already and is compared as it is. Training it again first, with the same seed, times both \
         on the machine as it is now, which is fairer.",
    );
    let why_not = if cx.state.engine_ended { Some("The engine has ended.".to_owned()) } else { why_not };
    ui.horizontal_wrapped(|ui| {
        let button = Button::new(RichText::new(format!("Train this beside \"{}\"", run.name)).strong());
        let button = ui.add_enabled(why_not.is_none(), button).accessible_name("Train what is advised");
        let button =
            button.on_hover_text("Same seed, data order, schedule and length; runs when its turn in the queue comes");
        if button.on_disabled_hover_text(why_not.clone().unwrap_or_default()).clicked()
            && let (Some(prediction), Some(config)) = (advice.to_keep(), advice.config())
        {
            let advised = Advised {
                source: run.id.clone(),
                beside: None,
                step,
                words: words.to_owned(),
                prediction: prediction.clone(),
            };
            let config = findings::advised_config(&name, config, prediction);
            train(&name, given, config, advised, memory.again, cx);
        }
        let open = ui.add_enabled(advice.prediction.is_ok(), Button::new("Open the plan in Configure"));
        if open.on_hover_text("Opens Configure with the proposed config").clicked()
            && let (Ok(prediction), Some(config)) = (&advice.prediction, advice.config())
        {
            let config = findings::advised_config(&name, config, prediction);
            cx.act(Action::Configure(Box::new(config), current_folder()));
        }
    });
    if let Some(why) = why_not {
        let what_to_do = if cx.state.engine_ended {
            ""
        } else {
            " What is ticked above is trained: tick another finding, or lower its threshold."
        };
        ui.add(Label::new(RichText::new(why + what_to_do).color(palette.weak)).wrap());
    }
}

/// The table of what changes.
pub fn rows_ui(ui: &mut Ui, rows: Vec<[String; 4]>) {
    let palette = theme::palette(ui.visuals());
    Grid::new("saving").num_columns(4).striped(true).spacing([14.0, 3.0]).show(ui, |ui| {
        for heading in ["", "Now", "Advised", "Difference"] {
            ui.label(RichText::new(heading).small().color(palette.weak));
        }
        ui.end_row();
        for [what, old, new, difference] in rows {
            ui.label(what);
            ui.label(old);
            ui.label(new);
            ui.label(RichText::new(difference).strong());
            ui.end_row();
        }
    });
}

/// What the measurements say, a sentence a line.
pub fn words_ui(ui: &mut Ui, sentences: &[String]) {
    let palette = theme::palette(ui.visuals());
    for sentence in sentences {
        ui.add(Label::new(RichText::new(sentence).color(palette.weak)).wrap());
    }
}

fn train(name: &str, given: &RunConfig, config: RunConfig, advised: Advised, again: bool, cx: &mut PanelContext<'_>) {
    let taken: BTreeSet<&str> = cx.state.runs.iter().flat_map(|run| run.tags.iter().map(String::as_str)).collect();
    let tag = free_tag("advice", name, &taken);
    let again = again.then(|| Box::new(RunConfig { name: format!("{name}: again"), ..given.clone() }));
    // Curves are compared with the run that it came from.
    cx.state.selection.visible.insert(advised.source.clone());
    cx.state.selection.baseline = Some(advised.source.clone());
    let (config, advised) = (Box::new(config), Box::new(advised));
    cx.send(commands::TrainAdvice { config, again, base_dir: current_folder(), tag, advised });
}
