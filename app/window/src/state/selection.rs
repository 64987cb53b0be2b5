use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use headroom_engine::store::{RunId, RunSummary};

use super::Styles;
use crate::theme::LineStyle;

/// Which runs every panel shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Runs whose eye is open.
    pub visible: BTreeSet<RunId>,
    /// The run in the inspector.
    pub focused: Option<RunId>,
    /// The run of the panel that is open, which the inspector shows where none is focused.
    pub beside: Option<RunId>,
    /// How many rows of the table of runs are selected together.
    pub together: usize,
    /// The model directory that panels of analyses show, and the run that was focused when it was chosen.
    directory: Option<(PathBuf, Option<RunId>)>,
    /// The pinned baseline.
    pub baseline: Option<RunId>,
    /// The run that Live stays at; none: it follows what trains.
    pub live: Option<RunId>,
    /// The run that Live followed to its end, and the run that was focused then.
    followed: Option<(RunId, Option<RunId>)>,
    /// The run under the mouse, in whichever chart or table. Set anew every frame: the window clears it before it draws
    /// and panels read [`Selection::hovered_before`].
    pub hovered: Option<RunId>,
    /// The run that was under the mouse in the frame before.
    pub hovered_before: Option<RunId>,
    /// Colours and dashes of the runs that are shown.
    pub styles: Styles<RunId>,
    /// The first run of the group that a run is drawn in, as long as runs are drawn together.
    grouped: BTreeMap<RunId, RunId>,
    /// Colours and dashes of the groups, by their first runs: a few groups of many runs need few of them.
    group_styles: Styles<RunId>,
    /// The tag whose runs alone are shown, and what is shown because of it.
    held: Option<(String, BTreeSet<RunId>)>,
    /// The runs that the styles were last given out among, and the baseline then.
    styled: (BTreeSet<RunId>, Option<RunId>),
}

impl Selection {
    /// The model directory that panels of analyses show; none: the focused run. A run that is focused after a directory
    /// was chosen takes its place.
    pub fn directory(&self) -> Option<&Path> {
        let (path, focused) = self.directory.as_ref()?;
        (*focused == self.focused).then_some(path)
    }

    /// Panels of analyses show the model of this directory; none: the focused run.
    pub fn set_directory(&mut self, path: Option<PathBuf>) {
        self.directory = path.map(|path| (path, self.focused.clone()));
    }

    /// The run that Live followed to its end, as long as no other is chosen.
    pub fn followed(&self) -> Option<&RunId> {
        let (run, focused) = self.followed.as_ref()?;
        (*focused == self.focused).then_some(run)
    }

    /// What trained has ended: Live stays with it.
    pub(super) fn stay_with(&mut self, run: RunId) {
        self.followed = Some((run, self.focused.clone()));
    }

    /// Opens or closes a run's eye.
    pub fn toggle_visible(&mut self, run: &RunId) {
        if !self.visible.remove(run) {
            self.visible.insert(run.clone());
        }
    }

    /// Pins a run as the baseline, or unpins it.
    pub fn toggle_baseline(&mut self, run: &RunId) {
        self.baseline = if self.baseline.as_ref() == Some(run) { None } else { Some(run.clone()) };
    }

    /// A run is put away: its eye is closed. The tag whose runs alone are shown stays the one.
    pub fn put_away(&mut self, run: &RunId) {
        self.visible.remove(run);
        if let Some((_, shown)) = &mut self.held {
            shown.remove(run);
        }
    }

    /// Whether a run's eye is open.
    pub fn is_visible(&self, run: &RunId) -> bool {
        self.visible.contains(run)
    }

