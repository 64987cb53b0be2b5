//! How the files of Hugging Face's families call their tensors: one table a family, both ways.

use crate::{
    attention::{InputPlan, ModelPlan, Naming, OutputPlan},
    model::{NameRow, NameTable, seed_names},
};

/// What BERTs end in that predict no tokens.
const BERT_HEADS: &[NameRow] =
    &[("head.pooler", "bert.pooler.dense"), ("head.classes", "classifier"), ("head.span", "qa_outputs")];

/// `BartForConditionalGeneration`.
const BART: &[NameRow] = &[
    ("input.tokens", "model.shared"),
    ("encoder.positions", "model.encoder.embed_positions"),
    ("encoder.embedding_norm", "model.encoder.layernorm_embedding"),
    ("encoder.{}.self.norm", "model.encoder.layers.{}.self_attn_layer_norm"),
    ("encoder.{}.self.query", "model.encoder.layers.{}.self_attn.q_proj"),
    ("encoder.{}.self.key", "model.encoder.layers.{}.self_attn.k_proj"),
    ("encoder.{}.self.value", "model.encoder.layers.{}.self_attn.v_proj"),
    ("encoder.{}.self.output", "model.encoder.layers.{}.self_attn.out_proj"),
    ("encoder.{}.feed_forward.norm", "model.encoder.layers.{}.final_layer_norm"),
    ("encoder.{}.feed_forward.in", "model.encoder.layers.{}.fc1"),
    ("encoder.{}.feed_forward.out", "model.encoder.layers.{}.fc2"),
    ("decoder.positions", "model.decoder.embed_positions"),
    ("decoder.embedding_norm", "model.decoder.layernorm_embedding"),
    ("decoder.{}.self.norm", "model.decoder.layers.{}.self_attn_layer_norm"),
    ("decoder.{}.self.query", "model.decoder.layers.{}.self_attn.q_proj"),
    ("decoder.{}.self.key", "model.decoder.layers.{}.self_attn.k_proj"),
    ("decoder.{}.self.value", "model.decoder.layers.{}.self_attn.v_proj"),
    ("decoder.{}.self.output", "model.decoder.layers.{}.self_attn.out_proj"),
    ("decoder.{}.cross.norm", "model.decoder.layers.{}.encoder_attn_layer_norm"),
    ("decoder.{}.cross.query", "model.decoder.layers.{}.encoder_attn.q_proj"),
    ("decoder.{}.cross.key", "model.decoder.layers.{}.encoder_attn.k_proj"),
    ("decoder.{}.cross.value", "model.decoder.layers.{}.encoder_attn.v_proj"),
    ("decoder.{}.cross.output", "model.decoder.layers.{}.encoder_attn.out_proj"),
    ("decoder.{}.feed_forward.norm", "model.decoder.layers.{}.final_layer_norm"),
    ("decoder.{}.feed_forward.in", "model.decoder.layers.{}.fc1"),
    ("decoder.{}.feed_forward.out", "model.decoder.layers.{}.fc2"),
    ("head.bias", "final_logits_bias"),
];

/// `ViTForImageClassification`.
const VIT: &[NameRow] = &[
    ("input.patches", "vit.embeddings.patch_embeddings.projection"),
    ("input.class_token", "vit.embeddings.cls_token"),
    ("encoder.positions.weight", "vit.embeddings.position_embeddings"),
    ("encoder.{}.self.norm", "vit.encoder.layer.{}.layernorm_before"),
    ("encoder.{}.self.output", "vit.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "vit.encoder.layer.{}.attention.attention"),
    ("encoder.{}.feed_forward.norm", "vit.encoder.layer.{}.layernorm_after"),
    ("encoder.{}.feed_forward.in", "vit.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "vit.encoder.layer.{}.output.dense"),
    ("encoder.final_norm", "vit.layernorm"),
    ("head.classes", "classifier"),
];

/// How the files of a plan's family call its tensors.
pub(super) struct FileNames {
    tables: [NameTable; 2],
    /// The base model, which files of the base model alone leave out.
    base: &'static str,
    /// Whether these files do.
    is_base: bool,
    /// What else names begin with.
    others: &'static [&'static str],
    /// Beginnings of tensors that the model has no use for: tied copies of the word table, heads of other objectives.
    unused: &'static [&'static str],
    /// The ends of such: masks that old files keep as tensors.
    unused_ends: &'static [&'static str],
}

