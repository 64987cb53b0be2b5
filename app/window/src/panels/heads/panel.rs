//! The panel itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use egui::{ComboBox, RichText, TextEdit, Ui, Vec2, vec2};
use headroom_engine::{
    attention::HeadAt,
    config::counted,
    protocol::{MapText, Which},
    store::RunSummary,
};

use super::{
    grid::{grid_figure, grid_ui, width_of},
    memory::Memory,
    shown::{Beside, LargeView, Part, Shown},
    tokens::of_text,
};
use crate::{
    common::{Exportable, blank_ui, working_ui},
    context::{Panel, PanelContext},
    format::{self, with_capital},
    panels::{
        analysis::{About, AnalysisFrame, Subject, failed_ui, head_name, which_words},
        run_picker::{chosen_name, run_choices_ui, run_combo},
    },
    state::{MapsOf, ShownMaps, SubjectId},
    theme,
    widgets::{HeatState, number_ui},
};

/// Examples that can be chosen.
const EXAMPLES: usize = 16;
/// The least height of large maps.
const LARGE: f32 = 320.0;
/// Above and below a large map: its name and what a query attends to.
const AROUND: f32 = 64.0;
/// With less width than this the large map stands below the thumbnails.
const LEAST_WIDE: f32 = 380.0;
/// How much wider than high a large map is, with its colour bar.
const WIDER: f32 = 94.0;

const ABOUT: About = About {
    name: "heads",
    without_runs: "The attention maps of every head are shown here once a run has a checkpoint.",
    without_analysis: "Attention maps are drawn from a checkpoint: one is written at evaluations, or by Checkpoint in \
                       the top \
                       bar.",
    is_of_reconstructions: false,
};

/// Width of the list of what stands beside a head, in points.
const BESIDE: f32 = 160.0;

/// What is to be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Some of what is shown large.
    Large(Part),
    /// Every head.
    Grid,
}

impl Wanted {
    const ALL: [Self; 4] =
        [Self::Large(Part::Shown), Self::Grid, Self::Large(Part::Beside), Self::Large(Part::Difference)];

    fn title(self, arcs: bool) -> &'static str {
        match self {
            Self::Large(Part::Shown) if arcs => "The arcs…",
            Self::Large(Part::Shown) => "The map…",
            Self::Large(Part::Beside) => "The map beside it…",
            Self::Large(Part::Difference) => "Their difference…",
            Self::Grid => "All heads…",
        }
    }
}

/// Shows attention maps.
pub struct HeadsPanel {
    frame: AnalysisFrame<Memory>,
    of: Option<SubjectId>,
    which: Which,
    /// How many examples of the text there are to choose from.
    examples: usize,
    /// One of all held-out images, where it was chosen elsewhere.
    image: Option<usize>,
    head: HeadAt,
    beside: Beside,
    /// The next head that is clicked stands beside the chosen one.
    wants_beside: bool,
    thumbnails: BTreeMap<HeadAt, HeatState>,
    large: LargeView,
    wanted: Option<Wanted>,
    exported: Option<Exportable>,
}