    /// How the run is drawn wherever it is shown: as the first one of its group, where Compare draws it in one. The baseline and
    /// its group always look the same, and a hidden run looks like none that is shown.
    pub fn style_of(&self, run: &RunId) -> LineStyle {
        let of_baseline = self.baseline.as_ref().and_then(|run| self.grouped.get(run));
        match self.grouped.get(run) {
            Some(first) if Some(first) == of_baseline => LineStyle::BASELINE,
            Some(first) => self.group_styles.style_of(first),
            None if self.grouped.is_empty() || self.baseline.as_ref() == Some(run) => self.style_alone(run),
            None => self.group_styles.style_of(run),
        }
    }

    /// How the run is drawn beside others of its group. The baseline always looks the same.
    pub fn style_alone(&self, run: &RunId) -> LineStyle {
        if self.baseline.as_ref() == Some(run) { LineStyle::BASELINE } else { self.styles.style_of(run) }
    }

    /// These runs are drawn together from now on, each as the first one of its group; nothing where every run is drawn by itself.
    pub fn draw_together(&mut self, groups: BTreeMap<RunId, RunId>) {
        // A group of one looks as its run does, unless there are others beside it. Groups find their places again when they come back.
        if groups.iter().all(|(run, first)| run == first) {
            self.grouped.clear();
            return;
        }
        let of_baseline = self.baseline.as_ref().and_then(|run| groups.get(run));
        let firsts: BTreeSet<&RunId> = groups.values().filter(|first| Some(*first) != of_baseline).collect();
        self.group_styles.assign(firsts);
        self.grouped = groups;
    }

    /// Only these runs are shown from now on.
    pub fn show_only(&mut self, runs: impl IntoIterator<Item = RunId>) {
        self.visible = runs.into_iter().collect();
    }

    /// The runs of a tag alone are shown, those too that come with it later, until something else is shown or hidden.
    pub fn hold(&mut self, tag: String, runs: impl IntoIterator<Item = RunId>) {
        self.show_only(runs);
        self.held = Some((tag, self.visible.clone()));
    }

    /// The tag whose runs alone are shown.
    pub fn held_tag(&self) -> Option<&str> {
        let (tag, shown) = self.held.as_ref()?;
        (*shown == self.visible).then_some(tag)
    }

    /// A run begins, with these tags: it is shown, unless the runs of another tag alone are. Whether it is.
    pub(super) fn show_begun(&mut self, run: &RunId, tags: &[String]) -> bool {
        if let Some(tag) = self.held_tag()
            && !tags.iter().any(|own| own == tag)
        {
            return self.is_visible(run);
        }
        let is_held = self.held_tag().is_some();
        self.visible.insert(run.clone());
        if is_held && let Some((_, shown)) = &mut self.held {
            shown.insert(run.clone());
        }
        true
    }

    /// Gives colours and dashes to runs that are newly shown, the oldest first. One that is pinned when it is first shown takes
    /// none from the others.
    pub(super) fn give_styles(&mut self, runs: &[RunSummary]) {
        if (&self.styled.0, &self.styled.1) == (&self.visible, &self.baseline) || runs.is_empty() {
            return;
        }
        let known: Vec<&RunId> = self.visible.iter().filter(|run| self.styles.has(run)).collect();
        let is_new = |run: &&RunSummary| {
            self.visible.contains(&run.id) && !self.styles.has(&run.id) && self.baseline.as_ref() != Some(&run.id)
        };
        let mut new: Vec<&RunSummary> = runs.iter().filter(is_new).collect();
        new.sort_by_key(|run| run.number);
        let shown: Vec<RunId> = known.into_iter().chain(new.into_iter().map(|run| &run.id)).cloned().collect();
        self.styles.assign(&shown);
        // A run that was queued and is not in the list yet gets its style once it is.
        let listed = |run: &&RunId| self.styles.has(run) || runs.iter().any(|known| known.id == **run);
        self.styled = (self.visible.iter().filter(listed).cloned().collect(), self.baseline.clone());
    }

    /// What was hovered in the last frame moves to `hovered_before`.
    pub fn begin_frame(&mut self) {
        self.hovered_before = self.hovered.take();
    }

