//! The list from which a run is chosen, wherever there is one: a field that searches it, then the runs that charts show, then
//! the others; both as Runs is sorted, or the newest first.

use std::sync::Arc;

use egui::{ComboBox, FontId, PopupCloseBehavior, Response, RichText, TextEdit, TextStyle, Ui, mutex::Mutex};
use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
};

use super::runs::{Column, Order, Wish, chosen_sorting, column_words, fingerprint, pinned_columns};
use crate::{
    context::PanelContext,
    theme,
    widgets::{elided, entered, moved_by_arrows},
};

/// Runs in the list at most; the search finds the others.
const MOST: usize = 60;
/// Width of a name in the list, in points.
const NAME: f32 = 340.0;
/// Room that a drop-down list needs beside its text: the arrow and the edges.
const BESIDE: f32 = 44.0;

/// Width of the list of the run that a panel shows, in points.
pub const PICKER: f32 = 220.0;

/// What was typed into an open list and what it finds.
#[derive(Default)]
struct Search {
    text: String,
    order: Order,
    /// The pinned columns of Runs.
    pinned: Vec<Column>,
    /// By which column Runs is sorted, and whether the largest come first.
    sorting: Option<(Column, bool)>,
    /// The line that Enter takes: the first that is found, or where the arrow keys moved it.
    marked: Option<usize>,
    /// Lines of the frame before.
    lines: usize,
    /// When it was drawn last: a list that was closed meanwhile begins anew.
    pass: u64,
}

type Kept = Arc<Mutex<Search>>;

/// A drop-down list of this width with runs in it, which stays open while its search field is used.
pub fn run_combo(salt: &str, width: f32) -> ComboBox<'static> {
    ComboBox::from_id_salt(salt).width(width).height(380.0).close_behavior(PopupCloseBehavior::CloseOnClickOutside)
}

/// The name of a run as a drop-down list of this width shows it.
pub fn chosen_name(ui: &Ui, name: &str, width: f32, cx: &PanelContext<'_>) -> String {
    let font = TextStyle::Button.resolve(ui.style());
    elided(ui, name, cx.state.run_names(), &font, width - BESIDE).unwrap_or_else(|| name.to_owned())
}

/// The whole name for screen readers and on hover, however little of it the list shows.
pub fn name_combo(combo: Response, list: &str, (chosen, whole): (&str, &str)) {
    combo.ctx.accesskit_node_builder(combo.id, |node| node.set_value(chosen));
    combo.on_hover_text(whole).accessible_name(list);
}

/// The list of the run that a panel shows; the one that was chosen in it.
pub fn run_list_ui(ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) -> Option<RunId> {
    let mut chosen = None;
    let name = cx.state.run_name(&run.id);
    let combo = run_combo("live run", PICKER).selected_text(chosen_name(ui, &name, PICKER, cx)).truncate();
    let combo = combo.show_ui(ui, |ui| chosen = run_choices_ui(ui, Some(&run.id), |_| true, cx));
    name_combo(combo.response, "Run", (&name, &name));
    chosen
}

