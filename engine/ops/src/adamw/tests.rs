//! The optimiser against a scalar reference, and its saved state.

use candle_core::Var;

use super::*;
use crate::testing::{numbers, values, variable};

const CONFIG: AdamWConfig = AdamWConfig { beta1: 0.8, beta2: 0.95, epsilon: 1e-6, weight_decay: 0.1 };

fn parameters(dtype: DType) -> Vec<Parameter> {
    vec![
        Parameter { name: "w".into(), var: variable(1, &[3, 7], dtype), decay: true, rate: 1.0 },
        Parameter { name: "b".into(), var: variable(2, &[20_000], dtype), decay: false, rate: 1.0 },
    ]
}

/// Gradients of a step: those of the sum of each parameter times fixed numbers.
fn gradients(parameters: &[Parameter], step: u64) -> Gradients {
    let mut loss = None;
    for (index, parameter) in parameters.iter().enumerate() {
        let factors = numbers(100 + 10 * step + index as u64, parameter.var.dims(), parameter.var.dtype());
        let part = (parameter.var.as_tensor() * factors).unwrap().sum_all().unwrap();
        loss = Some(loss.map_or(part.clone(), |loss: Tensor| (loss + part).unwrap()));
    }
    Gradients::collect(loss.unwrap().backward().unwrap(), parameters).unwrap()
}

/// `PyTorch`'s documentation of `AdamW`, one number at a time.
fn reference(start: f64, gradients: &[f64], rates: &[f64], decay: f64) -> f64 {
    let (mut p, mut m, mut v) = (start, 0.0, 0.0);
    for (t, (&g, &rate)) in gradients.iter().zip(rates).enumerate() {
        let t = t as i32 + 1;
        p -= rate * decay * p;
        m = CONFIG.beta1 * m + (1.0 - CONFIG.beta1) * g;
        v = CONFIG.beta2 * v + (1.0 - CONFIG.beta2) * g * g;
        let m_hat = m / (1.0 - CONFIG.beta1.powi(t));
        let v_hat = v / (1.0 - CONFIG.beta2.powi(t));
        p -= rate * m_hat / (v_hat.sqrt() + CONFIG.epsilon);
    }
    p
}

#[test]
fn matches_a_scalar_reference_over_several_steps() {
    let rates = [0.1, 0.05, 0.2, 0.0, 0.01];
    for (dtype, tolerance) in [(DType::F32, 2e-6), (DType::F64, 1e-13)] {
        let parameters = parameters(dtype);
        let starts: Vec<Vec<f64>> = parameters.iter().map(|p| values(&p.var)).collect();
        let mut optimiser = AdamW::new(parameters.clone(), CONFIG).unwrap();
        let mut history = Vec::new();
        for (step, &rate) in rates.iter().enumerate() {
            let gradients = gradients(&parameters, step as u64);
            optimiser.step(&gradients, rate).unwrap();
            history.push(gradients);
        }
        assert_eq!(optimiser.step_count(), 5);
        for (parameter, start) in parameters.iter().zip(starts) {
            let history: Vec<_> = history.iter().map(|g| values(&g.get(&parameter.name).unwrap())).collect();
            let decay = if parameter.decay { CONFIG.weight_decay } else { 0.0 };
            for (place, (&start, ours)) in start.iter().zip(values(&parameter.var)).enumerate() {
                let gradients: Vec<f64> = history.iter().map(|g| g[place]).collect();
                let expected = reference(start, &gradients, &rates, decay);
                let is_close = (ours - expected).abs() <= tolerance * expected.abs().max(1.0);
                assert!(is_close, "{} at {place}: {ours} instead of {expected}", parameter.name);
            }
        }
    }
}

#[test]
fn a_saved_state_continues_bit_for_bit() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let parameters = parameters(dtype);
        let mut optimiser = AdamW::new(parameters.clone(), CONFIG).unwrap();
        for step in 0..3 {
            optimiser.step(&gradients(&parameters, step), 0.1).unwrap();
        }
        let copies: Vec<Parameter> = parameters
            .iter()
            .rev()
            .map(|p| Parameter { var: Var::from_tensor(&p.var.copy().unwrap().detach()).unwrap(), ..p.clone() })
            .collect();
        let state = optimiser.state().unwrap();
        let names: Vec<&str> = state.keys().map(String::as_str).collect();
        assert_eq!(names, ["b.exp_avg", "b.exp_avg_sq", "optimizer.step", "w.exp_avg", "w.exp_avg_sq"]);
        let mut resumed = AdamW::new(copies.clone(), CONFIG).unwrap();
        resumed.load_state(&state).unwrap();
        for step in 3..6 {
            let gradients = gradients(&parameters, step);
            optimiser.step(&gradients, 0.1).unwrap();
            resumed.step(&gradients, 0.1).unwrap();
        }
        for (one, other) in parameters.iter().zip(copies.iter().rev()) {
            assert_eq!(values(&one.var), values(&other.var), "{}", one.name);
        }
        // The state was a copy: later steps have not changed it.
        let mut again = AdamW::new(copies, CONFIG).unwrap();
        again.load_state(&state).unwrap();
        assert_eq!(again.step_count(), 3);
    }
}

