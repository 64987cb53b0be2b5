//! The palette: every action of the window by name, found by a few letters.

use headroom_engine::{
    config::presets,
    store::{RunId, RunSummary},
};

use super::handbook::PAGES;
use crate::{
    common::{RunOperation, offered},
    context::{PanelId, PanelInfo, panel_key},
    keys::Pressed,
    settings::ThemeChoice,
    state::State,
};

/// What an entry of the palette does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaletteAction {
    /// Does what a key does.
    Press(Pressed),
    /// Opens a panel.
    Open(PanelId),
    /// Puts a preset into Configure.
    Preset(&'static str),
    /// Opens the help at a page of the handbook, and at one of its sections.
    Help(usize, Option<String>),
    /// Shows a run in the inspector.
    Inspect(RunId),
    /// Sets up a race or sweep of the draft in Configure.
    SetUpRace,
    /// Pauses the current run.
    Pause,
    /// Continues the paused run.
    Resume,
    /// Stops the current run.
    Stop,
    /// Writes a checkpoint of the current run.
    Checkpoint,
    /// Does something with a run.
    Operate(RunOperation, RunId),
    /// Exports a checkpoint of a run.
    ExportCheckpoint(RunId),
    /// Exports a run as JSON.
    ExportRun(RunId),
    /// Light or dark.
    Theme(ThemeChoice),
    /// Opens or closes the log of messages.
    Log,
    /// Lists what was deleted, to remove it for good.
    Purge,
    /// Size of everything, times this in percent; 0 = the usual size.
    Zoom(u32),
}

/// One line of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it does, as an order.
    pub label: String,
    /// More about it: the key, the state of a run.
    pub detail: String,
    /// What happens.
    pub does: PaletteAction,
}

impl Entry {
    fn new(label: impl Into<String>, detail: impl Into<String>, does: PaletteAction) -> Self {
        Self { label: label.into(), detail: detail.into(), does }
    }
}

const IN_INSPECTOR: &str = "The run in the inspector";

/// The run that the inspector shows.
fn inspected(state: &State) -> Option<&RunSummary> {
    let focused = state.selection.focused.as_ref().and_then(|run| state.run(run));
    focused.or_else(|| state.selection.beside.as_ref().and_then(|run| state.run(run)))
}

