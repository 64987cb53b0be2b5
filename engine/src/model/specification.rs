use super::names::{self, LayerNames};
use crate::{
    attention::{
        ModelPlan,
        compatibility::{DEVIATION, Initial, LayerHeads, Piece, PieceForm, family},
    },
    config::{Architecture, Coverage, PartialCoverage, Restore},
    ops::{Orientation, restored_pairs},
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
    for (name, shape) in trained_restores(plan) {
        list.add(name, shape.to_vec(), restore_initial(shape), false);
    }
    list.specifications
}

/// How a map from computed to restored scores starts where none was found yet: restored scores vary as computed ones.
/// It does not decay: at zero it would be wrong.
fn restore_initial([_, k]: [usize; 2]) -> Initial {
    Initial::Normal { deviation: 1.0 / (k.max(1) as f64).sqrt() }
}

/// The shape of a map from computed to restored scores; none where every score is computed.
pub(super) fn restore_shape(plan: &ModelPlan) -> Option<[usize; 2]> {
    match plan.coverage {
        Coverage::Partial(PartialCoverage { k, .. }) => Some([restored_pairs(plan.longest(), k, plan.is_causal()), k]),
        Coverage::Full(_) | Coverage::Eigen(_) => None,
    }
}

/// The maps from computed to restored scores that are trained.
pub(super) fn trained_restores(plan: &ModelPlan) -> Vec<(String, [usize; 2])> {
    let Some((shape, restore)) = restore_shape(plan).zip(plan.trained_restore()) else { return Vec::new() };
    match restore {
        Restore::Fixed => Vec::new(),
        Restore::Common => vec![(names::restore(plan), shape)],
        Restore::PerLayer => {
            let layers = (0..plan.layers).filter(|layer| plan.approximates(*layer));
            layers.map(|layer| (names::layer_restore(plan, layer), shape)).collect()
        }
    }
}

/// What a model has beside its parameters: it is not trained.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StateSpecification {
    pub name: String,
    pub shape: Vec<usize>,
    pub kind: StateKind,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StateKind {
    /// The keys that each query scores.
    Pairs,
    /// A fixed map from computed to restored scores.
    Restore(Initial),
    /// Directions.
    Basis,
}

/// The tensors of a plan that are not trained.
pub(super) fn state_specifications(plan: &ModelPlan) -> Vec<StateSpecification> {
    let n = plan.longest();
    let mut list = Vec::new();
    let mut add = |name, shape, kind| list.push(StateSpecification { name, shape, kind });
    match &plan.coverage {
        Coverage::Full(_) => {}
        Coverage::Partial(PartialCoverage { k, restore, .. }) => {
            add(names::pairs(plan), vec![n, *k], StateKind::Pairs);
            if let (Restore::Fixed, Some(shape)) = (restore, restore_shape(plan)) {
                add(names::restore(plan), shape.to_vec(), StateKind::Restore(restore_initial(shape)));
            }
        }
        Coverage::Eigen(eigen) => add(names::basis(plan), vec![n, eigen.k, n], StateKind::Basis),
    }
    list
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
