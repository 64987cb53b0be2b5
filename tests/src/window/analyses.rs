//! Analyses of attention that look like those of a run: for pictures and for panels that have to be full.

use std::path::PathBuf;

use headroom_app::state::State;
use headroom_engine::{
    analysis::{
        Analysis, CapturedVariance, LayerEnergies, MapThumbnails, Measure, ScoreSpectra, Similarity, Spectrum,
        SpectrumMethod,
    },
    attention::ModelPlan,
    checkpoint::DirectoryFacts,
    config::{ModelKind, RunConfig, from_toml, to_toml},
    protocol::{Command, Event, Target, commands, events},
    store::{AnalysisId, AnalysisSummary, RunId},
};

use super::{
    example::{example_record, example_runs},
    models::model_facts,
};

/// Steps at which the example runs were analysed.
pub const EXAMPLE_STEPS: [u64; 8] = [50, 100, 150, 200, 250, 300, 350, 400];

/// Tokens of an example.
const TOKENS: usize = 32;

/// An analysis of a model with so many layers and heads after so many of 600 steps.
pub fn example_analysis(layers: usize, heads: usize, step: u64) -> Analysis {
    let grown = 1.0 - (-(step as f64) / 160.0).exp();
    Analysis {
        target: "grammar encoder".to_owned(),
        step: Some(step),
        data: "held-out text".to_owned(),
        examples: 16,
        tokens: TOKENS,
        similarity: [Measure::TotalVariation, Measure::Cosine]
            .map(|measure| similarity(measure, layers, heads, grown))
            .into(),
        spectra: Some(spectra(layers, heads, grown)),
        captured: Some(captured(layers, heads)),
        notes: vec!["12 of 16 examples were shorter than 32 tokens and were left out of the spectra.".to_owned()],
        secs: 0.21,
        ..Analysis::default()
    }
}

/// Puts analyses of the example runs into a view model, as the engine's answers would: the run that trains (number 8) and
/// the baseline (number 0) have some, the others none.
pub fn fill_with_analyses(state: &mut State) {
    for run in example_runs() {
        let steps = match run.number {
            0 | 8 => EXAMPLE_STEPS.to_vec(),
            _ => Vec::new(),
        };
        state.analysis.take_steps(run.id.clone(), steps.clone());
        for step in steps {
            let analysis = example_analysis(6, 8, step + run.number * 30);
            state.analysis.take(run.id.clone(), step, Analysis { step: Some(step), ..analysis });
        }
    }
}

/// Makes the baseline (number 0) the control of the run that trains (number 8), each analysed on both texts.
pub fn fill_with_control(state: &mut State) {
    let (run, control) = (example_run(8), example_run(0));
    let mut runs = example_runs();
    for of in &mut runs {
        if of.id == run || of.id == control {
            of.tags.push("domains:grammar".to_owned());
        }
    }
    state.apply(Event::Runs(events::Runs { runs }));
    let mut record = example_record(0);
    let mut config = from_toml(&record.config_toml).expect("the example's config");
    config.data.shuffled = true;
    record.config_toml = to_toml(&config);
    state.apply(Event::Run(events::Run {
        record: Box::new(record),
        checkpoints: Vec::new(),
        folder: "/home/ada/thesis".into(),
    }));
    let mut analyses = Vec::new();
    for (number, (of, shuffled)) in
        [(&run, false), (&run, true), (&control, false), (&control, true)].into_iter().enumerate()
    {
        let id: AnalysisId = format!("0c0ntr01x{number}").parse().expect("an id");
        let found = example_analysis(6, 8, 420 - 90 * number as u64);
        analyses.push(AnalysisSummary {
            id: id.clone(),
            number: number as u64 + 1,
            run: Some(of.clone()),
            target: "grammar".to_owned(),
            step: Some(600),
            data: "held-out text".to_owned(),
            shuffled: Some(shuffled),
            examples: 256,
            tokens: 32,
            created_ms: 0,
            reconstructs: false,
        });
        state.apply(Event::Analysed(events::Analysed { analysis: id, result: Box::new(found) }));
    }
    state.apply(Event::Analyses(events::Analyses { analyses }));
}

