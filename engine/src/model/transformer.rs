//! BERT (Devlin et al., 2019) and GPT-2 (Radford et al., 2019), norm first or last.

use std::{collections::BTreeMap, sync::Arc};

use candle_core::{D, DType, Device, Tensor};

use super::{
    Attended, Evaluation, ForwardOptions, IGNORED_LABEL, Loss, ModelError, ModelInput, ModelOutput, ParameterSet,
    layer::{EMBEDDING_SITE, Layer, Pass},
    names::{self, LayerNames},
    specification::{attention_pieces, orientation},
};
use crate::{
    attention::{
        Dropout, ModelPlan,
        compatibility::{HeadAttention, LayerCoverage, LayerHeads, Lenders, Loaded, PieceForm, family},
    },
    config::{Architecture, Coverage, NormPlacement, PartialCoverage, Restore},
    ops::{self, Affine, EmbedParts, Gelu, Gradients, HeadParts, MaskSpec, Norm, PairSets, Wanted},
};

/// A transformer: a plan joined with weights.
#[derive(Clone, Debug)]
pub struct Model {
    plan: ModelPlan,
    /// `[v, d]`, the matrix of the head too.
    words: Tensor,
    /// `[positions, d]`
    positions: Tensor,
    /// `[types, d]`
    token_types: Option<Tensor>,
    /// After the embeddings where norms come last, at the end where they come first.
    outer_norm: Norm,
    layers: Vec<Layer>,
    /// An encoder's way from hidden states to the vocabulary.
    head: Option<Head>,
    /// Where the gradients of a trainable model go.
    gradients: Option<Gradients>,
    /// Sub-layers are composed of small operations even where there are single ones.
    is_composed: bool,
}

/// BERT's head: `norm(gelu(x W + b))`, then the token table with a bias over the vocabulary.
#[derive(Clone, Debug)]
struct Head {
    dense: Affine,
    norm: Norm,
    bias: Tensor,
}

/// What the layers give.
struct Encoded {
    /// `[b, t, d]`
    last: Tensor,
    maps: Vec<Tensor>,
    hidden: Vec<Tensor>,
}

impl Model {
    /// A model whose forward pass builds the graph for [`Model::backward`].
    pub fn trainable(plan: &ModelPlan, parameters: &ParameterSet) -> Result<Self, ModelError> {
        let tensors = parameters.iter().map(|(name, variable)| (name.to_owned(), variable.as_tensor().clone()));
        let tensors = tensors.chain(parameters.state().clone());
        let gradients = Gradients::new(&parameters.optimiser_parameters())?;
        Ok(Self::build(plan, tensors.collect())?.with_gradients(gradients))
    }

    /// A model that builds no graph, for evaluation. It shares the parameters' memory and sees their updates.
    pub fn frozen(plan: &ModelPlan, parameters: &ParameterSet) -> Result<Self, ModelError> {
        Self::build(plan, parameters.tensors())
    }

