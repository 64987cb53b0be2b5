//! The map of all heads, to be clicked, and a line for the head that was clicked last.

use egui::{Button, ComboBox, Label, Rect, RichText, Ui, pos2, vec2};
use headroom_engine::config::{RunConfig, counted};

use super::{
    super::{
        form::Form,
        heads::{assign, edit, first_lender, fit},
    },
    judged::Judged,
};
use crate::{
    state::MarkedHeads,
    theme,
    widgets::{HeadCell, HeadEdit, HeadGrid, HeadMap, HeadSpot},
};

/// The field that a change by hand belongs to.
const FIELD: &str = "attention.reuse";

/// The head that was clicked last, and what its change brought about.
#[derive(Default)]
pub struct HeadEditor {
    selected: Option<HeadSpot>,
    said: Option<(RunConfig, String)>,
    /// What is wanted of the marks.
    marks: Option<MarksWish>,
    /// How far below the top of its section the map began when the pointer came over it; none while it is elsewhere.
    held: Option<f32>,
    /// Where the map was in the last frame.
    place: Option<Rect>,
    /// Height that is kept for the map, in points.
    room: f32,
}

/// What is wanted of the marks on the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarksWish {
    /// That they go.
    Remove,
    /// The config of the run that they come from.
    OpenConfig,
}

/// What the user wants in a frame.
enum Wanted {
    Edit(HeadEdit),
    Assign(HeadSpot, bool),
    Fit,
}

impl HeadEditor {
    /// Keeps the map where it is as long as the pointer is over it, though what stands above it in the section, which begins at
    /// `top`, may become less.
    pub(super) fn stay(&mut self, ui: &mut Ui, top: f32) {
        let is_over = self.place.is_some_and(|place| ui.rect_contains_pointer(place));
        let now = ui.cursor().top() - top;
        if !is_over {
            self.held = None;
            return;
        }
        let held = *self.held.get_or_insert(now);
        if held > now {
            ui.add_space(held - now);
        }
    }

    /// Draws the map, the button that repairs it, and the line of the chosen head.
    pub(super) fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
        let (heads, grid) = (judged.heads, &judged.heads.grid);
        if grid.layers() == 0 {
            return;
        }
        self.selected = self.selected.filter(|at| grid.cell(*at).is_some());
        let mut wanted = None;
        if heads.is_misfit {
            let about =
                "Removes rows and heads beyond the model; new heads compute, and so do those whose lender is gone";
            ui.horizontal(|ui| {
                if ui.button("Fit the table to the model").on_hover_text(about).clicked() {
                    wanted = Some(Wanted::Fit);
                }
            });
        }
        ui.add_space(2.0);
        let begins = ui.cursor().min;
        let map = HeadMap::new("configure", grid).editable().selected(self.selected);
        let fits = |marked: &&MarkedHeads| (marked.layers, marked.heads) == (grid.layers(), grid.heads());
        let map = map.marks(judged.marked.filter(fits).map(|marked| &marked.marks)).show(ui);
        self.place = Some(Rect::from_min_max(begins, pos2(ui.max_rect().right(), ui.cursor().top())));
        let height = ui.cursor().top() - begins.y;
        self.keep_room(ui, height, form.attended.is_some());
        self.selected = map.chosen.or(self.selected);
        wanted = map.edit.map(Wanted::Edit).or(wanted);
        self.words_ui(ui, config, grid, map.pointed);
        if let Some(marked) = judged.marked {
            self.marks = marked_ui(ui, marked, fits(&marked)).or(self.marks);
        }
        if let Some(at) = self.selected {
            wanted = chosen_ui(ui, config, grid, at).or(wanted);
        } else {
            // The place of that line: nothing moves when a head is clicked.
            ui.allocate_space(vec2(1.0, ui.spacing().interact_size.y));
        }
        let Some(wanted) = wanted else { return };
        let said = match wanted {
            Wanted::Edit(change) => edit(config, change),
            Wanted::Assign(at, computes) => assign(config, at, computes),
            Wanted::Fit => {
                fit(config);
                None
            }
        };
        self.said = said.map(|said| (config.clone(), said));
        form.unreadable.forget("attention.reuse.");
        form.touched = Some(FIELD);
        form.is_step = true;
    }

    /// Below a map that is so high: what it has fewer rows than before leaves its room empty as long as somebody types. On the
    /// way from 4 layers to 12 there is one.
    fn keep_room(&mut self, ui: &mut Ui, height: f32, is_typing: bool) {
        self.room = if is_typing { self.room.max(height) } else { height };
        if self.room > height {
            ui.add_space(self.room - height);
        }
    }

    /// What is wanted of the marks, once.
    pub fn take_marks_wish(&mut self) -> Option<MarksWish> {
        self.marks.take()
    }

    /// A line that is always there, so that nothing moves: what the last change brought about, the head that is pointed
    /// at, or what can be done.
    fn words_ui(&self, ui: &mut Ui, config: &RunConfig, grid: &HeadGrid, pointed: Option<HeadSpot>) {
        let palette = theme::palette(ui.visuals());
        let said = self.said.as_ref().filter(|(after, _)| after == config).map(|(_, said)| said.clone());
        let (text, colour) = match (said, pointed.or(self.selected)) {
            (Some(said), _) => (said, palette.warning),
            (None, Some(at)) => {
                let is_wrong = grid.cell(at) == Some(HeadCell::Wrong);
                (capital(&grid.words(at)) + ".", if is_wrong { palette.error } else { palette.weak })
            }
            (None, None) => {
                let hint = "Click a head to change it; drag it to a head above to borrow that map.";
                (hint.to_owned(), palette.weak)
            }
        };
        ui.add(Label::new(RichText::new(&text).small().color(colour)).truncate()).on_hover_text(text);
    }
}

