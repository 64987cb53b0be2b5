//! Whole parts of a model against the same ones composed of small operations, over all kinds of shapes.

mod families;
mod plain;

use candle_core::{DType, Device, Result, Tensor, Var};
use proptest::prelude::*;

use self::plain::Plain;
use super::*;
use crate::testing::{assert_close, numbers, values, variable};
use crate::{
    Affine, DropoutStream, Gelu, Gradients, IGNORED_LABEL, MaskSpec, Norm, NormAt, Orientation, Parameter, Products,
    attention_mix, attention_scores, cross_entropy, dropout, gelu, linear_transposed, masked_softmax, merge_heads,
    split_heads,
};

#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    tokens: usize,
    heads: usize,
    head_size: usize,
    inner: usize,
    causal: bool,
    /// Keys of each example that can be seen; zero hides everything.
    visible: Option<usize>,
    dropout: f64,
    at: NormAt,
    orientation: Orientation,
    is_fused: bool,
    memory: MapMemory,
    /// What the queries are multiplied with: large ones saturate the softmax.
    sharpness: f64,
}

const STREAM: DropoutStream = DropoutStream { seed: 5, step: 9, site: 3 };

impl Case {
    fn width(&self) -> usize {
        self.heads * self.head_size
    }

    /// Every parameter by name, the stream first.
    fn parameters(&self, dtype: DType) -> Vec<Parameter> {
        let d = self.width();
        let matrix = |inputs: usize, outputs: usize| match self.orientation {
            Orientation::InputsFirst => vec![inputs, outputs],
            Orientation::OutputsFirst => vec![outputs, inputs],
        };
        let mut shapes = vec![("x".to_owned(), vec![self.batch, self.tokens, d])];
        let mut affine = |name: &str, inputs, outputs| {
            shapes.push((format!("{name}.weight"), matrix(inputs, outputs)));
            shapes.push((format!("{name}.bias"), vec![outputs]));
        };
        if self.is_fused {
            affine("all", d, 3 * d);
        } else {
            for name in ["q", "k", "v"] {
                affine(name, d, d);
            }
        }
        affine("output", d, d);
        affine("inner", d, self.inner);
        affine("outer", self.inner, d);
        for name in ["norm 1", "norm 2", "last"] {
            shapes.push((format!("{name}.weight"), vec![d]));
            shapes.push((format!("{name}.bias"), vec![d]));
        }
        let parameter = |(index, (name, shape)): (usize, (String, Vec<usize>))| {
            let drawn = (numbers(index as u64, &shape, DType::F64) * 0.4).unwrap();
            let sharp = name.starts_with('q') || name.starts_with("all");
            let drawn = (drawn * if sharp { self.sharpness } else { 1.0 }).unwrap();
            let var = Var::from_tensor(&drawn.to_dtype(dtype).unwrap()).unwrap();
            Parameter { name, var, decay: false, rate: 1.0 }
        };
        shapes.into_iter().enumerate().map(parameter).collect()
    }

    fn mask(&self) -> MaskSpec {
        let keys = self.visible.map(|visible| {
            let keys = (0..self.batch * self.tokens).map(|at| u8::from(at % self.tokens < visible)).collect::<Vec<_>>();
            Tensor::from_vec(keys, (self.batch, self.tokens), &Device::Cpu).unwrap()
        });
        MaskSpec { causal: self.causal, keys }
    }

    fn drop_at(&self, site: u32) -> Option<BlockDropout> {
        (self.dropout > 0.0)
            .then_some(BlockDropout { probability: self.dropout, stream: DropoutStream { site, ..STREAM } })
    }

    fn ours(&self, parameters: &[Parameter], gradients: Option<&Gradients>, wanted: Wanted) -> Result<Stacked> {
        let get = |name: &str| tensor(parameters, name);
        let frame =
            |norm: &str, site| Frame { norm: norm_of(parameters, norm), at: self.at, dropout: self.drop_at(site) };
        let affine = |name: &str| self.affine(parameters, name);
        let layer = LayerParts {
            cross: None,
            attention: Some(AttentionParts {
                frame: frame("norm 1", 1),
                projections: if self.is_fused {
                    Plain::Fused(affine("all"))
                } else {
                    Plain::Separate { scores: Some(["q", "k"].map(affine)), value: affine("v"), groups: None }
                }
                .projections(&vec![HeadMap::Computed; self.heads], self.head_size)?,
                heads: vec![HeadMap::Computed; self.heads],
                head_size: self.head_size,
                output: affine("output"),
                mask: self.mask(),
                dropout: self.drop_at(0),
                memory: self.memory,
            }),
            feed_forward: FeedForwardParts {
                frame: frame("norm 2", 2),
                inner: affine("inner"),
                outer: affine("outer"),
                activation: Gelu::Exact,
            },
        };
        // Twice the same layer: its gradients add up.
        let last = (self.at == NormAt::First).then(|| norm_of(parameters, "last"));
        stack(&get("x"), None, vec![layer.clone(), layer], last, gradients, Products::Own, wanted)
    }

