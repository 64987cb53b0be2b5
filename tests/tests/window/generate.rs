//! The Generate panel: what it asks for, what it shows of texts and of the comparison of the caches, over an engine too.

use egui::{Key, Modifiers};
use headroom_app::{context::PanelId, link::Link};
use headroom_engine::{
    config::{Cache, Precision},
    generate::{CacheProof, Ending, ProvedCache, Search},
    protocol::{
        Command, Event, GenerateSource, JobCommand, JobRef, Notice, PrecisionProof, Request, Target, TokenCost, Which,
        WrittenText, commands, events,
    },
};
use headroom_tests::{Screen, example_run, fill_with_examples};
use tempfile::TempDir;

use crate::common::{store, train, write_tiny};

fn panel() -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    screen.state().selection.focused = Some(example_run(0));
    screen.click("Generate");
    screen.recorded();
    screen
}

/// What was asked of the engine about texts.
fn asked(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    let all = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_meant = |request: &Request| {
        matches!(
            request.command,
            Command::Job(JobCommand::Generate(_) | JobCommand::ProveCaches(_)) | Command::Cancel(_)
        )
    };
    all.into_iter().filter(is_meant).collect()
}

fn text(tokens: &[u32], pieces: &[&str]) -> WrittenText {
    WrittenText {
        text: pieces.concat(),
        tokens: tokens.to_vec(),
        ending: Ending::Length,
        score: -1.5,
        pieces: pieces.iter().map(|&piece| piece.to_owned()).collect(),
        costs: (1..=tokens.len()).map(|at| TokenCost { seconds: 0.01 * at as f64, bytes: 256 * at as u64 }).collect(),
        source: vec!["the".to_owned(), " river".to_owned()],
        tree: Vec::new(),
        tree_pieces: Vec::new(),
        attention: None,
        filled: None,
    }
}

fn answer(screen: &mut Screen, request: &Request, text: WrittenText) {
    let event = Event::Generated(events::Generated {
        target: "a run".to_owned(),
        texts: vec![text],
        seconds: 0.5,
        reading_seconds: 0.1,
        cache_bytes: 4096,
        stopped: false,
        unused_settings: vec!["stop_strings".to_owned()],
        other_settings: vec!["num_beams: 4".to_owned()],
    });
    screen.state().apply(Notice { ticket: Some(request.ticket), event });
    screen.settle();
}

#[test]
fn what_is_missing_is_said_and_the_whole_setting_is_asked_for() {
    let mut screen = panel();
    assert!(!screen.is_enabled("Generate text"));
    assert!(screen.says("Write a text, or take"));
    screen.fill("Text", "the river");
    screen.choose("Keep between tokens", "Hidden states (EL)");
    screen.fill("Beams", "4");
    screen.fill("Groups", "3");
    assert!(screen.says("4 beams cannot be put into 3 equal groups"), "{:#?}", screen.words());
    assert!(!screen.is_enabled("Generate text"));
    screen.fill("Groups", "2");
    screen.fill("Most tokens", "7");
    screen.choose("Number format", "bf16");
    screen.click("Generate text");
    let requests = asked(&mut screen);
    let [
        Request {
            command:
                Command::Job(JobCommand::Generate(commands::Generate {
                    target, sources, search, precision, details, ..
                })),
            ..
        },
    ] = &requests[..]
    else {
        panic!("{requests:?}")
    };
    assert_eq!(*target, Target::Run { run: example_run(0), which: Which::Best });
    assert_eq!(sources[..], [GenerateSource::Text("the river".to_owned())]);
    let expected = Search { cache: Cache::ALL[2].clone(), beams: 4, groups: 2, max_new_tokens: 7, ..Search::default() };
    assert_eq!((&**search, *precision, *details), (&expected, Precision::Bf16, false));
    // Another text cannot be asked for before this one ended; Stop cancels this request and nothing else.
    assert!(!screen.is_enabled("Generate text"));
    screen.click("Stop generating");
    let stopped = asked(&mut screen);
    assert!(
        matches!(&stopped[..], [Request { command: Command::Cancel(commands::Cancel { job: JobRef::Ticket(generation) }), .. }] if *generation == requests[0].ticket)
    );
    // A held-out example.
    answer(&mut screen, &requests[0], text(&[1], &[" flows"]));
    screen.choose("What the model reads", "Held-out example");
    screen.click("Generate text");
    let requests = asked(&mut screen);
    assert!(
        matches!(&requests[0].command, Command::Job(JobCommand::Generate(commands::Generate { sources, .. })) if sources[..] == [GenerateSource::HeldOut { number: 0, tokens: 32 }])
    );
}