/// What the stripes on the map are, and what can be done with them.
fn marked_ui(ui: &mut Ui, marked: &MarkedHeads, fits: bool) -> Option<MarksWish> {
    let MarkedHeads { run, layers, heads, threshold, config, .. } = marked;
    let words = if fits {
        format!("Stripes: groups of heads that are similar in \u{201C}{run}\u{201D}, from {threshold:.2} on.")
    } else {
        format!(
            "The groups of \u{201C}{run}\u{201D} are of {layers} × {} and are not shown on other maps.",
            counted(*heads, "head")
        )
    };
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
        let mut wish = None;
        if !fits && config.is_some() && ui.button("Open its config").clicked() {
            wish = Some(MarksWish::OpenConfig);
        }
        if ui.button("Remove the marks").clicked() {
            wish = Some(MarksWish::Remove);
        }
        wish
    })
    .inner
}

/// What the chosen head does, and its lender.
fn chosen_ui(ui: &mut Ui, config: &RunConfig, grid: &HeadGrid, at: HeadSpot) -> Option<Wanted> {
    let cell = grid.cell(at)?;
    let mut wanted = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        ui.spacing_mut().button_padding.x = 7.0;
        ui.label(RichText::new(format!("L{}H{}", at.layer, at.head)).strong());
        let kinds = [
            ("Computes", cell == HeadCell::Computes, Some(Wanted::Assign(at, true))),
            (
                "Borrows",
                matches!(cell, HeadCell::Borrows { .. }),
                first_lender(config, at).map(|from| Wanted::Edit(HeadEdit::Borrow { at, from })),
            ),
            ("Off", cell == HeadCell::Skips, Some(Wanted::Assign(at, false))),
        ];
        for (name, is_so, wish) in kinds {
            let button = ui.add_enabled(is_so || wish.is_some(), Button::selectable(is_so, name));
            let button = button.on_disabled_hover_text("There is no earlier head with a map");
            if button.clicked() && !is_so {
                wanted = wish;
            }
        }
        if let HeadCell::Borrows { from, .. } = cell {
            let mut lender = from;
            let has_map =
                |spot: &HeadSpot| matches!(grid.cell(*spot), Some(HeadCell::Computes | HeadCell::Borrows { .. }));
            let combo = ComboBox::from_id_salt("lender layer").width(50.0).selected_text(format!("L{}", from.layer));
            let combo = combo.show_ui(ui, |ui| {
                for layer in 0..at.layer {
                    let spots = (0..grid.heads()).map(|head| HeadSpot::new(layer, head));
                    let nearest = spots.filter(has_map).min_by_key(|spot| spot.head.abs_diff(from.head));
                    if let Some(spot) = nearest
                        && ui.selectable_label(layer == from.layer, format!("L{layer}")).clicked()
                        && layer != from.layer
                    {
                        lender = spot;
                    }
                }
            });
            combo.response.on_hover_text("The lender's layer").accessible_name("Layer of the lender");
            let combo = ComboBox::from_id_salt("lender head").width(50.0).selected_text(format!("H{}", from.head));
            let combo = combo.show_ui(ui, |ui| {
                for spot in (0..grid.heads()).map(|head| HeadSpot::new(from.layer, head)).filter(has_map) {
                    ui.selectable_value(&mut lender, spot, format!("H{}", spot.head));
                }
            });
            combo.response.on_hover_text("The lender's head").accessible_name("Head of the lender");
            if lender != from {
                wanted = Some(Wanted::Edit(HeadEdit::Borrow { at, from: lender }));
            }
        }
    });
    wanted
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
