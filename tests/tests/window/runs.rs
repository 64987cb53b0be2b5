//! The table of runs and the inspector.

use std::fs;

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{
    protocol::{Command, Event, commands, events},
    store::{DamagedRun, Deleted, DeletedKind, PurgeReport, RunId},
};
use headroom_tests::{Screen, example_run, example_runs, fill_with_examples};

use crate::common::{named, store, two_runs};

#[test]
fn checkpoints_and_runs_leave_through_a_typed_path() {
    let (folder, mut screen) = two_runs();
    screen.press_text(Key::Num4, "4");
    screen.click("one");
    screen
        .wait("the checkpoints", |screen| screen.has("Export checkpoint…") && screen.is_enabled("Export checkpoint…"));
    let model = folder.path().join("model of one");
    screen.click("Export checkpoint…");
    screen.fill("New folder", &model.display().to_string());
    screen.click("Export");
    screen.wait_for_words("Exported \"one\" at step");
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        assert!(model.join(file).is_file(), "{file} is missing");
    }
    let config: serde_json::Value = serde_json::from_slice(&fs::read(model.join("config.json")).unwrap()).unwrap();
    assert_eq!((&config["model_type"], &config["n_embd"]), (&"gpt2".into(), &16.into()));

    let json = folder.path().join("one.json");
    screen.click("Export run as JSON…");
    screen.fill("File", &json.display().to_string());
    screen.click("Export");
    screen.wait("the file", |screen| json.exists() && !screen.has("Cancel"));
    let run: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!((&run["name"], &run["state"]), (&"one".into(), &"finished".into()), "{run}");

    // A folder with something in it is not written over.
    screen.click("Export checkpoint…");
    screen.fill("New folder", &folder.path().display().to_string());
    screen.click("Export");
    screen.wait_for_words("Error: ");
    assert!(store(&folder).exists());
    screen.close();
}

#[test]
fn runs_are_found_changed_deleted_and_there_again_after_a_restart() {
    let (folder, mut screen) = two_runs();
    let losses = ["one", "two"].map(|name| named(&mut screen, name).metrics["validation/loss"].last);
    let (better, worse) = if losses[0] < losses[1] { ("one", "two") } else { ("two", "one") };
    screen.press_text(Key::Num4, "4");
    screen.press_text(Key::Slash, "/");
    assert!(screen.is_focused("Filter runs"));
    screen.type_text(&format!("loss<{}", f64::midpoint(losses[0], losses[1])));
    screen.settle();
    assert!(screen.has("1 of 2 runs"), "{:#?}", screen.words());
    let listed = |screen: &Screen, run: &str| screen.has(&format!("Show {run} in charts"));
    assert!(listed(&screen, better) && !listed(&screen, worse));
    screen.fill("Filter runs", "model.layers=1 seed=2");
    screen.wait_for("1 of 2 runs");
    screen.fill("Filter runs", "loss<");
    assert!(
        screen.says("At letter 5: Expected a value"),
        "a filter that cannot be read says where: {:#?}",
        screen.words()
    );
    screen.click("Clear filter");
    assert!(screen.has("2 runs"));

    screen.click("one");
    screen.press(Modifiers::NONE, Key::F2);
    assert!(screen.is_focused("New name"));
    screen.press(Modifiers::COMMAND, Key::A);
    screen.type_text("the first");
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the new name", |screen| screen.state().runs.iter().any(|run| run.name == "the first"));
    screen.settle();
    assert_eq!(screen.value("Name of the run"), "the first");
    screen.fill("New tag", "paper");
    screen.click("Add tag");
    screen.wait("the tag", |screen| named(screen, "the first").tags == ["paper"]);
    screen.fill("Note", "Look again.");
    screen.click("Save note");
    screen.wait("the note", |screen| named(screen, "the first").note == "Look again.");

    let is_shown = |screen: &mut Screen| {
        let run = named(screen, "the first").id.clone();
        screen.state().selection.is_visible(&run)
    };
    assert!(is_shown(&mut screen));
    screen.click("Archive");
    screen.wait("the archive", |screen| named(screen, "the first").archived && screen.has("1 of 2 runs"));
    assert!(!is_shown(&mut screen), "it leaves the charts");
    screen.click("Show archived");
    assert!(screen.has("2 runs"));
    screen.click("Take out of the archive");
    screen.wait("the way back", |screen| !named(screen, "the first").archived);
    assert!(!is_shown(&mut screen), "its eye is opened by hand");

    screen.settle();
    screen.click("Delete");
    screen.wait("the deletion", |screen| screen.state().runs.len() == 1);
    screen.settle();
    assert!(screen.says("Deleted the run \"the first\". Undo brings it back."));
    screen.press(Modifiers::COMMAND, Key::Z);
    screen.wait("the undo", |screen| screen.state().runs.len() == 2);

    let mut before = screen.state().runs.clone();
    screen.close();
    let mut again = Screen::engine(&store(&folder));
    assert_eq!(again.window().open_panel(), PanelId::RUNS, "the window remembers where it was");
    let mut after = again.state().runs.clone();
    for runs in [&mut before, &mut after] {
        runs.sort_by_key(|run| run.number);
    }
    assert_eq!(after, before);
    assert!(again.has("the first") && again.has("two"));
    assert_eq!(again.count("Finished"), 2, "{:#?}", again.words());
    again.close();
}

