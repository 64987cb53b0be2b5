//! The panel itself.

use std::collections::BTreeMap;

use egui::{Button, RichText, ScrollArea, Ui, vec2};
use headroom_engine::{
    config::{TaskOutput, counted},
    objective::Metric,
    protocol::Command,
    store::{RunId, RunState, RunSummary},
};

use super::{
    alerts::alerts_ui,
    charts::{Curves, X_AXES},
    confusion::{ConfusionView, WIDTH as CONFUSION},
    follow::{follow_ui, live_run},
    mistakes::MistakesView,
    plots::{ENERGY, LOSS, Plot, SIMILARITY, SMALL},
    samples::{SampleView, samples_ui},
    strip::{Numbers, PROGRESS_HEIGHT, judged_beside_loss, progress_ui, strip_ui},
    view::View,
};
use crate::{
    common::{ExportDialog, Exportable, RunOperation, no_runs_ui, perform, state_sign_ui, state_text, working_ui},
    compare::{curve_x, task_info, why_missing},
    context::{Panel, PanelContext},
    findings,
    panels::run_picker::run_list_ui,
    plot::{CurveX, XAxis},
    state::CurrentRun,
    theme::{self, Dash, LineStyle},
    widgets::{
        ChartOptions, ChartState, HeightHandle, Multiples, SharedX, SpareHeight, Tile, is_new, swatch_ui, together_ui,
    },
};

/// Runs whose zoom is kept.
const ZOOMS: usize = 16;
/// From this width on, in points, similarity and energy stand beside the loss.
const WIDE: f32 = 860.0;
/// Room between two charts below each other, with the title of the lower one.
const BETWEEN: f32 = 26.0;
/// The usual height of the small charts, and of similarity and energy below the loss.
const SMALL_HEIGHT: f32 = 150.0;

/// What is said of the analyses that a run makes while it trains.
struct Probed {
    similarity: Option<String>,
    energy: Option<String>,
}

/// The zoom of the charts of one run.
#[derive(Default)]
struct Zoom {
    charts: BTreeMap<&'static str, ChartState>,
    shared: SharedX,
}

impl Zoom {
    fn is_zoomed(&self, x: XAxis) -> bool {
        self.shared.range(x).is_some() || self.charts.values().any(ChartState::is_zoomed)
    }

    fn reset(&mut self, x: XAxis) {
        self.shared.set_range(x, None);
        self.charts.values_mut().for_each(ChartState::reset);
    }
}

/// Watches one run.
#[derive(Default)]
pub struct LivePanel {
    view: Option<View>,
    /// By the run's number: a zoom belongs to the run that it was made in. The one that was shown last stands last.
    zooms: Vec<(u64, Zoom)>,
    sample: SampleView,
    confusion: ConfusionView,
    mistakes: MistakesView,
    /// What is to be said of a run's energy in the largest eigenvalues.
    probed: Option<(RunId, Option<u64>, Probed)>,
    /// The run whose progress was shown in this visit of the panel.
    progress_of: Option<RunId>,
    spare: SpareHeight,
    /// The metric that is told beside the loss.
    judged: Option<(RunId, Option<&'static Metric>)>,
    export: Option<ExportDialog>,
    /// Ctrl+E was pressed.
    wants_export: bool,
}

impl Panel for LivePanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut view = self.view.take().unwrap_or_else(|| cx.settings.of_panel("live"));
        match live_run(cx) {
            _ if !cx.state.runs_loaded && cx.state.current.is_none() => working_ui(ui, "Reading the runs…"),
            None => no_runs_ui(ui, cx, "Curves, speed and what the model writes are shown here while a run trains."),
            Some(run) => {
                // Where it was scrolled to belongs to the run, as its zoom does.
                let scroll = ScrollArea::vertical().id_salt(run.number).auto_shrink([false, false]);
                scroll.show(ui, |ui| self.run_ui(ui, &run, &mut view, cx));
            }
        }
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        cx.settings.set_panel("live", &view);
        self.view = Some(view);
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        self.wants_export = live_run(cx).is_some();
        self.wants_export
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some()
    }
}

