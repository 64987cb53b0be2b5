use std::{collections::BTreeMap, sync::Arc};

use headroom_engine::{
    analysis::MapThumbnails,
    attention::HeadAt,
    store::RunId,
    worker::{Command, Event, MapText, Rebuild, Target, Which},
};

use super::rebuilt::{Rebuilding, ShownRebuilt};
use crate::plot::HeatData;

/// Views that are kept; the engine keeps as many.
const KEPT: usize = 4;
/// How the engine begins to say that a view could not be opened.
const FAILED: &str = "The maps of ";

/// Whose maps, on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapsOf {
    /// The run.
    pub run: RunId,
    /// Which of its checkpoints.
    pub which: Which,
    /// What it reads.
    pub text: MapText,
}

/// The attention maps of a model on one example.
#[derive(Clone, Debug, Default)]
pub struct ShownMaps {
    /// The model in words.
    pub target: String,
    /// Its step, where known.
    pub step: Option<u64>,
    /// The tokens as text.
    pub tokens: Vec<String>,
    /// Layers.
    pub layers: usize,
    /// Heads of a layer.
    pub heads: usize,
    /// Every map made small, layer by layer.
    pub thumbnails: Vec<HeatData>,
}

struct View {
    ticket: u64,
    of: MapsOf,
    shown: Option<Arc<ShownMaps>>,
    /// Maps that were asked for; none while they have not come.
    maps: BTreeMap<HeadAt, Option<HeatData>>,
    failure: Option<String>,
    rebuilding: Rebuilding,
}

/// The attention maps that the Heads panel shows.
#[derive(Default)]
pub struct MapsState {
    /// Two heads of a run that are to be shown side by side.
    pub pair: Option<(RunId, HeadAt, HeadAt)>,
    /// The last one is the newest.
    views: Vec<View>,
    tickets: u64,
    wishes: Vec<Command>,
}

impl MapsState {
    /// The maps of a model on an example, or why there are none; asked for, once.
    pub fn maps(&mut self, of: &MapsOf) -> Option<Result<Arc<ShownMaps>, String>> {
        let view = self.view(of);
        match (&view.shown, &view.failure) {
            (Some(shown), _) => Some(Ok(Arc::clone(shown))),
            (None, Some(why)) => Some(Err(why.clone())),
            (None, None) => None,
        }
    }

    /// One of them whole, query by query; asked for, once.
    pub fn map(&mut self, of: &MapsOf, head: HeadAt) -> Option<HeatData> {
        let view = self.view(of);
        view.shown.as_ref()?;
        let ticket = view.ticket;
        if let Some(map) = view.maps.get(&head) {
            return map.clone();
        }
        view.maps.insert(head, None);
        self.wishes.push(Command::LoadMap { view: ticket, layer: head.layer, head: head.head });
        None
    }

    /// A map beside itself put together from some of its pairs, or why not: of the wanted k, or of the last one that came
    /// while that is asked for.
    pub fn rebuilt(&mut self, of: &MapsOf, wanted: &Rebuild) -> Option<Result<Arc<ShownRebuilt>, String>> {
        let view = self.view(of);
        view.shown.as_ref()?;
        let ticket = view.ticket;
        let (shown, question) = view.rebuilding.want(wanted);
        self.wishes.extend(question.map(|rebuild| Command::RebuildMap { view: ticket, rebuild }));
        shown
    }

    /// Asks again for a rebuilt map that could not be had.
    pub fn rebuild_again(&mut self, of: &MapsOf) {
        self.view(of).rebuilding.again();
    }

    /// Asks again for what could not be had.
    pub fn again(&mut self, of: &MapsOf) {
        self.views.retain(|view| view.of != *of);
    }

    fn view(&mut self, of: &MapsOf) -> &mut View {
        let place = self.views.iter().position(|view| view.of == *of).unwrap_or_else(|| {
            self.tickets += 1;
            let (ticket, of) = (self.tickets, of.clone());
            let target = Target::Run { run: of.run.clone(), which: of.which };
            self.wishes.push(Command::LoadMaps { view: ticket, target, text: of.text.clone() });
            if self.views.len() == KEPT {
                self.views.remove(0);
            }
            self.views.push(View {
                ticket,
                of,
                shown: None,
                maps: BTreeMap::new(),
                failure: None,
                rebuilding: Rebuilding::default(),
            });
            self.views.len() - 1
        });
        let view = self.views.remove(place);
        self.views.push(view);
        let last = self.views.len() - 1;
        &mut self.views[last]
    }

    pub(super) fn take_wishes(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.wishes)
    }

    /// A failure that may be one of a view that was asked for.
    pub(super) fn failed(&mut self, why: &str) {
        if why.starts_with(FAILED)
            && let Some(view) = self.views.iter_mut().find(|view| view.shown.is_none() && view.failure.is_none())
        {
            view.failure = Some(why.to_owned());
        }
    }

    /// Takes an event of maps in; others are none of its business.
    pub(super) fn apply(&mut self, event: Event) {
        match event {
            Event::Maps { view, target, step, tokens, thumbnails } => {
                if let Some(known) = self.views.iter_mut().find(|known| known.ticket == view) {
                    known.shown = Some(Arc::new(shown(target, step, tokens, &thumbnails)));
                }
            }
            Event::Map { view, layer, head, values } => {
                if let Some(known) = self.views.iter_mut().find(|known| known.ticket == view) {
                    let side = values.len().isqrt();
                    known.maps.insert(HeadAt::new(layer, head), Some(HeatData::new(side, side, values)));
                }
            }
            Event::Rebuilt { view, rebuild, rebuilt, why } => {
                if let Some(known) = self.views.iter_mut().find(|known| known.ticket == view) {
                    let found = rebuilt.map(|rebuilt| *rebuilt).ok_or_else(|| why.unwrap_or_default());
                    known.rebuilding.take(rebuild, found);
                }
            }
            _ => {}
        }
    }
}

