//! Holds the handbook's page of tensor names against what is really written.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use candle_core::{DType, Device};
use safetensors::SafeTensors;

use super::{CONFIG, ModelDirectory, WEIGHTS, save_model_dir};
use crate::{
    attention::ModelPlan,
    config::{
        Biases, Compatibility, Coverage, FirstReuse, FullReuse, ModelKind, NormPlacement, NumberValue, PartialCoverage,
        Restore, Reuse, RunConfig, SkipReuse, Standard,
    },
    model::ParameterSet,
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/handbook/tensors.md");
const BEGIN: &str = "<!-- written by the test `the_handbook_names_every_tensor`: begin -->\n";
const END: &str = "<!-- end -->\n";

/// Sizes of which no two are the same, so that a shape's numbers say what they are.
const SIZES: [(usize, &str); 17] = [
    (2, "2"),
    (4, "c"),
    (5, "d_k"),
    (6, "h"),
    (7, "r"),
    (10, "u d_k"),
    (11, "k"),
    (13, "D_k"),
    (15, "g d_k"),
    (17, "n"),
    (20, "c d_k"),
    (21, "m"),
    (30, "d"),
    (41, "f"),
    (53, "V"),
    (90, "3 d"),
    (102, "m"),
];

/// Names and shapes of the tensors of a file, layers numbered `N`.
type Tensors = BTreeMap<String, String>;

fn config(kind: ModelKind, norm: NormPlacement) -> RunConfig {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.norm) = (kind, norm);
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (3, 6, 30, 41);
    config.data.sequence_length = 17;
    config
}

/// What a config's model directory holds: tensors by layer, those of no layer under none, and `config.json`.
fn saved(config: &RunConfig) -> (BTreeMap<Option<usize>, Tensors>, serde_json::Value) {
    let plan = ModelPlan::resolve(config, 53).unwrap();
    let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    let tensors = parameters.tensors();
    let contents = ModelDirectory::of(&plan, &tensors);
    save_model_dir(&dir, &contents).unwrap();
    let bytes = fs::read(dir.join(WEIGHTS)).unwrap();
    let mut layers: BTreeMap<Option<usize>, Tensors> = BTreeMap::new();
    for (name, tensor) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
        let parts: Vec<&str> = name.split('.').collect();
        let at = parts.iter().position(|part| part.parse::<usize>().is_ok());
        let layer = at.map(|at| parts[at].parse().unwrap());
        let name: Vec<&str> =
            parts.iter().enumerate().map(|(place, part)| if Some(place) == at { "N" } else { part }).collect();
        let shape: Vec<&str> = tensor.shape().iter().map(|size| symbol(*size)).collect();
        layers.entry(layer).or_default().insert(name.join("."), format!("[{}]", shape.join(", ")));
    }
    (layers, serde_json::from_slice(&fs::read(dir.join(CONFIG)).unwrap()).unwrap())
}

fn symbol(size: usize) -> &'static str {
    SIZES.iter().find(|(known, _)| *known == size).map_or_else(|| panic!("a size of {size}"), |(_, symbol)| symbol)
}

/// Whether a tensor belongs to what makes queries, keys and values.
fn is_own(name: &str) -> bool {
    name.contains(".attention.self.") || name.contains(".attn.") && !name.contains(".c_proj.")
}

/// Every way to score, with numbers that [`SIZES`] knows.
fn families() -> Vec<Compatibility> {
    let model = config(ModelKind::Encoder, NormPlacement::Post).model;
    let without = [Biases::WithoutKey, Biases::None].map(|biases| Compatibility::Standard(Standard { biases }));
    let mut families = Compatibility::usual(&model);
    families.splice(1..1, without);
    for number in families.iter_mut().flat_map(|family| family.numbers(&model)) {
        let name = number.symbol;
        if let NumberValue::Always(value) = number.value {
            *value = match name {
                "d_k" => 13,
                "kv_heads" => 3,
                "rank" => 7,
                other => panic!("a size for {other}"),
            };
        }
    }
    families
}

fn row(page: &mut String, cells: &[&str]) {
    writeln!(page, "| {} |", cells.join(" | ")).unwrap();
}

fn code(text: Option<&String>) -> String {
    text.map_or_else(|| "–".to_owned(), |text| format!("`{text}`"))
}