    /// The stream and the maps of both layers.
    fn reference(&self, parameters: &[Parameter]) -> Result<(Tensor, Vec<Tensor>)> {
        let mut x = tensor(parameters, "x");
        let mut maps = Vec::new();
        for _ in 0..2 {
            x = self.sublayer(parameters, &x, "norm 1", 1, |x| {
                let d = self.width();
                let parts = if self.is_fused {
                    let all = self.affine(parameters, "all").forward(x)?;
                    [0, 1, 2].map(|part| all.narrow(2, part * d, d).unwrap())
                } else {
                    ["q", "k", "v"].map(|name| self.affine(parameters, name).forward(x).unwrap())
                };
                let [q, k, v] = parts.map(|part| split_heads(&part, self.heads).unwrap());
                let scale = 1.0 / (self.head_size as f64).sqrt();
                let map = masked_softmax(&attention_scores(&q, &k)?, scale, &self.mask())?;
                maps.push(map.clone());
                let mixed = merge_heads(&attention_mix(&self.dropped(&map, 0)?, &v)?)?;
                self.affine(parameters, "output").forward(&mixed)
            })?;
            x = self.sublayer(parameters, &x, "norm 2", 2, |x| {
                let inner = gelu(&self.affine(parameters, "inner").forward(x)?, Gelu::Exact)?;
                self.affine(parameters, "outer").forward(&inner)
            })?;
        }
        if self.at == NormAt::First {
            x = norm_of(parameters, "last").forward(&x)?;
        }
        Ok((x, maps))
    }

    fn sublayer(
        &self,
        parameters: &[Parameter],
        x: &Tensor,
        norm: &str,
        site: u32,
        f: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let norm = norm_of(parameters, norm);
        match self.at {
            NormAt::First => x + self.dropped(&f(&norm.forward(x)?)?, site)?,
            NormAt::Last => norm.forward(&(x + self.dropped(&f(x)?, site)?)?),
        }
    }

    fn dropped(&self, x: &Tensor, site: u32) -> Result<Tensor> {
        dropout(x, self.dropout, &DropoutStream { site, ..STREAM })
    }

    fn affine(&self, parameters: &[Parameter], name: &str) -> Affine {
        let get = |part: &str| tensor(parameters, &format!("{name}.{part}"));
        Affine { weight: get("weight"), bias: Some(get("bias")), orientation: self.orientation }
    }

    /// Values and gradients of both, as one list each.
    fn both(&self, dtype: DType) -> [Vec<(String, Tensor)>; 2] {
        let parameters = self.parameters(dtype);
        let run = |stream: &Tensor, maps: &[Tensor], gradients: &Gradients| {
            let weights = numbers(99, stream.dims(), dtype);
            gradients.absorb((stream * weights).unwrap().sum_all().unwrap().backward().unwrap()).unwrap();
            let mut all = vec![("the stream".to_owned(), stream.detach())];
            all.extend(maps.iter().enumerate().map(|(layer, map)| (format!("maps {layer}"), map.detach())));
            all.extend(gradients.iter().map(|(name, gradient)| (format!("the gradient of {name}"), gradient)));
            all
        };
        let gradients = Gradients::new(&parameters).unwrap();
        let found = self.ours(&parameters, Some(&gradients), Wanted { maps: true, hidden: false }).unwrap();
        let ours = run(&found.stream, &found.maps, &gradients);
        let (stream, maps) = self.reference(&parameters).unwrap();
        [ours, run(&stream, &maps, &Gradients::new(&parameters).unwrap())]
    }

    fn check(&self, dtype: DType, tolerance: f64) {
        let [ours, reference] = self.both(dtype);
        assert_eq!(ours.len(), reference.len(), "{self:?}");
        for ((name, ours), (_, reference)) in ours.iter().zip(&reference) {
            let scale = values(reference).iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            assert_close(ours, reference, tolerance * scale, &format!("{name} of {self:?}"));
        }
    }
}

fn tensor(parameters: &[Parameter], name: &str) -> Tensor {
    parameters.iter().find(|parameter| parameter.name == name).expect("a known name").var.as_tensor().clone()
}

fn norm_of(parameters: &[Parameter], name: &str) -> Norm {
    let get = |part: &str| tensor(parameters, &format!("{name}.{part}"));
    Norm { gain: get("weight"), bias: get("bias"), epsilon: 1e-2 }
}

