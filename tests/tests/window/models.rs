//! The Models panel: what it asks for, what it shows, and a conversion over an engine.

use headroom_app::link::Link;
use headroom_engine::{
    convert::Conversion,
    worker::{Command, Event, ModelCost, Notice, Request, Target},
};
use headroom_tests::{Screen, example_run, fill_with_examples, model_facts};
use tempfile::TempDir;

use crate::common::{store, train, write_tiny};

fn panel() -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    screen.state().selection.focused = Some(example_run(0));
    screen.click("Models");
    screen
}

/// What was asked of the engine about models.
fn asked(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    let all = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_meant = |request: &Request| {
        matches!(
            request.command,
            Command::DescribeModel { .. }
                | Command::PreviewConversion { .. }
                | Command::Convert { .. }
                | Command::CancelConversion { .. }
        )
    };
    all.into_iter().filter(is_meant).collect()
}

fn answer(screen: &mut Screen, request: &Request, event: Event) {
    screen.state().apply(Notice { ticket: Some(request.ticket), event });
    screen.settle();
}

/// Answers that the model is there, and gives the preview that is asked for then.
fn described(screen: &mut Screen) -> Request {
    let requests = asked(screen);
    assert_eq!(requests.len(), 1, "{requests:?}");
    let request = &requests[0];
    let Command::DescribeModel { target } = &request.command else { unreachable!("{requests:?}") };
    let event = Event::ModelDescribed { target: target.clone(), facts: Box::new(model_facts()) };
    answer(screen, request, event);
    asked(screen).pop().unwrap()
}

#[test]
fn a_model_is_described_and_a_conversion_counted_before_it_is_asked_for() {
    let mut screen = panel();
    let preview = described(&mut screen);
    let Command::PreviewConversion { target, conversion: Conversion::Collaborative(to) } = &preview.command else {
        panic!("{preview:?}")
    };
    assert!(matches!(target, Target::Run { .. }) && to.d_k == 32, "half of the width: {preview:?}");
    assert!(screen.says("Counting…") && screen.says("up to 64 tokens"), "{:#?}", screen.words());
    let cost = |parameters, forward_flops| ModelCost { parameters, forward_flops, tokens: 64 };
    let Command::PreviewConversion { target, conversion } = preview.command.clone() else { unreachable!() };
    let (before, after) = (cost(100_000, 4_000_000), Some(cost(90_000, 3_000_000)));
    answer(&mut screen, &preview, Event::ConversionPreviewed { target, conversion, before, after });
    assert!(screen.says("90.0 k params instead of 100 k params (−10 %)"), "{:#?}", screen.words());
    // Where it came from.
    assert!(screen.says("Where it came from") && screen.says("grouped, 2 heads of keys and values"));

    screen.choose("Conversion", "Borrowed maps");
    let preview = asked(&mut screen).pop().unwrap();
    assert!(matches!(&preview.command, Command::PreviewConversion { conversion: Conversion::Borrow(_), .. }));
    let why = "Only standard attention can be converted.".to_owned();
    let messages = screen.state().messages.len();
    answer(&mut screen, &preview, Event::Refused { why: why.clone() });
    assert!(screen.says(&why) && !screen.is_enabled("Convert"), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages, "the panel says it");

    screen.choose("Conversion", "Grouped keys and values");
    screen.choose("Heads of keys and values", "2");
    let _ = asked(&mut screen);
    screen.fill("Write to", "/tmp/headroom-models-test/grouped");
    screen.fill("Examples", "8");
    screen.click("Convert");
    let requests = asked(&mut screen);
    let Some(Request { ticket, command: Command::Convert { conversion, to, data, examples, .. } }) = requests.last()
    else {
        panic!("{requests:?}")
    };
    assert_eq!(
        (conversion.kind(), to.display().to_string().as_str()),
        ("grouped", "/tmp/headroom-models-test/grouped")
    );
    assert_eq!((data.is_none(), *examples), (true, 8));
    assert!(!screen.is_enabled("Convert"), "one at a time");
    let going = Event::Converting {
        attention: "decoder.1.self".to_owned(),
        number: 1,
        count: 2,
        start: 0,
        sweep: 30,
        relative_error: 0.125,
    };
    screen.state().apply(Notice { ticket: Some(*ticket), event: going });
    screen.settle();
    assert!(screen.says("decoder.1.self: beginning 1, sweep 30, error 12.50 %"), "{:#?}", screen.words());
    screen.click("Stop");
    let requests = asked(&mut screen);
    assert!(
        matches!(&requests[..], [Request { command: Command::CancelConversion { conversion }, .. }] if conversion == ticket)
    );
}

