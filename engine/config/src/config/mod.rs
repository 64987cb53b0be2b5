//! The run config: plain data, serde, defaults; validation that reports every problem at once; presets.
//!
//! Everything that a run depends on is a field here. The file format is TOML with `format = 1`.
//! May be used by every room; uses none.

mod anchor;
mod answer;
mod attention;
mod axis;
mod compatibility;
mod counted;
mod coverage;
mod data;
mod described;
mod descriptor;
mod device;
mod entrant;
mod field;
mod field_check;
mod field_spec;
mod image_input;
mod image_shape;
mod label_rules;
mod model;
mod nearest;
mod objective;
mod other_text;
mod parse;
mod part;
mod precision;
mod presets;
mod problem;
mod race;
mod range;
mod reuse;
mod run;
mod source;
mod sweep;
mod sweep_mistake;
mod task;
mod threads;
mod train;
mod validate;

pub use answer::{Answer, attention_words};
pub use attention::{AttentionConfig, Baseline, Cache, HiddenCache, KeyValueCache, NoCache, OtherAnswers};
pub use axis::{Axis, Setting, Side, SpecError};
// A way to score a pair is named in its own file alone.
pub use compatibility::*;
pub use counted::{counted, grouped};
pub use coverage::{Coverage, EigenCoverage, Full, PartialCoverage, Restore};
pub use data::{
    ByteTokenizer, DataConfig, FileTokenizer, InitialTokenizer, Tokenizer, TrainedTokenizer, WordTokenizer,
};
pub use descriptor::{About, Number, NumberValue};
pub use device::DeviceChoice;
pub use entrant::{Entrant, free_tag, runs_of};
pub use field::{field, field_of, field_paths, fields_of, names_taken};
pub use field_spec::{Choice, FieldSpec, Fields, Takes};
pub use image_shape::{ImageShape, MOST_SIDE};
pub use label_rules::{LabelMap, LabelMapError, LabelRules};
pub use model::{ModelConfig, ModelKind, ModelKindInfo, NormPlacement};
pub use nearest::nearest;
pub use objective::{
    Classification, MaskedTokens, NeededTokens, NextToken, Objective, Regression, Span, SpecialTokens, Translation,
};
pub use other_text::OtherText;
pub use parse::{
    ConfigError, from_directory_toml, from_json, from_stored_json, from_stored_toml, from_toml, from_toml_noting,
    from_toml_with, to_toml,
};
pub use part::ModelPart;
pub use precision::Precision;
pub use presets::{Preset, PresetGroup, preset, presets};
pub use problem::{Problem, ProblemKind, Sentence, Wording};
pub use race::{Beginning, Race};
pub use range::{End, Outside, Range};
pub use reuse::{
    AllEndReuse, AlternateReuse, CustomReuse, FirstReuse, FullReuse, NoReuse, PartialReuse, Reuse, SkipReuse,
};
pub use run::{FORMAT, ProbeConfig, RunConfig};
// A kind of data is named in its own file alone.
pub use source::*;
pub use sweep::{Combine, Sweep};
pub use sweep_mistake::SweepMistake;
pub use task::{
    ClassificationTask, ImageClassificationTask, RegressionTask, SpanTask, TaskConfig, TaskInfo, TaskOutput,
    TextScoring, TranslationTask,
};
pub use train::{
    Constant, Cosine, DEFAULT_STEPS, InverseSquareRoot, Linear, MapMemoryChoice, Schedule, StabilityChoice, StopEarly,
    TrainConfig, Unwatched, Watched,
};
