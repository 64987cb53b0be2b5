//! `headroom mixing`: the mixing matrices of a run whose heads collaborate, as files.

use std::path::Path;

use headroom_engine::{config::counted, store::snapshot_kinds};
use serde_json::json;

use super::{
    error::{CliError, CliResult},
    files::{self, Files},
    open, print,
    run_args::MixingArgs,
};
use crate::panels::inspector::MixingView;

/// Writes the newest matrix of each layer.
pub fn run(given: Option<&Path>, args: &MixingArgs) -> CliResult {
    files::refuse_occupied(&args.out)?;
    let (store, record) = open::reading_run(given, &args.run)?;
    let run = &record.summary.id;
    if !MixingView::default().concerns(&record) {
        let message = format!(
            "The heads of the run {run} do not collaborate, so that it has no mixing matrices. Only runs with \
             attention.compatibility.kind = \"collaborative\" have them."
        );
        return Err(CliError::at("run", message));
    }
    let known = store.snapshots(run, Some(snapshot_kinds::MIXING))?;
    let step = known.iter().map(|one| one.step).max();
    let newest = known.iter().filter(|one| Some(one.step) == step);
    let snapshots = newest.map(|one| Ok(store.snapshot(one.id)?)).collect::<CliResult<Vec<_>>>()?;
    let figures = MixingView::figures(&record, &snapshots);
    if figures.is_empty() {
        let message = format!("The run {run} has none yet: they are kept with the first live analysis.");
        return Err(CliError::at("run", message));
    }
    let mut files = Files::create(&args.out)?;
    for (layer, figure) in &figures {
        files.put_map(&format!("mixing-L{layer}"), figure)?;
    }
    if args.json {
        let layers: Vec<u32> = figures.iter().map(|(layer, _)| *layer).collect();
        return print::json_answer(&json!({
            "event": "mixing", "run": run, "step": step, "layers": layers, "out": args.out, "files": files.count(),
        }));
    }
    print::line(format!("Wrote {} to {}", counted(files.count(), "file"), args.out.display()))
}
