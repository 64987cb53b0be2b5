//! Tiny models of other programs beside what `transformers` computes for them (`tests/golden/hf/make.py`).
//!
//! With `HEADROOM_GOLDENS=FOLDER` the models of that folder are compared too, each a folder with `io.safetensors`;
//! `HEADROOM_MODEL=DIRECTORY` names the model of that one `io.safetensors` if it lies elsewhere.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use candle_core::{DType, Device, Tensor};

use super::{CONFIG, LoadedModel, ModelDirectory, WEIGHTS, load_model_dir, save_model_dir};
use crate::{
    attention::{HeadPlan, ModelPlan, OutputPlan, Positions},
    config::{AttentionConfig, CustomReuse, Reuse},
    model::{ForwardOptions, Model, ModelInput, ParameterSet},
};

fn goldens() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join("tests").join("golden").join("hf")
}

/// The committed goldens that the script makes.
const FAMILIES: &[&str] = &[
    "albert",
    "albert_seqcls",
    "bart_relu",
    "bert_model",
    "deit",
    "deit_teacher",
    "distilbert",
    "distilbert_seqcls",
    "electra",
    "electra_generator",
    "electra_seqcls",
    "llama",
    "marian",
    "mistral",
    "qwen2",
    "roberta",
    "roberta_model",
    "roberta_seqcls",
    "t5",
    "t5_encoder",
    "t5_gated",
];

struct Golden {
    io: BTreeMap<String, Tensor>,
}

impl Golden {
    fn read(folder: &Path) -> Self {
        let io = candle_core::safetensors::load(folder.join("io.safetensors"), &Device::Cpu).unwrap();
        Self { io: io.into_iter().collect() }
    }

    fn whole(&self, name: &str) -> Vec<u32> {
        self.io[name].flatten_all().unwrap().to_vec1::<i64>().unwrap().into_iter().map(|id| id as u32).collect()
    }

    /// Which positions of the first input are seen; all where nothing is said. `[b, t]`
    fn mask(&self) -> Option<Vec<u8>> {
        self.io.contains_key("attention_mask").then(|| self.whole("attention_mask").iter().map(|m| *m as u8).collect())
    }

    fn input(&self) -> ModelInput {
        let device = Device::Cpu;
        if let Some(pixels) = self.io.get("pixel_values") {
            let [b, c, side, _] = <[usize; 4]>::try_from(pixels.dims().to_vec()).unwrap();
            let pixels: Vec<f32> = pixels.flatten_all().unwrap().to_dtype(DType::F32).unwrap().to_vec1().unwrap();
            return ModelInput::images(&pixels, [b, c, side], &device).unwrap();
        }
        let read = |name: &str, mask: Option<&[u8]>| {
            let (b, t) = self.io[name].dims2().unwrap();
            ModelInput::new(&self.whole(name), mask, b, t, &device).unwrap()
        };
        let mut input = read("input_ids", self.mask().as_deref());
        if self.io.contains_key("token_type_ids") {
            input = input.with_token_types(&self.whole("token_type_ids")).unwrap();
        }
        if self.io.contains_key("decoder_input_ids") {
            input = read("decoder_input_ids", None).with_encoder(input);
        }
        input
    }

    /// Compares a tensor at positions that are no padding, which other programs number otherwise. `places` are the dimensions of
    /// batch and position; none where positions are not those of the input.
    fn check(&self, name: &str, found: &Tensor, places: Option<[usize; 2]>, tolerance: f64) {
        let Some(expected) = self.io.get(name) else { panic!("no {name}") };
        assert_eq!(found.dims(), expected.dims(), "{name}");
        let mut difference = (found.to_dtype(DType::F64).unwrap() - expected).unwrap().abs().unwrap();
        if let (Some([batch, at]), Some(mask)) = (places, self.mask()) {
            let (b, t) = self.io["input_ids"].dims2().unwrap();
            let mut shape = vec![1; difference.rank()];
            (shape[batch], shape[at]) = (b, t);
            let mask: Vec<f64> = mask.into_iter().map(f64::from).collect();
            let mask = Tensor::from_vec(mask, shape, &Device::Cpu).unwrap();
            difference = difference.broadcast_mul(&mask).unwrap();
        }
        let largest = |tensor: &Tensor| -> f64 {
            tensor.abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
        };
        let error = largest(&difference) / largest(expected);
        eprintln!("{name}: {error:.1e}");
        assert!(error <= tolerance, "{name}: {error:e}");
    }

