use headroom_engine::store::{RunId, RunRecord, SeriesData, TextSample};

use crate::context::PanelContext;

/// A run's record, the points of its series by name, its text samples.
pub(super) type Gathered = (RunRecord, Vec<(String, SeriesData)>, Vec<TextSample>);

/// Everything of a run, once it is all here; asks for what is missing.
pub(super) fn gathered(run: &RunId, cx: &mut PanelContext<'_>) -> Option<Gathered> {
    cx.state.want_record(run);
    cx.state.want_samples(run);
    let names: Vec<String> = cx.state.run(run)?.metrics.keys().cloned().collect();
    for name in &names {
        cx.state.series.want(run, name);
    }
    let series = names
        .into_iter()
        .map(|name| {
            let points = cx.state.series.get(run, &name)?;
            let data = SeriesData {
                steps: points.steps.clone(),
                values: points.values.clone(),
                wall_ms: points.wall_ms.clone(),
                tokens: points.tokens.clone(),
                cuts: points.cuts.clone(),
                is_whole: true,
                cursor: None,
            };
            Some((name, data))
        })
        .collect::<Option<Vec<_>>>()?;
    Some((cx.state.records.get(run)?.clone(), series, cx.state.samples.get(run)?.clone()))
}
