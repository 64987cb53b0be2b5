//! Numbers of an independent implementation in double precision.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use candle_core::{DType, Device, Tensor};
use safetensors::SafeTensors;

use super::{
    super::{
        HeadAttention, LayerCoverage, LayerHeads, Lenders, PairScoring, PieceForm, Segment, family, projected,
        segment::{ensemble, expanded},
        stream_reaches,
    },
    Loaded, NO_DROPOUT, affine, assert_close,
};
use crate::{
    attention::{Cell, HeadAt, HeadPlan},
    config::{
        AllEndReuse, AlternateReuse, AttentionConfig, Collaborative, Compatibility, FirstReuse, FullReuse, Pairwise,
        PartialReuse, Reuse, SharedWeight, SkipReuse, Standard, Symmetric,
    },
    ops::{Affine, MaskSpec, PairSets, attention_mix, masked_softmax, partial_scores},
};

/// Element types with the largest error, relative to the largest number.
const DTYPES: [(DType, f64); 2] = [(DType::F64, 1e-10), (DType::F32, 1e-5)];

struct Golden {
    name: String,
    tensors: HashMap<String, Tensor>,
    case: serde_json::Value,
    dtype: DType,
}

impl Golden {
    fn read(path: &PathBuf, dtype: DType) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let case = serde_json::from_str(&header.metadata().as_ref().unwrap()["case"]).unwrap();
        let tensors = candle_core::safetensors::load(path, &Device::Cpu).unwrap();
        Self { name: path.file_stem().unwrap().to_string_lossy().into_owned(), tensors, case, dtype }
    }

    /// Every file of a folder, in both element types.
    fn all(folder: &str) -> Vec<(Self, f64)> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(folder);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path| DTYPES.map(|(dtype, tolerance)| (Self::read(path, dtype), tolerance));
        paths.iter().flat_map(read).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// A real tensor in the element type of the test; others as they are.
    fn get(&self, name: &str) -> Tensor {
        let tensor = self.tensors.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.name));
        if tensor.dtype() == DType::F64 { tensor.to_dtype(self.dtype).unwrap() } else { tensor.clone() }
    }

    fn size(&self, name: &str) -> usize {
        self.case[name].as_u64().unwrap() as usize
    }

    fn mask(&self) -> MaskSpec {
        let causal = self.case["causal"].as_bool().unwrap_or(false);
        MaskSpec { causal, keys: self.has("key_mask").then(|| self.get("key_mask")) }
    }

    fn map(&self, weight: &str, bias: &str) -> Affine {
        affine(self.get(weight), Some(self.get(bias)))
    }

    fn check(&self, what: &str, got: &Tensor, expected: &Tensor, tolerance: f64) {
        assert_close(&format!("{what} of {} in {:?}", self.name, self.dtype), got, expected, tolerance);
    }
}

fn derive(reuse: Reuse, layers: usize, heads: usize) -> HeadPlan {
    HeadPlan::derive(&AttentionConfig { reuse, ..AttentionConfig::default() }, layers, heads).unwrap()
}

/// The schedules that a golden's layout can be written as.
fn schedules(golden: &Golden) -> Vec<Reuse> {
    let [l, h, p, k] = ["L", "H", "P", "K"].map(|name| golden.size(name));
    match golden.case["layout"].as_str().unwrap() {
        "proposed" => {
            let mut all = vec![Reuse::First(FirstReuse { layers: p, heads: k })];
            all.extend((k == h).then_some(Reuse::Full(FullReuse { layers: p })));
            all.extend((p + 2 == l).then_some(Reuse::Partial(PartialReuse { heads: k })));
            all.extend((p == 0).then(Reuse::default));
            all
        }
        "alternate" => {
            let mut all = vec![Reuse::Alternate(AlternateReuse { layers: Some(p), heads: Some(k) })];
            all.extend((p == l / 2 && k == h).then(|| Reuse::Alternate(AlternateReuse::default())));
            all
        }
        "all_end" => vec![Reuse::AllEnd(AllEndReuse { layers: p, heads: Some(k) })],
        "skip" => vec![Reuse::Skip(SkipReuse { layers: p })],
        other => panic!("layout {other}"),
    }
}