/// "w" is trained for six steps before "b" joins.
fn joined_late(dtype: DType) -> (Vec<Parameter>, AdamW) {
    let parameters = parameters(dtype);
    let mut first = AdamW::new(parameters[..1].to_vec(), CONFIG).unwrap();
    for step in 0..6 {
        first.step(&gradients(&parameters[..1], step), 0.1).unwrap();
    }
    let mut both = AdamW::new(parameters.clone(), CONFIG).unwrap();
    both.load_state(&AdamW::joined(both.state().unwrap(), first.state().unwrap()).unwrap()).unwrap();
    (parameters, both)
}

/// It got the correction of the seventh step once, and moved by several times the learning rate.
#[test]
fn a_parameter_that_joins_late_counts_its_own_steps() {
    let rates = [0.1, 0.05, 0.2];
    for (dtype, tolerance) in [(DType::F32, 2e-6), (DType::F64, 1e-13)] {
        let (parameters, mut optimiser) = joined_late(dtype);
        let start = values(&parameters[1].var);
        let mut history = Vec::new();
        for (step, &rate) in (6..).zip(&rates) {
            let gradients = gradients(&parameters, step);
            optimiser.step(&gradients, rate).unwrap();
            history.push(values(&gradients.get("b").unwrap()));
            if step == 6 {
                let gradients = history.iter().flatten();
                for ((before, after), gradient) in start.iter().zip(values(&parameters[1].var)).zip(gradients) {
                    // The first step is as long as the learning rate, however large the gradient.
                    let expected = rate * gradient.abs() / (gradient.abs() + CONFIG.epsilon);
                    assert!(((after - before).abs() - expected).abs() < 1e-5 * rate, "{before} to {after}");
                }
            }
        }
        assert_eq!(optimiser.step_count(), 9);
        for (place, (&start, ours)) in start.iter().zip(values(&parameters[1].var)).enumerate() {
            let gradients: Vec<f64> = history.iter().map(|gradients| gradients[place]).collect();
            let expected = reference(start, &gradients, &rates, 0.0);
            assert!((ours - expected).abs() <= tolerance * expected.abs().max(1.0), "{ours} instead of {expected}");
        }
    }
}

#[test]
fn ages_are_kept_and_states_without_them_go_on_as_they_did() {
    let (parameters, mut optimiser) = joined_late(DType::F32);
    optimiser.step(&gradients(&parameters, 6), 0.1).unwrap();
    let state = optimiser.state().unwrap();
    let names: Vec<&str> = state.keys().map(String::as_str).collect();
    assert_eq!(names, ["b.exp_avg", "b.exp_avg_sq", "b.step", "optimizer.step", "w.exp_avg", "w.exp_avg_sq"]);
    assert_eq!(state["b.step"].to_vec1::<i64>().unwrap(), [1]);
    let copies = || -> Vec<Parameter> {
        let copy = |p: &Parameter| Var::from_tensor(&p.var.copy().unwrap().detach()).unwrap();
        parameters.iter().map(|p| Parameter { var: copy(p), ..p.clone() }).collect()
    };
    let (resumed, old) = (copies(), copies());
    let gradients = gradients(&parameters, 7);
    let go_on = |parameters: &[Parameter], state: &BTreeMap<String, Tensor>| {
        let mut optimiser = AdamW::new(parameters.to_vec(), CONFIG).unwrap();
        optimiser.load_state(state).unwrap();
        optimiser.step(&gradients, 0.1).unwrap();
        values(&parameters[1].var)
    };
    let before = values(&parameters[1].var);
    let found = go_on(&resumed, &state);
    // As it was written before ages were: as old as the run.
    let mut without = state.clone();
    without.remove("b.step");
    let as_before = go_on(&old, &without);
    optimiser.step(&gradients, 0.1).unwrap();
    assert_eq!(found, values(&parameters[1].var));
    let moments = |name: &str| values(&state[name]);
    let rest = moments("b.exp_avg").into_iter().zip(moments("b.exp_avg_sq")).zip(values(&gradients.get("b").unwrap()));
    for (((first, second), gradient), (before, after)) in rest.zip(before.into_iter().zip(as_before)) {
        let m = CONFIG.beta1 * first + (1.0 - CONFIG.beta1) * gradient;
        let v = CONFIG.beta2 * second + (1.0 - CONFIG.beta2) * gradient * gradient;
        let v_hat = v / (1.0 - CONFIG.beta2.powi(8));
        let expected = before - 0.1 * m / (1.0 - CONFIG.beta1.powi(8)) / (v_hat.sqrt() + CONFIG.epsilon);
        assert!((after - expected).abs() < 2e-6 * expected.abs().max(1.0), "{after} instead of {expected}");
    }
    let mut wrong = state.clone();
    wrong.insert("b.step".to_owned(), Tensor::new(&[9_i64], &Device::Cpu).unwrap());
    assert!(optimiser.load_state(&wrong).unwrap_err().to_string().contains("more than the 7 steps"));
}