/// Shows a fetched model in the panels of analyses, which was analysed on a text file.
pub fn fill_with_directory(state: &mut State) {
    let name = "models--sentence-transformers--all-MiniLM-L6-v2";
    let commit = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf";
    let path = PathBuf::from(format!("/home/ada/.cache/huggingface/hub/{name}/snapshots/{commit}"));
    let facts = DirectoryFacts { path: path.clone(), config: None, positions: 512, ..model_facts() };
    let target = Target::Directory(path.clone());
    state.apply(Event::ModelDescribed(events::ModelDescribed { target: target.clone(), facts: Box::new(facts) }));
    let mut config = RunConfig::default();
    config.model.kind = ModelKind::Encoder;
    (config.model.layers, config.model.heads) = (6, 12);
    (config.model.width, config.model.feed_forward) = (384, 1536);
    config.data.sequence_length = 512;
    let plan = ModelPlan::resolve(&config, 30_522).expect("the plan of a small BERT");
    state.apply(Event::PlanRead(events::PlanRead { target, plan: Box::new(plan) }));
    let id: AnalysisId = "d1rect0ry1".parse().expect("an id");
    let data = "the text file /home/ada/texts/old-stories.txt".to_owned();
    let found = Analysis {
        target: path.display().to_string(),
        step: None,
        data: data.clone(),
        examples: 1000,
        tokens: 64,
        notes: Vec::new(),
        ..example_analysis(6, 12, 400)
    };
    let summary = AnalysisSummary {
        id: id.clone(),
        number: 1,
        run: None,
        target: found.target.clone(),
        step: None,
        data,
        shuffled: None,
        examples: found.examples,
        tokens: 64,
        created_ms: 0,
        reconstructs: false,
    };
    state.apply(Event::Analyses(events::Analyses { analyses: vec![summary] }));
    state.apply(Event::Analysed(events::Analysed { analysis: id, result: Box::new(found) }));
    state.selection.set_directory(Some(path));
}

/// Answers what was asked of attention maps, as the engine would: a text of two dozen tokens.
pub fn answer_maps(state: &mut State, asked: &[Command]) {
    let text = "[CLS] the old doctor who sees the two teachers near the river likes her letter , and the child that \
                knows it forgets its book . [SEP]";
    let tokens: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let n = tokens.len();
    for command in asked {
        match *command {
            Command::LoadMaps(commands::LoadMaps { view, .. }) => {
                let values = (0..48).flat_map(|at| attention(at / 8, at % 8, n)).collect();
                let thumbnails = Box::new(MapThumbnails { layers: 6, heads: 8, side: n, values });
                let target = "grammar encoder, best checkpoint".to_owned();
                state.apply(Event::Maps(events::Maps {
                    view,
                    target,
                    step: Some(400),
                    tokens: tokens.clone(),
                    picture: None,
                    examples: 16,
                    thumbnails,
                }));
            }
            Command::LoadMap(commands::LoadMap { view, layer, head }) => {
                state.apply(Event::Map(events::Map { view, layer, head, values: attention(layer, head, n) }));
            }
            _ => {}
        }
    }
}

/// The map of a head: towards the token before, itself, the first, or everywhere.
fn attention(layer: usize, head: usize, n: usize) -> Vec<f32> {
    let weight = |row: usize, column: usize| {
        let apart = row as f64 - column as f64;
        let kind = match (layer + head) % 4 {
            0 => (-(apart - 1.0).powi(2)).exp(),
            1 => {
                if column == 0 {
                    0.9
                } else {
                    0.04
                }
            }
            2 => (-apart.abs() / 3.0).exp(),
            _ => 0.2 + chance(column, head),
        };
        kind + 0.05 * chance(row * n + column, layer * 16 + head)
    };
    let row = |row: usize| {
        let weights: Vec<f64> = (0..n).map(|column| weight(row, column)).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(move |weight| (weight / sum) as f32)
    };
    (0..n).flat_map(row).collect()
}

/// The example run of this number.
pub fn example_run(number: u64) -> RunId {
    example_runs().into_iter().find(|run| run.number == number).expect("an example run").id
}

