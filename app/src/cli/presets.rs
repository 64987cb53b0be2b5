//! `headroom presets`: ready configs.

use headroom_engine::config::{nearest, preset, presets};
use serde_json::json;

use crate::export::TextTable;

use super::{
    args::PresetsArgs,
    error::{CliError, CliResult},
    print,
};

/// Lists the presets, or prints one.
pub fn run(args: &PresetsArgs) -> CliResult {
    let Some(name) = &args.name else { return list(args.json) };
    let Some(found) = preset(name) else {
        let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
        let hint = nearest(name, names.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
        let (hint, names) = (hint.unwrap_or_default(), names.join(", "));
        return Err(CliError::at("name", format!("There is no preset `{name}`.{hint} Presets: {names}.")));
    };
    if args.json {
        let config = found.config().map_err(|error| CliError::Failed(error.to_string()))?;
        print::json(&config)
    } else {
        print::block(found.toml)
    }
}

fn list(json: bool) -> CliResult {
    if json {
        let list: Vec<_> =
            presets().iter().map(|preset| json!({ "name": preset.name, "about": preset.about() })).collect();
        return print::json(&list);
    }
    let mut table = TextTable::default();
    for preset in presets() {
        table.row([preset.name.to_owned(), preset.about()]);
    }
    print::block(&table.to_plain())
}
