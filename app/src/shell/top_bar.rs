use egui::{Align, Button, Label, Layout, ProgressBar, RichText, Ui};
use headroom_engine::{
    config::counted,
    store::{RunState, RunSummary},
    worker::Command,
};

use super::queue_ui;
use crate::{
    common::state_text,
    context::{Action, PanelContext, PanelId},
    format,
    state::CurrentRun,
    theme,
};

/// The bar that always says what computes now. `right` draws what stands at its right end.
pub fn top_bar_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, right: impl FnOnce(&mut Ui, &mut PanelContext<'_>)) {
    let palette = theme::palette(ui.visuals());
    ui.horizontal_centered(|ui| {
        ui.label(RichText::new("Headroom").strong().size(16.0));
        ui.label(RichText::new(&cx.state.store_name).color(palette.weak))
            .on_hover_text("The store that holds the runs");
        ui.separator();
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            right(ui, cx);
            load_ui(ui, cx);
            ui.separator();
            queue_ui(ui, cx);
            if let Some(current) = cx.state.current.clone() {
                buttons_ui(ui, cx, &current);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| current_ui(ui, cx, &current));
            } else {
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let text = match cx.state.speed.now() {
                        _ if cx.state.engine_ended => "The engine has ended.".to_owned(),
                        Some(now) => format!(
                            "Measuring {}: {} of {}.",
                            now.name,
                            now.points.len(),
                            counted(now.spec.point_count(), "point")
                        ),
                        None => cx.state.running_elsewhere().map_or_else(
                            || "Nothing is running.".to_owned(),
                            |run| format!("In another program: {}.", elsewhere_words(&cx.state.run_name(&run.id), run)),
                        ),
                    };
                    let label = ui.add(Label::new(RichText::new(text).color(palette.weak)).truncate());
                    if cx.state.running_elsewhere().is_some() {
                        label.on_hover_text("`headroom pause` and `headroom stop` on the command line reach it");
                    }
                });
            }
        });
    });
}

/// What the machine does.
fn load_ui(ui: &mut Ui, cx: &PanelContext<'_>) {
    let palette = theme::palette(ui.visuals());
    let Some(load) = &cx.state.system else { return };
    let text = format!("CPU {:.0} %   {}", load.cpu_percent, format::bytes(load.memory_bytes));
    ui.label(RichText::new(text).color(palette.weak)).on_hover_text(format!(
        "Processor use of this program (100 % = one core) and its memory. {} of memory are free on this machine.",
        format::bytes(load.free_bytes)
    ));
}

/// Pause, stop, checkpoint; drawn from right to left.
fn buttons_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, current: &CurrentRun) {
    let waits = current.is_stopping;
    let stop = ui
        .add_enabled(!waits, Button::new("Stop"))
        .on_hover_text("Ends the run after this step, with a checkpoint from which it can be resumed")
        .accessible_name("Stop the current run");
    if stop.clicked() {
        if let Some(current) = &mut cx.state.current {
            current.is_stopping = true;
        }
        cx.send(Command::Stop);
    }
    let (word, hover, name, command) = if current.is_paused {
        ("Resume", "Continues the run", "Resume the current run", Command::Resume)
    } else {
        ("Pause", "Pauses the run after this step", "Pause the current run", Command::Pause)
    };
    let ready = !waits && current.preparing.is_none();
    if ui.add_enabled(ready, Button::new(word)).on_hover_text(hover).accessible_name(name).clicked() {
        cx.send(command);
    }
    let checkpoint = ui
        .add_enabled(ready, Button::new("Checkpoint"))
        .on_hover_text("Writes a checkpoint after this step")
        .accessible_name("Write a checkpoint now");
    if checkpoint.clicked() {
        cx.send(Command::Checkpoint);
    }
}

/// Name, progress, speed.
fn current_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, current: &CurrentRun) {
    let palette = theme::palette(ui.visuals());
    let room = ui.available_width();
    let called = cx.state.run_name(&current.run);
    let name = ui.add(Button::new(&called).frame(false).truncate().min_size(egui::vec2(0.0, 0.0)));
    if name.on_hover_text("Opens the Live panel").accessible_name(format!("Current run: {called}")).clicked() {
        cx.act(Action::Open(PanelId::LIVE));
    }
    let (text, spoken) = progress_words(current);
    let width = (room * 0.35).clamp(80.0, 220.0);
    let bar = ui.scope(|ui| {
        // The track: a field's ground is the bar's own colour in the light theme.
        ui.visuals_mut().extreme_bg_color = palette.grid;
        ui.add(ProgressBar::new(current.fraction() as f32).desired_width(width).text(RichText::new(text).small()))
    });
    bar.inner.on_hover_text(spoken.as_str()).accessible_name(spoken.clone());
    if current.is_stopping {
        ui.colored_label(palette.warning, "Stopping…");
    } else if current.is_paused {
        ui.colored_label(palette.warning, "Paused");
    } else if let Some(health) = current.health.filter(|health| health.is_bad()) {
        let colour = state_text::health_colour(health, palette);
        ui.colored_label(colour, sentence_case(health.word())).on_hover_text(format!(
            "{} {}",
            health.why(),
            health.what_to_do()
        ));
    } else if let Some(eta) = current.eta_secs.filter(|eta| eta.is_finite()) {
        ui.label(format!("ETA {}", format::duration(eta)))
            .on_hover_text("Time until the last step, at the current speed");
    }
    if room > 620.0
        && let Some(speed) = current.tokens_per_sec
    {
        ui.colored_label(palette.weak, format::rate(speed, "tokens"));
    }
    if room > 740.0
        && let Some(loss) = current.loss
    {
        ui.colored_label(palette.weak, format!("loss {}", format::number(loss)))
            .on_hover_text("Training loss of the last step, nats per token");
    }
}

/// What a run in another program does.
fn elsewhere_words(name: &str, run: &RunSummary) -> String {
    let paused = if run.state == RunState::Paused { ", paused" } else { "" };
    let steps = run.steps_total.map(|all| format!(" of {}", format::count(all))).unwrap_or_default();
    format!("\"{name}\", step {}{steps}{paused}", format::count(run.steps_done))
}

/// A word at the beginning of a sentence.
fn sentence_case(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What stands in the progress bar, and what it is in full.
fn progress_words(current: &CurrentRun) -> (String, String) {
    match &current.preparing {
        Some((stage, fraction)) => {
            let text = format!("{stage} {}", format::percent(*fraction));
            (text.clone(), text)
        }
        None if current.steps == 0 => ("Starting".to_owned(), "Starting".to_owned()),
        None => (
            format::percent(current.fraction()),
            format!("Step {} of {}", format::count(current.step), format::count(current.steps)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::RunId;

    use super::*;

    #[test]
    fn progress_is_told_before_and_after_the_first_step() {
        let mut current = CurrentRun::named(RunId::new(), "a");
        assert_eq!(progress_words(&current).0, "Starting");
        current.preparing = Some(("Reading text".to_owned(), 0.5));
        assert_eq!(progress_words(&current).0, "Reading text 50 %");
        assert!((current.fraction() - 0.5).abs() < 1e-12);
        (current.preparing, current.step, current.steps) = (None, 410, 1000);
        assert_eq!(progress_words(&current), ("41 %".to_owned(), "Step 410 of 1,000".to_owned()));
    }
}
