//! Every way to score against independent numbers, against each other, and against what it starts with.

mod goldens;
mod identities;
mod initial;
mod memory;
mod places;
mod reuse;

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::{HeadAttention, LayerCoverage, LayerHeads, PairScoring, Piece, PieceForm, family};
use crate::{
    attention::Dropout,
    config::Compatibility,
    ops::{
        Affine, HeadProjections, Orientation, PieceWeights, ScoringForm,
        random::{Purpose, Stream},
    },
};

const NO_DROPOUT: Dropout = Dropout { probability: 0.5, draw: None };

/// Normal numbers times `deviation`, drawn from stream `index`.
fn normal(shape: &[usize], deviation: f64, index: u64) -> Tensor {
    let mut stream = Stream::new(3, Purpose::Test, index);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| deviation * stream.normal()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn affine(weight: Tensor, bias: Option<Tensor>) -> Affine {
    Affine { weight, bias, orientation: Orientation::InputsFirst }
}

/// Weights by name.
#[derive(Clone, Debug, Default)]
struct Loaded {
    maps: BTreeMap<&'static str, Affine>,
    tensors: BTreeMap<&'static str, Tensor>,
}

impl Loaded {
    /// With the form that they are of, of a stream of any width.
    fn with(&self, mut form: ScoringForm) -> HeadProjections {
        for piece in &mut form.pieces {
            if let PieceForm::Map { inputs, .. } = &mut piece.form {
                *inputs = self.maps[piece.module].sizes().unwrap().0;
            }
        }
        let weights = form.pieces.iter().map(|piece| match piece.form {
            PieceForm::Map { .. } => PieceWeights::Map(self.maps[piece.module].clone()),
            PieceForm::Tensor { .. } => PieceWeights::Tensor(self.tensors[piece.module].clone()),
        });
        let weights = weights.collect();
        HeadProjections::new(form, weights).unwrap()
    }

    /// The outputs of a map; 0 if there is none.
    fn outputs(&self, module: &str) -> usize {
        self.maps.get(module).map_or(0, |map| map.sizes().unwrap().1)
    }
}

/// Fills the modules of a layer; `index` tells layers apart.
fn loaded(pieces: &[Piece], index: u64, fill: impl Fn(&Piece, &[usize], u64) -> Tensor) -> Loaded {
    let mut loaded = Loaded::default();
    for (number, piece) in pieces.iter().enumerate() {
        let index = 1000 * index + 10 * number as u64;
        match &piece.form {
            PieceForm::Map { inputs, outputs, bias } => {
                let bias = bias.then(|| normal(&[*outputs], 0.5, index + 1));
                loaded.maps.insert(piece.module, affine(fill(piece, &[*inputs, *outputs], index), bias));
            }
            PieceForm::Tensor { shape, .. } => {
                loaded.tensors.insert(piece.module, fill(piece, shape, index));
            }
        }
    }
    loaded
}

/// A layer with weights far from its initial ones.
fn layer(compatibility: &Compatibility, heads: LayerHeads, joins: bool, index: u64) -> HeadAttention {
    layer_and_weights(compatibility, heads, joins, index).0
}

/// The same with the weights by name.
fn layer_and_weights(
    compatibility: &Compatibility,
    heads: LayerHeads,
    joins: bool,
    index: u64,
) -> (HeadAttention, Loaded) {
    let form = family(compatibility).form(&heads, joins);
    let loaded = loaded(&form.pieces, index, |_, shape, index| normal(shape, 0.5, index));
    let output = affine(
        normal(&[heads.mixing_width(), heads.width()], 0.5, 1000 * index + 900),
        Some(normal(&[heads.width()], 0.5, 1000 * index + 901)),
    );
    let projections = loaded.with(form);
    (HeadAttention { projections, output, heads, coverage: LayerCoverage::Full, pairs: PairScoring::default() }, loaded)
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// Fails unless the largest difference is within `tolerance` of the largest number expected.
fn assert_close(what: &str, got: &Tensor, expected: &Tensor, tolerance: f64) {
    assert_eq!(got.dims(), expected.dims(), "shape of {what}");
    let (got, expected) = (numbers(got), numbers(expected));
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let error = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0_f64, |most, x| {
        assert!(!x.is_nan(), "{what} has numbers that are not finite");
        most.max(x)
    });
    assert!(error <= tolerance * largest, "{what} is off by {error:e} of {largest}");
}