/// The focused run, else the one that computes, else the newest that took a step; under the name that it is shown by.
pub fn shown_run(cx: &PanelContext<'_>) -> Option<RunSummary> {
    let known = |id: &RunId| cx.state.run(id).cloned();
    let focused = cx.state.selection.focused.as_ref().and_then(known);
    let current = || cx.state.current.as_ref().and_then(|current| known(&current.run));
    // One that failed before its first step has nothing to show.
    let trained = || cx.state.runs.iter().find(|run| run.steps_done > 0).cloned();
    let mut run = focused.or_else(current).or_else(trained).or_else(|| cx.state.runs.first().cloned())?;
    run.name = cx.state.run_name(&run.id);
    Some(run)
}

impl LivePanel {
    fn run_ui(&mut self, ui: &mut Ui, run: &RunSummary, view: &mut View, cx: &mut PanelContext<'_>) {
        let current = cx.state.current.clone().filter(|current| current.run == run.id);
        heading_ui(ui, run, current.as_ref(), cx);
        alerts_ui(ui, run, cx);
        let judged = self.judged(run, cx);
        let numbers = Numbers::of(run, judged, current.as_ref(), cx.state.system.as_ref());
        strip_ui(ui, &numbers, run.state);
        self.progress_ui(ui, run, &numbers, current.as_ref());
        ui.add_space(4.0);
        self.controls_ui(ui, run, view, cx);
        let Some(x) = curve_x(run, view.x) else {
            ui.label(RichText::new(why_missing(view.x)).color(theme::palette(ui.visuals()).warning));
            view.x = XAxis::Step;
            return;
        };
        let high = self.loss_ui(ui, run, x, view, cx);
        if std::mem::take(&mut self.wants_export) {
            self.export_chart(&LOSS, run, view, cx);
        }
        ui.add_space(8.0);
        samples_ui(ui, &mut self.sample, run, cx);
        ui.add_space(8.0);
        self.confusion_ui(ui, run, cx);
        let low = self.small_ui(ui, run, x, view, cx);
        self.spare.update(ui, high + low);
    }

    /// How far the run is. Once it has ended, the place of the bar stays empty as long as the run is looked at: what stands below does
    /// not move.
    fn progress_ui(&mut self, ui: &mut Ui, run: &RunSummary, numbers: &Numbers, current: Option<&CurrentRun>) {
        if is_new(ui, ui.scope_id().with("progress")) {
            self.progress_of = None;
        }
        if run.state.is_active() {
            progress_ui(ui, numbers, current);
            self.progress_of = Some(run.id.clone());
        } else if self.progress_of.as_ref() == Some(&run.id) {
            ui.allocate_space(vec2(1.0, PROGRESS_HEIGHT));
        } else {
            self.progress_of = None;
            // With the bar or without it, what comes below is the same to the pointer and the keyboard.
            ui.skip_ahead_auto_ids(1);
        }
    }

    /// The metric that is told beside the loss, once the run's config is known.
    fn judged(&mut self, run: &RunSummary, cx: &PanelContext<'_>) -> Option<&'static Metric> {
        if self.judged.as_ref().is_none_or(|(known, _)| *known != run.id) {
            let record = cx.state.records.get(&run.id)?;
            let config = record.json_config().ok();
            self.judged = Some((run.id.clone(), config.as_ref().and_then(judged_beside_loss)));
        }
        self.judged.as_ref().and_then(|(_, metric)| *metric)
    }

    /// Which classes are confused, and what is wrong: beside each other where there is room.
    fn confusion_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        cx.state.want_confusion(&run.id);
        if !cx.state.confusion.get(&run.id).is_some_and(Option::is_some) {
            cx.state.want_record(&run.id);
            let task = cx.state.records.get(&run.id).and_then(|record| task_info(&record.config));
            // Answers to questions have no classes, but mistakes.
            if task.is_some_and(|task| task.output == TaskOutput::Span) {
                self.mistakes.ui(ui, run, cx);
                ui.add_space(8.0);
            }
            return;
        }
        let export = if ui.available_width() >= CONFUSION + 300.0 {
            ui.horizontal_top(|ui| {
                let left = |ui: &mut Ui| {
                    ui.set_width(CONFUSION);
                    self.confusion.ui(ui, run, cx)
                };
                let export = ui.vertical(left).inner;
                ui.vertical(|ui| self.mistakes.ui(ui, run, cx));
                export
            })
            .inner
        } else {
            let export = self.confusion.ui(ui, run, cx);
            self.mistakes.ui(ui, run, cx);
            export
        };
        self.export = export.or(self.export.take());
        ui.add_space(8.0);
    }

