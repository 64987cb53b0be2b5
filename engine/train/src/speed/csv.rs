use super::{AttentionGroup, Outcome, SweepResult, SweepSpec};
use crate::text::csv_cell;

/// A sweep as CSV: a header, then a row for each side of each point that was measured.
pub fn sweep_csv(spec: &SweepSpec, result: &SweepResult) -> String {
    if spec.generation.is_some() {
        return generation_csv(spec, result);
    }
    let axes = spec.axes.iter().map(|axis| axis.field.clone());
    let columns = [
        "side",
        "outcome",
        "step_secs",
        "step_secs_lower_quartile",
        "step_secs_upper_quartile",
        "forward_secs",
        "backward_secs",
        "optimiser_secs",
        "tokens_per_sec",
        "flops_per_sec",
        "ratio_to_first_side",
        "peak_memory_bytes",
        "peak_memory_of",
        "model_memory_bytes",
        "predicted_memory_bytes",
        "memory_measured_over_predicted",
        "predicted_flops",
        "flops_measured_over_predicted",
        "parameters",
        "steps",
        "step_joules",
        "largest_batch",
        "reason",
        "others_cores",
    ];
    let mut text = line(axes.chain(columns.map(str::to_owned)));
    for point in &result.points {
        let first = point.sides.first().and_then(|side| side.outcome.measurement());
        for side in &point.sides {
            let mut cells: Vec<String> = point.settings.iter().map(|setting| setting.value.clone()).collect();
            cells.extend([side.side.clone(), side.outcome.kind().to_owned()]);
            let maybe = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
            let whole = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
            let largest = whole(side.largest_batch.map(|found| found.batch as u64));
            match &side.outcome {
                Outcome::Measured(found) => cells.extend([
                    found.step_secs.median.to_string(),
                    found.step_secs.lower.to_string(),
                    found.step_secs.upper.to_string(),
                    found.forward_secs.to_string(),
                    found.backward_secs.to_string(),
                    found.optimiser_secs.to_string(),
                    found.tokens_per_sec().to_string(),
                    found.flops_per_sec().to_string(),
                    maybe(first.map(|first| found.step_secs.median / first.step_secs.median)),
                    whole(found.peak_memory_bytes),
                    found.peak_memory_bytes.map_or("", |_| found.memory_source.as_str()).to_owned(),
                    whole(found.model_memory_bytes()),
                    found.predicted_memory_bytes.to_string(),
                    maybe(found.memory_ratio()),
                    found.predicted_flops.to_string(),
                    maybe(found.flops_ratio()),
                    found.parameters.to_string(),
                    found.times.len().to_string(),
                    maybe(found.step_joules),
                    largest,
                    String::new(),
                ]),
                Outcome::OutOfMemory { needed_bytes, free_bytes } => {
                    cells.extend(std::iter::repeat_n(String::new(), columns.len() - 5));
                    cells.push(largest);
                    cells.push(format!("needs {needed_bytes} bytes, {free_bytes} are free"));
                }
                Outcome::Invalid { reason } | Outcome::Failed { reason } => {
                    cells.extend(std::iter::repeat_n(String::new(), columns.len() - 5));
                    cells.push(largest);
                    cells.push(reason.clone());
                }
                // In a table of its own.
                Outcome::Generated(_) => {}
            }
            cells.push(maybe(point.others_cores));
            text += &line(cells);
        }
    }
    text
}

