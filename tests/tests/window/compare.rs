//! Comparing runs, and taking the chart home.

use std::fs;

use egui::{Key, Modifiers};
use headroom_tests::Screen;

use crate::common::{named, two_runs};

#[test]
fn two_runs_are_compared_and_their_chart_leaves_as_a_file() {
    let (folder, mut screen) = two_runs();
    // A metric that was looked at before, and that runs of text do not have.
    screen.window().settings.set_panel("compare", &serde_json::json!({ "metric": "validation/accuracy" }));
    screen.press_text(Key::Num3, "3");
    screen.wait("both curves and configs", |screen| {
        screen.has("Compared runs") && screen.says("another group of runs") && !screen.says("Loading")
    });
    screen.settle();
    // They differ in the seed alone and were put together.
    screen.choose("Group by", "Nothing");
    assert!(screen.has("seed"), "{:#?}", screen.words());
    assert!(screen.has("Pin a baseline to see deltas (p)"));
    screen.wait("both lines", |screen| screen.description("Chart: Validation loss").0.starts_with("2 lines."));
    assert!(screen.says("None of these runs has \"Accuracy") && screen.says("\"Validation loss\" is shown until"));
    assert!(!screen.has("model.layers"), "only what differs is listed: {:#?}", screen.words());
    screen.click("Pin one as the baseline");
    assert!(screen.says("Δ: against the baseline \"one\""));
    let deltas = |screen: &Screen| {
        let is_delta = |word: &String| word.starts_with(['+', '−']) && word.contains('%');
        screen.words().into_iter().filter(is_delta).collect::<Vec<_>>()
    };
    assert!(deltas(&screen).len() >= 2, "deltas beside the values: {:#?}", screen.words());
    let losses = ["one", "two"].map(|name| named(&mut screen, name).metrics["validation/loss"].last);
    let sign = if losses[1] > losses[0] { '+' } else { '−' };
    assert!(deltas(&screen)[0].starts_with(sign), "{losses:?}: {:?}", deltas(&screen));

    for (format, ending) in [("PNG", "png"), ("SVG", "svg"), ("CSV", "csv")] {
        let path = folder.path().join(format!("figure.{ending}"));
        screen.press(Modifiers::COMMAND, Key::E);
        assert!(screen.is_focused("File"), "a path can be typed at once");
        screen.click(format);
        screen.fill("File", &path.display().to_string());
        if format == "CSV" {
            screen.press(Modifiers::NONE, Key::Enter);
        } else {
            screen.click("Export");
        }
        screen.wait("the file", |screen| path.exists() && !screen.has("Cancel"));
        screen.settle();
        assert!(screen.says("Exported ") && screen.says(&format!("figure.{ending}")), "{:#?}", screen.words());
        let bytes = fs::read(&path).unwrap();
        match ending {
            "png" => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 5_000),
            "svg" => {
                let text = String::from_utf8(bytes).unwrap();
                let has = ["<svg", ">one</text>", "Validation loss"].map(|words| text.contains(words));
                assert_eq!(has, [true; 3], "{text}");
            }
            _ => {
                let text = String::from_utf8(bytes).unwrap();
                let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
                assert!(lines[0].contains("one") && lines[0].contains("two"), "{text}");
                assert_eq!(lines.len(), 1 + 3, "evaluations at steps 8, 16 and 24: {text}");
                let last: Vec<f64> = lines[3].split(',').map(|cell| cell.parse().unwrap()).collect();
                assert_eq!(last[0], 24.0);
                assert!(losses.iter().all(|loss| last.contains(loss)), "{losses:?} in {text}");
            }
        }
    }

    screen.choose("Group by", "seed: same config otherwise");
    screen.wait_for_words("Δ: against the mean of");
    screen.choose("Metric", "Training loss");
    assert!(!screen.says("None of these runs has"), "it was chosen: {:#?}", screen.words());
    screen.close();
}
