//! What is shown large: the map of a head, two of them and their difference, or the arcs of a layer.

use egui::Ui;
use headroom_engine::{
    attention::HeadAt,
    protocol::{Target, Which},
    store::RunId,
};

use super::{
    arcs::ArcsView,
    image::ImageView,
    large::{Large, Left, Lock, help_ui, looks_even, titled},
    memory::Memory,
    tokens::{Kept, difference, of_text},
};
use crate::{
    common::Exportable,
    context::PanelContext,
    export::{ArcsFigure, MapFigure},
    panels::analysis::{head_name, which_words},
    plot::HeatData,
    state::{MapsOf, ShownMaps},
    widgets::{HeatLine, HeatState},
};

/// What stands beside the head that is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// It is alone.
    #[default]
    Nothing,
    /// Another head of the same model.
    Head(HeadAt),
    /// The same head of another checkpoint.
    Checkpoint(Which),
    /// The same head of another run's best checkpoint.
    Run(RunId),
}

/// A part of what is shown large, to be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The chosen map, or the arcs of its layer.
    Shown,
    /// The map beside it.
    Beside,
    /// Their difference.
    Difference,
}

/// Which head of which maps, and how it is shown.
pub(super) struct Shown<'a> {
    /// What was read with which model.
    pub of: &'a MapsOf,
    /// What came of it.
    pub maps: &'a ShownMaps,
    /// The chosen head.
    pub head: HeadAt,
    /// What stands beside it.
    pub beside: &'a Beside,
    /// What the user chose of its look.
    pub memory: &'a Memory,
}

impl Shown<'_> {
    /// The maps that the one beside it is of, and its head there; none where nothing is beside it.
    fn other(&self) -> Option<(MapsOf, HeadAt)> {
        let best = |run: &RunId| Target::Run { run: run.clone(), which: Which::Best };
        let (target, head) = match self.beside {
            Beside::Nothing => return None,
            Beside::Head(at) => (self.of.target.clone(), *at),
            Beside::Checkpoint(which) => match &self.of.target {
                Target::Run { run, .. } => (Target::Run { run: run.clone(), which: *which }, self.head),
                directory @ Target::Directory(_) => (directory.clone(), self.head),
            },
            Beside::Run(run) => (best(run), self.head),
        };
        Some((MapsOf { target, ..self.of.clone() }, head))
    }

    fn exportable(&self, figure: MapFigure) -> Exportable {
        Exportable::Map(Box::new(titled(figure, &self.maps.target, &self.maps.tokens)))
    }
}

/// What is remembered of it between frames.
#[derive(Default)]
pub(super) struct LargeView {
    kept: [Kept; 2],
    difference: (Option<(u64, u64)>, Option<HeatData>),
    states: [HeatState; 3],
    locked: Option<Lock>,
    arcs: ArcsView,
    image: ImageView,
}

impl LargeView {
    /// Lets go of what was clicked; whether anything was.
    pub fn release(&mut self) -> bool {
        self.locked.take().is_some() || self.arcs.release()
    }

    /// Lets go of what was clicked in a map, for another one is shown.
    pub fn unlock(&mut self) {
        self.locked = None;
    }