#[test]
fn several_runs_are_tagged_compared_exported_deleted_and_brought_back() {
    let (folder, mut screen) = two_runs();
    screen.press_text(Key::Num4, "4");
    screen.click("one");
    screen.press(Modifiers::COMMAND, Key::A);
    assert!(screen.has("2 selected"), "{:#?}", screen.words());
    // The inspector says that it is about one of them; beside a panel that knows none of it, it does not.
    assert!(screen.says("One of 2 selected"), "{:#?}", screen.words());
    screen.press_text(Key::Num3, "3");
    assert!(!screen.says("One of 2 selected"));
    screen.press_text(Key::Num4, "4");
    // In a narrow window they stand in a menu.
    screen.resize(egui::vec2(900.0, 700.0));
    screen.click("Do with them…");
    screen.click("Tag…");
    assert!(screen.is_focused("Tag for all of these"), "{:#?}", screen.words());
    screen.type_text("both");
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the tags", |screen| ["one", "two"].iter().all(|name| named(screen, name).tags == ["both"]));
    screen.settle();
    assert!(!screen.has("Untag…"), "the menu is closed: {:#?}", screen.words());
    // Esc closes it as well, and the runs stay selected.
    screen.click("Do with them…");
    assert!(screen.has("Untag…"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(screen.has("2 selected") && !screen.has("Untag…"), "{:#?}", screen.words());
    screen.click("Do with them…");
    screen.click("Untag…");
    screen.click("both (2)");
    screen.wait("no tags", |screen| ["one", "two"].iter().all(|name| named(screen, name).tags.is_empty()));
    screen.resize(egui::vec2(1280.0, 800.0));
    assert!(screen.has("2 selected"), "{:#?}", screen.words());
    // Without the inspector there is room for all buttons in one line.
    screen.press_text(Key::CloseBracket, "]");
    screen.click("Tag…");
    screen.fill("Tag for all of these", "pair");
    screen.click("Tag them");
    screen.wait("the tags", |screen| ["one", "two"].iter().all(|name| named(screen, name).tags == ["pair"]));
    screen.settle();

    let models = folder.path().join("models");
    screen.click("Export checkpoints…");
    screen.fill("Folder", &models.display().to_string());
    screen.click("Export 2 checkpoints");
    screen.wait_for_words("Exported 2 checkpoints to");
    for run in ["one", "two"] {
        assert!(models.join(run).join("model.safetensors").is_file(), "{run}");
    }

    // The filter decides what charts show, and the tag what Compare shows.
    screen.click("Deselect");
    screen.click("Hide all");
    assert!(screen.state().selection.visible.is_empty());
    screen.fill("Filter runs", "seed=2");
    screen.wait_for("1 of 2 runs");
    screen.click("Show only these");
    assert_eq!(screen.state().selection.visible.len(), 1);
    screen.click("Clear filter");
    screen.click("Tag pair of one");
    screen.click("Compare \"pair\"");
    assert_eq!(screen.window().open_panel(), PanelId::COMPARE);
    assert_eq!(screen.state().selection.visible.len(), 2);

    screen.press_text(Key::Num4, "4");
    screen.click("one");
    screen.press(Modifiers::SHIFT, Key::ArrowDown);
    screen.press(Modifiers::SHIFT, Key::ArrowUp);
    screen.press(Modifiers::COMMAND, Key::A);
    screen.press(Modifiers::NONE, Key::Delete);
    assert!(screen.has("Delete 2 runs?") && screen.says("one (#1, finished)"), "{:#?}", screen.words());
    screen.click("Delete 2 runs");
    screen.wait("the deletion", |screen| screen.state().runs.is_empty());
    screen.settle();
    assert!(screen.says("Deleted 2 runs. Undo brings them back."), "{:#?}", screen.words());
    assert!(models.join("one").join("model.safetensors").is_file(), "what was exported is the user's");
    screen.press(Modifiers::COMMAND, Key::Z);
    screen.wait("the undo", |screen| screen.state().runs.len() == 2);
    screen.close();
}

#[test]
fn damaged_runs_are_told_of_beside_the_others() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.press_text(Key::Num4, "4");
    assert!(!screen.says("damaged"));
    let damaged = DamagedRun {
        number: 77,
        id: None,
        name: Some("broken".to_owned()),
        deleted_ms: None,
        problems: vec!["`steps_done` is negative (-1)".to_owned()],
    };
    screen.state().apply(Event::Damaged(events::Damaged { runs: vec![damaged] }));
    screen.settle();
    assert!(screen.says("1 run is damaged and left out"), "{:?}", screen.words());
    assert!(screen.says("#77 broken: `steps_done` is negative (-1)."));
    assert!(screen.says("10 runs"), "the others are there");
    screen.state().apply(Event::Damaged(events::Damaged { runs: Vec::new() }));
    screen.settle();
    assert!(!screen.says("damaged"));
}

#[test]
fn a_purge_lists_what_goes_and_asks() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.settle();
    screen.recorded();
    screen.click("View: theme and size");
    screen.click("Purge deleted runs…");
    let asked = |screen: &mut Screen| {
        let all = screen.recorded();
        let find = |of: fn(&Command) -> Option<i64>| all.iter().find_map(of);
        let listed = find(|command| {
            if let Command::ListDeleted(commands::ListDeleted { before_ms }) = command {
                Some(*before_ms)
            } else {
                None
            }
        });
        let purged =
            find(
                |command| {
                    if let Command::Purge(commands::Purge { before_ms }) = command { Some(*before_ms) } else { None }
                },
            );
        (listed, purged)
    };
    let (listed, purged) = asked(&mut screen);
    let before_ms = listed.unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    assert!((now - 60_000..=now).contains(&before_ms) && purged.is_none(), "{listed:?} {purged:?}");
    assert!(screen.says("Listing what was deleted…"));
    let deleted = |number: i64, refused: Option<&str>| Deleted {
        kind: DeletedKind::Run,
        number,
        id: format!("000000000{number}"),
        name: format!("old {number}"),
        deleted_ms: 1,
        bytes: 1 << 20,
        folder: Some(format!("/s/runs/000000000{number}").into()),
        refused: refused.map(str::to_owned),
    };
    let (goes, stays) = (deleted(1, None), deleted(2, Some("Its folder is reached through a link.")));
    screen.state().apply(Event::Deleted(events::Deleted { deleted: vec![goes.clone(), stays.clone()] }));
    screen.settle();
    assert!(screen.says("run #1 old 1") && screen.says("/s/runs/0000000001"));
    assert!(screen.says("run #2 old 2 is kept. Its folder is reached through a link."));
    screen.click("Purge…");
    assert!(screen.says("This cannot be undone."));
    screen.click("Keep");
    screen.click("Purge…");
    assert_eq!(asked(&mut screen), (None, None), "nothing goes before it was agreed to");
    screen.click("Remove for good");
    assert_eq!(asked(&mut screen), (None, Some(before_ms)), "what was deleted since it was listed stays");
    assert!(screen.says("Removing…"));
    screen
        .state()
        .apply(Event::Purged(events::Purged { report: PurgeReport { purged: vec![goes], refused: vec![stays] } }));
    screen.settle();
    assert!(screen.says("Removed 1 thing for good, 1.0 MiB of files."), "{:?}", screen.words());
    assert!(screen.says("There is nothing to purge.") && screen.says("run #2 old 2 is kept."));
    screen.click("Close the purge");
    assert!(!screen.says("Purge what was deleted"));
}

