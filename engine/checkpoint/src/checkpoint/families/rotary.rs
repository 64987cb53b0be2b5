//! The keys of rotary positions: `rope_theta` beside a table `rope_scaling` until `transformers` 4, one table `rope_parameters` since 5.

use serde_json::{Map, Value, json};

use super::Keys;
use crate::{
    checkpoint::CheckpointError,
    ops::{RotaryScaling, Rotation},
};

/// The base of the angles where nothing is said.
pub(super) const USUAL_BASE: f64 = 10_000.0;

/// Turns within the positions of the first training between which frequencies of `YaRN` are mixed.
const USUAL_TURNS: [f64; 2] = [32.0, 1.0];

/// The kinds that are computed here.
const KINDS: [&str; 5] = ["default", "linear", "dynamic", "yarn", "llama3"];

/// One of the tables.
struct Table<'a> {
    keys: &'a Keys<'a>,
    values: &'a Map<String, Value>,
}

impl Table<'_> {
    fn optional(&self, key: &str) -> Result<Option<f64>, CheckpointError> {
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or_else(|| self.wrong(key)),
        }
    }

    fn number(&self, key: &str) -> Result<f64, CheckpointError> {
        self.optional(key)?.ok_or_else(|| self.wrong(key))
    }

    fn wrong(&self, key: &str) -> CheckpointError {
        let found = self.values.get(key).map_or_else(|| "missing".to_owned(), ToString::to_string);
        self.keys.settings(format!("`{key}` of its rotary positions is {found}, but must be a number."))
    }

    /// Positions of the first training.
    fn original(&self) -> Result<f64, CheckpointError> {
        const KEY: &str = "original_max_position_embeddings";
        if let Some(original) = self.keys.written.get(KEY).and_then(Value::as_f64) {
            return Ok(original);
        }
        match self.optional(KEY)?.filter(|original| *original > 0.0) {
            Some(original) => Ok(original),
            None => Ok(self.keys.count("max_position_embeddings")? as f64),
        }
    }

    /// Factor of sines and cosines in `YaRN`.
    fn attention(&self, factor: f64) -> Result<f64, CheckpointError> {
        if let Some(given) = self.optional("attention_factor")? {
            return Ok(given);
        }
        let grown = |times: f64| if factor <= 1.0 { 1.0 } else { 0.1 * times * factor.ln() + 1.0 };
        let [above, below] = [self.optional("mscale")?, self.optional("mscale_all_dim")?];
        Ok(match (above, below) {
            (Some(above), Some(below)) if above != 0.0 && below != 0.0 => grown(above) / grown(below),
            _ => grown(1.0),
        })
    }

    /// # Errors
    /// If the kind is not computed here, or numbers are missing.
    fn scaling(&self) -> Result<RotaryScaling, CheckpointError> {
        let kind = self.values.get("rope_type").or_else(|| self.values.get("type"));
        let kind = kind.and_then(Value::as_str).unwrap_or("default");
        Ok(match kind {
            "default" => RotaryScaling::None,
            "linear" => RotaryScaling::Linear { factor: self.number("factor")? },
            "dynamic" => RotaryScaling::Dynamic { factor: self.number("factor")? },
            "yarn" => {
                let original = self.original()?;
                let factor = match self.optional("factor")? {
                    Some(factor) => factor,
                    None => self.keys.count("max_position_embeddings")? as f64 / original,
                };
                let turns = |key: &str, usual: f64| {
                    Ok::<_, CheckpointError>(self.optional(key)?.filter(|turns| *turns != 0.0).unwrap_or(usual))
                };
                let [fast, slow] = USUAL_TURNS;
                RotaryScaling::Yarn {
                    factor,
                    original,
                    beta_fast: turns("beta_fast", fast)?,
                    beta_slow: turns("beta_slow", slow)?,
                    truncates: self.values.get("truncate").and_then(Value::as_bool).unwrap_or(true),
                    attention: self.attention(factor)?,
                }
            }
            "llama3" => RotaryScaling::Llama3 {
                factor: self.number("factor")?,
                low: self.number("low_freq_factor")?,
                high: self.number("high_freq_factor")?,
                original: self.original()?,
            },
            other => {
                return Err(CheckpointError::Unsupported {
                    key: "rope_type".to_owned(),
                    found: other.to_owned(),
                    expected: KINDS.join(" or "),
                    path: self.keys.dir.to_owned(),
                });
            }
        })
    }
}

