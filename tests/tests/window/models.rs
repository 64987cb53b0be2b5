//! The Models panel: what it asks for, what it shows, a conversion and a fetch over an engine.

use std::path::{Path, PathBuf};

use egui::{Key, Modifiers};
use headroom_app::{context::PanelId, link::Link, settings::Settings};
use headroom_engine::{
    checkpoint::DirectoryFacts,
    convert::Conversion,
    hub::{FetchRequest, Fetched, FetchedFile, HubFacts, RepoFacts, RepoKind, Transfer},
    protocol::{Command, Event, JobCommand, JobRef, ModelCost, Notice, Request, Target, commands, events},
};
use headroom_tests::{Fault, Hub, Screen, example_run, fill_with_examples, hub_facts, model_facts, repo_facts};
use tempfile::TempDir;

use crate::common::{store, train, write_tiny};

pub fn panel() -> Screen {
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
            Command::DescribeModel(_)
                | Command::PreviewConversion(_)
                | Command::Job(JobCommand::Convert(_))
                | Command::Cancel(_)
        )
    };
    all.into_iter().filter(is_meant).collect()
}

pub fn answer(screen: &mut Screen, request: &Request, event: Event) {
    screen.state().apply(Notice { ticket: Some(request.ticket), event });
    screen.settle();
}

/// Answers that the model is there, and gives the preview that is asked for then.
fn described(screen: &mut Screen) -> Request {
    let requests = asked(screen);
    assert_eq!(requests.len(), 1, "{requests:?}");
    let request = &requests[0];
    let Command::DescribeModel(commands::DescribeModel { target }) = &request.command else {
        unreachable!("{requests:?}")
    };
    let event =
        Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(model_facts()) });
    answer(screen, request, event);
    asked(screen).pop().unwrap()
}

#[test]
fn a_model_is_described_and_a_conversion_counted_before_it_is_asked_for() {
    let mut screen = panel();
    let preview = described(&mut screen);
    let Command::PreviewConversion(commands::PreviewConversion { target, conversion: Conversion::Collaborative(to) }) =
        &preview.command
    else {
        panic!("{preview:?}")
    };
    assert!(matches!(target, Target::Run { .. }) && to.d_k == 32, "half of the width: {preview:?}");
    assert!(screen.says("Counting…") && screen.says("up to 64 tokens"), "{:#?}", screen.words());
    let cost = |parameters, forward_flops| ModelCost { parameters, forward_flops, tokens: 64 };
    let Command::PreviewConversion(commands::PreviewConversion { target, conversion }) = preview.command.clone() else {
        unreachable!()
    };
    let (before, after) = (cost(100_000, 4_000_000), Some(cost(90_000, 3_000_000)));
    answer(
        &mut screen,
        &preview,
        Event::ConversionPreviewed(events::ConversionPreviewed { target, conversion, before, after }),
    );
    assert!(screen.says("90.0 k params instead of 100 k params (−10 %)"), "{:#?}", screen.words());
    // Where it came from.
    assert!(screen.says("Where it came from") && screen.says("grouped, 2 heads of keys and values"));

    screen.choose("Conversion", "Borrowed maps");
    let preview = asked(&mut screen).pop().unwrap();
    assert!(matches!(
        &preview.command,
        Command::PreviewConversion(commands::PreviewConversion { conversion: Conversion::Borrow(_), .. })
    ));
    let why = "Only standard attention can be converted.".to_owned();
    let messages = screen.state().messages.len();
    answer(&mut screen, &preview, Event::Refused(events::Refused { why: why.clone() }));
    assert!(screen.says(&why) && !screen.is_enabled("Convert"), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages, "the panel says it");

    for (label, flag) in [("Symmetric", "symmetric"), ("Pairwise", "pairwise"), ("Shared weight", "shared-weight")] {
        screen.choose("Conversion", label);
        let preview = asked(&mut screen).pop().unwrap();
        let Command::PreviewConversion(commands::PreviewConversion { conversion, .. }) = &preview.command else {
            panic!("{preview:?}")
        };
        assert_eq!(conversion.info().flag, flag);
    }
    screen.choose("Conversion", "Grouped keys and values");
    screen.choose("Heads of keys and values", "2");
    let _ = asked(&mut screen);
    screen.fill("Write to", "/tmp/headroom-models-test/grouped");
    screen.fill("Examples", "8");
    screen.click("Convert");
    let requests = asked(&mut screen);
    let Some(Request {
        ticket,
        command: Command::Job(JobCommand::Convert(commands::Convert { conversion, to, data, examples, .. })),
    }) = requests.last()
    else {
        panic!("{requests:?}")
    };
    assert_eq!(
        (conversion.info().flag, to.display().to_string().as_str()),
        ("grouped", "/tmp/headroom-models-test/grouped")
    );
    assert_eq!((data.is_none(), *examples), (true, 8));
    assert!(!screen.is_enabled("Convert"), "one at a time");
    let going = Event::Converting(events::Converting {
        attention: "decoder.1.self".to_owned(),
        number: 1,
        count: 2,
        start: 0,
        sweep: 30,
        relative_error: 0.125,
    });
    screen.state().apply(Notice { ticket: Some(*ticket), event: going });
    screen.settle();
    assert!(screen.says("decoder.1.self: sweep 30, error 12.50 %"), "{:#?}", screen.words());
    screen.click("Stop");
    let requests = asked(&mut screen);
    assert!(
        matches!(&requests[..], [Request { command: Command::Cancel(commands::Cancel { job: JobRef::Ticket(conversion) }), .. }] if conversion == ticket)
    );
}

