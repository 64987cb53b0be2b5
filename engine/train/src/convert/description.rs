//! Description of a conversion: its names, its numbers, the plan that it leads to and what it does to weights.

use std::{
    ops::{ControlFlow, RangeInclusive},
    time::Instant,
};

use serde::{Deserialize, Serialize};

use super::{
    ConvertError,
    weights::{Tensors, Weights, complete, places},
};
use crate::{
    attention::{HeadPlan, ModelPlan},
    config::{Coverage, Reuse, grouped},
    model::ParameterSet,
};

/// All that is known of a conversion. Each stands in one file; commands, forms and advice read it from here.
pub trait Convert {
    /// Its names and explanations.
    fn info(&self) -> &'static ConversionInfo;

    /// Name with its numbers: `collaborative, d_k 256, 1 random start, seed 1`.
    fn label(&self) -> String;

    /// End of the name of a directory that is made by it, with its number: `-dk64`.
    fn suffix(&self) -> String {
        format!("-{}", self.info().word)
    }

    /// Options of `headroom convert` that ask for it. A conversion that compares maps reads `examples` of the text.
    fn options(&self, _examples: u64) -> String {
        format!("--{}", self.info().flag)
    }

    /// Numbers and switches that can be chosen for a model of these sizes.
    fn fields(&mut self, _sizes: &ModelSizes) -> Vec<ConversionField<'_>> {
        Vec::new()
    }

    /// Puts numbers in place of those that no model of these sizes can have, or that were not chosen yet.
    fn adapt(&mut self, _sizes: &ModelSizes) {}

    /// True if it depends on what the model does with a text.
    fn needs_text(&self) -> bool {
        false
    }

    /// True if only standard attention can become so.
    fn starts_from_standard(&self) -> bool {
        true
    }

    /// Plan of the converted model; none where that depends on a text.
    ///
    /// # Errors
    /// What stands in the way, and what to do.
    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError>;

    /// Converts one attention, the one of a number; returns the relative error of its products, none where no head computes, and the sweeps
    /// of a search.
    ///
    /// # Errors
    /// If weights cannot be read, or `tell` ends it.
    fn attention(
        &self,
        _weights: &Weights<'_>,
        _number: usize,
        _tensors: &mut Tensors,
        _tell: &mut Tell<'_>,
    ) -> Result<(Option<f64>, usize), ConvertError> {
        Ok((Some(0.0), 0))
    }

    /// Converts a model.
    ///
    /// # Errors
    /// If it cannot be converted, or `run.each` ends it.
    fn run(&self, mut run: Run<'_>) -> Result<Converted, ConvertError> {
        let after = self.plan(run.plan)?.unwrap_or_else(|| run.plan.clone());
        each_attention(&mut run, after, &mut |weights, number, tensors, tell| {
            self.attention(weights, number, tensors, tell)
        })
    }
}

/// Names and explanations of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversionInfo {
    /// Option of the command line that asks for it, without dashes.
    pub flag: &'static str,
    /// That option with what has to follow it, `--collaborative --d-k N`.
    pub usage: &'static str,
    /// Explanation of the option.
    pub help: &'static str,
    /// Label in a menu.
    pub label: &'static str,
    /// End of the name of a directory that is made by it.
    pub word: &'static str,
    /// Explanation in a form.
    pub note: &'static str,
}

/// Sizes of a model that limit what can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSizes {
    /// Width of the stream.
    pub width: usize,
    /// Heads of a layer.
    pub heads: usize,
    /// The longest text in tokens.
    pub positions: usize,
}

impl ModelSizes {
    /// Sizes that limit nothing.
    pub const ANY: Self = Self { width: usize::MAX, heads: 1, positions: usize::MAX };
}

/// A number or switch of a conversion.
#[derive(Debug)]
pub struct ConversionField<'a> {
    /// Option of the command line.
    pub option: Option<ConversionOption>,
    /// Place in a form.
    pub control: Option<Control>,
    /// Its value.
    pub value: FieldValue<'a>,
}

/// A number or switch on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionOption {
    /// Name without dashes.
    pub name: &'static str,
    /// Placeholder of its value.
    pub value_name: &'static str,
    /// Explanation.
    pub help: &'static str,
    /// Reason why there is no conversion without it; none where it has a usual value.
    pub required: Option<&'static str>,
    /// Beginning of the names of folders where several values make a model each.
    pub several: Option<&'static str>,
}

