//! Models with a task in the window: which classes they confuse, and what they answer.

use std::{fs, path::Path};

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{
    config::{ImageShape, Precision},
    data::PreviewImage,
    objective::{ConfusionMatrix, Labels, Measurements},
    protocol::{
        AnswerPlaces, Command, EvaluationCounts, Event, FoundAnswer, JobCommand, JobRef, MapText, Mistake, Notice,
        Request, Target, commands, events,
    },
    store::{NewSnapshot, snapshot_kinds},
};
use headroom_tests::{Screen, example_run, fill_with_examples};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{TINY, store, train};

/// A run that tells texts with `yes` from texts without it.
fn write_classifier(folder: &Path) -> std::path::PathBuf {
    let rows: Vec<String> = (0..80)
        .map(|row| {
            let (word, label) = if row % 2 == 0 { ("yes", "good") } else { ("no", "bad") };
            format!("{word} {row}\t{label}")
        })
        .collect();
    fs::write(folder.join("table.tsv"), format!("text\tlabel\n{}\n", rows.join("\n"))).unwrap();
    let path = folder.join("classifier.toml");
    let table =
        "kind = \"table\"\npath = \"table.tsv\"\ntext = \"text\"\nlabel = \"label\"\nvalidation_fraction = 0.25";
    let config = TINY
        .replace("NAME", "judge")
        .replace("SEED", "1")
        .replace("kind = \"grammar\"\nwords = 1000", table)
        .replace("kind = \"decoder\"", "kind = \"encoder\"")
        .replace("evaluate_batches = 1", "evaluate_batches = 0")
        .replace("[model]", "[task]\nkind = \"classification\"\n[model]");
    fs::write(&path, config).unwrap();
    path
}

#[test]
fn a_classifier_shows_what_it_confuses_and_answers_about_a_text() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    train(&mut screen, &write_classifier(folder.path()));
    screen.press_text(Key::Num2, "2");
    screen.wait("the confusion matrix", |screen| screen.has("Export the confusion matrix"));
    let run = screen.state().runs[0].id.clone();
    let (step, found) = screen.state().confusion[&run].clone().unwrap();
    assert_eq!((step, found.labels.as_slice()), (24, &["bad".to_owned(), "good".to_owned()][..]));
    assert_eq!(found.counts.iter().flatten().sum::<u64>(), 20, "a quarter is held out");
    screen.click("Show the mistakes");
    screen.wait("the mistakes", |screen| screen.has("Search the mistakes"));
    screen.click("Generate");
    assert!(!screen.is_enabled("Ask the model") && screen.says("Write a text."), "{:#?}", screen.words());
    screen.fill("Text", "yes 7");
    screen.click("Ask the model");
    screen.wait("the answer", |screen| {
        let asked = screen.state().answers.asked.as_ref();
        asked.is_some_and(|asked| asked.outcome.is_some())
    });
    screen.settle();
    assert!(screen.says("good") && screen.says("bad"), "{:#?}", screen.words());
}

fn asked(screen: &mut Screen) -> Option<Request> {
    screen.settle();
    let all = screen.window().link().map(headroom_app::link::Link::take_requests).unwrap_or_default();
    all.into_iter().find(|request| matches!(request.command, Command::Job(JobCommand::Predict(_))))
}

