use super::{Costs, DimensionAdvice, HeadAdvice, PairAdvice, Prediction, Wishes};
use crate::{
    config::{Problem, RunConfig},
    convert::Conversion,
};

/// A plan, and what can be said of it beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What was wished for.
    pub wishes: Wishes,
    /// Which heads borrow, where that was wished for; else why that cannot be said or had.
    pub heads: Option<Result<HeadAdvice, String>>,
    /// How many dimensions are shared.
    pub dimensions: Option<Result<DimensionAdvice, String>>,
    /// How many pairs are scored.
    pub pairs: Option<Result<PairAdvice, String>>,
    /// What is to be done.
    pub proposal: Proposal,
    /// Reason why the model of a run is converted, and no config trained; none where one is, and of a model from elsewhere.
    pub why_converted: Option<&'static str>,
    /// What it should come to; else everything that is wrong with the config.
    pub prediction: Result<Prediction, Vec<Problem>>,
}

/// What is to be done for what was wished for.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposal {
    /// A run is trained by this config; that of the trained model where nothing changes.
    Train(Box<RunConfig>),
    /// The model is converted, one step after the other; no step where nothing can be had or changes.
    Convert(Vec<ConversionStep>),
}

impl Advice {
    /// The config that is proposed for a run; none where the model is converted.
    pub fn config(&self) -> Option<&RunConfig> {
        match &self.proposal {
            Proposal::Train(config) => Some(config),
            Proposal::Convert(_) => None,
        }
    }

    /// The conversions that are proposed, in their order; none where a run is trained.
    pub fn steps(&self) -> &[ConversionStep] {
        match &self.proposal {
            Proposal::Train(_) => &[],
            Proposal::Convert(steps) => steps,
        }
    }

    /// Whether the model that is proposed would differ from the trained one.
    pub fn changes(&self) -> bool {
        if let Proposal::Convert(steps) = &self.proposal {
            return !steps.is_empty();
        }
        self.replaces_maps() || matches!(&self.dimensions, Some(Ok(_))) || matches!(&self.pairs, Some(Ok(_)))
    }

    fn replaces_maps(&self) -> bool {
        matches!(&self.heads, Some(Ok(heads)) if heads.replaced > 0)
    }

    /// What can be taken of it to the store; none where nothing can be trained of it or changes.
    pub fn to_keep(&self) -> Option<&Prediction> {
        self.prediction.as_ref().ok().filter(|_| self.config().is_some() && self.changes())
    }

    /// Why nothing can be done: problems of the config, parts that cannot be said, or that nothing changes. A run is trained
    /// with all parts or not at all; a model is converted by those that can be had, and [`Self::left_out`] says why not by the
    /// others.
    pub fn why_not(&self) -> Option<String> {
        if !self.steps().is_empty() {
            return None;
        }
        let mut missing = self.missing();
        if let Some(first) = missing.next() {
            let mut all = vec![first];
            if matches!(self.proposal, Proposal::Convert(_)) {
                for why in missing {
                    if !all.contains(&why) {
                        all.push(why);
                    }
                }
            }
            return Some(all.join(" "));
        }
        match &self.prediction {
            Err(problems) => {
                let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Some(format!("{}.", words.join("; ")))
            }
            Ok(_) if self.wishes.is_empty() => Some("Nothing is to change.".to_owned()),
            Ok(_) if !self.changes() => Some(NO_HEAD.to_owned()),
            Ok(_) => None,
        }
    }

    /// Why parts that were wished for are not among the conversions, a sentence or more each.
    pub fn left_out(&self) -> Vec<&str> {
        if self.config().is_some() {
            return Vec::new();
        }
        let mut all: Vec<&str> = self.missing().collect();
        if matches!(&self.heads, Some(Ok(_))) && !self.replaces_maps() {
            all.insert(0, NO_HEAD);
        }
        all.dedup();
        all
    }

    /// Why parts that were wished for cannot be said or had.
    fn missing(&self) -> impl Iterator<Item = &str> {
        fn why<T>(part: Option<&Result<T, String>>) -> Option<&str> {
            part.and_then(|part| part.as_ref().err()).map(String::as_str)
        }
        [why(self.heads.as_ref()), why(self.dimensions.as_ref()), why(self.pairs.as_ref())].into_iter().flatten()
    }
}

/// Why there is nothing to borrow.
const NO_HEAD: &str = "No head could borrow at this similarity.";

/// One conversion of those that are advised, and what the model costs after it and those before.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversionStep {
    /// What the model is to become.
    pub conversion: Conversion,
    /// What it costs then, in reading one example as long as those of the analysis.
    pub costs: Costs,
}
