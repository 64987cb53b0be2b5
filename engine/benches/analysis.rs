//! How long looks at attention take, beside what the machine can do: `cargo bench --bench analysis`.

#![expect(clippy::expect_used, reason = "a benchmark that cannot start is to end")]

use std::time::Instant;

use headroom_engine::{
    analysis::{
        AnalysisContext, AnalysisSpec, MapBatch, Measure, ReconstructionSpec, ScoreBatch, ScoreShape, SimilaritySum,
        SpectraSum, SpectrumSpec, analyse, reconstruction::ReconstructionSum,
    },
    attention::ModelPlan,
    config::{ModelConfig, ModelKind, RunConfig},
    model::{Model, ParameterSet},
    objective::Batch,
    ops::{
        Products, add_l1_distances, product_rate_probe,
        random::{Purpose, Stream},
        tune_process,
    },
};
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LAYERS: usize = 12;
const HEADS: usize = 12;
const TOKENS: usize = 128;
const EXAMPLES: usize = 1000;
/// Examples that are really made; the same ones come again and again.
const MADE: usize = 20;

fn main() {
    tune_process();
    let threads = rayon::current_num_threads();
    println!("{LAYERS} x {HEADS} heads, {TOKENS} tokens, {EXAMPLES} examples, {threads} threads");
    if std::env::args().any(|argument| argument == "reconstruction") {
        return reconstruction();
    }
    similarity(threads);
    spectrum();
    reconstruction();
    live();
}

/// Random numbers, `MADE` examples of every layer.
fn layers(of_row: impl Fn(&mut [f32])) -> Vec<Vec<f32>> {
    let layer = |layer: u64| {
        let mut stream = Stream::new(1, Purpose::Test, layer);
        let mut values: Vec<f32> = (0..MADE * HEADS * TOKENS * TOKENS).map(|_| stream.uniform() as f32).collect();
        values.chunks_exact_mut(TOKENS).for_each(&of_row);
        values
    };
    (0..LAYERS as u64).map(layer).collect()
}

fn similarity(threads: usize) {
    let maps = layers(|row| {
        let total: f32 = row.iter().sum();
        for value in row {
            *value /= total;
        }
    });
    let views: Vec<&[f32]> = maps.iter().map(Vec::as_slice).collect();
    let batch = MapBatch { layers: &views, sizes: [MADE, TOKENS, TOKENS], queries: None };
    let count = LAYERS * HEADS;
    // The limit: the same distances of rows that stay in the first cache.
    let few: Vec<f32> = maps.iter().flatten().take(16 * TOKENS).copied().collect();
    let mut out = vec![0.0; 256];
    let rounds = 20_000;
    let started = Instant::now();
    for _ in 0..rounds {
        add_l1_distances(&few, TOKENS, &mut out);
    }
    let limit = f64::from(rounds) * 120.0 * TOKENS as f64 / started.elapsed().as_secs_f64() * threads as f64;
    for measure in Measure::ALL {
        let rounds = if measure == Measure::TotalVariation { EXAMPLES / MADE } else { 2 };
        let mut sum = SimilaritySum::new(measure, LAYERS, HEADS, vec![true; count]);
        let started = Instant::now();
        for _ in 0..rounds {
            sum.add(&batch).expect("maps are finite");
        }
        sum.finish().expect("there are examples");
        let secs = started.elapsed().as_secs_f64() * (EXAMPLES / MADE) as f64 / rounds as f64;
        let pairs = (count * (count - 1) / 2 * TOKENS * TOKENS * EXAMPLES) as f64;
        print!("similarity, {measure}: {secs:.2} s, {:.1} G differences/s", pairs / secs / 1e9);
        match measure {
            Measure::TotalVariation => println!(" ({:.1} at most)", limit / 1e9),
            _ => println!(),
        }
    }
}

fn spectrum() {
    let scores = layers(|_| ());
    let views: Vec<&[f32]> = scores.iter().map(Vec::as_slice).collect();
    let batch = ScoreBatch { layers: &views, examples: MADE };
    let probe = product_rate_probe(Products::Own);
    probe();
    let started = Instant::now();
    let rate = probe() as f64 / started.elapsed().as_secs_f64();
    for queries in [false, true] {
        let shape = ScoreShape {
            computing: vec![(0..HEADS).collect(); LAYERS],
            heads: HEADS,
            tokens: TOKENS,
            is_causal: false,
            examples: EXAMPLES,
        };
        let spec = SpectrumSpec { queries, row_mean_subtracted: false, ..SpectrumSpec::default() };
        // At this size a sketch is summed, with directions that measure what it lacks.
        let rank = 2 * spec.components + 32 + 16;
        let mut sum = SpectraSum::<f32>::new(shape, spec, None).expect("it fits");
        let started = Instant::now();
        for _ in 0..EXAMPLES / MADE {
            sum.add(&batch).expect("scores are finite");
        }
        let added = started.elapsed().as_secs_f64();
        sum.finish().expect("there are examples");
        let secs = started.elapsed().as_secs_f64();
        let samples = (EXAMPLES * LAYERS * HEADS) as f64;
        let dimension = (TOKENS * TOKENS) as f64;
        let mut flops = 4.0 * samples * dimension * rank as f64;
        if queries {
            flops += 2.0 * samples * dimension * TOKENS as f64;
        }
        println!(
            "spectrum of network and layers{}: {secs:.2} s ({added:.2} s of it the sums: {:.0} GFLOP/s, products reach \
             {:.0})",
            if queries { " and of every query" } else { "" },
            flops / added / 1e9,
            rate / 1e9
        );
    }
}

