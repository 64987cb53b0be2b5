use std::time::{Duration, Instant};

use headroom_engine::{
    objective::Measurements,
    protocol::{Command, Event, JobLabel, Request, RunEdit, commands, events},
    store::{
        Cut, Direction, RunId, RunRecord, RunState, RunSummary, SeriesData, SeriesSummary, TextSample,
        series_names::{TRAIN_LOSS, VALIDATION_LOSS},
    },
    train::Health,
};

use super::*;
use crate::{examples, messages::Level, plot::CurveX};

fn id(text: &str) -> RunId {
    format!("{text:0>10}").parse().unwrap()
}

fn job(run: &str) -> JobLabel {
    JobLabel::train(id(run), run)
}

fn step(run: &str, step: u64) -> Event {
    Event::Step(events::Step {
        run: id(run),
        step,
        steps: 100,
        loss: 2.5,
        learning_rate: 1e-3,
        grad_norm: 1.0,
        tokens_per_sec: 1e4,
        tokens: step * 10,
        eta_secs: 9.0,
    })
}

fn data(steps: &[u64], is_whole: bool) -> SeriesData {
    SeriesData {
        steps: steps.to_vec(),
        values: steps.iter().map(|&step| step as f64 / 2.0).collect(),
        wall_ms: steps.iter().map(|&step| step * 500).collect(),
        tokens: steps.iter().map(|&step| step * 10).collect(),
        is_whole,
        ..SeriesData::default()
    }
}

fn loads(requests: &[Request]) -> usize {
    requests.iter().filter(|request| matches!(request.command, Command::LoadSeries(_))).count()
}

#[test]
fn a_run_is_followed_from_the_queue_to_its_end() {
    let mut state = State::default();
    let run = id("a");
    state.apply(Event::Queued(events::Queued { run: run.clone(), name: "first".to_owned(), number: 1, position: 0 }));
    assert!(state.selection.is_visible(&run));
    assert_eq!(state.selection.focused.as_ref(), Some(&run));
    state.apply(Event::Queue(events::Queue { current: Some(job("a")), is_paused: false, waiting: vec![job("b")] }));
    state.apply(Event::Preparing(events::Preparing {
        run: run.clone(),
        stage: "Reading text".to_owned(),
        fraction: 0.5,
    }));
    assert!((state.current.as_ref().unwrap().fraction() - 0.5).abs() < 1e-12);
    state.apply(step("a", 40));
    let current = state.current.as_ref().unwrap();
    assert_eq!((current.step, current.preparing.as_ref(), current.loss), (40, None, Some(2.5)));
    assert!((current.fraction() - 0.4).abs() < 1e-12);
    state.apply(Event::Paused(events::Paused { run: run.clone(), step: 41 }));
    assert!(state.current.as_ref().unwrap().is_paused);
    state.apply(Event::Resumed(events::Resumed { run: run.clone(), step: 41 }));
    assert!(!state.current.as_ref().unwrap().is_paused);
    let health =
        |health: Health| Event::Health(events::Health { run: run.clone(), step: 45, health, message: health.why() });
    let (since_step, best, best_step) = (42, 2.0, 30);
    state.apply(health(Health::Unstable { since_step, loss: 5.0, best, best_step }));
    assert!(state.current.as_ref().unwrap().health.is_some_and(Health::is_bad));
    let told = state.messages.latest().unwrap();
    assert!(told.level == Level::Warning && told.what.contains("unstable") && told.what.contains("5.000"), "{told:?}");
    state.apply(health(Health::Plateau { since_step, loss: 2.0 }));
    assert_eq!(state.messages.latest().unwrap().level, Level::Info, "worth knowing, not wrong");
    state.apply(health(Health::Diverged { since_step, loss: 5.0, best, best_step }));
    assert_eq!(state.messages.latest().unwrap().level, Level::Error);
    state.apply(Event::Finished(events::Finished {
        run: run.clone(),
        name: "first".to_owned(),
        state: RunState::Diverged,
        step: 50,
        loss: None,
        best_validation_loss: None,
        best_step: None,
        train_secs: 1.0,
        why: Some("The loss is not a number.".to_owned()),
        unwritten: None,
    }));
    assert_eq!((&state.current, state.selection.followed()), (&None, Some(&run)), "Live stays with it");
    let last = state.messages.latest().unwrap();
    assert_eq!((last.level, last.run.as_ref()), (Level::Error, Some(&run)));
    assert!(last.what.contains("diverged after 50 steps") && !last.what_to_do.is_empty());
    state.apply(Event::Queue(events::Queue { current: None, is_paused: false, waiting: Vec::new() }));
    assert!(state.waiting.is_empty());
}

