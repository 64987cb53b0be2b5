//! The four questions about a multi-head attention layer: which heads score, how, how many pairs, what is kept.
//!
//! [`ModelPlan`] is a config in which everything was checked once; [`HeadPlan`] its table of heads; [`Cost`] counts
//! parameters, FLOPs and bytes from it without running anything; `compatibility` holds the attention layers, a file
//! a method. Uses `config` and `ops`.

pub mod compatibility;
mod cost;
mod dropout;
mod facts;
mod further;
mod heads;
mod matching;
mod plan;
mod preset;
mod rows;
mod schedule;
mod stack;

pub use cost::{
    CacheBytes, Cost, Decoding, LayerCost, Part, PartCost, Workload, cache_bytes, layer_macs, projected_share_kept,
};
pub use dropout::Dropout;
pub use facts::ModelFacts;
pub use heads::{AttentionKind, Cell, Draft, HeadAt, HeadPlan};
pub use matching::ParameterMatch;
pub use plan::{
    HeadTable, InputPlan, ModelPlan, OutputPlan, VocabularyHead, estimated_vocabulary, supported, supported_design,
};
pub use preset::{BART, BERT, GPT2, Naming, Preset, VIT};
pub use stack::{CrossPlan, EmbeddingDesign, LinearBiases, NormKind, Positions, StackDesign, StackName, StackPlan};
