//! Models on their way to a hub: what is said before anything is sent, how an upload is followed, and one to a hub on loopback.

use std::path::{Path, PathBuf};

use headroom_app::{context::PanelId, link::Link};
use headroom_engine::{
    hub::{HubError, HubFacts, Pushed, Transfer},
    protocol::{Command, Event, JobCommand, JobRef, Notice, Request, Target, Which, commands, events},
};
use headroom_tests::{Fault, Hub, Screen, TOKEN, USER, example_run, hub_facts, model_facts, push_contents};
use tempfile::TempDir;

use crate::{
    common::{train, write_tiny},
    models::{answer, panel},
};

const NAME: &str = "ada/grammar";
const WEIGHTS: &str = "model.safetensors";

/// What was asked about uploads.
fn asked(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    let all = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_meant = |request: &Request| {
        matches!(
            request.command,
            Command::DescribeHub | Command::PreviewPush(_) | Command::Job(JobCommand::Push(_)) | Command::Cancel(_)
        )
    };
    all.into_iter().filter(is_meant).collect()
}

/// Opens the form on a machine of which this is known, and says what would be sent.
fn open(screen: &mut Screen, facts: HubFacts) {
    screen.click("Upload this model to a hub");
    answer_all(screen, &facts);
}

fn answer_all(screen: &mut Screen, facts: &HubFacts) {
    for request in asked(screen) {
        let event = match &request.command {
            Command::DescribeHub => Event::HubDescribed(events::HubDescribed { facts: Box::new(facts.clone()) }),
            Command::PreviewPush(commands::PreviewPush { target }) => {
                let contents = push_contents();
                Event::PushPreviewed(events::PushPreviewed {
                    target: target.clone(),
                    bytes: contents.bytes(),
                    contents: Box::new(contents),
                })
            }
            other => unreachable!("{other:?} was not to be asked for"),
        };
        answer(screen, &request, event);
    }
}

fn with_token() -> HubFacts {
    HubFacts { has_token: true, ..hub_facts() }
}

/// The form on the example run.
fn uploading() -> Screen {
    let mut screen = panel();
    open(&mut screen, with_token());
    screen
}

