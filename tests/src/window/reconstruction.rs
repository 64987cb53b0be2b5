//! Scores restored from some of their pairs, as of a run: for pictures and for a panel that has to be full.

use headroom_app::state::State;
use headroom_engine::{
    analysis::{
        Analysis,
        reconstruction::{ErrorCurve, RebuiltMap, Reconstruction, Scope, ScopeReconstruction, WholeCurves},
    },
    attention::HeadAt,
    protocol::{Command, Event, Rebuild, commands, events},
    store::{AnalysisId, AnalysisSummary, RunId},
};

/// Tokens of an example.
const N: usize = 27;

/// What was found of a model of six layers.
pub fn example_reconstruction() -> Reconstruction {
    let scopes = [Scope::Network, Scope::Layer { layer: 0 }, Scope::Layer { layer: 5 }]
        .into_iter()
        .chain([Scope::Head { at: HeadAt::new(2, 1) }])
        .enumerate()
        .map(|(place, scope)| part(scope, 1.0 + place as f64 * 0.4));
    let flops: Vec<f64> = (0..=N).map(|k| k as f64 * (16.0 + (N - k) as f64) / (16.0 * N as f64)).collect();
    let pairs = N * N;
    let whole_flops = (0..=pairs).map(|k| k as f64 * (16.0 + (pairs - k) as f64) / (16.0 * pairs as f64));
    Reconstruction {
        tokens: N,
        is_causal: false,
        examples: 128,
        held_out_examples: 128,
        scopes: scopes.collect(),
        whole: Some(WholeCurves {
            pairs,
            samples: 6144,
            held_out_samples: 6144,
            greedy: curve(pairs, 24.0, 1.12),
            eigen: curve(pairs, 14.0, 1.1),
            random: curve(pairs, 60.0, 1.12),
            flops: whole_flops.collect(),
            ranks: (0..pairs).map(|place| (place * 31 % pairs) as f32).collect(),
        }),
        forward_flops: flops.iter().map(|flops| 0.92 + 0.08 * flops).collect(),
        score_flops: flops,
    }
}

/// Errors that fall over up to `most` pairs.
fn curve(most: usize, pace: f64, other: f64) -> ErrorCurve {
    let error = |k: usize| {
        let left = 1.0 - k as f64 / most as f64;
        (0.8 * (-(k as f64) / pace).exp() + 0.2) * left
    };
    let fitted: Vec<f64> = (0..=most).map(error).collect();
    let held_out = fitted.iter().enumerate().map(|(k, error)| error * if k == 0 { 1.0 } else { other }).collect();
    ErrorCurve { fitted, held_out }
}

fn part(scope: Scope, pace: f64) -> ScopeReconstruction {
    // The diagonal first, then what is near, with a few far away.
    let mut ranks = vec![0.0; N * N];
    for query in 0..N {
        let mut keys: Vec<usize> = (0..N).collect();
        keys.sort_by_key(|&key| (query.abs_diff(key) * 7 + query * 5 + key * 11) % 29 + 2 * query.abs_diff(key).min(4));
        for (rank, key) in keys.into_iter().enumerate() {
            ranks[query * N + key] = rank as f32;
        }
    }
    ScopeReconstruction {
        scope,
        samples: 6144,
        held_out_samples: 6144,
        trace: 1234.0,
        held_out_trace: 1210.0,
        greedy: curve(N, 2.4 * pace, 1.15),
        eigen: curve(N, 1.3 * pace, 1.08),
        random: curve(N, 5.0 * pace, 1.2),
        ranks,
        has_factors: true,
        factors: Vec::new(),
    }
}

/// Puts a reconstruction of a run's checkpoint into a view model, as the engine's answers would.
pub fn fill_with_reconstruction(state: &mut State, run: &RunId) {
    let id: AnalysisId = "rec0nstrct".parse().expect("an id");
    let analysis = Analysis {
        target: "grammar encoder, step 400".to_owned(),
        step: Some(400),
        data: "held-out text of the built-in grammar".to_owned(),
        examples: 256,
        tokens: N,
        reconstruction: Some(example_reconstruction()),
        ..Analysis::default()
    };
    let summary = AnalysisSummary {
        id: id.clone(),
        number: 1,
        run: Some(run.clone()),
        target: analysis.target.clone(),
        step: analysis.step,
        data: analysis.data.clone(),
        shuffled: None,
        examples: analysis.examples,
        tokens: analysis.tokens as u64,
        created_ms: 0,
        reconstructs: true,
    };
    state.apply(Event::Analyses(events::Analyses { analyses: vec![summary] }));
    state.apply(Event::Analysed(events::Analysed { analysis: id, result: Box::new(analysis) }));
}

/// Answers what was asked of rebuilt maps, as the engine would.
pub fn answer_rebuilt(state: &mut State, asked: &[Command]) {
    for command in asked {
        if let Command::RebuildMap(commands::RebuildMap { view, rebuild }) = command {
            let rebuilt = Some(Box::new(rebuilt(rebuild)));
            state.apply(Event::Rebuilt(events::Rebuilt { view: *view, rebuild: rebuild.clone(), rebuilt, why: None }));
        }
    }
}

/// Scores of three waves, of which more pairs show more.
fn rebuilt(rebuild: &Rebuild) -> RebuiltMap {
    let score = |query: usize, key: usize| {
        let (row, column) = (query as f64, key as f64);
        let near = 3.0 - (row - column - rebuild.head as f64).abs() * 0.7;
        near.max(-1.5) + 0.8 * (column * 0.9 + rebuild.layer as f64).sin() + 0.5 * (row * column * 0.13).cos()
    };
    let left = 1.0 - rebuild.k as f64 / N as f64;
    let noise = |query: usize, key: usize| ((query * 37 + key * 61) % 17) as f64 / 8.5 - 1.0;
    let cells = || (0..N).flat_map(|query| (0..N).map(move |key| (query, key)));
    let scores: Vec<f32> = cells().map(|(query, key)| score(query, key) as f32).collect();
    let rebuilt_scores: Vec<f32> =
        cells().map(|(query, key)| (score(query, key) + left * noise(query, key)) as f32).collect();
    let softmax = |scores: &[f32]| -> Vec<f32> {
        let rows = scores.chunks(N).flat_map(|row| {
            let sum: f32 = row.iter().map(|score| score.exp()).sum();
            row.iter().map(move |score| score.exp() / sum).collect::<Vec<f32>>()
        });
        rows.collect()
    };
    RebuiltMap {
        tokens: N,
        k: rebuild.k,
        map: softmax(&scores),
        rebuilt_map: softmax(&rebuilt_scores),
        scores,
        rebuilt_scores,
        score_error: 0.2 * left * left,
        map_distance: 0.3 * left,
        largest_distance: 0.6 * left,
    }
}
