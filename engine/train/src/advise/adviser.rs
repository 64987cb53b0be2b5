use super::{Advice, Borrowing, Costs, DimensionAdvice, HeadAdvice, PairAdvice, Prediction, Proposal, Wishes};
use crate::{
    analysis::{Analysis, CapturedVariance, Measure, NOT_YET, Similarity},
    attention::{HeadPlan, ModelFacts, ModelPlan, Workload},
    config::{Collaborative, Compatibility, Coverage, PartialCoverage, Problem, Reuse, RunConfig, counted},
};

/// What is known of a trained model, ready to be asked at any thresholds: of a run, which is trained again with another
/// config, or of a model from elsewhere, which is converted. A run that trains an initial model further keeps that model's
/// attention: where other attention is wished for, its model is converted, too.
#[derive(Clone, Debug)]
pub struct Adviser {
    plan: ModelPlan,
    tokens: usize,
    /// Its schedule as it is written.
    reuse: Reuse,
    present: Costs,
    borrowing: Result<Borrowing, String>,
    captured: Result<CapturedVariance, String>,
    errors: Result<Vec<f64>, String>,
    /// The run that it is of; none of a model that is converted.
    run: Option<OfRun>,
}

/// What is known of a run beside its model.
#[derive(Clone, Debug)]
struct OfRun {
    /// Its config, with as many layers as the model has.
    config: RunConfig,
    /// From whose scores pairs would be chosen.
    id: String,
    facts: ModelFacts,
}

impl Adviser {
    /// Takes in what is known of a run. `run` is its id, from whose scores pairs would be chosen; `facts` those of its model
    /// ([`ModelFacts::of_run`], or [`ModelFacts::of_parameters`] where no checkpoint has its plan); `errors` the share of its scores' energy that is lost with 0, 1, ... pairs of each
    /// row, where that was measured.
    ///
    /// # Errors
    /// Every problem of the config: a run that was trained has none.
    pub fn new(
        config: &RunConfig,
        run: &str,
        facts: &ModelFacts,
        analysis: &Analysis,
        errors: Option<&[f64]>,
    ) -> Result<Self, Vec<Problem>> {
        let plan = facts.plan(config)?;
        // Layers that were added to match parameters stay; another table is not stretched once more.
        let mut config = config.clone();
        config.model.layers = plan.stack.layers;
        config.attention.match_parameters = None;
        let present = Costs::of_plan(&plan, &Workload::training(&config));
        let by_variation = analysis.similarity(Measure::TotalVariation);
        let similarity = match (by_variation, analysis.similarity.first()) {
            (Some(found), _) => Ok(found),
            (None, None) => Err(NO_MAPS),
            // Of other attention than its initial model's it gets by a conversion.
            (None, Some(_)) if config.model.initial.is_some() => Err(OTHER_MEASURE),
            (None, Some(first)) => Ok(first),
        };
        let unmeasured = || {
            format!(
                "How well scores are reconstructed from some of them was not measured on held-out examples of {} tokens of the \
                 run's own text. Analyse reconstruction first.",
                config.data.sequence_length
            )
        };
        Ok(Self {
            borrowing: borrowing(&plan, similarity, "run"),
            captured: captured(&plan, analysis, "run"),
            errors: measured(errors).ok_or_else(unmeasured),
            tokens: config.data.sequence_length,
            reuse: config.attention.reuse.clone(),
            run: Some(OfRun { config, id: run.to_owned(), facts: facts.clone() }),
            plan,
            present,
        })
    }