#[test]
fn decisions_on_opening_a_model_are_shown_with_it() {
    let mut screen = panel();
    let requests = asked(&mut screen);
    let Command::DescribeModel(commands::DescribeModel { target }) = &requests[0].command else {
        unreachable!("{requests:?}")
    };
    let notes = vec!["The weights hold another table for it, which is taken.".to_owned(), "Left out: a.b.".to_owned()];
    let facts = DirectoryFacts { notes: notes.clone(), ..model_facts() };
    answer(
        &mut screen,
        &requests[0],
        Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(facts) }),
    );
    assert!(notes.iter().all(|note| screen.has(note)), "{:#?}", screen.words());
}

#[test]
fn a_path_that_leads_nowhere_is_marked() {
    let mut screen = panel();
    let _ = described(&mut screen);
    for (path, is_bad) in [("/nowhere/text.txt", true), (env!("CARGO_MANIFEST_DIR"), false)] {
        screen.fill("Text", path);
        screen.unfocus();
        // It is looked for on a thread.
        screen.wait(path, |screen| {
            let (told, marked) = screen.description("Text");
            (told.contains("no such file"), marked) == (is_bad, is_bad)
        });
    }
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
    let Command::DescribeModel(commands::DescribeModel { target }) = &request.command else { panic!("{request:?}") };
    let mut facts = model_facts();
    (facts.further, facts.why_not_further) = (None, Some("it reads images".to_owned()));
    answer(
        &mut screen,
        &request,
        Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(facts) }),
    );
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
    let event = Event::Refused(events::Refused { why: "There is no model in /nowhere/model.".to_owned() });
    answer(&mut screen, &request, event);
    assert!(screen.says("There is no model in /nowhere/model."), "{:#?}", screen.words());
    screen.click("Try again");
    let request = asked(&mut screen).pop().unwrap();
    let Command::DescribeModel(commands::DescribeModel { target }) = &request.command else { panic!("{request:?}") };
    let event =
        Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(model_facts()) });
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
    assert!(screen.says(" nats, ") && screen.has("Show it"), "{:#?}", screen.words());
    assert!(to.join("model.safetensors").exists());
    screen.click("Show it");
    screen.wait("what was made", |screen| screen.says("Where it came from"));
    assert!(screen.says("without key biases"), "{:#?}", screen.words());
    // Once more to the same place is refused before anything is touched.
    screen.choose("Conversion", "Collaborative heads");
    screen.wait("the preview", |screen| screen.is_enabled("Convert"));
    assert_eq!(screen.value("Write to"), "", "a place of its own is proposed");
    screen.fill("Write to", &to.display().to_string());
    screen.click("Convert");
    screen.wait("the refusal", |screen| screen.says("is there already"));
}

/// What was asked about hubs and models.
fn asked_of_hub(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    let all = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_meant = |request: &Request| {
        matches!(
            request.command,
            Command::DescribeHub
                | Command::Job(JobCommand::Inspect(_) | JobCommand::Fetch(_))
                | Command::Cancel(_)
                | Command::DescribeModel(_)
        )
    };
    all.into_iter().filter(is_meant).collect()
}