/// The lines of a list of runs, of those alone that fit: the one that was clicked or taken by Enter, which closes the list.
pub fn run_choices_ui(
    ui: &mut Ui,
    chosen: Option<&RunId>,
    fits: impl Fn(&RunSummary) -> bool,
    cx: &mut PanelContext<'_>,
) -> Option<RunId> {
    let id = ui.scope_id().with("search runs");
    let kept = ui.data_mut(|data| data.get_temp_mut_or_default::<Kept>(id).clone());
    let mut search = kept.lock();
    let pass = ui.ctx().cumulative_pass_nr();
    let was_closed = search.pass + 1 < pass;
    if was_closed {
        let (pinned, sorting) = (pinned_columns(cx.settings), chosen_sorting(cx.settings, &cx.state.runs));
        *search = Search { pinned, sorting, ..Search::default() };
    }
    search.pass = pass;
    let moved = moved_by_arrows(ui.ctx(), search.marked, search.lines);
    search.marked = moved.or(search.marked);
    let is_entered = search_ui(ui, &mut search, was_closed, cx);
    let palette = theme::palette(ui.visuals());
    let typed = search.text.trim().to_lowercase();
    // What tells a run from others of its name belongs to what it is called.
    let is_called = |run: &RunSummary| cx.state.run_name(&run.id).to_lowercase().contains(&typed);
    let called = cx.state.runs.iter().filter(|run| {
        let is_missing = !typed.is_empty() && !search.order.is_shown(run.number);
        is_missing && is_called(run)
    });
    let found = search.order.indices().iter().filter_map(|&index| cx.state.runs.get(index)).chain(called);
    let found = found.filter(|run| fits(run));
    // What charts show stands before the rest, and a run whose whole name was typed before all.
    let is_named = |run: &RunSummary| {
        let is_whole = |name: &str| name.to_lowercase() == typed;
        !typed.is_empty() && (is_whole(&run.name) || is_whole(&cx.state.run_name(&run.id)))
    };
    let (mut shown, others): (Vec<&RunSummary>, Vec<&RunSummary>) =
        found.partition(|run| cx.state.selection.is_visible(&run.id) || is_named(run));
    shown.sort_by_key(|run| !is_named(run));
    let all = shown.len() + others.len();
    let font = TextStyle::Button.resolve(ui.style());
    let pinned = search.pinned.clone();
    let mut clicked = None;
    search.lines = all.min(MOST);
    search.marked = search.marked.filter(|&marked| marked < search.lines);
    for (place, run) in shown.into_iter().chain(others).take(MOST).enumerate() {
        ui.push_id(run.number, |ui| {
            let line = line_ui(ui, run, chosen == Some(&run.id), (&font, &pinned), cx);
            let is_marked = search.marked == Some(place);
            if line.clicked() || (is_marked && is_entered) {
                clicked = Some(run.id.clone());
            }
            if is_marked && moved.is_some() {
                line.scroll_to_me(None);
            }
            if is_marked {
                line.highlight();
            }
        });
    }
    if all == 0 {
        ui.label(RichText::new("No run matches.").color(palette.weak));
    } else if all > MOST {
        let more = counted((all - MOST) as u64, "more run");
        ui.label(RichText::new(format!("{more}: type a word of the name, or a filter.")).color(palette.weak));
    }
    if clicked.is_some() {
        ui.close();
    }
    clicked
}

/// The field, what is wrong with what stands in it, and which runs it finds. Whether Enter was pressed in it.
fn search_ui(ui: &mut Ui, search: &mut Search, is_new: bool, cx: &mut PanelContext<'_>) -> bool {
    let field = TextEdit::singleline(&mut search.text).desired_width(NAME).hint_text("Search: a word, or loss<2");
    let field = field.align(egui::Align2::LEFT_CENTER);
    let field = ui.add(field).accessible_name("Search runs");
    if is_new {
        field.request_focus();
    }
    if field.changed() {
        search.marked = (!search.text.trim().is_empty()).then_some(0);
    }
    let is_entered = entered(ui, &field);
    let show_archived = !search.text.trim().is_empty();
    let wish = Wish { filter: search.text.clone(), sorting: search.sorting.clone(), show_archived };
    let print = fingerprint(&cx.state.runs);
    search.order.update(&cx.state.runs, print, &cx.state.configs, &wish);
    let wants_configs =
        search.order.wants_configs() || search.pinned.iter().any(|one| matches!(one, Column::Config(_)));
    let missing = if wants_configs { cx.state.want_configs() } else { 0 };
    let palette = theme::palette(ui.visuals());
    if let Some(error) = search.order.error() {
        ui.label(RichText::new(error.describe(&search.text)).small().color(palette.error));
    } else if missing > 0 {
        ui.label(RichText::new(format!("Reading {}…", counted(missing as u64, "config"))).small().color(palette.weak));
    } else if let Some((column, descending)) = &search.sorting {
        let direction = if *descending { "descending" } else { "ascending" };
        let told = format!("Sorted as in Runs: {column}, {direction}");
        ui.label(RichText::new(told).small().color(palette.weak));
    }
    is_entered
}