    /// Takes in what is known of a model that is to be converted, from its plan and an analysis of it on a text; `errors`: the
    /// share of its scores' energy that is lost with 0, 1, ... pairs of each row of the analysis's examples, where that was
    /// measured on examples from which nothing was chosen. Costs are those of reading one of these examples.
    ///
    /// # Errors
    /// In words: why nothing can be said of such a model, or from such an analysis.
    pub fn of_model(plan: &ModelPlan, analysis: &Analysis, errors: Option<&[f64]>) -> Result<Self, String> {
        if !plan.is_analysable() {
            return Err(NOT_YET.to_owned());
        }
        let (tokens, longest) = (analysis.tokens, plan.stack.longest());
        if !(1..=longest).contains(&tokens) {
            return Err(format!(
                "The analysis is of examples of {}, and the model reads at most {}. Analyse it again.",
                counted(tokens as u64, "token"),
                counted(longest as u64, "token")
            ));
        }
        // Maps are borrowed by this measure, whatever else was compared.
        let similarity = analysis.similarity(Measure::TotalVariation).ok_or(match analysis.similarity.first() {
            None => NO_MAPS,
            Some(_) => OTHER_MEASURE,
        });
        Ok(Self {
            borrowing: borrowing(plan, similarity, "model"),
            captured: captured(plan, analysis, "model"),
            errors: measured(errors).ok_or_else(|| UNMEASURED.to_owned()),
            tokens,
            reuse: Reuse::Custom(plan.stack.head_plan.to_custom()),
            present: Costs::of_reading(plan, tokens),
            run: None,
            plan: plan.clone(),
        })
    }

    /// Which heads could borrow, at every similarity; else why that is not known.
    pub fn borrowing(&self) -> Result<&Borrowing, &str> {
        self.borrowing.as_ref().map_err(String::as_str)
    }

    /// The energy of queries and keys over dimensions; else why that is not known.
    pub fn captured(&self) -> Result<&CapturedVariance, &str> {
        self.captured.as_ref().map_err(String::as_str)
    }

    /// The error of restored scores over pairs; else why that is not known.
    pub fn errors(&self) -> Result<&[f64], &str> {
        self.errors.as_deref().map_err(String::as_str)
    }

    /// The plan of the trained model.
    pub fn model(&self) -> &ModelPlan {
        &self.plan
    }

    /// The table of heads of the trained model.
    pub fn plan(&self) -> &HeadPlan {
        &self.plan.stack.head_plan
    }

    /// Whether queries attend to what stands before them alone.
    pub fn is_causal(&self) -> bool {
        self.plan.stack.is_causal
    }

    /// What the trained model costs.
    pub fn present(&self) -> &Costs {
        &self.present
    }

    /// The config of the run that was trained, with as many layers as its model has; none of a model that is converted.
    pub fn config(&self) -> Option<&RunConfig> {
        self.run.as_ref().map(|run| &run.config)
    }

    /// Tokens of the examples that costs are counted for and pairs are chosen from.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Columns of a layer's queries in the trained model.
    pub fn present_dimensions(&self) -> usize {
        let stack = &self.plan.stack;
        match stack.compatibility {
            Compatibility::Collaborative(Collaborative { d_k }) => d_k,
            _ => stack.heads * stack.head_size,
        }
    }

    /// Which heads could borrow at a similarity, by what was measured.
    pub fn heads(&self, threshold: f64) -> Result<HeadAdvice, String> {
        let words = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        HeadAdvice::new(self.borrowing.as_ref().map_err(Clone::clone)?, threshold, &self.reuse).map_err(words)
    }

    /// How many dimensions keep a share of the energy, by what was measured.
    pub fn dimensions(&self, share: f64) -> Result<DimensionAdvice, String> {
        let captured = self.captured.as_ref().map_err(Clone::clone)?;
        DimensionAdvice::new(captured, share, self.present_dimensions())
            .ok_or_else(|| "No head of the model scores, or its weights are all zero.".to_owned())
    }

    /// How many pairs leave an error, by what was measured.
    pub fn pairs(&self, limit: f64) -> Result<PairAdvice, String> {
        if !self.plan.stack.coverage.is_full() {
            let who = if self.run.is_some() { "run" } else { "model" };
            return Err(format!("The {who} leaves out pairs already."));
        }
        let tokens = self.tokens;
        PairAdvice::new(self.errors.as_ref().map_err(Clone::clone)?, limit, tokens).ok_or_else(|| {
            format!("No number of pairs below {tokens} restores the others within {:.1} %.", 100.0 * limit)
        })
    }