/// The panel with the part that brings models open, on a machine of which this is known.
fn bringing(facts: HubFacts) -> Screen {
    let mut screen = panel();
    let _ = asked(&mut screen);
    screen.click("Bring a model from a hub");
    let requests = asked_of_hub(&mut screen);
    assert!(matches!(&requests[..], [Request { command: Command::DescribeHub, .. }]), "{requests:?}");
    answer(&mut screen, &requests[0], Event::HubDescribed(events::HubDescribed { facts: Box::new(facts) }));
    screen
}

const MINI: &str = "sentence-transformers/all-MiniLM-L6-v2";

/// Looks a model of sentences up; what was asked of the engine.
fn look_up(screen: &mut Screen) -> Request {
    screen.fill("Name", MINI);
    screen.click("Look it up");
    let mut requests = asked_of_hub(screen);
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

fn looked_up(facts: RepoFacts) -> Screen {
    let mut screen = bringing(hub_facts());
    let request = look_up(&mut screen);
    answer(&mut screen, &request, Event::Inspected(events::Inspected { facts: Box::new(facts) }));
    screen
}

#[test]
fn a_model_is_looked_up_fetched_and_opened() {
    let mut screen = bringing(hub_facts());
    assert!(screen.says("Nothing is sent while you type") && screen.says("asks huggingface.co about this name"));
    screen.fill("Name", MINI);
    screen.fill("Revision", "v2");
    assert!(asked_of_hub(&mut screen).is_empty(), "nothing is asked while a name is typed");
    screen.press(Modifiers::NONE, Key::Enter);
    let requests = asked_of_hub(&mut screen);
    let Some(Command::Job(JobCommand::Inspect(commands::Inspect { request }))) =
        requests.first().map(|request| &request.command)
    else {
        panic!("{requests:?}")
    };
    assert_eq!((request.name.as_str(), request.revision.as_str(), request.kind), (MINI, "v2", RepoKind::Model));
    assert!(screen.says("Asking the hub…"));
    screen.click("Stop asking");
    assert!(!screen.says("Asking the hub…"));
    let requests = asked_of_hub(&mut screen);
    assert!(matches!(&requests[..], [Request { command: Command::Cancel(_), .. }]), "{requests:?}");
    screen.fill("Revision", "");
    let request = look_up(&mut screen);
    answer(&mut screen, &request, Event::Inspected(events::Inspected { facts: Box::new(repo_facts()) }));
    for words in [
        "BertModel (bert), 6 layers, 12 heads, width 384, 30,522 tokens",
        "yes, as far as its config.json says",
        "apache-2.0",
        "22,713,728",
        "87.1 MiB in 3 files; left out: 24 files",
        "models--sentence-transformers--all-MiniLM-L6-v2/snapshots",
        "everybody",
    ] {
        assert!(screen.says(words), "no \"{words}\": {:#?}", screen.words());
    }
    assert!(asked_of_hub(&mut screen).is_empty(), "nothing is downloaded before it is asked for");

    screen.click("Fetch 87.1 MiB");
    let requests = asked_of_hub(&mut screen);
    let [Request { ticket, command: Command::Job(JobCommand::Fetch(commands::Fetch { request })) }] = &requests[..]
    else {
        panic!("{requests:?}")
    };
    assert_eq!(*request, FetchRequest::of(MINI.parse().unwrap()));
    assert!(!screen.is_enabled("Fetch 87.1 MiB"), "once at a time");
    let going = Event::Fetching(events::Fetching {
        name: request.name.clone(),
        transfer: Transfer {
            file: "model.safetensors".to_owned(),
            number: 2,
            count: 3,
            bytes: 20 << 20,
            total_bytes: 80 << 20,
            bytes_per_sec: f64::from(6 << 20),
        },
    });
    screen.state().apply(Notice { ticket: Some(*ticket), event: going });
    screen.settle();
    assert!(screen.says("20.0 MiB of 80.0 MiB"), "{:#?}", screen.words());
    assert!(screen.says("model.safetensors, file 3 of 3, 6.0 MiB/s, time left 10 s"), "{:#?}", screen.words());

    screen.click(&format!("Stop fetching {MINI}"));
    let cancelled = asked_of_hub(&mut screen);
    assert!(
        matches!(&cancelled[..], [Request { command: Command::Cancel(commands::Cancel { job: JobRef::Ticket(transfer) }), .. }] if transfer == ticket)
    );
    let messages = screen.state().messages.len();
    let why = "It was stopped.".to_owned();
    answer(&mut screen, &requests[0], Event::Failed(events::Failed { run: None, why, what_to_do: String::new() }));
    assert!(screen.says("stopped. What came is kept."), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages, "what the user stopped did not fail");
    let requests = asked_of_hub(&mut screen);
    assert!(matches!(&requests[..], [Request { command: Command::DescribeHub, .. }]), "{requests:?}");
    answer(&mut screen, &requests[0], Event::HubDescribed(events::HubDescribed { facts: Box::new(hub_facts()) }));

    screen.click(&format!("Go on fetching {MINI}"));
    let requests = asked_of_hub(&mut screen);
    let path = repo_facts().folder;
    let files = vec![FetchedFile { path: "config.json".parse().unwrap(), bytes: 612, downloaded: 612 }];
    let fetched =
        Fetched { kind: RepoKind::Model, name: MINI.parse().unwrap(), commit: repo_facts().commit, path, files };
    let done =
        Event::Fetched(events::Fetched { fetched: Box::new(fetched), bytes: 612, downloaded: 612, seconds: 0.5 });
    answer(&mut screen, &requests[0], done);
    // It is shown, and what is here is looked at anew.
    let requests = asked_of_hub(&mut screen);
    let describe = requests.iter().find(|request| matches!(request.command, Command::DescribeModel(_))).unwrap();
    let Command::DescribeModel(commands::DescribeModel { target }) = &describe.command else { unreachable!() };
    assert_eq!(*target, Target::Directory(repo_facts().folder));
    assert!(requests.iter().any(|request| matches!(request.command, Command::DescribeHub)), "{requests:?}");
    let event =
        Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(model_facts()) });
    answer(&mut screen, describe, event);
    assert!(!screen.says("Fetching") && screen.says("Make another model of it"), "{:#?}", screen.words());
    // By its name on the hub, not by that of its folder, which is a hash.
    screen.click("Recent models");
    assert!(screen.has(&format!("Forget {MINI}")), "{:#?}", screen.words());
}