/// A layer of standard attention with the matrices of a golden.
fn standard_layer(golden: &Golden, heads: usize) -> HeadAttention {
    let heads = LayerHeads::plain(heads, golden.size("dk"));
    let mut weights = Loaded::default();
    for (module, weight, bias) in [("query", "Wq", "bq"), ("key", "Wk", "bk"), ("value", "Wv", "bv")] {
        weights.maps.insert(module, golden.map(weight, bias));
    }
    let projections = weights.with(family(&Compatibility::default()).form(&heads, false));
    HeadAttention {
        projections,
        output: golden.map("Wo", "bo"),
        heads,
        coverage: LayerCoverage::Full,
        pairs: PairScoring::default(),
    }
}

/// The rows of each source once for each of its `x` beams.
fn repeated(tensor: &Tensor, x: usize) -> Tensor {
    let rows: Vec<u32> = (0..tensor.dim(0).unwrap() * x).map(|row| (row / x) as u32).collect();
    tensor.index_select(&Tensor::new(rows, &Device::Cpu).unwrap(), 0).unwrap()
}

/// Attention to hidden states: the encoder's, and those of a prompt before tokens of which keys and values are there.
#[test]
fn hidden_states_are_attended_to_as_they_are() {
    let (mut of_encoders, mut of_prompts) = (0, 0);
    for (golden, tolerance) in Golden::all("el") {
        let (h, x, dk) = (golden.size("H"), golden.size("x"), golden.size("dk"));
        let attention = standard_layer(&golden, h);
        let reaches = stream_reaches(&attention.projections, h * dk).unwrap();
        let is_split = golden.has("Hp");
        let hidden = repeated(&golden.get(if is_split { "Hp" } else { "Hs" }), x);
        let query = if is_split {
            let written = golden.get("G");
            written.narrow(1, golden.size("n_gen") - 1, 1).unwrap()
        } else {
            golden.get("query")
        };
        let of_hidden = Segment::Stream(&hidden, &reaches).open(&attention.projections).unwrap();
        let q = projected::queries(&attention.projections, &query.contiguous().unwrap()).unwrap().unwrap();
        let scores = (of_hidden.scores(&q).unwrap() / (dk as f64).sqrt()).unwrap().squeeze(2).unwrap();
        let mask = |name: &str| golden.has(name).then(|| repeated(&golden.get(name), x));
        let mut lenders = Lenders::default();
        if is_split {
            golden.check("scores of the prompt", &scores, &golden.get("scores_prefix"), tolerance);
            let kept = attention.kept(&golden.get("G")).unwrap();
            let segments = [Segment::Stream(&hidden, &reaches), Segment::Kept(&kept)];
            let written = Tensor::ones((query.dim(0).unwrap(), golden.size("n_gen")), DType::U8, &Device::Cpu).unwrap();
            let keys = mask("prefix_mask").map(|mask| Tensor::cat(&[&mask, &written], 1).unwrap());
            let mask = MaskSpec { causal: false, keys };
            let got = attention.forward_segments(&query.contiguous().unwrap(), &segments, &mask, &mut lenders).unwrap();
            golden.check("maps", &got.maps.squeeze(2).unwrap(), &golden.get("probs"), tolerance);
            golden.check("output", &got.output, &golden.get("output"), tolerance);
            golden.check("usual output", &got.output, &golden.get("mha_output"), tolerance);
            of_prompts += 1;
        } else {
            let (expanded, bias) = expanded(&q, &reaches).unwrap();
            golden.check("expanded queries", &expanded.squeeze(2).unwrap(), &golden.get("el_q"), tolerance);
            golden.check("key bias", &bias.squeeze(3).unwrap().squeeze(2).unwrap(), &golden.get("kbias"), tolerance);
            golden.check("scores", &scores, &golden.get("scores"), tolerance);
            let mask = MaskSpec { causal: false, keys: mask("mask") };
            let segments = [Segment::Stream(&hidden, &reaches)];
            let got = attention.forward_segments(&query, &segments, &mask, &mut lenders).unwrap();
            golden.check("maps", &got.maps.squeeze(2).unwrap(), &golden.get("probs"), tolerance);
            let mixed = ensemble(&got.maps, &hidden).unwrap().squeeze(2).unwrap();
            golden.check("mixed hidden states", &mixed, &golden.get("ensemble"), tolerance);
            golden.check("output", &got.output, &golden.get("el_output"), tolerance);
            golden.check("usual output", &got.output, &golden.get("mha_output"), tolerance);
            of_encoders += 1;
        }
    }
    assert_eq!((of_encoders, of_prompts), (6, 4));
}