    /// The plan for what is wished for, and what it should come to.
    pub fn advise(&self, wishes: Wishes) -> Advice {
        match &self.run {
            Some(run) => self.advise_training(run, wishes),
            None => self.advise_conversions(wishes),
        }
    }

    fn advise_training(&self, run: &OfRun, wishes: Wishes) -> Advice {
        let heads = wishes.similarity.map(|threshold| self.heads(threshold));
        let dimensions = wishes.energy.map(|share| self.dimensions(share));
        let pairs = wishes.error.map(|limit| self.pairs(limit));
        let mut config = run.config.clone();
        if let Some(Ok(heads)) = &heads {
            config.attention.reuse = heads.reuse.clone();
        }
        if let Some(Ok(dimensions)) = &dimensions {
            config.attention.compatibility = dimensions.compatibility();
        }
        if let Some(Ok(pairs)) = &pairs {
            let from = Some(run.id.clone());
            config.attention.coverage =
                Coverage::Partial(PartialCoverage { k: pairs.k, from, ..PartialCoverage::default() });
        }
        // With nothing to change the config is the run's own.
        if run.config.model.initial.is_some() && self.plan.needs_conversion(&run.facts.filled(&config)) {
            return Advice { why_converted: Some(KEEPS_ATTENTION), ..self.advise_conversions(wishes) };
        }
        let plan = run.facts.plan_answering(&run.config, &config.attention);
        let prediction =
            plan.map(|plan| Costs::of_plan(&plan, &Workload::training(&config))).map(|proposed| Prediction {
                wishes,
                present: self.present,
                proposed,
                heads: sound(heads.as_ref()),
                dimensions: sound(dimensions.as_ref()),
                pairs: sound(pairs.as_ref()),
            });
        let proposal = Proposal::Train(Box::new(config));
        Advice { wishes, heads, dimensions, pairs, proposal, why_converted: None, prediction }
    }
}

const KEEPS_ATTENTION: &str = "The run trains an initial model further, which keeps the attention of that model, so that no config \
                               trains what is advised. Its own model is converted instead; name what comes out in model.initial \
                               to train it further.";

const NO_MAPS: &str = "The analysis did not compare the heads' maps. Analyse it again, with similarity.";

const OTHER_MEASURE: &str = "The analysis did not compare the heads' maps by total variation, by which a conversion lets \
                             heads borrow. Analyse it again, with similarity by total variation.";

const UNMEASURED: &str = "How well scores are reconstructed from some of their pairs was not measured on examples other than those by \
                          which the pairs were chosen. Analyse reconstruction first.";

/// Whether so many layers and heads are those of the model.
fn fits(plan: &ModelPlan, [layers, heads]: [usize; 2], who: &str) -> Result<(), String> {
    let (l, h) = (plan.stack.layers, plan.stack.heads);
    if (layers, heads) == (l, h) {
        return Ok(());
    }
    Err(format!("The analysis is of {layers} layers of {heads} heads, the {who} has {l} of {h}."))
}

fn borrowing(plan: &ModelPlan, similarity: Result<&Similarity, &str>, who: &str) -> Result<Borrowing, String> {
    let similarity = similarity?;
    fits(plan, [similarity.layers, similarity.heads], who)?;
    Ok(Borrowing::new(&plan.stack.head_plan, similarity))
}

fn captured(plan: &ModelPlan, analysis: &Analysis, who: &str) -> Result<CapturedVariance, String> {
    let missing = "The analysis did not include the weights of queries and keys. Analyse it again.";
    let captured = analysis.captured.as_ref().ok_or(missing)?;
    fits(plan, [captured.layers.len(), plan.stack.heads], who)?;
    Ok(captured.clone())
}

fn measured(errors: Option<&[f64]>) -> Option<Vec<f64>> {
    errors.filter(|errors| errors.len() > 1).map(<[f64]>::to_vec)
}

/// A part that was wished for and can be said.
pub(super) fn sound<T: Clone>(part: Option<&Result<T, String>>) -> Option<T> {
    part.and_then(|part| part.as_ref().ok()).cloned()
}
