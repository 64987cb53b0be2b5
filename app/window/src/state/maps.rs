use std::sync::Arc;

use headroom_engine::{
    analysis::MapThumbnails,
    attention::HeadAt,
    config::DataConfig,
    data::PreviewImage,
    protocol::{Event, MapText, Rebuild, Request, Target, Ticket, Which, commands, events},
    store::RunId,
};

use super::{SubjectId, rebuilt::ShownRebuilt, request_cache::RequestCache};
use crate::plot::HeatData;

/// Views that are kept; the engine keeps as many.
const KEPT: usize = 4;

/// Whose maps, on what.
#[derive(Clone, Debug, PartialEq)]
pub struct MapsOf {
    /// The model.
    pub target: Target,
    /// The text of whose examples it reads one; none: the run's own.
    pub data: Option<Box<DataConfig>>,
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
    /// How many examples of the text there are to choose from; 0 where that is not known.
    pub examples: usize,
    /// The image that was read, if it was one.
    pub picture: Option<PreviewImage>,
    /// Layers.
    pub layers: usize,
    /// Heads of a layer.
    pub heads: usize,
    /// Every map made small, layer by layer.
    pub thumbnails: Vec<HeatData>,
}

struct View {
    /// What the engine knows it by.
    id: u64,
    of: MapsOf,
    shown: RequestCache<(), Arc<ShownMaps>>,
    maps: RequestCache<HeadAt, HeatData>,
    /// The map that was rebuilt last, and what came of it: one question at a time, so that a slider that moves fast asks for
    /// where it is and not for every place that it was at.
    rebuilt: RequestCache<(), (Rebuild, Result<Arc<ShownRebuilt>, String>)>,
}

/// The attention maps that the Heads panel shows.
#[derive(Default)]
pub struct MapsState {
    /// Two heads of a model that are to be shown side by side.
    pub pair: Option<(SubjectId, HeadAt, HeadAt)>,
    /// A text that is to be read.
    pub written: Option<String>,
    /// One of all held-out images that is to be read.
    pub image: Option<usize>,
    /// The last one is the newest.
    views: Vec<View>,
    opened: u64,
}

impl MapsState {
    /// The maps of a model on an example, or why there are none; asked for, once.
    pub fn maps(&mut self, of: &MapsOf) -> Option<Result<Arc<ShownMaps>, String>> {
        let view = self.view(of);
        let id = view.id;
        let load = || {
            let MapsOf { target, data, text } = of.clone();
            commands::LoadMaps { view: id, target, data, text }
        };
        if let Some(shown) = view.shown.get(&(), load) {
            return Some(Ok(Arc::clone(shown)));
        }
        view.shown.failure(&()).map(|why| Err(why.to_owned()))
    }

    /// One of them whole, query by query; asked for, once.
    pub fn map(&mut self, of: &MapsOf, head: HeadAt) -> Option<HeatData> {
        let view = self.view(of);
        view.shown.peek(&())?;
        let id = view.id;
        view.maps.get(&head, || commands::LoadMap { view: id, layer: head.layer, head: head.head }).cloned()
    }

    /// A map beside itself put together from some of its pairs, or why not: of the wanted k, or of the last one that came
    /// while that is asked for.
    pub fn rebuilt(&mut self, of: &MapsOf, wanted: &Rebuild) -> Option<Result<Arc<ShownRebuilt>, String>> {
        let view = self.view(of);
        view.shown.peek(&())?;
        let of_any_k = |rebuild: &Rebuild| Rebuild { k: wanted.k, ..rebuild.clone() };
        let known = view.rebuilt.peek(&()).filter(|(rebuild, _)| of_any_k(rebuild) == *wanted).cloned();
        if known.as_ref().is_none_or(|(rebuild, _)| rebuild != wanted) {
            let id = view.id;
            view.rebuilt.want(&(), || commands::RebuildMap { view: id, rebuild: wanted.clone() });
        }
        let failed = || view.rebuilt.failure(&()).map(|why| Err(why.to_owned()));
        known.map(|(_, found)| found).or_else(failed)
    }

    /// Asks again for a rebuilt map that could not be had.
    pub fn rebuild_again(&mut self, of: &MapsOf) {
        self.view(of).rebuilt.forget(&());
    }

    /// Asks again for what could not be had.
    pub fn again(&mut self, of: &MapsOf) {
        self.views.retain(|view| view.of != *of);
    }

    /// A run has another checkpoint, its best one or not: what was shown of its newest, or of its best, is another model's now.
    pub(super) fn checkpointed(&mut self, run: &RunId, is_best: bool) {
        self.views.retain(|view| match &view.of.target {
            Target::Run { run: of, which } => {
                of != run || matches!(which, Which::Step(_)) || (*which == Which::Best && !is_best)
            }
            Target::Directory(_) => true,
        });
    }