/// Every entry that makes sense now.
pub fn entries(state: &State, panels: &[PanelInfo]) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    if let Some(current) = &state.current {
        let name = &current.name;
        if current.is_paused {
            all.push(Entry::new("Resume the current run", name, PaletteAction::Resume));
        } else {
            all.push(Entry::new("Pause the current run", name, PaletteAction::Pause));
        }
        all.push(Entry::new("Stop the current run", name, PaletteAction::Stop));
        all.push(Entry::new("Write a checkpoint now", name, PaletteAction::Checkpoint));
    }
    let inspected = inspected(state);
    if let Some(run) = inspected {
        let (name, is_baseline) = (state.run_name(&run.id), state.selection.baseline.as_ref() == Some(&run.id));
        for operation in offered(run) {
            let label = format!("{}: {name}", operation.label(run, is_baseline).trim_end_matches('…'));
            let does = PaletteAction::Operate(operation, run.id.clone());
            all.push(Entry::new(label, IN_INSPECTOR, does));
        }
        if state.checkpoints.get(&run.id).is_some_and(|kept| !kept.is_empty()) {
            let does = PaletteAction::ExportCheckpoint(run.id.clone());
            all.push(Entry::new(format!("Export a checkpoint: {name}"), IN_INSPECTOR, does));
        }
        let does = PaletteAction::ExportRun(run.id.clone());
        all.push(Entry::new(format!("Export as JSON: {name}"), IN_INSPECTOR, does));
    }
    all.push(Entry::new("Start the configured run", "Ctrl+Enter", PaletteAction::Press(Pressed::Start)));
    all.push(Entry::new("Race or sweep the current config", "Baseline and variants", PaletteAction::SetUpRace));
    for (place, panel) in panels.iter().enumerate() {
        let key = panel_key(place).map_or_else(String::new, |key| format!("   {key}"));
        let detail = format!("{}{key}", panel.about);
        all.push(Entry::new(format!("Open {}", panel.label), detail, PaletteAction::Open(panel.id)));
    }
    for preset in presets() {
        all.push(Entry::new(format!("Set up {}", preset.name), "Preset", PaletteAction::Preset(preset.name)));
    }
    all.extend([
        Entry::new("Undo", "Ctrl+Z", PaletteAction::Press(Pressed::Undo)),
        Entry::new("Redo", "Ctrl+Shift+Z", PaletteAction::Press(Pressed::Redo)),
        Entry::new("Export what is shown", "Ctrl+E", PaletteAction::Press(Pressed::Export)),
        Entry::new("Filter", "/", PaletteAction::Press(Pressed::Filter)),
        Entry::new("Show all messages", "", PaletteAction::Log),
        Entry::new("Convert a model", "Models", PaletteAction::Open(PanelId::MODELS)),
        Entry::new("Purge deleted runs", "Lists what would be removed, and asks first", PaletteAction::Purge),
        Entry::new("Show or hide the inspector", "]", PaletteAction::Press(Pressed::Inspector)),
        Entry::new("Show or hide the rail", "[", PaletteAction::Press(Pressed::Rail)),
        Entry::new("Full screen and back", "F11", PaletteAction::Press(Pressed::FullScreen)),
        Entry::new("Keys and help", "?", PaletteAction::Press(Pressed::Help)),
        Entry::new("Larger", "Ctrl++", PaletteAction::Zoom(110)),
        Entry::new("Smaller", "Ctrl+-", PaletteAction::Zoom(91)),
        Entry::new("Reset size", "Ctrl+0", PaletteAction::Zoom(0)),
    ]);
    for theme in ThemeChoice::ALL {
        all.push(Entry::new(format!("Theme: {}", theme.label().to_lowercase()), "", PaletteAction::Theme(theme)));
    }
    for (place, page) in PAGES.iter().enumerate() {
        let title = page.title();
        all.push(Entry::new(format!("Help: {title}"), "Handbook", PaletteAction::Help(place, None)));
        for section in page.sections() {
            let label = format!("Help: {section}");
            all.push(Entry::new(label, title, PaletteAction::Help(place, Some(section))));
        }
    }
    for run in &state.runs {
        let name = state.run_name(&run.id);
        let detail = format!("seed {}, {}", run.seed, run.state);
        all.push(Entry::new(format!("Run {name}"), detail, PaletteAction::Inspect(run.id.clone())));
        let is_here = [state.current.as_ref().map(|current| &current.run), inspected.map(|run| &run.id)];
        if run.is_worth_resuming() && !is_here.contains(&Some(&run.id)) {
            let does = PaletteAction::Operate(RunOperation::Resume, run.id.clone());
            all.push(Entry::new(format!("Resume training: {name}"), run.state.to_string(), does));
        }
    }
    all
}

/// The entries that fit a query, best first, those of the help after others as good; all of them, in their order, for an empty one.
pub fn matching<'a>(entries: &'a [Entry], query: &str) -> Vec<&'a Entry> {
    let mut found: Vec<(i32, &Entry)> = entries
        .iter()
        .filter_map(|entry| {
            // A hit in the label is worth more than one in the detail.
            let label = score(query, &entry.label).map(|score| score * 2);
            let both = score(query, &format!("{} {}", entry.label, entry.detail));
            // An action is wanted more often than what the handbook says of it.
            let less = if matches!(entry.does, PaletteAction::Help(..)) { 12 } else { 0 };
            label.max(both).map(|score| (score - less, entry))
        })
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// How well a text fits a query; none if it does not: every word of the query must be found, its letters in order.
///
/// Letters in a row, at the start of a word and near the start of the text count more.
pub fn score(query: &str, text: &str) -> Option<i32> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    query.to_lowercase().split_whitespace().map(|word| word_score(word, &text)).sum()
}

/// The best of all places where the word may begin.
fn word_score(word: &str, text: &[char]) -> Option<i32> {
    let letters: Vec<char> = word.chars().collect();
    let first = letters.first()?;
    let starts = text.iter().enumerate().filter(|(_, letter)| *letter == first).map(|(at, _)| at);
    starts.filter_map(|start| score_from(&letters, text, start)).max()
}