/// The same of texts that were generated.
fn generation_csv(spec: &SweepSpec, result: &SweepResult) -> String {
    let group_columns = |of: &str| {
        let of_group = |group: AttentionGroup| {
            let name = group.name().replace([' ', '/'], "_");
            ["secs", "flops", "bytes"].map(|unit| format!("{of}{name}_{unit}"))
        };
        AttentionGroup::ALL.map(of_group).concat()
    };
    let plain = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let columns = [
        plain(&["cache", "outcome", "total_secs", "total_secs_lower_quartile", "total_secs_upper_quartile"]),
        plain(&["reading_secs", "samples_per_sec", "token_secs", "attention_secs_per_text_and_token", "step_secs"]),
        group_columns("step_"),
        group_columns("reading_"),
        plain(&["cache_bytes", "predicted_cache_bytes", "predicted_memory_bytes", "texts", "tokens", "parameters"]),
        plain(&["runs", "largest_batch", "largest_batch_confirmed", "largest_batch_secs", "reason", "others_cores"]),
    ]
    .concat();
    let axes = spec.axes.iter().map(|axis| axis.field.clone());
    let count = spec.axes.len() + columns.len();
    let mut text = line(axes.chain(columns));
    for point in &result.points {
        for side in &point.sides {
            let mut cells: Vec<String> = point.settings.iter().map(|setting| setting.value.clone()).collect();
            cells.extend([side.side.clone(), side.outcome.kind().to_owned()]);
            if let Outcome::Generated(found) = &side.outcome {
                let secs = [
                    found.total_secs.median,
                    found.total_secs.lower,
                    found.total_secs.upper,
                    found.reading_secs,
                    found.samples_per_sec(),
                    found.token_secs(),
                    found.attention_secs(),
                    found.step_secs,
                ];
                let groups = found.groups.iter().chain(&found.reading_groups);
                let groups = groups.flat_map(|group| [group.seconds, group.flops, group.bytes]);
                cells.extend(secs.into_iter().chain(groups).map(|number| number.to_string()));
                let whole = [
                    found.cache_bytes,
                    found.predicted_cache_bytes,
                    found.predicted_memory_bytes,
                    found.texts,
                    found.tokens,
                    found.parameters,
                    found.times.len() as u64,
                ];
                cells.extend(whole.map(|number| number.to_string()));
            }
            cells.resize(count - 5, String::new());
            match &side.largest_batch {
                Some(largest) => cells.extend([
                    largest.batch.to_string(),
                    largest.is_confirmed.to_string(),
                    largest.run_secs.map_or_else(String::new, |secs| secs.to_string()),
                ]),
                None => cells.resize(count - 2, String::new()),
            }
            cells.push(match &side.outcome {
                Outcome::OutOfMemory { needed_bytes, free_bytes } => {
                    format!("needs {needed_bytes} bytes, {free_bytes} are free")
                }
                Outcome::Invalid { reason } | Outcome::Failed { reason } => reason.clone(),
                Outcome::Measured(_) | Outcome::Generated(_) => String::new(),
            });
            cells.push(point.others_cores.map_or_else(String::new, |cores| cores.to_string()));
            text += &line(cells);
        }
    }
    text
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| csv_cell(&cell).into_owned()).collect();
    cells.join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{PointResult, Setting, SideResult};

    #[test]
    fn every_row_has_every_column() {
        let setting =
            Setting { field: "train.schedule".to_owned(), value: "{kind=\"linear\", warmup_steps=2}".to_owned() };
        let outcome = |name: &str, outcome| SideResult { side: name.to_owned(), outcome, largest_batch: None };
        let point = PointResult {
            settings: vec![setting],
            sides: vec![
                outcome("a", Outcome::OutOfMemory { needed_bytes: 9, free_bytes: 3 }),
                outcome("b", Outcome::Invalid { reason: "no".to_owned() }),
            ],
            in_turns: true,
            others_cores: Some(0.5),
        };
        let spec = SweepSpec { axes: vec!["train.schedule=linear".parse().unwrap()], ..SweepSpec::default() };
        let text = sweep_csv(&spec, &SweepResult { points: vec![point], ..SweepResult::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let commas = |line: &str| line.matches(',').count();
        assert_eq!(commas(lines[0]), 24);
        // One stands inside the quoted value, one in the reason, whose cell is quoted as well.
        assert_eq!(commas(lines[1]), 26);
        assert_eq!(commas(lines[2]), 25);
        assert!(lines[1].starts_with("\"{kind=\"\"linear\"\", warmup_steps=2}\",a,out of memory,"), "{}", lines[1]);
    }
}
