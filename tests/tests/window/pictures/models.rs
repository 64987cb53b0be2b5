//! Pictures of the Models panel: a model that was made of another one, and what a conversion did.

use std::path::PathBuf;

use headroom_app::{
    context::PanelId,
    link::Link,
    settings::{Settings, ThemeChoice},
    state::UploadRequest,
};
use headroom_engine::{
    convert::{ConvertedAttention, LayerPrice, Price},
    hub::{FetchRequest, HubError, HubFacts, Transfer},
    protocol::{Command, Event, JobCommand, ModelCost, Notice, Request, Target, Which, commands, events},
};
use headroom_tests::{Screen, example_run, hub_facts, model_facts, push_contents, repo_facts};

use super::{full, in_a_picture, laid_out};

fn asked(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    screen.window().link().map(Link::take_requests).unwrap_or_default()
}

fn panel(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::MODELS);
    screen.window().settings.last_folder = Some("/home/ada/models".into());
    screen.state().current = None;
    screen.state().waiting.clear();
    screen.state().selection.focused = Some(example_run(0));
    for _ in 0..2 {
        for Request { ticket, command } in asked(&mut screen) {
            let event = match command {
                Command::DescribeModel(commands::DescribeModel { target }) => {
                    Event::ModelDescribed(events::ModelDescribed { target, facts: Box::new(model_facts()) })
                }
                Command::PreviewConversion(commands::PreviewConversion { target, conversion }) => {
                    let cost = |parameters, forward_flops| ModelCost { parameters, forward_flops, tokens: 64 };
                    let (before, after) = (cost(933_000, 94_000_000), Some(cost(868_000, 90_000_000)));
                    Event::ConversionPreviewed(events::ConversionPreviewed { target, conversion, before, after })
                }
                _ => continue,
            };
            screen.state().apply(Notice { ticket: Some(ticket), event });
        }
    }
    screen.settle();
    screen
}

#[test]
fn a_model_and_where_it_came_from() {
    in_a_picture("models", panel);
}

#[test]
fn what_a_conversion_did() {
    laid_out("models_converted", |theme| {
        let mut screen = panel(theme);
        screen.resize(egui::vec2(1280.0, 1120.0));
        screen.fill("Write to", "/home/ada/models/grammar-collaborative");
        screen.click("Convert");
        let convert = asked(&mut screen)
            .into_iter()
            .find(|request| matches!(request.command, Command::Job(JobCommand::Convert(_))));
        let Some(Request { ticket, command: Command::Job(JobCommand::Convert(commands::Convert { conversion, .. })) }) =
            convert
        else {
            panic!("nothing was asked for")
        };
        let attention = |layer: usize| ConvertedAttention {
            attention: format!("decoder.{layer}.self"),
            relative_error: Some(0.11 + 0.04 * layer as f64),
            sweeps: 120 + 10 * layer,
            seconds: 0.31 + 0.05 * layer as f64,
        };
        let layer = |layer: usize| LayerPrice {
            layer,
            map_distance: Some(0.041 + 0.012 * layer as f64),
            output_error: 0.018 + 0.021 * layer as f64,
        };
        let event = Event::Converted(events::Converted {
            target: "grammar decoder".to_owned(),
            conversion,
            path: PathBuf::from("/home/ada/models/grammar-collaborative"),
            bytes: 3_570_000,
            parameters_before: 933_120,
            parameters: 867_840,
            attentions: (0..4).map(attention).collect(),
            found: None,
            price: Some(Price {
                data: "held-out text of the built-in grammar".to_owned(),
                examples: 32,
                tokens: 64,
                layers: (0..4).map(layer).collect(),
                loss_before: Some(2.81),
                loss: Some(2.86),
            }),
            unpriced: None,
            left_out: Vec::new(),
            seconds: 1.9,
        });
        screen.state().apply(Notice { ticket: Some(ticket), event });
        screen.settle();
        screen
    });
}

