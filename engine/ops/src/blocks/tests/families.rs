//! Every way to score a pair, with and without borrowed maps, against plain tensor operations.

use candle_core::{D, DType, Result, Tensor, Var};
use proptest::prelude::*;

use super::{
    plain::{CollaborativeScores, KeyValueGroups, Plain},
    *,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    Fused,
    Standard { has_biases: bool },
    Grouped { groups: usize },
    Symmetric,
    Pairwise,
    SharedWeight,
    Collaborative { width: usize },
    Latent { rank: usize },
}

/// A layer's heads: none where it does not attend; the heads that attend otherwise.
type Plan = Vec<Vec<HeadMap>>;

const OWN: HeadMap = HeadMap::Computed;

fn lent(layer: usize, computed: usize) -> HeadMap {
    HeadMap::Borrowed { layer, computed }
}

#[derive(Clone, Debug)]
struct FamilyCase {
    family: Family,
    plan: Plan,
    batch: usize,
    tokens: usize,
    size: usize,
    width: usize,
    causal: bool,
    visible: Option<usize>,
    dropout: f64,
    memory: MapMemory,
    at: NormAt,
    orientation: Orientation,
}

impl FamilyCase {
    fn computed(&self, layer: usize) -> usize {
        self.plan[layer].iter().filter(|map| **map == OWN).count()
    }

    fn family_of(&self, layer: usize) -> Family {
        // One matrix for all three is for layers in which every head computes.
        match self.family {
            Family::Fused if self.computed(layer) < self.plan[layer].len() => Family::Standard { has_biases: true },
            family => family,
        }
    }

    fn parameters(&self, dtype: DType) -> Vec<Parameter> {
        let mut shapes = vec![("x".to_owned(), vec![self.batch, self.tokens, self.width])];
        let (d, size) = (self.width, self.size);
        for (layer, heads) in self.plan.iter().enumerate() {
            let (h, c) = (heads.len(), self.computed(layer));
            let mut add = |name: &str, shape: Vec<usize>| shapes.push((format!("{layer}.{name}"), shape));
            let matrix = |inputs: usize, outputs: usize| match self.orientation {
                Orientation::InputsFirst => vec![inputs, outputs],
                Orientation::OutputsFirst => vec![outputs, inputs],
            };
            let mut affine = |name: &str, inputs, outputs, has_bias| {
                if outputs > 0 {
                    add(&format!("{name}.weight"), matrix(inputs, outputs));
                    if has_bias {
                        add(&format!("{name}.bias"), vec![outputs]);
                    }
                }
            };
            if h > 0 {
                match self.family_of(layer) {
                    Family::Fused => affine("all", d, 3 * h * size, true),
                    Family::Standard { has_biases } => {
                        affine("query", d, c * size, has_biases);
                        affine("key", d, c * size, has_biases);
                        affine("value", d, h * size, has_biases);
                    }
                    Family::Grouped { groups } => {
                        affine("query", d, c * size, true);
                        affine("key", d, groups.min(c) * size, true);
                        affine("value", d, groups.min(h) * size, true);
                    }
                    Family::Symmetric | Family::Pairwise => {
                        affine("query", d, c * size, true);
                        affine("value", d, h * size, true);
                    }
                    Family::SharedWeight => affine("shared", d, h * size, true),
                    Family::Collaborative { width } => {
                        affine("value", d, h * size, true);
                        affine("query", d, if c > 0 { width } else { 0 }, false);
                        affine("key", d, if c > 0 { width } else { 0 }, false);
                        affine("content", d, c, false);
                    }
                    Family::Latent { rank } => {
                        affine("query", d, c * size, true);
                        affine("latent", d, rank, true);
                        affine("key", rank, c * size, true);
                        affine("value", rank, h * size, true);
                    }
                }
                affine("output", h * size, d, true);
                match self.family {
                    Family::Pairwise if c > 0 => add("between", vec![c, size, size]),
                    Family::SharedWeight => {
                        if c > 0 {
                            add("query diagonal", vec![c * size]);
                            add("key diagonal", vec![c * size]);
                        }
                        add("value diagonal", vec![h * size]);
                    }
                    Family::Collaborative { width } if c > 0 => add("mixing", vec![c, width]),
                    _ => {}
                }
                add("norm 1.weight", vec![d]);
                add("norm 1.bias", vec![d]);
            }
            let mut affine = |name: &str, inputs, outputs| {
                add(&format!("{name}.weight"), matrix(inputs, outputs));
                add(&format!("{name}.bias"), vec![outputs]);
            };
            affine("inner", d, 5);
            affine("outer", 5, d);
            add("norm 2.weight", vec![d]);
            add("norm 2.bias", vec![d]);
        }
        let parameter = |(index, (name, shape)): (usize, (String, Vec<usize>))| {
            let drawn = (numbers(index as u64 + 11, &shape, DType::F64) * 0.5).unwrap();
            let var = Var::from_tensor(&drawn.to_dtype(dtype).unwrap()).unwrap();
            Parameter { name, var, decay: false, rate: 1.0 }
        };
        shapes.into_iter().enumerate().map(parameter).collect()
    }