    /// Maps of all layers; a golden has none where heads were pruned, since they do not stack there.
    fn check_maps(&self, plan: &ModelPlan, found: &[Tensor], tolerance: f64) {
        if plan.stack.head_plan.is_plain() {
            self.check_layers("attentions", found, Some([1, 3]), tolerance);
        }
    }

    /// States of all layers; those of images end before the last norm there.
    fn check_states(&self, found: &[Tensor], reads_images: bool, tolerance: f64) {
        let states = if reads_images { found.len() - 1 } else { found.len() };
        let cut = |(name, tensor): (&String, &Tensor)| {
            let is_cut = name == "hidden_states" && reads_images;
            (name.clone(), if is_cut { tensor.narrow(0, 0, states).unwrap() } else { tensor.clone() })
        };
        Self { io: self.io.iter().map(cut).collect() }.check_layers(
            "hidden_states",
            &found[..states],
            Some([1, 2]),
            tolerance,
        );
    }

    fn check_layers(&self, name: &str, found: &[Tensor], places: Option<[usize; 2]>, tolerance: f64) {
        self.check(name, &Tensor::stack(found, 0).unwrap(), places, tolerance);
    }
}

fn everything() -> ForwardOptions {
    ForwardOptions { keep_maps: true, keep_hidden: true, ..ForwardOptions::default() }
}

/// Compares all that a golden has.
fn compare(dir: &Path, folder: &Path, dtype: DType, tolerance: f64) -> LoadedModel {
    let golden = Golden::read(folder);
    let loaded = load_model_dir(dir, dtype, &Device::Cpu).unwrap_or_else(|error| panic!("{error}"));
    let model = Model::frozen(&loaded.plan, &loaded.parameters).unwrap();
    let input = golden.input();
    let reads_images = loaded.plan.vocabulary() == 0;
    if matches!(loaded.plan.head, OutputPlan::States { .. }) {
        let found = model.attend(&input, &everything()).unwrap();
        if loaded.plan.encoder.is_some() {
            golden.check_layers("decoder_attentions", &found.maps, None, tolerance);
            golden.check_layers("decoder_hidden_states", &found.hidden, None, tolerance);
        } else {
            golden.check_maps(&loaded.plan, &found.maps, tolerance);
            golden.check_states(&found.hidden, reads_images, tolerance);
        }
        let refused = model.forward(&input, &everything()).unwrap_err().to_string();
        assert!(refused.contains("ends in its hidden states"), "{refused}");
        return loaded;
    }
    let found = model.forward(&input, &everything()).unwrap();
    let of_positions = found.logits.rank() == 3 && loaded.plan.encoder.is_none();
    golden.check("logits", &found.logits, of_positions.then_some([0, 1]), tolerance);
    if let Some(encoder) = &found.encoder {
        golden.check_layers("encoder_attentions", &encoder.maps, Some([1, 3]), tolerance);
        golden.check_layers("encoder_hidden_states", &encoder.hidden, Some([1, 2]), tolerance);
        golden.check_layers("decoder_attentions", &found.maps, None, tolerance);
        golden.check_layers("decoder_hidden_states", &found.hidden, None, tolerance);
        golden.check_layers("cross_attentions", &found.cross_maps, None, tolerance);
        return loaded;
    }
    golden.check_maps(&loaded.plan, &found.maps, tolerance);
    golden.check_states(&found.hidden, reads_images, tolerance);
    loaded
}

/// Rounding of 32-bit sums, relative to the largest number. In 64 bits `transformers` still has the softmax of some families and the angles
/// of rotary positions in 32.
const TOLERANCES: [(DType, f64); 2] = [(DType::F32, 2e-5), (DType::F64, 2e-6)];

#[test]
fn models_of_every_family_compute_what_transformers_computes() {
    for family in FAMILIES {
        for (dtype, tolerance) in TOLERANCES {
            eprintln!("{family}, {dtype:?}");
            let folder = goldens().join(family);
            let _ = compare(&folder, &folder, dtype, tolerance);
        }
    }
}

