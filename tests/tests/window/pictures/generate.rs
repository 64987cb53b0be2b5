//! Pictures of the Generate panel: before anything, two settings side by side, beams with attention, the comparison of the caches.

use headroom_app::{context::PanelId, link::Link, settings::ThemeChoice};
use headroom_engine::{
    config::{Cache, Precision},
    generate::{BeamNode, CacheProof, Ending, ProvedCache, SourceAttention},
    protocol::{Command, Event, JobCommand, Notice, PrecisionProof, Request, TokenCost, WrittenText, events},
};
use headroom_tests::{Screen, example_run};

use super::{full, in_a_picture, in_both_themes, laid_out};

fn panel(theme: ThemeChoice, height: f32) -> Screen {
    let mut screen = full(theme, PanelId::GENERATE);
    screen.state().current = None;
    screen.state().waiting.clear();
    screen.state().selection.focused = Some(example_run(0));
    screen.resize(egui::vec2(1280.0, height));
    screen.fill("Text", "the old doctor who sees the two teachers near the river");
    screen
}

/// What was asked of the engine about texts.
fn asked(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    let all = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_meant = |request: &Request| {
        matches!(request.command, Command::Job(JobCommand::Generate(_) | JobCommand::ProveCaches(_)))
    };
    all.into_iter().filter(is_meant).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

fn text(text: &str, ids: &[u32], step_secs: f64, of_token: u64) -> WrittenText {
    let pieces = words(text);
    let cost = |at: usize| TokenCost {
        seconds: step_secs * (at + 1) as f64 + 0.0004 * ((at * 7) % 5) as f64,
        bytes: 26_624 + of_token * at as u64,
    };
    WrittenText {
        text: text.to_owned(),
        tokens: ids.to_vec(),
        ending: Ending::EndToken,
        score: -0.734,
        costs: (0..pieces.len()).map(cost).collect(),
        pieces,
        source: words("the old doctor who sees the two teachers near the river "),
        tree: Vec::new(),
        tree_pieces: Vec::new(),
        attention: None,
        filled: None,
    }
}

fn answer(screen: &mut Screen, request: &Request, text: WrittenText, seconds: f64) {
    let event = Event::Generated(events::Generated {
        target: "a run".to_owned(),
        texts: vec![text],
        seconds,
        reading_seconds: 0.0042,
        cache_bytes: 65_536,
        stopped: false,
        unused_settings: Vec::new(),
        other_settings: Vec::new(),
    });
    screen.state().apply(Notice { ticket: Some(request.ticket), event });
    screen.settle();
}

#[test]
fn generate_before_anything_was_written() {
    laid_out("generate_empty", |theme| panel(theme, 800.0));
}

#[test]
fn two_settings_side_by_side() {
    in_both_themes("generate", |theme| {
        let mut screen = panel(theme, 1000.0);
        screen.click("Two settings side by side");
        screen.choose("Keep between tokens, second setting", "Hidden states (EL)");
        screen.fill("Temperature, second setting", "0.8");
        screen.click("Generate text");
        let requests = asked(&mut screen);
        let first = text(
            "likes her letter , and the child that knows it forgets its book .",
            &[4, 9, 12, 3, 5, 6, 20, 21, 30, 31, 32, 33, 34, 2],
            0.0021,
            2048,
        );
        let second = text(
            "likes her garden , and the children that know it forget their book .",
            &[4, 9, 13, 3, 5, 6, 40, 21, 50, 31, 52, 53, 34, 2],
            0.0027,
            2048,
        );
        answer(&mut screen, &requests[0], first, 0.0336);
        answer(&mut screen, &requests[1], second, 0.042);
        screen
    });
}

#[test]
fn beams_and_attention() {
    in_a_picture("generate_details", |theme| {
        let mut screen = panel(theme, 1500.0);
        screen.fill("Beams", "3");
        screen.click("Beams and attention");
        screen.click("Generate text");
        let requests = asked(&mut screen);
        let node = |parent: Option<usize>, token: u32, sum: f64, score: Option<f64>| BeamNode {
            parent,
            token,
            group: 0,
            log_probability: sum,
            score,
            is_running: false,
        };
        let tree = vec![
            node(None, 4, -0.4, None),
            node(None, 5, -1.3, None),
            node(None, 6, -1.9, None),
            node(Some(0), 9, -0.9, None),
            node(Some(0), 10, -1.4, None),
            node(Some(1), 9, -1.8, None),
            node(Some(3), 12, -1.2, None),
            node(Some(3), 13, -1.9, None),
            node(Some(4), 12, -2.1, None),
            node(Some(6), 2, -1.5, Some(-0.375)),
            node(Some(7), 2, -2.4, Some(-0.6)),
            node(Some(8), 14, -3.0, None),
        ];
        let tree_pieces: Vec<String> =
            ["likes ", "sees ", "a ", "her ", "the ", "her ", "letter ", "garden ", "letter ", ".", ".", ", "]
                .map(str::to_owned)
                .into();
        let mut written = text("likes her letter .", &[4, 9, 12, 2], 0.0021, 2048);
        let source = written.source.len();
        let value = |layer: usize, token: usize, at: usize| {
            let near = (at as f32 - (3 * token + layer) as f32).abs();
            (-near / 1.5).exp() / (2.5 + token as f32)
        };
        let values =
            (0..4).flat_map(|layer| (0..4).flat_map(move |token| (0..source).map(move |at| value(layer, token, at))));
        let attention = SourceAttention { layers: 4, tokens: 4, source, values: values.collect() };
        (written.tree, written.tree_pieces, written.attention) = (tree, tree_pieces, Some(Box::new(attention)));
        answer(&mut screen, &requests[0], written, 0.0126);
        screen
    });
}

#[test]
fn caches_that_lose_nothing() {
    laid_out("generate_proof", |theme| {
        let mut screen = panel(theme, 900.0);
        screen.click("Lossless?");
        screen.click("bf16");
        screen.click("Compare the caches");
        let requests = asked(&mut screen);
        let of = |precision: Precision, reference: Option<usize>| {
            let is_whole = precision == Precision::F32;
            let row = |(place, cache): (usize, Cache)| ProvedCache {
                identical: if is_whole || place == 0 { 32 } else { 31 - place },
                as_reference: reference.map(|count| count - place),
                largest_difference: [0.0, 1.43e-6, 2.86e-6][place] * if is_whole { 1.0 } else { 4e4 },
                cache_bytes: [0, 1_835_008, 1_310_720][place] / if is_whole { 1 } else { 2 },
                seconds: [1.92, 0.21, 0.24][place],
                why: None,
                cache,
            };
            let caches = Cache::ALL.into_iter().enumerate().map(row).collect();
            let proof = CacheProof { texts: 32, tokens: 1_874, caches, stopped: false };
            PrecisionProof { precision, proof }
        };
        let proofs = vec![of(Precision::F32, None), of(Precision::Bf16, Some(30))];
        let data = "held-out text of the built-in grammar".to_owned();
        let event =
            Event::CachesProved(events::CachesProved { target: "a run".to_owned(), data, proofs, stopped: false });
        screen.state().apply(Notice { ticket: Some(requests[0].ticket), event });
        screen.settle();
        screen
    });
}
