//! The metric by which a run is judged: which of its checkpoints is the best, and whether it still improves.

use super::{
    Direction, LearnedTask, Metric, Objective, Showing, agreement, recorded::VALIDATION_LOSS, text_scores::TEXT_SCORES,
};
use crate::config::{Problem, RunConfig, StopEarly};

/// The metric by which the evaluations of a run are judged: that of `train.stop_early` where it is there, else the loss.
///
/// # Errors
/// If evaluations of such a run find no metric of that name, or none with good values; with those that they do.
pub fn judging_metric(config: &RunConfig) -> Result<&'static Metric, Problem> {
    let Some(StopEarly { metric, .. }) = &config.train.stop_early else { return Ok(&VALIDATION_LOSS) };
    let known = judging_metrics(config);
    let name = metric.trim();
    let found = known.iter().find(|known| known.series == name || known.field() == name).copied();
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|metric| metric.series).collect();
        let message = format!("evaluations of this run find no \"{name}\"; name one of {}", names.join(", "));
        Problem::new("train.stop_early.metric", message)
    })
}

/// The metrics that evaluations of a run find and that have good values: those by which it can be judged, the loss first.
pub fn judging_metrics(config: &RunConfig) -> Vec<&'static Metric> {
    let objective: Objective = config.objective();
    let of_grammar = match (config.data.source.facts().follows_grammar, objective.task().showing()) {
        (true, Showing::Continuation) => agreement::WRITTEN,
        (true, Showing::FilledIn) => agreement::FILLED_IN,
        _ => &[],
    };
    let of_translations = match config.task.as_ref().and_then(|task| task.scoring()) {
        Some(_) => TEXT_SCORES,
        None => &[],
    };
    let all = objective.task().metrics().iter().chain(of_grammar).chain(of_translations);
    all.filter(|metric| metric.direction != Direction::None).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::from_toml;

    #[test]
    fn a_metric_is_one_of_the_runs_own() {
        let of = |text: &str| judging_metric(&from_toml(&format!("format = 1\n{text}")).unwrap());
        assert_eq!(of("").unwrap().series, "validation/loss");
        let stop = |metric: &str| format!("train.stop_early = {{ metric = \"{metric}\", patience = 2 }}\n");
        assert_eq!(of(&stop("validation/perplexity")).unwrap().series, "validation/perplexity");
        assert_eq!(of(&stop("agreement")).unwrap().series, "validation/agreement");
        let table = "model.kind = \"encoder\"\ntask.kind = \"classification\"\n[data]\nkind = \"table\"\npath = \"a.tsv\"\n[train]\n";
        let stop_at = |metric: &str| format!("{table}stop_early = {{ metric = \"{metric}\" }}\n");
        assert_eq!(of(&stop_at("validation/f1")).unwrap().direction, Direction::Higher);
        let pairs = |task: &str| {
            let table = "model.kind = \"encoder_decoder\"\ndata.kind = \"number_words\"\n[train]\n";
            of(&format!("{task}{table}stop_early = {{ metric = \"bleu\" }}\n"))
        };
        assert_eq!(pairs("task.kind = \"translation\"\n").unwrap().series, "translation/bleu");
        assert!(pairs("").is_err(), "nothing is translated at evaluations of it");
        let told = of(&stop_at("validation/bleu")).unwrap_err();
        assert_eq!(told.field, "train.stop_early.metric");
        assert!(told.message().contains("validation/accuracy, validation/f1"), "{told}");
    }
}