    pub(super) fn build(plan: &ModelPlan, tensors: BTreeMap<String, Tensor>) -> Result<Self, ModelError> {
        if (plan.head_plan.layers(), plan.head_plan.heads()) != (plan.layers, plan.heads) {
            return Err(ModelError::Unsupported("a head plan of another size than the model".to_owned()));
        }
        let get = |name: &str| tensors.get(name).cloned().ok_or_else(|| ModelError::Missing { name: name.to_owned() });
        let weight = |module: &str| get(&format!("{module}.weight"));
        let bias = |module: &str| get(&format!("{module}.bias"));
        let orientation = orientation(plan);
        let map = |module: &str, has_bias: bool| {
            let bias = if has_bias { Some(bias(module)?) } else { None };
            Ok::<_, ModelError>(Affine { weight: weight(module)?, bias, orientation })
        };
        let affine = |module: &str| map(module, true);
        let norm = |module: &str| {
            Ok::<_, ModelError>(Norm { gain: weight(module)?, bias: bias(module)?, epsilon: plan.norm_epsilon })
        };
        let pairs = match plan.coverage {
            Coverage::Partial(_) => {
                Some(Arc::new(PairSets::from_tensor(&get(&names::pairs(plan))?, plan.is_causal())?))
            }
            Coverage::Full(_) | Coverage::Eigen(_) => None,
        };
        let coverage = |layer: usize| {
            Ok::<_, ModelError>(match (&plan.coverage, &pairs) {
                _ if !plan.approximates(layer) => LayerCoverage::Full,
                (Coverage::Partial(PartialCoverage { restore, .. }), Some(pairs)) => {
                    let name = match restore {
                        Restore::Fixed | Restore::Common => names::restore(plan),
                        Restore::PerLayer => names::layer_restore(plan, layer),
                    };
                    LayerCoverage::Partial { pairs: Arc::clone(pairs), restore: get(&name)? }
                }
                (Coverage::Eigen(_), _) => LayerCoverage::Eigen { basis: get(&names::basis(plan))? },
                (Coverage::Full(_) | Coverage::Partial(_), _) => LayerCoverage::Full,
            })
        };
        let layer = |layer: usize| {
            let names = LayerNames::new(plan, layer);
            let heads = LayerHeads::of(&plan.head_plan, layer, plan.head_size);
            let family = family(&plan.compatibility);
            let mut loaded = Loaded::default();
            for piece in attention_pieces(plan, &heads).into_iter().filter(|_| heads.attending() > 0) {
                let module = format!("{}{}", names.attention, piece.module);
                match piece.form {
                    PieceForm::Map { bias, .. } => drop(loaded.maps.insert(piece.module, map(&module, bias)?)),
                    PieceForm::Tensor { .. } => drop(loaded.tensors.insert(piece.module, weight(&module)?)),
                }
            }
            let attention = if heads.attending() > 0 {
                let projections = family.projections(&heads, &loaded)?;
                let output = map(&names.attention_output, family.has_output_bias())?;
                let attention = HeadAttention { projections, output, heads, coverage: coverage(layer)? };
                Some((attention, norm(&names.attention_norm)?))
            } else {
                None
            };
            Ok(Layer {
                attention,
                feed_forward_in: affine(&names.feed_forward_in)?,
                feed_forward_out: affine(&names.feed_forward_out)?,
                feed_forward_norm: norm(&names.feed_forward_norm)?,
                activation: activation(plan),
                placement: plan.norm,
            })
        };
        let head = match plan.architecture {
            Architecture::Encoder => Some(Head {
                dense: affine(names::HEAD_DENSE)?,
                norm: norm(names::HEAD_NORM)?,
                bias: get(names::HEAD_BIAS)?,
            }),
            Architecture::Decoder => None,
        };
        Ok(Self {
            words: weight(names::words(plan))?,
            positions: weight(names::positions(plan))?,
            token_types: if plan.token_types > 0 { Some(weight(names::TOKEN_TYPES)?) } else { None },
            outer_norm: norm(names::outer_norm(plan))?,
            layers: (0..plan.layers).map(layer).collect::<Result<_, ModelError>>()?,
            head,
            plan: plan.clone(),
            gradients: None,
            is_composed: false,
        })
    }

    /// The same model with a place for gradients.
    pub(super) fn with_gradients(self, gradients: Gradients) -> Self {
        Self { gradients: Some(gradients), ..self }
    }

    /// The same model composed of small operations: what single ones are held against.
    #[cfg(test)]
    pub(super) fn composed(self) -> Self {
        Self { is_composed: true, ..self }
    }

    /// The gradients that [`Model::backward`] adds to; none for a frozen model.
    pub fn gradients(&self) -> Option<&Gradients> {
        self.gradients.as_ref()
    }

    /// Adds the gradients of a loss to [`Model::gradients`], of every parameter. A loss goes backward once.
    ///
    /// # Errors
    /// If the model is frozen, or a parameter got no gradient.
    pub fn backward(&self, loss: &Loss) -> Result<(), ModelError> {
        let Some(gradients) = &self.gradients else {
            return Err(ModelError::Unsupported("a backward pass of a frozen model".to_owned()));
        };
        gradients.absorb(loss.loss.backward()?)?;
        Ok(gradients.require_all()?)
    }

    fn has_blocks(&self) -> bool {
        !self.is_composed && ops::has_blocks(&self.words)
    }

    /// What was built.
    pub fn plan(&self) -> &ModelPlan {
        &self.plan
    }

    /// Where the weights are.
    pub fn device(&self) -> &Device {
        self.words.device()
    }

    /// The number format of the weights.
    pub fn dtype(&self) -> DType {
        self.words.dtype()
    }

    /// Logits at every position, with maps and hidden states when asked for.
    pub fn forward(&self, input: &ModelInput, options: &ForwardOptions) -> Result<ModelOutput, ModelError> {
        let Encoded { last, maps, hidden } = self.encode(input, options)?;
        Ok(ModelOutput { logits: self.logits(&last)?, maps, hidden })
    }