#[test]
fn a_curve_is_loaded_once_and_again_when_its_run_goes_on() {
    let mut cache = SeriesCache::default();
    let run = id("a");
    let start = Instant::now();
    cache.begin_frame();
    cache.want(&run, TRAIN_LOSS);
    cache.want(&run, TRAIN_LOSS);
    assert_eq!(loads(&cache.take_loads(start)), 1);
    assert!(cache.take_loads(start).is_empty(), "one question at a time");
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), true, data(&[1, 2], true));
    assert_eq!(cache.curve(&run, TRAIN_LOSS, CurveX::STEP).unwrap().x(), [1.0, 2.0]);
    assert!(cache.take_loads(start).is_empty(), "nothing new");
    cache.touch(&run, start);
    cache.touch(&run, start);
    assert!(cache.take_loads(start).is_empty(), "not so soon");
    assert!(cache.next_due(start).unwrap() <= Duration::from_millis(250));
    let later = start + Duration::from_millis(250);
    assert_eq!(loads(&cache.take_loads(later)), 1);
    let version = cache.curve(&run, TRAIN_LOSS, CurveX::STEP).unwrap().version();
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), false, data(&[3], false));
    let grown = cache.curve(&run, TRAIN_LOSS, CurveX::STEP).unwrap();
    assert_eq!((grown.len(), grown.version().generation), (3, version.generation), "grown, not made anew");
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), false, data(&[], false));
    assert_eq!(cache.get(&run, TRAIN_LOSS).unwrap().last(), Some((3, 1.5)));
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), false, data(&[2, 3, 4], false));
    assert_eq!(cache.curve(&run, TRAIN_LOSS, CurveX::TOKENS).unwrap().x(), [10.0, 20.0, 30.0, 40.0]);
}

#[test]
fn the_last_points_before_a_rest_are_loaded_too() {
    let mut cache = SeriesCache::default();
    let (run, start) = (id("a"), Instant::now());
    cache.begin_frame();
    cache.want(&run, TRAIN_LOSS);
    assert_eq!(loads(&cache.take_loads(start)), 1);
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), true, data(&[1], true));
    // The run tells of a step that its writer stores a moment later; then nothing more comes.
    let told = start + Duration::from_secs(1);
    cache.touch(&run, told);
    let mut asked = Vec::new();
    for millis in 0..3000 {
        let now = told + Duration::from_millis(millis);
        if loads(&cache.take_loads(now)) > 0 {
            asked.push(millis);
            cache.take(run.clone(), TRAIN_LOSS.to_owned(), false, data(&[], false));
        }
    }
    assert_eq!(asked, [0, 250, 500], "until the step is sure to be stored, and no longer");
    assert_eq!(cache.next_due(told + Duration::from_secs(3)), None);
}

#[test]
fn a_run_that_starts_again_shows_nothing_of_the_attempt_before() {
    let mut state = State::default();
    let run = id("a");
    let mut summary = examples::summary(1, "run");
    (summary.id, summary.state, summary.steps_done) = (run.clone(), RunState::Interrupted, 90);
    summary.health = Some(Health::Plateau { since_step: 50, loss: 2.0 });
    let last = |step: u64| SeriesSummary {
        last: 2.0,
        last_step: step,
        best: None,
        best_step: None,
        direction: Direction::Lower,
        count: 1,
    };
    summary.metrics = [(TRAIN_LOSS.to_owned(), last(90)), (VALIDATION_LOSS.to_owned(), last(40))].into();
    state.apply(Event::Runs(events::Runs { runs: vec![summary] }));
    let sample = |step: u64| TextSample { step, text: "a".to_owned(), created_ms: 0 };
    state.apply(Event::Samples(events::Samples { run: run.clone(), samples: vec![sample(40), sample(80)] }));
    state.apply(Event::LiveAnalyses(events::LiveAnalyses { run: run.clone(), steps: vec![40, 80] }));
    state.apply(Event::Queue(events::Queue { current: Some(job("a")), is_paused: false, waiting: Vec::new() }));
    // What an earlier attempt in this window left there.
    state.apply(step("a", 90));
    state.apply(Event::Evaluated(events::Evaluated {
        run: run.clone(),
        step: 90,
        loss: 3.0,
        metrics: Measurements::default(),
        best: false,
    }));
    state.take_requests();
    state.apply(Event::Started(events::Started {
        run: run.clone(),
        name: "a".to_owned(),
        parameters: 1,
        first_step: 50,
        steps: 100,
        device: "cpu".to_owned(),
        threads: 1,
        vocabulary: 257,
        train_tokens: 1000,
        validation_tokens: 100,
        flops_per_step: 1,
        parameter_match: None,
    }));
    let current = state.current.clone().unwrap();
    assert_eq!(current, CurrentRun { step: 50, steps: 100, ..CurrentRun::named(run.clone(), "a") });
    let row = state.run(&run).unwrap();
    assert_eq!((row.state, row.steps_done, row.health), (RunState::Running, 50, None));
    assert_eq!(row.metrics.keys().collect::<Vec<_>>(), [VALIDATION_LOSS], "the training loss was that of step 90");
    let steps: Vec<u64> = state.samples[&run].iter().map(|sample| sample.step).collect();
    assert_eq!(steps, [40]);
    assert_eq!(state.analysis.steps(&run), Some(vec![40]));
    let asked = state.take_requests();
    assert!(asked.iter().any(|request| matches!(request.command, Command::LoadSamples(_))), "{asked:?}");
}

