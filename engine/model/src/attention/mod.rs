//! The four questions about a multi-head attention layer: which heads score, how, how many pairs, what is kept.
//!
//! [`ModelPlan`] is a config in which everything was checked once; [`HeadPlan`] its table of heads; [`Cost`] counts
//! parameters, FLOPs and bytes from it without running anything; `compatibility` holds the attention layers, a file
//! a method. Uses `config` and `ops`.

mod cells;
pub mod compatibility;
mod cost;
mod dropout;
mod facts;
mod further;
mod heads;
mod matching;
mod plan;
mod preset;
mod resolve;
mod rows;
mod schedule;
mod stack;
mod supported;

pub use cells::{AttentionKind, Cell, Draft, HeadAt};
pub use cost::{
    CacheBytes, Cost, Decoding, LayerCost, Part, PartCost, Workload, cache_bytes, layer_macs, projected_share_kept,
};
pub use dropout::Dropout;
pub use facts::ModelFacts;
pub use heads::HeadPlan;
pub use matching::ParameterMatch;
pub use plan::{InputPlan, ModelPlan, OutputPlan, estimated_vocabulary};
pub use preset::{BART, BERT, GPT2, Naming, Preset, VIT};
pub use stack::{
    CrossPlan, EmbeddingDesign, HeadTable, LinearBiases, NormKind, Positions, StackDesign, StackName, StackPlan,
    VocabularyHead,
};
pub use supported::{supported, supported_design};
