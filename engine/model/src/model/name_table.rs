//! Names of parameters in the conventions of others, beside our own.

use crate::{
    attention::{ModelPlan, Naming},
    config::NormPlacement,
};

/// A row: our name and theirs. `{}` stands for the number of a layer, and a row is for every name that goes on after it
/// with a point.
pub type NameRow = (&'static str, &'static str);

/// Our names beside those of another convention. The first row that fits a name counts.
#[derive(Clone, Copy, Debug)]
pub struct NameTable<'a>(pub &'a [&'static [NameRow]]);

impl<'a> NameTable<'a> {
    /// Their name of a parameter of ours; none where they have none.
    pub fn theirs(self, ours: &str) -> Option<String> {
        self.rows().find_map(|(from, to)| translated(ours, from, to))
    }

    /// Our name of a parameter of theirs; none where we have none.
    pub fn ours(self, theirs: &str) -> Option<String> {
        self.rows().find_map(|(to, from)| translated(theirs, from, to))
    }

    fn rows(self) -> impl Iterator<Item = NameRow> + 'a {
        self.0.iter().copied().flatten().copied()
    }
}

/// `name`, which begins as `from`, as it is called where it begins as `to`.
fn translated(name: &str, from: &str, to: &str) -> Option<String> {
    let (number, rest) = match from.split_once("{}") {
        None => ("", name.strip_prefix(from)?),
        Some((before, after)) => {
            let tail = name.strip_prefix(before)?;
            let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
            let (number, tail) = tail.split_at(digits);
            (Some(number).filter(|number| !number.is_empty())?, tail.strip_prefix(after)?)
        }
    };
    (rest.is_empty() || rest.starts_with('.')).then(|| format!("{}{rest}", to.replacen("{}", number, 1)))
}

/// What all BERTs share.
const BERT: &[NameRow] = &[
    ("input.tokens", "bert.embeddings.word_embeddings"),
    ("input.types", "bert.embeddings.token_type_embeddings"),
    ("encoder.positions", "bert.embeddings.position_embeddings"),
    ("encoder.{}.self.output", "bert.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "bert.encoder.layer.{}.attention.self"),
    ("encoder.{}.feed_forward.in", "bert.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "bert.encoder.layer.{}.output.dense"),
    ("encoder.coverage", "bert.encoder.coverage"),
    ("encoder.restore", "bert.encoder.restore"),
    ("head.dense", "cls.predictions.transform.dense"),
    ("head.norm", "cls.predictions.transform.LayerNorm"),
    ("head.bias", "cls.predictions.bias"),
];

/// The norms of `BertForMaskedLM`.
const BERT_NORMS: &[NameRow] = &[
    ("encoder.embedding_norm", "bert.embeddings.LayerNorm"),
    ("encoder.{}.self.norm", "bert.encoder.layer.{}.attention.output.LayerNorm"),
    ("encoder.{}.feed_forward.norm", "bert.encoder.layer.{}.output.LayerNorm"),
];

/// The norms of `MegatronBertForMaskedLM`.
const MEGATRON_BERT_NORMS: &[NameRow] = &[
    ("encoder.{}.self.norm", "bert.encoder.layer.{}.attention.ln"),
    ("encoder.{}.feed_forward.norm", "bert.encoder.layer.{}.ln"),
    ("encoder.final_norm", "bert.encoder.ln"),
];

/// `GPT2LMHeadModel`; with norms last it has `ln_1` and `ln_2` after the residual sums, and `ln_e` instead of `ln_f`.
const GPT2: &[NameRow] = &[
    ("input.tokens", "transformer.wte"),
    ("decoder.positions", "transformer.wpe"),
    ("decoder.embedding_norm", "transformer.ln_e"),
    ("decoder.final_norm", "transformer.ln_f"),
    ("decoder.{}.self.norm", "transformer.h.{}.ln_1"),
    ("decoder.{}.self.output", "transformer.h.{}.attn.c_proj"),
    ("decoder.{}.self.query_key_value", "transformer.h.{}.attn.c_attn"),
    ("decoder.{}.self", "transformer.h.{}.attn"),
    ("decoder.{}.feed_forward.norm", "transformer.h.{}.ln_2"),
    ("decoder.{}.feed_forward.in", "transformer.h.{}.mlp.c_fc"),
    ("decoder.{}.feed_forward.out", "transformer.h.{}.mlp.c_proj"),
    ("decoder.coverage", "transformer.coverage"),
    ("decoder.restore", "transformer.restore"),
];

/// The names of a plan's parameters by which initial weights are drawn.
///
/// A parameter's random stream is chosen by its name in `transformers`, which was its name here too before it had one of
/// ours; and gradients are summed in the order of these names. Both decide about the last bit of every loss, so that
/// these tables never change. They are also what checkpoints of BERT, `MegatronBERT` and GPT-2 are read and written by.
pub fn seed_names(plan: &ModelPlan) -> NameTable<'static> {
    NameTable(match (plan.naming, plan.stack.norm) {
        (Naming::Bert, NormPlacement::Post) => &[BERT_NORMS, BERT],
        (Naming::Bert, NormPlacement::Pre) => &[MEGATRON_BERT_NORMS, BERT],
        (Naming::Gpt2, _) => &[GPT2],
        // The others came when parameters had names of ours.
        _ => &[],
    })
}

/// Our name of a parameter that an earlier version saved in a training state: under its name in `transformers`.
pub fn renamed_since(name: &str) -> Option<String> {
    NameTable(&[BERT_NORMS, MEGATRON_BERT_NORMS, BERT, GPT2]).ours(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        let table = NameTable(&[GPT2]);
        for (ours, theirs) in [
            ("decoder.11.self.query_key_value.weight", "transformer.h.11.attn.c_attn.weight"),
            ("decoder.0.self.output.bias", "transformer.h.0.attn.c_proj.bias"),
            ("decoder.0.self.key.bias", "transformer.h.0.attn.key.bias"),
            ("decoder.restore.weight", "transformer.restore.weight"),
            ("input.tokens.weight", "transformer.wte.weight"),
        ] {
            assert_eq!(table.theirs(ours).as_deref(), Some(theirs));
            assert_eq!(table.ours(theirs).as_deref(), Some(ours));
            assert_eq!(renamed_since(theirs).as_deref(), Some(ours));
            assert_eq!(renamed_since(ours), None);
        }
        for unknown in ["transformer.wte2.weight", "transformer.h..ln_1", "transformer.h.x.ln_1", "", "h.0.ln_1"] {
            assert_eq!(table.ours(unknown), None, "{unknown}");
        }
    }
}