#[test]
fn what_a_hub_does_not_give_is_said_beside_the_name() {
    let mut screen = bringing(hub_facts());
    screen.fill("Name", "no name/at all");
    screen.press(Modifiers::NONE, Key::Enter);
    assert!(screen.says("is no name on a hub") && !screen.is_enabled("Look it up"), "{:#?}", screen.words());
    assert!(asked_of_hub(&mut screen).is_empty());

    let request = look_up(&mut screen);
    let messages = screen.state().messages.len();
    let why = format!("Nothing could be learnt of {MINI}. The hub has no model of this name.");
    answer(&mut screen, &request, Event::Refused(events::Refused { why: why.clone() }));
    assert!(screen.says(&why), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages, "the panel says it");
    // Of another name nothing is said.
    screen.fill("Name", "org/other");
    assert!(!screen.says(&why));

    let why = "Models of type \"clip\" cannot be opened.".to_owned();
    let facts = RepoFacts { opens: Some(false), refusal: Some(why.clone()), ..repo_facts() };
    let screen = looked_up(facts);
    assert!(screen.says(&format!("no. {why}")), "{:#?}", screen.words());
    assert!(screen.is_enabled("Fetch 87.1 MiB"), "other tools may open it");

    let problem = Some("It has no weights.".to_owned());
    let gated = headroom_engine::hub::Gating::Owner;
    let screen = looked_up(RepoFacts { problem, gated, opens: None, bytes: 0, files: Vec::new(), ..repo_facts() });
    for words in ["It has no weights.", "those whom its owner lets in", "its config.json may not be read"] {
        assert!(screen.says(words), "{:#?}", screen.words());
    }
    assert!(!screen.is_enabled("Fetch"));

    let facts = repo_facts();
    let screen = looked_up(RepoFacts { bytes_here: facts.bytes - (1 << 20), ..facts });
    assert!(screen.has("Fetch the other 1.0 MiB"), "{:#?}", screen.words());
}

