//! BERT (Devlin et al., 2019), GPT-2 (Radford et al., 2019), BART (Lewis et al., 2020) and `ViT` (Dosovitskiy et al., 2021):
//! what a plan says of them, and of the families that differ from them in their design.

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Tensor};

use super::{
    Attended, EmbeddingNoise, Evaluation, ForwardOptions, IGNORED_LABEL, InputData, LabelOutcome, Loss, ModelError,
    ModelInput, ModelOutput, ParameterSet,
    layer::{EMBEDDING_SITE, Layer, Pass},
    names, noise,
    norm::StreamNorm,
    reader::{Reader, token_rows},
    stack::{Encoded, Stack},
    tensors::Tensors,
};
use crate::{
    attention::{Dropout, HeadTable, ModelPlan, OutputPlan, StackPlan, compatibility::HeadAttention},
    config::{MapMemoryChoice, NormPlacement},
    ops::{self, Activation, Affine, EachLayer, Gradients, HeadParts, HeadResult, MaskSpec, Norm, Products},
};

/// A transformer: a plan joined with weights.
#[derive(Clone, Debug)]
pub struct Model {
    plan: ModelPlan,
    reader: Reader,
    /// The encoder that the stack attends to, where there is one.
    encoder: Option<Stack>,
    stack: Stack,
    head: Head,
    /// Where the gradients of a trainable model go.
    gradients: Option<Gradients>,
    /// Sub-layers are composed of small operations even where there are single ones.
    is_composed: bool,
    /// What matrix products of single operations are made of.
    products: Products,
    /// What is added to the embeddings.
    noise: Option<EmbeddingNoise>,
}

