//! What the tests of the operations share: seeded numbers, comparisons of values and gradients, finite differences.

use candle_core::{DType, Device, Result, Tensor, Var};

use super::random::{Purpose, Stream};

/// The element types that have fused operations, with how close they must come to a reference that adds in another
/// order: some hundred roundings of numbers around one.
pub const DTYPES: [(DType, f64); 2] = [(DType::F32, 4e-5), (DType::F64, 1e-11)];

/// Normal numbers that depend on `index` alone.
pub fn numbers(index: u64, shape: &[usize], dtype: DType) -> Tensor {
    let mut stream = Stream::new(1, Purpose::Test, index);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| stream.normal()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap().to_dtype(dtype).unwrap()
}

/// The same as a variable.
pub fn variable(index: u64, shape: &[usize], dtype: DType) -> Var {
    Var::from_tensor(&numbers(index, shape, dtype)).unwrap()
}

/// The elements in double precision.
pub fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1().unwrap()
}

/// Fails unless both have the same shape and are close: within `tolerance` of the larger of one and the reference.
pub fn assert_close(ours: &Tensor, reference: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(ours.shape(), reference.shape(), "shape of {what}");
    for (place, (x, y)) in values(ours).into_iter().zip(values(reference)).enumerate() {
        let is_close = (x - y).abs() <= tolerance * y.abs().max(1.0);
        assert!(is_close, "{what} at place {place}: {x} instead of {y}");
    }
}

/// The result of a function, and the gradients of its inputs for fixed random weights of the result's elements.
pub fn value_and_gradients(inputs: &[Var], f: impl Fn(&[Tensor]) -> Result<Tensor>) -> (Tensor, Vec<Tensor>) {
    let tensors: Vec<Tensor> = inputs.iter().map(|input| input.as_tensor().clone()).collect();
    let y = f(&tensors).unwrap();
    let weights = numbers(99, y.dims(), y.dtype());
    let gradients = (&y * weights).unwrap().sum_all().unwrap().backward().unwrap();
    let gradients = inputs.iter().map(|input| gradients.get(input).expect("an input got no gradient").clone());
    (y.detach(), gradients.collect())
}

/// Holds a function against a reference, in value and in the gradient of every input.
pub fn assert_matches(
    inputs: &[Var],
    tolerance: f64,
    ours: impl Fn(&[Tensor]) -> Result<Tensor>,
    reference: impl Fn(&[Tensor]) -> Result<Tensor>,
) {
    let (our_value, our_gradients) = value_and_gradients(inputs, ours);
    let (value, gradients) = value_and_gradients(inputs, reference);
    assert_close(&our_value, &value, tolerance, "the value");
    for (index, (ours, gradient)) in our_gradients.iter().zip(&gradients).enumerate() {
        assert_close(ours, gradient, tolerance, &format!("the gradient of input {index}"));
    }
}

/// Holds the gradients of `f64` inputs against central differences.
pub fn assert_differences(inputs: &[Var], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    // The error of the difference is about h² from the curve and 1e-16 / h from rounding.
    const H: f64 = 1e-5;
    let (y, gradients) = value_and_gradients(inputs, &f);
    let weights = values(&numbers(99, y.dims(), DType::F64));
    let tensors: Vec<Tensor> = inputs.iter().map(Var::as_detached_tensor).collect();
    for (index, gradient) in gradients.iter().enumerate() {
        let base = values(&tensors[index]);
        for (place, gradient) in values(gradient).into_iter().enumerate() {
            let loss = |shift: f64| {
                let mut moved = base.clone();
                moved[place] += shift;
                let mut tensors = tensors.clone();
                tensors[index] = Tensor::from_vec(moved, tensors[index].shape(), &Device::Cpu).unwrap();
                values(&f(&tensors).unwrap()).iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>()
            };
            let difference = (loss(H) - loss(-H)) / (2.0 * H);
            let is_close = (gradient - difference).abs() <= 1e-8 * difference.abs().max(1.0);
            assert!(is_close, "the gradient of input {index} at place {place}: {gradient} instead of {difference}");
        }
    }
}

/// Fails unless value and gradients have the same bits with one, two and three threads.
pub fn assert_same_for_any_threads(inputs: &[Var], f: impl Fn(&[Tensor]) -> Result<Tensor> + Sync) {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (value, gradients) = value_and_gradients(inputs, &f);
            let all = std::iter::once(&value).chain(&gradients);
            all.flat_map(values).map(f64::to_bits).collect::<Vec<_>>()
        })
    };
    let one = run(1);
    assert!(one == run(2), "two threads give other bits than one");
    assert!(one == run(3), "three threads give other bits than one");
}