#[test]
fn the_path_of_a_folder_is_typed_right_after_the_choice_and_no_digit_leads_away() {
    let mut screen = panel();
    screen.choose("Model", "A model directory");
    for _ in 0..3 {
        screen.press_text(Key::Num7, "7");
    }
    assert_eq!(screen.window().open_panel(), PanelId::GENERATE);
    assert_eq!(screen.value("Model directory"), "777");
    // Enter leaves it in the field too.
    screen.press(Modifiers::NONE, Key::Enter);
    screen.press_text(Key::Num7, "7");
    assert_eq!((screen.window().open_panel(), screen.value("Model directory").as_str()), (PanelId::GENERATE, "7777"));
}

#[test]
fn what_a_choice_means_is_told_beside_the_list() {
    let mut screen = panel();
    screen.click("Keep between tokens");
    let [first, next, _] = Cache::ALL.map(|cache| cache.label());
    screen.point_at(first);
    let told = screen.painted().into_iter().find(|text| text.text.starts_with("Every token computes"));
    let told = told.map(|text| text.rect).unwrap();
    for entry in [first, next] {
        assert!(!told.intersects(screen.rect(entry)), "{entry}: {told:?} {:?}", screen.rect(entry));
    }
}

#[test]
fn two_settings_stand_side_by_side_with_what_differs() {
    let mut screen = panel();
    screen.fill("Text", "the river");
    screen.click("Two settings side by side");
    screen.fill("Temperature, second setting", "1");
    screen.click("Generate text");
    let requests = asked(&mut screen);
    assert_eq!(requests.len(), 2);
    let grows = Event::Generating(events::Generating {
        source: 0,
        step: 1,
        text: " flows".to_owned(),
        seconds: 0.01,
        cache_bytes: 4096,
        tokens: vec![5],
        pieces: vec![" flows".to_owned()],
        costs: vec![TokenCost { seconds: 0.01, bytes: 256 }],
    });
    screen.state().apply(Notice { ticket: Some(requests[0].ticket), event: grows });
    screen.settle();
    assert!(screen.says(" flows") && screen.says("1 token in"), "{:#?}", screen.words());
    answer(&mut screen, &requests[0], text(&[5, 6, 7], &[" flows", " to", " sea"]));
    answer(&mut screen, &requests[1], text(&[5, 9, 7], &[" flows", " by", " sea"]));
    let told = "1 token (underlined) that the other side does not have.";
    assert_eq!(screen.labels(told), 2, "{:#?}", screen.words());
    for told in ["generation_config.json: stop_strings.", "settings are others: num_beams: 4."] {
        assert!(screen.says(told), "{told}: {:#?}", screen.words());
    }
    for name in ["Kept after each token", "Time of each token", "Kept after each token, second setting"] {
        assert!(screen.has(name), "{name}: {:#?}", screen.words());
    }
    assert_eq!(screen.click_to_copy("Copy").unwrap(), " flows to sea\n\n flows by sea");
    // The same tokens.
    screen.click("Generate text");
    let requests = asked(&mut screen);
    for request in &requests {
        answer(&mut screen, request, text(&[5, 6], &[" flows", " to"]));
    }
    assert!(screen.says("The tokens are the same on both sides"));
    // A refusal stands where the text would, in the engine's words.
    screen.click("Generate text");
    let requests = asked(&mut screen);
    let why = "It could not generate a text. Only a decoder can continue text.".to_owned();
    screen.state().apply(Notice {
        ticket: Some(requests[0].ticket),
        event: Event::Refused(events::Refused { why: why.clone() }),
    });
    screen.settle();
    assert!(screen.labels(&why) > 0, "{:#?}", screen.words());
}