/// The angles of a model's rotary positions.
///
/// # Errors
/// If they are of a kind that is not computed here.
pub(super) fn rotation(keys: &Keys<'_>) -> Result<Rotation, CheckpointError> {
    let base = keys.number("rope_theta", USUAL_BASE)?;
    let table = ["rope_scaling", "rope_parameters"].into_iter().find_map(|table| keys.written.get(table)?.as_object());
    let none = Map::new();
    let values = table.unwrap_or(&none);
    if let Some((layer, _)) = values.iter().find(|(_, value)| value.is_object()) {
        return Err(CheckpointError::Unsupported {
            key: "rope_parameters".to_owned(),
            found: format!("other angles in layers of type {layer:?}"),
            expected: "one table for all layers".to_owned(),
            path: keys.dir.to_owned(),
        });
    }
    let table = Table { keys, values };
    for share in [table.optional("partial_rotary_factor")?, Some(keys.number("partial_rotary_factor", 1.0)?)] {
        if share.is_some_and(|share| (share - 1.0).abs() > f64::EPSILON) {
            return Err(CheckpointError::Unsupported {
                key: "partial_rotary_factor".to_owned(),
                found: share.unwrap_or_default().to_string(),
                expected: "1".to_owned(),
                path: keys.dir.to_owned(),
            });
        }
    }
    Ok(Rotation { base: table.optional("rope_theta")?.unwrap_or(base), scaling: table.scaling()? })
}

/// The table of scaled angles, as `transformers` 4 reads it; null where they are not scaled.
pub(super) fn scaling(rotation: &Rotation) -> Value {
    if rotation.scaling.is_none() { Value::Null } else { Value::Object(described(rotation)) }
}

/// The table of all angles, as `transformers` 5 reads it.
pub(super) fn parameters(rotation: &Rotation) -> Value {
    let mut table = described(rotation);
    let _ = table.insert("rope_theta".to_owned(), json!(rotation.base));
    Value::Object(table)
}

fn described(rotation: &Rotation) -> Map<String, Value> {
    let table = match rotation.scaling {
        RotaryScaling::None => json!({}),
        RotaryScaling::Linear { factor } | RotaryScaling::Dynamic { factor } => json!({ "factor": factor }),
        RotaryScaling::Yarn { factor, original, beta_fast, beta_slow, truncates, attention } => json!({
            "attention_factor": attention,
            "beta_fast": beta_fast,
            "beta_slow": beta_slow,
            "factor": factor,
            "original_max_position_embeddings": original as u64,
            "truncate": truncates,
        }),
        RotaryScaling::Llama3 { factor, low, high, original } => json!({
            "factor": factor,
            "high_freq_factor": high,
            "low_freq_factor": low,
            "original_max_position_embeddings": original as u64,
        }),
    };
    let mut table = table.as_object().cloned().unwrap_or_default();
    let _ = table.insert("rope_type".to_owned(), json!(rotation.scaling.name()));
    table
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::BTreeSet, path::Path};

    use super::{super::TiedTensors, *};

    fn read(config: &Value) -> Result<Rotation, String> {
        let (written, tensors, tied) = (config.as_object().unwrap(), BTreeSet::new(), TiedTensors::default());
        let notes = RefCell::default();
        let keys = Keys { written, tensors: &tensors, tied: &tied, notes: &notes, dir: Path::new("m") };
        rotation(&keys).map_err(|error| error.to_string())
    }

    /// Rounding of 32 bits, in which `transformers` computes them (`tests/python/rotary_angles.py`).
    const TOLERANCE: f64 = 2e-6;

    #[test]
    fn angles_are_those_of_transformers() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../../../tests/golden/hf/rotary_angles.json")).unwrap();
        assert_eq!(cases.len(), 40);
        for case in cases {
            let rotation = read(&case["config"]).unwrap();
            assert!(rotation.is_sound());
            let expected: Vec<f64> = serde_json::from_value(case["frequencies"].clone()).unwrap();
            let found = rotation.frequencies(32);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= TOLERANCE * expected, "{rotation:?}: {found} {expected}");
            }
            let attention = case["attention"].as_f64().unwrap();
            assert!((rotation.scaling.attention() - attention).abs() <= 1e-9, "{rotation:?} {attention}");
            // What is saved reads the same, by the keys of either version.
            for keys in [
                json!({"rope_parameters": parameters(&rotation), "max_position_embeddings": 256}),
                json!({"rope_scaling": scaling(&rotation), "rope_theta": rotation.base, "max_position_embeddings": 256}),
            ] {
                assert_eq!(read(&keys).unwrap(), rotation);
            }
        }
    }

    #[test]
    fn what_is_not_computed_is_refused_by_name() {
        for (config, expected) in [
            (json!({"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}), "`rope_type` to longrope"),
            (json!({"rope_scaling": {"type": "linear"}}), "`factor` of its rotary positions is missing"),
            (json!({"rope_scaling": {"type": "linear", "factor": "two"}}), "is \"two\", but must be a number"),
            (json!({"partial_rotary_factor": 0.5}), "`partial_rotary_factor` to 0.5"),
            (json!({"rope_parameters": {"partial_rotary_factor": 0.25}}), "`partial_rotary_factor` to 0.25"),
            (json!({"rope_parameters": {"full_attention": {"rope_type": "default"}}}), "layers of type"),
        ] {
            let told = read(&config).unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
        assert!(!read(&json!({"rope_scaling": {"type": "linear", "factor": 0.0}})).unwrap().is_sound());
        assert_eq!(read(&json!({"rope_scaling": null})), Ok(Rotation::of(USUAL_BASE)));
        assert_eq!(read(&json!({"rope_parameters": {"rope_theta": 50.0}})), Ok(Rotation::of(50.0)));
    }
}
