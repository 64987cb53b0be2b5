//! The panel itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use egui::{ComboBox, RichText, TextEdit, Ui};
use headroom_engine::{
    attention::HeadAt,
    config::counted,
    store::{RunId, RunSummary},
    worker::{MapText, Target, Which},
};
use serde::{Deserialize, Serialize};

use super::{
    arcs::ArcsView,
    grid::{grid_figure, grid_ui},
    large::{Large, Lock, titled},
    tokens::{Kept, difference, of_text},
};
use crate::{
    common::{Exportable, blank_ui, working_ui},
    context::{Panel, PanelContext},
    export::{ArcsFigure, MapFigure},
    format::{self, with_capital},
    panels::{
        analysis::{About, AnalysisFrame, MapStyle, Subject, failed_ui, head_name, which_words},
        run_picker::{chosen_name, run_choices_ui, run_combo},
    },
    plot::{HeatData, HeatScale},
    state::{MapsOf, ShownMaps, SubjectId},
    theme,
    widgets::HeatState,
};

/// Examples that can be chosen.
const EXAMPLES: usize = 16;
/// The least height of large maps.
const LARGE: f32 = 360.0;
/// Below a large map: its name and what a query attends to.
const AROUND: f32 = 64.0;
/// Below this width the large maps stand below the thumbnails.
const NARROW: f32 = 740.0;

const ABOUT: About = About {
    name: "heads",
    without_runs: "The attention maps of every head are shown here once a run has a checkpoint.",
    without_analysis: "Attention maps are drawn from a checkpoint: one is written at evaluations, or by Checkpoint in \
                       the top \
                       bar.",
    is_of_reconstructions: false,
};

/// What the panel remembers between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    look: MapStyle,
    hides_special: bool,
    example: usize,
    written: String,
    is_written: bool,
    /// Whether all heads of a layer are shown as arcs between tokens.
    arcs: bool,
}

impl Default for Memory {
    fn default() -> Self {
        // Rows are peaky: square roots show what is small beside it.
        let look = MapStyle { scale: HeatScale::SquareRoot, ..MapStyle::default() };
        Self { look, hides_special: false, example: 0, written: String::new(), is_written: false, arcs: false }
    }
}

/// Width of the list of what stands beside a head, in points.
const BESIDE: f32 = 160.0;

/// What stands beside the head that is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Beside {
    #[default]
    Nothing,
    /// Another head of the same model.
    Head(HeadAt),
    /// The same head of another checkpoint.
    Checkpoint(Which),
    /// The same head of another run's best checkpoint.
    Run(RunId),
}

/// What is to be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// What is shown large: the chosen map, or the arcs of its layer.
    Shown,
    /// The map beside it.
    Beside,
    /// Their difference.
    Difference,
    /// Every head.
    Grid,
}

impl Wanted {
    const ALL: [Self; 4] = [Self::Shown, Self::Grid, Self::Beside, Self::Difference];

    fn title(self, arcs: bool) -> &'static str {
        match self {
            Self::Shown if arcs => "The arcs…",
            Self::Shown => "The map…",
            Self::Beside => "The map beside it…",
            Self::Difference => "Their difference…",
            Self::Grid => "All heads…",
        }
    }
}

/// Shows attention maps.
pub struct HeadsPanel {
    frame: AnalysisFrame<Memory>,
    of: Option<SubjectId>,
    which: Which,
    head: HeadAt,
    beside: Beside,
    /// The next head that is clicked stands beside the chosen one.
    wants_beside: bool,
    thumbnails: BTreeMap<HeadAt, HeatState>,
    kept: [Kept; 2],
    difference: (Option<(u64, u64)>, Option<HeatData>),
    large: [HeatState; 3],
    locked: Option<Lock>,
    arcs: ArcsView,
    wanted: Option<Wanted>,
    exported: Option<Exportable>,
}