#[test]
fn groups_of_tags_and_of_races_fold() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let mut runs = example_runs();
    for run in &mut runs {
        match run.number {
            3 | 4 => run.tags.push("race:heads".to_owned()),
            6 => run.tags.push("sweep:rate".to_owned()),
            _ => {}
        }
    }
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.press_text(Key::Num4, "4");
    let listed = |screen: &Screen, run: &str| screen.has(&format!("Show {run} in charts"));
    let folded = |screen: &mut Screen| -> Vec<String> {
        let kept: serde_json::Value = screen.window().settings.of_panel("runs");
        serde_json::from_value(kept["folded"].clone()).unwrap()
    };
    let (one_head, control) = ("grammar decoder, 1 head", "random words, the control");

    screen.choose("Group", "By tag");
    for tag in ["paper", "encoder", "control", "race:heads", "sweep:rate", "No tag"] {
        assert!(screen.has(&format!("Show all of {tag} in charts")), "{tag}: {:#?}", screen.words());
    }
    assert!(listed(&screen, control));
    screen.click("control");
    assert_eq!(folded(&mut screen), ["control"]);
    assert!(!listed(&screen, control) && listed(&screen, one_head), "{:#?}", screen.words());
    assert!(screen.has("Show all of control in charts"), "its head stays");

    screen.choose("Group: by tag", "By race or sweep");
    for group in ["race:heads", "sweep:rate", "No race or sweep"] {
        assert!(screen.has(&format!("Show all of {group} in charts")), "{group}: {:#?}", screen.words());
    }
    assert!(!screen.has("Show all of paper in charts"));
    assert!(folded(&mut screen).is_empty() && listed(&screen, one_head));
    screen.click("race:heads");
    assert_eq!(folded(&mut screen), ["race:heads"]);
    assert!(!listed(&screen, one_head) && !listed(&screen, "grammar decoder, 8 heads") && listed(&screen, control));
    screen.click("race:heads");
    assert!(listed(&screen, one_head), "it is open again");
}

