//! What raw scores are like at the start.

use candle_core::{Device, Tensor};

use super::{
    super::{DEVIATION, HeadAttention, Initial, LayerCoverage, LayerHeads, PairScoring, PieceForm, family},
    Loaded, affine, numbers,
};
use crate::{
    config::Compatibility,
    ops::random::{Purpose, Stream},
};

const H: usize = 4;
const D_K: usize = 8;
const WIDTH: usize = H * D_K;
/// Layers that are drawn.
const DRAWS: u64 = 1500;

/// Mean and mean square of raw scores over many draws of the weights: of two orthogonal tokens, and of one with itself.
fn moments(compatibility: &Compatibility) -> [[f64; 2]; 2] {
    let heads = LayerHeads::plain(H, D_K);
    let form = family(compatibility).form(&heads, false);
    // Two orthogonal tokens of squared lengths WIDTH.
    let mut x = vec![1.0; 2 * WIDTH];
    (WIDTH..2 * WIDTH).filter(|i| i % 2 == 1).for_each(|i| x[i] = -1.0);
    let x = Tensor::from_vec(x, (1, 2, WIDTH), &Device::Cpu).unwrap();
    let (mut sums, mut count) = ([[0.0; 2]; 2], 0.0);
    for draw in 0..DRAWS {
        let mut loaded = Loaded::default();
        for (number, piece) in form.pieces.iter().enumerate() {
            let mut stream = Stream::new(9, Purpose::Test, 100 * draw + number as u64);
            let mut filled = |shape: &[usize]| {
                let values: Vec<f64> = (0..shape.iter().product())
                    .map(|_| match piece.initial {
                        Initial::Normal { deviation } => deviation * stream.normal(),
                        Initial::Ones => 1.0,
                        Initial::Zeros => 0.0,
                    })
                    .collect();
                Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
            };
            match &piece.form {
                // Biases start at zero.
                PieceForm::Map { inputs, outputs, .. } => {
                    loaded.maps.insert(piece.module, affine(filled(&[*inputs, *outputs]), None));
                }
                PieceForm::Tensor { shape, .. } => drop(loaded.tensors.insert(piece.module, filled(shape))),
            }
        }
        let attention = HeadAttention {
            projections: loaded.with(form.clone()),
            output: affine(Tensor::zeros((WIDTH, WIDTH), x.dtype(), &Device::Cpu).unwrap(), None),
            heads: heads.clone(),
            coverage: LayerCoverage::Full,
            pairs: PairScoring::default(),
        };
        let raw = numbers(&attention.raw_scores(&x, &x).unwrap().unwrap()); // [1, h, 2, 2]
        for of_head in raw.chunks(4) {
            for (pair, values) in [[of_head[1], of_head[2]], [of_head[0], of_head[3]]].into_iter().enumerate() {
                for value in values {
                    sums[pair][0] += value;
                    sums[pair][1] += value * value;
                }
            }
            count += 2.0;
        }
    }
    sums.map(|sums| sums.map(|sum| sum / count))
}

#[test]
fn every_way_to_score_starts_with_scores_of_the_same_variance() {
    let length = WIDTH as f64;
    let standard = D_K as f64 * DEVIATION.powi(4) * length * length;
    for compatibility in Compatibility::examples(H, WIDTH) {
        let [[mean, square], [own_mean, own_square]] = moments(&compatibility);
        // 12,000 products of heavy-tailed numbers, some of one draw: the estimate scatters by about 3 %.
        let ratio = square / standard;
        assert!((ratio - 1.0).abs() < 0.12, "{compatibility:?}: {ratio} times the standard variance");
        assert!(mean.abs() < 0.1 * standard.sqrt(), "{compatibility:?}: a mean of {mean}");
        // A token with itself, as each file derives it.
        let expected_mean =
            if compatibility.kind() == "symmetric" { D_K as f64 * DEVIATION * DEVIATION * length } else { 0.0 };
        let expected_ratio = match compatibility.kind() {
            "symmetric" => 2.0,
            "shared_weight" => 3.0,
            "pairwise" => 1.0 + 2.0 / D_K as f64,
            _ => 1.0,
        };
        let own_ratio = (own_square - own_mean * own_mean) / standard;
        assert!((own_mean - expected_mean).abs() < 0.15 * standard.sqrt(), "{compatibility:?}: {own_mean}");
        assert!((own_ratio / expected_ratio - 1.0).abs() < 0.25, "{compatibility:?}: {own_ratio} with itself");
    }
}
