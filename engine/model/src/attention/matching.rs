//! Models of other depth with as many parameters.

use super::{Cost, ModelPlan, Workload, supported};
use crate::config::{AttentionConfig, Baseline, Precision, Problem, RunConfig};

/// Layers that are tried at most, as a multiple of the config's.
const MOST: usize = 8;

/// What `attention.match_parameters` does: the model gets layers until its parameters come closest to a baseline's.
///
/// A schedule is written down anew for each depth: `partial` borrows in all inner layers of the deeper model too,
/// while `first` keeps its P. The vocabulary does not matter, since both models have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterMatch {
    /// What is matched.
    pub baseline: Baseline,
    /// Layers of the matched model; the config's are the fewest.
    pub layers: usize,
    /// Layers that were added to the config's.
    pub added: usize,
    /// Parameters of the model as given, without its token table.
    pub given_parameters: u64,
    /// Parameters of the matched model without its token table.
    pub parameters: u64,
    /// Parameters of the baseline without its token table.
    pub baseline_parameters: u64,
}

impl ParameterMatch {
    /// The match that a config asks for; none when it asks for none.
    ///
    /// # Errors
    /// Every problem of the config.
    pub fn of(config: &RunConfig) -> Result<Option<Self>, Vec<Problem>> {
        let Some(baseline) = config.attention.match_parameters else { return Ok(None) };
        let mut problems = config.validate();
        problems.extend(supported(config));
        if !problems.is_empty() {
            return Err(problems);
        }
        let count = |attention: &AttentionConfig, layers: usize| {
            let plan = ModelPlan::of_depth(config, attention, layers, 0)?;
            Ok::<_, Vec<Problem>>(Cost::of(&plan, &Workload::inference(1, 1, Precision::F32)).parameters)
        };
        let given = config.model.layers;
        let baseline_parameters = count(&config.attention.baseline(baseline), given)?;
        let given_parameters = count(&config.attention, given)?;
        let mut best = (given, given_parameters);
        for layers in given + 1..=given.saturating_mul(MOST) {
            if best.1 >= baseline_parameters {
                break;
            }
            let parameters = count(&config.attention, layers)?;
            if parameters.abs_diff(baseline_parameters) >= best.1.abs_diff(baseline_parameters) {
                break;
            }
            best = (layers, parameters);
        }
        let (layers, parameters) = best;
        Ok(Some(Self { baseline, layers, added: layers - given, given_parameters, parameters, baseline_parameters }))
    }
}

impl std::fmt::Display for ParameterMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let baseline = match self.baseline {
            Baseline::Standard => "standard attention",
            Baseline::WithoutReuse => "the same attention without reuse",
        };
        let difference = 100.0 * (self.parameters as f64 / self.baseline_parameters as f64 - 1.0);
        let given = self.layers - self.added;
        match self.added {
            0 => write!(
                f,
                "No layer was added to {given}: {} parameters against {} of {baseline} ({difference:+.2} %)",
                thousands(self.parameters),
                thousands(self.baseline_parameters)
            )?,
            _ => write!(
                f,
                "{} layers instead of {given}: {} parameters instead of {}, against {} of {baseline} in {given} layers \
                 ({difference:+.2} %)",
                self.layers,
                thousands(self.parameters),
                thousands(self.given_parameters),
                thousands(self.baseline_parameters)
            )?,
        }
        f.write_str(", the token table left out")
    }
}

/// A number in groups of three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Compatibility, FirstReuse, ModelKind, PartialReuse, Reuse, SharedWeight};

    fn bert(change: impl FnOnce(&mut RunConfig)) -> RunConfig {
        let mut config = RunConfig::default();
        config.model.kind = ModelKind::Encoder;
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (12, 12, 768, 3072);
        config.attention.match_parameters = Some(Baseline::Standard);
        change(&mut config);
        config
    }

    #[test]
    fn the_papers_thirteen_layers() {
        let config = bert(|config| config.attention.reuse = Reuse::Partial(PartialReuse { heads: 6 }));
        let found = ParameterMatch::of(&config).unwrap().unwrap();
        assert_eq!((found.layers, found.added), (13, 1));
        let plan = ModelPlan::resolve(&config, 30_522).unwrap();
        assert_eq!((plan.stack.layers, plan.stack.head_plan.layers()), (13, 13));
        // The inner layers of the deeper model all borrow.
        assert_eq!((1..12).map(|layer| plan.stack.head_plan.borrowed(layer)).collect::<Vec<_>>(), [6; 11]);
        assert!(found.given_parameters < found.parameters && found.given_parameters < found.baseline_parameters);
        let text = found.to_string();
        assert!(text.starts_with("13 layers instead of 12: "), "{text}");
        assert!(
            text.contains(&format!(" parameters instead of {}", thousands(found.given_parameters)))
                && text.contains(" of standard attention in 12 layers (")
        );
    }

    #[test]
    fn nothing_is_added_where_nothing_was_saved_or_asked() {
        let same = ParameterMatch::of(&bert(|_| {})).unwrap().unwrap();
        assert_eq!((same.layers, same.added, same.parameters), (12, 0, same.baseline_parameters));
        assert_eq!(
            same.to_string(),
            "No layer was added to 12: 85,698,816 parameters against 85,698,816 of standard attention (+0.00 %), the \
             token table left out"
        );
        assert_eq!(ParameterMatch::of(&bert(|config| config.attention.match_parameters = None)), Ok(None));
        let small = bert(|config| config.attention.reuse = Reuse::First(FirstReuse { layers: 1, heads: 1 }));
        assert_eq!(ParameterMatch::of(&small).unwrap().unwrap().added, 0, "one head is far less than a layer");
    }

    #[test]
    fn without_reuse_compares_with_the_same_way_to_score() {
        let config = bert(|config| {
            config.attention.match_parameters = Some(Baseline::WithoutReuse);
            config.attention.compatibility = Compatibility::SharedWeight(SharedWeight {});
        });
        let found = ParameterMatch::of(&config).unwrap().unwrap();
        assert_eq!((found.added, found.parameters), (0, found.baseline_parameters));
    }

    #[test]
    fn a_custom_table_cannot_be_stretched() {
        let config = bert(|config| config.attention.reuse = Reuse::examples(12, 12).pop().unwrap());
        assert_eq!(ParameterMatch::of(&config).unwrap_err()[0].field, "attention.match_parameters");
    }
}
