//! Rates, measured when asked.

use std::time::{Duration, Instant};

use super::*;

#[test]
#[ignore = "a measurement: run it alone with --nocapture"]
fn measure_a_million_points_and_ten_thousand_runs() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "large"), store.writer().unwrap());
    let start = Instant::now();
    for step in 0..250_000 {
        for name in [LOSS, "train/learning_rate", "train/grad_norm", "train/tokens_per_sec"] {
            writer.log(&run, name, step, step as f64, step, step);
        }
    }
    let logged = start.elapsed();
    writer.flush().unwrap();
    let written = start.elapsed();
    let start = Instant::now();
    let read = store.series(&run, LOSS, None).unwrap().len();
    println!(
        "1,000,000 points: log call {:.2} us, {:.0} rows/s written, {:.0} rows/s read",
        logged.as_secs_f64(),
        1e6 / written.as_secs_f64(),
        read as f64 / start.elapsed().as_secs_f64()
    );
    let mut calls = Vec::new();
    for step in 250_000..252_000 {
        std::thread::sleep(Duration::from_micros(500));
        let start = Instant::now();
        writer.log(&run, LOSS, step, 0.0, 0, 0);
        calls.push(start.elapsed());
    }
    calls.sort();
    println!("paced log calls: median {:?}, 99 in 100 under {:?}, worst {:?}", calls[1000], calls[1980], calls[1999]);
    writer.flush().unwrap();
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO runs (number, id, name, state, state_ms, seed, device, threads, program_version, machine_cpu,
             machine_cores, machine_os, created_ms)
         SELECT i, 'id' || i, 'run ' || i, 'finished', 0, 1, 'cpu', 2, '0', 'c', 2, 'o', 0 FROM n",
    );
    stranger.execute(
        "INSERT INTO series_summary (run, series, count, last_attempt, last_step, last, best_step, best)
         SELECT number, series.id, 1, 1, 1, 1.0, 1, 1.0 FROM runs, series WHERE number > 1",
    );
    let start = Instant::now();
    let runs = store.runs(RunFilter::default()).unwrap().len();
    println!("{runs} runs with 4 series listed in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
}