#[test]
fn nothing_is_sent_before_the_button_is_pressed_and_everything_is_named() {
    let mut screen = uploading();
    for words in [
        "Will be sent: 7 files, 3.6 MiB",
        WEIGHTS,
        "modeling_headroom.py",
        "Stays here: notes.txt, training_state.safetensors.",
        "headroom.toml and headroom.json say on which files, by their paths on this machine",
        "Nothing leaves this machine before you press Upload 3.6 MiB: it goes to huggingface.co with your token.",
    ] {
        assert!(screen.says(words), "no \"{words}\": {:#?}", screen.words());
    }
    assert!(!screen.is_enabled("Upload 3.6 MiB") && screen.is_checked("Private"), "it has no name yet");
    screen.fill("Name on the hub", "no name/at all");
    assert!(screen.says("is no name on a hub") && !screen.is_enabled("Upload 3.6 MiB"), "{:#?}", screen.words());
    screen.fill("Name on the hub", NAME);
    screen.press(egui::Modifiers::NONE, egui::Key::Enter);
    assert!(asked(&mut screen).is_empty(), "a name that is typed sends nothing");
    assert!(!screen.says("Everybody will be able to read it"));

    screen.click("Upload 3.6 MiB");
    let requests = asked(&mut screen);
    let [Request { ticket, command: Command::Job(JobCommand::Push(commands::Push { target, name, public: false })) }] =
        &requests[..]
    else {
        panic!("{requests:?}")
    };
    assert_eq!(*target, Target::Run { run: example_run(0), which: Which::Best });
    assert_eq!(name.as_str(), NAME);
    assert!(!screen.is_enabled("Upload 3.6 MiB"), "once at a time");
    assert!(screen.says("Reading the files, and asking the hub how it wants them"), "{:#?}", screen.words());
    let going = Event::Pushing(events::Pushing {
        name: name.clone(),
        transfer: Transfer {
            file: WEIGHTS.to_owned(),
            number: 0,
            count: 1,
            bytes: 1 << 20,
            total_bytes: 3 << 20,
            bytes_per_sec: f64::from(1 << 20),
        },
    });
    screen.state().apply(Notice { ticket: Some(*ticket), event: going });
    screen.settle();
    assert!(screen.says("1.0 MiB of 3.0 MiB") && screen.says("file 1 of 1, 1.0 MiB/s"), "{:#?}", screen.words());
    // It is seen and can be stopped while the form is closed.
    screen.click("Upload this model to a hub");
    assert!(!screen.says("Will be sent") && screen.says("private"), "{:#?}", screen.words());
    screen.click(&format!("Stop uploading {NAME}"));
    let cancelled = asked(&mut screen);
    assert!(
        matches!(&cancelled[..], [Request { command: Command::Cancel(commands::Cancel { job: JobRef::Ticket(transfer) }), .. }] if transfer == ticket)
    );
    let messages = screen.state().messages.len();
    let why = "It was stopped.".to_owned();
    answer(&mut screen, &requests[0], Event::Failed(events::Failed { run: None, why, what_to_do: String::new() }));
    assert!(screen.says("stopped. The repository is as it was."), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages, "what the user stopped did not fail");

    screen.click(&format!("Try again to upload {NAME}"));
    let requests = asked(&mut screen);
    assert!(
        matches!(
            &requests[..],
            [Request { command: Command::Job(JobCommand::Push(commands::Push { public: false, .. })), .. }]
        ),
        "{requests:?}"
    );
    let pushed = Pushed {
        name: NAME.parse().unwrap(),
        url: format!("https://huggingface.co/{NAME}"),
        commit: Some("0".repeat(40).parse().unwrap()),
        is_new: true,
        public: false,
        files: push_contents().files.into_iter().map(|file| file.name).collect(),
        bytes: push_contents().bytes(),
        sent: 1 << 20,
        left_out: push_contents().left_out,
    };
    let event = Event::Pushed(events::Pushed { target: "grammar".to_owned(), pushed: Box::new(pushed), seconds: 2.5 });
    answer(&mut screen, &requests[0], event);
    for words in
        ["https://huggingface.co/ada/grammar", "7 files, 3.6 MiB, of which 1.0 MiB had to be sent; it is private."]
    {
        assert!(screen.says(words), "no \"{words}\": {:#?}", screen.words());
    }
    assert!(screen.has(&format!("Copy the address of {NAME}")));
    screen.click(&format!("Leave the upload of {NAME}"));
    assert!(!screen.says("had to be sent"), "{:#?}", screen.words());
}

#[test]
fn what_stands_in_the_way_is_said_before_anything_is_tried() {
    let mut screen = panel();
    open(&mut screen, hub_facts());
    screen.fill("Name on the hub", NAME);
    let no_token = HubError::NoToken { doing: "Uploading".to_owned() }.to_string();
    assert!(screen.says(&no_token) && !screen.is_enabled("Upload 3.6 MiB"), "{:#?}", screen.words());
    // A token that was left meanwhile is found.
    screen.click("Look for a token again");
    answer_all(&mut screen, &with_token());
    assert!(!screen.says(&no_token) && screen.is_enabled("Upload 3.6 MiB"), "{:#?}", screen.words());

    let mut screen = panel();
    open(&mut screen, HubFacts { is_offline: true, ..with_token() });
    screen.fill("Name on the hub", NAME);
    assert!(screen.says("HF_HUB_OFFLINE forbids") && !screen.is_enabled("Upload 3.6 MiB"), "{:#?}", screen.words());

    // What cannot be sent, and again when that changed.
    let mut screen = panel();
    let _ = asked(&mut screen);
    screen.click("Upload this model to a hub");
    let messages = screen.state().messages.len();
    for request in asked(&mut screen) {
        let event = match &request.command {
            Command::DescribeHub => Event::HubDescribed(events::HubDescribed { facts: Box::new(with_token()) }),
            _ => Event::Refused(events::Refused {
                why: "\"grammar\" cannot be uploaded. It has no checkpoint.".to_owned(),
            }),
        };
        answer(&mut screen, &request, event);
    }
    assert!(screen.says("It has no checkpoint.") && !screen.has("Upload 3.6 MiB"), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages, "the panel says it");
    screen.click("Look at the files again");
    answer_all(&mut screen, &with_token());
    assert!(screen.has("Upload 3.6 MiB"), "{:#?}", screen.words());
}