#[test]
fn an_answer_is_shown_in_its_paragraph_and_a_failure_where_it_was_asked() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    screen.state().selection.focused = Some(example_run(0));
    let record = screen.state().records.get_mut(&example_run(0)).unwrap();
    record.config["task"] = json!({ "kind": "span" });
    screen.click("Generate");
    screen.recorded();
    screen.fill("Question", "Who crosses?");
    assert!(screen.says("Write the paragraph"), "{:#?}", screen.words());
    screen.fill("Paragraph", "The old ferryman crosses the river.");
    // What stands in Configure is not meant.
    screen.press(Modifiers::COMMAND, Key::Enter);
    assert_eq!(screen.window().open_panel(), PanelId::GENERATE);
    let request = asked(&mut screen).unwrap();
    let Command::Job(JobCommand::Predict(commands::Predict { target: Target::Run { run, .. }, rows, images: None })) =
        &request.command
    else {
        panic!("{:?}", request.command)
    };
    assert_eq!((run, rows.len(), rows[0][0].as_str()), (&example_run(0), 1, "Who crosses?"));
    let answer =
        headroom_engine::protocol::AnswerSpan { text: "old ferryman".to_owned(), start: 4, end: 16, score: 3.5 };
    let event = Event::AnswersFound(events::AnswersFound {
        target: "a run".to_owned(),
        may_lack_answers: true,
        no_answer_threshold: 1.0,
        answers: vec![FoundAnswer { answer: Some(answer), no_answer_score: 2.0 }],
        cut_questions: 0,
    });
    screen.state().apply(Notice { ticket: Some(request.ticket), event });
    screen.settle();
    assert!(screen.says("old ferryman") && screen.says("that of no answer 2"), "{:#?}", screen.words());
    screen.click("Ask the model");
    let request = asked(&mut screen).unwrap();
    let why = "The model directory has no tokenizer.json, so text cannot be read.".to_owned();
    screen
        .state()
        .apply(Notice { ticket: Some(request.ticket), event: Event::Refused(events::Refused { why: why.clone() }) });
    screen.settle();
    assert!(screen.says(&why));
}

#[test]
fn images_that_were_answered_about_are_seen_with_their_classes() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    screen.state().selection.focused = Some(example_run(0));
    let record = screen.state().records.get_mut(&example_run(0)).unwrap();
    record.config["task"] = json!({ "kind": "image_classification" });
    screen.click("Generate");
    screen.recorded();
    screen.fill("Image", "/images");
    screen.click("Ask the model");
    let request = asked(&mut screen).unwrap();
    let picture = |label: &str, grey: u8| PreviewImage {
        label: label.to_owned(),
        shape: ImageShape { size: 2, channels: 1 },
        pixels: vec![grey; 4],
    };
    let event = Event::Predicted(events::Predicted {
        target: "a run".to_owned(),
        labels: Labels::Classes(vec!["bag".to_owned(), "coat".to_owned()]),
        outputs: vec![vec![0.25, 0.75], vec![0.9, 0.1], vec![0.5, 0.5]],
        cut_rows: 0,
        names: vec!["a.png".to_owned(), "b.png".to_owned(), "c.png".to_owned()],
        // Of many images only the first come along.
        pictures: vec![picture("a.png", 10), picture("b.png", 200)],
    });
    screen.state().apply(Notice { ticket: Some(request.ticket), event });
    screen.settle();
    assert!(screen.has("Image: a.png: coat, 75.00 %"), "{:#?}", screen.words());
    assert!(screen.has("Image: b.png: bag, 90.00 %") && !screen.says("Image: c.png"), "{:#?}", screen.words());
    assert!(screen.says("c.png"), "it stands in the table");
}

#[test]
fn a_run_without_classes_has_no_confusion_matrix() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_run(0);
    screen.state().apply(Event::Snapshots(events::Snapshots {
        run: run.clone(),
        kind: snapshot_kinds::CONFUSION.to_owned(),
        snapshots: Vec::new(),
    }));
    assert_eq!(screen.state().confusion.get(&run), Some(&None));
    screen.state().selection.focused = Some(run);
    screen.click("Live");
    assert!(!screen.has("Export the confusion matrix"));
    let kept = NewSnapshot::confusion(3, &ConfusionMatrix { labels: vec!["a".to_owned()], counts: vec![vec![4]] });
    assert_eq!((kept.dtype.as_str(), kept.shape[0] as usize), ("json", kept.data.len()));
}

