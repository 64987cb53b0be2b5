//! Speeds that the design promises, measured: `cargo bench -p headroom-engine --bench speed`.
//!
//! Prints one line a figure with median and spread. `-- NAME` runs only the benchmarks whose name contains NAME.

#![expect(clippy::expect_used, reason = "a benchmark that cannot start is to end")]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use candle_core::Device;
use headroom_engine::{
    attention::ModelPlan,
    config::{ByteTokenizer, DeviceChoice, RunConfig, Tokenizer, preset},
    data::{Corpus, Silent},
    ops::tune_process,
    store::{Machine, NewRun, OpenMode, Store, series_names},
    train::{Numerics, Start, Trainer},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    tune_process();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let machine = Machine::current();
    println!("{}, {} cores, {}", machine.cpu, machine.cores, machine.os);
    if is_wanted("store") {
        store();
    }
    if is_wanted("step") {
        for threads in [1, 2] {
            step("step, grammar preset (width 128, 4 layers, 64 tokens, batch 16)", grammar(), threads, 40);
            step(
                "step, standard (width 256, 6 layers, 128 tokens, batch 16, vocabulary 8,192)",
                standard(),
                threads,
                12,
            );
        }
    }
}

/// Median, least and greatest of some times, as milliseconds.
fn spread(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] * 1e3;
    format!("{:.1} ms (least {:.1}, most {:.1}, n {})", at(0.5), at(0.0), at(1.0), times.len())
}

fn grammar() -> RunConfig {
    preset("grammar-decoder").expect("the preset is there").config().expect("the preset is valid")
}

fn standard() -> RunConfig {
    let mut config = grammar();
    config.data.sequence_length = 128;
    config.data.tokenizer = Tokenizer::Bytes(ByteTokenizer {});
    config.model.width = 256;
    config.model.layers = 6;
    config.model.feed_forward = 1024;
    config
}

/// A training step of a decoder, with the shares of forward, backward and optimiser.
fn step(name: &str, mut config: RunConfig, threads: usize, steps: usize) {
    config.device = DeviceChoice::Cpu;
    config.threads = threads;
    let is_standard = config.model.width == 256;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(256 << 20)
        .build()
        .expect("a pool of threads starts");
    pool.install(|| {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let corpus = Corpus::load(&config.data, &config.objective(), &PathBuf::new(), cache.path(), &Silent)
            .expect("built-in text loads");
        // The vocabulary of the standard model is fixed, whatever the text holds.
        let vocabulary = if is_standard { 8192 } else { corpus.tokenizer.vocabulary_size() };
        let plan = ModelPlan::resolve(&config, vocabulary).expect("the config is valid");
        let trainer = Trainer::new(config, Numerics::CURRENT, plan, corpus, &Device::Cpu, Start::Fresh);
        let mut trainer = trainer.expect("the model is built");
        let (mut all, mut forward, mut backward, mut optimiser) = (vec![], vec![], vec![], vec![]);
        for done in 0..steps + 3 {
            let report = trainer.step().expect("a step runs").expect("the loss is finite");
            if done >= 3 {
                all.push(report.step_secs);
                forward.push(report.forward_secs);
                backward.push(report.backward_secs);
                optimiser.push(report.optimiser_secs);
            }
        }
        println!("{name}, {threads} thread(s), {} parameters", trainer.parameter_count());
        println!("  whole      {}", spread(&mut all));
        println!("  forward    {}", spread(&mut forward));
        println!("  backward   {}", spread(&mut backward));
        println!("  optimiser  {}", spread(&mut optimiser));
    });
}

/// What a log call costs the training thread, and how fast points go in and come out.
fn store() {
    const POINTS: u64 = 1_000_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).expect("a store opens");
    let run = store.create_run(NewRun { name: "bench".to_owned(), ..NewRun::default() }).expect("a run is made");
    let run = run.summary.id;
    store.begin_attempt(&run, 1).expect("an attempt begins");
    let writer = store.writer().expect("a store that can be written");

    // As training does it: some values every few milliseconds, so that the writer works beside the loop.
    let mut calls = Vec::new();
    for step in 0..2_000 {
        for series in [series_names::TRAIN_LOSS, series_names::TRAIN_GRAD_NORM] {
            let start = Instant::now();
            writer.log(&run, series, step, 1.0 / (step + 1) as f64, step, step);
            calls.push(start.elapsed().as_secs_f64());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    calls.sort_by(f64::total_cmp);
    let at = |share: f64| calls[((calls.len() - 1) as f64 * share) as usize] * 1e6;
    println!("store, log call: median {:.2} us, 99 % {:.2} us, most {:.1} us", at(0.5), at(0.99), at(1.0));

    let start = Instant::now();
    for step in 0..POINTS {
        writer.log(&run, "bench/insert", step, step as f64, step, step);
    }
    let called = start.elapsed().as_secs_f64();
    writer.flush().expect("all is written");
    let written = start.elapsed().as_secs_f64();
    println!(
        "store, insert of 1,000,000 points: {called:.2} s in log calls, {written:.2} s until durable = {:.0} points/s",
        POINTS as f64 / written
    );
    let start = Instant::now();
    let data = store.series(&run, "bench/insert", None).expect("the series is read");
    let read = start.elapsed().as_secs_f64();
    assert_eq!(data.len() as u64, POINTS, "nothing is lost");
    println!("store, read of 1,000,000 points: {read:.2} s = {:.0} points/s", POINTS as f64 / read);
    let mut tails: Vec<f64> = (0..50)
        .map(|_| {
            let start = Instant::now();
            let tail = store.series(&run, "bench/insert", data.cursor).expect("the tail is read");
            assert!(tail.is_empty(), "nothing came after");
            start.elapsed().as_secs_f64()
        })
        .collect();
    tails.sort_by(f64::total_cmp);
    println!("store, read of an empty tail of it: median {:.0} us, most {:.0} us", tails[25] * 1e6, tails[49] * 1e6);
}