    /// Draws it, so high; what is `wanted` of it, once it is there.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        shown: &Shown<'_>,
        height: f32,
        wanted: &mut Option<Part>,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        if shown.memory.arcs && *shown.beside == Beside::Nothing {
            return self.arcs_ui(ui, shown, height, wanted, cx);
        }
        let Some(map) = cx.state.maps.map(shown.of, shown.head) else {
            ui.add(egui::Spinner::new());
            return None;
        };
        let name = head_name(shown.head);
        if map.values().is_empty() {
            ui.label(format!("{name} has no map: it is off."));
            return None;
        }
        let [first, _] = &mut self.kept;
        first.update(&map, &shown.maps.tokens, shown.memory.hides_special);
        if let Some(other) = shown.other() {
            return self.pair_ui(ui, shown, (&name, other), height, wanted, cx);
        }
        let style = shown.memory.look;
        let large = Large { name: &name, kept: first, map: &first.map, is_difference: false, style };
        let [state, ..] = &mut self.states;
        let query = self.locked.and_then(Lock::query).and_then(|row| first.places.get(row).copied());
        if let Some(token) = self.image.ui(ui, shown.maps, &map, query, height) {
            let row = first.places.iter().position(|place| *place == token);
            self.locked = row.map(|row| Lock::Line(HeatLine::Row(row)));
        }
        let height = height - ImageView::height(shown.maps, height);
        if !large.ui(ui, height, Left::default(), state, &mut self.locked) {
            help_ui(ui, looks_even(&first.map, style));
        }
        wanted.take().map(|_| shown.exportable(large.figure(state)))
    }

    fn arcs_ui(
        &mut self,
        ui: &mut Ui,
        shown: &Shown<'_>,
        height: f32,
        wanted: &mut Option<Part>,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        let (layer, maps) = (shown.head.layer, shown.maps);
        let of_layer: Vec<Option<HeatData>> =
            (0..maps.heads).map(|head| cx.state.maps.map(shown.of, HeadAt::new(layer, head))).collect();
        let loading = of_layer.iter().filter(|map| map.is_none()).count();
        let Memory { hides_special, arcs_from, .. } = *shown.memory;
        self.arcs.update(layer, &of_layer, &maps.tokens, (hides_special, arcs_from as f32));
        self.arcs.ui(ui, height, loading);
        wanted.take()?;
        let about = of_text(MapFigure::default(), &maps.target, &maps.tokens);
        let figure = ArcsFigure { subtitle: about.subtitle, metadata: about.metadata, ..self.arcs.figure() };
        Some(Exportable::Drawing(Box::new(figure.draw())))
    }

    /// The chosen map, the `other` and their difference. The one in the middle and the last have the names of queries of the
    /// first, and the first the colour bar of the one beside it, where they are the same: the cells have the room.
    fn pair_ui(
        &mut self,
        ui: &mut Ui,
        shown: &Shown<'_>,
        (name, (other_of, at)): (&str, (MapsOf, HeadAt)),
        height: f32,
        wanted: &mut Option<Part>,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        let style = shown.memory.look;
        let [first, second] = &mut self.kept;
        let first = &*first;
        let [state, other_state, difference_state] = &mut self.states;
        let locked = &mut self.locked;
        let large = Large { name, kept: first, map: &first.map, is_difference: false, style };
        let wanted = wanted.take();
        let (other, map) = match read(&other_of, at, cx) {
            Ok(found) => found,
            Err(why) => {
                ui.columns(2, |columns| {
                    if let [left, right] = columns {
                        // Columns set their text to both edges; what stands in one of them does not.
                        left.vertical(|ui| large.ui(ui, height, Left::default(), state, locked));
                        right.vertical(|ui| match why {
                            Some(why) => drop(ui.label(why)),
                            None => drop(ui.add(egui::Spinner::new())),
                        });
                    }
                });
                return None;
            }
        };
        second.update(&map, &other.tokens, shown.memory.hides_special);
        let second = &*second;
        let versions = Some((first.map.version(), second.map.version()));
        if self.difference.0 != versions {
            self.difference = (versions, difference(first, second));
        }
        let what = match shown.beside {
            Beside::Head(_) | Beside::Nothing => String::new(),
            Beside::Checkpoint(which) => format!(", {}", which_words(*which).to_lowercase()),
            Beside::Run(run) => format!(", {}", cx.state.run_name(run)),
        };
        let other_name = format!("{}{what}", head_name(at));
        let other_large = Large { name: &other_name, kept: second, map: &second.map, is_difference: false, style };
        let difference_name = format!("{name} minus {other_name}");
        let difference_large = self.difference.1.as_ref().map(|map| Large {
            name: &difference_name,
            kept: first,
            map,
            is_difference: true,
            style,
        });
        let is_same_text = difference_large.is_some();
        let left = [
            Left { bar: large.tone() == other_large.tone(), queries: false },
            Left { bar: false, queries: is_same_text },
            Left { bar: false, queries: true },
        ];
        let last = difference_large.as_ref().unwrap_or(&other_large);
        let room = ui.available_width() - 2.0 * ui.spacing().item_spacing.x;
        let [of_first, of_other, of_last] = left;
        let maps = [(&large, of_first), (&other_large, of_other), (last, of_last)];
        let widths = widths(room, maps.map(|(map, left)| move |width| map.beside_cells(left, width)));
        let is_told = ui
            .horizontal_top(|ui| {
                let column = |ui: &mut Ui, width: f32, add: &mut dyn FnMut(&mut Ui) -> bool| {
                    ui.vertical(|ui| {
                        ui.set_width(width);
                        add(ui)
                    })
                    .inner
                };
                let of_first = column(ui, widths[0], &mut |ui| large.ui(ui, height, left[0], state, locked));
                let of_other =
                    column(ui, widths[1], &mut |ui| other_large.ui(ui, height, left[1], other_state, locked));
                let of_difference = column(ui, widths[2], &mut |ui| {
                    let Some(large) = &difference_large else {
                        ui.label("They read different tokens, so a difference has no meaning.");
                        return false;
                    };
                    large.ui(ui, height, left[2], difference_state, locked)
                });
                of_first || of_other || of_difference
            })
            .inner;
        if !is_told {
            help_ui(ui, looks_even(&first.map, style).and(looks_even(&second.map, style)));
        }
        let figure = match wanted? {
            Part::Shown => large.figure(state),
            Part::Beside => other_large.figure(other_state),
            Part::Difference => difference_large?.figure(difference_state),
        };
        Some(shown.exportable(figure))
    }
}