    /// The training loss: mean cross-entropy in nats over the positions whose label is not [`IGNORED_LABEL`].
    ///
    /// `labels[i]` is the token to be predicted at position `i`, row by row: for a decoder the one that follows. Only
    /// labelled positions are carried to the vocabulary.
    pub fn loss(&self, input: &ModelInput, labels: &[i64], options: &ForwardOptions) -> Result<Loss, ModelError> {
        let Encoded { last, maps, hidden } = self.encode(input, options)?;
        let rows = match self.labelled(&last, labels)? {
            Some(rows) => rows,
            // One row without a label: the loss is zero, but joined to all weights, whose gradients are zero too.
            None => {
                Labelled { hidden: last.narrow(1, 0, 1)?.narrow(0, 0, 1)?.squeeze(1)?, labels: vec![IGNORED_LABEL] }
            }
        };
        let loss = if self.has_blocks() {
            ops::head_loss(&self.before_table(&rows.hidden)?, self.head_parts(rows.labels), self.gradients.as_ref())?
        } else {
            // Read on the processor in any case.
            let labels = Tensor::new(rows.labels.as_slice(), &Device::Cpu)?;
            ops::cross_entropy(&self.logits(&rows.hidden)?, &labels)?
        };
        let labelled = labels.iter().filter(|label| **label != IGNORED_LABEL).count();
        Ok(Loss { loss, labelled, maps, hidden })
    }

    /// Loss and hits over the labelled positions, without dropout, as numbers that add up over batches.
    pub fn evaluate(&self, input: &ModelInput, labels: &[i64]) -> Result<Evaluation, ModelError> {
        let last = self.encode(input, &ForwardOptions::default())?.last;
        let Some(rows) = self.labelled(&last, labels)? else { return Ok(Evaluation::default()) };
        if self.has_blocks() {
            let parts = self.head_parts(rows.labels);
            let found = ops::head_evaluation(&self.before_table(&rows.hidden)?, &parts)?;
            return Ok(Evaluation { loss_sum: found.loss_sum, labelled: found.labelled, correct: found.correct });
        }
        let logits = self.logits(&rows.hidden)?.detach();
        let labelled = rows.labels.len();
        let labels = Tensor::new(rows.labels.as_slice(), &Device::Cpu)?;
        let loss = ops::cross_entropy(&logits, &labels)?.to_dtype(DType::F64)?.to_scalar::<f64>()?;
        let predicted = logits.argmax(D::Minus1)?.to_vec1::<u32>()?;
        let correct =
            predicted.iter().zip(&rows.labels).filter(|(predicted, label)| i64::from(**predicted) == **label).count();
        Ok(Evaluation { loss_sum: loss * labelled as f64, labelled, correct })
    }

    /// Attention maps and hidden states, as `options` ask for them, without logits and without a graph.
    pub fn attend(&self, input: &ModelInput, options: &ForwardOptions) -> Result<Attended, ModelError> {
        let Encoded { maps, hidden, .. } = self.encode(input, options)?;
        let detached = |tensors: Vec<Tensor>| tensors.iter().map(Tensor::detach).collect();
        Ok(Attended { maps: detached(maps), hidden: detached(hidden) })
    }

    /// Scores of the heads of layer `layer` that compute, before mask and softmax, divided by the root of the head size;
    /// none in a layer where no head computes. `hidden` is the stream before the layer, [`Attended::hidden`] of its
    /// number. `[b, t, d]` to `[b, c, t, t]`
    pub fn scores(&self, layer: usize, hidden: &Tensor) -> Result<Option<Tensor>, ModelError> {
        let Some((attention, norm)) = self.layers.get(layer).and_then(|layer| layer.attention.as_ref()) else {
            return Ok(None);
        };
        let x = match self.plan.norm {
            NormPlacement::Pre => norm.forward(hidden)?,
            NormPlacement::Post => hidden.clone(),
        };
        Ok(attention.scores(&x)?.map(|scores| scores.detach()))
    }

    /// The maps that the heads of layer `layer` compute, of text without padding; none where no head does. `hidden` as in
    /// [`Model::scores`]. `[b, t, d]` to `[b, c, t, t]`
    pub fn own_maps(&self, layer: usize, hidden: &Tensor) -> Result<Option<Tensor>, ModelError> {
        let mask = MaskSpec { causal: self.plan.is_causal(), keys: None };
        let scores = self.scores(layer, hidden)?;
        Ok(scores.map(|scores| ops::masked_softmax(&scores, 1.0, &mask)).transpose()?)
    }

