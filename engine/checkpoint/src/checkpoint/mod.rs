//! The model directory: a model on disk that `transformers` opens, and that a run can be resumed from.
//!
//! | file | holds |
//! |---|---|
//! | `config.json` | the architecture under Hugging Face's keys |
//! | `generation_config.json` | how a decoder after an encoder begins and what ends its texts |
//! | `model.safetensors` | the weights under Hugging Face's names |
//! | `tokenizer.json` | the tokenizer, with `tokenizer_config.json` and `special_tokens_map.json` |
//! | `preprocessor_config.json` | of a model of images, how pixels become the numbers that it reads |
//! | `headroom.toml` | the run config |
//! | `training_state.safetensors` | optimiser, under our own names, and progress, where training can continue |
//! | `README.md` | the model card, in directories that are taken home |
//! | `modeling_headroom.py` | what computes the model in PyTorch, in those that `transformers` does not know |
//! | `headroom.json` | the program's version, size and SHA-256 of every other file but the last two, and of a converted model where it came from |
//!
//! A directory is written beside its place, synced and moved there whole: a reader never sees half of one. Plain
//! Hugging Face directories of many families open as well (`families/` has their names and settings), also with weights in several files that
//! `model.safetensors.index.json` names or in `pytorch_model.bin` (of any version of `PyTorch`, also in several files), and with the files of older tokenizers.
//! Uses `config`, `ops`, `attention`, `model`, `data`, `generate`.

mod archive;
mod card;
mod contents;
mod describe;
mod directory;
mod error;
mod families;
mod generation_config;
#[cfg(test)]
mod goldens;
mod hugging_face;
mod labels;
mod legacy_pickle;
mod lineage;
mod load;
mod manifest;
mod own_module;
mod pickle;
mod pickle_reader;
mod preprocessor;
mod removal;
mod save;
#[cfg(test)]
mod search_goldens;
mod sentence_pieces;
mod space;
#[cfg(test)]
mod span_goldens;
mod special_tokens;
#[cfg(test)]
mod task_goldens;
mod tensor_file;
#[cfg(test)]
mod tensor_names;
mod tensors;
#[cfg(test)]
mod tests;
mod text_files;
mod tokenizer_files;
mod training_state;
mod weights;

pub use contents::{ModelCard, ModelDirectory};
pub use describe::beside_the_model;
pub use describe::{DirectoryFacts, FileFacts, TensorFacts, TrainingFacts, describe_model_dir};
pub use directory::kind_words;
pub use error::CheckpointError;
pub use generation_config::{GenerationConfig, read_generation_config};
pub use hugging_face::{InTransformers, in_transformers, refusal_of_config};
pub use lineage::{AttentionError, Lineage, MeasuredChange};
pub use load::{LoadedModel, load_model_dir, load_training_state, read_plan};
pub use manifest::weights_sha256;
pub use removal::{Removable, check_removable, remove_marked};
pub use save::{SavedModel, check_can_be_made, save_model_dir};
pub use space::free_bytes;
pub use training_state::{BestMetric, TrainingState};
pub use weights::file_name;

/// The architecture.
const CONFIG: &str = "config.json";
/// The weights.
const WEIGHTS: &str = "model.safetensors";
/// Which file holds which weights, where there are several.
const INDEX: &str = "model.safetensors.index.json";
/// The weights as older models have them.
const PICKLE: &str = "pytorch_model.bin";
/// Index of weights over several such files.
const PICKLE_INDEX: &str = "pytorch_model.bin.index.json";
/// The tokenizer.
const TOKENIZER: &str = "tokenizer.json";
/// What `transformers` wants to know about the tokenizer.
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
/// Special tokens for older programs.
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
/// How pixels become numbers.
const PREPROCESSOR: &str = "preprocessor_config.json";
/// The run config.
const RUN_CONFIG: &str = "headroom.toml";
/// Optimiser and progress.
const TRAINING_STATE: &str = "training_state.safetensors";
/// Sizes and checksums.
const MANIFEST: &str = "headroom.json";

/// Settings of `generate`, which go before those of the architecture.
const GENERATION_CONFIG: &str = "generation_config.json";

/// What people and hubs read about the model.
const CARD: &str = "README.md";
/// What computes the model in PyTorch.
const MODULE: &str = "modeling_headroom.py";

/// Every file that a model directory of ours can have.
const FILES: [&str; 11] = [
    CARD,
    CONFIG,
    GENERATION_CONFIG,
    WEIGHTS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    SPECIAL_TOKENS,
    MODULE,
    RUN_CONFIG,
    TRAINING_STATE,
    MANIFEST,
];
