use std::sync::Arc;

use super::{Batch, IGNORED, Specials, TokenStream};
use crate::config::Architecture;

/// A stream of tokens cut into examples of equal length. Window `i` never shares a token with window `j` as input.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    ids: Arc<[u32]>,
    frame: Frame,
    sequence: usize,
    pad: u32,
}

/// What an example is made of.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// `tokens[i..i + sequence]`, labelled with `tokens[i + 1..=i + sequence]`.
    Decoder,
    /// `[CLS] tokens [SEP]`, where the vocabulary has these two.
    Encoder { cls: Option<u32>, sep: Option<u32> },
}

impl Windows {
    pub(super) fn new(stream: &TokenStream, architecture: Architecture, specials: &Specials, sequence: usize) -> Self {
        let frame = match architecture {
            Architecture::Decoder => Frame::Decoder,
            Architecture::Encoder => Frame::Encoder { cls: specials.cls, sep: specials.sep },
        };
        Self { ids: Arc::clone(&stream.ids), frame, sequence, pad: specials.pad }
    }

    /// Special tokens around the text of an example.
    fn framing(&self) -> usize {
        match self.frame {
            Frame::Decoder => 0,
            Frame::Encoder { cls, sep } => usize::from(cls.is_some()) + usize::from(sep.is_some()),
        }
    }

    /// The shortest sequence that has room for a token of text.
    pub(super) fn least_sequence(&self) -> usize {
        self.framing() + 1
    }

    /// Tokens of text in a full window; 0 when the special tokens take all the room.
    pub(super) fn content(&self) -> usize {
        self.sequence.saturating_sub(self.framing())
    }

    /// Tokens of the stream that one full window needs.
    pub(super) fn needed(&self) -> usize {
        self.content() + self.lookahead()
    }

    /// Tokens in a window.
    pub(super) fn sequence(&self) -> usize {
        self.sequence
    }

    /// Tokens in the stream.
    pub(super) fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Tokens that serve as labels only: a decoder's last one.
    fn lookahead(&self) -> usize {
        match self.frame {
            Frame::Decoder => 1,
            Frame::Encoder { .. } => 0,
        }
    }

    /// Full windows; less than a window's worth of tokens at the end of the stream belongs to none.
    pub(super) fn full(&self) -> usize {
        self.ids.len().saturating_sub(self.lookahead()).checked_div(self.content()).unwrap_or(0)
    }

    /// Windows when the last may be padded: every token of the stream belongs to one.
    pub(super) fn with_tail(&self) -> usize {
        match self.content() {
            0 => 0,
            content => self.ids.len().saturating_sub(self.lookahead()).div_ceil(content),
        }
    }

    /// A batch of `windows`. `mask` hides tokens of one row (`window`, input ids, labels) and is not called for
    /// decoders.
    pub(super) fn batch(&self, windows: &[usize], mut mask: impl FnMut(usize, &mut [u32], &mut [i64])) -> Batch {
        let batch = windows.len();
        let mut input_ids = Vec::with_capacity(batch * self.sequence);
        let mut labels = Vec::with_capacity(batch * self.sequence);
        let mut key_mask: Option<Vec<u8>> = None;
        for (row, &window) in windows.iter().enumerate() {
            let start = window * self.content();
            let end = (start + self.content()).min(self.ids.len().saturating_sub(self.lookahead()));
            let content = self.ids.get(start..end).unwrap_or_default();
            let first = input_ids.len();
            match self.frame {
                Frame::Decoder => {
                    input_ids.extend_from_slice(content);
                    labels.extend(self.ids.get(start + 1..=end).unwrap_or_default().iter().copied().map(i64::from));
                }
                Frame::Encoder { cls, sep } => {
                    input_ids.extend(cls);
                    input_ids.extend_from_slice(content);
                    input_ids.extend(sep);
                    let used = input_ids.len() - first;
                    labels.resize(first + used, IGNORED);
                    if let (Some(ids), Some(row_labels)) = (input_ids.get_mut(first..), labels.get_mut(first..)) {
                        mask(window, ids, row_labels);
                    }
                    if used < self.sequence {
                        let keys = key_mask.get_or_insert_with(|| vec![1; batch * self.sequence]);
                        if let Some(padding) = keys.get_mut(row * self.sequence + used..(row + 1) * self.sequence) {
                            padding.fill(0);
                        }
                    }
                }
            }
            input_ids.resize((row + 1) * self.sequence, self.pad);
            labels.resize((row + 1) * self.sequence, IGNORED);
        }
        Batch { input_ids, labels, key_mask, batch, sequence: self.sequence }
    }
}
