//! A run as one JSON document.

use headroom_engine::{
    store::{RunRecord, SeriesData, TextSample},
    text::to_json_pretty,
};
use serde_json::{Map, Value, json};

/// The whole run: its record with the config, every point of every series, the text samples. Non-finite values are
/// null, as JSON has no word for them.
pub fn run_json(
    record: &RunRecord,
    series: &[(String, SeriesData)],
    samples: &[TextSample],
) -> Result<Vec<u8>, String> {
    let failed = |error: serde_json::Error| format!("The run cannot be written as JSON: {error}.");
    let mut document = match serde_json::to_value(record).map_err(failed)? {
        Value::Object(fields) => fields,
        other => Map::from_iter([("run".to_owned(), other)]),
    };
    let points: Map<String, Value> = series
        .iter()
        .map(|(name, points)| {
            let columns = json!({
                "steps": points.steps,
                "values": points.values,
                "wall_ms": points.wall_ms,
                "tokens": points.tokens,
                "cuts": points.cuts,
            });
            (name.clone(), columns)
        })
        .collect();
    document.insert("series".to_owned(), Value::Object(points));
    document.insert("samples".to_owned(), serde_json::to_value(samples).map_err(failed)?);
    to_json_pretty(&Value::Object(document)).map(String::into_bytes).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn everything_is_there_and_not_finite_is_null() {
        let points = SeriesData {
            steps: vec![1, 2],
            values: vec![2.5, f64::NAN],
            wall_ms: vec![10, 20],
            tokens: vec![64, 128],
            ..SeriesData::default()
        };
        let sample = TextSample { step: 2, text: "the cat".to_owned(), created_ms: 1 };
        let bytes = run_json(&examples::record(7, "a run"), &[("train/loss".to_owned(), points)], &[sample]).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(document["id"], "0000000007");
        assert_eq!(document["name"], "a run");
        assert_eq!(document["config"]["model"]["layers"], 4);
        assert_eq!(document["series"]["train/loss"]["steps"], json!([1, 2]));
        assert_eq!(document["series"]["train/loss"]["values"], json!([2.5, null]));
        assert_eq!(document["samples"][0]["text"], "the cat");
        assert_eq!(document["metrics"]["validation/loss"]["best"], 1.25);
    }
}
