//! What a layer needs from the stream to scores and values, counted from its form.

use std::collections::BTreeSet;

use crate::{
    attention::StackPlan,
    ops::{Columns, Derived, PieceForm, ScoringForm, Source},
};

/// Streams that an attention reads. A projection that serves queries and keys is applied once to one stream, and to each of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Self-attention.
    One,
    /// Cross-attention: queries of the decoder's stream, keys and values of the encoder's.
    Two,
}

/// Counts of one layer, for each token where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scoring {
    /// Trainable numbers of everything up to scores and values.
    pub parameters: u64,
    /// Multiply-accumulates of matrix products up to scores and values.
    pub projection_macs: u64,
    /// Multiply-accumulates of scores for each pair of positions, all heads together.
    pub score_macs: u64,
    /// The same where scores are restored from some: what else each computed one takes.
    pub partial_score_macs: u64,
    /// Numbers of the longest query: a content bias is one more.
    pub query_size: usize,
    /// Numbers that single operations keep for the backward pass.
    pub kept: u64,
    /// Numbers that small operations keep besides: what is made of the projections.
    pub derived: u64,
    /// What the papers count differently: multiplications by diagonals count, those by content biases do not.
    pub published_macs: u64,
    /// Whether the output map has a bias.
    pub has_output_bias: bool,
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

impl Scoring {
    /// Counts layer `layer`.
    pub fn of(plan: &StackPlan, layer: usize, streams: Streams) -> Self {
        let heads = plan.heads_alone(&plan.head_plan, layer);
        if heads.attending() == 0 {
            return Self::default();
        }
        // One module for queries, keys and values or three: the numbers are the same.
        Self::of_form(&plan.form(&plan.compatibility, &heads, false), streams)
    }

    fn of_form(form: &ScoringForm, streams: Streams) -> Self {
        let width = |source: Source| form.width(source).unwrap_or(0) as u64;
        let map = |piece: usize| form.map_sizes(piece).map_or(0, |(a, b)| (a as u64).saturating_mul(b as u64));
        let numbers = |form: &PieceForm| match form {
            PieceForm::Map { inputs, outputs, bias } => {
                let weights = (*inputs as u64).saturating_mul(*outputs as u64);
                weights.saturating_add(if *bias { *outputs as u64 } else { 0 })
            }
            PieceForm::Tensor { shape, .. } => shape.iter().fold(1, |all: u64, n| all.saturating_mul(*n as u64)),
        };
        let (mut kept, mut scaled) = (0_u64, 0_u64);
        for (number, derived) in form.derived.iter().enumerate() {
            let width = width(Source::Derived(number));
            match derived {
                Derived::Mapped { .. } | Derived::Multiplied { .. } => kept = kept.saturating_add(width),
                Derived::Scaled { .. } | Derived::Mixed { .. } => scaled = scaled.saturating_add(width),
            }
        }
        kept = kept.saturating_add(sum(form.stream_maps().map(|map| width(Source::Map(map)))));
        let mut projection_macs = sum((0..form.pieces.len()).map(|piece| sum_of_piece(form, piece)));
        if streams == Streams::Two {
            // What both sides read is computed of each.
            let [queries, attended] = form.sides().map(|columns| pieces_behind(form, &columns));
            let both: Vec<usize> = queries.intersection(&attended).copied().collect();
            projection_macs = projection_macs.saturating_add(sum(both.iter().map(|piece| sum_of_piece(form, *piece))));
            kept = kept.saturating_add(sum(both.iter().map(|piece| width(Source::Map(*piece)))));
        }
        let is_scaled = |columns: Columns| match columns.of {
            Source::Derived(number) => {
                matches!(form.derived.get(number), Some(Derived::Scaled { .. } | Derived::Mixed { .. }))
            }
            Source::Map(_) => false,
        };
        // Where a side of a product is scaled, the papers count both.
        let both_sides = form.scores().filter(|scores| is_scaled(scores.query) || is_scaled(scores.key));
        let scaled_values = form.heads.iter().map(|head| head.value).filter(|value| is_scaled(*value));
        let contents = form.scores().find_map(|scores| scores.content).map_or(0, |content| match content.of {
            Source::Map(piece) => map(piece),
            Source::Derived(_) => 0,
        });
        let published_macs = sum(both_sides.map(|scores| 2 * scores.query.count as u64))
            .saturating_add(sum(scaled_values.map(|value| value.count as u64)))
            .saturating_add(projection_macs.saturating_sub(contents));
        Self {
            parameters: sum(form.pieces.iter().map(|piece| numbers(&piece.form))),
            projection_macs,
            score_macs: sum(form.scores().map(|scores| scores.query.count as u64)),
            // The content bias is a column more.
            partial_score_macs: form.scores().filter(|scores| scores.content.is_some()).count() as u64,
            query_size: form
                .scores()
                .map(|scores| scores.query.count + usize::from(scores.content.is_some()))
                .max()
                .unwrap_or(0),
            kept,
            derived: scaled,
            published_macs,
            has_output_bias: !form.lacks_output_bias,
        }
    }
}

/// Multiply-accumulates of the products with a piece for each token: a linear map, or matrices of blocks.
fn sum_of_piece(form: &ScoringForm, piece: usize) -> u64 {
    let multiplies = |derived: &Derived| matches!(derived, Derived::Multiplied { by, .. } if *by == piece);
    match form.pieces.get(piece).map(|piece| &piece.form) {
        Some(PieceForm::Map { inputs, outputs, .. }) => (*inputs as u64).saturating_mul(*outputs as u64),
        Some(PieceForm::Tensor { shape, .. }) if form.derived.iter().any(multiplies) => {
            shape.iter().fold(1, |all: u64, n| all.saturating_mul(*n as u64))
        }
        Some(PieceForm::Tensor { .. }) | None => 0,
    }
}

/// Pieces that some columns are made of.
fn pieces_behind(form: &ScoringForm, columns: &[Columns]) -> BTreeSet<usize> {
    let of = |columns: &Columns| match columns.of {
        Source::Map(piece) => vec![piece],
        Source::Derived(number) => {
            form.derived.get(number).map_or_else(Vec::new, |derived| derived.pieces().0.to_vec())
        }
    };
    columns.iter().flat_map(of).collect()
}
