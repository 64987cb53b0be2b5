use headroom_engine::{
    protocol::{Event, events},
    text::to_json_pretty,
};

use crate::{common::DataExport, export::TextTable, state::ConversionRun};

/// What a conversion did: JSON of all of it, CSV with a row an attention and a row a layer.
pub fn outcome(run: &ConversionRun) -> Option<DataExport> {
    let whole = run.outcome.as_deref()?;
    let Event::Converted(events::Converted { attentions, price, .. }) = whole else { return None };
    let header = ["what", "error_of_products", "sweeps", "seconds", "map_distance", "output_error"];
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut rows: Vec<Vec<String>> = Vec::new();
    for one in attentions {
        let (sweeps, seconds) = (one.sweeps.to_string(), one.seconds.to_string());
        rows.push(vec![
            one.attention.clone(),
            number(one.relative_error),
            sweeps,
            seconds,
            String::new(),
            String::new(),
        ]);
    }
    for layer in price.iter().flat_map(|price| &price.layers) {
        let (distance, output) = (number(layer.map_distance), layer.output_error.to_string());
        let what = format!("layer {}", layer.layer);
        rows.push(vec![what, String::new(), String::new(), String::new(), distance, output]);
    }
    Some(DataExport {
        title: format!("{}: {}", run.asked.name, run.asked.conversion.label()),
        json: to_json_pretty(whole).unwrap_or_default(),
        csv: TextTable::new(header).with_rows(rows).to_csv(),
    })
}
