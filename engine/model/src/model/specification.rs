use super::names::{self, AttentionNames, FeedForwardNames};
use crate::{
    attention::{
        AttentionKind, InputPlan, LinearBiases, ModelPlan, NormKind, OutputPlan, Positions, StackPlan,
        compatibility::{DEVIATION, Initial, LayerHeads, Piece, PieceForm},
    },
    config::{Compatibility, Coverage, PartialCoverage, Restore},
    ops::{Orientation, ScoringForm, restored_pairs},
};

/// One parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    /// Its name in memory and in training states.
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
/// Initialised as BERT and GPT-2 are: normal with deviation 0.02, zero biases, norms at one and zero; where the plan shrinks
/// them, maps onto the residual stream with 0.02 / sqrt(2 L), so that the stream does not grow with depth. What other
/// ways to score a pair start with, their files in [`crate::attention::compatibility`] derive.
pub fn specifications(plan: &ModelPlan) -> Vec<Specification> {
    let d = plan.stack.width;
    let mut list = Listing { specifications: Vec::new(), orientation: plan.stack.matrices };
    match plan.input {
        InputPlan::Tokens { vocabulary, types } => {
            let e = plan.stack.embedding_width();
            list.table(names::WORDS, vocabulary, e);
            if types > 0 {
                list.table(names::TOKEN_TYPES, types, e);
            }
            if let Some(e) = plan.stack.design.embedding.width {
                list.affine(names::PROJECTION, e, d, DEVIATION);
            }
        }
        InputPlan::Patches { patch, channels, distils, .. } => {
            list.affine(names::PATCHES, channels * patch * patch, d, DEVIATION);
            list.add(names::CLASS_TOKEN.to_owned(), vec![d], Initial::USUAL, false);
            if distils {
                list.add(names::DISTILLATION_TOKEN.to_owned(), vec![d], Initial::USUAL, false);
            }
        }
    }
    for stack in plan.stacks() {
        list.stack(stack);
    }
    match plan.head {
        OutputPlan::Vocabulary(head) => {
            if head.transforms {
                let e = plan.stack.embedding_width();
                list.affine(names::HEAD_DENSE, d, e, DEVIATION);
                list.norm(names::HEAD_NORM, e, NormKind::Layer);
            }
            if head.table.is_own() {
                list.table(names::HEAD_TABLE, plan.vocabulary(), plan.stack.embedding_width());
            }
            if head.has_bias {
                list.add(names::HEAD_BIAS.to_owned(), vec![plan.vocabulary()], Initial::Zeros, false);
            }
        }
        OutputPlan::Classes { classes, pooler, distils } => {
            if pooler.is_some() {
                list.affine(names::HEAD_POOLER, d, d, DEVIATION);
            }
            list.affine(names::HEAD_CLASSES, d, classes, DEVIATION);
            if distils {
                list.affine(names::HEAD_DISTILLED, d, classes, DEVIATION);
            }
        }
        OutputPlan::Span => list.affine(names::HEAD_SPAN, d, 2, DEVIATION),
        OutputPlan::Replaced => {
            list.affine(names::HEAD_DENSE, d, d, DEVIATION);
            list.affine(names::HEAD_REPLACED, d, 1, DEVIATION);
        }
        OutputPlan::States { pools } => {
            if pools {
                list.affine(names::HEAD_POOLER, d, d, DEVIATION);
            }
        }
    }
    for (name, shape) in trained_restores(&plan.stack) {
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
pub(super) fn restore_shape(plan: &StackPlan) -> Option<[usize; 2]> {
    match plan.coverage {
        Coverage::Partial(PartialCoverage { k, .. }) => Some([restored_pairs(plan.longest(), k, plan.is_causal), k]),
        Coverage::Full(_) | Coverage::Eigen(_) => None,
    }
}

/// The maps from computed to restored scores that are trained.
pub(super) fn trained_restores(plan: &StackPlan) -> Vec<(String, [usize; 2])> {
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
pub(super) fn state_specifications(plan: &StackPlan) -> Vec<StateSpecification> {
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

/// What an attention of a stack is made of.
pub(super) fn scoring_form(stack: &StackPlan, compatibility: &Compatibility, heads: &LayerHeads) -> ScoringForm {
    stack.form(compatibility, heads, stack.joins_projections)
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

    fn norm(&mut self, module: &str, width: usize, kind: NormKind) {
        self.add(format!("{module}.weight"), vec![width], Initial::Ones, false);
        if kind == NormKind::Layer {
            self.add(format!("{module}.bias"), vec![width], Initial::Zeros, false);
        }
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

    fn stack(&mut self, stack: &StackPlan) {
        let (d, f) = (stack.width, stack.feed_forward);
        let (e, norm) = (stack.embedding_width(), stack.design.norm);
        if stack.position_rows() > 0 {
            self.table(&names::positions(stack), stack.position_rows(), e);
        }
        if stack.norms_embeddings() {
            self.norm(&names::embedding_norm(stack), e, norm);
        }
        if stack.norms_last() {
            self.norm(&names::final_norm(stack), d, norm);
        }
        if let Positions::Relative { buckets, .. } = stack.design.positions {
            self.table(&names::relative(stack), buckets, stack.heads);
        }
        let biases = stack.design.biases == LinearBiases::All;
        let onto_stream =
            if stack.shrinks_outputs { DEVIATION / (2.0 * stack.layers as f64).sqrt() } else { DEVIATION };
        let cross = stack.cross.as_ref().map(|cross| (AttentionKind::Cross, &cross.head_plan, &cross.compatibility));
        for layer in (0..stack.layers).filter(|layer| stack.parameters_of(*layer) == *layer) {
            let own = (AttentionKind::Own, &stack.head_plan, &stack.compatibility);
            for (kind, head_plan, compatibility) in [own].into_iter().chain(cross) {
                let names = AttentionNames::new(stack, layer, kind);
                let heads = stack.heads_of(head_plan, layer);
                if heads.attending() > 0 {
                    self.norm(&names.norm, d, norm);
                    let form = scoring_form(stack, compatibility, &heads);
                    for piece in form.pieces {
                        self.piece(&names, piece);
                    }
                    let bias = !form.lacks_output_bias;
                    let initial = Initial::Normal { deviation: onto_stream };
                    self.map(&names.output, [heads.mixing_width(), d], bias, initial);
                }
            }
            let names = FeedForwardNames::new(stack, layer);
            self.norm(&names.norm, d, norm);
            self.map(&names.inner, [d, f], biases, Initial::USUAL);
            if stack.design.is_gated {
                self.map(&names.gate, [d, f], biases, Initial::USUAL);
            }
            self.map(&names.outer, [f, d], biases, Initial::Normal { deviation: onto_stream });
        }
    }

    fn piece(&mut self, names: &AttentionNames, Piece { module, form, initial }: Piece) {
        let module = names.module(module);
        match form {
            PieceForm::Map { inputs, outputs, bias } => self.map(&module, [inputs, outputs], bias, initial),
            PieceForm::Tensor { shape, decay } => self.add(format!("{module}.weight"), shape, initial, decay),
        }
    }
}