#[test]
fn the_comparison_of_the_caches_is_a_table() {
    let mut screen = panel();
    screen.click("Lossless?");
    screen.click("bf16");
    screen.fill("Examples", "8");
    screen.click("Compare the caches");
    let requests = asked(&mut screen);
    let [
        Request {
            ticket,
            command: Command::Job(JobCommand::ProveCaches(commands::ProveCaches { sources, examples, precisions, .. })),
        },
    ] = &requests[..]
    else {
        panic!("{requests:?}")
    };
    assert!(sources.is_empty());
    assert_eq!((*examples, precisions.as_slice()), (8, &[Precision::F32, Precision::Bf16][..]));
    let of = |precision, same, reference: Option<usize>| {
        let row = |cache: Cache| ProvedCache {
            largest_difference: if cache.is_none() { 0.0 } else { 2.5e-6 },
            identical: if cache.is_none() { 8 } else { same },
            as_reference: reference,
            cache_bytes: 2048,
            seconds: 0.25,
            why: None,
            cache,
        };
        let proof = CacheProof { texts: 8, tokens: 99, caches: Cache::ALL.map(row).to_vec(), stopped: false };
        PrecisionProof { precision, proof }
    };
    let proofs = vec![of(Precision::F32, 8, None), of(Precision::Bf16, 6, Some(7))];
    let data = "held-out text of the grammar".to_owned();
    let event = Event::CachesProved(events::CachesProved { target: "a run".to_owned(), data, proofs, stopped: false });
    screen.state().apply(Notice { ticket: Some(*ticket), event });
    screen.settle();
    assert!(screen.says("f32: every cache wrote the same tokens (8 texts, 99 tokens)"), "{:#?}", screen.words());
    assert!(screen.says("bf16: not every cache wrote the same tokens"));
    assert!(
        screen.says("6 of 8 (75 %)") && screen.says("7 of 8 (88 %)") && screen.says("held-out text of the grammar")
    );
    let csv = screen.click_to_copy("Copy the comparison").unwrap();
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.contains("bf16,hidden,8,99,6,7,0.0000025,2048,0.25,"), "{csv}");
}

/// A real engine: an encoder has hidden words to fill in, and nothing that is searched for.
#[test]
fn an_encoder_fills_in_hidden_words_in_the_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    let encoder = folder.path().join("encoder.toml");
    std::fs::write(&encoder, headroom_tests::TINY_ENCODER).unwrap();
    train(&mut screen, &encoder);
    screen.click("Generate");
    screen.settle();
    assert!(!screen.has("Beams") && !screen.has("Most tokens") && !screen.has("Lossless?"), "{:#?}", screen.words());
    screen.fill("Text", "the [MASK] sees");
    screen.click("Fill in");
    let done = |screen: &mut Screen| {
        let side = screen.state().generate.sides[0].clone();
        side.is_some_and(|side| !side.phase.is_open())
    };
    screen.wait("the filled text", done);
    screen.settle();
    assert!(screen.says("1 hidden word filled in, in ") && screen.says("Most probable"), "{:#?}", screen.words());
    // Of a held-out example it is known what stood there.
    screen.choose("What the model reads", "Held-out example");
    screen.click("Fill in");
    screen.wait("the filled example", |screen| done(screen) && screen.says("Truth"));
    let filling = screen.state().generate.sides[0].clone().and_then(|side| side.text.filled).unwrap();
    assert!(filling.words.len() > 1 && filling.words.iter().all(|word| word.truth.is_some()), "{filling:?}");
}

/// A real engine: text streams, stops, and the caches are proved to lose nothing.
#[test]
fn a_trained_model_writes_text_in_the_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    train(&mut screen, &write_tiny(folder.path(), "writer", 1));
    screen.click("Generate");
    screen.fill("Text", "the");
    screen.fill("Most tokens", "6");
    screen.fill("Beams", "2");
    screen.click("Beams and attention");
    screen.click("Generate text");
    screen.wait("the text", |screen| {
        let side = screen.state().generate.sides[0].clone();
        side.is_some_and(|side| !side.phase.is_open())
    });
    screen.settle();
    let side = screen.state().generate.sides[0].clone().unwrap();
    assert!(!side.text.tokens.is_empty(), "{side:?}");
    assert!(screen.has("Tree of beams") && screen.has("Map: attention on the source"), "{:#?}", screen.words());
    let attention = side.text.attention.unwrap();
    assert_eq!((attention.tokens, attention.source), (side.text.tokens.len(), 3));
    screen.choose("What the model reads", "Held-out example");
    screen.click("Generate text");
    screen.wait("the text after an example", |screen| {
        let side = screen.state().generate.sides[0].clone();
        side.is_some_and(|side| !side.phase.is_open() && side.text.source.len() > 3)
    });
    screen.click("Lossless?");
    screen.fill("Examples", "4");
    screen.click("Compare the caches");
    screen.wait("the comparison", |screen| {
        screen.state().generate.proving.as_ref().is_some_and(|proving| !proving.phase.is_open())
    });
    screen.settle();
    let proving = screen.state().generate.proving.clone().unwrap();
    assert!(proving.proofs[0].proof.is_lossless() && proving.proofs[0].proof.texts == 4, "{proving:?}");
    assert!(screen.says("f32: every cache wrote the same tokens (4 texts"), "{:#?}", screen.words());
}
