use egui::{Align2, FontId, Id, Rect, Response, Role, ScrollArea, Sense, Stroke, Ui, Vec2, WidgetInfo, vec2};

use super::{
    Arrow, HeadCell, HeadGrid, HeadLayout, HeadMarks, HeadSpot,
    draw::{Line, fits, legend_ui, paint_arrow, paint_cell, paint_outline},
    marks::paint_mark,
};
use crate::theme;

/// Height beyond which the map shrinks, then scrolls.
const HEIGHT: f32 = 360.0;

/// Height that is granted beyond that before it scrolls: numbers of heads and rounding.
const SLACK: f32 = 56.0;

/// What the user wants of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadEdit {
    /// That it does the next thing: computes, borrows, is off.
    Cycle(HeadSpot),
    /// That it borrows from this lender.
    Borrow {
        /// The head.
        at: HeadSpot,
        /// Its lender: in an earlier layer, and with a map.
        from: HeadSpot,
    },
}

/// What happened to a head map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadMapResponse {
    /// A change that the user wants.
    pub edit: Option<HeadEdit>,
    /// The head under the pointer, else the one with the keyboard.
    pub pointed: Option<HeadSpot>,
    /// The head that was clicked, or got the keyboard.
    pub chosen: Option<HeadSpot>,
}

/// The head map. Layer 0, next to the embeddings, is at the top.
pub struct HeadMap<'a> {
    id: Id,
    grid: &'a HeadGrid,
    is_editable: bool,
    is_selectable: bool,
    selected: Option<HeadSpot>,
    marks: Option<&'a HeadMarks>,
    height: f32,
}

impl<'a> HeadMap<'a> {
    /// A map without edits. `name` tells the maps of a window apart, and keeps the keyboard where it is.
    pub fn new(name: &str, grid: &'a HeadGrid) -> Self {
        Self {
            id: Id::unique(("head map", name)),
            grid,
            is_editable: false,
            is_selectable: false,
            selected: None,
            marks: None,
            height: HEIGHT,
        }
    }

    /// Cells are buttons: a click wants the next state, dragging from a head to another wants that lender.
    pub fn editable(mut self) -> Self {
        self.is_editable = true;
        self
    }

    /// Cells are buttons: a click chooses the head.
    pub fn selectable(mut self) -> Self {
        self.is_selectable = true;
        self
    }

    /// This head is outlined.
    pub fn selected(mut self, selected: Option<HeadSpot>) -> Self {
        self.selected = selected;
        self
    }

    /// These groups are marked.
    pub fn marks(mut self, marks: Option<&'a HeadMarks>) -> Self {
        self.marks = marks;
        self
    }

    /// Height in points beyond which the map shrinks, then scrolls.
    pub fn height(mut self, height: f32) -> Self {
        self.height = height;
        self
    }

    /// Draws the map and its legend.
    pub fn show(self, ui: &mut Ui) -> HeadMapResponse {
        let room = vec2(ui.available_width() - 2.0, self.height);
        let layout = HeadLayout::new(self.grid.layers(), self.grid.heads(), room);
        let out = ScrollArea::both()
            .id_salt(self.id)
            .max_height(self.height + SLACK)
            // What is left of the panel below says nothing: the panel itself scrolls.
            .min_scrolled_height(self.height + SLACK)
            .auto_shrink(true)
            .show(ui, |ui| {
                let (rect, _) = ui.allocate_exact_size(layout.size() + Vec2::splat(2.0), Sense::empty());
                self.cells_ui(ui, &layout.at(rect.min))
            })
            .inner;
        // Any one explains how lenders are named in cells.
        let width = layout.cell_rect(HeadSpot::new(0, 0)).width();
        let lender = self.grid.iter().find_map(|(_, cell)| match cell {
            HeadCell::Borrows { from, .. } if layout.is_lettered() && fits(cell, width) => Some(from),
            _ => None,
        });
        legend_ui(ui, self.grid.counts(), self.grid.groups(), self.grid.has_families(), lender);
        out
    }

