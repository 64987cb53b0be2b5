//! The series that every run logs; what an evaluation measures beside the loss, its objective names. Others may be added
//! freely, with a `/` between group and name.

/// Loss of the training batch, nats per predicted token.
pub const TRAIN_LOSS: &str = "train/loss";
/// Learning rate of the step.
pub const TRAIN_LEARNING_RATE: &str = "train/learning_rate";
/// Global norm of the gradient before clipping.
pub const TRAIN_GRAD_NORM: &str = "train/grad_norm";
/// Tokens trained on a second.
pub const TRAIN_TOKENS_PER_SEC: &str = "train/tokens_per_sec";
/// Loss on the held-out split, nats per predicted token.
pub const VALIDATION_LOSS: &str = "validation/loss";
/// Mean similarity of the most similar heads of neighbouring layers on the probe batch, 0 to 1.
pub const PROBE_ADJACENT_SIMILARITY: &str = "probe/adjacent_similarity";
/// The same for layers further apart.
pub const PROBE_FAR_SIMILARITY: &str = "probe/far_similarity";
/// Share of the energy of the network's scores on the probe batch in the largest 1 % of all eigenvalues, 0 to 1.
pub const PROBE_ENERGY_IN_1_PERCENT: &str = "probe/energy_in_1_percent";
/// Mean squared error of the scores that follow from some pairs as a share of their mean square, when the pairs were chosen;
/// one point, 0 to 1.
pub const COVERAGE_SCORE_ERROR: &str = "coverage/score_error";
/// Share of the positions of training batches that are padding, where examples have lengths of their own; one point, 0 to 1.
pub const DATA_PADDING_SHARE: &str = "data/padding_share";
/// Share of the processors that the program uses, percent.
pub const SYSTEM_CPU_PERCENT: &str = "system/cpu_percent";
/// Memory that the program holds, bytes.
pub const SYSTEM_MEMORY_BYTES: &str = "system/memory_bytes";
/// The most memory that the program held while the run trained, bytes; one point, at the end.
pub const SYSTEM_PEAK_MEMORY_BYTES: &str = "system/peak_memory_bytes";
/// Memory in use on the run's GPU, bytes: by all programs on an NVIDIA GPU, by this one on an Apple GPU.
pub const SYSTEM_GPU_MEMORY_BYTES: &str = "system/gpu_memory_bytes";
/// Share of the last moments in which the run's GPU computed, percent.
pub const SYSTEM_GPU_PERCENT: &str = "system/gpu_percent";