#[test]
fn head_plans_are_the_tables_of_the_goldens() {
    let mut names = Vec::new();
    for (golden, _) in Golden::all("reuse").into_iter().step_by(2) {
        let source = golden.get("source").to_vec3::<i64>().unwrap();
        let exact = golden.get("exact").to_vec2::<u8>().unwrap();
        let (l, h) = (golden.size("L"), golden.size("H"));
        for reuse in schedules(&golden) {
            names.push(reuse.kind());
            let plan = derive(reuse.clone(), l, h);
            // What a schedule writes down is the same as a table of one's own.
            assert_eq!(derive(Reuse::Custom(plan.to_custom()), l, h), plan);
            for (at, cell) in plan.iter() {
                let what = format!("{at} of {} as {}", golden.name, reuse.kind());
                let expected = match source[at.layer][at.head].as_slice() {
                    [-1, -1] => None,
                    &[layer, head] => Some(HeadAt::new(layer as usize, head as usize)),
                    _ => unreachable!(),
                };
                assert_eq!(plan.origin(at), expected, "{what}");
                assert_eq!(exact[at.layer][at.head] == 1, cell == Cell::Compute, "{what}");
                if let Cell::Borrow { from, .. } = cell {
                    // Algorithm 1: the last K heads take the first K of the list of the layer before.
                    let kept = h - golden.size("K");
                    assert_eq!(from, HeadAt::new(at.layer - 1, at.head - kept), "{what}");
                }
            }
        }
    }
    for kind in ["none", "first", "partial", "full", "alternate", "all_end", "skip"] {
        assert!(names.contains(&kind), "no golden of {kind}");
    }
}

#[test]
fn borrowed_maps_give_the_outputs_of_the_goldens() {
    for (golden, tolerance) in Golden::all("reuse") {
        let [l, h, d_k] = ["L", "H", "dk"].map(|name| golden.size(name));
        let plan = derive(schedules(&golden).swap_remove(0), l, h);
        let memory = golden.has("memory").then(|| golden.get("memory"));
        let mask = golden.mask();
        let mut x = golden.get("x");
        let (b, n, m) = (x.dim(0).unwrap(), x.dim(1).unwrap(), memory.as_ref().unwrap_or(&x).dim(1).unwrap());
        let mut lenders = Lenders::default();
        for layer in 0..l {
            let heads = LayerHeads::of(&plan, layer, d_k);
            let mut maps = Tensor::zeros((b, h, n, m), golden.dtype, &Device::Cpu).unwrap();
            if heads.attending() == 0 {
                lenders.push(None, &mask, None);
            } else {
                let part = |w: &str, bias: &str| {
                    affine(golden.get(w).get(layer).unwrap(), Some(golden.get(bias).get(layer).unwrap()))
                };
                let scoring = |map: Affine| map.outputs(0, heads.scoring_width()).unwrap();
                let mut loaded = Loaded::default();
                loaded.maps.insert("value", part("Wv", "bv"));
                if heads.computed() > 0 {
                    loaded.maps.insert("query", scoring(part("Wq", "bq")));
                    loaded.maps.insert("key", scoring(part("Wk", "bk")));
                }
                let standard = Compatibility::default();
                let projections = loaded.with(family(&standard).form(&heads, false));
                let attention = HeadAttention {
                    projections,
                    output: part("Wo", "bo"),
                    heads,
                    coverage: LayerCoverage::Full,
                    pairs: PairScoring::default(),
                };
                let got = attention.forward(&x, memory.as_ref(), &mask, &NO_DROPOUT, 0, &mut lenders).unwrap();
                maps = attention.all_heads(&got.maps).unwrap();
                x = (x + got.output).unwrap();
            }
            let expected = |name: &str| golden.get(name).get(layer).unwrap();
            golden.check(&format!("maps of layer {layer}"), &maps, &expected("probs"), tolerance);
            golden.check(&format!("output of layer {layer}"), &x, &expected("outputs"), tolerance);
        }
    }
}