/// The tables, from model directories of every kind.
fn written() -> String {
    let mut page = String::new();
    for kind in ModelKind::LANGUAGE_MODELS {
        let title = if kind == ModelKind::Encoder { "Encoders" } else { "Decoders" };
        writeln!(page, "## {title}\n\n### What every model has\n").unwrap();
        row(&mut page, &["tensor", "norm last", "norm first"]);
        page.push_str("|---|---|---|\n");
        let [post, pre] = [NormPlacement::Post, NormPlacement::Pre].map(|norm| {
            let layers = saved(&config(kind, norm)).0;
            layers.into_values().flatten().filter(|(name, _)| !is_own(name)).collect::<Tensors>()
        });
        let mut names: Vec<&String> = post.keys().chain(pre.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            row(&mut page, &[&format!("`{name}`"), &code(post.get(name)), &code(pre.get(name))]);
        }
        for family in families() {
            let biases = match &family {
                Compatibility::Standard(standard) => {
                    format!(", `biases = {}`", serde_json::to_string(&standard.biases).unwrap())
                }
                _ => String::new(),
            };
            writeln!(page, "\n### {title}, compatibility `{}`{biases}\n", family.kind()).unwrap();
            row(&mut page, &["tensor", "every head computes", "`c` of `h` heads compute", "no head computes"]);
            page.push_str("|---|---|---|---|\n");
            let of = |reuse: Option<Reuse>, layer: usize| {
                let mut config = config(kind, NormPlacement::Post);
                config.attention.compatibility = family.clone();
                config.attention.reuse = reuse.unwrap_or_default();
                let mut tensors = saved(&config).0.remove(&Some(layer)).unwrap_or_default();
                tensors.retain(|name, _| is_own(name));
                tensors
            };
            let columns = [
                of(None, 0),
                of(Some(Reuse::First(FirstReuse { layers: 1, heads: 2 })), 1),
                of(Some(Reuse::Full(FullReuse { layers: 1 })), 1),
            ];
            let skipped = of(Some(Reuse::Skip(SkipReuse { layers: 1 })), 1);
            assert!(skipped.is_empty(), "a layer without attention has {skipped:?}");
            let mut names: Vec<&String> = columns.iter().flat_map(BTreeMap::keys).collect();
            names.sort();
            names.dedup();
            for name in names {
                let cells = columns.each_ref().map(|column| code(column.get(name)));
                row(&mut page, &[&format!("`{name}`"), &cells[0], &cells[1], &cells[2]]);
            }
        }
        writeln!(page, "\n### {title}, coverage `partial`\n").unwrap();
        row(&mut page, &["`restore`", "tensor", "shape"]);
        page.push_str("|---|---|---|\n");
        for restore in Restore::ALL {
            let mut config = config(kind, NormPlacement::Post);
            let plain: Vec<String> = saved(&config).0.into_values().flatten().map(|(name, _)| name).collect();
            // So many that the restored pairs are a number of their own: 21 of a decoder's, 102 of an encoder's.
            config.attention.coverage =
                Coverage::Partial(PartialCoverage { k: 11, restore, ..PartialCoverage::default() });
            let all: Tensors = saved(&config).0.into_values().flatten().collect();
            for (name, shape) in all {
                if !plain.contains(&name) {
                    row(&mut page, &[&format!("`{}`", restore.name()), &format!("`{name}`"), &format!("`{shape}`")]);
                }
            }
        }
        page.push('\n');
    }
    page
}

/// Run with `HEADROOM_WRITE_HANDBOOK=1` to write the tables anew.
#[test]
fn the_handbook_names_every_tensor() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let written = written();
    if std::env::var_os("HEADROOM_WRITE_HANDBOOK").is_some() {
        fs::write(Path::new(PAGE), format!("{before}{BEGIN}{written}{END}{after}")).unwrap();
    } else {
        for (line, (found, written)) in found.lines().zip(written.lines()).enumerate() {
            assert_eq!(found, written, "line {line} of the tables in {PAGE}");
        }
        assert_eq!(found.len(), written.len(), "{PAGE}");
    }
}

/// The keys of `headroom_attention`, of every answer.
#[test]
fn the_handbook_names_every_key_of_the_config() {
    let page = fs::read_to_string(PAGE).unwrap();
    let named = |words: &str| assert!(page.contains(&format!("`{words}`")), "no `{words}` in {PAGE}");
    let mut configs = Vec::new();
    for compatibility in families() {
        let mut config = config(ModelKind::Encoder, NormPlacement::Post);
        config.attention.compatibility = compatibility;
        config.attention.reuse = Reuse::Full(FullReuse { layers: 1 });
        configs.push(config.clone());
        config.attention.coverage = Coverage::Partial(PartialCoverage { k: 11, ..PartialCoverage::default() });
        config.model.positions = Some(53);
        configs.push(config);
    }
    for config in configs {
        let json = saved(&config).1;
        for key in json.as_object().unwrap().keys().filter(|key| key.starts_with("headroom")) {
            named(key);
        }
        for (key, answer) in json["headroom_attention"].as_object().unwrap() {
            named(key);
            for (field, value) in answer.as_object().into_iter().flatten() {
                named(field);
                if field == "kind" {
                    named(value.as_str().unwrap());
                }
            }
        }
    }
}
