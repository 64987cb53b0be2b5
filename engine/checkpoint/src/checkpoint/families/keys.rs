//! The keys of a `config.json`, as families read them.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use serde_json::{Map, Value, json};

use super::{HeadTensor, TiedTensors};

use crate::{
    attention::{
        HeadTable, InputPlan, ModelPlan, OutputPlan, Preset, StackName, StackPlan, VocabularyHead, supported_design,
    },
    checkpoint::{CONFIG, CheckpointError},
    config::{AttentionConfig, Cache, CustomReuse, ModelConfig, NormPlacement, Problem, Reuse},
    ops::{Activation, Gelu},
    text::shortened,
};

/// The most classes, pixels of a side of an image, and numbers of a pixel that are read.
const MOST_CLASSES: usize = 1 << 20;
const LARGEST_IMAGE: usize = 1 << 14;
const MOST_CHANNELS: usize = 1 << 10;

/// The most heads of all layers together.
const MOST_CELLS: usize = 1 << 18;

/// The widest stream.
const MOST_WIDTH: usize = 1 << 16;

/// Activations by their words in configurations; the first word of each is the one that is written.
const ACTIVATIONS: [(&str, Activation); 8] = [
    ("gelu", Activation::Gelu(Gelu::Exact)),
    ("gelu_new", Activation::Gelu(Gelu::Tanh)),
    ("gelu_pytorch_tanh", Activation::Gelu(Gelu::Tanh)),
    ("gelu_fast", Activation::Gelu(Gelu::Tanh)),
    ("relu", Activation::Relu),
    ("silu", Activation::Silu),
    ("swish", Activation::Silu),
    ("tanh", Activation::Tanh),
];

/// The word of an activation.
pub(in crate::checkpoint) fn activation_word(activation: Activation) -> &'static str {
    ACTIVATIONS.iter().find(|(_, other)| *other == activation).map_or("", |(word, _)| word)
}

/// What our own type of model says beside a family's keys; nothing of it in a model of `transformers`.
pub(in crate::checkpoint) struct Own {
    /// Where norms stand; none where the family alone says it.
    pub norm: Option<NormPlacement>,
    /// Answers about attention.
    pub attention: AttentionConfig,
    /// Length of the sequences that pairs were chosen for.
    pub length: Option<usize>,
}

/// The keys of a `config.json`.
pub(in crate::checkpoint) struct Keys<'a> {
    pub written: &'a Map<String, Value>,
    /// The names of all tensors beside it.
    pub tensors: &'a BTreeSet<String>,
    /// Tensors that are copies of each other.
    pub tied: &'a TiedTensors,
    /// Sentences on decisions against the settings.
    pub notes: &'a RefCell<Vec<String>>,
    pub dir: &'a Path,
}

/// End of a model, as the name of its class says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) enum Ending {
    /// A logit for every token.
    Tokens,
    /// One class or number for each example.
    Classes,
    /// Begin and end of an answer.
    Span,
    /// The last states.
    States,
    /// Another head, which no family here has.
    Other,
    /// No class is named.
    Unsaid,
}

/// The ends of names of classes that predict tokens, further heads beside or not.
const TOKENS: [&str; 7] = [
    "DoubleHeadsModel",
    "ForCausalLM",
    "ForConditionalGeneration",
    "ForMaskedLM",
    "ForPreTraining",
    "LMHeadModel",
    "MTModel",
];