    /// The small charts, in the user's order. How many of them stand below each other and have no height of the user's choice.
    fn small_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        x: CurveX,
        view: &mut View,
        cx: &mut PanelContext<'_>,
    ) -> usize {
        let fitting: Vec<&Plot> = view.small.ordered(SMALL.iter().filter(|plot| plot.fits(run)));
        let tiles: Vec<Tile<'_>> =
            fitting.iter().map(|plot| Tile { key: plot.id, title: plot.title.to_owned() }).collect();
        let directions: Vec<&str> = fitting.iter().map(|plot| plot.direction()).collect();
        let height = self.spare.of(view.small_height, SMALL_HEIGHT);
        let mut export = None;
        let shown = &*view;
        let grid = Multiples::new("small", height).about(&directions);
        let across = grid.columns(ui.available_width(), tiles.len());
        let stacked = if view.small_height.is_none() { tiles.len().div_ceil(across) } else { 0 };
        let wish = grid.show(
            ui,
            &tiles,
            |ui, place, height| self.plot_ui(ui, fitting[place], run, x, (shown, height), false, cx),
            |ui, place| {
                if ui.button("Export…").clicked() {
                    export = fitting.get(place).copied();
                    ui.close();
                }
            },
        );
        HeightHandle::new("small charts", 90.0..=600.0).show(ui, &mut view.small_height, height);
        if let Some(wish) = wish {
            view.small.change(&fitting, wish);
        }
        if let Some(plot) = export {
            self.export_chart(plot, run, view, cx);
        }
        let left_out = SMALL.iter().filter(|plot| plot.fits(run) && view.small.is_left_out(plot)).count();
        if left_out > 0
            && ui.button(format!("Show {} more", counted(left_out, "chart"))).on_hover_text("Those left out").clicked()
        {
            view.small.left_out.clear();
        }
        stacked
    }

    /// From how few maps the energy is told, where its chart is there: that alone makes it large; and that maps which are the same by
    /// construction are left out of the similarity.
    fn probed_ui(&mut self, ui: &mut Ui, run: &RunSummary, beside: &[&Plot], cx: &mut PanelContext<'_>) {
        if beside.is_empty() {
            return;
        }
        // A text may hold fewer examples than the config asks for.
        let samples = cx.state.analysis.kept_samples(&run.id);
        if self.probed.as_ref().is_none_or(|(known, of, _)| (known, *of) != (&run.id, samples)) {
            let Some(record) = cx.state.records.get(&run.id) else { return };
            let config = record.json_config().ok();
            let probed = Probed {
                similarity: config.as_ref().and_then(findings::borrowed_words),
                energy: config.and_then(|config| findings::few_samples_words(&config, samples)),
            };
            self.probed = Some((run.id.clone(), samples, probed));
        }
        let Some((.., Probed { similarity, energy })) = &self.probed else { return };
        for (of, words) in [(&SIMILARITY, similarity), (&ENERGY, energy)] {
            if let Some(words) = words.as_ref().filter(|_| beside.iter().any(|plot| plot.id == of.id)) {
                ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
            }
        }
    }

    /// The loss, and beside or below it how alike heads become and in how small a space their scores live, on the same x. How many
    /// charts stand below each other and have no height of the user's choice.
    fn loss_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        x: CurveX,
        view: &mut View,
        cx: &mut PanelContext<'_>,
    ) -> usize {
        let beside: Vec<&Plot> = [&SIMILARITY, &ENERGY].into_iter().filter(|plot| plot.fits(run)).collect();
        // What is left of the window below, with samples and the first row of small charts in sight.
        let usual = (0.36 * ui.ctx().content_rect().height()).clamp(220.0, 760.0);
        let height = self.spare.of(view.height, usual);
        let stacked = usize::from(view.height.is_none());
        let is_wide = ui.available_width() >= WIDE && !beside.is_empty();
        if is_wide {
            let gap = ui.spacing().item_spacing.x;
            let left = ((ui.available_width() - gap) * 0.64).floor();
            ui.horizontal_top(|ui| {
                ui.vertical(|ui| {
                    ui.set_max_width(left);
                    ui.set_min_width(left);
                    self.plot_ui(ui, &LOSS, run, x, (view, height), true, cx);
                });
                ui.vertical(|ui| {
                    let each = (height - BETWEEN * (beside.len() - 1) as f32) / beside.len() as f32;
                    for plot in &beside {
                        self.plot_ui(ui, plot, run, x, (view, each), true, cx);
                    }
                    self.probed_ui(ui, run, &beside, cx);
                });
            });
        } else {
            self.plot_ui(ui, &LOSS, run, x, (view, height), true, cx);
        }
        HeightHandle::new("loss", 140.0..=1600.0).show(ui, &mut view.height, height);
        if is_wide || beside.is_empty() {
            return stacked;
        }
        let height = self.spare.of(None, SMALL_HEIGHT);
        ui.columns(beside.len(), |columns| {
            for (ui, plot) in columns.iter_mut().zip(&beside) {
                self.plot_ui(ui, plot, run, x, (view, height), true, cx);
            }
        });
        self.probed_ui(ui, run, &beside, cx);
        stacked + 1
    }

    #[expect(clippy::too_many_arguments, reason = "what is drawn, and how")]
    fn plot_ui(
        &mut self,
        ui: &mut Ui,
        plot: &Plot,
        run: &RunSummary,
        x: CurveX,
        (view, height): (&View, f32),
        is_headed: bool,
        cx: &mut PanelContext<'_>,
    ) {
        let curves = Curves::of(plot, run, x, cx.state);
        let zoom = self.zoom(run.number);
        curves.show(ui, plot, view, (height, is_headed), zoom.charts.entry(plot.id).or_default(), &mut zoom.shared);
    }

    /// The zoom of a run.
    fn zoom(&mut self, number: u64) -> &mut Zoom {
        match self.zooms.iter().position(|(known, _)| *known == number) {
            Some(place) if place + 1 == self.zooms.len() => {}
            Some(place) => {
                let found = self.zooms.remove(place);
                self.zooms.push(found);
            }
            None => {
                self.zooms.push((number, Zoom::default()));
                let surplus = self.zooms.len().saturating_sub(ZOOMS);
                self.zooms.drain(..surplus);
            }
        }
        let last = self.zooms.len() - 1;
        &mut self.zooms[last].1
    }

    fn controls_ui(&mut self, ui: &mut Ui, run: &RunSummary, view: &mut View, cx: &mut PanelContext<'_>) {
        let is_zoomed = self.zoom(run.number).is_zoomed(view.x);
        let mut export = None;
        ui.horizontal_wrapped(|ui| {
            let options = ChartOptions {
                x: &mut view.x,
                axes: &X_AXES,
                log_x: None,
                log_y: &mut view.log_y,
                smoothing: &mut view.smoothing,
                ignore_outliers: &mut view.ignore_outliers,
                is_zoomed,
            };
            if options.ui(ui) {
                self.zoom(run.number).reset(view.x);
            }
            ui.menu_button("Export chart…", |ui| {
                for plot in [&LOSS, &SIMILARITY, &ENERGY].into_iter().chain(&*SMALL).filter(|plot| plot.fits(run)) {
                    if ui.button(format!("Export {}…", plot.title)).clicked() {
                        export = Some(plot);
                        ui.close();
                    }
                }
            });
        });
        if let Some(plot) = export {
            self.export_chart(plot, run, view, cx);
        }
    }

    fn export_chart(&mut self, plot: &Plot, run: &RunSummary, view: &View, cx: &mut PanelContext<'_>) {
        let Some(x) = curve_x(run, view.x) else { return };
        let mut metadata = BTreeMap::from([
            ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
            ("run".to_owned(), run.id.to_string()),
        ]);
        if let Some(record) = cx.state.records.get(&run.id) {
            metadata.insert("config".to_owned(), record.config_toml.clone());
        }
        let curves = Curves::of(plot, run, x, cx.state);
        let zoom = self.zoom(run.number);
        let state = zoom.charts.entry(plot.id).or_default();
        let figure = curves.figure(plot, run, view, state, &zoom.shared, metadata);
        self.export = Some(ExportDialog::new("live", Exportable::Figure(Box::new(figure)), cx));
    }
}