    fn cells_ui(&self, ui: &mut Ui, layout: &HeadLayout) -> HeadMapResponse {
        let palette = theme::palette(ui.visuals());
        let mut out = HeadMapResponse::default();
        let (mut focused, mut hovered, mut dragged) = (None, None, None);
        let (layers, heads) = layout.in_sight(ui.clip_rect());
        numbers_ui(ui, layout);
        for layer in layers {
            for head in heads.clone() {
                let at = HeadSpot::new(layer, head);
                let Some(cell) = self.grid.cell(at) else { continue };
                let rect = layout.cell_rect(at);
                let response = self.cell_ui(ui, at, rect);
                paint_cell(ui.painter(), palette, rect, cell, self.grid.family(at), layout.is_lettered());
                if let Some(group) = self.marks.and_then(|marks| marks.group(at)) {
                    paint_mark(ui.painter(), rect, group, palette.surface);
                }
                if response.has_focus() {
                    focused = Some(at);
                }
                if response.hovered() {
                    hovered = Some(at);
                }
                if self.is_selectable && response.clicked() {
                    out.chosen = Some(at);
                }
                if self.is_editable {
                    if response.gained_focus() {
                        response.scroll_to_me(None);
                    }
                    if response.clicked() {
                        out.edit = Some(HeadEdit::Cycle(at));
                    }
                    if response.clicked() || response.gained_focus() {
                        out.chosen = Some(at);
                    }
                    if response.dragged() || response.drag_stopped() {
                        dragged = Some((at, response.drag_stopped()));
                    }
                }
                response.on_hover_ui(|ui| {
                    ui.label(self.words(at));
                    if self.is_editable {
                        let weak = theme::palette(ui.visuals()).weak;
                        let hint = if layer == 0 {
                            "Click: on or off. The first layer has nothing to borrow."
                        } else {
                            "Click: compute, borrow, off. Drag to a head above: borrow from it."
                        };
                        ui.label(egui::RichText::new(hint).small().color(weak));
                    }
                });
            }
        }
        out.pointed = hovered.or(focused);
        if let Some(at) = focused.or(self.selected).filter(|_| self.is_editable || self.is_selectable) {
            paint_outline(ui.painter(), layout.cell_rect(at), Stroke::new(2.0, palette.accent));
        }
        match dragged {
            Some((at, is_done)) => out.edit = self.drag_ui(ui, layout, at, is_done).or(out.edit),
            None => self.lenders_ui(ui, layout, out.pointed),
        }
        out
    }

