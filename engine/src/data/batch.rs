/// The label of positions that count for nothing: padding and, for encoders, tokens that are not predicted.
pub const IGNORED: i64 = crate::ops::IGNORED_LABEL;

/// Examples for one forward pass, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What the model reads. `[batch, sequence]`
    pub input_ids: Vec<u32>,
    /// What it should predict at each position, or [`IGNORED`]. `[batch, sequence]`
    ///
    /// Decoder: the token after this one (already shifted). Encoder: the token that was hidden here.
    pub labels: Vec<i64>,
    /// 1 = a token, 0 = padding; `None` when there is no padding, and always for decoders, whose padding stands at
    /// the end where causality hides it. `[batch, sequence]`
    pub key_mask: Option<Vec<u8>>,
    /// Rows.
    pub batch: usize,
    /// Tokens in a row.
    pub sequence: usize,
}

impl Batch {
    /// Positions that have a label: the weight of this batch's mean loss.
    pub fn targets(&self) -> usize {
        self.labels.iter().filter(|label| **label != IGNORED).count()
    }
}