    fn view(&mut self, of: &MapsOf) -> &mut View {
        let view = if let Some(place) = self.views.iter().position(|view| view.of == *of) {
            self.views.remove(place)
        } else {
            self.opened += 1;
            if self.views.len() == KEPT {
                self.views.remove(0);
            }
            let (shown, maps, rebuilt) = Default::default();
            View { id: self.opened, of: of.clone(), shown, maps, rebuilt }
        };
        self.views.push(view);
        let last = self.views.len() - 1;
        &mut self.views[last]
    }

    fn of_id(&mut self, id: u64) -> Option<&mut View> {
        self.views.iter_mut().find(|view| view.id == id)
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let of_view = |view: &mut View| {
            let requests = [view.shown.take_requests(), view.maps.take_requests(), view.rebuilt.take_requests()];
            requests.into_iter().flatten()
        };
        self.views.iter_mut().flat_map(of_view).collect()
    }

    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        self.views
            .iter_mut()
            .any(|view| view.shown.fail(ticket, why) || view.maps.fail(ticket, why) || view.rebuilt.fail(ticket, why))
    }

    /// Takes an event of maps in; others are none of its business.
    pub(super) fn apply(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Maps(events::Maps { view, target, step, tokens, picture, examples, thumbnails }) => {
                if let Some(known) = self.of_id(view) {
                    let shown = shown(target, step, (tokens, picture.map(|picture| *picture)), &thumbnails);
                    known.shown.answer((), Arc::new(ShownMaps { examples, ..shown }));
                }
            }
            Event::Map(events::Map { view, layer, head, values }) => {
                if let Some(known) = self.of_id(view) {
                    let side = values.len().isqrt();
                    known.maps.answer(HeadAt::new(layer, head), HeatData::new(side, side, values));
                }
            }
            Event::Rebuilt(events::Rebuilt { view, rebuild, rebuilt, why }) => {
                if let Some(known) = self.of_id(view) {
                    let found =
                        rebuilt.map(|rebuilt| Arc::new((*rebuilt).into())).ok_or_else(|| why.unwrap_or_default());
                    known.rebuilt.answer((), (rebuild, found));
                }
            }
            other => return Some(other),
        }
        None
    }
}