#[test]
fn what_the_hub_refuses_is_said_and_another_model_begins_anew() {
    let mut screen = uploading();
    screen.fill("Name on the hub", NAME);
    screen.click("Public");
    assert!(screen.says("Everybody will be able to read it at once."), "{:#?}", screen.words());
    screen.click("Upload 3.6 MiB");
    let requests = asked(&mut screen);
    assert!(
        matches!(
            &requests[..],
            [Request { command: Command::Job(JobCommand::Push(commands::Push { public: true, .. })), .. }]
        ),
        "{requests:?}"
    );
    let messages = screen.state().messages.len();
    let why = format!("\"grammar\" could not be uploaded. {}", HubError::WrongToken);
    answer(&mut screen, &requests[0], Event::Refused(events::Refused { why: why.clone() }));
    assert!(screen.says(&why) && screen.is_enabled("Upload 3.6 MiB"), "{:#?}", screen.words());
    assert_eq!(screen.state().messages.len(), messages + 1, "whoever is in another panel hears of it");

    // The name and the readers of one model are not those of the next.
    screen.drop_on(Path::new("/models/other"));
    let all = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let other = Target::Directory(PathBuf::from("/models/other"));
    assert!(
        all.iter().any(|request| matches!(&request.command, Command::PreviewPush(commands::PreviewPush { target }) if *target == other)),
        "{all:?}"
    );
    for request in &all {
        if let Command::DescribeModel(commands::DescribeModel { target }) = &request.command {
            let event = Event::ModelDescribed(events::ModelDescribed {
                target: target.clone(),
                facts: Box::new(model_facts()),
            });
            answer(&mut screen, request, event);
        }
    }
    assert!(screen.value("Name on the hub").is_empty() && screen.is_checked("Private"), "{:#?}", screen.words());
}

/// The child of the next test: its variables name the hub.
#[test]
#[ignore = "run by a_run_goes_to_a_hub_from_the_window"]
fn upload_in_the_window() {
    let Some(folder) = std::env::var_os("HEADROOM_TEST_FOLDER").map(PathBuf::from) else { return };
    let mut screen = Screen::engine(&folder.join("headroom.db"));
    train(&mut screen, &write_tiny(&folder, "source", 1));
    screen.click("Models");
    screen.click("Upload this model to a hub");
    screen.wait_for_words("Will be sent:");
    screen.settle();
    screen.fill("Name on the hub", "somebody/mine");
    let upload =
        screen.words().into_iter().find(|words| words.starts_with("Upload ") && words.ends_with("iB")).unwrap();
    screen.click(&upload);
    screen.wait_for_words("rights to write");
    screen.fill("Name on the hub", "mine");
    screen.click(&upload);
    // The hub asks to wait at first: what is stopped leaves the repository as it was.
    screen.wait("the upload", |screen| screen.has("Stop uploading mine"));
    screen.click("Stop uploading mine");
    screen.wait_for_words("stopped. The repository is as it was.");
    screen.settle();
    screen.click("Try again to upload mine");
    screen.wait("the address", |screen| screen.has("Copy the address of mine"));
    assert!(screen.says("it is private"), "{:#?}", screen.words());
    assert_eq!(screen.window().open_panel(), PanelId::MODELS);
    screen.close();
}

/// A real engine and a hub on loopback: what was said is sent, to whom it was said, and privately.
#[test]
fn a_run_goes_to_a_hub_from_the_window() {
    let folder = TempDir::new().unwrap();
    let hub = Hub::start();
    hub.fault(&format!("/{USER}/mine.git/info/lfs/objects/batch"), &[Fault::Status(503, Some(20))]);
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "upload::upload_in_the_window"])
        .env("HEADROOM_TEST_FOLDER", folder.path())
        .env("HF_ENDPOINT", hub.address())
        .env("HF_HOME", folder.path())
        .env("HF_TOKEN", TOKEN)
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_HUB_OFFLINE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    assert!(hub.repo("models/somebody/mine").is_none());
    let repo = hub.repo(&format!("models/{USER}/mine")).unwrap();
    assert!(repo.private && repo.commits == 1 && repo.files.contains_key(WEIGHTS), "{:?}", repo.files.keys());
    assert!(!repo.files.contains_key("training_state.safetensors"));
}