#[test]
fn half_precision_follows_single_precision() {
    let single = parameters(DType::F32);
    let half: Vec<Parameter> = single
        .iter()
        .map(|p| Parameter { var: Var::from_tensor(&p.var.to_dtype(DType::BF16).unwrap()).unwrap(), ..p.clone() })
        .collect();
    for parameters in [&single, &half] {
        AdamW::new(parameters.clone(), CONFIG).unwrap().step(&gradients(parameters, 0), 0.5).unwrap();
    }
    for (single, half) in single.iter().zip(&half) {
        for (x, y) in values(&single.var).into_iter().zip(values(&half.var)) {
            // Eight bits of mantissa, rounded twice; a gradient near zero may move either way no further than 1.
            assert!((x - y).abs() <= 0.03 * x.abs().max(1.0), "{y} instead of {x}");
        }
    }
}

#[test]
fn a_failed_step_or_load_changes_nothing() {
    let parameters = parameters(DType::F32);
    let before: Vec<_> = parameters.iter().map(|p| values(&p.var)).collect();
    let mut optimiser = AdamW::new(parameters.clone(), CONFIG).unwrap();
    let error = optimiser.step(&gradients(&parameters[..1], 0), 0.1).unwrap_err().to_string();
    assert!(error.contains("\"b\""), "{error}");
    assert_eq!(before, parameters.iter().map(|p| values(&p.var)).collect::<Vec<_>>());
    assert_eq!(optimiser.step_count(), 0);

    let state = optimiser.state().unwrap();
    let load = |optimiser: &mut AdamW, change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
        let mut state = state.clone();
        change(&mut state);
        optimiser.load_state(&state).unwrap_err().to_string()
    };
    let missing = load(&mut optimiser, &|state| drop(state.remove("w.exp_avg_sq")));
    assert!(missing.contains("w.exp_avg_sq"), "{missing}");
    let shape = load(&mut optimiser, &|state| drop(state.insert("w.exp_avg".into(), numbers(1, &[7, 3], DType::F32))));
    assert!(shape.contains("[7, 3]"), "{shape}");
    let stray = load(&mut optimiser, &|state| drop(state.insert("x.exp_avg".into(), numbers(1, &[1], DType::F32))));
    assert!(stray.contains("x.exp_avg"), "{stray}");
}

#[test]
fn two_parameters_cannot_share_a_name() {
    let mut parameters = parameters(DType::F32);
    parameters[1].name = "w".into();
    assert!(AdamW::new(parameters, CONFIG).unwrap_err().to_string().contains("\"w\""));
}

/// A parameter with a rate moves as one of an optimiser with that share of the learning rate.
#[test]
fn a_rate_is_a_share_of_the_learning_rate() {
    let moved = |rate: f64, learning_rate: f64| -> Vec<Vec<f64>> {
        let mut all = parameters(DType::F64);
        for parameter in &mut all {
            parameter.rate = rate;
        }
        let mut optimiser = AdamW::new(all.clone(), CONFIG).unwrap();
        for step in 0..3 {
            optimiser.step(&gradients(&all, step), learning_rate).unwrap();
        }
        all.iter().map(|parameter| values(&parameter.var)).collect()
    };
    assert_eq!(moved(0.25, 0.1), moved(1.0, 0.025));
    assert_ne!(moved(0.25, 0.1), moved(1.0, 0.1));
}
