//! Scaled dot-product attention with several heads.
//!
//! `Q = x W_q + b_q`, `K = x W_k + b_k`, `V = x W_v + b_v`; for every head `A = softmax(Q K^T / sqrt(d_k))` over the
//! visible keys; the mixed values `A V` of all heads, side by side, go through the output projection.
//! Vaswani et al., "Attention is all you need", 2017, section 3.2.

use candle_core::{D, Result, Tensor};

use crate::{
    attention::Dropout,
    ops::{
        Affine, HeadProjections, MaskSpec, attention_mix, attention_scores, masked_softmax, merge_heads, split_heads,
    },
};

/// From the residual stream to queries, keys and values, `[b, t, d]` each.
#[derive(Clone, Debug)]
pub enum Projections {
    /// A matrix each (BERT).
    Separate {
        /// Queries.
        query: Affine,
        /// Keys.
        key: Affine,
        /// Values.
        value: Affine,
    },
    /// One matrix for the three, whose outputs stand side by side: queries, keys, values (GPT-2).
    Fused(Affine),
}

impl Projections {
    /// As single operations take them.
    pub fn parts(&self) -> HeadProjections {
        match self {
            Self::Separate { query, key, value } => HeadProjections::Separate {
                scores: Some([query.clone(), key.clone()]),
                value: value.clone(),
                groups: None,
            },
            Self::Fused(all) => HeadProjections::Fused(all.clone()),
        }
    }

    fn forward(&self, x: &Tensor) -> Result<[Tensor; 3]> {
        match self {
            Self::Separate { query, key, value } => Ok([query.forward(x)?, key.forward(x)?, value.forward(x)?]),
            Self::Fused(all) => {
                // Parts of the weights, not of the output: their gradients are put together over d rows, not b t.
                let d = all.sizes()?.1 / 3;
                let part = |i: usize| all.outputs(i * d, d)?.forward(x);
                Ok([part(0)?, part(1)?, part(2)?])
            }
        }
    }
}

/// A self-attention layer in which every head computes.
#[derive(Clone, Debug)]
pub struct StandardAttention {
    /// Queries, keys and values.
    pub projections: Projections,
    /// From the mixed heads back to the residual stream.
    pub output: Affine,
    /// Number of heads H.
    pub heads: usize,
}

/// What an attention layer gives.
#[derive(Clone, Debug)]
pub struct AttentionOutput {
    /// What is added to the residual stream, before dropout. `[b, t, d]`
    pub output: Tensor,
    /// The attention maps before dropout; rows sum to 1, or are all zero where nothing is visible. `[b, h, t, t]`
    pub maps: Tensor,
}

impl StandardAttention {
    /// Attends from every position to every visible one. `site` is the dropout site of the maps.
    ///
    /// # Shapes
    /// `x` `[b, t, d]`.
    pub fn forward(&self, x: &Tensor, mask: &MaskSpec, dropout: &Dropout, site: u32) -> Result<AttentionOutput> {
        let [q, k, v] = self.projections.forward(x)?;
        let (q, k, v) = (split_heads(&q, self.heads)?, split_heads(&k, self.heads)?, split_heads(&v, self.heads)?);
        let scale = 1.0 / (q.dim(D::Minus1)? as f64).sqrt();
        let maps = masked_softmax(&attention_scores(&q, &k)?, scale, mask)?; // [b, h, t, t]
        let mixed = merge_heads(&attention_mix(&dropout.apply(&maps, site)?, &v)?)?; // [b, t, d]
        Ok(AttentionOutput { output: self.output.forward(&mixed)?, maps })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::ops::{
        Orientation,
        random::{Purpose, Stream},
    };

    const B: usize = 2;
    const H: usize = 3;
    const T: usize = 7;
    const D_K: usize = 5;
    const WIDTH: usize = H * D_K;

    /// Normal numbers times 0.5, drawn from stream `index`.
    fn numbers(shape: &[usize], index: u64) -> Tensor {
        let mut stream = Stream::new(3, Purpose::Test, index);
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| 0.5 * stream.normal()).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }

    fn affine(index: u64, orientation: Orientation) -> Affine {
        Affine { weight: numbers(&[WIDTH, WIDTH], index), bias: Some(numbers(&[WIDTH], index + 1)), orientation }
    }

    fn layer() -> StandardAttention {
        let [query, key, value, output] = [10, 20, 30, 40].map(|index| affine(index, Orientation::InputsFirst));
        StandardAttention { projections: Projections::Separate { query, key, value }, output, heads: H }
    }

    type Rows = Vec<Vec<f64>>;

    fn product(x: &Rows, affine: &Affine) -> Rows {
        let w = affine.weight.to_vec2::<f64>().unwrap();
        let bias = affine.bias.as_ref().unwrap().to_vec1::<f64>().unwrap();
        x.iter()
            .map(|row| (0..WIDTH).map(|j| bias[j] + (0..WIDTH).map(|i| row[i] * w[i][j]).sum::<f64>()).collect())
            .collect()
    }