fn score_from(letters: &[char], text: &[char], start: usize) -> Option<i32> {
    let mut total = -(start.min(12) as i32) / 4;
    let mut at = start;
    let mut previous = None;
    for letter in letters {
        at = (at..text.len()).find(|&i| text.get(i) == Some(letter))?;
        let starts_word = at == 0 || text.get(at - 1).is_none_or(|before| !before.is_alphanumeric());
        let follows = previous.is_some_and(|previous: usize| previous + 1 == at);
        total += 1 + i32::from(starts_word) * 6 + i32::from(follows) * 5;
        if let Some(previous) = previous {
            total -= ((at - previous - 1).min(10)) as i32;
        }
        previous = Some(at);
        at += 1;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::RunState;

    use super::*;
    use crate::{context::PanelGroup, examples};

    #[test]
    fn letters_must_come_in_order_and_every_word_counts() {
        assert!(score("opl", "Open Live").is_some());
        assert!(score("live open", "Open Live").is_some());
        assert_eq!(score("lpo", "Open Live"), None);
        assert_eq!(score("open runs", "Open Live"), None);
        assert_eq!(score("", "anything"), Some(0));
    }

    #[test]
    fn whole_words_beat_scattered_letters() {
        let whole = score("live", "Open Live").unwrap();
        assert!(whole > score("live", "Let it vary everywhere").unwrap());
        assert!(score("gd", "grammar-decoder").unwrap() > score("gd", "aggregated").unwrap());
    }

    const LIVE: PanelInfo = PanelInfo {
        id: PanelId::LIVE,
        label: "Live",
        about: "Watch the run that is training",
        group: PanelGroup::Watch,
        icon: &[],
        has_inspector: true,
    };

    #[test]
    fn the_best_entry_comes_first_and_an_empty_query_keeps_the_order() {
        let state = State::default();
        let all = entries(&state, &[LIVE]);
        assert_eq!(matching(&all, "").len(), all.len());
        assert_eq!(matching(&all, "")[0], &all[0]);
        assert_eq!(matching(&all, "live")[0].does, PaletteAction::Open(PanelId::LIVE));
        assert_eq!(matching(&all, "grammar enc")[0].does, PaletteAction::Preset("grammar-encoder"));
        assert_eq!(matching(&all, "dark")[0].does, PaletteAction::Theme(ThemeChoice::Dark));
        assert!(matching(&all, "qqqq").is_empty());
    }

    #[test]
    fn what_can_be_done_with_the_run_in_the_inspector_is_found_by_its_words() {
        let mut state = State::default();
        state.runs = vec![examples::summary(1, "first"), examples::summary(2, "second")];
        (state.runs[0].state, state.runs[1].state) = (RunState::Stopped, RunState::Finished);
        assert!(matching(&entries(&state, &[]), "delete: ").is_empty(), "no run is in the inspector");
        let resume = matching(&entries(&state, &[]), "resume").first().map(|entry| entry.does.clone());
        let [first, second] = [0, 1].map(|at: usize| state.runs[at].id.clone());
        assert_eq!(resume, Some(PaletteAction::Operate(RunOperation::Resume, first.clone())));
        for (run, operation, query) in [
            (&second, RunOperation::Pin, "pin baseline"),
            (&second, RunOperation::NextSeed, "next seed"),
            (&second, RunOperation::Delete, "delete"),
            (&first, RunOperation::Resume, "resume"),
        ] {
            state.selection.focused = Some(run.clone());
            let all = entries(&state, &[]);
            assert_eq!(matching(&all, query)[0].does, PaletteAction::Operate(operation, run.clone()), "{query}");
            assert_eq!(matching(&all, "export json")[0].does, PaletteAction::ExportRun(run.clone()));
            let resumes = |entry: &&Entry| matches!(entry.does, PaletteAction::Operate(RunOperation::Resume, _));
            assert_eq!(all.iter().filter(resumes).count(), 1, "told once");
        }
    }

    #[test]
    fn where_no_run_is_focused_the_one_of_the_open_panel_is_in_the_inspector() {
        let mut state = State::default();
        state.runs = vec![examples::summary(1, "first"), examples::summary(2, "second")];
        let [first, second] = [0, 1].map(|at: usize| state.runs[at].id.clone());
        let repeated = |state: &State| {
            let all = entries(state, &[]);
            matching(&all, "repeat this").first().map(|entry| entry.does.clone())
        };
        let repeats = |run: &RunId| Some(PaletteAction::Operate(RunOperation::Repeat, run.clone()));
        state.selection.beside = Some(first.clone());
        assert_eq!(repeated(&state), repeats(&first));
        state.selection.focused = Some(second.clone());
        assert_eq!(repeated(&state), repeats(&second));
    }
}