#[test]
fn curves_that_nobody_shows_are_left_alone() {
    let mut cache = SeriesCache::default();
    let run = id("a");
    let start = Instant::now();
    cache.begin_frame();
    cache.want(&run, TRAIN_LOSS);
    cache.begin_frame();
    cache.begin_frame();
    assert!(cache.take_loads(start).is_empty());
    assert_eq!(cache.next_due(start), None);
    cache.want(&run, TRAIN_LOSS);
    assert_eq!(loads(&cache.take_loads(start)), 1);
}

#[test]
fn a_store_full_of_runs_does_not_fill_the_door() {
    let mut cache = SeriesCache::default();
    let start = Instant::now();
    cache.begin_frame();
    for run in 0..500 {
        cache.want(&id(&run.to_string()), TRAIN_LOSS);
    }
    let first = loads(&cache.take_loads(start));
    assert!((1..=32).contains(&first), "{first}");
    cache.take(id("0"), TRAIN_LOSS.to_owned(), true, data(&[1], true));
    assert_eq!(loads(&cache.take_loads(start)), 1, "an answer makes room");
}

#[test]
fn x_is_scaled_and_shifted() {
    let mut cache = SeriesCache::default();
    let run = id("a");
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), true, data(&[2, 4], true));
    let x = |cache: &mut SeriesCache, x| cache.curve(&run, TRAIN_LOSS, x).unwrap().x().to_vec();
    assert_eq!(x(&mut cache, CurveX::flops(5.0)), [10.0, 20.0]);
    assert_eq!(x(&mut cache, CurveX::epochs(40.0)), [0.5, 1.0]);
    assert_eq!(x(&mut cache, CurveX::WALL_SECS), [1.0, 2.0]);
    assert_eq!(x(&mut cache, CurveX::clock(100.0)), [101.0, 102.0]);
}

#[test]
fn a_resumed_run_is_marked_where_it_went_on_also_over_a_curve_that_has_its_next_point_later() {
    let mut cache = SeriesCache::default();
    let run = id("a");
    let resumed =
        |data: SeriesData, index: usize| SeriesData { cuts: vec![Cut { attempt: 2, first_step: 7, index }], ..data };
    cache.take(run.clone(), VALIDATION_LOSS.to_owned(), true, resumed(data(&[0, 5, 10], true), 2));
    let marks = |cache: &SeriesCache, x| -> Vec<f64> {
        cache.resumed_marks(&run, VALIDATION_LOSS, x).into_iter().map(|(place, _)| place).collect()
    };
    assert_eq!(marks(&cache, CurveX::STEP), [7.0]);
    assert_eq!(marks(&cache, CurveX::flops(5.0)), [35.0]);
    assert_eq!(marks(&cache, CurveX::TOKENS), [100.0], "its own next point, as long as there is nothing better");
    cache.take(run.clone(), TRAIN_LOSS.to_owned(), true, resumed(data(&[5, 6, 7, 8, 9, 10], true), 2));
    assert_eq!(marks(&cache, CurveX::TOKENS), [70.0]);
    assert_eq!(marks(&cache, CurveX::WALL_SECS), [3.5]);
    // A curve that only begins after it continues nothing.
    cache.take(run.clone(), VALIDATION_LOSS.to_owned(), true, resumed(data(&[10], true), 0));
    assert!(marks(&cache, CurveX::STEP).is_empty());
}