const CASE: Case = Case {
    batch: 2,
    tokens: 7,
    heads: 2,
    head_size: 3,
    inner: 5,
    causal: false,
    visible: None,
    dropout: 0.0,
    at: NormAt::First,
    orientation: Orientation::InputsFirst,
    is_fused: true,
    memory: MapMemory::Keep,
    sharpness: 1.0,
};

#[test]
fn rows_that_see_nothing_and_scores_that_saturate() {
    for memory in [MapMemory::Keep, MapMemory::Recompute] {
        for causal in [false, true] {
            Case { visible: Some(0), causal, memory, ..CASE }.check(DType::F64, 1e-12);
            Case { visible: Some(1), causal, memory, ..CASE }.check(DType::F32, 2e-5);
            Case { sharpness: 1e3, causal, memory, ..CASE }.check(DType::F64, 1e-10);
        }
    }
}

#[test]
fn kept_and_recomputed_maps_give_the_same_bits() {
    for causal in [false, true] {
        let case = Case { tokens: 130, causal, dropout: 0.3, visible: Some(100), ..CASE };
        let [kept, recomputed] = [MapMemory::Keep, MapMemory::Recompute].map(|memory| {
            let case = Case { memory, ..case };
            let parameters = case.parameters(DType::F32);
            let gradients = Gradients::new(&parameters).unwrap();
            let found = case.ours(&parameters, Some(&gradients), Wanted::default()).unwrap();
            gradients.absorb(found.stream.sqr().unwrap().sum_all().unwrap().backward().unwrap()).unwrap();
            gradients.iter().flat_map(|(_, gradient)| values(&gradient)).map(f64::to_bits).collect::<Vec<_>>()
        });
        assert!(kept == recomputed);
    }
}

/// Large enough that every product is cut into pieces.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for orientation in [Orientation::InputsFirst, Orientation::OutputsFirst] {
        let case = Case {
            batch: 3,
            tokens: 201,
            heads: 4,
            head_size: 48,
            inner: 500,
            causal: true,
            dropout: 0.1,
            orientation,
            ..CASE
        };
        let parameters = case.parameters(DType::F32);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let gradients = Gradients::new(&parameters).unwrap();
                let found = case.ours(&parameters, Some(&gradients), Wanted::default()).unwrap();
                gradients.absorb(found.stream.sqr().unwrap().sum_all().unwrap().backward().unwrap()).unwrap();
                let all = gradients.iter().flat_map(|(_, gradient)| values(&gradient));
                values(&found.stream).into_iter().chain(all).map(f64::to_bits).collect::<Vec<_>>()
            })
        };
        let one = run(1);
        for threads in [2, 3, 5, 8] {
            assert!(one == run(threads), "{threads} threads give other bits than one");
        }
    }
}

#[test]
fn without_gradients_there_is_no_graph_and_hidden_states_come_along() {
    let parameters = CASE.parameters(DType::F64);
    let frozen: Vec<Parameter> = parameters.clone();
    let wanted = Wanted { maps: true, hidden: true };
    let gradients = Gradients::new(&parameters).unwrap();
    let (ours, trained) =
        (CASE.ours(&frozen, None, wanted).unwrap(), CASE.ours(&parameters, Some(&gradients), wanted).unwrap());
    assert_eq!((ours.hidden.len(), ours.maps.len()), (2, 2));
    assert_close(&ours.stream, &trained.stream, 0.0, "the stream");
    assert_close(&ours.hidden[1], &ours.stream, 0.0, "the last hidden state");
    assert_close(&ours.hidden[0], &trained.hidden[0], 0.0, "the first hidden state");
    let error = ours.stream.sum_all().unwrap().backward().unwrap_err().to_string();
    assert!(error.contains("cannot go backward"), "{error}");
}

#[test]
fn misfits_are_refused() {
    let parameters = CASE.parameters(DType::F32);
    let wrong = Case { heads: 4, head_size: 2, ..CASE };
    assert!(wrong.ours(&parameters, None, Wanted::default()).unwrap_err().to_string().contains("blocks of one matrix"));
    let mut narrow = CASE.parameters(DType::F32);
    narrow[1].var = variable(1, &[5, 18], DType::F32);
    assert!(CASE.ours(&narrow, None, Wanted::default()).unwrap_err().to_string().contains("maps 5 to 18"));
    let mut parameters = CASE.parameters(DType::F32);
    parameters[3].var = variable(1, &[6, 5], DType::F32);
    assert!(CASE.ours(&parameters, None, Wanted::default()).unwrap_err().to_string().contains("output map"));
    let half = Case { ..CASE }.parameters(DType::F16);
    assert!(CASE.ours(&half, None, Wanted::default()).unwrap_err().to_string().contains("f32"));
}

