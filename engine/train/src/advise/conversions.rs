//! Advice for a model that is not trained again with other attention: conversions, one after the other.

use super::{
    Advice, Adviser, ConversionStep, Costs, DimensionAdvice, HeadAdvice, PairAdvice, Prediction, Proposal, Wishes,
    adviser::sound,
};
use crate::{
    attention::ModelPlan,
    config::{Coverage, PartialCoverage},
    convert::{Conversion, ConvertError, ToBorrow, ToCollaborative, ToCoverage, check, planned},
};

/// A model on its way through conversions. Heads borrow first, since only standard attention is made to; pairs are left out
/// last, since nothing else can be converted then.
struct Course {
    plan: ModelPlan,
    tokens: usize,
    steps: Vec<ConversionStep>,
}

impl Course {
    /// Refuses what the model cannot become, whatever was measured of it.
    fn require(&self, conversion: &Conversion) -> Result<(), String> {
        check(&self.plan, conversion).map_err(|error| error.to_string())
    }

    fn step(&mut self, conversion: Conversion, plan: Result<ModelPlan, ConvertError>) -> Result<(), String> {
        self.plan = plan.map_err(|error| error.to_string())?;
        self.steps.push(ConversionStep { conversion, costs: Costs::of_reading(&self.plan, self.tokens) });
        Ok(())
    }

    fn borrow(&mut self, adviser: &Adviser, similarity: f64) -> Result<HeadAdvice, String> {
        let conversion = Conversion::Borrow(ToBorrow { similarity, ..ToBorrow::default() });
        self.require(&conversion)?;
        let found = adviser.heads(similarity)?;
        if found.replaced > 0 {
            let mut after = self.plan.clone();
            after.stack.head_plan = found.plan.clone();
            self.step(conversion, Ok(after))?;
        }
        Ok(found)
    }

    fn share(&mut self, adviser: &Adviser, share: f64) -> Result<DimensionAdvice, String> {
        let to = |d_k: usize| Conversion::Collaborative(ToCollaborative { d_k, ..ToCollaborative::default() });
        self.require(&to(1))?;
        let found = adviser.dimensions(share)?;
        if !found.is_fewer() {
            return Err(format!(
                "Layer {} needs {} of its {} dimensions for {:.1} % of the energy: sharing them would save nothing.",
                found.layer,
                found.d_k,
                found.present,
                100.0 * share
            ));
        }
        let conversion = to(found.d_k);
        let after = planned_now(&self.plan, &conversion);
        self.step(conversion, after)?;
        Ok(found)
    }

    fn leave_out(&mut self, adviser: &Adviser, limit: f64) -> Result<PairAdvice, String> {
        let to = |k: usize| {
            let coverage = Coverage::Partial(PartialCoverage { k, ..PartialCoverage::default() });
            Conversion::Coverage(ToCoverage { coverage, ..ToCoverage::default() })
        };
        self.require(&to(1))?;
        let found = adviser.pairs(limit)?;
        // Pairs are those of one length: the model reads no longer texts then.
        let mut before = self.plan.clone();
        before.stack.positions = self.tokens;
        let conversion = to(found.k);
        let after = planned_now(&before, &conversion);
        self.step(conversion, after)?;
        Ok(found)
    }
}

/// The plan after a conversion that follows from itself alone.
fn planned_now(plan: &ModelPlan, conversion: &Conversion) -> Result<ModelPlan, ConvertError> {
    Ok(planned(plan, conversion)?.unwrap_or_else(|| plan.clone()))
}

impl Adviser {
    /// The conversions for what is wished for, as far as the model can be converted.
    pub(super) fn advise_conversions(&self, wishes: Wishes) -> Advice {
        let mut course = Course { plan: self.model().clone(), tokens: self.tokens(), steps: Vec::new() };
        let heads = wishes.similarity.map(|similarity| course.borrow(self, similarity));
        let dimensions = wishes.energy.map(|share| course.share(self, share));
        let pairs = wishes.error.map(|limit| course.leave_out(self, limit));
        let present = Costs::of_reading(self.model(), self.tokens());
        let prediction = Prediction {
            wishes,
            present,
            proposed: course.steps.last().map_or(present, |step| step.costs),
            heads: sound(heads.as_ref()).filter(|found| found.replaced > 0),
            dimensions: sound(dimensions.as_ref()),
            pairs: sound(pairs.as_ref()),
        };
        let proposal = Proposal::Convert(course.steps);
        Advice { wishes, heads, dimensions, pairs, proposal, why_converted: None, prediction: Ok(prediction) }
    }
}