#[test]
fn a_deleted_run_can_be_brought_back() {
    let mut state = State::default();
    assert_eq!(state.undo_delete(), None);
    state.delete_runs(&[id("a")]);
    assert!(state.can_undo_delete());
    assert_eq!(state.undo_delete(), Some(format!("the run \"{}\"", id("a"))));
    let edits: Vec<RunEdit> = state
        .take_requests()
        .into_iter()
        .filter_map(|request| match request.command {
            Command::Edit(commands::Edit { edit, .. }) => Some(edit),
            _ => None,
        })
        .collect();
    assert_eq!(edits, [RunEdit::Delete, RunEdit::Undelete]);
}

#[test]
fn an_eye_is_open_again_after_undo_though_a_tag_is_shown_alone() {
    let mut state = State::default();
    let of_race = RunSummary { tags: vec!["race".to_owned()], ..examples::summary(1, "of the race") };
    let other = examples::summary(2, "other");
    state.apply(Event::Runs(events::Runs { runs: vec![of_race.clone(), other.clone()] }));
    state.selection.hold("race".to_owned(), [of_race.id.clone()]);
    state.selection.toggle_visible(&other.id);
    state.delete_runs(std::slice::from_ref(&other.id));
    state.apply(Event::Runs(events::Runs { runs: vec![of_race.clone()] }));
    assert_eq!(state.selection.held_tag(), Some("race"));
    assert!(state.undo_delete().is_some());
    state.apply(Event::Runs(events::Runs { runs: vec![of_race, other.clone()] }));
    assert!(state.selection.is_visible(&other.id));
}

#[test]
fn records_are_asked_for_once() {
    let mut state = State::default();
    state.want_record(&id("a"));
    state.want_record(&id("a"));
    state.want_samples(&id("a"));
    assert_eq!(state.take_requests().len(), 2);
    state.apply(Event::Samples(events::Samples { run: id("a"), samples: Vec::new() }));
    state.want_samples(&id("a"));
    assert!(state.take_requests().is_empty());
    state.apply(Event::Sample(events::Sample { run: id("a"), step: 1, text: "x".to_owned() }));
    assert_eq!(state.take_requests().len(), 1, "a new sample follows");
}

#[test]
fn late_answers_to_old_questions_are_dropped() {
    let mut state = State::default();
    for revision in [2, 1] {
        state.apply(Event::Checked(events::Checked {
            revision,
            problems: Vec::new(),
            free_bytes: Some(revision),
            facts: Box::default(),
            preview: None,
        }));
    }
    assert_eq!(state.check.unwrap().revision, 2);
}

#[test]
fn a_record_that_was_read_before_the_run_ended_is_read_again() {
    let mut state = State::default();
    let mut record = examples::record(1, "run");
    let run = record.summary.id.clone();
    (record.summary.state, record.summary.steps_done) = (RunState::Running, 1_999);
    state.apply(Event::Runs(events::Runs { runs: vec![record.summary.clone()] }));
    state.want_record(&run);
    let asks = |state: &mut State| {
        let requests = state.take_requests();
        requests.iter().filter(|request| matches!(request.command, Command::LoadRun(_))).count()
    };
    assert_eq!(asks(&mut state), 1);
    // The answer is under way when the run ends.
    let mut ended = record.clone();
    (ended.summary.state, ended.summary.steps_done) = (RunState::Finished, 2_500);
    state.apply(Event::Finished(events::Finished {
        run: run.clone(),
        name: "run".to_owned(),
        state: RunState::Finished,
        step: 2_500,
        loss: None,
        best_validation_loss: None,
        best_step: None,
        train_secs: 1.0,
        why: None,
        unwritten: Some("The record is in a file beside the store: /x/y.spill".to_owned()),
    }));
    assert_eq!(state.messages.latest().map(|last| last.level), Some(Level::Error), "its record is not in the store");
    state.apply(Event::Runs(events::Runs { runs: vec![ended.summary.clone()] }));
    let answer = |record: RunRecord| {
        Event::Run(events::Run { record: Box::new(record), checkpoints: Vec::new(), folder: "/x".into() })
    };
    state.apply(answer(record));
    assert_eq!(asks(&mut state), 1, "what came is older than the end");
    state.apply(answer(ended));
    assert_eq!((asks(&mut state), state.records[&run].summary.steps_done), (0, 2_500));
}

