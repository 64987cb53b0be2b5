use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    job::{Progress, share_of},
    target::Target,
};

use crate::{
    config::DataConfig,
    convert::{Conversion, ConvertedAttention, Price},
    text::floats,
};

/// Counts what a conversion would come to, without doing it; answered by [`super::Event::ConversionPreviewed`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviewConversion {
    /// Which model.
    pub target: Target,
    /// What it would become.
    pub conversion: Conversion,
}

/// Makes another model of a run's or of that of a model directory, behind texts that are being generated and before what
/// else waits; answered by [`super::Event::Converting`] as it goes on and by [`super::Event::Converted`]. What it was made
/// from stays as it is. [`super::Command::Stop`] ends it, and nothing is written then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Convert {
    /// Which model.
    pub target: Target,
    /// What it is to become.
    pub conversion: Conversion,
    /// The directory to make; must not exist or be empty.
    pub to: PathBuf,
    /// The text on which both models are compared, and from which heads that borrow and pairs are chosen; none: that of the run, or
    /// of the one whose config lies in the directory.
    pub data: Option<Box<DataConfig>>,
    /// Examples of it that both read.
    pub examples: usize,
    /// Tokens of each; none: as the model was trained.
    pub tokens: Option<usize>,
    /// Threads that compute; none: as many as there are cores.
    pub threads: Option<usize>,
    /// Folder from which relative paths in `data` are taken.
    pub base_dir: PathBuf,
}

/// Answer to [`super::Command::PreviewConversion`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConversionPreviewed {
    /// The model.
    pub target: Target,
    /// What it would become.
    pub conversion: Conversion,
    /// What it costs now.
    pub before: ModelCost,
    /// What it would cost; none where that depends on a text.
    pub after: Option<ModelCost>,
}

/// A model is being converted. At most some 30 a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Converting {
    /// The attention in progress, as in `encoder.0.self`; empty once all are converted.
    pub attention: String,
    /// Its number, from 0; that of all while both models are compared on a text.
    pub number: usize,
    /// All of them.
    pub count: usize,
    /// Which beginning of the search, from 0.
    pub start: usize,
    /// The sweep of the search, from 1.
    pub sweep: usize,
    /// The least error so far from this beginning, 0..=1.
    #[serde(with = "floats")]
    pub relative_error: f64,
}

/// Answer to [`super::commands::Convert`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Converted {
    /// The model, as given.
    pub target: String,
    /// What it became.
    pub conversion: Conversion,
    /// The model directory.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Trained numbers before.
    pub parameters_before: u64,
    /// Trained numbers now.
    pub parameters: u64,
    /// What became of each attention, in the order of a forward pass.
    pub attentions: Vec<ConvertedAttention>,
    /// What was found on the text that the conversion depends on, in words.
    pub found: Option<String>,
    /// What it changed in what the model does with a text.
    pub price: Option<Price>,
    /// Why that is not known.
    pub unpriced: Option<String>,
    /// What stood beside the model in its directory and was not taken over, by name: nothing here reads it, but another
    /// program may, such as `modules.json` of `sentence-transformers`.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Time that it took.
    #[serde(with = "floats")]
    pub seconds: f64,
}

/// What a model costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCost {
    /// Trained numbers.
    pub parameters: u64,
    /// FLOPs of reading one example of as many tokens as it has positions.
    pub forward_flops: u64,
    /// These tokens.
    pub tokens: usize,
}

impl Progress for Converting {
    fn stage(&self) -> String {
        let Self { attention, number, count, start, sweep, relative_error } = self;
        if number >= count {
            return "Comparing both models on the text".to_owned();
        }
        let from = if *start == 0 { String::new() } else { format!("random start {start}, ") };
        format!("{attention}: {from}sweep {sweep}, error {:.2} %", 100.0 * relative_error)
    }

    fn share(&self) -> Option<f64> {
        // Where no attention has to be searched for, all that is left is to compare.
        Some(share_of(self.number as u64, self.count as u64))
    }

    fn line(&self) -> Option<String> {
        let Self { attention, number, count, .. } = self;
        Some(if number < count { format!("{attention}, {} of {count}", number + 1) } else { self.stage() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_where_it_is() {
        let at = |number, start| Converting {
            attention: "encoder.0.self".to_owned(),
            number,
            count: 2,
            start,
            sweep: 30,
            relative_error: 0.125,
        };
        assert_eq!(at(0, 0).stage(), "encoder.0.self: sweep 30, error 12.50 %");
        assert_eq!(at(1, 2).stage(), "encoder.0.self: random start 2, sweep 30, error 12.50 %");
        assert_eq!(at(2, 0).stage(), "Comparing both models on the text");
        assert_eq!(at(1, 2).line().as_deref(), Some("encoder.0.self, 2 of 2"));
        assert_eq!([at(0, 0), at(1, 0), at(2, 0)].map(|at| at.share()), [Some(0.0), Some(0.5), Some(1.0)]);
        assert_eq!(Converting { number: 0, count: 0, ..at(0, 0) }.share(), Some(1.0), "nothing was to be searched for");
    }
}