    /// The formula with plain loops, for one example.
    fn reference(layer: &StandardAttention, x: &Rows, visible: impl Fn(usize, usize) -> bool) -> (Rows, Vec<Rows>) {
        let Projections::Separate { query, key, value } = &layer.projections else { unreachable!() };
        let (q, k, v) = (product(x, query), product(x, key), product(x, value));
        let mut mixed = vec![vec![0.0; WIDTH]; T];
        let mut maps = Vec::new();
        for h in 0..H {
            let columns = h * D_K..(h + 1) * D_K;
            let mut map = vec![vec![0.0; T]; T];
            for i in 0..T {
                for j in (0..T).filter(|&j| visible(i, j)) {
                    let score: f64 = columns.clone().map(|c| q[i][c] * k[j][c]).sum();
                    map[i][j] = (score / (D_K as f64).sqrt()).exp();
                }
                let total: f64 = map[i].iter().sum();
                for j in 0..T {
                    map[i][j] /= total;
                    for c in columns.clone() {
                        mixed[i][c] += map[i][j] * v[j][c];
                    }
                }
            }
            maps.push(map);
        }
        (product(&mixed, &layer.output), maps)
    }

    fn compare(layer: &StandardAttention, mask: &MaskSpec, visible: impl Fn(usize, usize, usize) -> bool) {
        let x = numbers(&[B, T, WIDTH], 1);
        let none = Dropout { probability: 0.5, draw: None };
        let got = layer.forward(&x, mask, &none, 0).unwrap();
        let (output, maps) = (got.output.to_vec3::<f64>().unwrap(), got.maps);
        for (b, x) in x.to_vec3::<f64>().unwrap().iter().enumerate() {
            let (expected, expected_maps) = reference(layer, x, |i, j| visible(b, i, j));
            for (got, expected) in output[b].iter().flatten().zip(expected.iter().flatten()) {
                assert!((got - expected).abs() < 1e-12, "output of example {b}: {got} instead of {expected}");
            }
            let maps = maps.get(b).unwrap().to_vec3::<f64>().unwrap();
            for (got, expected) in maps.iter().flatten().flatten().zip(expected_maps.iter().flatten().flatten()) {
                assert!((got - expected).abs() < 1e-12, "maps of example {b}: {got} instead of {expected}");
            }
        }
    }

    #[test]
    fn agrees_with_plain_loops() {
        compare(&layer(), &MaskSpec::default(), |_, _, _| true);
        compare(&layer(), &MaskSpec { causal: true, keys: None }, |_, i, j| j <= i);
        let keys: Vec<u8> = (0..B * T).map(|i| u8::from(i % T < 4 + i / T)).collect();
        let keys = Tensor::from_vec(keys, (B, T), &Device::Cpu).unwrap();
        compare(&layer(), &MaskSpec { causal: false, keys: Some(keys) }, |b, _, j| j < 4 + b);
    }

    #[test]
    fn fused_and_transposed_projections_say_the_same() {
        let separate = layer();
        let Projections::Separate { query, key, value } = &separate.projections else { unreachable!() };
        let fused = Affine {
            weight: Tensor::cat(&[&query.weight, &key.weight, &value.weight], 1).unwrap(),
            bias: Some(Tensor::cat(&[query, key, value].map(|map| map.bias.clone().unwrap()), 0).unwrap()),
            orientation: Orientation::InputsFirst,
        };
        let output = Affine {
            weight: separate.output.weight.t().unwrap().contiguous().unwrap(),
            bias: separate.output.bias.clone(),
            orientation: Orientation::OutputsFirst,
        };
        let other = StandardAttention { projections: Projections::Fused(fused), output, heads: H };
        let x = numbers(&[B, T, WIDTH], 2);
        let none = Dropout { probability: 0.0, draw: None };
        let mask = MaskSpec { causal: true, keys: None };
        let [a, b] = [&separate, &other].map(|layer| layer.forward(&x, &mask, &none, 0).unwrap().output);
        let difference = (a - b).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f64>().unwrap();
        assert!(difference < 1e-12, "{difference}");
    }

    #[test]
    fn maps_are_kept_from_before_dropout() {
        let x = numbers(&[B, T, WIDTH], 1);
        let half = Dropout { probability: 0.5, draw: Some((1, 1)) };
        let got = layer().forward(&x, &MaskSpec::default(), &half, 0).unwrap();
        let sums = got.maps.sum(D::Minus1).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-12), "{sums:?}");
        let none = Dropout { draw: None, ..half };
        let plain = layer().forward(&x, &MaskSpec::default(), &none, 0).unwrap();
        let difference = (got.output - plain.output).unwrap().abs().unwrap().max_all().unwrap();
        assert!(difference.to_scalar::<f64>().unwrap() > 1e-3);
        assert_eq!(got.maps.dtype(), DType::F64);
    }
}
