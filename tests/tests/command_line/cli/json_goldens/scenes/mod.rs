//! Commands in their order on stores of their own, with tiny runs. Names and words hold no blanks: a blank separates arguments,
//! and masks a text as a sentence.

mod benchmarks;
mod hubs;
mod live;
mod models;
mod races;
mod runs;
mod tasks;

use std::sync::{Mutex, PoisonError};

use headroom_tests::Program;

use super::recorder::{Case, Recorder};

/// A scene that records its cases.
type Scene = fn(&mut Recorder<'_>);

/// A decoder that trains in a moment.
const CONFIG: &str = r#"
format = 1
name = "tiny"
seed = 3
threads = 1
[data]
kind = "grammar"
words = 4000
sequence_length = 16
tokenizer = { kind = "bytes" }
[model]
kind = "decoder"
layers = 2
heads = 2
width = 16
feed_forward = 32
dropout = 0.0
[train]
steps = 8
batch = 4
learning_rate = 1e-2
schedule = { kind = "cosine", warmup_steps = 2 }
evaluate_every = 4
evaluate_batches = 2
checkpoint_every = 4
[probe]
every = 0
"#;

/// Records all scenes, two at a time.
pub fn record_all() -> Vec<Case> {
    let scenes: [(&str, Scene); 7] = [
        ("hubs", hubs::record),
        ("runs", runs::record),
        ("models", models::record),
        ("races", races::record),
        ("tasks", tasks::record),
        ("benchmarks", benchmarks::record),
        ("live", live::record),
    ];
    let open = Mutex::new(scenes.iter());
    let next = || open.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut done = Vec::new();
        while let Some((name, scene)) = next() {
            let program = super::program();
            program.write("c.toml", CONFIG);
            let mut recorder = Recorder::new(&program);
            scene(&mut recorder);
            done.push((*name, recorder.cases));
        }
        done
    };
    let mut done: Vec<(&str, Vec<Case>)> = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().flat_map(|worker| worker.join().expect("a scene")).collect()
    });
    done.sort_by_key(|(name, _)| *name);
    done.into_iter().flat_map(|(_, cases)| cases).collect()
}

/// Trains a config whose course is no case.
fn train(program: &Program, more: &[&str]) -> String {
    program.train(CONFIG, more)
}