#[test]
fn any_metric_becomes_a_column() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.press_text(Key::Num4, "4");
    // What the inspector says of the run is not meant.
    screen.press_text(Key::CloseBracket, "]");
    let run = example_runs().into_iter().find(|run| run.id == example_run(8)).unwrap();
    let best = run.metrics["validation/masked_accuracy"].best.unwrap();
    let value = headroom_app::compare::metric_value("validation/masked_accuracy", best);
    assert!(!screen.has("Masked accuracy, best") && !screen.has(&value), "{:#?}", screen.words());
    screen.click("Columns");
    screen.fill("Search columns", "masked");
    screen.click("Masked accuracy, best");
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Search columns"), "the menu is closed");
    assert!(screen.has("Masked accuracy, best") && screen.has(&value), "{value}: {:#?}", screen.words());
}

#[test]
fn the_baseline_looks_the_same_whichever_runs_are_shown() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.press_text(Key::Num4, "4");
    let baseline = screen.state().selection.baseline.clone().unwrap();
    let others: Vec<RunId> = example_runs().into_iter().map(|run| run.id).filter(|run| *run != baseline).collect();
    let style = screen.state().selection.style_of(&baseline);
    let mut seen = 0;
    // Each is shown or hidden, then the other way; the baseline itself is hidden in between.
    for run in others.iter().chain([&baseline]).chain(&others).chain([&baseline]) {
        let name = screen.state().run_name(run);
        screen.click(&format!("Show {name} in charts"));
        let selection = &screen.state().selection;
        assert_eq!(selection.style_of(&baseline), style, "after {name}");
        for shown in others.iter().filter(|run| selection.is_visible(run)) {
            // Of these the config is that of the baseline: Compare draws one line of them.
            let is_of_its_group = [1, 2, 7].map(example_run).contains(shown);
            assert_eq!(selection.style_of(shown) == style, is_of_its_group, "after {name}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn what_deletes_waits_in_a_menu_that_opened_under_the_pointer() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.press_text(Key::Num4, "4");
    // The inspector has a button of the same name.
    screen.press_text(Key::CloseBracket, "]");
    assert!(!screen.has("Delete"));
    let open = |screen: &mut Screen| {
        let button = screen.rect("Actions for grammar decoder, 8 heads").center();
        screen.click_at(button);
        screen.settle();
    };
    open(&mut screen);
    assert!(screen.has("Inspect") && !screen.is_enabled("Delete"), "{:#?}", screen.words());
    screen.point_at("Inspect");
    assert!(screen.is_enabled("Delete"));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Inspect"));
    open(&mut screen);
    assert!(!screen.is_enabled("Delete"), "opened again");
}

#[test]
fn the_menu_of_a_run_fits_into_a_low_window() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let mut runs = example_runs();
    for run in &mut runs {
        run.tags = ["paper", "race:long"].map(str::to_owned).to_vec();
    }
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.resize(egui::vec2(900.0, 600.0));
    screen.press_text(Key::Num4, "4");
    screen.click("Actions for grammar decoder, 8 heads");
    screen.settle();
    let (first, last) = (screen.rect("Inspect"), screen.rect("Delete"));
    assert!(first.top() > 0.0 && last.bottom() < 600.0, "{first:?} {last:?}");
}

#[test]
fn in_a_wide_window_rows_take_the_width_from_the_first_frame_and_the_first_click_selects() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().settings.inspector_open = false;
    screen.window().open(PanelId::LIVE);
    screen.resize(egui::vec2(2560.0, 1440.0));
    let run = example_run(4);
    let name = screen.state().run_name(&run);
    screen.window().open(PanelId::RUNS);
    screen.step();
    let places = |screen: &Screen| {
        let of = |words: &str| screen.painted().into_iter().find(|text| text.text == words).map(|text| text.rect);
        [name.as_str(), "Tags"].map(of)
    };
    let first = places(&screen);
    let [Some(at), Some(tags)] = first else { panic!("{:#?}", screen.painted()) };
    assert!(tags.left() > 1500.0, "{tags:?}");
    // Where the pointer pressed, it lets go.
    screen.click_at(at.center());
    assert_eq!(screen.state().selection.focused, Some(run));
    screen.settle();
    assert_eq!(places(&screen), first, "nothing moved");
    assert!(screen.rect(&name).right() > 2500.0, "{:?}", screen.rect(&name));
}

