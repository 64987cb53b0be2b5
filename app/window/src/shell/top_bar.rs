use std::{num::NonZero, sync::LazyLock, thread};

use egui::{
    Align, Button, Color32, Label, Layout, ProgressBar, RichText, Sense, TextStyle, TextWrapMode, Ui, UiBuilder,
    WidgetText, vec2,
};
use headroom_engine::{
    config::counted,
    protocol::Command,
    store::{RunState, RunSummary},
};

use super::{button_width::least_width, queue_ui};
use crate::{
    common::state_text,
    context::{Action, PanelContext, PanelId},
    format,
    state::{CurrentRun, Phase, State},
    theme,
    widgets::{beginning, elided, name_width, text_width},
};

/// The least width of the current run's name, in points.
const NAME_LEAST: f32 = 60.0;
/// In less room than this a name that is cut tells little: the bar, then the time that is left, give way to it.
const NAME_TELLS: f32 = 140.0;
/// A cut name of fewer letters than this is its beginning.
const TOO_BRIEF: usize = 8;
/// Least and largest width of its progress bar.
const BAR_LEAST: f32 = 60.0;
const BAR_MOST: f32 = 220.0;
/// So far the bar gives way to a name that would be cut.
const BAR_MIDDLE: f32 = 90.0;
/// Room that has to be left beside what can be read in the Live panel too.
const ROOMY: f32 = 300.0;
/// The store's name takes at most this share of the window.
const STORE_SHARE: f32 = 0.16;
/// Below this width of the window the machine's load is left out.
const LOAD_FROM: f32 = 1000.0;
/// The widest load that this machine can have: all cores in use, and the most letters that an amount of memory has.
static WIDEST_LOAD: LazyLock<String> = LazyLock::new(|| {
    let most = 100 * thread::available_parallelism().map_or(1, NonZero::get);
    load_words(&"8".repeat(most.to_string().len()), "8888 MiB")
});

/// What is computed besides runs and measurements: analyses, conversions and texts.
fn other_work(state: &State) -> Option<String> {
    let going = state.queued_jobs().find(|job| job.phase == Phase::Going)?;
    let (_, share) = going.progress();
    // The whole of a text is not known.
    Some(if share > 0.0 {
        format!("{}: {}.", going.title, format::percent(share))
    } else {
        format!("{}.", going.title)
    })
}