    fn cell_ui(&self, ui: &Ui, at: HeadSpot, rect: Rect) -> Response {
        let sense = match (self.is_editable, self.is_selectable) {
            (true, _) => Sense::click_and_drag(),
            (false, true) => Sense::click(),
            (false, false) => Sense::HOVER,
        };
        let response = ui.interact(rect, self.id.with((at.layer, at.head)), sense);
        let words = || self.words(at);
        if self.is_editable || self.is_selectable {
            let enabled = ui.is_enabled();
            let is_wrong = self.grid.cell(at) == Some(HeadCell::Wrong);
            response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, sentence(&at.to_string())));
            ui.ctx().accesskit_node_builder(response.id, |node| {
                node.set_description(words());
                if is_wrong {
                    node.set_invalid(egui::accesskit::Invalid::True);
                }
            });
        } else {
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, words()));
        }
        response
    }

    /// What a head does, and how it is marked.
    fn words(&self, at: HeadSpot) -> String {
        let words = sentence(&self.grid.words(at));
        self.marks.and_then(|marks| marks.words(at)).map_or_else(|| words.clone(), |mark| format!("{words}; {mark}"))
    }

    /// Where the map of a head comes from, or who uses the one that it computes.
    fn lenders_ui(&self, ui: &Ui, layout: &HeadLayout, pointed: Option<HeadSpot>) {
        let palette = theme::palette(ui.visuals());
        let Some(at) = pointed else { return };
        match self.grid.cell(at) {
            Some(HeadCell::Borrows { from, origin }) => {
                if from != origin {
                    let arrow = layout.arrow(from, origin);
                    paint_arrow(ui.painter(), palette, &arrow, Line::Dashed, Stroke::new(1.5, palette.strong));
                    paint_outline(ui.painter(), layout.cell_rect(origin), Stroke::new(1.5, palette.strong));
                }
                let arrow = layout.arrow(at, from);
                paint_arrow(ui.painter(), palette, &arrow, Line::Whole, Stroke::new(2.0, palette.strong));
            }
            Some(HeadCell::Computes) => {
                for user in self.grid.users(at) {
                    paint_outline(ui.painter(), layout.cell_rect(user), Stroke::new(1.5, palette.strong));
                }
            }
            Some(HeadCell::Alike { group }) => {
                let is_of_it = |cell| matches!(cell, HeadCell::Alike { group: other } if other == group);
                for (other, _) in self.grid.iter().filter(|(other, cell)| *other != at && is_of_it(*cell)) {
                    paint_outline(ui.painter(), layout.cell_rect(other), Stroke::new(1.5, palette.strong));
                }
            }
            Some(HeadCell::Alone | HeadCell::Skips | HeadCell::Wrong) | None => {}
        }
    }

    /// A lender is being chosen: an arrow from the head to the pointer, and on release the change.
    fn drag_ui(&self, ui: &Ui, layout: &HeadLayout, at: HeadSpot, is_done: bool) -> Option<HeadEdit> {
        let palette = theme::palette(ui.visuals());
        let pointer = ui.input(|input| input.pointer.latest_pos())?;
        let from = layout.head_at(pointer).filter(|from| *from != at);
        let lends = from.map(|from| self.lends(at, from));
        let arrow = match (from, lends) {
            (Some(from), Some(Ok(()))) => layout.arrow(at, from),
            _ => Arrow::between(layout.cell_rect(at).center(), pointer),
        };
        let colour = if matches!(lends, Some(Ok(()))) { palette.strong } else { palette.error };
        if from.is_some() || layout.head_at(pointer).is_none() {
            paint_arrow(ui.painter(), palette, &arrow, Line::Whole, Stroke::new(2.0, colour));
        }
        if let (Some(Err(why)), false) = (lends, is_done) {
            egui::Tooltip::always_open(
                ui.ctx().clone(),
                ui.layer_id(),
                self.id.with("lender"),
                egui::PopupAnchor::Pointer,
            )
            .show(|ui| ui.label(why));
        }
        match (from, lends) {
            (Some(from), Some(Ok(()))) if is_done => Some(HeadEdit::Borrow { at, from }),
            _ => None,
        }
    }

    /// Whether a head can borrow from another, or why not.
    fn lends(&self, at: HeadSpot, from: HeadSpot) -> Result<(), &'static str> {
        if from.layer >= at.layer {
            return Err("A lender stands in an earlier layer: its map must be there first.");
        }
        match self.grid.cell(from) {
            Some(HeadCell::Computes | HeadCell::Borrows { .. } | HeadCell::Alike { .. } | HeadCell::Alone) => Ok(()),
            Some(HeadCell::Skips | HeadCell::Wrong) | None => Err("That head has no map to lend."),
        }
    }
}

/// Numbers of layers at the left and of heads above.
fn numbers_ui(ui: &Ui, layout: &HeadLayout) {
    let weak = theme::palette(ui.visuals()).weak;
    let font = FontId::proportional(11.0);
    let (layers, heads) = layout.in_sight(ui.clip_rect());
    for layer in layers {
        let text = format!("L{layer}");
        ui.painter().text(layout.layer_label(layer), Align2::RIGHT_CENTER, text, font.clone(), weak);
    }
    let every = layout.head_label_every();
    for head in heads.filter(|head| head.is_multiple_of(every)) {
        ui.painter().text(layout.head_label(head), Align2::CENTER_CENTER, format!("H{head}"), font.clone(), weak);
    }
}

/// With a capital.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
