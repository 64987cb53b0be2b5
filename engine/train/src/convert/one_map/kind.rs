/// Attention whose queries and keys come from one map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneMap {
    /// `Q Qᵀ`
    Symmetric,
    /// `Q U Qᵀ`
    Pairwise,
    /// `S D_q D_k Sᵀ`, with values `S D_v`
    SharedWeight,
}
