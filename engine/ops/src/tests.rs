//! A whole small network through the public operations: in single precision, in half precision (which takes the
//! composed path that other devices take), and over several steps of training.

use candle_core::{DType, Device, Result, Tensor, Var};

use super::testing::{assert_differences, numbers, values};
use super::*;

const VOCABULARY: usize = 11;
const WIDTH: usize = 12;

/// Name, shape and whether it decays.
const SHAPES: [(&str, &[usize], bool); 9] = [
    ("embedding", &[VOCABULARY, WIDTH], true),
    ("norm.gain", &[WIDTH], false),
    ("norm.bias", &[WIDTH], false),
    ("q", &[WIDTH, WIDTH], true),
    ("k", &[WIDTH, WIDTH], true),
    ("v", &[WIDTH, WIDTH], true),
    ("up", &[WIDTH, 20], true),
    ("up.bias", &[20], false),
    ("down", &[WIDTH, 20], true),
];

fn parameters(dtype: DType) -> Vec<Parameter> {
    SHAPES
        .iter()
        .enumerate()
        .map(|(index, &(name, shape, decay))| {
            let start = if name == "norm.gain" { 1.0 } else { 0.0 };
            let values = (numbers(index as u64, shape, DType::F32) * 0.3).unwrap();
            let var = Var::from_tensor(&(values + start).unwrap().to_dtype(dtype).unwrap()).unwrap();
            Parameter { name: name.into(), var, decay, rate: 1.0 }
        })
        .collect()
}

/// The loss of a one-layer decoder with a tied head on fixed tokens.
fn loss(parameters: &[Parameter], gelu_kind: Gelu, step: u64) -> Result<Tensor> {
    let ids = Tensor::new(&[[1_u32, 5, 2, 9, 10], [3, 3, 0, 7, 4]], &Device::Cpu)?;
    let labels = Tensor::new(&[5_i64, 2, 9, 10, IGNORED_LABEL, 3, 0, 7, 4, IGNORED_LABEL], &Device::Cpu)?;
    let keys = Tensor::new(&[[1_u8, 1, 1, 1, 1], [0, 1, 1, 1, 1]], &Device::Cpu)?;
    let [table, gain, bias, q, k, v, up, up_bias, down] = std::array::from_fn(|i| parameters[i].var.as_tensor());
    let x = embedding(table, &ids)?;
    let x = dropout(&x, 0.1, &DropoutStream { seed: 1, step, site: 0 })?;
    let n = layer_norm(&x, gain, bias, 1e-5)?;
    let heads = |weight: &Tensor| split_heads(&linear(&n, weight, None)?, 3);
    let mask = MaskSpec { causal: true, keys: Some(keys) };
    let probs = masked_softmax(&attention_scores(&heads(q)?, &heads(k)?)?, 0.5, &mask)?;
    let x = (x + merge_heads(&attention_mix(&probs, &heads(v)?)?)?)?;
    let hidden = gelu(&linear(&x, up, Some(up_bias))?, gelu_kind)?;
    let x = (x + linear_transposed(&hidden, down, None)?)?;
    let logits = linear_transposed(&x, table, None)?;
    cross_entropy(&logits.reshape((10, VOCABULARY))?, &labels)
}

#[test]
fn half_precision_follows_single_precision() {
    for kind in [Gelu::Exact, Gelu::Tanh] {
        let [single, half] = [DType::F32, DType::F16].map(|dtype| {
            let parameters = parameters(dtype);
            let loss = loss(&parameters, kind, 0).unwrap();
            let gradients = Gradients::collect(loss.backward().unwrap(), &parameters).unwrap();
            assert_eq!(gradients.first_non_finite().unwrap(), None);
            (values(&loss)[0], gradients)
        });
        assert!((single.0 - half.0).abs() < 0.02 * single.0, "{} instead of {}", half.0, single.0);
        assert!((single.1.global_norm().unwrap() / half.1.global_norm().unwrap() - 1.0).abs() < 0.02);
        for ((name, single), (_, half)) in single.1.iter().zip(half.1.iter()) {
            let (single, half) = (values(&single), values(&half));
            let norm = single.iter().map(|g| g * g).sum::<f64>().sqrt();
            let error = single.iter().zip(&half).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
            // Eleven bits of mantissa over some ten roundings.
            assert!(norm > 0.0 && error < 0.02 * norm, "the gradient of {name} is off by {error} of {norm}");
        }
    }
}

#[test]
fn every_parameter_gets_a_gradient_that_matches_finite_differences() {
    let parameters = parameters(DType::F64);
    let inputs: Vec<Var> = parameters.iter().map(|p| p.var.clone()).collect();
    assert_differences(&inputs, |tensors| {
        let parameters: Vec<Parameter> = tensors
            .iter()
            .zip(&parameters)
            // A variable stays the same variable, a moved tensor becomes a new one.
            .map(|(tensor, p)| Parameter { var: Var::from_tensor(tensor).unwrap(), ..p.clone() })
            .collect();
        loss(&parameters, Gelu::Exact, 3)
    });
}

/// Losses of some steps, as bits.
fn train(threads: usize, steps: std::ops::Range<u64>, parameters: &[Parameter], optimiser: &mut AdamW) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let step = |step| {
        let loss = loss(parameters, Gelu::Tanh, step).unwrap();
        let gradients = Gradients::collect(loss.backward().unwrap(), parameters).unwrap();
        gradients.clip(1.0).unwrap();
        optimiser.step(&gradients, 1e-2).unwrap();
        values(&loss)[0].to_bits()
    };
    pool.install(|| steps.map(step).collect())
}

#[test]
fn training_learns_resumes_exactly_and_does_not_depend_on_threads() {
    let config = AdamWConfig::default();
    let one = parameters(DType::F32);
    let mut optimiser = AdamW::new(one.clone(), config).unwrap();
    let losses = train(1, 0..40, &one, &mut optimiser);
    let (first, last) = (f64::from_bits(losses[0]), f64::from_bits(losses[39]));
    assert!(last < 0.2 * first, "the loss went from {first} to {last}");

    let two = parameters(DType::F32);
    let mut optimiser = AdamW::new(two.clone(), config).unwrap();
    assert_eq!(train(2, 0..20, &two, &mut optimiser), losses[..20]);
    // Weights, moments and the step are all that a resumed run needs.
    let resumed: Vec<Parameter> = two
        .iter()
        .map(|p| Parameter { var: Var::from_tensor(&p.var.copy().unwrap().detach()).unwrap(), ..p.clone() })
        .collect();
    let mut continued = AdamW::new(resumed.clone(), config).unwrap();
    continued.load_state(&optimiser.state().unwrap()).unwrap();
    assert_eq!(train(2, 20..40, &resumed, &mut continued), losses[20..]);
}
