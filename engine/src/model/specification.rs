use super::names::{self, LayerNames};
use crate::{
    attention::{
        ModelPlan,
        compatibility::{DEVIATION, Initial, LayerHeads, Piece, PieceForm, family},
    },
    config::Architecture,
    ops::Orientation,
};

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
/// projections onto the residual stream with 0.02 / sqrt(2 L), so that the stream does not grow with depth. What other
/// ways to score a pair start with, their files in [`crate::attention::compatibility`] derive.
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
        let heads = LayerHeads::of(&plan.head_plan, layer, plan.head_size);
        if heads.attending() > 0 {
            list.norm(&names.attention_norm, d);
            for piece in attention_pieces(plan, &heads) {
                list.piece(&names.attention, piece);
            }
            let bias = family(&plan.compatibility).has_output_bias();
            list.map(
                &names.attention_output,
                [heads.mixing_width(), d],
                bias,
                Initial::Normal { deviation: onto_stream },
            );
        }
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

/// The modules of an attention layer of a plan.
pub(super) fn attention_pieces(plan: &ModelPlan, heads: &LayerHeads) -> Vec<Piece> {
    family(&plan.compatibility).pieces(heads, plan.architecture == Architecture::Decoder)
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
        self.map(module, [inputs, outputs], true, Initial::Normal { deviation });
    }

    fn map(&mut self, module: &str, [inputs, outputs]: [usize; 2], bias: bool, initial: Initial) {
        let shape = match self.orientation {
            Orientation::InputsFirst => vec![inputs, outputs],
            Orientation::OutputsFirst => vec![outputs, inputs],
        };
        self.add(format!("{module}.weight"), shape, initial, true);
        if bias {
            self.add(format!("{module}.bias"), vec![outputs], Initial::Zeros, false);
        }
    }

    fn piece(&mut self, prefix: &str, Piece { module, form, initial }: Piece) {
        let module = format!("{prefix}{module}");
        match form {
            PieceForm::Map { inputs, outputs, bias } => self.map(&module, [inputs, outputs], bias, initial),
            PieceForm::Tensor { shape, decay } => self.add(format!("{module}.weight"), shape, initial, decay),
        }
    }
}