#[test]
fn a_classifier_that_says_the_same_of_everything_is_told_of() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    let run = example_run(0);
    screen.state().selection.focused = Some(run.clone());
    let words = "It says \"dog\" for every one of 7 examples.";
    for (step, counts, is_told) in [(3, [[0, 4], [0, 3]], true), (6, [[1, 3], [0, 3]], false)] {
        let labels = vec!["cat".to_owned(), "dog".to_owned()];
        let found = ConfusionMatrix { labels, counts: counts.map(Vec::from).to_vec() };
        screen.state().confusion.insert(run.clone(), Some((step, found)));
        screen.click("Live");
        screen.settle();
        assert!(screen.has("Export the confusion matrix"));
        assert_eq!(screen.says(words), is_told, "{:#?}", screen.words());
    }
}

/// The answer of an evaluation that found these.
fn wrong(mistakes: Vec<Mistake>) -> Event {
    Event::Evaluation(events::Evaluation {
        target: "a run".to_owned(),
        loss: 1.0,
        metrics: Measurements::default(),
        tokens: 10,
        counts: EvaluationCounts::default(),
        unit: "nats/example".to_owned(),
        sequence_length: 8,
        precision: Precision::F32,
        coverage: None,
        score_error: None,
        confusion: None,
        mistakes,
        noise: Vec::new(),
    })
}

#[test]
fn mistakes_are_shown_a_few_at_a_time_without_a_list_that_takes_the_wheel() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    let run = example_run(0);
    screen.state().selection.focused = Some(run.clone());
    let labels = ["cat", "dog"].map(str::to_owned).to_vec();
    let counts = ConfusionMatrix { labels, counts: vec![vec![4, 1], vec![2, 3]] };
    screen.state().confusion.insert(run, Some((3, counts)));
    screen.click("Live");
    screen.click("Show the mistakes");
    screen.settle();
    let all = screen.window().link().map(headroom_app::link::Link::take_requests).unwrap_or_default();
    let request = all.into_iter().find(|request| {
        matches!(request.command, Command::Job(JobCommand::Evaluate(commands::Evaluate { mistakes: 1.., .. })))
    });
    let mistake = |number: u64| Mistake {
        texts: vec![format!("text {number}")],
        image: None,
        picture: None,
        right: "cat".to_owned(),
        predicted: "dog".to_owned(),
        confidence: 0.9,
        places: None,
    };
    let event = wrong((0..25).map(mistake).collect());
    screen.state().apply(Notice { ticket: Some(request.unwrap().ticket), event });
    screen.settle();
    let has = |screen: &Screen, number: u64| screen.has(&format!("Attention on \u{201C}text {number}\u{201D}"));
    assert!(has(&screen, 9) && !has(&screen, 10), "{:#?}", screen.words());
    screen.click("Show 10 more mistakes");
    assert!(has(&screen, 19) && !has(&screen, 20), "{:#?}", screen.words());
    screen.click("Show 5 more mistakes");
    assert!(has(&screen, 24) && !screen.says("more mistake"), "{:#?}", screen.words());
    screen.fill("Search the mistakes", "text 2");
    assert!(screen.says("6 mistakes of 25") && has(&screen, 24) && !has(&screen, 3), "{:#?}", screen.words());
    screen.fill("Search the mistakes", "");
    assert!(has(&screen, 9) && !has(&screen, 10), "another list begins with its first: {:#?}", screen.words());
}

#[test]
fn mistakes_that_wait_stand_in_the_queue_and_can_be_cancelled() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_run(0);
    let name = screen.state().run_name(&run);
    screen.state().selection.live = Some(run.clone());
    let labels = ["cat", "dog"].map(str::to_owned).to_vec();
    let counts = ConfusionMatrix { labels, counts: vec![vec![4, 1], vec![2, 3]] };
    screen.state().confusion.insert(run.clone(), Some((3, counts)));
    screen.click("Live");
    screen.click("Show the mistakes");
    screen.settle();
    screen.recorded();
    let asked = screen.state().mistakes.asked().unwrap();
    // A run trains, and one waits.
    screen.click("Queue, 2 wait");
    assert!(screen.says(&format!("Mistakes of {name}")), "{:#?}", screen.words());
    let cancel = format!("Cancel: Mistakes of {name}, place 1");
    screen.click(&cancel);
    let is_cancelled = |command: &Command| matches!(command, Command::Cancel(commands::Cancel { job: JobRef::Ticket(prediction) }) if *prediction == asked);
    assert!(screen.recorded().iter().any(is_cancelled));
    let why = "It was taken out of the queue before it began.".to_owned();
    screen.state().apply(Notice { ticket: Some(asked), event: Event::Refused(events::Refused { why }) });
    screen.settle();
    assert!(!screen.has(&cancel) && !screen.state().mistakes.is_waiting(&run), "{:#?}", screen.words());
}

