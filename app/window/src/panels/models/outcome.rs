//! What a conversion did.

use egui::{Grid, ProgressBar, RichText, Spinner, Ui};
use headroom_engine::{
    config::counted,
    convert::{ConvertedAttention, Price},
    protocol::{Event, Target, events},
};

use crate::{
    findings, format,
    state::{ConversionRun, Phase},
    theme,
};

/// What was asked for of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clicked {
    /// The model that was made is to be shown.
    Open,
    /// The tables as a file.
    Export,
    /// It is to be shown no longer.
    Dismiss,
}

/// Draws a conversion, on its way or done.
pub fn outcome_ui(ui: &mut Ui, run: &ConversionRun) -> Option<Clicked> {
    let palette = theme::palette(ui.visuals());
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        let title = format!("{}: {}", run.asked.name, run.asked.conversion.label());
        ui.label(RichText::new(title).color(palette.strong));
        if !run.phase.is_open() {
            let dismiss = ui.small_button("Dismiss").on_hover_text("Shows it no longer; what was written stays");
            if dismiss.clicked() {
                clicked = Some(Clicked::Dismiss);
            }
        }
    });
    match &run.phase {
        Phase::Waiting => {
            ui.horizontal(|ui| {
                ui.add(Spinner::new().size(14.0));
                ui.label("Waiting in the queue, or reading the model and the text");
            });
        }
        Phase::Going => {
            let (stage, share) = run.progress();
            ui.add(ProgressBar::new(share as f32).desired_width(360.0).show_percentage());
            ui.label(RichText::new(stage).color(palette.weak));
        }
        Phase::Failed(why) => {
            let why = match &run.asked.target {
                Target::Run { run: id, .. } => why.replace(id.as_str(), &run.asked.name),
                Target::Directory(_) => why.clone(),
            };
            ui.label(RichText::new(why).color(palette.error));
        }
        Phase::Done { stopped: true } => {
            ui.label("Stopped; nothing was written.");
        }
        Phase::Done { stopped: false } => {}
    }
    run.outcome.as_ref().and_then(|outcome| done_ui(ui, outcome)).or(clicked)
}

fn done_ui(ui: &mut Ui, outcome: &Event) -> Option<Clicked> {
    let Event::Converted(events::Converted {
        path,
        bytes,
        parameters_before,
        parameters,
        attentions,
        found,
        price,
        unpriced,
        left_out,
        seconds,
        ..
    }) = outcome
    else {
        return None;
    };
    let palette = theme::palette(ui.visuals());
    let saved = 1.0 - *parameters as f64 / (*parameters_before).max(1) as f64;
    ui.label(format!(
        "{} parameters instead of {} ({} fewer), {} in {}, {}",
        format::count(*parameters),
        format::count(*parameters_before),
        format::percent(saved),
        format::bytes(*bytes),
        path.display(),
        format::duration(*seconds)
    ));
    if let Some(found) = found {
        ui.label(format!("On the text: {found}."));
    }
    if let Some((now, before)) = price.as_ref().and_then(|price| price.loss.zip(price.loss_before)) {
        // Of a few examples: not the loss of all held-out text.
        let examples = price.as_ref().map_or(0, |price| price.examples);
        ui.label(format!(
            "Loss {} nats, {} before, on these {}.",
            format::number(now),
            format::number(before),
            counted(examples as u64, "example")
        ));
    }
    if let Some(why) = price.as_ref().and_then(findings::without_loss) {
        ui.label(why);
    }
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        if ui.button("Show it").on_hover_text("Chooses the model that was made").clicked() {
            clicked = Some(Clicked::Open);
        }
        if ui.button("Export…").on_hover_text("JSON of everything or CSV of the tables").clicked() {
            clicked = Some(Clicked::Export);
        }
    });
    ui.horizontal_top(|ui| {
        if !attentions.is_empty() {
            attentions_ui(ui, attentions);
            ui.add_space(24.0);
        }
        if let Some(price) = price {
            price_ui(ui, price);
        }
    });
    if let Some(price) = price {
        let text = format!(
            "Compared on {} examples of {} tokens, {}.",
            format::count(price.examples as u64),
            format::count(price.tokens as u64),
            price.data
        );
        ui.label(RichText::new(text).small().color(palette.weak));
    }
    if let Some(why) = unpriced {
        let text = format!("What it changed in maps and outputs was not measured: {why}.");
        ui.label(RichText::new(text).small().color(palette.weak));
    }
    if let Some(text) = findings::not_taken_over(left_out) {
        ui.label(RichText::new(text).small().color(palette.weak));
    }
    clicked
}

fn attentions_ui(ui: &mut Ui, attentions: &[ConvertedAttention]) {
    Grid::new("attentions").num_columns(4).spacing([16.0, 2.0]).striped(true).show(ui, |ui| {
        for (name, help) in [
            ("Attention", ""),
            ("Error of products", "|T - T~| / |T| of W_Q W_K^T of its heads"),
            ("Sweeps", "Of the search; 0 where nothing had to be searched for"),
            ("Time", ""),
        ] {
            let label = ui.label(RichText::new(name).small());
            if !help.is_empty() {
                label.on_hover_text(help);
            }
        }
        ui.end_row();
        for one in attentions {
            ui.label(&one.attention);
            ui.label(one.relative_error.map_or_else(|| "–".to_owned(), format::percent));
            ui.label(format::count(one.sweeps as u64));
            ui.label(format::duration(one.seconds));
            ui.end_row();
        }
    });
}

fn price_ui(ui: &mut Ui, price: &Price) {
    Grid::new("price").num_columns(3).spacing([16.0, 2.0]).striped(true).show(ui, |ui| {
        for (name, help) in [
            ("Layer", ""),
            (
                "Distance of maps",
                "Total-variation distance of its heads' maps to what they were, a mean over rows and heads, 0 to 1",
            ),
            ("Error of output", "|x - x~| / |x| of the stream after the layer, of the last layer after the norm at the end where the model has one; both models \
                 run as wholes"),
        ] {
            let label = ui.label(RichText::new(name).small());
            if !help.is_empty() {
                label.on_hover_text(help);
            }
        }
        ui.end_row();
        for layer in &price.layers {
            ui.label(layer.layer.to_string());
            ui.label(layer.map_distance.map_or_else(|| "–".to_owned(), |distance| format::fixed(distance, 4)));
            ui.label(format::percent(layer.output_error));
            ui.end_row();
        }
    });
}