impl FileNames {
    pub fn of(plan: &ModelPlan) -> Self {
        let none = NameTable(&[]);
        match plan.naming {
            Naming::Bert => Self {
                tables: [seed_names(plan), NameTable(&[BERT_HEADS])],
                base: "bert.",
                is_base: matches!(plan.head, OutputPlan::States { .. }),
                others: &["cls.", "classifier.", "qa_outputs."],
                unused: match plan.head {
                    OutputPlan::Classes { .. } => &["cls.", "bert.embeddings.position_ids"],
                    OutputPlan::Span | OutputPlan::States { pools: false } => {
                        &["cls.", "bert.pooler.", "bert.embeddings.position_ids"]
                    }
                    OutputPlan::States { pools: true } => &["cls.", "bert.embeddings.position_ids"],
                    OutputPlan::Vocabulary(_) => &[
                        "cls.predictions.decoder.",
                        "cls.seq_relationship.",
                        "bert.pooler.",
                        "bert.embeddings.position_ids",
                    ],
                },
                unused_ends: &[],
            },
            Naming::Gpt2 => Self {
                tables: [seed_names(plan), none],
                base: "transformer.",
                is_base: false,
                others: &["lm_head."],
                unused: &["lm_head.weight"],
                unused_ends: &[".attn.bias", ".attn.masked_bias"],
            },
            Naming::Bart => Self {
                tables: [NameTable(&[BART]), none],
                base: "model.",
                is_base: false,
                others: &["final_logits_bias", "lm_head."],
                unused: &["lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"],
                unused_ends: &[],
            },
            Naming::Vit => Self {
                tables: [NameTable(&[VIT]), none],
                base: "vit.",
                is_base: false,
                others: &["classifier."],
                unused: &["vit.pooler."],
                unused_ends: &[],
            },
        }
    }

    /// The whole name of a tensor as today's files have it: with the base model, and without BERT's old names of norms.
    pub fn whole(&self, name: &str) -> String {
        let name = match name.rsplit_once('.') {
            Some((module, "gamma")) => format!("{module}.weight"),
            Some((module, "beta")) => format!("{module}.bias"),
            _ => name.to_owned(),
        };
        let is_whole = name.starts_with(self.base) || self.others.iter().any(|other| name.starts_with(other));
        if is_whole { name } else { format!("{}{name}", self.base) }
    }

    /// Whether the model has no use for the tensor with this whole name.
    pub fn is_unused(&self, whole: &str) -> bool {
        self.unused.iter().any(|start| whole.starts_with(start))
            || self.unused_ends.iter().any(|end| whole.ends_with(end))
    }

    /// Our name of the tensor with this whole name.
    pub fn ours(&self, whole: &str) -> Option<String> {
        self.tables.iter().find_map(|table| table.ours(whole))
    }

    /// The name of a parameter in files; our own where theirs have none.
    pub fn file_name(&self, name: &str) -> String {
        let whole = self.tables.iter().find_map(|table| table.theirs(name)).unwrap_or_else(|| name.to_owned());
        whole.strip_prefix(self.base).filter(|_| self.is_base).map(str::to_owned).unwrap_or(whole)
    }
}

/// The shape that a parameter has in files, where it is not ours, `shape`.
pub(super) fn file_shape(plan: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
    match (plan.naming, plan.input, name) {
        (Naming::Bart, _, "head.bias") | (Naming::Vit, _, "encoder.positions.weight") => {
            Some([&[1][..], shape].concat())
        }
        (Naming::Vit, _, "input.class_token") => Some([&[1, 1][..], shape].concat()),
        (Naming::Vit, InputPlan::Patches { patch, channels, .. }, "input.patches.weight") => {
            Some(vec![plan.stack.width, channels, patch, patch])
        }
        _ => None,
    }
}