impl Default for HeadsPanel {
    fn default() -> Self {
        Self {
            frame: AnalysisFrame::default(),
            of: None,
            which: Which::Best,
            examples: EXAMPLES,
            image: None,
            head: HeadAt::new(0, 0),
            beside: Beside::Nothing,
            wants_beside: false,
            thumbnails: BTreeMap::new(),
            large: LargeView::default(),
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
            (self.head, self.beside) = (first, Beside::Head(second));
            self.large.unlock();
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
        self.wanted = has_any.then_some(Wanted::Large(Part::Shown));
        has_any
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.frame.back()
            || self.large.release()
            || std::mem::take(&mut self.wants_beside)
            || std::mem::take(&mut self.beside) != Beside::Nothing
    }
}

impl HeadsPanel {
    fn subject_ui(&mut self, ui: &mut Ui, subject: &Subject, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        if self.of.as_ref() != Some(&subject.id) {
            self.of = Some(subject.id.clone());
            (self.examples, self.image) = (EXAMPLES, None);
            (self.which, self.beside) = (Which::Best, Beside::Nothing);
            self.large.unlock();
        }
        self.image = cx.state.maps.image.take().or(self.image);
        let written = cx.state.maps.written.take();
        let is_new = written.is_some();
        if let Some(written) = written {
            (memory.written, memory.is_written) = (written, true);
        }
        // What was written for another model stays for it.
        let reads_images = subject.reads_images(cx.state);
        let is_written = memory.is_written && !reads_images;
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
                let image = &mut self.image;
                text_ui(ui, subject, (memory, image), (is_new, reads_images), self.examples);
            }
        });
        if !has_model {
            let heading = format!("\"{}\" has no checkpoint yet", subject.name);
            blank_ui(ui, &heading, ABOUT.without_analysis, |_| ());
            return;
        }
        if !is_written && subject.why_no_text(cx).is_some() {
            let sentence = "A model directory holds no text. Name a text file above to read examples of it, or write a \
                            text, then press Enter.";
            blank_ui(ui, "Nothing to read yet", sentence, |_| ());
            return;
        }
        let text = match self.image.filter(|_| reads_images) {
            Some(image) => MapText::Image(image),
            None if is_written => MapText::Written(memory.written.clone()),
            None => MapText::Example(memory.example),
        };
        let data = subject.data(cx).filter(|_| !is_written);
        let of = MapsOf { target: subject.id.target(self.which), data, text };
        match cx.state.maps.maps(&of) {
            None => working_ui(ui, "Reading the text with the model…"),
            Some(Err(why)) => {
                let is_asked_again = failed_ui(ui, "The maps cannot be shown", &why, |ui| {
                    if is_written && ui.button("Read the held-out text").clicked() {
                        memory.is_written = false;
                    }
                });
                if is_asked_again {
                    cx.state.maps.again(&of);
                }
            }
            Some(Ok(maps)) => {
                if maps.examples > 0 {
                    self.examples = maps.examples.min(EXAMPLES);
                    memory.example = memory.example.min(self.examples - 1);
                }
                self.maps_ui(ui, subject, &of, &maps, &steps, memory, cx);
            }
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
                let arcs = egui::Button::selectable(memory.arcs, "Arcs").frame_when_inactive(true);
                let arcs = ui.add(arcs);
                if arcs.clicked() {
                    memory.arcs = !memory.arcs;
                }
                arcs.on_hover_text(help).on_disabled_hover_text("With nothing beside it");
            });
            if memory.arcs && is_alone {
                let from = number_ui(ui, &mut memory.arcs_from, 0.01..=0.99, |drag| drag.speed(0.01).prefix("from "));
                from.accessible_name("Least attention of an arc")
                    .on_hover_text("Arcs of weaker attention are left out");
            }
            ui.menu_button("Export", |ui| {
                for wanted in Wanted::ALL {
                    let has_it = !is_alone || matches!(wanted, Wanted::Large(Part::Shown) | Wanted::Grid);
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
        let is_image = maps.picture.is_some();
        let squares = if is_image { "; squares of the image are named by row and column, from 0" } else { "" };
        let tokens = counted(maps.tokens.len(), "token");
        let line = format!("{step}{tokens}; rows are queries, columns are keys{squares}");
        ui.label(RichText::new(with_capital(&line)).small().color(palette.weak));
        let chosen = [Some(self.head), if let Beside::Head(at) = self.beside { Some(at) } else { None }];
        let is_alone = self.beside == Beside::Nothing;
        // Down to where the panel ends, wherever it is scrolled to.
        let room = ui.clip_rect().height() - (ui.cursor().top() - ui.min_rect().top()) - 16.0;
        let beside = if is_alone { thumbnails_beside(vec2(ui.available_width(), room), maps.heads) } else { None };
        let shown = Shown { of, maps, head: self.head, beside: &self.beside, memory };
        let (large, thumbnails) = (&mut self.large, &mut self.thumbnails);
        let mut wanted = match self.wanted {
            Some(Wanted::Large(part)) => Some(part),
            Some(Wanted::Grid) | None => None,
        };
        let (clicked, exported) = if let Some(width) = beside {
            let high = room.max(LARGE + AROUND);
            ui.horizontal_top(|ui| {
                let grid = |ui: &mut Ui| {
                    ui.set_width(width);
                    grid_ui(ui, maps, memory.look, thumbnails, &chosen, high)
                };
                let clicked = ui.vertical(grid).inner;
                let exported = ui.vertical(|ui| large.ui(ui, &shown, high - AROUND, &mut wanted, cx)).inner;
                (clicked, exported)
            })
            .inner
        } else {
            let high = if is_alone { LARGE } else { (ui.available_width() / 3.0).clamp(160.0, LARGE.max(0.62 * room)) };
            let height = (room - high - AROUND).max(220.0);
            let clicked = grid_ui(ui, maps, memory.look, thumbnails, &chosen, height);
            (clicked, large.ui(ui, &shown, high, &mut wanted, cx))
        };
        self.wanted = wanted.map(Wanted::Large);
        self.exported = exported.or(self.exported.take());
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
}

/// The width of thumbnails that the large map stands beside: what it leaves of this room when it is as high as the room, so
/// that it grows with the panel. None where both have too little.
fn thumbnails_beside(room: Vec2, heads: usize) -> Option<f32> {
    let [least, most] = width_of(heads);
    let left = room.x - (room.y.max(LARGE + AROUND) - AROUND + WIDER);
    let width = left.clamp(least.min(0.4 * room.x), most);
    (room.x - width >= LEAST_WIDE).then_some(width)
}

/// Which text is read; `is_new`: the written one was not typed here. Of images only those that were held out.
/// `examples`: how many there are.
fn text_ui(
    ui: &mut Ui,
    subject: &Subject,
    (memory, image): (&mut Memory, &mut Option<usize>),
    (is_new, reads_images): (bool, bool),
    examples: usize,
) {
    let of = match (subject.run.is_some(), reads_images) {
        (_, true) => "Held-out image",
        (true, false) => "Held-out example",
        (false, false) => "Example",
    };
    let is_written = memory.is_written && !reads_images;
    let text = match image.filter(|_| reads_images) {
        Some(image) => format!("Number {} of all", image + 1),
        None if is_written => "Your own text".to_owned(),
        None => format!("{of} {}", memory.example + 1),
    };
    let combo = ComboBox::from_id_salt("text").width(150.0).selected_text(text).show_ui(ui, |ui| {
        for example in 0..examples {
            let is_it = !is_written && image.is_none() && memory.example == example;
            if ui.selectable_label(is_it, format!("{of} {}", example + 1)).clicked() {
                // Of images this says nothing of what was written for another model.
                (memory.example, memory.is_written) = (example, memory.is_written && reads_images);
                *image = None;
            }
        }
    });
    combo.response.accessible_name("Text");
    if reads_images {
        return;
    }
    let id = ui.scope_id().with("written");
    let mut written: String =
        ui.data(|data| data.get_temp(id)).filter(|_| !is_new).unwrap_or_else(|| memory.written.clone());
    let field = TextEdit::singleline(&mut written).hint_text("Your own text, then Enter").desired_width(200.0);
    let field = ui.add(field).accessible_name("Your own text");
    if field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) && !written.trim().is_empty() {
        memory.written.clone_from(&written);
        memory.is_written = true;
    }
    ui.data_mut(|data| data.insert_temp(id, written));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_map_grows_into_the_room_beside_the_thumbnails() {
        let large = |x: f32, y: f32, heads| thumbnails_beside(vec2(x, y), heads).map(|width| x - width);
        // As wide as it is high with its colour bar, rather than a half of the panel.
        let (usual, high) = (large(1118.0, 640.0, 4).unwrap(), large(1118.0, 740.0, 4).unwrap());
        assert!((usual - (640.0 - AROUND + WIDER)).abs() < 1.0 && high > usual + 90.0, "{usual} {high}");
        assert!(large(2400.0, 1270.0, 4).unwrap() > 1270.0);
        // What many heads need is not all taken from it, and a panel that is too narrow for both has them in turn.
        assert!(large(1118.0, 640.0, 32).unwrap() > 0.59 * 1118.0);
        assert!(large(738.0, 400.0, 4).is_some() && large(600.0, 400.0, 12).is_none());
    }
}