#[test]
fn ways_to_score_give_the_numbers_of_the_goldens() {
    let mut seen = 0;
    for (golden, tolerance) in Golden::all("compat") {
        let variant = golden.case["variant"].as_str().unwrap();
        let (h, d, d_k) = (golden.size("H"), golden.size("d"), golden.size("dk"));
        let mut loaded = Loaded::default();
        if variant == "shared" {
            loaded.maps.insert("shared", golden.map("Ws", "bs"));
            for (module, name) in [("query_diagonal", "dq"), ("key_diagonal", "dk"), ("value_diagonal", "dv")] {
                loaded.tensors.insert(module, golden.get(name));
            }
        } else {
            loaded.maps.insert("query", golden.map("Wq", "bq"));
            loaded.maps.insert("value", golden.map("Wv", "bv"));
        }
        let compatibility = match variant {
            "standard" => {
                loaded.maps.insert("key", golden.map("Wk", "bk"));
                Compatibility::Standard(Standard::default())
            }
            "symmetric" => Compatibility::Symmetric(Symmetric {}),
            "pairwise" => {
                loaded.tensors.insert("pairwise", golden.get("U"));
                Compatibility::Pairwise(Pairwise {})
            }
            "shared" => Compatibility::SharedWeight(SharedWeight {}),
            other => panic!("variant {other}"),
        };
        let heads = LayerHeads::plain(h, d_k);
        let form = family(&compatibility).form(&heads, false);
        // The number of parameters, with biases and the output map.
        let parameters: usize = form
            .pieces
            .iter()
            .map(|piece| match &piece.form {
                PieceForm::Map { inputs, outputs, bias } => inputs * outputs + if *bias { *outputs } else { 0 },
                PieceForm::Tensor { shape, .. } => shape.iter().product(),
            })
            .sum();
        assert_eq!(parameters + d * d + d, golden.size("block_params_with_bias"), "{}", golden.name);
        let projections = loaded.with(form);
        let attention = HeadAttention {
            projections,
            output: golden.map("Wo", "bo"),
            heads,
            coverage: LayerCoverage::Full,
            pairs: PairScoring::default(),
        };
        let x = golden.get("X");
        let raw = attention.raw_scores(&x, &x).unwrap().unwrap();
        golden.check("scores", &(raw / (d_k as f64).sqrt()).unwrap(), &golden.get("scores"), tolerance);
        let got = attention.forward(&x, None, &golden.mask(), &NO_DROPOUT, 0, &mut Lenders::default()).unwrap();
        golden.check("maps", &got.maps, &golden.get("probs"), tolerance);
        golden.check("output", &got.output, &golden.get("output"), tolerance);
        seen += 1;
    }
    assert_eq!(seen, 24);
}

/// `[h, d, s]` a head as columns side by side, with biases `[h, s]`.
fn side_by_side(weight: &Tensor, bias: &Tensor) -> Affine {
    let (h, d, s) = weight.dims3().unwrap();
    let weight = weight.permute((1, 0, 2)).unwrap().reshape((d, h * s)).unwrap();
    affine(weight, Some(bias.flatten_all().unwrap()))
}

/// The collaborative layer of a golden, and its values.
fn collaborative(golden: &Golden, heads: &LayerHeads) -> HeadAttention {
    let mut loaded = Loaded::default();
    loaded.maps.insert("query", affine(golden.get("WQs"), None));
    loaded.maps.insert("key", affine(golden.get("WKs"), None));
    loaded.maps.insert("content", affine(golden.get("v").t().unwrap().contiguous().unwrap(), None));
    loaded.maps.insert("value", side_by_side(&golden.get("Wv"), &golden.get("bv")));
    loaded.tensors.insert("mixing", golden.get("M"));
    let collaborative = Compatibility::Collaborative(Collaborative { d_k: golden.get("M").dim(1).unwrap() });
    let projections = loaded.with(family(&collaborative).form(heads, false));
    HeadAttention {
        projections,
        output: golden.map("Wo", "bo"),
        heads: heads.clone(),
        coverage: LayerCoverage::Full,
        pairs: PairScoring::default(),
    }
}

