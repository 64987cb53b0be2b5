//! The adviser held against planted measurements.

mod advice;
mod borrowing;
mod models;
mod outcome;

use super::*;
use crate::{
    analysis::{Analysis, CapturedVariance, LayerEnergies, Measure, Similarity},
    attention::{Cell, Cost, HeadAt, HeadPlan, ModelFacts, ModelPlan, Workload},
    config::{AttentionConfig, CustomReuse, Reuse, RunConfig},
};

fn at(layer: usize, head: usize) -> HeadAt {
    HeadAt::new(layer, head)
}

/// Similarities of which only some are planted; all others are `rest`.
fn planted(layers: usize, heads: usize, rest: f64, pairs: &[(HeadAt, HeadAt, f64)]) -> Similarity {
    let count = layers * heads;
    let mut mean = vec![rest; count * count];
    for head in 0..count {
        mean[head * count + head] = 1.0;
    }
    for (a, b, value) in pairs {
        let (a, b) = (a.layer * heads + a.head, b.layer * heads + b.head);
        (mean[a * count + b], mean[b * count + a]) = (*value, *value);
    }
    Similarity { measure: Measure::TotalVariation, layers, heads, examples: 4, mean, origins: Vec::new() }
}

fn plan_of(rows: &[&str]) -> HeadPlan {
    let rows: Vec<String> = rows.iter().map(|&row| row.to_owned()).collect();
    let heads = rows[0].split_whitespace().count();
    let layers = rows.len();
    let config = AttentionConfig { reuse: Reuse::Custom(CustomReuse { rows }), ..AttentionConfig::default() };
    HeadPlan::derive(&config, layers, heads).unwrap()
}

fn plain(layers: usize, heads: usize) -> HeadPlan {
    HeadPlan::derive(&AttentionConfig::default(), layers, heads).unwrap()
}

/// A config of this size that a run could have.
fn config(layers: usize, heads: usize) -> RunConfig {
    let mut config = RunConfig::default();
    (config.model.layers, config.model.heads, config.model.width) = (layers, heads, 8 * heads);
    config.data.sequence_length = 16;
    config
}

/// Weights whose layers need 1, 2, 3, ... dimensions, each of which holds the same.
fn captured(layers: usize, columns: usize) -> CapturedVariance {
    let curve = |needed: usize| -> Vec<f64> { (1..=columns).map(|k| (k as f64 / needed as f64).min(1.0)).collect() };
    let layer = |layer: usize| LayerEnergies {
        heads: vec![0],
        all_queries: curve(2 * (layer + 1)),
        all_keys: curve(layer + 1),
        all_products: curve(layer + 1),
        ..LayerEnergies::default()
    };
    CapturedVariance { layers: (0..layers).map(layer).collect() }
}

fn analysis(similarity: Similarity) -> Analysis {
    let captured = captured(similarity.layers, 8 * similarity.heads);
    Analysis { similarity: vec![similarity], captured: Some(captured), ..Analysis::default() }
}