/// From last states to logits.
#[derive(Clone, Debug)]
enum Head {
    Vocabulary {
        /// What states are compared with: the token table, or one of its own. `[v, d]`
        table: Tensor,
        /// What states are multiplied with before that.
        scale: Option<f64>,
        /// What comes before it: a map with an activation, and a norm.
        transform: Option<(Affine, Norm)>,
        /// Over the vocabulary. `[v]`
        bias: Option<Tensor>,
    },
    Classes {
        /// A map and a tanh that come first.
        pooler: Option<(Affine, Activation)>,
        classes: Affine,
        /// The same from the second position; the mean of both is the answer.
        distilled: Option<Affine>,
    },
    Span(Affine),
    /// A map with an activation, and one to a single logit.
    Replaced(Affine, Activation, Affine),
    /// Nothing but the states.
    States,
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
        let (tensors, matrices) = (Tensors(tensors), plan.stack.matrices);
        let map = |module: &str| tensors.map(module, true, matrices);
        let encoder =
            plan.encoder.as_deref().map(|encoder| Stack::build(encoder, EMBEDDING_SITE, &tensors)).transpose()?;
        let site = encoder.as_ref().map_or(EMBEDDING_SITE, Stack::next_site);
        let head = match plan.head {
            OutputPlan::Vocabulary(head) => Head::Vocabulary {
                table: tensors.weight(if head.table.is_own() { names::HEAD_TABLE } else { names::WORDS })?,
                scale: head.table.is_scaled().then(|| 1.0 / (plan.stack.width as f64).sqrt()),
                transform: if head.transforms {
                    Some((map(names::HEAD_DENSE)?, tensors.norm(names::HEAD_NORM, plan.stack.norm_epsilon)?))
                } else {
                    None
                },
                bias: if head.has_bias { Some(tensors.get(names::HEAD_BIAS)?) } else { None },
            },
            OutputPlan::Classes { pooler, distils, .. } => Head::Classes {
                pooler: match pooler {
                    Some(activation) => Some((map(names::HEAD_POOLER)?, activation)),
                    None => None,
                },
                classes: map(names::HEAD_CLASSES)?,
                distilled: if distils { Some(map(names::HEAD_DISTILLED)?) } else { None },
            },
            OutputPlan::Replaced => {
                Head::Replaced(map(names::HEAD_DENSE)?, plan.stack.activation, map(names::HEAD_REPLACED)?)
            }
            OutputPlan::Span => Head::Span(map(names::HEAD_SPAN)?),
            OutputPlan::States { .. } => Head::States,
        };
        Ok(Self {
            reader: Reader::build(plan, &tensors)?,
            encoder,
            stack: Stack::build(&plan.stack, site, &tensors)?,
            head,
            plan: plan.clone(),
            gradients: None,
            is_composed: false,
            products: Products::Own,
            noise: None,
        })
    }

    /// The same model with a place for gradients.
    pub(super) fn with_gradients(self, gradients: Gradients) -> Self {
        Self { gradients: Some(gradients), ..self }
    }

    /// The same model whose single operations multiply so.
    pub fn with_products(self, products: Products) -> Self {
        Self { products, ..self }
    }

    /// The same model with noise on the embeddings that its only stack reads; none takes it away.
    #[must_use]
    pub fn with_noise(self, noise: Option<EmbeddingNoise>) -> Self {
        Self { noise, ..self }
    }

    /// The sum of the Euclidean lengths of the embeddings that its stack reads, without noise, and of how many tokens.
    ///
    /// # Errors
    /// If the input does not fit the model.
    pub fn embedding_lengths(&self, input: &ModelInput) -> Result<(f64, u64), ModelError> {
        let clean = self.clone().with_noise(None);
        let options = ForwardOptions { keep_hidden: true, ..ForwardOptions::default() };
        let hidden = clean.encode(input, &options)?.hidden;
        let first = hidden.first().ok_or_else(|| ModelError::Unsupported("a model without embeddings".to_owned()))?;
        noise::lengths(first, input.key_mask.as_ref())
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
        gradients.add_of(&loss.loss)?;
        Ok(gradients.require_all()?)
    }

    fn has_blocks(&self) -> bool {
        !self.is_composed && ops::has_blocks(self.reader.sample())
    }

    /// What was built.
    pub fn plan(&self) -> &ModelPlan {
        &self.plan
    }

    /// Where the weights are.
    pub fn device(&self) -> &Device {
        self.reader.sample().device()
    }

    /// The number format of the weights.
    pub fn dtype(&self) -> DType {
        self.reader.sample().dtype()
    }

    /// Logits, at every position or of every class, with maps and hidden states when asked for.
    ///
    /// # Errors
    /// If the model has no head ([`Self::attend`] gives maps and states of any), or the input does not fit it.
    pub fn forward(&self, input: &ModelInput, options: &ForwardOptions) -> Result<ModelOutput, ModelError> {
        let (Encoded { last, maps, cross_maps, hidden }, encoder) = self.encode_with_encoder(input, options)?;
        let logits = match &self.head {
            Head::Vocabulary { .. } => self.logits(&last)?,
            Head::Classes { pooler, classes, distilled } => {
                let at = |position: usize| last.narrow(1, position, 1)?.squeeze(1); // [b, d]
                let first = at(0)?;
                let pooled = pooler.as_ref().map(|(map, activation)| activation.of_linear(&first, map)).transpose()?;
                // As in the families that are trained so: what classes are told from is dropped, too.
                let dropout = Dropout { probability: self.plan.stack.dropout, draw: options.dropout };
                let told_from = dropout.apply(&pooled.unwrap_or(first), self.stack.next_site())?;
                let logits = classes.forward(&told_from)?;
                match distilled {
                    Some(distilled) => ((logits + distilled.forward(&at(1)?)?)? * 0.5)?,
                    None => logits,
                }
            }
            Head::Span(map) => map.forward(&last)?,
            Head::Replaced(dense, activation, logit) => {
                logit.forward(&activation.of_linear(&last, dense)?)?.squeeze(2)?
            }
            Head::States => return Err(STATES_ALONE),
        };
        let encoder = encoder.map(|Encoded { maps, mut hidden, last, .. }| {
            if hidden.is_empty() {
                hidden.push(last);
            }
            Attended { maps, hidden }
        });
        Ok(ModelOutput { logits, maps, hidden, cross_maps, encoder })
    }

    /// The training loss: mean cross-entropy in nats over the positions whose label is not [`IGNORED_LABEL`].
    ///
    /// `labels[i]` is the token to be predicted at position `i`, row by row: for a decoder the one that follows. Only
    /// labelled positions are carried to the vocabulary.
    pub fn loss(&self, input: &ModelInput, labels: &[i64], options: &ForwardOptions) -> Result<Loss, ModelError> {
        self.smoothed_loss(input, labels, 0.0, options)
    }

    /// The same where a share `smoothing` (0..1) of each label is spread evenly over the whole vocabulary: a position has
    /// the loss `(1 - smoothing) (-log p[label]) + smoothing mean(-log p)`.
    pub fn smoothed_loss(
        &self,
        input: &ModelInput,
        labels: &[i64],
        smoothing: f64,
        options: &ForwardOptions,
    ) -> Result<Loss, ModelError> {
        let Encoded { last, maps, hidden, .. } = self.encode(input, options)?;
        let rows = match self.labelled(&last, labels)? {
            Some(rows) => rows,
            // One row without a label: the loss is zero, but joined to all weights, whose gradients are zero too.
            None => {
                Labelled { hidden: last.narrow(1, 0, 1)?.narrow(0, 0, 1)?.squeeze(1)?, labels: vec![IGNORED_LABEL] }
            }
        };
        let labelled = labels.iter().filter(|label| **label != IGNORED_LABEL).count();
        let loss = if self.has_blocks() {
            let parts = HeadParts { smoothing, ..self.head_parts(rows.labels)? };
            ops::head_loss(&self.before_table(&rows.hidden)?, parts, self.gradients.as_ref())?
        } else {
            // Read on the processor in any case.
            let labels = Tensor::new(rows.labels.as_slice(), &Device::Cpu)?;
            if smoothing > 0.0 && labelled > 0 {
                // The loss and the means over a vocabulary are in 32 bits, whatever the model computes in.
                let logits = ops::at_least_f32(&self.logits(&rows.hidden)?)?;
                let loss = ops::cross_entropy(&logits, &labels)?;
                // With the logits z of a row and those of its label y: mean(-log p) - (-log p[y]) = z[y] - mean(z).
                let of_labels = logits.gather(&labels.to_device(self.device())?.unsqueeze(1)?, 1)?.mean_all()?;
                (loss + ((of_labels - logits.mean_all()?)? * smoothing)?)?
            } else {
                let (table, bias) = self.table()?;
                ops::vocabulary_loss(&self.before_table(&rows.hidden)?, table, bias, &labels)?
            }
        };
        Ok(Loss { loss, labelled, maps, hidden })
    }

    /// Loss and hits over the labelled positions, without dropout, as numbers that add up over batches.
    pub fn evaluate(&self, input: &ModelInput, labels: &[i64]) -> Result<Evaluation, ModelError> {
        let last = self.encode(input, &ForwardOptions::default())?.last;
        let Some(rows) = self.labelled(&last, labels)? else { return Ok(Evaluation::default()) };
        if self.has_blocks() {
            let parts = self.head_parts(rows.labels)?;
            let found = ops::head_evaluation(&self.before_table(&rows.hidden)?, &parts)?;
            let label = |&(loss, is_correct): &(f64, bool)| LabelOutcome { loss, is_correct };
            let labels = found.rows.iter().map(label).collect();
            let HeadResult { loss_sum, labelled, correct, .. } = found;
            return Ok(Evaluation { loss_sum, labelled, correct, labels });
        }
        let logits = self.logits(&rows.hidden)?.detach();
        let labelled = rows.labels.len();
        let labels = Tensor::new(rows.labels.as_slice(), &Device::Cpu)?;
        let losses = ops::cross_entropy_by_row(&logits, &labels)?;
        let predicted = logits.argmax(D::Minus1)?.to_vec1::<u32>()?;
        let hits = predicted.iter().zip(&rows.labels).map(|(predicted, label)| i64::from(*predicted) == *label);
        let label = |(loss, is_correct)| LabelOutcome { loss, is_correct };
        let labels: Vec<LabelOutcome> = losses.rows.into_iter().zip(hits).map(label).collect();
        let correct = labels.iter().filter(|label| label.is_correct).count();
        Ok(Evaluation { loss_sum: losses.mean * labelled as f64, labelled, correct, labels })
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
        let Some((attention, norm)) = self.stack.layers.get(layer).and_then(|layer| layer.attention.as_ref()) else {
            return Ok(None);
        };
        let x = match self.plan.stack.norm {
            NormPlacement::Pre => norm.forward(hidden)?,
            NormPlacement::Post => hidden.clone(),
        };
        Ok(attention.scores(&x)?.map(|scores| scores.detach()))
    }

    /// The maps that the heads of layer `layer` compute, of text without padding; none where no head does. `hidden` as in
    /// [`Model::scores`]. `[b, t, d]` to `[b, c, t, t]`
    pub fn own_maps(&self, layer: usize, hidden: &Tensor) -> Result<Option<Tensor>, ModelError> {
        let mask = MaskSpec { causal: self.plan.stack.is_causal, keys: None };
        let scores = self.scores(layer, hidden)?;
        Ok(scores.map(|scores| ops::masked_softmax(&scores, 1.0, &mask)).transpose()?)
    }

    /// What makes queries and keys of the heads of layer `layer` that compute, and which heads these are; none in a
    /// layer without attention.
    pub fn projections(&self, layer: usize) -> Option<&HeadAttention> {
        Some(&self.stack.layers.get(layer)?.attention.as_ref()?.0)
    }

    /// Logits at the positions `rows` alone, counted row by row over the whole batch. `[rows, v]`
    pub fn logits_at(&self, input: &ModelInput, rows: &[u32]) -> Result<Tensor, ModelError> {
        let last = self.encode(input, &ForwardOptions::default())?.last;
        let (b, t, d) = last.dims3()?;
        let rows = Tensor::from_slice(rows, rows.len(), self.device())?;
        self.logits(&last.reshape((b * t, d))?.index_select(&rows, 0)?)
    }

    /// The last states of the encoder that the stack attends to. `[b, n]` to `[b, n, d]`
    pub(super) fn encode_source(&self, input: &ModelInput) -> Result<Tensor, ModelError> {
        let (Some(stack), Some(plan)) = (&self.encoder, &self.plan.encoder) else {
            return Err(ModelError::Unsupported("a source without an encoder".to_owned()));
        };
        Ok(self.read(stack, plan, input, None, &ForwardOptions::default())?.last)
    }

    /// [`Self::logits_at`] of a decoder whose encoder's states are there, with those that are seen.
    pub(super) fn logits_after(
        &self,
        input: &ModelInput,
        states: (&Tensor, MaskSpec),
        rows: &[u32],
    ) -> Result<Tensor, ModelError> {
        let last = self.read(&self.stack, &self.plan.stack, input, Some(states), &ForwardOptions::default())?.last;
        let (b, t, d) = last.dims3()?;
        let rows = Tensor::from_slice(rows, rows.len(), self.device())?;
        self.logits(&last.reshape((b * t, d))?.index_select(&rows, 0)?)
    }

    /// The stream after the first `layers` layers, where [`Model::can_step`]; `each` sees what every layer that attends has of it.
    /// `[b, t, d]`
    pub(super) fn read_prompts(
        &self,
        input: &ModelInput,
        layers: usize,
        each: EachLayer<'_, f32>,
    ) -> Result<Vec<f32>, ModelError> {
        let mask = MaskSpec { causal: self.plan.stack.is_causal, keys: input.key_mask.clone() };
        let dropout = Dropout { probability: 0.0, draw: None };
        let pass = Pass {
            mask: &mask,
            dropout: &dropout,
            gradients: None,
            map_memory: MapMemoryChoice::default(),
            keep_maps: false,
            in_blocks: true,
            products: Products::Own,
        };
        let x = self.reader.embed(&self.stack, &self.plan.stack, input, &pass)?; // [b, t, d]
        self.stack.read(&x, layers, &pass, each)
    }

    /// The last states, and what `options` ask for of the stream between layers. `[b, t, d]`
    pub(super) fn states(
        &self,
        input: &ModelInput,
        options: &ForwardOptions,
    ) -> Result<(Tensor, Vec<Tensor>), ModelError> {
        let Encoded { last, hidden, .. } = self.encode(input, options)?;
        Ok((last, hidden))
    }

    /// What the stack begins with for one token of each row at a position, from 0. `[rows]` to `[rows, 1, d]`
    pub(super) fn embed_at(&self, tokens: &[u32], positions: &[usize]) -> Result<Tensor, ModelError> {
        let rows = tokens.len();
        if let Some(position) = positions.iter().max().filter(|position| **position >= self.plan.stack.longest()) {
            return Err(ModelError::TooLong { sequence: position + 1, positions: self.plan.stack.longest() });
        }
        let ids = Tensor::from_slice(tokens, (rows, 1), self.device())?;
        let places: Vec<u32> = positions.iter().map(|at| (at + self.plan.stack.first_position) as u32).collect();
        let places = Tensor::from_vec(places, (rows, 1), self.device())?;
        let x = token_rows(self.reader.words()?, &self.stack, &self.plan.stack, &ids, &places)?;
        match self.embedding_norm() {
            Some(norm) => Ok(norm.forward(&x)?),
            None => Ok(x),
        }
    }

    /// The layers of the stack that the head reads.
    pub(super) fn layers(&self) -> &[Layer] {
        &self.stack.layers
    }

    /// The norm after its embeddings, where norms come last.
    pub(super) fn embedding_norm(&self) -> Option<&StreamNorm> {
        self.stack.embedding_norm()
    }

    /// The norm after its last layer, where norms come first.
    pub(super) fn last_norm(&self) -> Option<&StreamNorm> {
        self.stack.last_norm()
    }

    /// Its table of positions, from that of the first position on. `[positions, d]`
    pub(super) fn positions(&self) -> Result<Tensor, ModelError> {
        let StackPlan { first_position, positions, .. } = self.plan.stack;
        let Some(table) = &self.stack.positions else {
            return Err(ModelError::Unsupported("a step without a table of positions".to_owned()));
        };
        Ok(table.narrow(0, first_position, positions)?)
    }

    /// Whether steps of decoding are single operations here.
    pub(super) fn can_step(&self) -> bool {
        let is_plain = match &self.head {
            Head::Vocabulary { transform, .. } => {
                transform.is_none()
                    && matches!(self.plan.head, OutputPlan::Vocabulary(head) if head.table == HeadTable::Tied)
            }
            Head::Classes { .. } | Head::Span(_) | Head::Replaced(..) | Head::States => false,
        };
        let is_plain = is_plain && self.plan.stacks().all(|stack| stack.is_fusible() && stack.has_plain_embeddings());
        self.has_blocks() && self.dtype() == DType::F32 && is_plain && self.plan.token_types() == 0
    }

    /// The last states of the stack that the head reads; see [`Self::encode_with_encoder`].
    fn encode(&self, input: &ModelInput, options: &ForwardOptions) -> Result<Encoded, ModelError> {
        Ok(self.encode_with_encoder(input, options)?.0)
    }

    /// Embeddings and layers, and those of the encoder where there is one.
    fn encode_with_encoder(
        &self,
        input: &ModelInput,
        options: &ForwardOptions,
    ) -> Result<(Encoded, Option<Encoded>), ModelError> {
        let (Some(stack), Some(plan)) = (&self.encoder, &self.plan.encoder) else {
            return Ok((self.read_padded(input, options)?, None));
        };
        let Some(read) = &input.encoder else {
            return Err(ModelError::Unsupported("a decoder whose encoder reads nothing".to_owned()));
        };
        let encoded = self.read(stack, plan, read, None, options)?;
        let mask = MaskSpec { causal: false, keys: read.key_mask.clone() };
        let memory = Some((&encoded.last, mask));
        Ok((self.read(&self.stack, &self.plan.stack, input, memory, options)?, Some(encoded)))
    }

    /// A model of one stack. Where pairs were chosen for sequences of one length and a position sees all others, shorter
    /// ones are padded to it.
    fn read_padded(&self, input: &ModelInput, options: &ForwardOptions) -> Result<Encoded, ModelError> {
        let plan = &self.plan.stack;
        let (InputData::Tokens { ids, types }, false) = (&input.data, plan.coverage.is_full() || plan.is_causal) else {
            return self.read(&self.stack, plan, input, None, options);
        };
        let ((b, t), n) = (ids.dims2()?, plan.longest());
        if t >= n {
            return self.read(&self.stack, plan, input, None, options);
        }
        let zeros = |ids: &Tensor| ids.pad_with_zeros(1, 0, n - t);
        let keys = match &input.key_mask {
            Some(keys) => keys.clone(),
            None => Tensor::ones((b, t), DType::U8, self.device())?,
        };
        let data = InputData::Tokens { ids: zeros(ids)?, types: types.as_ref().map(zeros).transpose()? };
        let padded = ModelInput { data, key_mask: Some(zeros(&keys)?), encoder: None };
        let Encoded { last, maps, cross_maps, hidden } = self.read(&self.stack, plan, &padded, None, options)?;
        let first = |tensors: Vec<Tensor>, dimensions: std::ops::Range<usize>| {
            let cut = |tensor: &Tensor| dimensions.clone().try_fold(tensor.clone(), |x, dim| x.narrow(dim, 0, t));
            tensors.iter().map(cut).collect::<Result<Vec<_>, _>>()
        };
        let (maps, hidden) = (first(maps, 2..4)?, first(hidden, 1..2)?);
        Ok(Encoded { last: last.narrow(1, 0, t)?, maps, cross_maps, hidden })
    }

    /// What a stack makes of an input, and of the states of an encoder.
    fn read(
        &self,
        stack: &Stack,
        plan: &StackPlan,
        input: &ModelInput,
        memory: Option<(&Tensor, MaskSpec)>,
        options: &ForwardOptions,
    ) -> Result<Encoded, ModelError> {
        let dropout = Dropout { probability: plan.dropout, draw: options.dropout };
        let mask = MaskSpec { causal: plan.is_causal, keys: input.key_mask.clone() };
        let pass = Pass {
            mask: &mask,
            dropout: &dropout,
            gradients: self.gradients.as_ref(),
            map_memory: options.map_memory,
            keep_maps: options.keep_maps,
            in_blocks: self.has_blocks(),
            products: self.products,
        };
        let x = self.reader.embed(stack, plan, input, &pass)?; // [b, t, d]
        let x = match &self.noise {
            Some(noise) => noise.added_to(&x, input)?,
            None => x,
        };
        stack.forward(x, &pass, memory, options)
    }

    /// What is compared with the token table: the hidden states, after the head's transform. `[.., d]`
    fn before_table(&self, hidden: &Tensor) -> Result<Tensor, ModelError> {
        Ok(match &self.head {
            Head::Vocabulary { transform: Some((dense, norm)), .. } => {
                norm.forward(&self.head_activation().of_linear(hidden, dense)?)?
            }
            Head::Vocabulary { scale: Some(scale), .. } => (hidden * *scale)?,
            _ => hidden.clone(),
        })
    }

    /// The activation of the head's transform.
    fn head_activation(&self) -> Activation {
        let own = match self.plan.head {
            OutputPlan::Vocabulary(head) => head.activation,
            OutputPlan::Classes { .. } | OutputPlan::Span | OutputPlan::Replaced | OutputPlan::States { .. } => None,
        };
        own.unwrap_or(self.plan.stack.activation)
    }

    /// The token table with its bias.
    ///
    /// # Errors
    /// If the head predicts no tokens.
    pub(super) fn table(&self) -> Result<(&Tensor, Option<&Tensor>), ModelError> {
        match &self.head {
            Head::Vocabulary { table, bias, .. } => Ok((table, bias.as_ref())),
            Head::Classes { .. } => Err(ModelError::NoTokens { head: "classes" }),
            Head::Span(_) => Err(ModelError::NoTokens { head: "spans" }),
            Head::Replaced(..) => Err(ModelError::NoTokens { head: "whether tokens were replaced" }),
            Head::States => Err(STATES_ALONE),
        }
    }

    fn head_parts(&self, labels: Vec<i64>) -> Result<HeadParts, ModelError> {
        let (table, bias) = self.table()?;
        Ok(HeadParts { table: table.clone(), bias: bias.cloned(), labels, smoothing: 0.0, products: self.products })
    }

    /// From hidden states to the vocabulary. `[.., d]` to `[.., v]`
    pub(super) fn logits(&self, hidden: &Tensor) -> Result<Tensor, ModelError> {
        let (table, bias) = self.table()?;
        Ok(ops::linear_transposed(&self.before_table(hidden)?, table, bias)?)
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
        let hidden = if count == b * t && self.has_blocks() {
            // The head reads rows as they lie: nothing of candle's stands in between.
            last.clone()
        } else {
            let rows = ops::reshaped(last, (b * t, d))?;
            if count == b * t { rows } else { ops::embedding(&rows, &Tensor::from_vec(places, count, self.device())?)? }
        };
        Ok(Some(Labelled { hidden, labels: kept }))
    }
}

/// Why a model without a head predicts nothing.
const STATES_ALONE: ModelError = ModelError::NoTokens { head: "its hidden states" };

/// Positions that have a label.
struct Labelled {
    /// `[n, d]`, or `[b, t, d]` where all are labelled and the head reads them so.
    hidden: Tensor,
    /// The token to be predicted at each of them.
    labels: Vec<i64>,
}
