//! Every compilation of a kernel gives the same bits.

use super::*;

const SIZES: [usize; 6] = [0, 1, 7, 32, 45, 1031];

fn numbers<T: Real>(count: usize, seed: usize) -> Vec<T> {
    (0..count).map(|i| T::of(((i * 7919 + seed * 104_729) % 2003) as f64 / 200.0 - 5.0)).collect()
}

/// The results of every kernel, as bits.
fn everything<T: Real>() -> Vec<u64> {
    let mut bits = Vec::new();
    for size in SIZES {
        let (x, y, g) = (numbers::<T>(size, 1), numbers::<T>(size, 2), numbers::<T>(size, 3));
        let keys: Vec<u8> = (0..size).map(|i| u8::from(i % 3 != 1)).collect();
        let mut out = vec![T::ZERO; size];
        let mut keep = |out: &[T]| bits.extend(out.iter().map(|v| v.as_f64().to_bits()));
        for kernel in [gelu_exact, gelu_tanh] {
            kernel(&x, &mut out);
            keep(&out);
        }
        for kernel in [gelu_exact_gradient, gelu_tanh_gradient] {
            kernel(&x, &y, &mut out);
            keep(&out);
        }
        for (visible, keys) in [(size, None), (size / 2, None), (size, Some(keys.as_slice()))] {
            out.copy_from_slice(&x);
            let known = softmax_row(&mut out, T::of(0.3), visible, keys);
            let mut again = x.clone();
            softmax_row_again(&mut again, T::of(0.3), visible, keys, known);
            assert_eq!(again, out);
            keep(&out);
        }
        softmax_gradient_row(&x, &y, T::of(0.3), &mut out);
        keep(&out);
        let mut in_place = y.clone();
        softmax_gradient_in_place(&x, &mut in_place, T::of(0.3));
        assert_eq!(in_place, out);
        for kernel in [gelu_exact_with_slope, gelu_tanh_with_slope] {
            let mut slope = x.clone();
            kernel(&mut slope, &mut out);
            keep(&out);
            keep(&slope);
        }
        layer_norm_row(&x, &y, &g, T::of(1e-5), &mut out);
        keep(&out);
        let (mut dgain, mut dbias) = (x.clone(), y.clone());
        layer_norm_gradient_row(&x, &g, &y, T::of(1e-5), &mut out, &mut dgain, &mut dbias);
        keep(&out);
        keep(&dgain);
        keep(&dbias);
        keep(&[T::of(log_sum_exp(&x)), T::of(sum_of_squares(&x))]);
        cross_entropy_gradient(&x, T::of(2.0), T::of(0.1), &mut out);
        keep(&out);
        let mut in_place = x.clone();
        let log_sum = cross_entropy_gradient_in_place(&mut in_place, T::of(0.1));
        assert!(size == 0 || (log_sum - log_sum_exp(&x)).abs() < 1e-5);
        keep(&in_place);
        keep(&[T::of(index_of_largest(&x) as f64)]);
        out.copy_from_slice(&x);
        DropoutMask { key: [1, 2], counter: [0, 3, 4, 5], probability: 0.4 }.apply(&mut out, 9);
        keep(&out);
        add(&out.clone(), &y, &mut out);
        multiply_assign(&mut out, &g);
        add_assign(&mut out, &y);
        scale(&mut out, T::of(0.7));
        keep(&out);
        let (mut p, mut m, mut v) = (x.clone(), y.clone(), x.iter().map(|&x| x * x).collect::<Vec<_>>());
        let one = 1.0;
        let scalars = AdamWScalars {
            gradient_scale: 0.5,
            beta1: 0.9,
            one_minus_beta1: 0.1,
            beta2: 0.99,
            one_minus_beta2: 0.01,
            inverse_sqrt_correction2: 1.3,
            epsilon: 1e-8,
            step_size: 0.01,
            shrink: one - 0.001,
        };
        adamw(&mut p, &g, &mut m, &mut v, &AdamWScalars::of(&scalars));
        for out in [&p, &m, &v] {
            keep(out);
        }
    }
    bits
}

#[test]
fn every_vector_width_gives_the_same_bits() {
    let levels = supported_levels();
    let (mut singles, mut doubles) = (Vec::new(), Vec::new());
    for &level in &levels {
        force_level(level);
        singles.push(everything::<f32>());
        doubles.push(everything::<f64>());
    }
    for (level, (single, double)) in levels.iter().zip(singles.iter().zip(&doubles)) {
        assert!(single == &singles[0], "{level:?} gives other f32 bits");
        assert!(double == &doubles[0], "{level:?} gives other f64 bits");
    }
}

#[test]
fn a_dropout_mask_is_the_same_from_wherever_it_starts() {
    let mask = DropoutMask { key: [1, 2], counter: [0, 3, 4, 5], probability: 0.4 };
    let mut whole = vec![1.0_f32; 300];
    mask.apply(&mut whole, 0);
    for first in [0, 1, 2, 3, 4, 63, 64, 65, 150, 299, 300] {
        let mut part = vec![1.0_f32; 300 - first];
        mask.apply(&mut part, first);
        assert_eq!(part, whole[first..]);
    }
}

#[test]
fn the_slope_beside_gelu_is_its_gradient() {
    let x = numbers::<f64>(500, 1);
    let ones = vec![1.0; 500];
    for (with_slope, value, gradient) in [
        (
            gelu_exact_with_slope as fn(&mut [f64], &mut [f64]),
            gelu_exact as fn(&[f64], &mut [f64]),
            gelu_exact_gradient as fn(&[f64], &[f64], &mut [f64]),
        ),
        (gelu_tanh_with_slope, gelu_tanh, gelu_tanh_gradient),
    ] {
        let (mut slope, mut y, mut expected) = (x.clone(), ones.clone(), ones.clone());
        with_slope(&mut slope, &mut y);
        value(&x, &mut expected);
        assert_eq!(y, expected);
        gradient(&x, &ones, &mut expected);
        assert!(slope.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
