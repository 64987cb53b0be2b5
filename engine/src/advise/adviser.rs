use super::{Borrowing, Costs, DimensionAdvice, HeadAdvice, PairAdvice, Prediction, Wishes, vocabulary_of};
use crate::{
    analysis::{Analysis, CapturedVariance, Measure},
    attention::{HeadPlan, ModelPlan},
    config::{Collaborative, Compatibility, Coverage, PartialCoverage, Problem, RunConfig},
};

/// What is known of a trained model, ready to be asked at any thresholds.
#[derive(Clone, Debug)]
pub struct Adviser {
    /// The model's config, with as many layers as the model has.
    config: RunConfig,
    run: String,
    vocabulary: usize,
    plan: HeadPlan,
    present: Costs,
    borrowing: Result<Borrowing, String>,
    captured: Result<CapturedVariance, String>,
    errors: Result<Vec<f64>, String>,
}

/// A plan, and what can be said of it beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What was wished for.
    pub wishes: Wishes,
    /// Which heads borrow, where that was wished for; else why that cannot be said.
    pub heads: Option<Result<HeadAdvice, String>>,
    /// How many dimensions are shared.
    pub dimensions: Option<Result<DimensionAdvice, String>>,
    /// How many pairs are scored.
    pub pairs: Option<Result<PairAdvice, String>>,
    /// The config that is proposed; that of the trained model where nothing changes.
    pub config: RunConfig,
    /// What it should come to; else everything that is wrong with the config.
    pub prediction: Result<Prediction, Vec<Problem>>,
}

impl Advice {
    /// Whether a model of this config would differ from the trained one.
    pub fn changes(&self) -> bool {
        let borrows = matches!(&self.heads, Some(Ok(heads)) if heads.replaced > 0);
        borrows || matches!(&self.dimensions, Some(Ok(_))) || matches!(&self.pairs, Some(Ok(_)))
    }

    /// What can be taken of it to the store; none where it cannot be trained or changes nothing.
    pub fn to_keep(&self) -> Option<&Prediction> {
        self.prediction.as_ref().ok().filter(|_| self.changes())
    }

    /// Why it cannot be trained: problems of the config, parts that cannot be said, or that nothing changes.
    pub fn why_not(&self) -> Option<String> {
        let parts = [missing(self.heads.as_ref()), missing(self.dimensions.as_ref()), missing(self.pairs.as_ref())];
        if let Some(why) = parts.into_iter().flatten().next() {
            return Some(why.clone());
        }
        match &self.prediction {
            Err(problems) => {
                let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Some(format!("{}.", words.join("; ")))
            }
            Ok(_) if self.wishes.is_empty() => Some("Nothing is to change.".to_owned()),
            Ok(_) if !self.changes() => Some("No head could borrow at this similarity.".to_owned()),
            Ok(_) => None,
        }
    }
}

