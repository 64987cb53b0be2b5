//! A config beside its control on shuffled text: trained, analysed on both, seen side by side.

use std::fs;

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{config::from_toml, store::RunState};
use headroom_tests::Screen;
use tempfile::TempDir;

use crate::common::{TINY, open_config, store};

#[test]
fn one_action_trains_a_config_and_its_control_and_shows_both_on_both() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("words.toml");
    let text = TINY.replace("NAME", "words").replace("SEED", "1").replace("layers = 1", "layers = 2");
    fs::write(&path, text.replace("every = 8\nexamples = 1", "every = 0")).unwrap();
    let mut screen = Screen::engine(&store(&folder));
    open_config(&mut screen, &path);
    screen.click("Race or sweep");
    screen.click("Control");
    assert!(
        screen.has("in order") && screen.has("shuffled") && !screen.has("Seeds per config"),
        "{:#?}",
        screen.words()
    );
    screen.fill("Examples per analysis", "5");
    screen.settle();
    screen.click("Queue the runs");
    assert_eq!(screen.window().open_panel(), PanelId::REDUNDANCY);
    screen.wait("four looks", |screen| {
        ["in order, reads text in order", "in order, reads it shuffled", "shuffled text, reads it shuffled"].iter().all(
            |words| {
                screen.has(&format!("Map: Trained on {}{words}", if words.starts_with("in") { "text " } else { "" }))
            },
        )
    });
    let mut runs = screen.state().runs.clone();
    runs.sort_by_key(|run| run.number);
    assert!(runs.iter().all(|run| run.state == RunState::Finished && run.tags == ["domains:words"]), "{runs:#?}");
    let shuffled: Vec<bool> =
        runs.iter().map(|run| from_toml(&screen.state().records[&run.id].config_toml).unwrap().data.shuffled).collect();
    assert_eq!(shuffled, [false, true]);
    assert!(screen.has("Map: Trained on shuffled text, reads text in order"), "{:#?}", screen.words());
    assert!(!screen.has("Analyse what is missing"));
    // Each leaves as a figure; without one of them it is offered again.
    let csv = folder.path().join("control.csv");
    screen.click("Export");
    screen.click("Trained on shuffled text, reads text in order…");
    screen.click("CSV");
    screen.fill("File", &csv.display().to_string());
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the file", |screen| csv.is_file() && !screen.has("Cancel"));
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 2, "two layers against two");
    let gone = screen.state().analysis.by_order(&runs[1].id, true).unwrap().id;
    let state = screen.state();
    state.analysis.delete(&gone, &mut state.messages);
    screen.wait_for("Analyse what is missing");
    screen.click("Analyse what is missing");
    screen.wait("it again", |screen| screen.has("Map: Trained on shuffled text, reads it shuffled"));
    assert_eq!(screen.state().analysis.opened(&(&runs[1].id).into()), None, "what is shown alone is another choice");
    screen.click("Beside its control");
    assert!(!screen.says("reads it shuffled"), "{:#?}", screen.words());
    screen.close();
}