/// Scores restored from some of their pairs, and one map put together for every k, as a slider asks for it.
fn reconstruction() {
    let scores = layers(|_| ());
    let views: Vec<&[f32]> = scores.iter().map(Vec::as_slice).collect();
    let batch = ScoreBatch { layers: &views, examples: MADE };
    let shape = ScoreShape {
        computing: vec![(0..HEADS).collect(); LAYERS],
        heads: HEADS,
        tokens: TOKENS,
        is_causal: false,
        examples: EXAMPLES,
    };
    let config = RunConfig {
        model: ModelConfig {
            kind: ModelKind::Encoder,
            layers: LAYERS,
            heads: HEADS,
            width: 768,
            ..ModelConfig::default()
        },
        ..RunConfig::default()
    };
    let plan = ModelPlan::resolve(&config, 8192).expect("it is valid");
    let mut sum = ReconstructionSum::new(shape, &ReconstructionSpec::default(), None).expect("it fits");
    let started = Instant::now();
    for round in 0..EXAMPLES / MADE {
        let numbers: Vec<u64> = (0..MADE).map(|example| (round * MADE + example) as u64).collect();
        sum.add(&batch, &numbers).expect("scores are finite");
    }
    let added = started.elapsed().as_secs_f64();
    let (found, _) = sum.finish(&plan, &|_| (), &|| false).expect("there are examples");
    let secs = started.elapsed().as_secs_f64();
    // Each sample is added to Q_i of every query.
    let flops = 2.0 * (EXAMPLES * LAYERS * HEADS) as f64 * (TOKENS as f64).powi(3);
    println!(
        "reconstruction of the network: {secs:.2} s ({added:.2} s of it the sums: {:.0} GFLOP/s in double precision)",
        flops / added / 1e9
    );
    let map = scores.first().and_then(|layer| layer.get(..TOKENS * TOKENS)).expect("a map");
    let mut times: Vec<f64> = (0..=TOKENS)
        .map(|k| {
            let started = Instant::now();
            found.rebuild(0, map, k).expect("it was kept");
            started.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get(TOKENS * share / 100).copied().unwrap_or_default() * 1e3;
    println!("a map rebuilt from k = 0..={TOKENS} pairs a query: median {:.2} ms, longest {:.2} ms", at(50), at(100));
}

/// A look at the probe batch of the standard model, beside 100 of its steps.
fn live() {
    let (tokens, examples) = (128, 16);
    let model = ModelConfig {
        kind: ModelKind::Encoder,
        layers: 6,
        heads: 4,
        width: 256,
        feed_forward: 1024,
        ..ModelConfig::default()
    };
    let mut config = RunConfig { model, ..RunConfig::default() };
    config.data.sequence_length = tokens;
    let plan = ModelPlan::resolve(&config, 8192).expect("it is valid");
    let device = headroom_engine::model::open_device(config.device).expect("there is a processor");
    let dtype = headroom_engine::model::dtype(config.precision);
    let parameters = ParameterSet::init(&plan, 1, dtype, &device).expect("there is memory");
    let model = Model::frozen(&plan, &parameters).expect("it is valid");
    let mut stream = Stream::new(1, Purpose::Test, 99);
    let batch = Batch {
        sources: None,
        token_types: None,
        answers: None,
        pixels: None,
        input_ids: (0..examples * tokens).map(|_| stream.below(8192) as u32).collect(),
        labels: vec![1; examples * tokens],
        key_mask: None,
        batch: examples,
        sequence: tokens,
    };
    let spec = AnalysisSpec::live(examples, tokens);
    let mut secs: Vec<f64> = (0..7)
        .map(|_| {
            let wanted = AnalysisContext {
                spec: &spec,
                examples,
                tokens,
                bases: &[],
                free: None,
                tell: &|_, _| (),
                should_stop: &|| false,
            };
            let started = Instant::now();
            analyse(&model, &mut std::iter::once(batch.clone()), &wanted).expect("it can be analysed");
            started.elapsed().as_secs_f64()
        })
        .collect();
    secs.sort_by(f64::total_cmp);
    let median = secs.get(secs.len() / 2).copied().unwrap_or_default();
    println!(
        "a live analysis of the standard model (6 layers, 4 heads, {tokens} tokens, {examples} examples): {median:.3} s"
    );
}