fn shown(
    target: String,
    step: Option<u64>,
    (tokens, picture): (Vec<String>, Option<PreviewImage>),
    small: &MapThumbnails,
) -> ShownMaps {
    let MapThumbnails { layers, heads, side, ref values } = *small;
    let cells = (side * side).max(1);
    let is_ahead = |place: usize| place % cells % side.max(1) > place % cells / side.max(1);
    // Where no query attends to a later token there is nothing, rather than nothing of something. A map that is off is NaN.
    let looks_ahead = |(place, value): (usize, &f32)| is_ahead(place) && *value != 0.0 && !value.is_nan();
    let is_causal = !values.iter().enumerate().any(looks_ahead);
    let seen = |(place, value): (usize, &f32)| if is_causal && is_ahead(place) { f32::NAN } else { *value };
    let values: Vec<f32> = values.iter().enumerate().map(seen).collect();
    let thumbnails = values.chunks(cells).map(|map| HeatData::new(side, side, map.to_vec())).collect();
    ShownMaps { target, step, tokens, picture, examples: 0, layers, heads, thumbnails }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headroom_engine::protocol::Command;

    fn of(example: usize) -> MapsOf {
        let target = Target::Run { run: "000000000a".parse().unwrap(), which: Which::Best };
        MapsOf { target, data: None, text: MapText::Example(example) }
    }

    fn asked(state: &mut MapsState) -> Vec<Command> {
        state.take_requests().into_iter().map(|request| request.command).collect()
    }

    #[test]
    fn small_maps_of_a_decoder_are_empty_where_it_does_not_look() {
        let of = |values: Vec<f32>| {
            let small = MapThumbnails { layers: 1, heads: 2, side: 2, values };
            shown(String::new(), None, (Vec::new(), None), &small).thumbnails
        };
        let off = [f32::NAN; 4];
        let causal = of([[1.0, 0.0, 0.5, 0.5], off].concat());
        assert!(causal[0].at(0, 1).is_nan() && causal[0].at(1, 0) == 0.5 && causal[0].at(0, 0) == 1.0);
        // One map that looks ahead: the model does.
        let both = of([[1.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 1.0]].concat());
        assert_eq!((both[0].at(0, 1), both[1].at(1, 0)), (0.0, 0.0));
    }

    fn answer(state: &mut MapsState, view: u64) {
        let thumbnails = Box::new(MapThumbnails { layers: 1, heads: 2, side: 2, values: vec![0.5; 8] });
        let tokens = ["a", "b"].map(str::to_owned).to_vec();
        state.apply(Event::Maps(events::Maps {
            view,
            target: "a run".to_owned(),
            step: Some(3),
            tokens,
            picture: None,
            examples: 0,
            thumbnails,
        }));
    }

    #[test]
    fn another_best_or_newest_checkpoint_is_looked_at_anew() {
        let run: RunId = "000000000a".parse().unwrap();
        let mut state = MapsState::default();
        let known = |state: &mut MapsState, which| {
            let target = Target::Run { run: run.clone(), which };
            let known = state.maps(&MapsOf { target, ..of(0) }).is_some();
            for command in asked(state) {
                if let Command::LoadMaps(commands::LoadMaps { view, .. }) = command {
                    answer(state, view);
                }
            }
            known
        };
        let all = [Which::Best, Which::Last, Which::Step(5)];
        assert_eq!(all.map(|which| known(&mut state, which)), [false; 3]);
        state.checkpointed(&"000000000b".parse().unwrap(), true);
        assert_eq!(all.map(|which| known(&mut state, which)), [true; 3]);
        state.checkpointed(&run, false);
        assert_eq!(all.map(|which| known(&mut state, which)), [true, false, true]);
        state.checkpointed(&run, true);
        assert_eq!(all.map(|which| known(&mut state, which)), [false, false, true]);
    }

    #[test]
    fn views_and_maps_are_asked_for_once_and_few_are_kept() {
        let mut state = MapsState::default();
        assert!(state.maps(&of(0)).is_none() && state.maps(&of(0)).is_none());
        assert!(state.map(&of(0), HeadAt::new(0, 1)).is_none(), "not before the view is there");
        assert!(matches!(&asked(&mut state)[..], [Command::LoadMaps(commands::LoadMaps { view: 1, .. })]));
        answer(&mut state, 1);
        assert_eq!(state.maps(&of(0)).unwrap().unwrap().thumbnails.len(), 2);
        let head = HeadAt::new(0, 1);
        assert!(state.map(&of(0), head).is_none() && state.map(&of(0), head).is_none());
        assert!(matches!(&asked(&mut state)[..], [Command::LoadMap(commands::LoadMap { view: 1, layer: 0, head: 1 })]));
        state.apply(Event::Map(events::Map { view: 1, layer: 0, head: 1, values: vec![1.0, 0.0, 0.5, 0.5] }));
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
        assert!(
            state.rebuilt(&of(0), &wanted(1)).is_none() && asked(&mut state).is_empty(),
            "not before the view is there"
        );
        assert!(state.maps(&of(0)).is_none());
        answer(&mut state, 1);
        asked(&mut state);
        for k in [1, 2, 3] {
            assert!(state.rebuilt(&of(0), &wanted(k)).is_none());
        }
        assert!(
            matches!(&asked(&mut state)[..], [Command::RebuildMap(commands::RebuildMap { view: 1, rebuild })] if rebuild.k == 1)
        );
        let rebuilt = |k| {
            Some(Box::new(headroom_engine::analysis::reconstruction::RebuiltMap {
                tokens: 1,
                k,
                scores: vec![2.0],
                rebuilt_scores: vec![1.5],
                ..Default::default()
            }))
        };
        state.apply(Event::Rebuilt(events::Rebuilt { view: 1, rebuild: wanted(1), rebuilt: rebuilt(1), why: None }));
        let shown = state.rebuilt(&of(0), &wanted(3)).unwrap().unwrap();
        assert_eq!((shown.k, shown.scores[2].at(0, 0)), (1, -0.5), "the last one stays until the next comes");
        assert!(
            matches!(&asked(&mut state)[..], [Command::RebuildMap(commands::RebuildMap { rebuild, .. })] if rebuild.k == 3)
        );
        state.apply(Event::Rebuilt(events::Rebuilt { view: 1, rebuild: wanted(3), rebuilt: rebuilt(3), why: None }));
        assert_eq!(state.rebuilt(&of(0), &wanted(3)).unwrap().unwrap().k, 3);
        assert!(asked(&mut state).is_empty());
        let other = Rebuild { head: 0, ..wanted(3) };
        assert!(state.rebuilt(&of(0), &other).is_none(), "another head's map is not shown for it");
        let why = Some("It has no scores.".to_owned());
        state.apply(Event::Rebuilt(events::Rebuilt { view: 1, rebuild: other.clone(), rebuilt: None, why }));
        assert_eq!(state.rebuilt(&of(0), &other).unwrap().unwrap_err(), "It has no scores.");
        asked(&mut state);
        state.rebuild_again(&of(0));
        assert!(state.rebuilt(&of(0), &other).is_none() && asked(&mut state).len() == 1);
    }

    #[test]
    fn a_view_that_cannot_be_opened_says_why_and_can_be_asked_for_again() {
        let mut state = MapsState::default();
        assert!(state.maps(&of(0)).is_none() && state.maps(&of(1)).is_none());
        let tickets: Vec<Ticket> = state.take_requests().into_iter().map(|request| request.ticket).collect();
        assert!(!state.fail(Ticket::new(), "The maps of a run cannot be shown."), "somebody else's");
        assert!(state.maps(&of(0)).is_none());
        assert!(state.fail(tickets[0], "It has no checkpoint.") && state.maps(&of(1)).is_none());
        assert!(state.maps(&of(0)).unwrap().unwrap_err().contains("no checkpoint"));
        state.again(&of(0));
        assert!(state.maps(&of(0)).is_none());
        assert_eq!(asked(&mut state).len(), 1);
    }
}