#[test]
fn what_is_here_opens_without_a_hub() {
    let mut screen = bringing(HubFacts { is_offline: true, ..hub_facts() });
    assert!(screen.says("HF_HUB_OFFLINE is set: no hub is asked."), "{:#?}", screen.words());
    screen.click("google-bert/bert-base-uncased");
    let requests = asked_of_hub(&mut screen);
    let [
        Request {
            command: Command::DescribeModel(commands::DescribeModel { target: Target::Directory(path) }), ..
        },
    ] = &requests[..]
    else {
        panic!("{requests:?}")
    };
    assert_eq!(*path, hub_facts().models[0].path);
    // A name is taken from the cache, and the engine says where it is not there.
    screen.fill("Name", "org/absent");
    screen.click("Take it from the cache");
    let requests = asked_of_hub(&mut screen);
    assert!(matches!(&requests[..], [Request { command: Command::Job(JobCommand::Fetch(_)), .. }]), "{requests:?}");
    let why = "org/absent could not be fetched. It is not in the cache.".to_owned();
    answer(&mut screen, &requests[0], Event::Refused(events::Refused { why: why.clone() }));
    assert!(screen.says(&why));
    screen.click("Leave org/absent");
    assert!(!screen.has("Leave org/absent"));
    // What was cut off goes on by its name.
    assert!(screen.says("cut off, 70.0 MiB came"));
    screen.click("Go on with org/large");
    assert_eq!(screen.value("Name"), "org/large");
}

#[test]
fn a_model_that_is_dropped_on_the_window_is_shown() {
    let mut screen = panel();
    let _ = asked(&mut screen);
    screen.click("Runs");
    screen.hover_with_file(true);
    screen.hover_with_file(false);
    for (dropped, folder) in [
        ("/models/bert", "/models/bert"),
        ("/models/gpt2/config.json", "/models/gpt2"),
        ("/models/bart/model.safetensors", "/models/bart"),
        ("/models/old/pytorch_model.bin", "/models/old"),
    ] {
        screen.drop_on(Path::new(dropped));
        assert_eq!(screen.window().open_panel(), PanelId::MODELS);
        let described = asked(&mut screen).into_iter().find_map(|request| match request.command {
            Command::DescribeModel(commands::DescribeModel { target: Target::Directory(path) }) => Some(path),
            _ => None,
        });
        assert_eq!(described, Some(PathBuf::from(folder)), "{dropped}");
    }
}

#[test]
fn no_run_stands_beside_the_model_of_a_folder() {
    let mut screen = panel();
    let _ = asked(&mut screen);
    let has_run = |screen: &Screen| [screen.has("Run"), screen.has("Checkpoint"), screen.has("Repeat this run")];
    assert_eq!(has_run(&screen), [true; 3], "{:#?}", screen.words());
    screen.drop_on(Path::new("/models/bert"));
    let _ = asked(&mut screen);
    screen.settle();
    assert_eq!(has_run(&screen), [false; 3], "neither in the panel nor in the inspector: {:#?}", screen.words());
    screen.choose("Model", "A run");
    screen.settle();
    assert_eq!(has_run(&screen), [true; 3], "{:#?}", screen.words());
}

#[test]
fn models_of_before_are_remembered_and_forgotten() {
    let mut screen = panel();
    let _ = asked(&mut screen);
    assert!(!screen.is_enabled("Recent models"), "there are none yet");
    for folder in ["/models/first", "/models/second"] {
        screen.drop_on(Path::new(folder));
        let request = asked(&mut screen).pop().unwrap();
        let Command::DescribeModel(commands::DescribeModel { target }) = &request.command else {
            panic!("{request:?}")
        };
        let event =
            Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(model_facts()) });
        answer(&mut screen, &request, event);
        let _ = asked(&mut screen);
    }
    // One that cannot be read is none.
    screen.drop_on(Path::new("/models/third"));
    let request = asked(&mut screen).pop().unwrap();
    answer(&mut screen, &request, Event::Refused(events::Refused { why: "There is no model.".to_owned() }));

    // They are there after the next start, where no run is.
    let settings = screen.window().settings.clone();
    let settings: Settings = serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
    let mut screen = Screen::new(Link::recorder(), settings, None, egui::vec2(1500.0, 1900.0));
    screen.state().runs_loaded = true;
    screen.settle();
    screen.click("Recent models");
    assert!(screen.has("second") && screen.has("first") && !screen.has("Forget third"), "{:#?}", screen.words());
    screen.click("Forget second");
    assert!(!screen.has("Forget second"), "{:#?}", screen.words());
    let _ = asked(&mut screen);
    screen.click("first");
    let request = asked(&mut screen).pop().unwrap();
    assert!(
        matches!(&request.command, Command::DescribeModel(commands::DescribeModel { target: Target::Directory(path) }) if path.ends_with("first"))
    );
}

