use super::names::{self, LayerNames, ProjectionNames};
use crate::{attention::ModelPlan, config::Architecture, ops::Orientation};

/// Deviation of initial weights in BERT and GPT-2.
const DEVIATION: f64 = 0.02;

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// Drawn from a normal distribution around 0.
    Normal {
        /// Its standard deviation.
        deviation: f64,
    },
    /// All ones: gains of norms.
    Ones,
    /// All zeros: biases.
    Zeros,
}

/// One parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    /// The name in memory and in files.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How it starts.
    pub initial: Initial,
    /// Whether weight decay applies: to matrices and embedding tables, not to biases and norms.
    pub decay: bool,
}

/// The parameters of a plan, in the order of a forward pass.
///
/// Initialised as BERT and GPT-2 are: normal with deviation 0.02, zero biases, norms at one and zero; a decoder's
/// projections onto the residual stream with 0.02 / sqrt(2 L), so that the stream does not grow with depth.
pub fn specifications(plan: &ModelPlan) -> Vec<Specification> {
    let mut list = Listing { specifications: Vec::new(), orientation: orientation(plan) };
    let (d, f) = (plan.width, plan.feed_forward);
    list.table(names::words(plan), plan.vocabulary, d);
    list.table(names::positions(plan), plan.positions, d);
    if plan.token_types > 0 {
        list.table(names::TOKEN_TYPES, plan.token_types, d);
    }
    list.norm(names::outer_norm(plan), d);
    let onto_stream = match plan.architecture {
        Architecture::Encoder => DEVIATION,
        Architecture::Decoder => DEVIATION / (2.0 * plan.layers as f64).sqrt(),
    };
    for layer in 0..plan.layers {
        let names = LayerNames::new(plan, layer);
        list.norm(&names.attention_norm, d);
        match &names.projections {
            ProjectionNames::Separate { query, key, value } => {
                for name in [query, key, value] {
                    list.affine(name, d, d, DEVIATION);
                }
            }
            ProjectionNames::Fused(name) => list.affine(name, d, 3 * d, DEVIATION),
        }
        list.affine(&names.attention_output, d, d, onto_stream);
        list.norm(&names.feed_forward_norm, d);
        list.affine(&names.feed_forward_in, d, f, DEVIATION);
        list.affine(&names.feed_forward_out, f, d, onto_stream);
    }
    if plan.architecture == Architecture::Encoder {
        list.affine(names::HEAD_DENSE, d, d, DEVIATION);
        list.norm(names::HEAD_NORM, d);
        list.add(names::HEAD_BIAS.to_owned(), vec![plan.vocabulary], Initial::Zeros, false);
    }
    list.specifications
}

/// How the matrices of a plan lie in memory and in files.
pub(super) fn orientation(plan: &ModelPlan) -> Orientation {
    match plan.architecture {
        Architecture::Encoder => Orientation::OutputsFirst,
        Architecture::Decoder => Orientation::InputsFirst,
    }
}

struct Listing {
    specifications: Vec<Specification>,
    orientation: Orientation,
}

impl Listing {
    fn add(&mut self, name: String, shape: Vec<usize>, initial: Initial, decay: bool) {
        self.specifications.push(Specification { name, shape, initial, decay });
    }

    fn table(&mut self, module: &str, rows: usize, width: usize) {
        self.add(format!("{module}.weight"), vec![rows, width], Initial::Normal { deviation: DEVIATION }, true);
    }

    fn norm(&mut self, module: &str, width: usize) {
        self.add(format!("{module}.weight"), vec![width], Initial::Ones, false);
        self.add(format!("{module}.bias"), vec![width], Initial::Zeros, false);
    }

    fn affine(&mut self, module: &str, inputs: usize, outputs: usize, deviation: f64) {
        let shape = match self.orientation {
            Orientation::InputsFirst => vec![inputs, outputs],
            Orientation::OutputsFirst => vec![outputs, inputs],
        };
        self.add(format!("{module}.weight"), shape, Initial::Normal { deviation }, true);
        self.add(format!("{module}.bias"), vec![outputs], Initial::Zeros, false);
    }
}