/// Looked up, one on its way, one that was refused.
#[test]
fn a_model_of_a_hub() {
    in_a_picture("models_hub", |theme| {
        let mut screen = panel(theme);
        screen.click("Bring a model from a hub");
        let tell = |screen: &mut Screen, of: fn(&Command) -> bool, event: Event| {
            let request = asked(screen).into_iter().find(|request| of(&request.command)).expect("it was asked for");
            screen.state().apply(Notice { ticket: Some(request.ticket), event });
            screen.settle();
        };
        let here = Event::HubDescribed(events::HubDescribed { facts: Box::new(hub_facts()) });
        tell(&mut screen, |command| matches!(command, Command::DescribeHub), here);
        screen.state().hub.fetch(FetchRequest::of("facebook/bart-base".parse().expect("a name")));
        let going = Event::Fetching(events::Fetching {
            name: "facebook/bart-base".parse().expect("a name"),
            transfer: Transfer {
                file: "model.safetensors".to_owned(),
                number: 4,
                count: 5,
                bytes: 231 << 20,
                total_bytes: 533 << 20,
                bytes_per_sec: f64::from(11 << 20),
            },
        });
        tell(&mut screen, |command| matches!(command, Command::Job(JobCommand::Fetch(_))), going);
        screen.fill("Name", repo_facts().name.as_str());
        screen.click("Look it up");
        let facts = Event::Inspected(events::Inspected { facts: Box::new(repo_facts()) });
        tell(&mut screen, |command| matches!(command, Command::Job(JobCommand::Inspect(_))), facts);
        screen
    });
}

/// What would be sent, and an upload on its way.
#[test]
fn a_model_on_its_way_to_a_hub() {
    laid_out("models_upload", |theme| {
        let mut screen = panel(theme);
        screen.click("Upload this model to a hub");
        let target = Target::Run { run: example_run(0), which: Which::Step(400) };
        let name = "ada/grammar-decoder-400".parse().expect("a name");
        let model = "grammar decoder, step 400".to_owned();
        screen.state().uploads.upload(UploadRequest { target, model, name, public: true });
        for Request { ticket, command } in asked(&mut screen) {
            let event = match command {
                Command::DescribeHub => {
                    let facts = HubFacts { has_token: true, ..hub_facts() };
                    Event::HubDescribed(events::HubDescribed { facts: Box::new(facts) })
                }
                Command::PreviewPush(commands::PreviewPush { target }) => {
                    let contents = push_contents();
                    Event::PushPreviewed(events::PushPreviewed {
                        target,
                        bytes: contents.bytes(),
                        contents: Box::new(contents),
                    })
                }
                Command::Job(JobCommand::Push(commands::Push { name, .. })) => Event::Pushing(events::Pushing {
                    name,
                    transfer: Transfer {
                        file: "model.safetensors".to_owned(),
                        number: 0,
                        count: 1,
                        bytes: 1_310_720,
                        total_bytes: 3_732_480,
                        bytes_per_sec: 262_144.0,
                    },
                }),
                _ => continue,
            };
            screen.state().apply(Notice { ticket: Some(ticket), event });
        }
        screen.fill("Name on the hub", "ada/grammar-decoder");
        screen.click("Models");
        screen
    });
}

/// What was refused, on a machine on which nothing is yet.
#[test]
fn a_model_that_a_hub_does_not_have() {
    laid_out("models_hub_refused", |theme| {
        let mut screen = panel(theme);
        screen.click("Bring a model from a hub");
        for name in ["", "org/all-MiniLM"] {
            if !name.is_empty() {
                screen.fill("Name", name);
                screen.click("Look it up");
            }
            for Request { ticket, command } in asked(&mut screen) {
                let event = match command {
                    Command::DescribeHub => {
                        let facts = HubFacts { models: Vec::new(), interrupted: Vec::new(), ..hub_facts() };
                        Event::HubDescribed(events::HubDescribed { facts: Box::new(facts) })
                    }
                    Command::Job(JobCommand::Inspect(commands::Inspect { request })) => {
                        let error =
                            HubError::NotFound { kind: request.kind, name: request.name.clone(), has_token: false };
                        Event::Refused(events::Refused {
                            why: format!("Nothing could be learnt of {}. {error}", request.name),
                        })
                    }
                    _ => continue,
                };
                screen.state().apply(Notice { ticket: Some(ticket), event });
            }
            screen.settle();
        }
        screen
    });
}

/// No run and no model yet, with what was looked into before.
#[test]
fn no_model_yet() {
    laid_out("models_empty", |theme| {
        let mut settings = Settings { theme, inspector_open: false, ..Settings::default() };
        let recent = ["/home/ada/models/grouped", "/home/ada/runs/export/grammar-decoder"];
        settings.set_panel("models", &serde_json::json!({ "recent": recent }));
        let mut screen = Screen::new(Link::recorder(), settings, None, egui::vec2(1280.0, 800.0));
        screen.state().runs_loaded = true;
        screen.window().open(PanelId::MODELS);
        screen
    });
}
