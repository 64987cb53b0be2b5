//! Pictures of the Models panel: a model that was made of another one, and what a conversion did.

use std::path::PathBuf;

use headroom_app::{context::PanelId, link::Link, settings::ThemeChoice};
use headroom_engine::{
    convert::{ConvertedAttention, LayerPrice, Price},
    worker::{Command, Event, ModelCost, Notice, Request},
};
use headroom_tests::{Screen, example_run, model_facts};

use crate::{full, in_both_themes};

fn asked(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    screen.window().link().map(Link::take_requests).unwrap_or_default()
}

fn panel(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::MODELS);
    screen.state().current = None;
    screen.state().waiting.clear();
    screen.state().selection.focused = Some(example_run(0));
    for _ in 0..2 {
        for Request { ticket, command } in asked(&mut screen) {
            let event = match command {
                Command::DescribeModel { target } => Event::ModelDescribed { target, facts: Box::new(model_facts()) },
                Command::PreviewConversion { target, conversion } => {
                    let cost = |parameters, forward_flops| ModelCost { parameters, forward_flops, tokens: 64 };
                    let (before, after) = (cost(933_000, 94_000_000), Some(cost(868_000, 90_000_000)));
                    Event::ConversionPreviewed { target, conversion, before, after }
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
    in_both_themes("models", panel);
}

#[test]
fn what_a_conversion_did() {
    in_both_themes("models_converted", |theme| {
        let mut screen = panel(theme);
        screen.fill("Write to", "/home/ada/models/grammar-collaborative");
        screen.click("Convert");
        let convert = asked(&mut screen).into_iter().find(|request| matches!(request.command, Command::Convert { .. }));
        let Some(Request { ticket, command: Command::Convert { conversion, .. } }) = convert else {
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
        let event = Event::Converted {
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
            seconds: 1.9,
        };
        screen.state().apply(Notice { ticket: Some(ticket), event });
        screen.settle();
        screen
    });
}
