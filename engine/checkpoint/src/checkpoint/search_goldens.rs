//! Searches by the settings in `generation_config.json` against those of `transformers`.

use std::{fs, ops::ControlFlow, path::PathBuf};

use candle_core::{DType, Device};
use serde_json::Value;

use super::load_model_dir;
use crate::{
    generate::{Progress, Search, SearchSettings, generate},
    model::Model,
};

/// Beams, groups, penalties, forced and forbidden tokens, of models of four families and an export. The ids are those of `transformers`, which
/// `tests/python/searches.py` asked; `HEADROOM_SEARCHES` names another folder that it wrote.
#[test]
fn searches_by_a_models_own_settings_are_those_of_transformers() {
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/searches");
    let folder = std::env::var_os("HEADROOM_SEARCHES").map_or(fixture, PathBuf::from);
    let (mut checked, mut other) = (0, Vec::new());
    for line in fs::read_to_string(folder.join("searches.jsonl")).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let ids = |key: &str| -> Vec<u32> {
            case[key].as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
        };
        let copy = tempfile::tempdir().unwrap();
        let model = folder.join(case["model"].as_str().unwrap());
        for file in ["config.json", "model.safetensors"] {
            let _ = fs::copy(model.join(file), copy.path().join(file)).unwrap();
        }
        fs::write(copy.path().join("generation_config.json"), case["settings"].to_string()).unwrap();
        let loaded = load_model_dir(copy.path(), DType::F32, &Device::Cpu).unwrap();
        assert!(loaded.generation.unused.is_empty(), "{:?}: {line}", loaded.generation.unused);
        let model = Model::frozen(&loaded.plan, &loaded.parameters).unwrap();
        let (search, unused) = SearchSettings::default().resolve(&loaded.generation.search, &Search::default());
        assert!(unused.is_empty(), "{unused:?}: {line}");
        let go = |_: Progress<'_>| ControlFlow::Continue(());
        let found = generate(&model, &[ids("prompt")], &loaded.generation.marks, &search, None, go);
        let found = found.unwrap_or_else(|error| panic!("{error}: {line}"));
        checked += 1;
        if found.texts[0].tokens != ids("ids") {
            other.push(format!("{:?}: {line}", found.texts[0].tokens));
        }
    }
    eprintln!("{checked} searches");
    assert!(other.is_empty(), "{} of {checked} are others:\n{}", other.len(), other.join("\n"));
    assert!(checked >= 100, "only {checked} searches were compared");
}