impl Default for HeadsPanel {
    fn default() -> Self {
        Self {
            frame: AnalysisFrame::default(),
            of: None,
            which: Which::Best,
            head: HeadAt::new(0, 0),
            beside: Beside::Nothing,
            wants_beside: false,
            thumbnails: BTreeMap::new(),
            kept: Default::default(),
            difference: (None, None),
            large: Default::default(),
            locked: None,
            arcs: ArcsView::default(),
            wanted: None,
            exported: None,
        }
    }
}

impl Panel for HeadsPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        if let Some((of, first, second)) = cx.state.maps.pair.take() {
            match &of {
                SubjectId::Run(run) => cx.state.selection.focused = Some(run.clone()),
                SubjectId::Directory(path) => cx.state.selection.set_directory(Some(path.clone())),
            }
            self.of = Some(of);
            (self.head, self.beside, self.locked) = (first, Beside::Head(second), None);
        }
        let mut frame = std::mem::take(&mut self.frame);
        frame.ui(ui, cx, &ABOUT, |_, ui, subject, memory, cx| {
            self.subject_ui(ui, subject, memory, cx);
            self.exported.take()
        });
        self.frame = frame;
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let has_any = Subject::shown(cx).is_some_and(|subject| subject.has_model(cx.state));
        self.wanted = has_any.then_some(Wanted::Shown);
        has_any
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.frame.back()
            || self.locked.take().is_some()
            || self.arcs.release()
            || std::mem::take(&mut self.wants_beside)
            || std::mem::take(&mut self.beside) != Beside::Nothing
    }
}

impl HeadsPanel {
    fn subject_ui(&mut self, ui: &mut Ui, subject: &Subject, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        if self.of.as_ref() != Some(&subject.id) {
            self.of = Some(subject.id.clone());
            (self.which, self.beside, self.locked) = (Which::Best, Beside::Nothing, None);
        }
        let steps = match &subject.id {
            SubjectId::Run(run) => {
                let Some(kept) = cx.state.checkpoints.get(run) else {
                    ui.horizontal(|ui| subject.picker_ui(ui, cx));
                    working_ui(ui, "Reading the run…");
                    return;
                };
                kept.iter().map(|kept| kept.step).collect::<BTreeSet<u64>>().into_iter().collect()
            }
            SubjectId::Directory(_) => Vec::new(),
        };
        let has_model = subject.has_model(cx.state);
        ui.horizontal_wrapped(|ui| {
            subject.picker_ui(ui, cx);
            if has_model {
                if !steps.is_empty() {
                    self.checkpoint_ui(ui, &steps);
                }
                subject.text_ui(ui, ABOUT.name, cx);
                text_ui(ui, subject, memory);
            }
        });
        if !has_model {
            let heading = format!("\"{}\" has no checkpoint yet", subject.name);
            blank_ui(ui, &heading, ABOUT.without_analysis, |_| ());
            return;
        }
        if !memory.is_written && subject.why_no_text(cx).is_some() {
            let sentence = "A model directory holds no text. Name a text file above to read examples of it, or write a \
                            text, then press Enter.";
            blank_ui(ui, "Nothing to read yet", sentence, |_| ());
            return;
        }
        let text =
            if memory.is_written { MapText::Written(memory.written.clone()) } else { MapText::Example(memory.example) };
        let data = subject.data(cx).filter(|_| !memory.is_written);
        let of = MapsOf { target: subject.id.target(self.which), data, text };
        match cx.state.maps.maps(&of) {
            None => working_ui(ui, "Reading the text with the model…"),
            Some(Err(why)) => {
                let is_asked_again = failed_ui(ui, "The maps cannot be shown", &why, |ui| {
                    if memory.is_written && ui.button("Read the held-out text").clicked() {
                        memory.is_written = false;
                    }
                });
                if is_asked_again {
                    cx.state.maps.again(&of);
                }
            }
            Some(Ok(maps)) => self.maps_ui(ui, subject, &of, &maps, &steps, memory, cx),
        }
    }