impl ConversionOption {
    /// An option that can be left out.
    pub(super) const fn new(name: &'static str, value_name: &'static str, help: &'static str) -> Self {
        Self { name, value_name, help, required: None, several: None }
    }
}

/// A number or switch in a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Label.
    pub label: &'static str,
    /// Explanation.
    pub help: &'static str,
    /// Values that can be chosen.
    pub range: ControlRange,
}

/// Values that can be chosen in a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRange {
    /// A number of a range that is as well seen as a whole.
    Slider(RangeInclusive<usize>),
    /// A number of a range.
    Drag(RangeInclusive<usize>),
    /// One of some numbers.
    OneOf(Vec<usize>),
    /// A share, 0..=1, or yes or no.
    Whole,
}

/// Value of a number or switch.
#[derive(Debug)]
pub enum FieldValue<'a> {
    /// A whole number.
    Count(&'a mut usize, RangeInclusive<usize>),
    /// Seed of random numbers.
    Seed(&'a mut u64),
    /// A number that is judged with the model.
    Number(&'a mut f64),
    /// A number from 0 to 1.
    Share(&'a mut f64),
    /// Yes or no.
    Switch(&'a mut bool),
    /// Which pairs are scored, `partial:k=16`.
    Coverage(&'a mut Coverage),
}

impl<'a> FieldValue<'a> {
    /// Takes over a value as the command line has it.
    ///
    /// # Errors
    /// Demands on the text.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        match self {
            Self::Count(value, range) => {
                let found = text.parse().ok().filter(|found| range.contains(found));
                let most = if *range.end() == usize::MAX {
                    String::new()
                } else {
                    format!(" from {} to {}", range.start(), grouped(*range.end() as u64))
                };
                **value = found.ok_or_else(|| format!("give a whole number{most}"))?;
            }
            Self::Seed(value) => **value = text.parse().map_err(|_| "give a whole number".to_owned())?,
            Self::Number(value) => **value = text.parse().map_err(|_| "give a number".to_owned())?,
            Self::Share(value) => {
                let found = text.parse().ok().filter(|found| (0.0..=1.0).contains(found));
                **value = found.ok_or("give a number from 0 to 1")?;
            }
            Self::Switch(value) => **value = true,
            Self::Coverage(value) => {
                let found = Coverage::from_words(text).map_err(|error| error.to_string())?;
                if found.is_full() {
                    let why = "every pair is scored already. Name `partial:k=N` or `eigen:k=N`.";
                    return Err(why.to_owned());
                }
                **value = found;
            }
        }
        Ok(())
    }

    /// Its whole number, if it is or holds one.
    pub fn whole(self) -> Option<&'a mut usize> {
        match self {
            Self::Count(value, _) => Some(value),
            Self::Coverage(Coverage::Partial(partial)) => Some(&mut partial.k),
            Self::Coverage(Coverage::Eigen(eigen)) => Some(&mut eigen.k),
            Self::Coverage(Coverage::Full(_)) | Self::Seed(_) | Self::Number(_) | Self::Share(_) | Self::Switch(_) => {
                None
            }
        }
    }

    /// Its value where nothing was chosen, as explanations say it; none of what has to be chosen.
    pub fn usual(&self) -> Option<String> {
        match self {
            Self::Count(value, _) => Some(value.to_string()),
            Self::Seed(value) => Some(value.to_string()),
            Self::Share(value) => Some(value.to_string()),
            Self::Number(_) | Self::Switch(_) | Self::Coverage(_) => None,
        }
    }
}

/// Result for one attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvertedAttention {
    /// Which, as in `encoder.0.self`.
    pub attention: String,
    /// `‖T - T~‖ / ‖T‖` of its products `W_Q W_Kᵀ`; none where heads have the map of another layer, or its products are what
    /// they were and not all of them are used.
    pub relative_error: Option<f64>,
    /// Sweeps of the search; 0 where nothing had to be searched for.
    pub sweeps: usize,
    /// Time that it took.
    pub seconds: f64,
}

/// How far a conversion is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// The attention in progress, as in `encoder.0.self`.
    pub attention: &'a str,
    /// Its number, from 0.
    pub number: usize,
    /// All of them.
    pub count: usize,
    /// Which beginning of the search, from 0.
    pub start: usize,
    /// The sweep, from 1.
    pub sweep: usize,
    /// The least error so far from this beginning.
    pub relative_error: f64,
}

