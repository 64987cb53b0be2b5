use std::sync::Arc;

use super::{TextTokenizer, TokenStream};
use crate::objective::{Batch, Example, Framing, IGNORED, Labeller, LearnedTask, Objective};

/// A stream of tokens cut into examples of equal length. Window `i` never shares a token with window `j` as input.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    ids: Arc<[u32]>,
    framing: Framing,
    labeller: Option<Arc<dyn Labeller>>,
    sequence: usize,
    pad: u32,
}

/// An example to be cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Which window it is.
    pub(super) window: usize,
    /// With `number`, all that the random choices of its objective depend on.
    pub(super) seed: u64,
    /// See `seed`.
    pub(super) number: u64,
}

impl Windows {
    pub(super) fn new(stream: &TokenStream, objective: &Objective, tokenizer: &TextTokenizer, sequence: usize) -> Self {
        let (task, specials) = (objective.task(), tokenizer.specials());
        Self {
            ids: Arc::clone(&stream.ids),
            framing: task.framing(specials),
            labeller: task.labeller(&tokenizer.vocabulary()),
            sequence,
            pad: specials.pad,
        }
    }

    /// The same windows with nothing to predict and every token as it stands in the text.
    pub(super) fn without_labels(self) -> Self {
        Self { labeller: None, ..self }
    }

    /// Special tokens around the text of an example.
    fn marks(&self) -> usize {
        usize::from(self.framing.before.is_some()) + usize::from(self.framing.after.is_some())
    }

    /// The shortest sequence that has room for a token of text.
    pub(super) fn least_sequence(&self) -> usize {
        self.marks() + 1
    }

    /// Tokens of text in a full window; 0 when the special tokens take all the room.
    pub(super) fn content(&self) -> usize {
        self.sequence.saturating_sub(self.marks())
    }

    /// Tokens of the stream that one full window needs.
    pub(super) fn needed(&self) -> usize {
        self.content() + self.framing.lookahead
    }

    /// Tokens in a window.
    pub(super) fn sequence(&self) -> usize {
        self.sequence
    }

    /// Tokens in the stream.
    pub(super) fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Full windows; less than a window's worth of tokens at the end of the stream belongs to none.
    pub(super) fn full(&self) -> usize {
        self.ids.len().saturating_sub(self.framing.lookahead).checked_div(self.content()).unwrap_or(0)
    }

    /// Windows when the last may be padded: every token of the stream belongs to one.
    pub(super) fn with_tail(&self) -> usize {
        match self.content() {
            0 => 0,
            content => self.ids.len().saturating_sub(self.framing.lookahead).div_ceil(content),
        }
    }

    /// A batch of examples.
    pub(super) fn batch(&self, cuts: &[Cut]) -> Batch {
        let (batch, sequence, lookahead) = (cuts.len(), self.sequence, self.framing.lookahead);
        let mut input_ids = Vec::with_capacity(batch * sequence);
        let mut labels = vec![IGNORED; batch * sequence];
        let mut key_mask: Option<Vec<u8>> = None;
        for (row, (cut, labels)) in cuts.iter().zip(labels.chunks_mut(sequence.max(1))).enumerate() {
            let start = cut.window * self.content();
            let end = (start + self.content()).min(self.ids.len().saturating_sub(lookahead));
            let first = input_ids.len();
            input_ids.extend(self.framing.before);
            input_ids.extend_from_slice(&self.ids[start..end]);
            input_ids.extend(self.framing.after);
            let used = input_ids.len() - first;
            if let Some(labeller) = &self.labeller {
                let (ids, labels) = (&mut input_ids[first..], &mut labels[..used]);
                let following = &self.ids[start + lookahead..end + lookahead];
                labeller.label(Example { ids, labels, following, seed: cut.seed, number: cut.number });
            }
            if used < sequence {
                let keys = key_mask.get_or_insert_with(|| vec![1; batch * sequence]);
                keys[row * sequence + used..(row + 1) * sequence].fill(0);
            }
            input_ids.resize((row + 1) * sequence, self.pad);
        }
        Batch {
            input_ids,
            labels,
            key_mask,
            token_types: None,
            batch,
            sequence,
            sources: None,
            answers: None,
            pixels: None,
        }
    }
}

/// A batch with the numbers of its rows.
pub type NumberedBatch = (Vec<usize>, Batch);
