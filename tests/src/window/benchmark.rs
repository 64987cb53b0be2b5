//! A benchmark that looks like one, the same in every start.

use headroom_app::state::State;
use headroom_engine::{
    config::preset,
    ops::profile::OperationTime,
    protocol::{Event, events},
    speed::{
        AttentionGroup, GenerationMeasurement, GenerationPreset, GenerationTime, GroupTime, LargestBatch,
        MachineLimits, Measurement, Outcome, PointResult, Setting, SideResult, Spread, StepTime, SweepResult,
        SweepSpec,
    },
    store::{BenchmarkRecord, BenchmarkSummary, Machine},
};

/// 2026-03-09 16:40:00 UTC.
const CREATED_MS: i64 = 1_773_074_400_000;

/// Operations of a step: name, share of the time, FLOPs for each byte, share of the limit. No FLOPs: bytes alone.
const OPERATIONS: [(&str, f64, f64, f64); 9] = [
    ("attention: projections", 0.14, 42.0, 0.74),
    ("attention: projections, backward", 0.2, 55.0, 0.7),
    ("attention: scores and mix", 0.11, 12.0, 0.6),
    ("attention: scores and mix, backward", 0.18, 9.0, 0.55),
    ("feed-forward: first map", 0.09, 60.0, 0.82),
    ("feed-forward, backward", 0.14, 80.0, 0.78),
    ("head and loss", 0.08, 95.0, 0.88),
    ("layer norm", 0.03, 0.0, 0.5),
    ("optimiser", 0.03, 0.0, 0.8),
];

/// Puts two stored benchmarks into the view model, the newest whole.
pub fn fill_with_benchmarks(state: &mut State) {
    let newest = example_benchmark(2, "grammar decoder: data.sequence_length 64, 128, 256, 512", 1.0);
    let older = example_benchmark(1, "before the change", 1.31);
    state.apply(Event::Benchmarks(events::Benchmarks {
        benchmarks: vec![newest.summary.clone(), older.summary.clone()],
    }));
    for record in [newest, older] {
        state.apply(Event::Benchmark(events::Benchmark { record: Box::new(record) }));
    }
}

/// Puts a stored benchmark of generation into the view model: attention over lengths, or texts over batches.
pub fn fill_with_generation(state: &mut State, preset: GenerationPreset) {
    let record = generation_record(preset);
    state.apply(Event::Benchmarks(events::Benchmarks { benchmarks: vec![record.summary.clone()] }));
    state.apply(Event::Benchmark(events::Benchmark { record: Box::new(record) }));
}

fn generation_record(preset: GenerationPreset) -> BenchmarkRecord {
    let spec = preset.spec();
    let limits = MachineLimits { product_flops_per_sec: 3.1e11, copy_bytes_per_sec: 1.9e10, threads: 2 };
    let axis = spec.axes.first().expect("an axis").clone();
    let given = spec.generation.clone().expect("what is generated");
    let point = |value: &String| {
        let number: usize = value.parse().expect("a number");
        let (source, beams, batch) = match preset {
            GenerationPreset::Length => (number, given.beams, given.batch),
            GenerationPreset::Beams => (given.source, number, given.batch),
            GenerationPreset::Batch => (given.source, given.beams, number),
        };
        let side = |name: &str| {
            let fits = preset != GenerationPreset::Batch || batch <= if name == "none" { 8 } else { 32 };
            let outcome = if fits {
                Outcome::Generated(Box::new(generated(name, source, beams, batch)))
            } else {
                Outcome::OutOfMemory { needed_bytes: 900 << 20, free_bytes: 512 << 20 }
            };
            let is_last = preset == GenerationPreset::Batch && Some(value) == axis.values.last();
            let most = match name {
                "none" => 14,
                "key_value" => 55,
                _ => 106,
            };
            let largest_batch = is_last.then(|| LargestBatch {
                batch: most,
                needed_bytes: 510 << 20,
                free_bytes: 512 << 20,
                machine_free_bytes: Some(12 << 30),
                peak_memory_bytes: Some(480 << 20),
                is_confirmed: true,
                run_secs: Some(generated(name, source, beams, most).total_secs.median),
            });
            SideResult { side: name.to_owned(), outcome, largest_batch }
        };
        PointResult {
            settings: vec![Setting { field: axis.field.clone(), value: value.clone() }],
            sides: ["none", "key_value", "hidden"].map(side).to_vec(),
            in_turns: true,
            others_cores: Some(0.02),
        }
    };
    let points: Vec<PointResult> = axis.values.iter().map(point).collect();
    let count = points.len() as u64;
    let summary = BenchmarkSummary {
        name: preset.name().to_owned(),
        points: count,
        points_total: count,
        ..example_benchmark(3, preset.name(), 1.0).summary
    };
    BenchmarkRecord { summary, spec, results: SweepResult { limits: Some(limits), points, is_complete: true } }
}

