//! Parts that figures of findings share: their origin, and axes of queries and keys.

use std::collections::BTreeMap;

use headroom_engine::{analysis::Analysis, config::counted};

use crate::{
    export::MapFigure,
    format,
    plot::{HeatAxis, HeatData, Tone},
};

/// What the files of the command line say of their origin.
pub(super) fn program() -> BTreeMap<String, String> {
    BTreeMap::from([("program".to_owned(), format!("headroom {}", env!("CARGO_PKG_VERSION")))])
}

/// Queries against keys, numbered.
pub fn query_key_map(title: String, data: HeatData, tone: Tone) -> MapFigure {
    MapFigure::new(title, data, (HeatAxis::numbered("Query", ""), HeatAxis::numbered("Key", "")), tone)
}

/// Whose attention it is, on which text.
pub fn about(analysis: &Analysis) -> String {
    let step = match analysis.step {
        Some(step) if !analysis.target.contains("step") => format!(", step {}", format::count(step)),
        _ => String::new(),
    };
    let Analysis { target, data, examples, tokens, .. } = analysis;
    format!("{target}{step} on {data}: {} of {}", counted(*examples, "example"), counted(*tokens, "token"))
}