    /// What makes queries and keys of the heads of layer `layer` that compute, and which heads these are; none in a
    /// layer without attention.
    pub(crate) fn projections(&self, layer: usize) -> Option<&HeadAttention> {
        Some(&self.layers.get(layer)?.attention.as_ref()?.0)
    }

    /// Logits at the positions `rows` alone, counted row by row over the whole batch. `[rows, v]`
    pub(crate) fn logits_at(&self, input: &ModelInput, rows: &[u32]) -> Result<Tensor, ModelError> {
        let last = self.encode(input, &ForwardOptions::default())?.last;
        let (b, t, d) = last.dims3()?;
        let rows = Tensor::from_slice(rows, rows.len(), self.device())?;
        self.logits(&last.reshape((b * t, d))?.index_select(&rows, 0)?)
    }

    /// Embeddings and layers. Where pairs were chosen for sequences of one length and a position sees all others, shorter
    /// ones are padded to it.
    fn encode(&self, input: &ModelInput, options: &ForwardOptions) -> Result<Encoded, ModelError> {
        let (b, t) = input.input_ids.dims2()?;
        let n = self.plan.longest();
        if self.plan.coverage.is_full() || self.plan.is_causal() || t >= n {
            return self.encode_all(input, options);
        }
        let zeros = |ids: &Tensor| ids.pad_with_zeros(1, 0, n - t);
        let keys = match &input.key_mask {
            Some(keys) => keys.clone(),
            None => Tensor::ones((b, t), DType::U8, self.device())?,
        };
        let padded = ModelInput {
            input_ids: zeros(&input.input_ids)?,
            token_type_ids: input.token_type_ids.as_ref().map(zeros).transpose()?,
            key_mask: Some(zeros(&keys)?),
        };
        let Encoded { last, maps, hidden } = self.encode_all(&padded, options)?;
        let first = |tensors: Vec<Tensor>, dimensions: std::ops::Range<usize>| {
            let cut = |tensor: &Tensor| dimensions.clone().try_fold(tensor.clone(), |x, dim| x.narrow(dim, 0, t));
            tensors.iter().map(cut).collect::<Result<Vec<_>, _>>()
        };
        Ok(Encoded { last: last.narrow(1, 0, t)?, maps: first(maps, 2..4)?, hidden: first(hidden, 1..2)? })
    }

    /// See [`Self::encode`].
    fn encode_all(&self, input: &ModelInput, options: &ForwardOptions) -> Result<Encoded, ModelError> {
        let (b, t) = input.input_ids.dims2()?;
        if t > self.plan.longest() {
            return Err(ModelError::TooLong { sequence: t, positions: self.plan.longest() });
        }
        for (what, other) in [("key mask", &input.key_mask), ("token types", &input.token_type_ids)] {
            if let Some(found) = other.as_ref().filter(|other| other.dims() != [b, t]) {
                return Err(ModelError::InputSize { what, found: found.elem_count(), batch: b, sequence: t });
            }
        }
        let dropout = Dropout { probability: self.plan.dropout, draw: options.dropout };
        let mask = MaskSpec { causal: self.plan.is_causal(), keys: input.key_mask.clone() };
        let pass = Pass {
            mask: &mask,
            dropout: &dropout,
            gradients: self.gradients.as_ref(),
            map_memory: options.map_memory,
            keep_maps: options.keep_maps,
            in_blocks: self.has_blocks(),
        };
        let mut x = self.embed(input, [b, t], &pass)?; // [b, t, d]
        let mut hidden: Vec<Tensor> = options.keep_hidden.then(|| x.clone()).into_iter().collect();
        let last_norm = (self.plan.norm == NormPlacement::Pre).then_some(&self.outer_norm);
        // Layers that leave scores out are composed of small operations, embeddings and head are not.
        if pass.in_blocks && self.plan.coverage.is_full() {
            let layers = self.layers.iter().enumerate().map(|(number, layer)| layer.parts(number, t, &pass));
            let wanted = Wanted { maps: options.keep_maps, hidden: options.keep_hidden };
            let stacked = ops::stack(&x, layers.collect(), last_norm.cloned(), pass.gradients, wanted)?;
            hidden.extend(stacked.hidden);
            let maps = self.layers.iter().zip(&stacked.maps);
            let maps = maps.map(|(layer, maps)| layer.all_maps(Some(maps), &stacked.stream, self.plan.heads));
            return Ok(Encoded { maps: maps.collect::<Result<_, _>>()?, last: stacked.stream, hidden });
        }
        let mut maps = Vec::new();
        let mut lenders = Lenders::default();
        for (number, layer) in self.layers.iter().enumerate() {
            let (next, map) = layer.forward(&x, number, &pass, &mut lenders)?;
            x = match last_norm.filter(|_| number + 1 == self.layers.len()) {
                Some(norm) => norm.forward(&next)?,
                None => next,
            };
            if options.keep_maps {
                maps.push(layer.all_maps(map.as_ref(), &x, self.plan.heads)?);
            }
            if options.keep_hidden {
                hidden.push(x.clone());
            }
        }
        Ok(Encoded { last: x, maps, hidden })
    }