/// An encoder-decoder of 4 layers of 2 heads, width 256, that reads at 19 GB/s and multiplies at 120 GFLOP/s.
fn generated(cache: &str, source: usize, beams: usize, batch: usize) -> GenerationMeasurement {
    let (layers, heads, d, tokens) = (4.0, 2.0, 256.0, 16.0);
    let (n, b, rows) = (source as f64, batch as f64, (beams * batch) as f64);
    let group = |group, flops: f64, bytes: f64| {
        let seconds = (bytes / 1.7e10).max(flops / 1.2e11) + 2e-6;
        GroupTime { group, seconds: if flops > 0.0 { seconds } else { 0.0 }, flops, bytes }
    };
    let build = |rows: f64| (layers * rows * n * 4.0 * d * d, layers * 4.0 * (rows * n * 3.0 * d + 2.0 * d * d));
    let (step_build, reading_build) = match cache {
        "none" => (build(rows), (0.0, 0.0)),
        "key_value" => ((0.0, 0.0), build(b)),
        _ => ((0.0, 0.0), (0.0, 0.0)),
    };
    let expanded = if cache == "hidden" { 2.0 } else { 1.0 };
    let query = layers * rows * 4.0 * d * d * expanded;
    let attend = layers * rows * n * 4.0 * d * if cache == "hidden" { heads } else { 1.0 };
    let copies = if cache == "none" { rows } else { b };
    let groups = vec![
        group(AttentionGroup::BuildKeysValues, step_build.0, step_build.1),
        group(AttentionGroup::BuildQuery, query, layers * 4.0 * (2.0 * d * d * expanded + rows * 4.0 * d)),
        group(AttentionGroup::Attend, attend, layers * 4.0 * (copies * n * 2.0 * d + 2.0 * rows * heads * n)),
    ];
    let attention: f64 = groups.iter().map(|group| group.seconds).sum();
    let step_secs = attention + layers * rows * 1.1e-5 + 4e-4;
    let reading_secs = b * n * 2.6e-5 + 1e-3;
    let times: Vec<GenerationTime> = (0..3)
        .map(|run| GenerationTime {
            total_secs: (reading_secs + step_secs * (tokens - 1.0)) * (0.99 + 0.01 * f64::from(run)),
            reading_secs,
        })
        .collect();
    let of_source = match cache {
        "key_value" => 2.0 * layers,
        _ => 1.0,
    };
    let written = if cache == "none" { 0.0 } else { layers * 2.0 * rows * (tokens + 1.0) };
    let cache_bytes = (4.0 * d * (of_source * b * n + written)) as u64;
    GenerationMeasurement {
        total_secs: Spread::of(times.iter().map(|time| time.total_secs)).expect("times"),
        reading_secs,
        texts: batch as u64,
        tokens: 16,
        parameters: 7_600_000,
        cache_bytes,
        predicted_cache_bytes: cache_bytes,
        predicted_memory_bytes: cache_bytes + (60 << 20),
        groups,
        reading_groups: vec![group(AttentionGroup::BuildKeysValues, reading_build.0, reading_build.1)],
        step_secs,
        times,
    }
}