/// Variants that opened wrongly or not at all, made by `tests/python/family_variants.py`: heads that differ from the embeddings, other
/// ends, activations, angles, pruned heads, older and sharded files.
#[test]
fn variants_of_families_compute_what_transformers_computes() {
    let mut count = 0;
    for entry in std::fs::read_dir(goldens().join("variants")).unwrap() {
        let folder = entry.unwrap().path();
        eprintln!("{}", folder.display());
        for (dtype, tolerance) in TOLERANCES {
            let loaded = compare(&folder, &folder, dtype, tolerance);
            // Saved and opened again it is the same model.
            let parent = tempfile::tempdir().unwrap();
            let copy = parent.path().join("model");
            let _ = save_model_dir(&copy, &ModelDirectory::of(&loaded.plan, &loaded.parameters.tensors())).unwrap();
            let again = compare(&copy, &folder, dtype, tolerance);
            assert_eq!(again.plan, loaded.plan, "{}", folder.display());
            assert!(again.notes.is_empty(), "{:?}", again.notes);
            // A conversion that `transformers` has no word for keeps the end of the model.
            let mut plan = loaded.plan.clone();
            if plan.vocabulary() > 0
                && plan.stack.design.positions == Positions::Learned
                && !plan.stack.design.shares_layers
            {
                for stack in plan.encoder.as_deref_mut().into_iter().chain([&mut plan.stack]) {
                    let rows = vec![vec!["c"; stack.heads].join(" "), vec!["-"; stack.heads].join(" ")];
                    let reuse = Reuse::Custom(CustomReuse { rows });
                    let attention = AttentionConfig { reuse, ..AttentionConfig::default() };
                    stack.head_plan = HeadPlan::derive(&attention, stack.layers, stack.heads).unwrap();
                }
                let parameters = ParameterSet::init(&plan, 1, dtype, &Device::Cpu).unwrap();
                let own = parent.path().join("own");
                let _ = save_model_dir(&own, &ModelDirectory::of(&plan, &parameters.tensors())).unwrap();
                let again = load_model_dir(&own, dtype, &Device::Cpu).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(again.plan, plan, "{}", folder.display());
            }
        }
        count += 1;
    }
    assert!(count >= 20, "{count} variants");
}

/// Tensors, shapes and the settings that say what the model is.
#[test]
fn models_of_every_family_are_saved_as_they_came() {
    for family in FAMILIES {
        let dir = goldens().join(family);
        let loaded = load_model_dir(&dir, DType::F32, &Device::Cpu).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("model");
        let tensors = loaded.parameters.tensors();
        let _ = save_model_dir(&copy, &ModelDirectory::of(&loaded.plan, &tensors)).unwrap();
        let file = |dir: &Path| {
            let tensors = candle_core::safetensors::load(dir.join(WEIGHTS), &Device::Cpu).unwrap();
            let numbers = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            tensors.iter().map(|(name, t)| (name.clone(), (t.dims().to_vec(), numbers(t)))).collect::<BTreeMap<_, _>>()
        };
        let (ours, theirs) = (file(&copy), file(&dir));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{family}");
        assert!(ours == theirs, "{family}");
        let settings = |dir: &Path| -> serde_json::Value {
            serde_json::from_slice(&std::fs::read(dir.join(CONFIG)).unwrap()).unwrap()
        };
        let (ours, theirs) = (settings(&copy), settings(&dir));
        // Mistral is Llama in texts as long as its window.
        if *family != "mistral" {
            assert_eq!(ours["architectures"], theirs["architectures"], "{family}");
            assert_eq!(ours["model_type"], theirs["model_type"], "{family}");
        }
        let again = load_model_dir(&copy, DType::F32, &Device::Cpu).unwrap_or_else(|error| panic!("{family}: {error}"));
        assert_eq!(again.plan, loaded.plan, "{family}");
    }
}

/// The weights of one of them as older programs save them: `torch.save` of the same tensors.
#[test]
fn a_model_in_a_pickle_is_the_same() {
    let [pickled, whole] = ["roberta_pickled", "roberta"].map(|name| {
        let loaded = load_model_dir(&goldens().join(name), DType::F32, &Device::Cpu);
        loaded.unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!(pickled.plan, whole.plan);
    let (pickled, whole) = (pickled.parameters.tensors(), whole.parameters.tensors());
    assert_eq!(pickled.len(), whole.len());
    for (name, tensor) in &whole {
        let [a, b] = [tensor, &pickled[name]].map(|of| of.flatten_all().unwrap().to_vec1::<f32>().unwrap());
        assert_eq!(a, b, "{name}");
    }
}

/// Models that are no part of this repository, where some are named.
#[test]
fn models_from_elsewhere_compute_what_transformers_computes() {
    let Some(folder) = std::env::var_os("HEADROOM_GOLDENS").map(PathBuf::from) else { return };
    if let Some(dir) = std::env::var_os("HEADROOM_MODEL").map(PathBuf::from) {
        let _ = compare(&dir, &folder, DType::F32, 2e-5);
        return;
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join("io.safetensors").exists() {
            eprintln!("{}", folder.display());
            for (dtype, tolerance) in TOLERANCES {
                let _ = compare(&folder, &folder, dtype, tolerance);
            }
        }
    }
}
