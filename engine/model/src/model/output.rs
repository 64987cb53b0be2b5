use candle_core::Tensor;

/// What a forward pass gives.
#[derive(Clone, Debug)]
pub struct ModelOutput {
    /// Unnormalised log-probabilities: of every token at every position `[b, t, v]`, of every class `[b, classes]`, or of
    /// both ends of an answer at every position `[b, t, 2]`.
    pub logits: Tensor,
    /// Attention maps, layer by layer, from before dropout; empty unless asked for. `[b, h, t, t]`
    pub maps: Vec<Tensor>,
    /// Hidden states: the embeddings, then what each layer gives; the last one after the final norm where there is
    /// one. L + 1 tensors, or none unless asked for. `[b, t, d]`
    pub hidden: Vec<Tensor>,
    /// Maps of a decoder's attention to the encoder, layer by layer; empty unless asked for, and without one.
    /// `[b, h, t, m]`
    pub cross_maps: Vec<Tensor>,
    /// What the heads of the encoder before a decoder saw, where there is one. Its last states are there in any case.
    pub encoder: Option<Attended>,
}

/// What heads saw, for analysis.
#[derive(Clone, Debug)]
pub struct Attended {
    /// Attention maps, when asked for; see [`ModelOutput::maps`].
    pub maps: Vec<Tensor>,
    /// Hidden states, when asked for; see [`ModelOutput::hidden`].
    pub hidden: Vec<Tensor>,
}

/// The loss of a batch, with its graph.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Mean cross-entropy in nats over the labelled positions; 0 when there is none. A scalar.
    pub loss: Tensor,
    /// How many positions have a label.
    pub labelled: usize,
    /// Attention maps, when asked for; see [`ModelOutput::maps`].
    pub maps: Vec<Tensor>,
    /// Hidden states, when asked for; see [`ModelOutput::hidden`].
    pub hidden: Vec<Tensor>,
}

/// How well a batch was predicted, as plain numbers that can be added up over batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Cross-entropy in nats summed over the labelled positions.
    pub loss_sum: f64,
    /// How many positions have a label.
    pub labelled: usize,
    /// At how many of them the most probable token is the label.
    pub correct: usize,
    /// Outcome of each labelled position, in their order.
    pub labels: Vec<LabelOutcome>,
}

/// Outcome of one labelled position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelOutcome {
    /// Cross-entropy in nats.
    pub loss: f64,
    /// True if the most probable token is the label.
    pub is_correct: bool,
}

impl Evaluation {
    /// Adds another batch.
    pub fn add(&mut self, other: &Self) {
        self.labels.extend_from_slice(&other.labels);
        self.loss_sum += other.loss_sum;
        self.labelled += other.labelled;
        self.correct += other.correct;
    }

    /// Mean cross-entropy in nats; NaN when nothing was labelled.
    pub fn loss(&self) -> f64 {
        self.loss_sum / self.labelled as f64
    }

    /// Share of labelled positions whose most probable token is the label, 0..=1; NaN when nothing was labelled.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.labelled as f64
    }
}