    fn mask(&self) -> MaskSpec {
        Case { batch: self.batch, tokens: self.tokens, causal: self.causal, visible: self.visible, ..CASE }.mask()
    }

    fn groups(&self, layer: usize, groups: usize) -> KeyValueGroups {
        let (h, c) = (self.plan[layer].len(), self.computed(layer));
        let spread = |heads: usize| (0..heads).map(|head| head % groups.min(heads)).collect();
        KeyValueGroups { keys: spread(c), values: spread(h) }
    }

    fn plain(&self, layer: usize, all: &[Parameter]) -> Plain {
        let affine = |name: &str| {
            let find = |part: &str| {
                let name = format!("{layer}.{name}.{part}");
                all.iter().find(|parameter| parameter.name == name).map(|found| found.var.as_tensor().clone())
            };
            let (weight, bias, orientation) = (find("weight")?, find("bias"), self.orientation);
            Some(Affine { weight, bias, orientation })
        };
        let get = |name: &str| tensor(all, &format!("{layer}.{name}"));
        let pair = || Some([affine("query")?, affine("key")?]);
        let value = || affine("value").unwrap();
        let computes = self.computed(layer) > 0;
        match self.family_of(layer) {
            Family::Fused => Plain::Fused(affine("all").unwrap()),
            Family::Standard { .. } => Plain::Separate { scores: pair(), value: value(), groups: None },
            Family::Grouped { groups } => {
                let groups = Some(self.groups(layer, groups));
                Plain::Separate { scores: pair(), value: value(), groups }
            }
            Family::Symmetric => Plain::Symmetric { query: affine("query"), value: value() },
            Family::Pairwise => {
                let query = affine("query").map(|query| (query, get("between")));
                Plain::Pairwise { query, value: value() }
            }
            Family::SharedWeight => Plain::SharedWeight {
                shared: affine("shared").unwrap(),
                scores: computes.then(|| ["query diagonal", "key diagonal"].map(get)),
                value: get("value diagonal"),
            },
            Family::Collaborative { .. } => {
                let scores = computes.then(|| CollaborativeScores {
                    query: affine("query").unwrap(),
                    key: affine("key").unwrap(),
                    mixing: get("mixing"),
                    content: affine("content").unwrap(),
                });
                Plain::Collaborative { scores, value: value() }
            }
            Family::Latent { .. } => {
                Plain::Latent { scores: pair(), latent: affine("latent").unwrap(), value: value() }
            }
        }
    }

    fn ours(&self, all: &[Parameter], gradients: Option<&Gradients>) -> Result<Stacked> {
        let drop_at = |site: usize| {
            let stream = DropoutStream { site: site as u32, ..STREAM };
            (self.dropout > 0.0).then_some(BlockDropout { probability: self.dropout, stream })
        };
        let layers = self.plan.iter().enumerate().map(|(layer, heads)| {
            let affine = |name: &str| Affine {
                weight: tensor(all, &format!("{layer}.{name}.weight")),
                bias: Some(tensor(all, &format!("{layer}.{name}.bias"))),
                orientation: self.orientation,
            };
            let frame = |norm: &str, site| Frame {
                norm: norm_of(all, &format!("{layer}.{norm}")),
                at: self.at,
                dropout: drop_at(site),
            };
            let attention = |projections| AttentionParts {
                frame: frame("norm 1", 3 * layer + 1),
                projections,
                heads: heads.clone(),
                head_size: self.size,
                output: affine("output"),
                mask: self.mask(),
                dropout: drop_at(3 * layer),
                memory: self.memory,
            };
            let attention = if heads.is_empty() {
                None
            } else {
                Some(attention(self.plain(layer, all).projections(heads, self.size)?))
            };
            let feed_forward = FeedForwardParts {
                frame: frame("norm 2", 3 * layer + 2),
                inner: affine("inner"),
                outer: affine("outer"),
                activation: Gelu::Exact,
            };
            Ok(LayerParts { attention, cross: None, feed_forward })
        });
        stack(
            &tensor(all, "x"),
            None,
            layers.collect::<Result<_>>()?,
            None,
            gradients,
            Products::Own,
            Wanted { maps: self.memory == MapMemory::Keep, hidden: false },
        )
    }