#[test]
fn a_kept_filter_is_there_after_a_restart() {
    let (folder, mut screen) = two_runs();
    screen.press_text(Key::Num4, "4");
    screen.fill("Filter runs", "seed=2");
    screen.click("Filters");
    screen.fill("Name for this filter", "the second");
    screen.click("Keep this filter");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.fill("Filter runs", "");
    screen.wait_for("2 runs");
    screen.close();
    let mut again = Screen::engine(&store(&folder));
    again.press_text(Key::Num4, "4");
    assert!(again.has("2 runs"), "{:#?}", again.words());
    again.click("Filters");
    again.click("Filter the second");
    again.wait_for("1 of 2 runs");
    assert!(again.has("two") && !again.has("one"), "{:#?}", again.words());
    again.close();
}

#[test]
fn a_column_pinned_in_runs_stands_in_every_list_of_runs() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.press_text(Key::Num4, "4");
    screen.click("Columns");
    screen.fill("Search columns", "model.heads");
    screen.click("model.heads");
    screen.click("Pin the column model.heads");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.click("Steps");
    let lists = [(PanelId::LIVE, "Run"), (PanelId::REDUNDANCY, "Run"), (PanelId::HEADS, "Run")];
    for (panel, list) in lists {
        screen.window().open(panel);
        screen.settle();
        screen.click(list);
        assert!(screen.says("Sorted as in Runs: Steps"), "{panel:?}: {:#?}", screen.words());
        let lines: Vec<String> = screen.words().into_iter().filter(|word| word.contains(" (finished), ")).collect();
        assert!(lines.len() > 2, "{panel:?}: {:#?}", screen.words());
        let heads = |line: &String| line.rsplit([' ', ',']).next().and_then(|last| last.parse::<usize>().ok());
        assert!(lines.iter().all(|line| heads(line).is_some_and(|heads| heads > 0)), "{panel:?}: {lines:?}");
        screen.press(Modifiers::NONE, Key::Escape);
    }
}

#[test]
fn names_of_a_race_lose_what_they_share_in_every_list() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let mut runs = example_runs();
    for run in &mut runs {
        run.name = format!("a decoder for the grammar that is 512 wide and has a long name: variant {}", run.number);
    }
    screen.state().apply(Event::Runs(events::Runs { runs: runs.clone() }));
    screen.resize(egui::vec2(900.0, 600.0));
    // What is drawn of names, in rows that can be seen: never a part that all of them share.
    let told_apart = |screen: &Screen| {
        let drawn: Vec<String> = screen.painted().into_iter().map(|text| text.text).collect();
        let variants = (0..10).filter(|number| drawn.iter().any(|text| text.contains(&format!("variant {number}"))));
        let whole = drawn.iter().filter(|text| text.starts_with("a decoder for the grammar that")).count();
        (variants.count(), whole)
    };
    screen.press_text(Key::Num4, "4");
    screen.press_text(Key::CloseBracket, "]");
    let (variants, _) = told_apart(&screen);
    assert!(variants >= 5, "Runs: {:#?}", screen.painted());
    screen.press_text(Key::Num2, "2");
    screen.click("Run");
    let (variants, whole) = told_apart(&screen);
    assert!(variants >= 5 && whole <= 1, "the list of Live: {:#?}", screen.painted());
    screen.press(Modifiers::NONE, Key::Escape);
    screen.press_text(Key::Num3, "3");
    let (variants, _) = told_apart(&screen);
    assert!(variants >= 3, "Compare: {:#?}", screen.painted());
}