/// Behaviour of a model on a text, for conversions that depend on it.
pub trait ModelOnText {
    /// Chooses who borrows from whom at this similarity at least.
    ///
    /// # Errors
    /// If no head could borrow, or nothing can be measured.
    fn lenders(&self, similarity: f64) -> Result<Lenders, ConvertError>;

    /// Leaves out pairs, which are chosen by the scores of as many examples.
    ///
    /// # Errors
    /// If this cannot be.
    fn leave_out(&self, coverage: &Coverage, examples: usize) -> Result<PairsLeftOut, ConvertError>;
}

/// Heads that borrow, as a text says.
#[derive(Clone, Debug)]
pub struct Lenders {
    /// Who borrows from whom.
    pub heads: HeadPlan,
    /// The same as the table of a config.
    pub reuse: Reuse,
    /// Summary of how many there are.
    pub summary: String,
}

/// A model that does not score every pair.
#[derive(Clone, Debug)]
pub struct PairsLeftOut {
    /// Its plan.
    pub plan: ModelPlan,
    /// Its weights.
    pub parameters: ParameterSet,
    /// Relative error of its scores.
    pub score_error: f64,
}

/// A model on its way through a conversion.
pub struct Run<'a> {
    pub plan: &'a ModelPlan,
    pub parameters: &'a ParameterSet,
    pub text: Option<&'a dyn ModelOnText>,
    /// Hears of every sweep of a search and may end it.
    pub each: &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
}

impl<'a> Run<'a> {
    /// The text of a conversion that depends on one.
    pub fn text(&self) -> Result<&'a dyn ModelOnText, ConvertError> {
        self.text.ok_or(ConvertError::NoText)
    }
}

/// A converted model, with what was found on the way.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Its plan.
    pub plan: ModelPlan,
    /// Its weights, in the number format of those before.
    pub parameters: ParameterSet,
    /// Result for each attention, in the order of a forward pass.
    pub attentions: Vec<ConvertedAttention>,
    /// Finding on the text, as a sentence.
    pub found: Option<String>,
    /// The schedule of a config, where heads borrow.
    pub reuse: Option<Reuse>,
    /// The coverage of a config, where pairs are left out.
    pub coverage: Option<Coverage>,
}

/// Hears of a search: its beginning, the sweep and the error.
pub type Tell<'a> = dyn FnMut(usize, usize, f64) -> ControlFlow<()> + 'a;

/// Converts one attention, the one of a number; returns the relative error of its products, none where no head computes, and the sweeps of a
/// search.
type ConvertOne<'a> =
    dyn FnMut(&Weights<'_>, usize, &mut Tensors, &mut Tell<'_>) -> Result<(Option<f64>, usize), ConvertError> + 'a;

/// Converts a model to the plan `after`. Everything that `convert` leaves alone stays as it is, bit for bit.
pub(super) fn each_attention(
    run: &mut Run<'_>,
    after: ModelPlan,
    convert: &mut ConvertOne<'_>,
) -> Result<Converted, ConvertError> {
    let mut tensors = run.parameters.tensors();
    let places = places(run.plan);
    let mut attentions = Vec::with_capacity(places.len());
    for (number, place) in places.iter().enumerate() {
        let begun = Instant::now();
        let weights = Weights::of(place);
        if weights.heads.attending() == 0 {
            continue;
        }
        weights.split(&mut tensors)?;
        let mut tell = |start: usize, sweep: usize, relative_error: f64| {
            let (attention, count) = (place.name.as_str(), places.len());
            (run.each)(Progress { attention, number, count, start, sweep, relative_error })
        };
        let (relative_error, sweeps) = convert(&weights, number, &mut tensors, &mut tell)?;
        let seconds = begun.elapsed().as_secs_f64();
        attentions.push(ConvertedAttention { attention: place.name.clone(), relative_error, sweeps, seconds });
    }
    complete(&after, &mut tensors)?;
    let parameters = ParameterSet::from_tensors(&after, tensors)?;
    Ok(Converted { plan: after, parameters, attentions, found: None, reuse: None, coverage: None })
}