    /// Scores of every head that computes and values of every head that attends, `[b, t, t]` and `[b, t, size]`.
    fn scores_and_values(&self, layer: usize, x: &Tensor, all: &[Parameter]) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
        let (heads, size) = (self.plan[layer].len(), self.size);
        let c = self.computed(layer);
        let block = |x: &Tensor, index: usize, width: usize| x.narrow(2, index * width, width)?.contiguous();
        let blocks =
            |x: &Tensor, count: usize| (0..count).map(|index| block(x, index, size)).collect::<Result<Vec<_>>>();
        let dot = |q: &Tensor, k: &Tensor| q.matmul(&k.transpose(1, 2)?.contiguous()?);
        let dots = |q: &[Tensor], k: &[Tensor]| q.iter().zip(k).map(|(q, k)| dot(q, k)).collect::<Result<Vec<_>>>();
        Ok(match self.plain(layer, all) {
            Plain::Fused(map) => {
                let all = blocks(&map.forward(x)?, 3 * heads)?;
                (dots(&all[..heads], &all[heads..2 * heads])?, all[2 * heads..].to_vec())
            }
            Plain::Separate { scores, value, groups } => {
                let own = || KeyValueGroups { keys: (0..c).collect(), values: (0..heads).collect() };
                let groups = groups.unwrap_or_else(own);
                let most = |groups: &[usize]| groups.iter().max().map_or(0, |most| most + 1);
                let scores = match scores {
                    Some([query, key]) => {
                        let keys = blocks(&key.forward(x)?, most(&groups.keys))?;
                        let keys: Vec<Tensor> = groups.keys.iter().map(|&group| keys[group].clone()).collect();
                        dots(&blocks(&query.forward(x)?, c)?, &keys)?
                    }
                    None => Vec::new(),
                };
                let values = blocks(&value.forward(x)?, most(&groups.values))?;
                (scores, groups.values.iter().map(|&group| values[group].clone()).collect())
            }
            Plain::Symmetric { query, value } => {
                let queries = query.map_or(Ok(Vec::new()), |query| blocks(&query.forward(x)?, c))?;
                (dots(&queries, &queries)?, blocks(&value.forward(x)?, heads)?)
            }
            Plain::Pairwise { query, value } => {
                let mut scores = Vec::new();
                if let Some((query, between)) = query {
                    for (head, q) in blocks(&query.forward(x)?, c)?.iter().enumerate() {
                        scores.push(dot(&q.broadcast_matmul(&between.get(head)?)?, q)?);
                    }
                }
                (scores, blocks(&value.forward(x)?, heads)?)
            }
            Plain::SharedWeight { shared, scores, value } => {
                let shared = shared.forward(x)?;
                let mut found = Vec::new();
                if let Some([query, key]) = scores {
                    let computing = (0..heads).filter(|&head| self.plan[layer][head] == OWN);
                    for (place, head) in computing.enumerate() {
                        let s = block(&shared, head, size)?;
                        let diagonal = |of: &Tensor| of.narrow(0, place * size, size);
                        let (q, k) = (s.broadcast_mul(&diagonal(&query)?)?, s.broadcast_mul(&diagonal(&key)?)?);
                        found.push(dot(&q, &k)?);
                    }
                }
                (found, blocks(&shared.broadcast_mul(&value)?, heads)?)
            }
            Plain::Collaborative { scores, value } => {
                let mut found = Vec::new();
                if let Some(CollaborativeScores { query, key, mixing, content }) = scores {
                    let (q, k, content) = (query.forward(x)?, key.forward(x)?, content.forward(x)?);
                    for place in 0..c {
                        let q = q.broadcast_mul(&mixing.get(place)?)?;
                        let bias = content.narrow(2, place, 1)?.transpose(1, 2)?.contiguous()?; // [b, 1, t]
                        found.push(dot(&q, &k)?.broadcast_add(&bias)?);
                    }
                }
                (found, blocks(&value.forward(x)?, heads)?)
            }
            Plain::Latent { scores, latent, value } => {
                let latent = latent.forward(x)?;
                let scores = match scores {
                    Some([query, key]) => dots(&blocks(&query.forward(x)?, c)?, &blocks(&key.forward(&latent)?, c)?)?,
                    None => Vec::new(),
                };
                (scores, blocks(&value.forward(&latent)?, heads)?)
            }
        })
    }

    fn reference(&self, all: &[Parameter]) -> Result<(Tensor, Vec<Tensor>)> {
        let case = Case { dropout: self.dropout, at: self.at, ..CASE };
        let mut x = tensor(all, "x");
        let mut computed: Vec<Vec<Tensor>> = Vec::new();
        let mut maps = Vec::new();
        for (layer, heads) in self.plan.iter().enumerate() {
            let affine = |name: &str| Affine {
                weight: tensor(all, &format!("{layer}.{name}.weight")),
                bias: Some(tensor(all, &format!("{layer}.{name}.bias"))),
                orientation: self.orientation,
            };
            let site = 3 * layer as u32;
            let mut own = Vec::new();
            if heads.is_empty() {
                maps.push(Tensor::zeros((self.batch, 0, self.tokens, self.tokens), x.dtype(), x.device())?);
            } else {
                x = case.sublayer(all, &x, &format!("{layer}.norm 1"), site + 1, |x| {
                    let (scores, values) = self.scores_and_values(layer, x, all)?;
                    let scale = 1.0 / (self.size as f64).sqrt();
                    for scores in scores {
                        own.push(masked_softmax(&scores.unsqueeze(1)?, scale, &self.mask())?);
                    }
                    let mut place = 0;
                    let used: Vec<Tensor> = heads
                        .iter()
                        .map(|map| match *map {
                            HeadMap::Computed => {
                                place += 1;
                                own[place - 1].clone()
                            }
                            HeadMap::Borrowed { layer, computed: number } => computed[layer][number].clone(),
                        })
                        .collect();
                    let used = Tensor::cat(&used, 1)?; // [b, h, t, t]
                    maps.push(used.clone());
                    let dropped = case.dropped(&used, site)?;
                    let mixed = values
                        .iter()
                        .enumerate()
                        .map(|(head, value)| dropped.narrow(1, head, 1)?.squeeze(1)?.contiguous()?.matmul(value));
                    let mixed = Tensor::cat(&mixed.collect::<Result<Vec<_>>>()?, D::Minus1)?;
                    affine("output").forward(&mixed)
                })?;
            }
            computed.push(own);
            x = case.sublayer(all, &x, &format!("{layer}.norm 2"), site + 2, |x| {
                affine("outer").forward(&gelu(&affine("inner").forward(x)?, Gelu::Exact)?)
            })?;
        }
        Ok((x, maps))
    }

    fn check(&self, dtype: DType, tolerance: f64) {
        let all = self.parameters(dtype);
        let run = |stream: &Tensor, maps: &[Tensor], gradients: &Gradients| {
            let weights = numbers(99, stream.dims(), dtype);
            gradients.absorb((stream * weights).unwrap().sum_all().unwrap().backward().unwrap()).unwrap();
            let mut found = vec![("the stream".to_owned(), stream.detach())];
            // Wanted maps would be kept.
            let is_wanted = self.memory == MapMemory::Keep;
            let maps = maps.iter().enumerate().filter(|(_, map)| is_wanted && map.elem_count() > 0);
            found.extend(maps.map(|(layer, map)| (format!("maps {layer}"), map.detach())));
            found.extend(gradients.iter().map(|(name, gradient)| (format!("the gradient of {name}"), gradient)));
            found
        };
        let gradients = Gradients::new(&all).unwrap();
        let found = self.ours(&all, Some(&gradients)).unwrap();
        let ours = run(&found.stream, &found.maps, &gradients);
        gradients.require_all().unwrap();
        let (stream, maps) = self.reference(&all).unwrap();
        let reference = run(&stream, &maps, &Gradients::new(&all).unwrap());
        assert_eq!(ours.len(), reference.len(), "{self:?}");
        for ((name, ours), (expected_name, reference)) in ours.iter().zip(&reference) {
            assert_eq!(name, expected_name);
            let scale = values(reference).iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            assert_close(ours, reference, tolerance * scale, &format!("{name} of {self:?}"));
        }
        let frozen = self.ours(&all, None).unwrap();
        assert_close(&frozen.stream, &found.stream, 0.0, &format!("without gradients, {self:?}"));
    }
}