/// A finished benchmark of two variants over four lengths. `slow`: its times beside those of the newest one.
pub fn example_benchmark(number: u64, name: &str, slow: f64) -> BenchmarkRecord {
    let base = preset("grammar-decoder").and_then(|preset| preset.config().ok()).unwrap_or_default();
    let axis = "data.sequence_length=64,128,256,512".parse().expect("an axis");
    let sides =
        ["4 heads", "8 heads, post norm:model.heads=8,model.norm=post"].map(|side| side.parse().expect("a side"));
    let spec = SweepSpec { base, axes: vec![axis], sides: sides.to_vec(), ..SweepSpec::default() };
    let limits = MachineLimits { product_flops_per_sec: 3.1e11, copy_bytes_per_sec: 1.9e10, threads: 2 };
    let points: Vec<PointResult> =
        [64_u64, 128, 256, 512].into_iter().map(|length| point(length, slow, &limits)).collect();
    BenchmarkRecord {
        summary: BenchmarkSummary {
            id: format!("0examp1e{number:02}").parse().expect("an id"),
            number,
            name: name.to_owned(),
            created_ms: CREATED_MS + number as i64 * 5_400_000,
            ended_ms: Some(CREATED_MS + number as i64 * 5_400_000 + 61_000),
            machine: Machine { cpu: "Example 7 CPU".to_owned(), cores: 2, os: "Debian 12".to_owned() },
            program_version: "0.1.0".to_owned(),
            git_commit: Some(if number == 2 { "5b3c1d9e7f20" } else { "c40a77b1e2d9" }.to_owned()),
            git_dirty: Some(false),
            device: "cpu".to_owned(),
            device_name: None,
            driver: None,
            threads: 2,
            precision: "f32".to_owned(),
            points: 4,
            points_total: 4,
        },
        spec,
        results: SweepResult { limits: Some(limits), points, is_complete: true },
    }
}

fn point(length: u64, slow: f64, limits: &MachineLimits) -> PointResult {
    let side = |name: &str, factor: f64| SideResult {
        side: name.to_owned(),
        outcome: Outcome::Measured(Box::new(measurement(length, slow * factor, limits))),
        largest_batch: Some(LargestBatch {
            batch: (190_000.0 / (length as f64 * factor)) as usize,
            needed_bytes: 9_600_000_000,
            free_bytes: 9 << 30,
            machine_free_bytes: Some(12 << 30),
            peak_memory_bytes: None,
            is_confirmed: true,
            run_secs: None,
        }),
    };
    let second = if length == 512 {
        SideResult {
            side: "8 heads, post norm".to_owned(),
            outcome: Outcome::OutOfMemory { needed_bytes: 11 << 30, free_bytes: 9 << 30 },
            largest_batch: None,
        }
    } else {
        side("8 heads, post norm", 1.06 + length as f64 / 2000.0)
    };
    PointResult {
        settings: vec![Setting { field: "data.sequence_length".to_owned(), value: length.to_string() }],
        sides: vec![side("4 heads", 1.0), second],
        in_turns: true,
        others_cores: Some(0.02),
    }
}

fn measurement(length: u64, slow: f64, limits: &MachineLimits) -> Measurement {
    let tokens = 16 * length;
    let step_secs = slow * (tokens as f64 * 4.1e-5 + (length * length) as f64 * 4e-7);
    let times: Vec<StepTime> = (0..10)
        .map(|step| {
            let step_secs = step_secs * (0.98 + 0.005 * f64::from(step));
            StepTime {
                step_secs,
                forward_secs: step_secs * 0.34,
                backward_secs: step_secs * 0.62,
                optimiser_secs: step_secs * 0.04,
            }
        })
        .collect();
    let predicted_memory_bytes = (40 << 20) + tokens * 31_000;
    let operations: Vec<OperationTime> = OPERATIONS
        .into_iter()
        .map(|(name, share, intensity, of_limit)| {
            let seconds = step_secs * share;
            let roof = (intensity * limits.copy_bytes_per_sec).min(limits.product_flops_per_sec);
            let flops = seconds * roof * of_limit;
            let bytes =
                if intensity > 0.0 { flops / intensity } else { seconds * limits.copy_bytes_per_sec * of_limit };
            OperationTime { name: name.to_owned(), calls: 4, seconds, flops: flops as u64, bytes: bytes as u64 }
        })
        .collect();
    Measurement {
        step_secs: Spread::of(times.iter().map(|time| time.step_secs)).expect("times"),
        forward_secs: step_secs * 0.34,
        backward_secs: step_secs * 0.62,
        optimiser_secs: step_secs * 0.04,
        tokens,
        parameters: 930_000,
        predicted_flops: operations.iter().map(|operation| operation.flops).sum::<u64>() * 99 / 100,
        predicted_memory_bytes,
        peak_memory_bytes: Some((90 << 20) + predicted_memory_bytes * 103 / 100),
        program_memory_bytes: Some(90 << 20),
        memory_source: headroom_engine::speed::MemorySource::OwnProcess,
        device_memory_bytes: None,
        step_joules: Some(step_secs * 61.0),
        operations,
        times,
    }
}