#[test]
fn curves_that_nobody_shows_give_way_when_there_are_too_many_points() {
    let mut cache = SeriesCache::default();
    let runs = ["a", "b", "c"].map(id);
    for run in &runs {
        cache.want(run, TRAIN_LOSS);
        cache.take(run.clone(), TRAIN_LOSS.to_owned(), true, data(&[1, 2, 3, 4], true));
        cache.begin_frame();
    }
    for _ in 0..4 {
        cache.want(&runs[1], TRAIN_LOSS);
        cache.begin_frame();
    }
    let kept = |cache: &SeriesCache| runs.clone().map(|run| cache.get(&run, TRAIN_LOSS).is_some());
    cache.forget_beyond(12);
    assert_eq!(kept(&cache), [true; 3], "there is room");
    cache.forget_beyond(8);
    assert_eq!(kept(&cache), [false, true, true], "the one that was shown the longest ago");
    cache.forget_beyond(0);
    assert_eq!(kept(&cache), [false, true, false], "what is shown stays");
    cache.want(&runs[0], TRAIN_LOSS);
    assert!(!cache.take_loads(Instant::now()).is_empty(), "and what is wanted again is loaded again");
}

#[test]
fn a_race_keeps_others_away_and_one_that_was_refused_does_not() {
    let summary = |number: u64, tag: &str| RunSummary {
        tags: [tag].into_iter().filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
        ..examples::summary(number, "run")
    };
    let begins = |state: &mut State, run: &RunSummary| {
        let (run, name) = (run.id.clone(), run.name.clone());
        state.apply(Event::Queued(events::Queued { run, name, number: 1, position: 1 }));
    };
    let (own, other) = (summary(1, "race:r"), summary(2, ""));
    for is_refused in [false, true] {
        let mut state = State::default();
        state.expect_race("race:r".to_owned());
        begins(&mut state, &other);
        assert!(!state.selection.is_visible(&other.id), "nobody knows yet what it is of");
        let mut runs = vec![other.clone()];
        if !is_refused {
            begins(&mut state, &own);
            runs.push(own.clone());
        }
        state.apply(Event::Runs(events::Runs { runs }));
        assert_eq!(state.selection.is_visible(&other.id), is_refused);
        assert_eq!(state.selection.is_visible(&own.id), !is_refused);
        let is_told = state.messages.newest_first().any(|message| message.what.contains("is not drawn"));
        assert_eq!(is_told, !is_refused);
    }
}

#[test]
fn what_is_to_be_said_of_a_text_is_said_once_for_the_runs_of_a_race() {
    let tagged =
        |(number, tag): (u64, &str)| RunSummary { tags: vec![tag.to_owned()], ..examples::summary(number, "run") };
    let runs = [(1, "race:a"), (2, "race:a"), (3, "race:b"), (4, "paper"), (5, "paper")].map(tagged);
    let mut state = State { runs: runs.into(), ..State::default() };
    let warn = |state: &mut State, number: u64| {
        let run = Some(examples::summary(number, "").id);
        state.apply(Event::Warning(events::Warning { run, message: "12 tokens are held out.".to_owned() }));
        state.messages.len()
    };
    assert_eq!([1, 2, 1].map(|number| warn(&mut state, number)), [1, 1, 1]);
    assert_eq!(state.messages.latest().unwrap().times, 2, "of one run it is counted");
    assert_eq!([3, 4, 5].map(|number| warn(&mut state, number)), [2, 3, 4], "another race, and runs of none");
    // What comes later is about the run alone.
    let facts = StartFacts {
        parameters: 1,
        first_step: 0,
        steps: 1,
        device: "cpu".to_owned(),
        threads: 1,
        vocabulary: 2,
        train_tokens: 3,
        validation_tokens: 4,
        flops_per_step: 5,
    };
    state.started.insert(examples::summary(2, "").id, facts);
    assert_eq!(warn(&mut state, 2), 5);
}