impl Adviser {
    /// Takes in what is known. `run` is the id of the run, from whose scores pairs would be chosen; `parameters` how many
    /// numbers it trained, where known; `errors` the share of its scores' energy that is lost with 0, 1, ... pairs of each
    /// row, where that was measured.
    ///
    /// # Errors
    /// Every problem of the config: a run that was trained has none.
    pub fn new(
        config: &RunConfig,
        run: &str,
        parameters: Option<u64>,
        analysis: &Analysis,
        errors: Option<&[f64]>,
    ) -> Result<Self, Vec<Problem>> {
        let vocabulary = vocabulary_of(config, parameters);
        let plan = ModelPlan::resolve(config, vocabulary)?;
        // Layers that were added to match parameters stay; another table is not stretched once more.
        let mut config = config.clone();
        config.model.layers = plan.stack.layers;
        config.attention.match_parameters = None;
        let present = Costs::of(&config, vocabulary)?;
        let fits = |layers: usize, heads: usize| {
            let (l, h) = (plan.stack.layers, plan.stack.heads);
            if (layers, heads) == (l, h) {
                return Ok(());
            }
            Err(format!("The analysis is of {layers} layers of {heads} heads, the run has {l} of {h}."))
        };
        let similarity = analysis.similarity(Measure::TotalVariation).or(analysis.similarity.first());
        let borrowing = match similarity {
            None => Err("The analysis did not compare the heads' maps. Analyse it again, with similarity.".to_owned()),
            Some(similarity) => {
                fits(similarity.layers, similarity.heads).map(|()| Borrowing::new(&plan.stack.head_plan, similarity))
            }
        };
        let captured = match &analysis.captured {
            None => Err("The analysis did not include the weights of queries and keys. Analyse it again.".to_owned()),
            Some(captured) => fits(captured.layers.len(), plan.stack.heads).map(|()| captured.clone()),
        };
        let errors = errors.filter(|errors| errors.len() > 1).map(<[f64]>::to_vec).ok_or_else(|| {
            format!(
                "How well scores are reconstructed from some of them was not measured on held-out examples of {} tokens of the \
                 run's own text. Analyse reconstruction first.",
                config.data.sequence_length
            )
        });
        Ok(Self {
            run: run.to_owned(),
            vocabulary,
            plan: plan.stack.head_plan,
            present,
            borrowing,
            captured,
            errors,
            config,
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

    /// The table of heads of the trained model.
    pub fn plan(&self) -> &HeadPlan {
        &self.plan
    }

    /// What the trained model costs.
    pub fn present(&self) -> &Costs {
        &self.present
    }

    /// The config of the trained model, with as many layers as it has.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// Columns of a layer's queries in the trained model.
    pub fn present_dimensions(&self) -> usize {
        match self.config.attention.compatibility {
            Compatibility::Collaborative(Collaborative { d_k }) => d_k,
            _ => self.config.model.width,
        }
    }

    /// Which heads are to borrow at a similarity.
    pub fn heads(&self, threshold: f64) -> Result<HeadAdvice, String> {
        let words = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        HeadAdvice::new(self.borrowing.as_ref().map_err(Clone::clone)?, threshold, &self.config.attention.reuse)
            .map_err(words)
    }

    /// How many dimensions keep a share of the energy.
    pub fn dimensions(&self, share: f64) -> Result<DimensionAdvice, String> {
        let captured = self.captured.as_ref().map_err(Clone::clone)?;
        DimensionAdvice::new(captured, share, self.present_dimensions())
            .ok_or_else(|| "No head of the model scores, or its weights are all zero.".to_owned())
    }

    /// How many pairs leave an error.
    pub fn pairs(&self, limit: f64) -> Result<PairAdvice, String> {
        if !self.config.attention.coverage.is_full() {
            return Err("The run leaves out pairs already.".to_owned());
        }
        let tokens = self.config.data.sequence_length;
        PairAdvice::new(self.errors.as_ref().map_err(Clone::clone)?, limit, tokens).ok_or_else(|| {
            format!("No number of pairs below {tokens} restores the others within {:.1} %.", 100.0 * limit)
        })
    }

    /// The plan for what is wished for, and what it should come to.
    pub fn advise(&self, wishes: Wishes) -> Advice {
        let heads = wishes.similarity.map(|threshold| self.heads(threshold));
        let dimensions = wishes.energy.map(|share| self.dimensions(share));
        let pairs = wishes.error.map(|limit| self.pairs(limit));
        let mut config = self.config.clone();
        if let Some(Ok(heads)) = &heads {
            config.attention.reuse = heads.reuse.clone();
        }
        if let Some(Ok(dimensions)) = &dimensions {
            config.attention.compatibility = dimensions.compatibility();
        }
        if let Some(Ok(pairs)) = &pairs {
            let from = Some(self.run.clone());
            config.attention.coverage =
                Coverage::Partial(PartialCoverage { k: pairs.k, from, ..PartialCoverage::default() });
        }
        let prediction = Costs::of(&config, self.vocabulary).map(|proposed| Prediction {
            wishes,
            present: self.present,
            proposed,
            heads: sound(heads.as_ref()),
            dimensions: sound(dimensions.as_ref()),
            pairs: sound(pairs.as_ref()),
        });
        Advice { wishes, heads, dimensions, pairs, config, prediction }
    }
}

/// A part that was wished for and can be said.
fn sound<T: Clone>(part: Option<&Result<T, String>>) -> Option<T> {
    part.and_then(|part| part.as_ref().ok()).cloned()
}

/// Why a part that was wished for cannot be said.
fn missing<T>(part: Option<&Result<T, String>>) -> Option<&String> {
    part.and_then(|part| part.as_ref().err())
}
