//! Nested configs as a flat list of dotted keys.

use std::collections::BTreeMap;

use serde_json::Value;

/// The leaves of a nested value by dotted key, as in `attention.reuse.kind`. Lists are leaves; an empty object is
/// a leaf too, so that nothing that is written disappears. A value that is no object has the key "".
pub fn flatten(value: &Value) -> BTreeMap<String, Value> {
    fn walk(path: &str, value: &Value, leaves: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, inner) in fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    walk(&path, inner, leaves);
                }
            }
            leaf => {
                leaves.insert(path.to_owned(), leaf.clone());
            }
        }
    }
    let mut leaves = BTreeMap::new();
    walk("", value, &mut leaves);
    leaves
}

/// A leaf as people read it: text without quotes, everything else as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_objects_become_dotted_keys_and_lists_stay_whole() {
        let config = json!({"seed": 1, "train": {"schedule": {"kind": "cosine"}, "betas": [0.9, 0.99]}, "empty": {}});
        let flat: Vec<_> = flatten(&config).into_iter().map(|(key, value)| (key, plain(&value))).collect();
        let expected =
            [("empty", "{}"), ("seed", "1"), ("train.betas", "[0.9,0.99]"), ("train.schedule.kind", "cosine")];
        assert_eq!(flat, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(flatten(&json!(3)).len(), 1);
    }
}
