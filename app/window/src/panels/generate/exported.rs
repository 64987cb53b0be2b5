use headroom_engine::text::to_json_pretty;
use serde_json::{Value, json};

use crate::{
    common::DataExport,
    export::TextTable,
    state::{Generation, Proving, step_costs},
};

/// The texts as data: JSON of all that is known of them, CSV with a row a token.
pub fn texts(sides: &[&Generation], differs: Option<&[Vec<bool>; 2]>) -> DataExport {
    let whole: Vec<Value> = sides.iter().map(|side| of_side(side)).collect();
    let header = ["setting", "model", "token", "id", "piece", "seconds", "bytes", "differs"];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (number, side) in sides.iter().enumerate() {
        let mut costs = step_costs(&side.text.costs);
        for (at, token) in side.text.tokens.iter().enumerate() {
            let (seconds, bytes) = costs.next().map_or_else(Default::default, |(s, b)| (s.to_string(), b.to_string()));
            let differs =
                differs.and_then(|both| both.get(number)?.get(at)).map_or_else(String::new, ToString::to_string);
            let piece = side.text.pieces.get(at).cloned().unwrap_or_default();
            let (number, at) = ((number + 1).to_string(), (at + 1).to_string());
            rows.push(vec![number, side.name.clone(), at, token.to_string(), piece, seconds, bytes, differs]);
        }
    }
    let json = to_json_pretty(&json!({ "texts": whole })).unwrap_or_default();
    DataExport { title: "Generated text".to_owned(), json, csv: TextTable::new(header).with_rows(rows).to_csv() }
}

fn of_side(side: &Generation) -> Value {
    json!({
        "model": side.name,
        "search": side.search,
        "precision": side.precision,
        "seconds": side.seconds,
        "reading_seconds": side.reading_seconds,
        "cache_bytes": side.text.costs.iter().map(|cost| cost.bytes).max().unwrap_or(0),
        "room_bytes": side.cache_bytes,
        "result": side.text,
    })
}

/// What a comparison of the caches found: CSV with a row a cache and number format.
pub fn proof(proving: &Proving) -> DataExport {
    let header = [
        "precision",
        "cache",
        "texts",
        "tokens",
        "identical",
        "identical_to_first_precision",
        "largest_logit_difference",
        "cache_bytes",
        "seconds",
        "why_not",
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for found in &proving.proofs {
        for row in &found.proof.caches {
            rows.push(vec![
                found.precision.name().to_owned(),
                row.cache.word().to_owned(),
                found.proof.texts.to_string(),
                found.proof.tokens.to_string(),
                row.identical.to_string(),
                row.as_reference.map_or_else(String::new, |count| count.to_string()),
                row.largest_difference.to_string(),
                row.cache_bytes.to_string(),
                row.seconds.to_string(),
                row.why.clone().unwrap_or_default(),
            ]);
        }
    }
    let whole = json!({ "model": proving.name, "data": proving.data, "proofs": proving.proofs });
    DataExport {
        title: "What the caches lose".to_owned(),
        json: to_json_pretty(&whole).unwrap_or_default(),
        csv: TextTable::new(header).with_rows(rows).to_csv(),
    }
}