impl Keys<'_> {
    pub fn settings(&self, why: String) -> CheckpointError {
        CheckpointError::Settings { file: CONFIG.to_owned(), why, path: self.dir.to_owned() }
    }

    pub fn wrong(&self, key: &str, expected: &str) -> CheckpointError {
        self.settings(match self.written.get(key) {
            None => format!("it has no `{key}`."),
            Some(found) => format!("`{key}` is {}, but must be {expected}.", shortened(&found.to_string(), 200)),
        })
    }

    /// Keeps a sentence about what was decided.
    pub fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    /// Whether there is a tensor whose name begins so.
    pub fn holds(&self, start: &str) -> bool {
        self.tensors.iter().any(|name| name.starts_with(start))
    }

    /// The class of `transformers` that wrote it.
    pub fn class(&self) -> Option<&str> {
        self.written.get("architectures")?.get(0)?.as_str()
    }

    pub fn word(&self, key: &str) -> Result<String, CheckpointError> {
        self.written.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| self.wrong(key, "a text"))
    }

    pub fn count(&self, key: &str) -> Result<usize, CheckpointError> {
        let count = self.written.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.wrong(key, "a whole number"))
    }

    /// A count that has a usual value where nothing is said.
    pub fn count_or(&self, key: &str, usual: usize) -> Result<usize, CheckpointError> {
        match self.written.get(key) {
            None | Some(Value::Null) => Ok(usual),
            Some(_) => self.count(key),
        }
    }

    /// The width of a stream that heads do not add up to.
    pub fn width(&self, key: &str) -> Result<usize, CheckpointError> {
        let width = self.count(key)?;
        if (1..=MOST_WIDTH).contains(&width) { Ok(width) } else { Err(self.wrong(key, "a width of 1 to 65536")) }
    }

    pub fn number(&self, key: &str, default: f64) -> Result<f64, CheckpointError> {
        match self.written.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| self.wrong(key, "a number")),
        }
    }

    /// Yes or no.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, CheckpointError> {
        match self.written.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong(key, "true or false")),
        }
    }

    /// Refuses values that would make the model compute something else; an absent key means the usual value.
    pub fn demand(&self, key: &str, allowed: &[Value]) -> Result<(), CheckpointError> {
        match self.written.get(key) {
            None | Some(Value::Null) => Ok(()),
            Some(found) if allowed.contains(found) => Ok(()),
            Some(found) => Err(CheckpointError::Unsupported {
                key: key.to_owned(),
                found: found.to_string(),
                expected: allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
                path: self.dir.to_owned(),
            }),
        }
    }

    /// A checked stack, for sequences as long as there are positions where no other length is given.
    pub fn stack(
        &self,
        preset: &Preset,
        name: StackName,
        sizes: &ModelConfig,
        attention: &AttentionConfig,
        length: Option<usize>,
    ) -> Result<StackPlan, CheckpointError> {
        let length = length.or(sizes.positions).unwrap_or_default();
        let stack =
            preset.checked_stack(name, sizes, attention, length).map_err(|problems| self.unbuildable(&problems))?;
        self.supported(stack)
    }

    /// The stack, if its design can be built.
    pub fn supported(&self, stack: StackPlan) -> Result<StackPlan, CheckpointError> {
        let problems = supported_design(&stack);
        if problems.is_empty() { Ok(stack) } else { Err(self.unbuildable(&problems)) }
    }

    fn unbuildable(&self, problems: &[Problem]) -> CheckpointError {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        self.settings(format!("it describes a model that cannot be built ({}).", problems.join("; ")))
    }

    /// An activation by its word in configurations.
    pub fn activation(&self, key: &str, usual: &str) -> Result<Activation, CheckpointError> {
        let found = match self.written.get(key) {
            None | Some(Value::Null) => usual.to_owned(),
            Some(_) => self.word(key)?,
        };
        ACTIVATIONS.iter().find(|(word, _)| *word == found).map(|(_, activation)| *activation).ok_or_else(|| {
            CheckpointError::Unsupported {
                key: key.to_owned(),
                found: format!("{found:?}"),
                expected: ACTIVATIONS.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(" or "),
                path: self.dir.to_owned(),
            }
        })
    }

    /// The end of the model by its class. `tokens` are classes of the family beside [`TOKENS`] that predict tokens.
    pub fn ending(&self, tokens: &[&str]) -> Ending {
        let Some(class) = self.class() else { return Ending::Unsaid };
        let ends = |ends: &[&str]| ends.iter().any(|end| class.ends_with(end));
        if (tokens.contains(&class) && !class.ends_with("Model")) || ends(&TOKENS) {
            Ending::Tokens
        } else if ends(&["ForSequenceClassification", "ForImageClassification"]) {
            Ending::Classes
        } else if ends(&["ForQuestionAnswering"]) {
            Ending::Span
        } else if ends(&["Model"]) {
            Ending::States
        } else {
            Ending::Other
        }
    }

    /// The end of an encoder: a head for classes, spans or tokens, or else its last states. `heads` are the beginnings of tensors of
    /// a head that predicts tokens, `poolers` those of its pooler.
    pub fn encoder_head(
        &self,
        tokens: &[&str],
        pooler: Activation,
        usual: VocabularyHead,
        heads: &[&str],
        poolers: &[&str],
    ) -> Result<OutputPlan, CheckpointError> {
        let holds = |starts: &[&str]| starts.iter().any(|start| self.holds(start));
        Ok(match self.ending(tokens) {
            Ending::Classes => OutputPlan::Classes { classes: self.classes()?, pooler: Some(pooler), distils: false },
            Ending::Span => OutputPlan::Span,
            Ending::Tokens => self.predicts_tokens(usual)?,
            // What the files hold decides: sentence models often say another class than they are.
            Ending::States | Ending::Unsaid if holds(heads) => self.predicts_tokens(usual)?,
            Ending::States | Ending::Unsaid => OutputPlan::States { pools: holds(poolers) },
            Ending::Other => self.without_head(holds(poolers)),
        })
    }

    /// The end of a decoder: a head that predicts tokens, or else its last states.
    pub fn decoder_head(
        &self,
        tokens: &[&str],
        usual: VocabularyHead,
        heads: &[&str],
    ) -> Result<OutputPlan, CheckpointError> {
        Ok(match self.ending(tokens) {
            Ending::Tokens | Ending::Unsaid => self.predicts_tokens(usual)?,
            Ending::States if heads.iter().any(|start| self.holds(start)) => self.predicts_tokens(usual)?,
            Ending::States => OutputPlan::States { pools: false },
            Ending::Classes | Ending::Span | Ending::Other => self.without_head(false),
        })
    }

    /// The states of a model whose head is not computed here, with a note about that.
    pub fn without_head(&self, pools: bool) -> OutputPlan {
        let class = shortened(self.class().unwrap_or_default(), 100);
        self.note(format!("The head of {class} is not computed here; the model ends in its hidden states."));
        OutputPlan::States { pools }
    }

    /// The head that predicts tokens. Where the settings tie its table to the embeddings and the files hold another one, that is its
    /// table, as in `transformers` 5.
    pub fn predicts_tokens(&self, usual: VocabularyHead) -> Result<OutputPlan, CheckpointError> {
        let is_tied = self.flag("tie_word_embeddings", !usual.table.is_own())?;
        let table = match (is_tied, self.tied.head) {
            (true, HeadTensor::Other) => {
                self.note(
                    "config.json ties the table of the head to the embeddings (tie_word_embeddings), but the weights hold another \
                     table for it, which is taken."
                        .to_owned(),
                );
                HeadTable::Own
            }
            (true, HeadTensor::Absent | HeadTensor::Same) => HeadTable::Tied,
            (false, _) => HeadTable::Own,
        };
        Ok(OutputPlan::Vocabulary(VocabularyHead { table, ..usual }))
    }

    /// The schedule of a model whose heads were pruned: these do not exist. None where every head is there.
    ///
    /// # Errors
    /// If `pruned_heads` names heads that the model never had.
    pub fn pruned(&self, layers: usize, heads: usize) -> Result<Option<Reuse>, CheckpointError> {
        let wrong = || self.wrong("pruned_heads", "heads by the number of their layer, such as {\"0\": [1]}");
        let pruned = match self.written.get("pruned_heads") {
            None | Some(Value::Null) => return Ok(None),
            Some(pruned) => pruned.as_object().ok_or_else(wrong)?,
        };
        if pruned.values().all(|heads| heads.as_array().is_some_and(Vec::is_empty)) {
            return Ok(None);
        }
        if layers.saturating_mul(heads) > MOST_CELLS {
            return Err(wrong());
        }
        let mut rows = vec![vec!["c"; heads]; layers];
        for (layer, list) in pruned {
            let row = layer.parse().ok().and_then(|layer: usize| rows.get_mut(layer)).ok_or_else(wrong)?;
            for head in list.as_array().ok_or_else(wrong)? {
                let head = head.as_u64().and_then(|head| row.get_mut(usize::try_from(head).ok()?));
                *head.ok_or_else(wrong)? = "-";
            }
        }
        Ok(Some(Reuse::Custom(CustomReuse { rows: rows.iter().map(|row| row.join(" ")).collect() })))
    }

    /// The answers about attention of a model of `sizes` whose heads may have been pruned.
    ///
    /// # Errors
    /// As [`Self::pruned`].
    pub fn with_pruned(&self, own: &Own, sizes: &ModelConfig) -> Result<AttentionConfig, CheckpointError> {
        let mut attention = own.attention.clone();
        if own.norm.is_none()
            && let Some(reuse) = self.pruned(sizes.layers, sizes.heads)?
        {
            attention.reuse = reuse;
        }
        Ok(attention)
    }

    /// Refuses pruned heads, in families of which no such models are computed. `transformers` 4 prunes some of them; 5 prunes none.
    pub fn demand_all_heads(&self) -> Result<(), CheckpointError> {
        match self.written.get("pruned_heads") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(layers)) if layers.values().all(|heads| *heads == json!([])) => Ok(()),
            Some(found) => Err(CheckpointError::PrunedHeads { found: found.to_string(), path: self.dir.to_owned() }),
        }
    }

    /// A model that reads tokens.
    pub fn text(
        &self,
        preset: &Preset,
        encoder: Option<StackPlan>,
        stack: StackPlan,
        head: OutputPlan,
    ) -> Result<ModelPlan, CheckpointError> {
        let vocabulary = self.count("vocab_size")?;
        if vocabulary == 0 {
            return Err(self.wrong("vocab_size", "at least 1"));
        }
        let input = InputPlan::Tokens { vocabulary, types: preset.token_types };
        let encoder = encoder.map(Box::new);
        Ok(ModelPlan { naming: preset.naming, input, encoder, stack, head, cache: Cache::default() })
    }

    /// Pixels of a side of an image and of a patch, and numbers of a pixel.
    pub fn patches(&self) -> Result<(usize, usize, usize), CheckpointError> {
        let or = |key: &str, usual: usize| if self.written.contains_key(key) { self.count(key) } else { Ok(usual) };
        let (image, patch, channels) = (or("image_size", 224)?, or("patch_size", 16)?, or("num_channels", 3)?);
        if patch == 0 || channels == 0 || channels > MOST_CHANNELS || !(1..=LARGEST_IMAGE).contains(&image) {
            return Err(self.settings(format!("an image of {image} pixels in patches of {patch} cannot be read.")));
        }
        if !image.is_multiple_of(patch) {
            return Err(self.settings(format!("{image} pixels are not divisible by patches of {patch}.")));
        }
        Ok((image, patch, channels))
    }

    /// What norms add to the variance.
    pub fn epsilon(&self, key: &str, preset: &Preset) -> Result<f64, CheckpointError> {
        let epsilon = self.number(key, preset.norm_epsilon)?;
        if epsilon.is_finite() && epsilon >= 0.0 {
            return Ok(epsilon);
        }
        Err(self.settings(format!("a norm epsilon of {epsilon} is outside 0 and above.")))
    }

    /// How many classes there are: 2 where nothing is said, as in `transformers`.
    pub fn classes(&self) -> Result<usize, CheckpointError> {
        let classes = match (self.written.get("num_labels"), self.written.get("id2label").and_then(Value::as_object)) {
            (Some(_), _) => self.count("num_labels")?,
            (None, Some(labels)) => labels.len(),
            (None, None) => 2,
        };
        if (1..=MOST_CLASSES).contains(&classes) {
            return Ok(classes);
        }
        Err(self.settings(format!("{classes} classes are outside 1 to {MOST_CLASSES}.")))
    }
}