/// One run: its name, its state, and what the pinned columns of Runs say of it.
fn line_ui(
    ui: &mut Ui,
    run: &RunSummary,
    is_chosen: bool,
    (font, pinned): (&FontId, &[Column]),
    cx: &PanelContext<'_>,
) -> Response {
    let name = cx.state.run_name(&run.id);
    let short = elided(ui, &name, cx.state.run_names(), font, NAME);
    let pinned = column_words(pinned, cx.state, run);
    let tail = if pinned.is_empty() { format!("({})", run.state) } else { format!("({}), {pinned}", run.state) };
    let text = format!("{} {tail}", short.as_deref().unwrap_or(&name));
    let line = ui.selectable_label(is_chosen, text);
    let line = if short.is_some() { line.on_hover_text(&name) } else { line };
    line.accessible_name(format!("{name} {tail}"))
}

#[cfg(test)]
mod tests {
    use egui::Key;
    use headroom_engine::{
        protocol::{Event, events},
        store::{RunState, RunSummary},
    };

    use crate::{common::driver::Driver, examples, panels::live::LivePanel, state::State};

    #[test]
    fn a_list_of_runs_is_searched_by_words_and_filters_and_shows_pinned_columns() {
        let mut state = State::default();
        state.runs_loaded = true;
        state.runs = (0..90).rev().map(|number| examples::summary(number, &format!("run {number}"))).collect();
        state.runs[10].state = RunState::Stopped;
        state.selection.visible.insert(examples::summary(4, "").id);
        let (mut driver, mut panel) = (Driver::new(state), LivePanel::default());
        let pinned = serde_json::json!({"pinned": [{"metric": ["validation/loss", "best"]}]});
        driver.settings.set_panel("runs", &pinned);
        driver.settle(&mut panel);
        driver.click(&mut panel, "Run");
        assert!(driver.says("run 89 (finished), ") && driver.says(" 1.25"), "{:#?}", driver.names());
        assert!(driver.says("30 more runs: type a word"), "{:#?}", driver.names());
        assert!(driver.says("run 4 (finished)"), "what charts show stands first: {:#?}", driver.names());
        driver.frame(&mut panel, vec![egui::Event::Text("state=stopped".to_owned())]);
        driver.settle(&mut panel);
        assert!(driver.says("run 79 (stopped)") && !driver.says("run 89 (finished)"), "{:#?}", driver.names());
        driver.frame(&mut panel, vec![egui::Event::Text(" number<".to_owned())]);
        driver.settle(&mut panel);
        assert!(driver.says("At letter 21"), "what is wrong is said: {:#?}", driver.names());
        driver.frame(&mut panel, vec![egui::Event::Text("5".to_owned())]);
        driver.settle(&mut panel);
        assert!(driver.has("No run matches."), "{:#?}", driver.names());
        driver.key(&mut panel, Key::Escape);
        // Opened again, it begins anew.
        driver.click(&mut panel, "Run");
        driver.frame(&mut panel, vec![egui::Event::Text("number=3".to_owned())]);
        driver.settle(&mut panel);
        let line = driver.names().into_iter().find(|name| name.starts_with("run 3 (")).unwrap();
        driver.click(&mut panel, &line);
        assert_eq!(driver.state.selection.focused, Some(examples::summary(3, "").id));
        assert!(!driver.has("Search runs"), "a choice closes the list");
    }