    fn checkpoint_ui(&mut self, ui: &mut Ui, steps: &[u64]) {
        let combo = ComboBox::from_id_salt("checkpoint").width(110.0).selected_text(which_words(self.which));
        let combo = combo.show_ui(ui, |ui| {
            ui.selectable_value(&mut self.which, Which::Best, which_words(Which::Best));
            for step in steps {
                let which = Which::Step(*step);
                ui.selectable_value(&mut self.which, which, which_words(which));
            }
        });
        combo.response.accessible_name("Checkpoint");
    }

    #[expect(clippy::too_many_arguments, reason = "what is shown, and what it is shown with")]
    fn maps_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        of: &MapsOf,
        maps: &Arc<ShownMaps>,
        steps: &[u64],
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        let fits = |at: HeadAt| at.layer < maps.layers && at.head < maps.heads;
        if !fits(self.head) {
            self.head = HeadAt::new(0, 0);
        }
        if matches!(self.beside, Beside::Head(at) if !fits(at)) {
            self.beside = Beside::Nothing;
        }
        ui.horizontal_wrapped(|ui| {
            memory.look.ui(ui);
            ui.checkbox(&mut memory.hides_special, "Hide special tokens").on_hover_text("[CLS], <s> and the like");
            self.beside_ui(ui, subject, steps, cx);
            let is_alone = self.beside == Beside::Nothing;
            ui.add_enabled_ui(is_alone, |ui| {
                let help = "All heads of the layer at once: from each token to those that it attends to";
                ui.toggle_value(&mut memory.arcs, "Arcs")
                    .on_hover_text(help)
                    .on_disabled_hover_text("With nothing beside it");
            });
            ui.menu_button("Export", |ui| {
                for wanted in Wanted::ALL {
                    let has_it = !is_alone || matches!(wanted, Wanted::Shown | Wanted::Grid);
                    let button = egui::Button::new(wanted.title(memory.arcs && is_alone));
                    if ui.add_enabled(has_it, button).clicked() {
                        self.wanted = Some(wanted);
                        ui.close();
                    }
                }
            });
        });
        if self.wanted == Some(Wanted::Grid) {
            self.wanted = None;
            self.exported =
                Some(Exportable::Map(Box::new(of_text(grid_figure(maps, memory.look), &maps.target, &maps.tokens))));
        }
        let step = maps.step.map_or_else(String::new, |step| format!("step {}, ", format::count(step)));
        let line = format!("{step}{}; rows are queries, columns are keys", counted(maps.tokens.len(), "token"));
        ui.label(RichText::new(with_capital(&line)).small().color(palette.weak));
        let chosen = [Some(self.head), if let Beside::Head(at) = self.beside { Some(at) } else { None }];
        // Down to where the panel ends, wherever it is scrolled to.
        let room = ui.clip_rect().height() - (ui.cursor().top() - ui.min_rect().top()) - 16.0;
        let clicked = if ui.available_width() >= NARROW && self.beside == Beside::Nothing {
            let mut clicked = None;
            let high = room.max(LARGE + AROUND);
            ui.columns(2, |columns| {
                if let [left, right] = columns {
                    clicked = grid_ui(left, maps, memory.look, &mut self.thumbnails, &chosen, high);
                    self.shown_ui(right, of, maps, memory, high - AROUND, cx);
                }
            });
            clicked
        } else {
            // Three maps beside each other are as high as a third of the width allows, less their colour bars.
            let large = if self.beside == Beside::Nothing {
                LARGE
            } else {
                (ui.available_width() / 3.0 - 40.0).clamp(160.0, (room * 0.62).max(LARGE))
            };
            let height = (room - large - AROUND).max(220.0);
            let clicked = grid_ui(ui, maps, memory.look, &mut self.thumbnails, &chosen, height);
            self.shown_ui(ui, of, maps, memory, large, cx);
            clicked
        };
        if let Some(at) = clicked {
            if std::mem::take(&mut self.wants_beside) {
                self.beside = Beside::Head(at);
            } else {
                self.head = at;
            }
        }
    }

    /// What stands beside the chosen head.
    fn beside_ui(&mut self, ui: &mut Ui, subject: &Subject, steps: &[u64], cx: &mut PanelContext<'_>) {
        let text = match &self.beside {
            _ if self.wants_beside => "click another head".to_owned(),
            Beside::Nothing => "nothing".to_owned(),
            Beside::Head(at) => head_name(*at),
            Beside::Checkpoint(which) => which_words(*which).to_lowercase(),
            Beside::Run(other) => chosen_name(ui, &cx.state.run_name(other), BESIDE, cx),
        };
        let before = (self.beside.clone(), self.wants_beside);
        ui.label("Beside it");
        let combo = run_combo("beside", BESIDE).selected_text(text).truncate().show_ui(ui, |ui| {
            ui.selectable_value(&mut self.beside, Beside::Nothing, "nothing");
            if ui.selectable_label(self.wants_beside, "another head: click it").clicked() {
                self.wants_beside = true;
            }
            for step in steps {
                let which = Which::Step(*step);
                ui.selectable_value(&mut self.beside, Beside::Checkpoint(which), which_words(which));
            }
            ui.separator();
            let chosen = if let Beside::Run(other) = &self.beside { Some(other.clone()) } else { None };
            let is_other = |other: &RunSummary| subject.id.run() != Some(&other.id);
            if let Some(run) = run_choices_ui(ui, chosen.as_ref(), is_other, cx) {
                self.beside = Beside::Run(run);
            }
            if before != (self.beside.clone(), self.wants_beside) {
                ui.close();
            }
        });
        combo.response.accessible_name("Beside the head");
    }

    /// What is shown large, so high: maps, or the arcs of a layer.
    fn shown_ui(
        &mut self,
        ui: &mut Ui,
        of: &MapsOf,
        maps: &ShownMaps,
        memory: &Memory,
        height: f32,
        cx: &mut PanelContext<'_>,
    ) {
        if !memory.arcs || self.beside != Beside::Nothing {
            self.large_ui(ui, of, maps, memory, height, cx);
            return;
        }
        let layer = self.head.layer;
        let of_layer: Vec<Option<HeatData>> =
            (0..maps.heads).map(|head| cx.state.maps.map(of, HeadAt::new(layer, head))).collect();
        let loading = of_layer.iter().filter(|map| map.is_none()).count();
        self.arcs.update(layer, &of_layer, &maps.tokens, memory.hides_special);
        self.arcs.ui(ui, height, loading);
        if self.wanted.take().is_some() {
            let about = of_text(MapFigure::default(), &maps.target, &maps.tokens);
            let figure = ArcsFigure { subtitle: about.subtitle, metadata: about.metadata, ..self.arcs.figure() };
            self.exported = Some(Exportable::Drawing(Box::new(figure.draw())));
        }
    }

    fn large_ui(
        &mut self,
        ui: &mut Ui,
        of: &MapsOf,
        maps: &ShownMaps,
        memory: &Memory,
        height: f32,
        cx: &mut PanelContext<'_>,
    ) {
        let style = memory.look;
        let Some(map) = cx.state.maps.map(of, self.head) else {
            ui.add(egui::Spinner::new());
            return;
        };
        let name = head_name(self.head);
        let [first, second] = &mut self.kept;
        if map.values().is_empty() {
            ui.label(format!("{name} has no map: it is off."));
            return;
        }
        first.update(&map, &maps.tokens, memory.hides_special);
        let (first, [state, other_state, difference_state]) = (&*first, &mut self.large);
        let large = Large { name: &name, kept: first, map: &first.map, is_difference: false, style };
        let (other_of, at) = match &self.beside {
            Beside::Nothing => {
                large.ui(ui, height, state, &mut self.locked);
                if self.wanted.take().is_some() {
                    let figure = large.figure(state);
                    self.exported = Some(exportable(figure, maps));
                }
                return;
            }
            Beside::Head(at) => (of.clone(), *at),
            Beside::Checkpoint(which) => {
                let target = match &of.target {
                    Target::Run { run, .. } => Target::Run { run: run.clone(), which: *which },
                    directory @ Target::Directory(_) => directory.clone(),
                };
                (MapsOf { target, ..of.clone() }, self.head)
            }
            Beside::Run(run) => {
                (MapsOf { target: Target::Run { run: run.clone(), which: Which::Best }, ..of.clone() }, self.head)
            }
        };
        let beside = match cx.state.maps.maps(&other_of) {
            Some(Ok(other)) => Ok(other),
            Some(Err(why)) => Err(Some(why)),
            None => Err(None),
        };
        let other_map = beside.and_then(|other| match cx.state.maps.map(&other_of, at) {
            Some(map) if map.values().is_empty() => Err(Some(format!("The other model has no {}.", head_name(at)))),
            Some(map) => Ok((other, map)),
            None => Err(None),
        });
        let wanted = self.wanted.take();
        let (other, map) = match other_map {
            Ok(found) => found,
            Err(why) => {
                ui.columns(2, |columns| {
                    if let [left, right] = columns {
                        large.ui(left, height, state, &mut self.locked);
                        match why {
                            Some(why) => drop(right.label(why)),
                            None => drop(right.add(egui::Spinner::new())),
                        }
                    }
                });
                return;
            }
        };
        second.update(&map, &other.tokens, memory.hides_special);
        let second = &*second;
        let versions = Some((first.map.version(), second.map.version()));
        if self.difference.0 != versions {
            self.difference = (versions, difference(first, second));
        }
        let what = match &self.beside {
            Beside::Head(_) | Beside::Nothing => String::new(),
            Beside::Checkpoint(which) => format!(", {}", which_words(*which).to_lowercase()),
            Beside::Run(run) => format!(", {}", cx.state.run_name(run)),
        };
        let other_name = format!("{}{what}", head_name(at));
        let other_large = Large { name: &other_name, kept: second, map: &second.map, is_difference: false, style };
        let difference_name = format!("{name} minus {other_name}");
        let locked = &mut self.locked;
        let apart = self.difference.1.as_ref();
        let difference_large =
            apart.map(|map| Large { name: &difference_name, kept: first, map, is_difference: true, style });
        ui.columns(3, |columns| {
            if let [left, middle, right] = columns {
                large.ui(left, height, state, locked);
                other_large.ui(middle, height, other_state, locked);
                match &difference_large {
                    Some(large) => large.ui(right, height, difference_state, locked),
                    None => drop(right.label("They read different tokens, so a difference has no meaning.")),
                }
            }
        });
        let figure = match wanted {
            Some(Wanted::Shown | Wanted::Grid) => Some(large.figure(state)),
            Some(Wanted::Beside) => Some(other_large.figure(other_state)),
            Some(Wanted::Difference) => difference_large.map(|large| large.figure(difference_state)),
            None => None,
        };
        if let Some(figure) = figure {
            self.exported = Some(exportable(figure, maps));
        }
    }
}