    /// Forgets runs that are no more.
    pub fn retain(&mut self, exists: impl Fn(&RunId) -> bool) {
        self.visible.retain(|run| exists(run));
        if let Some((_, shown)) = &mut self.held {
            shown.retain(|run| exists(run));
        }
        let Self { focused, beside, baseline, live, hovered, hovered_before, .. } = self;
        for slot in [focused, beside, baseline, live, hovered, hovered_before] {
            if slot.as_ref().is_some_and(|run| !exists(run)) {
                *slot = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn colours_are_given_out_among_what_is_shown_and_the_baseline_has_its_own() {
        let runs: Vec<RunSummary> = (0..400).rev().map(|number| examples::summary(number, "run")).collect();
        let id = |number: u64| examples::summary(number, "").id;
        let mut selection = Selection::default();
        selection.show_only([id(312), id(24), id(6)]);
        selection.give_styles(&runs);
        let places = |selection: &Selection, numbers: &[u64]| -> Vec<Option<usize>> {
            let place = |style| (0..24).find(|&place| LineStyle::of_place(place) == style);
            numbers.iter().map(|&number| place(selection.style_of(&id(number)))).collect()
        };
        assert_eq!(places(&selection, &[6, 24, 312]), [Some(0), Some(1), Some(2)], "the oldest first");
        // More runs change nothing of the others, whichever are older.
        selection.visible.extend([id(0), id(399)]);
        selection.give_styles(&runs);
        assert_eq!(places(&selection, &[6, 24, 312, 0, 399]), [0, 1, 2, 3, 4].map(Some));
        // Pinned it looks as every baseline does, and unpinned as before.
        selection.toggle_baseline(&id(24));
        selection.give_styles(&runs);
        assert_eq!(selection.style_of(&id(24)), LineStyle::BASELINE);
        selection.toggle_baseline(&id(24));
        assert_eq!(places(&selection, &[24]), [Some(1)]);
        // Hidden, it leaves its place to the next one that is shown.
        selection.toggle_visible(&id(24));
        selection.give_styles(&runs);
        assert_eq!(places(&selection, &[6, 312, 0, 399]), [0, 2, 3, 4].map(Some));
        selection.baseline = Some(id(100));
        selection.visible.extend([id(100), id(200)]);
        selection.give_styles(&runs);
        assert_eq!(selection.style_of(&id(100)), LineStyle::BASELINE);
        assert_eq!(places(&selection, &[200]), [Some(1)], "the baseline takes no colour from the others");
        selection.baseline = None;
        selection.give_styles(&runs);
        assert_eq!(places(&selection, &[100, 200]), [Some(5), Some(1)]);
    }

    #[test]
    fn where_the_runs_of_a_tag_alone_are_shown_others_that_begin_stay_away() {
        let id = |number: u64| examples::summary(number, "").id;
        let tag = |tag: &str| [tag.to_owned()];
        let mut selection = Selection::default();
        assert!(selection.show_begun(&id(1), &[]));
        selection.hold("race 1".to_owned(), [id(2), id(3)]);
        assert!(!selection.show_begun(&id(4), &tag("race 2")) && !selection.is_visible(&id(4)));
        assert!(selection.show_begun(&id(5), &tag("race 1")), "the race goes on");
        assert_eq!(selection.held_tag(), Some("race 1"));
        selection.retain(|run| *run != id(3));
        assert_eq!(selection.held_tag(), Some("race 1"));
        // The user shows one beside them: from then on all that begin are.
        selection.toggle_visible(&id(1));
        assert_eq!(selection.held_tag(), None);
        assert!(selection.show_begun(&id(4), &tag("race 2")) && selection.is_visible(&id(4)));
    }

    #[test]
    fn a_run_that_is_put_away_is_shown_no_longer_and_those_of_its_tag_still_are() {
        let id = |number: u64| examples::summary(number, "").id;
        let mut selection = Selection::default();
        selection.hold("race 1".to_owned(), [id(2), id(3)]);
        selection.put_away(&id(3));
        assert!(!selection.is_visible(&id(3)) && selection.is_visible(&id(2)));
        assert_eq!(selection.held_tag(), Some("race 1"));
        // Of one that is not shown nothing changes.
        selection.put_away(&id(3));
        assert_eq!(selection.visible, BTreeSet::from([id(2)]));
    }

    #[test]
    fn runs_that_are_drawn_together_look_alike_everywhere() {
        let runs: Vec<RunSummary> = (0..6).map(|number| examples::summary(number, "run")).collect();
        let ids: Vec<RunId> = runs.iter().map(|run| run.id.clone()).collect();
        let mut selection = Selection::default();
        selection.show_only(ids.clone());
        selection.give_styles(&runs);
        let pairs: BTreeMap<RunId, RunId> = (0..6).map(|at| (ids[at].clone(), ids[at - at % 2].clone())).collect();
        selection.draw_together(pairs);
        let place = LineStyle::of_place;
        let styles =
            |selection: &Selection| -> Vec<LineStyle> { ids.iter().map(|run| selection.style_of(run)).collect() };
        assert_eq!(styles(&selection), [0, 0, 1, 1, 2, 2].map(place), "three groups need no more than three");
        selection.baseline = Some(ids[3].clone());
        let slate = LineStyle::BASELINE;
        assert_eq!(
            styles(&selection),
            [place(0), place(0), slate, slate, place(2), place(2)],
            "the others keep theirs"
        );
        selection.baseline = None;
        selection.draw_together(BTreeMap::new());
        assert_eq!(styles(&selection), [0, 1, 2, 3, 4, 5].map(place));
        selection.draw_together(ids.iter().map(|run| (run.clone(), run.clone())).collect());
        assert_eq!(styles(&selection), [0, 1, 2, 3, 4, 5].map(place), "a run each is no group");
    }

    #[test]
    fn a_hidden_run_looks_like_no_group_that_is_shown() {
        let runs: Vec<RunSummary> = (0..8).map(|number| examples::summary(number, "run")).collect();
        let ids: Vec<RunId> = runs.iter().map(|run| run.id.clone()).collect();
        let mut selection = Selection::default();
        selection.show_only(ids.iter().skip(1).cloned());
        selection.give_styles(&runs);
        // A race of seven runs: two groups of the first two colours.
        let groups = (1..8).map(|at| (ids[at].clone(), ids[if at < 4 { 1 } else { 4 }].clone())).collect();
        selection.draw_together(groups);
        let colours = |at: &[usize]| -> BTreeSet<[u8; 4]> {
            at.iter().map(|&at| selection.style_of(&ids[at]).colour.to_array()).collect()
        };
        assert_eq!((colours(&[1, 2, 3, 4, 5, 6, 7]).len(), colours(&[0, 1, 4]).len()), (2, 3));
    }

    #[test]
    fn live_stays_with_what_it_followed_until_another_run_is_chosen() {
        let run: RunId = "000000000a".parse().unwrap();
        let mut selection = Selection::default();
        assert_eq!(selection.followed(), None);
        selection.stay_with(run.clone());
        assert_eq!(selection.followed(), Some(&run));
        selection.focused = Some("000000000b".parse().unwrap());
        assert_eq!(selection.followed(), None);
    }

    #[test]
    fn a_directory_is_shown_until_a_run_is_chosen() {
        let mut selection = Selection::default();
        assert_eq!(selection.directory(), None);
        selection.set_directory(Some(PathBuf::from("/models/a")));
        assert_eq!(selection.directory(), Some(Path::new("/models/a")));
        selection.focused = Some("000000000a".parse().unwrap());
        assert_eq!(selection.directory(), None, "the run was chosen later");
        selection.set_directory(Some(PathBuf::from("/models/b")));
        assert_eq!(selection.directory(), Some(Path::new("/models/b")));
        selection.set_directory(None);
        assert_eq!(selection.directory(), None);
    }
}