/// Which run this is, and the buttons that govern it.
fn heading_ui(ui: &mut Ui, run: &RunSummary, current: Option<&CurrentRun>, cx: &mut PanelContext<'_>) {
    let palette = theme::palette(ui.visuals());
    cx.state.want_record(&run.id);
    ui.horizontal_wrapped(|ui| {
        // Here dashes tell validation from training.
        swatch_ui(ui, LineStyle { dash: Dash::Solid, ..cx.state.selection.style_of(&run.id) });
        follow_ui(ui, run, cx);
        let word = match current {
            Some(current) if current.is_stopping => "Stopping…".to_owned(),
            Some(current) if current.preparing.is_some() => "Preparing".to_owned(),
            Some(current) if current.is_paused => "Paused".to_owned(),
            _ => state_text::words(run),
        };
        let paused = current.is_some_and(|current| current.is_paused);
        let shown = if paused { RunState::Paused } else { run.state };
        let colour = if paused { state_text::colour(shown, palette) } else { state_text::colour_of(run, palette) };
        state_sign_ui(ui, shown, colour);
        ui.label(RichText::new(word).color(colour).strong());
        if let Some(current) = current {
            current_ui(ui, current, cx);
        } else if run.is_worth_resuming() {
            // With a name of its own: the keyboard does not pass on to what stands there while it trains.
            together_ui(ui, "resume", |ui| {
                let button = ui.button(RunOperation::Resume.label(run, false));
                if button.on_hover_text(RunOperation::Resume.about()).clicked() {
                    perform(RunOperation::Resume, &run.id, cx);
                }
            });
        } else if run.state == RunState::Queued {
            let button = ui.button(RunOperation::Cancel.label(run, false)).on_hover_text(RunOperation::Cancel.about());
            if clicked_once(&button) {
                perform(RunOperation::Cancel, &run.id, cx);
            }
        }
    });
}