fn plans() -> Vec<Plan> {
    vec![
        vec![vec![OWN, OWN, OWN], vec![OWN, OWN, OWN]],
        // Algorithm 1 with one borrowed head, chained.
        vec![vec![OWN, OWN, OWN], vec![OWN, OWN, lent(0, 0)], vec![OWN, OWN, lent(1, 0)], vec![OWN, OWN, OWN]],
        // Whole layers borrow, through a layer that borrows itself.
        vec![vec![OWN, OWN, OWN], vec![lent(0, 0), lent(0, 1), lent(0, 2)], vec![lent(0, 0), lent(0, 1), lent(0, 2)]],
        // A hand-drawn table: heads missing, a layer missing, one map twice in a layer, lenders in two layers.
        vec![
            vec![OWN, OWN],
            Vec::new(),
            vec![lent(0, 1), OWN, lent(0, 1)],
            vec![OWN, lent(2, 0), lent(0, 0)],
            vec![lent(0, 1)],
        ],
    ]
}

const FAMILIES: [Family; 10] = [
    Family::Fused,
    Family::Standard { has_biases: true },
    Family::Standard { has_biases: false },
    Family::Grouped { groups: 1 },
    Family::Grouped { groups: 2 },
    Family::Symmetric,
    Family::Pairwise,
    Family::SharedWeight,
    Family::Collaborative { width: 7 },
    Family::Latent { rank: 3 },
];