#[test]
fn a_mistake_shows_its_image_or_its_attention() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    let run = example_run(0);
    screen.state().selection.focused = Some(run.clone());
    let counts =
        ConfusionMatrix { labels: vec!["cat".to_owned(), "dog".to_owned()], counts: vec![vec![4, 1], vec![2, 3]] };
    screen.state().confusion.insert(run, Some((3, counts)));
    screen.click("Live");
    screen.click("Show the mistakes");
    screen.settle();
    let all = screen.window().link().map(headroom_app::link::Link::take_requests).unwrap_or_default();
    let request = all.into_iter().find(|request| {
        matches!(request.command, Command::Job(JobCommand::Evaluate(commands::Evaluate { mistakes: 1.., .. })))
    });
    let shape = ImageShape { size: 2, channels: 1 };
    let picture = PreviewImage { label: "cat".to_owned(), shape, pixels: vec![0, 90, 180, 255] };
    // A question with its paragraph: the right answer stands where the model sees another.
    let places = AnswerPlaces { right: Some([7, 11]), predicted: Some([0, 2]) };
    let question = Mistake {
        texts: vec!["who naps?".to_owned(), "We see cats nap.".to_owned()],
        image: None,
        picture: None,
        right: "cats".to_owned(),
        predicted: "We".to_owned(),
        confidence: 0.25,
        places: Some(places),
    };
    let mistake = |texts: &[&str], picture: Option<PreviewImage>| Mistake {
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        image: picture.as_ref().map(|_| 7),
        picture,
        right: "cat".to_owned(),
        predicted: "dog".to_owned(),
        confidence: 0.9,
        places: None,
    };
    let event = wrong(vec![
        mistake(&["it purrs"], None),
        mistake(&["one", "two"], None),
        mistake(&[], Some(picture)),
        question,
    ]);
    screen.state().apply(Notice { ticket: Some(request.unwrap().ticket), event });
    screen.settle();
    assert!(screen.has("Image: cat, taken for dog (90 %); held-out image 8"), "{:#?}", screen.words());
    for words in
        ["answered We (25 %)", "who naps?", "We see cats nap.", "4 mistakes of the best checkpoint. On a ground"]
    {
        assert!(screen.says(words), "{words}: {:#?}", screen.words());
    }
    screen.fill("Search the mistakes", "naps");
    screen.settle();
    assert!(screen.says("1 mistake of 4") && screen.says("We see cats nap."), "{:#?}", screen.words());
    assert!(!screen.has("Attention on “it purrs”"), "{:#?}", screen.words());
    screen.fill("Search the mistakes", "purrs");
    screen.settle();
    assert!(!screen.says("We see cats nap."), "{:#?}", screen.words());
    for (button, expected) in [
        ("Attention on “it purrs”", MapText::Written("it purrs".to_owned())),
        ("Attention on “one”", MapText::Written("one\ttwo".to_owned())),
        ("Attention on “who naps?”", MapText::Written("who naps?\tWe see cats nap.".to_owned())),
    ] {
        screen.click("Live");
        screen.fill("Search the mistakes", "");
        screen.settle();
        screen.recorded();
        screen.click(button);
        screen.settle();
        assert_eq!(screen.window().open_panel(), PanelId::HEADS);
        let asked = screen.recorded();
        let is_asked = |command: &Command| matches!(command, Command::LoadMaps(commands::LoadMaps { text, .. }) if *text == expected);
        assert!(asked.iter().any(is_asked), "{expected:?}: {asked:?}");
    }
}