/// A click that is not the second one of a double click: that was meant for the button which stood there before.
fn clicked_once(button: &egui::Response) -> bool {
    button.clicked() && !button.double_clicked()
}

/// The buttons that govern the run that trains.
fn current_ui(ui: &mut Ui, current: &CurrentRun, cx: &mut PanelContext<'_>) {
    let free = !current.is_stopping;
    if current.is_paused {
        let go_on = ui.add_enabled(free, Button::new("Resume")).on_hover_text("Continues the paused run");
        if go_on.clicked() {
            cx.send(Command::Resume);
        }
    } else {
        let ready = free && current.preparing.is_none();
        let pause = ui.add_enabled(ready, Button::new("Pause")).on_hover_text("Pauses after this step");
        if pause.clicked() {
            cx.send(Command::Pause);
        }
    }
    let stop = ui.add_enabled(free, Button::new("Stop"));
    let stop = stop.on_hover_text("Stops after this step, with a checkpoint; it can be resumed later");
    if clicked_once(&stop) {
        cx.send(Command::Stop);
    }
    let ready = free && current.preparing.is_none();
    let now = ui.add_enabled(ready, Button::new("Checkpoint now"));
    if now.on_hover_text("Writes a checkpoint after this step").clicked() {
        cx.send(Command::Checkpoint);
    }
}

/// Chooses another run: those that charts show, then the newest.
pub fn picker_ui(ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
    if let Some(chosen) = run_list_ui(ui, run, cx) {
        cx.state.selection.focused = Some(chosen);
    }
}