    #[test]
    fn a_run_is_found_by_what_it_is_called_beside_others_of_its_name() {
        let mut state = State::default();
        let run = |number, seed| RunSummary { seed, ..examples::summary(number, "long: standard") };
        state.apply(Event::Runs(events::Runs { runs: vec![run(5, 2), run(4, 3), run(3, 2), run(2, 1)] }));
        let (mut driver, mut panel) = (Driver::new(state), LivePanel::default());
        driver.settle(&mut panel);
        let found = |driver: &mut Driver, panel: &mut LivePanel, text: &str| {
            driver.click(panel, "Run");
            driver.frame(panel, vec![egui::Event::Text(text.to_owned())]);
            driver.settle(panel);
            let lines = driver.in_order("long: standard, ");
            driver.key(panel, Key::Escape);
            lines.iter().filter_map(|line| line.strip_suffix(" (finished)").map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(found(&mut driver, &mut panel, "standard, seed 3"), ["seed 3"]);
        assert_eq!(found(&mut driver, &mut panel, "seed 2"), ["seed 2 (2)", "seed 2"]);
        assert_eq!(found(&mut driver, &mut panel, "long: standard, seed 2")[0], "seed 2", "its whole name");
        assert_eq!(found(&mut driver, &mut panel, "seed 2 (2)")[0], "seed 2 (2)");
        assert!(found(&mut driver, &mut panel, "2 (2)").contains(&"seed 2 (2)".to_owned()), "no filter finds it");
    }

    #[test]
    fn a_list_of_runs_is_sorted_as_runs_is() {
        let mut state = State::default();
        state.runs_loaded = true;
        state.runs = (0..4).rev().map(|number| examples::summary(number, &format!("run {number}"))).collect();
        for (run, steps) in state.runs.iter_mut().zip([70, 30, 90, 50]) {
            run.steps_done = steps;
        }
        let (mut driver, mut panel) = (Driver::new(state), LivePanel::default());
        let listed = |driver: &mut Driver, panel: &mut LivePanel| {
            driver.settle(panel);
            driver.click(panel, "Run");
            let lines = driver.in_order("run ");
            driver.key(panel, Key::Escape);
            lines.iter().filter_map(|line| line.strip_suffix(" (finished)").map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(listed(&mut driver, &mut panel), ["3", "2", "1", "0"], "the newest first");
        let sorting = |descending: bool| {
            let sorting = serde_json::json!({"column": "Steps", "descending": descending});
            serde_json::json!({"table": {"sorting": sorting}})
        };
        driver.settings.set_panel("runs", &sorting(true));
        assert_eq!(listed(&mut driver, &mut panel), ["1", "3", "0", "2"]);
        driver.settings.set_panel("runs", &sorting(false));
        driver.state.selection.visible.insert(examples::summary(1, "").id);
        assert_eq!(listed(&mut driver, &mut panel), ["1", "2", "0", "3"], "what charts show stands first");
        driver.click(&mut panel, "Run");
        assert!(driver.has("Sorted as in Runs: Steps, ascending"), "{:#?}", driver.names());
    }

    #[test]
    fn enter_takes_the_first_run_that_is_found_or_the_one_that_the_arrows_mark() {
        let mut state = State::default();
        state.runs_loaded = true;
        state.runs = (0..30).rev().map(|number| examples::summary(number, &format!("run {number}"))).collect();
        let (mut driver, mut panel) = (Driver::new(state), LivePanel::default());
        driver.settle(&mut panel);
        let mut open = |text: &str, keys: &[Key]| {
            driver.click(&mut panel, "Run");
            driver.frame(&mut panel, vec![egui::Event::Text(text.to_owned())]);
            driver.settle(&mut panel);
            for key in keys {
                driver.key(&mut panel, *key);
            }
            (driver.state.selection.focused.clone(), driver.has("Search runs"))
        };
        let id = |number: u64| Some(examples::summary(number, "").id);
        assert_eq!(open("number<20", &[Key::Enter]), (id(19), false), "the newest that is found");
        assert_eq!(open("number<20", &[Key::ArrowDown, Key::ArrowDown, Key::Enter]), (id(17), false));
        assert_eq!(open("number<20", &[Key::ArrowUp, Key::Enter]), (id(0), false), "round to the last");
        assert_eq!(open("no such run", &[Key::Enter]), (id(0), true), "nothing is found, nothing is taken");
        assert_eq!(open("", &[]), (id(0), false));
        assert_eq!(open("", &[Key::Enter]), (id(0), true), "nothing was searched for");
    }
}
