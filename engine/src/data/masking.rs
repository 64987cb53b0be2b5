use std::sync::Arc;

use super::rng::{Purpose, Stream, below};
use super::{IGNORED, TextTokenizer};

/// Hides tokens as BERT does (Devlin et al. 2019, section 3.1): each token that is not special is chosen with a
/// fixed probability; of the chosen, 80 % become the mask token, 10 % a random token and 10 % stay.
#[derive(Clone, Debug)]
pub(super) struct Masker {
    mask: u32,
    fraction: f64,
    /// By id: whether the token is special and therefore never chosen.
    special: Arc<[bool]>,
    /// Ids that may stand in for another.
    ordinary: Arc<[u32]>,
}

impl Masker {
    /// `None` when the tokenizer has no mask token.
    pub(super) fn new(tokenizer: &TextTokenizer, fraction: f64) -> Option<Self> {
        let mask = tokenizer.specials().mask?;
        let mut special = vec![false; tokenizer.vocabulary_size()];
        for id in tokenizer.special_ids() {
            if let Some(flag) = special.get_mut(id as usize) {
                *flag = true;
            }
        }
        let ordinary = special.iter().zip(0_u32..).filter(|(special, _)| !**special).map(|(_, id)| id).collect();
        Some(Self { mask, fraction, special: special.into(), ordinary })
    }

    pub(super) fn with_fraction(self, fraction: f64) -> Self {
        Self { fraction, ..self }
    }

    /// Hides tokens of one example in place and labels them with what they were. At least one is hidden, unless the
    /// example holds special tokens only. The outcome depends on `seed` and `example` alone.
    pub(super) fn hide(&self, seed: u64, example: u64, ids: &mut [u32], labels: &mut [i64]) {
        let mut stream = Stream::new(seed, Purpose::Masking, example);
        let is_special = |id: u32| self.special.get(id as usize).copied().unwrap_or(true);
        let mut hidden = 0_usize;
        for (id, label) in ids.iter_mut().zip(labels.iter_mut()) {
            if !is_special(*id) && stream.uniform() < self.fraction {
                self.hide_one(&mut stream, id, label);
                hidden += 1;
            }
        }
        if hidden == 0 {
            let count = ids.iter().filter(|id| !is_special(**id)).count();
            if count > 0 {
                let chosen = below(&mut stream, count);
                let one = ids.iter_mut().zip(labels).filter(|(id, _)| !is_special(**id)).nth(chosen);
                if let Some((id, label)) = one {
                    self.hide_one(&mut stream, id, label);
                }
            }
        }
    }

    fn hide_one(&self, stream: &mut Stream, id: &mut u32, label: &mut i64) {
        *label = i64::from(*id);
        let draw = stream.uniform();
        if draw < 0.8 {
            *id = self.mask;
        } else if draw < 0.9
            && !self.ordinary.is_empty()
            && let Some(other) = self.ordinary.get(below(stream, self.ordinary.len()))
        {
            *id = *other;
        }
        debug_assert_ne!(*label, IGNORED);
    }
}