#[test]
fn a_model_is_trained_further_in_configure() {
    let mut screen = panel();
    let _ = described(&mut screen);
    screen.click("Train further in Configure");
    screen.settle();
    // The best checkpoint of a run is meant by the run.
    assert_eq!(screen.value("Begins with"), example_run(0).to_string());
    assert_eq!(screen.value("Feed-forward width"), "256");
    // From elsewhere, by its folder; where none can be trained the button says why.
    screen.click("Models");
    let _ = asked(&mut screen);
    screen.choose("Model", "A model directory");
    screen.fill("Model directory", "/somewhere/model");
    let request = asked(&mut screen).pop().unwrap();
    let Command::DescribeModel { target } = &request.command else { panic!("{request:?}") };
    let mut facts = model_facts();
    (facts.further, facts.why_not_further) = (None, Some("it reads images".to_owned()));
    answer(&mut screen, &request, Event::ModelDescribed { target: target.clone(), facts: Box::new(facts) });
    assert!(!screen.is_enabled("Train further in Configure"));
}

#[test]
fn a_folder_that_is_no_model_is_told_and_tried_again() {
    let mut screen = panel();
    let _ = asked(&mut screen);
    screen.choose("Model", "A model directory");
    assert!(screen.says("Type the path of a model directory."), "{:#?}", screen.words());
    screen.fill("Model directory", "/nowhere/model");
    let request = asked(&mut screen).pop().unwrap();
    let event = Event::Refused { why: "There is no model in /nowhere/model.".to_owned() };
    answer(&mut screen, &request, event);
    assert!(screen.says("There is no model in /nowhere/model."), "{:#?}", screen.words());
    screen.click("Try again");
    let request = asked(&mut screen).pop().unwrap();
    let Command::DescribeModel { target } = &request.command else { panic!("{request:?}") };
    let event = Event::ModelDescribed { target: target.clone(), facts: Box::new(model_facts()) };
    answer(&mut screen, &request, event);
    screen.choose("Conversion", "Some pairs scored");
    assert!(screen.says("It depends on what the model does with a text: name one."), "{:#?}", screen.words());
    assert!(!screen.is_enabled("Convert"));
}

/// A real engine: a run becomes another model, its price is shown, and what was made is shown with its lineage.
#[test]
fn a_trained_run_is_converted_in_the_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    train(&mut screen, &write_tiny(folder.path(), "source", 1));
    screen.click("Models");
    screen.wait("the model", |screen| screen.says("Make another model of it"));
    screen.choose("Conversion", "No key biases");
    screen.wait("the preview", |screen| screen.is_enabled("Convert"));
    let to = folder.path().join("keyless");
    screen.fill("Write to", &to.display().to_string());
    screen.fill("Examples", "4");
    screen.click("Convert");
    screen.wait("the conversion", |screen| !screen.state().models.is_converting());
    screen.settle();
    assert!(screen.says("nats per token") && screen.has("Show it"), "{:#?}", screen.words());
    assert!(to.join("model.safetensors").exists());
    screen.click("Show it");
    screen.wait("what was made", |screen| screen.says("Where it came from"));
    assert!(screen.says("without key biases"), "{:#?}", screen.words());
    // Once more to the same place is refused before anything is touched.
    screen.choose("Conversion", "Collaborative heads");
    screen.wait("the preview", |screen| screen.is_enabled("Convert"));
    screen.click("Convert");
    screen.wait("the refusal", |screen| screen.says("is there already"));
}