/// The map of another head with the maps that it is one of; else why there is none, or nothing while it is read.
fn read(
    of: &MapsOf,
    at: HeadAt,
    cx: &mut PanelContext<'_>,
) -> Result<(std::sync::Arc<ShownMaps>, HeatData), Option<String>> {
    let other = cx.state.maps.maps(of).ok_or(None)?.map_err(Some)?;
    match cx.state.maps.map(of, at) {
        Some(map) if map.values().is_empty() => Err(Some(format!("The other model has no {}.", head_name(at)))),
        Some(map) => Ok((other, map)),
        None => Err(None),
    }
}

/// The widths of maps whose cells have the same room each, by what each needs beside its cells where it is so wide.
fn widths<F: Fn(f32) -> f32>(room: f32, beside: [F; 3]) -> [f32; 3] {
    let mut widths = [room / 3.0; 3];
    // Names that have no room in narrow maps leave theirs to the cells.
    for _ in 0..2 {
        let mut needed = widths;
        for (width, beside) in needed.iter_mut().zip(&beside) {
            *width = beside(*width);
        }
        let cells = (room - needed.iter().sum::<f32>()) / 3.0;
        widths = needed.map(|needed| (cells + needed).max(1.0));
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is cells of the widths of three maps; the first has names of queries from `named` points on.
    fn cells(room: f32, named: f32) -> [f32; 3] {
        let beside = [(80.0, 18.0), (95.0, 95.0), (1.0, 1.0)];
        let beside = beside.map(|(with, without)| move |width: f32| if width < named { without } else { with });
        let found = widths(room, beside);
        assert!((found.iter().sum::<f32>() - room).abs() < 1e-3, "{found:?}");
        std::array::from_fn(|place| found[place] - beside[place](found[place]))
    }

    #[test]
    fn maps_beside_each_other_have_cells_of_one_size() {
        let is_one = |cells: [f32; 3]| cells.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-3);
        assert!(is_one(cells(1000.0, 0.0)));
        assert!(is_one(cells(600.0, 300.0)), "the names of the first have no room");
        assert!(widths(10.0, [|_| 80.0; 3]).iter().all(|width| *width >= 1.0), "narrower than names");
    }
}