/// Loss and gradients of a head, ours and composed.
fn check_head(rows: usize, width: usize, vocabulary: usize, has_bias: bool, dtype: DType, tolerance: f64) {
    let parameter = |index, name: &str, shape: &[usize]| Parameter {
        name: name.into(),
        var: variable(index, shape, dtype),
        decay: false,
        rate: 1.0,
    };
    let parameters = [
        parameter(1, "hidden", &[rows, width]),
        parameter(2, "table", &[vocabulary, width]),
        parameter(3, "bias", &[vocabulary]),
    ];
    let labels: Vec<i64> =
        (0..rows).map(|row| if row % 5 == 3 { IGNORED_LABEL } else { (row * 7 % vocabulary) as i64 }).collect();
    let [hidden, table, bias] = [0, 1, 2].map(|index: usize| parameters[index].var.as_tensor());
    let bias = has_bias.then_some(bias);
    // A factor after the loss: the chain rule goes through.
    let finish = |loss: Tensor| {
        let gradients = Gradients::new(&parameters).unwrap();
        (loss, gradients)
    };
    let (loss, ours) = {
        let gradients = Gradients::new(&parameters).unwrap();
        let parts = HeadParts {
            table: table.clone(),
            bias: bias.cloned(),
            labels: labels.clone(),
            smoothing: 0.0,
            products: Products::Own,
        };
        let loss = head_loss(hidden, parts.clone(), Some(&gradients)).unwrap();
        gradients.absorb((&loss * 3.0).unwrap().backward().unwrap()).unwrap();
        let found = head_evaluation(hidden, &parts).unwrap();
        let mean = found.loss_sum / found.labelled.max(1) as f64;
        assert!((mean - values(&loss)[0]).abs() < tolerance * mean.max(1.0));
        (loss, gradients)
    };
    let labels = Tensor::new(labels.as_slice(), &Device::Cpu).unwrap();
    let logits = linear_transposed(hidden, table, bias).unwrap();
    let (reference, theirs) = finish(cross_entropy(&logits, &labels).unwrap());
    theirs.absorb((&reference * 3.0).unwrap().backward().unwrap()).unwrap();
    assert_close(&loss, &reference, tolerance, "the loss");
    for (name, gradient) in theirs.iter() {
        assert_close(&ours.get(name).unwrap(), &gradient, tolerance, &format!("the gradient of {name}"));
    }
}

#[test]
fn a_head_of_several_chunks_and_of_none_that_counts() {
    check_head(1100, 6, 50, true, DType::F64, 1e-11);
    check_head(513, 6, 50, false, DType::F32, 2e-5);
    let hidden = variable(1, &[2, 3], DType::F32);
    let parts = HeadParts {
        table: numbers(2, &[4, 3], DType::F32),
        bias: None,
        labels: vec![IGNORED_LABEL; 2],
        smoothing: 0.0,
        products: Products::Own,
    };
    assert_eq!(values(&head_loss(&hidden, parts.clone(), None).unwrap()), [0.0]);
    assert_eq!(head_evaluation(&hidden, &parts).unwrap(), HeadResult::default());
    let past = HeadParts { labels: vec![0, 4], ..parts };
    assert!(head_loss(&hidden, past, None).unwrap_err().to_string().contains("outside of the vocabulary"));
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1_usize..4, 1_usize..90, 1_usize..4, 1_usize..9, 1_usize..20);
    let choices = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (sizes, choices, proptest::option::of(0_usize..90), prop_oneof![Just(0.0), Just(0.3)]).prop_map(
        |((batch, tokens, heads, head_size, inner), (causal, first, inputs, is_fused, keep), visible, dropout)| Case {
            batch,
            tokens,
            heads,
            head_size,
            inner,
            causal,
            visible,
            dropout,
            at: if first { NormAt::First } else { NormAt::Last },
            orientation: if inputs { Orientation::InputsFirst } else { Orientation::OutputsFirst },
            is_fused,
            memory: if keep { MapMemory::Keep } else { MapMemory::Recompute },
            sharpness: 1.0,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_stack_gives_what_small_operations_give(case in cases()) {
        case.check(DType::F64, 1e-11);
        case.check(DType::F32, 5e-5);
    }

    #[test]
    fn a_head_gives_what_small_operations_give(
        rows in 1_usize..60, width in 1_usize..20, vocabulary in 1_usize..40, has_bias in any::<bool>()
    ) {
        check_head(rows, width, vocabulary, has_bias, DType::F64, 1e-11);
        check_head(rows, width, vocabulary, has_bias, DType::F32, 2e-5);
    }
}