/// Repeatable, 0..1.
fn chance(a: usize, b: usize) -> f64 {
    let mut bits = (a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 31;
    bits = bits.wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 29;
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Heads of three kinds: those of a kind are alike, the more the nearer their layers.
fn similarity(measure: Measure, layers: usize, heads: usize, grown: f64) -> Similarity {
    let count = layers * heads;
    let mut mean = vec![1.0; count * count];
    for a in 0..count {
        for b in 0..count {
            let (low, high) = (a.min(b), a.max(b));
            if low == high {
                continue;
            }
            let apart = (high / heads - low / heads) as f64;
            let kind = |head: usize| (chance(head, 7) * 3.0) as usize;
            let same = if kind(low) == kind(high) { 0.34 * (-apart / 4.0).exp() } else { 0.04 };
            let noise = (chance(low, high) - 0.5) * 0.08;
            mean[a * count + b] = (0.38 + grown * 0.22 + grown * same + noise - apart * 0.02).clamp(0.0, 1.0);
        }
    }
    Similarity { measure, layers, heads, examples: 16, mean, origins: Vec::new() }
}

/// Eigenvalues that fall by a power, of `count` of `dimension`.
fn spectrum(dimension: usize, samples: u64, count: usize, power: f64) -> Spectrum {
    let values: Vec<f64> = (1..=dimension).map(|k| 900.0 * (k as f64).powf(-power)).collect();
    let trace = values.iter().sum();
    Spectrum { dimension, samples, trace, values: values.into_iter().take(count).collect(), ..Spectrum::default() }
}

fn spectra(layers: usize, heads: usize, grown: f64) -> ScoreSpectra {
    let (n, dimension) = (TOKENS, TOKENS * TOKENS);
    let samples = 16 * heads as u64;
    let known = 120;
    let power = 0.4 + 1.3 * grown;
    ScoreSpectra {
        tokens: n,
        examples: 16,
        method: SpectrumMethod::Iterated { directions: 384 },
        network: spectrum(dimension, samples * layers as u64, known, power),
        layers: (0..layers).map(|layer| spectrum(dimension, samples, known, power + 0.08 * layer as f64)).collect(),
        heads: Vec::new(),
        queries: (0..n).map(|query| spectrum(n, samples * layers as u64, n, power + 0.01 * query as f64)).collect(),
        row_mean_subtracted: Some(spectrum(dimension, samples * layers as u64, known, power + 0.25)),
        row_mean_energy: 0.34,
        patterns: (0..6).map(pattern).collect(),
        overlaps: (0..layers)
            .map(|layer| (1..=known).map(|k| 1.0 - (-(k as f64) / (6.0 + 9.0 * layer as f64)).exp() * 0.9).collect())
            .collect(),
    }
}

/// A column, diagonals, blocks, waves.
fn pattern(which: usize) -> Vec<f32> {
    let value = |row: f64, column: f64| match which {
        0 => (-column / 3.0).exp(),
        1 => (-((row - column - 1.0) / 1.5).powi(2)).exp(),
        2 => (-((row - column) / 4.0).powi(2)).exp() - 0.25,
        3 => {
            if (row / 8.0).floor() == (column / 8.0).floor() {
                0.8
            } else {
                -0.2
            }
        }
        4 => (column * 0.6).sin() * 0.5 + 0.1,
        _ => ((row + column) * 0.25).cos() * 0.6,
    };
    let cells = (0..TOKENS * TOKENS).map(|at| value((at / TOKENS) as f64, (at % TOKENS) as f64) / TOKENS as f64);
    cells.map(|value| value as f32).collect()
}

fn captured(layers: usize, heads: usize) -> CapturedVariance {
    let curve = |count: usize, pace: f64| -> Vec<f64> {
        let whole = 1.0 - (-(count as f64) / pace).exp();
        (1..=count).map(|k| (1.0 - (-(k as f64) / pace).exp()) / whole).collect()
    };
    let layer = |layer: usize| {
        let of = |kind: usize, pace: f64| -> Vec<Vec<f64>> {
            (0..heads).map(|head| curve(16, pace + 4.0 * chance(layer * 64 + head, kind))).collect()
        };
        LayerEnergies {
            heads: (0..heads).collect(),
            query: of(1, 4.0 + layer as f64 * 0.6),
            key: of(2, 3.0 + layer as f64 * 0.5),
            product: of(3, 1.5 + layer as f64 * 0.3),
            all_queries: curve(16 * heads, 22.0 + 3.0 * layer as f64),
            all_keys: curve(16 * heads, 18.0 + 3.0 * layer as f64),
            all_products: curve(16 * heads, 12.0 + 2.0 * layer as f64),
        }
    };
    CapturedVariance { layers: (0..layers).map(layer).collect() }
}