fn shown(target: String, step: Option<u64>, tokens: Vec<String>, small: &MapThumbnails) -> ShownMaps {
    let MapThumbnails { layers, heads, side, ref values } = *small;
    let cells = (side * side).max(1);
    let thumbnails = values.chunks(cells).map(|map| HeatData::new(side, side, map.to_vec())).collect();
    ShownMaps { target, step, tokens, layers, heads, thumbnails }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(example: usize) -> MapsOf {
        MapsOf { run: "000000000a".parse().unwrap(), which: Which::Best, text: MapText::Example(example) }
    }

    fn answer(state: &mut MapsState, view: u64) {
        let thumbnails = Box::new(MapThumbnails { layers: 1, heads: 2, side: 2, values: vec![0.5; 8] });
        let tokens = ["a", "b"].map(str::to_owned).to_vec();
        state.apply(Event::Maps { view, target: "a run".to_owned(), step: Some(3), tokens, thumbnails });
    }

    #[test]
    fn views_and_maps_are_asked_for_once_and_few_are_kept() {
        let mut state = MapsState::default();
        assert!(state.maps(&of(0)).is_none() && state.maps(&of(0)).is_none());
        assert!(state.map(&of(0), HeadAt::new(0, 1)).is_none(), "not before the view is there");
        assert!(matches!(&state.take_wishes()[..], [Command::LoadMaps { view: 1, .. }]));
        answer(&mut state, 1);
        assert_eq!(state.maps(&of(0)).unwrap().unwrap().thumbnails.len(), 2);
        let head = HeadAt::new(0, 1);
        assert!(state.map(&of(0), head).is_none() && state.map(&of(0), head).is_none());
        assert!(matches!(&state.take_wishes()[..], [Command::LoadMap { view: 1, layer: 0, head: 1 }]));
        state.apply(Event::Map { view: 1, layer: 0, head: 1, values: vec![1.0, 0.0, 0.5, 0.5] });
        assert_eq!(state.map(&of(0), head).map(|map| map.at(1, 1)), Some(0.5));
        for example in 1..=KEPT {
            let _ = state.maps(&of(example));
        }
        assert_eq!(state.views.len(), KEPT);
        assert!(state.maps(&of(0)).is_none(), "the one that was seen the longest ago is opened again");
    }

    #[test]
    fn a_slider_that_moves_asks_for_one_map_at_a_time_and_shows_the_last() {
        let mut state = MapsState::default();
        let wanted = |k| Rebuild { analysis: "000000000x".parse().unwrap(), scope: 0, layer: 0, head: 1, k };
        assert!(state.rebuilt(&of(0), &wanted(1)).is_none(), "not before the view is there");
        answer(&mut state, 1);
        state.take_wishes();
        for k in [1, 2, 3] {
            assert!(state.rebuilt(&of(0), &wanted(k)).is_none());
        }
        assert!(matches!(&state.take_wishes()[..], [Command::RebuildMap { view: 1, rebuild }] if rebuild.k == 1));
        let rebuilt = |k| {
            Some(Box::new(headroom_engine::analysis::reconstruction::RebuiltMap {
                tokens: 1,
                k,
                scores: vec![2.0],
                rebuilt_scores: vec![1.5],
                ..Default::default()
            }))
        };
        state.apply(Event::Rebuilt { view: 1, rebuild: wanted(1), rebuilt: rebuilt(1), why: None });
        let shown = state.rebuilt(&of(0), &wanted(3)).unwrap().unwrap();
        assert_eq!((shown.k, shown.scores[2].at(0, 0)), (1, -0.5), "the last one stays until the next comes");
        assert!(matches!(&state.take_wishes()[..], [Command::RebuildMap { rebuild, .. }] if rebuild.k == 3));
        state.apply(Event::Rebuilt { view: 1, rebuild: wanted(3), rebuilt: rebuilt(3), why: None });
        assert_eq!(state.rebuilt(&of(0), &wanted(3)).unwrap().unwrap().k, 3);
        assert!(state.take_wishes().is_empty());
        let other = Rebuild { head: 0, ..wanted(3) };
        assert!(state.rebuilt(&of(0), &other).is_none(), "another head's map is not shown for it");
        let why = Some("It has no scores.".to_owned());
        state.apply(Event::Rebuilt { view: 1, rebuild: other.clone(), rebuilt: None, why });
        assert_eq!(state.rebuilt(&of(0), &other).unwrap().unwrap_err(), "It has no scores.");
        state.take_wishes();
        state.rebuild_again(&of(0));
        assert!(state.rebuilt(&of(0), &other).is_none() && state.take_wishes().len() == 1);
    }

    #[test]
    fn a_view_that_cannot_be_opened_says_why_and_can_be_asked_for_again() {
        let mut state = MapsState::default();
        assert!(state.maps(&of(0)).is_none());
        state.failed("The disk is full.");
        assert!(state.maps(&of(0)).is_none());
        state.failed("The maps of a run cannot be shown. It has no checkpoint.");
        assert!(state.maps(&of(0)).unwrap().unwrap_err().contains("no checkpoint"));
        state.again(&of(0));
        assert!(state.maps(&of(0)).is_none());
        assert_eq!(state.take_wishes().len(), 2);
    }
}