fn cases() -> impl Strategy<Value = FamilyCase> {
    let sizes = (1_usize..4, prop_oneof![1_usize..12, 60_usize..140], 1_usize..6, 1_usize..9);
    let choices = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let kinds = (0..FAMILIES.len(), 0..plans().len());
    (sizes, choices, kinds, proptest::option::of(0_usize..90), prop_oneof![Just(0.0), Just(0.3)]).prop_map(
        |((batch, tokens, size, width), (causal, first, inputs, keep), (family, plan), visible, dropout)| FamilyCase {
            family: FAMILIES[family],
            plan: plans().swap_remove(plan),
            batch,
            tokens,
            size,
            width,
            causal,
            visible,
            dropout,
            memory: if keep { MapMemory::Keep } else { MapMemory::Recompute },
            at: if first { NormAt::First } else { NormAt::Last },
            orientation: if inputs { Orientation::InputsFirst } else { Orientation::OutputsFirst },
        },
    )
}

fn case(family: Family, plan: Plan) -> FamilyCase {
    FamilyCase {
        family,
        plan,
        batch: 2,
        tokens: 9,
        size: 3,
        width: 5,
        causal: true,
        visible: None,
        dropout: 0.2,
        memory: MapMemory::Keep,
        at: NormAt::First,
        orientation: Orientation::InputsFirst,
    }
}

#[test]
fn every_family_with_every_plan_gives_what_plain_operations_give() {
    for family in FAMILIES {
        for plan in plans() {
            let case = case(family, plan);
            case.check(DType::F64, 1e-11);
            FamilyCase { memory: MapMemory::Recompute, causal: false, ..case }.check(DType::F64, 1e-11);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn families_and_plans_of_all_shapes(case in cases()) {
        case.check(DType::F64, 1e-10);
        case.check(DType::F32, 2e-4);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits_in_every_family() {
    for family in FAMILIES {
        let case = FamilyCase { tokens: 200, size: 32, width: 200, ..case(family, plans().swap_remove(1)) };
        let all = case.parameters(DType::F32);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let gradients = Gradients::new(&all).unwrap();
                let found = case.ours(&all, Some(&gradients)).unwrap();
                gradients.absorb(found.stream.sqr().unwrap().sum_all().unwrap().backward().unwrap()).unwrap();
                let all = gradients.iter().flat_map(|(_, gradient)| values(&gradient));
                all.map(f64::to_bits).collect::<Vec<_>>()
            })
        };
        assert!(run(1) == run(3), "{family:?}");
    }
}

#[test]
fn a_map_that_nobody_has_to_lend_is_refused() {
    for plan in [vec![vec![OWN], vec![lent(1, 0)]], vec![vec![OWN], vec![lent(0, 1)]], vec![vec![lent(0, 0)]]] {
        let case = case(Family::Symmetric, plan);
        let error = case.ours(&case.parameters(DType::F32), None).unwrap_err().to_string();
        assert!(error.contains("does not have it to lend"), "{error}");
    }
}