fn exportable(figure: MapFigure, maps: &ShownMaps) -> Exportable {
    Exportable::Map(Box::new(titled(figure, &maps.target, &maps.tokens)))
}

/// Which text is read.
fn text_ui(ui: &mut Ui, subject: &Subject, memory: &mut Memory) {
    let of = if subject.run.is_some() { "Held-out example" } else { "Example" };
    let text = if memory.is_written { "Your own text".to_owned() } else { format!("{of} {}", memory.example + 1) };
    let combo = ComboBox::from_id_salt("text").width(150.0).selected_text(text).show_ui(ui, |ui| {
        for example in 0..EXAMPLES {
            let is_it = !memory.is_written && memory.example == example;
            if ui.selectable_label(is_it, format!("{of} {}", example + 1)).clicked() {
                (memory.example, memory.is_written) = (example, false);
            }
        }
    });
    combo.response.accessible_name("Text");
    let id = ui.scope_id().with("written");
    let mut written: String = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| memory.written.clone());
    let field = TextEdit::singleline(&mut written).hint_text("Your own text, then Enter").desired_width(200.0);
    let field = ui.add(field).accessible_name("Your own text");
    if field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) && !written.trim().is_empty() {
        memory.written.clone_from(&written);
        memory.is_written = true;
    }
    ui.data_mut(|data| data.insert_temp(id, written));
}