    /// The sum of the tables' rows, normed where norms come last, after dropout. `[b, t, d]`
    fn embed(&self, input: &ModelInput, [b, t]: [usize; 2], pass: &Pass<'_>) -> Result<Tensor, ModelError> {
        let places: Vec<u32> = (0..b).flat_map(|_| 0..t as u32).collect();
        let norm = (self.plan.norm == NormPlacement::Post).then_some(&self.outer_norm);
        if pass.in_blocks {
            let ids = |ids: &Tensor| ids.flatten_all()?.to_vec1::<u32>();
            let mut tables = vec![(self.words.clone(), ids(&input.input_ids)?), (self.positions.clone(), places)];
            if let Some(table) = &self.token_types {
                let types = input.token_type_ids.as_ref().map_or_else(|| Ok(vec![0; b * t]), ids)?;
                tables.push((table.clone(), types));
            }
            let parts = EmbedParts { tables, norm: norm.cloned(), dropout: pass.dropout.block(EMBEDDING_SITE) };
            return Ok(ops::embed(parts, [b, t], pass.gradients)?);
        }
        let places = Tensor::from_vec(places, (b, t), self.device())?;
        let mut x = (ops::embedding(&self.words, &input.input_ids)? + ops::embedding(&self.positions, &places)?)?;
        if let Some(table) = &self.token_types {
            let types = match &input.token_type_ids {
                Some(types) => types.clone(),
                None => Tensor::zeros((b, t), DType::U32, self.device())?,
            };
            x = (x + ops::embedding(table, &types)?)?;
        }
        if let Some(norm) = norm {
            x = norm.forward(&x)?;
        }
        Ok(pass.dropout.apply(&x, EMBEDDING_SITE)?)
    }

    /// What is compared with the token table: the hidden states, after an encoder's transform. `[.., d]`
    fn before_table(&self, hidden: &Tensor) -> Result<Tensor, ModelError> {
        Ok(match &self.head {
            Some(head) => head.norm.forward(&ops::gelu_of_linear(hidden, &head.dense, activation(&self.plan))?)?,
            None => hidden.clone(),
        })
    }

    fn head_parts(&self, labels: Vec<i64>) -> HeadParts {
        HeadParts { table: self.words.clone(), bias: self.head.as_ref().map(|head| head.bias.clone()), labels }
    }

    /// From hidden states to the vocabulary. `[.., d]` to `[.., v]`
    fn logits(&self, hidden: &Tensor) -> Result<Tensor, ModelError> {
        let bias = self.head.as_ref().map(|head| &head.bias);
        Ok(ops::linear_transposed(&self.before_table(hidden)?, &self.words, bias)?)
    }

    /// The hidden states at labelled positions with their labels; none when nothing is labelled.
    fn labelled(&self, last: &Tensor, labels: &[i64]) -> Result<Option<Labelled>, ModelError> {
        let (b, t, d) = last.dims3()?;
        if labels.len() != b * t {
            return Err(ModelError::InputSize { what: "labels", found: labels.len(), batch: b, sequence: t });
        }
        let (places, kept): (Vec<u32>, Vec<i64>) =
            (0u32..).zip(labels).filter(|(_, label)| **label != IGNORED_LABEL).unzip();
        let count = kept.len();
        if count == 0 {
            return Ok(None);
        }
        let rows = last.reshape((b * t, d))?;
        let hidden = if count == b * t {
            rows
        } else {
            ops::embedding(&rows, &Tensor::from_vec(places, count, self.device())?)?
        };
        Ok(Some(Labelled { hidden, labels: kept }))
    }
}

/// Positions that have a label.
struct Labelled {
    /// `[n, d]`
    hidden: Tensor,
    /// The token to be predicted at each of them.
    labels: Vec<i64>,
}

/// The activation of BERT or of GPT-2.
fn activation(plan: &ModelPlan) -> Gelu {
    match plan.architecture {
        Architecture::Encoder => Gelu::Exact,
        Architecture::Decoder => Gelu::Tanh,
    }
}