const TINY: &str = "org/tiny";
const WEIGHTS: &str = "model.safetensors";

/// The child of the next test: its variables name the hub.
#[test]
#[ignore = "run by a_model_comes_from_a_hub_into_the_window"]
fn fetch_in_the_window() {
    let Some(folder) = std::env::var_os("HEADROOM_TEST_FOLDER").map(PathBuf::from) else { return };
    let mut screen = Screen::engine(&folder.join("headroom.db"));
    screen.click("Models");
    screen.click("Bring a model from a hub");
    screen.wait_for_words("No models yet.");
    screen.settle();
    screen.fill("Name", "org/absent");
    screen.click("Look it up");
    screen.wait_for_words("The hub has no model \"org/absent\"");
    screen.fill("Name", TINY);
    screen.click("Look it up");
    screen.wait_for_words("yes, as far as its config.json says");
    screen.settle();
    assert!(screen.says("apache-2.0") && screen.says("models--org--tiny"), "{:#?}", screen.words());
    let fetch = screen.words().into_iter().find(|words| words.starts_with("Fetch ") && words.ends_with("iB")).unwrap();
    screen.click(&fetch);
    // The weights come slowly: what came until the stop is kept.
    screen.wait("some of the weights", |screen| {
        screen
            .state()
            .hub
            .fetches
            .iter()
            .any(|run| run.progress.as_ref().is_some_and(|at| at.file == WEIGHTS && at.bytes > 20_000))
    });
    screen.settle();
    screen.click("Stop fetching org/tiny");
    screen.wait_for_words("stopped. What came is kept.");
    screen.wait_for_words("cut off,");
    screen.settle();
    screen.click("Go on fetching org/tiny");
    screen.wait("the model", |screen| screen.says("Make another model of it"));
    assert!(screen.says("BertForMaskedLM") && screen.says("snapshots"), "{:#?}", screen.words());
    screen.wait("the cache", |screen| screen.has("org/tiny") && !screen.says("cut off,"));
    screen.close();
}

/// A real engine and a hub on loopback: nothing is asked that the user did not ask for, and what was stopped goes on.
#[test]
fn a_model_comes_from_a_hub_into_the_window() {
    let folder = TempDir::new().unwrap();
    let hub = Hub::start();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf/bert_mlm");
    hub.add_folder("models/org/tiny", &golden, &["config.json", WEIGHTS, "tokenizer.json", "vocab.txt"]);
    hub.change("models/org/tiny", |repo| {
        repo.said.insert("cardData".to_owned(), serde_json::json!({ "license": "apache-2.0" }));
    });
    hub.fault(WEIGHTS, &[Fault::Slow(25)]);
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "models::fetch_in_the_window"])
        .env("HEADROOM_TEST_FOLDER", folder.path())
        .env("HF_ENDPOINT", hub.address())
        .env("HF_HOME", folder.path())
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("HF_TOKEN")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    let requests = hub.take_requests();
    let (api, files): (Vec<_>, Vec<_>) = requests.iter().partition(|asked| asked.path.starts_with("/api/"));
    assert!(api.iter().all(|asked| ["org/absent", TINY].iter().any(|name| asked.path.contains(name))), "{api:#?}");
    assert_eq!(
        api.iter().filter(|asked| asked.path.contains("org/absent")).count(),
        1,
        "asked once, when it was whole"
    );
    let ranges: Vec<&str> = files.iter().filter_map(|asked| asked.headers.get("range")).map(String::as_str).collect();
    // Where it lies is another address, which is asked for the same.
    assert!(!ranges.is_empty() && ranges.iter().all(|range| range == &ranges[0]), "{ranges:?}");
    assert!(ranges[0].starts_with("bytes=") && ranges[0] != "bytes=0-", "{ranges:?}");
}

#[test]
fn esc_closes_what_uploads_and_what_brings_a_model() {
    let mut screen = panel();
    screen.click("Bring a model from a hub");
    screen.click("Upload this model to a hub");
    screen.settle();
    assert!(screen.has("Look it up") && screen.has("Name on the hub"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    screen.settle();
    assert!(screen.has("Look it up") && !screen.has("Name on the hub"), "one after the other: {:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    screen.settle();
    assert!(!screen.has("Look it up"), "{:#?}", screen.words());
}