#[test]
fn runs_that_are_compared_have_a_baseline_that_they_can_be_held_against() {
    let raced = |number: u64, tag: &str| RunSummary {
        tags: vec!["paper".to_owned(), tag.to_owned()],
        ..examples::summary(number, &format!("run {number}"))
    };
    let number = |number: u64| examples::summary(number, "").id;
    let runs = (3..6).rev().map(|number| raced(number, "race:b")).collect();
    let mut state = State { runs, ..State::default() };
    state.runs.extend([2, 1].map(|number| raced(number, "race:a")));
    // The run of another race leaves its place to the first of these, and that is said.
    state.selection.baseline = Some(number(1));
    state.compare_only(&[number(5), number(4)]);
    assert!([4, 5].map(number).iter().eq(&state.selection.visible));
    assert_eq!(state.selection.baseline, Some(number(4)));
    let told = state.messages.latest().unwrap();
    let words = "\"run 4\" is the baseline of these runs: \"run 1\", which was pinned, is not of their race.";
    assert_eq!((told.what.as_str(), told.what_to_do.is_empty()), (words, false));
    // That of their own race stays, and that is said too.
    state.selection.baseline = Some(number(3));
    state.compare_only(&[number(5), number(4)]);
    assert_eq!(state.selection.baseline, Some(number(3)));
    assert!(state.messages.latest().unwrap().what.starts_with("\"run 3\" stays beside these runs"));
    // One of them, or none, is nothing to speak of.
    let said = state.messages.len();
    for pinned in [Some(number(5)), None] {
        state.selection.baseline.clone_from(&pinned);
        state.compare_only(&[number(5), number(4)]);
        assert_eq!((&state.selection.baseline, state.messages.len()), (&pinned, said));
    }
}

#[test]
fn runs_of_no_race_are_held_against_a_pinned_one_of_the_same_text_and_length() {
    let number = |number: u64| examples::summary(number, "").id;
    let pinned_after = |length: u64, hash: &str| {
        let runs = (0..3).rev().map(|number| examples::summary(number, "run")).collect();
        let mut state = State { runs, ..State::default() };
        state.runs[2].held_out_hash = Some(hash.to_owned());
        for number in 0..3 {
            let mut record = examples::record(number, "run");
            let own = if number == 0 { length } else { 64 };
            record.config["data"]["sequence_length"] = own.into();
            state.records.insert(record.summary.id.clone(), record);
        }
        state.selection.baseline = Some(examples::summary(0, "").id);
        state.compare_only(&[1, 2].map(|number| examples::summary(number, "").id));
        (state.selection.baseline, state.messages.latest().map(|told| told.what.clone()).unwrap_or_default())
    };
    assert_eq!(pinned_after(64, "beefcafe").0, Some(number(0)));
    let (pinned, told) = pinned_after(128, "beefcafe");
    assert!(pinned == Some(number(1)) && told.ends_with("has another length."), "{told}");
    let (pinned, told) = pinned_after(64, "other");
    assert!(pinned == Some(number(1)) && told.ends_with("was measured on other text or in other tokens."), "{told}");
}

#[test]
fn curves_of_a_run_that_another_program_trains_are_loaded_again_as_the_list_tells_of_it() {
    let mut state = State::default();
    let run =
        |steps: u64| RunSummary { steps_done: steps, state: RunState::Running, ..examples::summary(1, "elsewhere") };
    state.apply(Event::Runs(events::Runs { runs: vec![run(10)] }));
    let id = run(0).id;
    let start = Instant::now();
    state.series.want(&id, TRAIN_LOSS);
    assert_eq!(loads(&state.series.take_loads(start)), 1);
    let points = data(&[1, 5, 10], true);
    state.apply(Event::Series(events::Series {
        run: id.clone(),
        series: TRAIN_LOSS.to_owned(),
        whole: true,
        data: points,
    }));
    state.apply(Event::Samples(events::Samples { run: id.clone(), samples: Vec::new() }));
    let later = start + Duration::from_secs(5);
    assert_eq!(loads(&state.series.take_loads(later)), 0, "nothing new");
    state.apply(Event::Runs(events::Runs { runs: vec![run(10)] }));
    assert_eq!(loads(&state.series.take_loads(later)), 0, "the list says what it said");
    state.take_requests();
    state.apply(Event::Runs(events::Runs { runs: vec![run(20)] }));
    assert_eq!(loads(&state.series.take_loads(Instant::now() + Duration::from_secs(5))), 1);
    let asked = state.take_requests();
    assert!(asked.iter().any(|request| matches!(request.command, Command::LoadSamples(_))), "{asked:?}");
}
