//! The kernels' text.

/// All kernels, in the order in which they use each other.
pub const SOURCE: &str = concat!(
    include_str!("kernels/common.cu"),
    include_str!("kernels/dropout.cu"),
    include_str!("kernels/softmax.cu"),
    include_str!("kernels/layer_norm.cu"),
    include_str!("kernels/columns.cu"),
    include_str!("kernels/gelu.cu"),
    include_str!("kernels/cross_entropy.cu"),
    include_str!("kernels/embedding.cu"),
    include_str!("kernels/optimiser.cu"),
);