/// The bar that always says what computes now. `right` draws what stands at its right end.
pub fn top_bar_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, right: impl FnOnce(&mut Ui, &mut PanelContext<'_>)) {
    let palette = theme::palette(ui.visuals());
    ui.horizontal_centered(|ui| {
        ui.label(RichText::new("Headroom").strong().size(16.0));
        let widest = STORE_SHARE * ui.ctx().content_rect().width();
        let store = Label::new(RichText::new(&cx.state.store_name).color(palette.weak)).truncate();
        let store = ui.scope(|ui| {
            ui.set_max_width(widest.max(NAME_LEAST));
            ui.add(store)
        });
        store.inner.on_hover_text(format!("{}\nThe store that holds the runs", cx.state.store_name));
        ui.separator();
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            right(ui, cx);
            if ui.ctx().content_rect().width() >= LOAD_FROM {
                load_ui(ui, cx);
            }
            ui.separator();
            queue_ui(ui, cx);
            shortages_ui(ui, cx);
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
                        None => match (other_work(cx.state), cx.state.running_elsewhere()) {
                            (Some(work), _) => work,
                            (None, Some(run)) => {
                                format!("In another program: {}.", elsewhere_words(&cx.state.run_name(&run.id), run))
                            }
                            (None, None) => "Nothing is running.".to_owned(),
                        },
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

fn load_words(percent: &str, memory: &str) -> String {
    format!("CPU {percent} %   {memory}")
}

/// What the machine does, at the right of a place that is as wide as the widest load: what stands beside it does not move when the
/// numbers change.
fn load_ui(ui: &mut Ui, cx: &PanelContext<'_>) {
    let palette = theme::palette(ui.visuals());
    let Some(load) = &cx.state.system else { return };
    let text = load_words(&format!("{:.0}", load.cpu_percent), &format::bytes(load.memory_bytes));
    let font = TextStyle::Body.resolve(ui.style());
    let width = text_width(ui, &WIDEST_LOAD, &font).max(text_width(ui, &text, &font)).ceil();
    let (place, _) = ui.allocate_exact_size(vec2(width, ui.spacing().interact_size.y), Sense::empty());
    let mut inner = ui.new_child(UiBuilder::new().max_rect(place).layout(Layout::right_to_left(Align::Center)));
    inner.label(RichText::new(text).color(palette.weak)).on_hover_text(format!(
        "Processor use of this program (100 % = one core) and its memory. {} of memory are free on this machine.",
        format::bytes(load.free_bytes)
    ));
}

/// What runs out while something trains, in short; all of it on hover.
fn shortages_ui(ui: &mut Ui, cx: &PanelContext<'_>) {
    let shortages = cx.state.shortages();
    if shortages.is_empty() {
        return;
    }
    let names: Vec<&str> = shortages.iter().map(|(name, _)| *name).collect();
    let sentences: Vec<&str> = shortages.iter().map(|(_, words)| words.as_str()).collect();
    let (short, whole) = (sentence_case(&format!("{} low", names.join(" and "))), sentences.join("\n"));
    let label = ui.label(RichText::new(short).color(theme::palette(ui.visuals()).warning));
    ui.ctx().accesskit_node_builder(label.id, |node| node.set_description(whole.as_str()));
    label.on_hover_text(whole);
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
    let button = Button::new(word).min_size(vec2(least_width(ui, "Resume"), 0.0));
    if ui.add_enabled(ready, button).on_hover_text(hover).accessible_name(name).clicked() {
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

/// Name, progress, speed, as far as there is room: the bar is shortened to a middle length first, then the name, then the bar once more, then
/// the time goes, as long as that leaves the name something that tells which it is.
fn current_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, current: &CurrentRun) {
    let palette = theme::palette(ui.visuals());
    let gap = ui.spacing().item_spacing.x;
    let mut notes = notes(current, palette);
    let mut room = ui.available_width() - NAME_LEAST - gap - BAR_LEAST;
    let mut shown = 0;
    for (place, note) in notes.iter().enumerate() {
        let width = note.width(ui) + gap;
        if room < width || (place > 0 && room < width + ROOMY) {
            break;
        }
        (room, shown) = (room - width, place + 1);
    }
    notes.truncate(shown);
    if room < -NAME_LEAST - gap {
        return;
    }
    let mut bar = BAR_LEAST + (room * 0.5).clamp(0.0, BAR_MOST - BAR_LEAST);
    let mut widest = NAME_LEAST + room - (bar - BAR_LEAST);
    let called = cx.state.run_name(&current.run);
    let (font, padding) = (TextStyle::Button.resolve(ui.style()), 2.0 * ui.spacing().button_padding.x);
    let whole = name_width(ui, &called, &font).ceil() + padding;
    let given = (whole - widest).min(bar - BAR_MIDDLE).max(0.0);
    (bar, widest) = (bar - given, widest + given);
    let mut left_out = None;
    if widest < NAME_TELLS && whole > widest {
        if NAME_LEAST + room < NAME_TELLS {
            left_out = notes.pop_if(|note| note.gives_way);
            room += left_out.as_ref().map_or(0.0, |note| note.width(ui) + gap);
        }
        (bar, widest) = (BAR_LEAST, NAME_LEAST + room);
    }
    if room >= 0.0 {
        let name = ui.scope(|ui| {
            ui.set_max_width(widest);
            let short = elided(ui, &called, cx.state.run_names(), &font, widest - padding).map(|short| {
                let is_brief = short.chars().count() < TOO_BRIEF;
                if is_brief { beginning(ui, &called, &font, widest - padding) } else { short }
            });
            let text = short.as_deref().unwrap_or(&called);
            ui.add(Button::new(text).frame(false).truncate().min_size(vec2(0.0, 0.0)))
        });
        let name = name.inner.on_hover_text(format!("{called}\nOpens it in the Live panel"));
        if name.accessible_name(format!("Current run: {called}")).clicked() {
            cx.state.selection.live = None;
            cx.act(Action::Open(PanelId::LIVE));
        }
    }
    let (text, spoken) = progress_words(current);
    let shown = ui.scope(|ui| {
        // The track: a field's ground is the bar's own colour in the light theme.
        ui.visuals_mut().extreme_bg_color = palette.grid;
        ui.add(ProgressBar::new(current.fraction() as f32).desired_width(bar).text(RichText::new(text).small()))
    });
    let about = left_out.map_or_else(|| spoken.clone(), |note| format!("{spoken}\n{}", note.text));
    shown.inner.on_hover_text(about).accessible_name(spoken);
    for note in notes {
        ui.colored_label(note.colour, note.text).on_hover_text(note.about);
    }
}

/// What stands behind the bar.
struct Note {
    text: String,
    colour: Color32,
    about: String,
    /// Whether a name that would be cut to nothing takes its place.
    gives_way: bool,
}

impl Note {
    fn width(&self, ui: &Ui) -> f32 {
        let text = WidgetText::from(self.text.as_str());
        text.into_galley(ui, Some(TextWrapMode::Extend), f32::INFINITY, TextStyle::Body).size().x
    }
}

/// What is said of a run besides how far it is, the most important first.
fn notes(current: &CurrentRun, palette: &theme::Palette) -> Vec<Note> {
    let note = |text: &str, colour, about: &str| {
        let (text, about) = (text.to_owned(), about.to_owned());
        Note { text, colour, about, gives_way: false }
    };
    let mut notes = Vec::new();
    if current.is_stopping {
        notes.push(note("Stopping…", palette.warning, "It ends after this step"));
    } else if current.is_paused {
        notes.push(note("Paused", palette.warning, "It goes on with Resume"));
    } else if let Some(health) = current.health.filter(|health| health.is_bad()) {
        let about = format!("{} {}", health.why(), health.what_to_do());
        notes.push(note(&sentence_case(health.word()), state_text::health_colour(health, palette), &about));
    } else if let Some(eta) = current.eta_secs.filter(|eta| eta.is_finite()) {
        let text = format!("Time left {}", format::duration(eta));
        let time = note(&text, palette.text, "Remaining steps times the mean time of recent ones");
        notes.push(Note { gives_way: true, ..time });
    }
    if let Some(speed) = current.tokens_per_sec {
        notes.push(note(&format::rate(speed, "tokens"), palette.weak, "Tokens trained per second in the last step"));
    }
    if let Some(loss) = current.loss {
        let text = format!("loss {}", format::number(loss));
        notes.push(note(&text, palette.weak, "Training loss of the last step, in the unit of its chart in Live"));
    }
    notes
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