#[test]
fn collaborative_heads_give_the_numbers_of_the_goldens() {
    let mut seen = 0;
    for (golden, tolerance) in
        Golden::all("collaborative").into_iter().filter(|(golden, _)| golden.name.starts_with("forward"))
    {
        let heads = LayerHeads::plain(golden.size("Nh"), golden.size("dv"));
        let scale = 1.0 / golden.case["scale_dim"].as_f64().unwrap().sqrt();
        let attention = collaborative(&golden, &heads);
        let x = golden.get("X");
        let y = golden.has("Y").then(|| golden.get("Y"));
        let raw = attention.raw_scores(&x, y.as_ref().unwrap_or(&x)).unwrap().unwrap();
        golden.check("scores", &(raw * scale).unwrap(), &golden.get("scores"), tolerance);
        let (mask, mut lenders) = (golden.mask(), Lenders::default());
        let got = attention.forward_scaled(&x, y.as_ref(), &mask, &NO_DROPOUT, (0, scale), &mut lenders).unwrap();
        golden.check("maps", &got.maps, &golden.get("probs"), tolerance);
        golden.check("output", &got.output, &golden.get("output"), tolerance);
        seen += 1;
    }
    assert_eq!(seen, 6);
}

/// A standard layer with biases, and the collaborative layer that is made of it: other scores, the same maps.
#[test]
fn the_content_bias_stands_for_the_query_bias() {
    for (golden, tolerance) in
        Golden::all("collaborative").into_iter().filter(|(golden, _)| golden.name.starts_with("biases"))
    {
        let heads = LayerHeads::plain(golden.size("Nh"), golden.size("dk"));
        let (x, y) = (golden.get("X"), golden.has("Y").then(|| golden.get("Y")));
        let mut loaded = Loaded::default();
        for (module, weight, bias) in [("query", "Wq", "bq"), ("key", "Wk", "bk"), ("value", "Wv", "bv")] {
            loaded.maps.insert(module, side_by_side(&golden.get(weight), &golden.get(bias)));
        }
        let projections = loaded.with(family(&Compatibility::default()).form(&heads, false));
        let standard = HeadAttention {
            projections,
            output: golden.map("Wo", "bo"),
            heads: heads.clone(),
            coverage: LayerCoverage::Full,
            pairs: PairScoring::default(),
        };
        for (attention, scores) in [(standard, "scores"), (collaborative(&golden, &heads), "collab_scores")] {
            let raw = attention.raw_scores(&x, y.as_ref().unwrap_or(&x)).unwrap().unwrap();
            let scale = 1.0 / (golden.size("dk") as f64).sqrt();
            golden.check(scores, &(raw * scale).unwrap(), &golden.get(scores), tolerance);
            let mask = MaskSpec::default();
            let got = attention.forward(&x, y.as_ref(), &mask, &NO_DROPOUT, 0, &mut Lenders::default()).unwrap();
            golden.check("maps", &got.maps, &golden.get("probs"), tolerance);
            golden.check("output", &got.output, &golden.get("output"), tolerance);
        }
    }
}

/// Queries, keys and values with the pairs and maps that were chosen for them: scores, maps and mixed values.
#[test]
fn partial_scores_give_the_numbers_of_the_goldens() {
    let mut seen = 0;
    for (golden, tolerance) in Golden::all("partial").into_iter().filter(|(golden, _)| golden.has("q")) {
        let (n, scale) = (golden.size("n"), 1.0 / (golden.size("dk") as f64).sqrt());
        let orders = golden.get("order_rows").to_vec2::<i64>().unwrap();
        for k in golden.case["ks"].as_array().unwrap().iter().map(|k| k.as_u64().unwrap() as usize) {
            let named = |name: &str| golden.get(&format!("k{k}.{name}"));
            let chosen = orders.iter().map(|order| order[..k].iter().map(|&key| key as u32).collect()).collect();
            let pairs = Arc::new(PairSets::new(chosen, k, false).unwrap());
            let restore = named("R").reshape((n * (n - k), k)).unwrap();
            let raw = partial_scores(&golden.get("q"), &golden.get("k"), &restore, &pairs).unwrap();
            // R comes from an inverse, so that single precision loses a digit more.
            let tolerance = tolerance * 10.0;
            golden.check("scores", &(&raw * scale).unwrap(), &named("scores"), tolerance);
            let maps = masked_softmax(&raw, scale, &MaskSpec::default()).unwrap();
            golden.check("maps", &maps, &named("probs"), tolerance);
            golden.check("context", &attention_mix(&maps, &golden.get("v")).unwrap(), &named("context"), tolerance);
            seen += 1;
        }
    }
    assert_eq!(seen, 12);
}
