use std::fmt;

use serde::{Deserialize, Serialize};

/// A part of a model of one stack, as `train.freeze` names it: `embeddings`, `layers.3`, `layers.0-5`, `head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelPart {
    /// The tables of tokens, types and positions, and what follows them before the first layer.
    Embeddings,
    /// Layers from 0, the last one included.
    Layers {
        /// The first of them.
        first: usize,
        /// The last of them.
        last: usize,
    },
    /// What makes outputs of the last states, and the norm before it.
    Head,
}

impl TryFrom<String> for ModelPart {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" names no part of a model: write \"embeddings\", \"head\", \"layers.3\" or \"layers.0-5\", layers from 0"
            )
        };
        match text.as_str() {
            "embeddings" => return Ok(Self::Embeddings),
            "head" => return Ok(Self::Head),
            _ => {}
        }
        let range = text.strip_prefix("layers.").ok_or_else(wrong)?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self::Layers { first, last }),
            _ => Err(wrong()),
        }
    }
}

impl From<ModelPart> for String {
    fn from(part: ModelPart) -> Self {
        part.to_string()
    }
}

impl fmt::Display for ModelPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embeddings => f.write_str("embeddings"),
            Self::Head => f.write_str("head"),
            Self::Layers { first, last } if first == last => write!(f, "layers.{first}"),
            Self::Layers { first, last } => write!(f, "layers.{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{from_toml, to_toml};

    #[test]
    fn parts_are_written_as_they_are_read() {
        for text in ["embeddings", "head", "layers.3", "layers.0-5"] {
            assert_eq!(ModelPart::try_from(text.to_owned()).map(String::from).as_deref(), Ok(text));
        }
        for text in ["", "layers", "layers.", "layers.5-2", "layers.a", "layers.-1", "layers.1-2-3", "pooler"] {
            assert!(ModelPart::try_from(text.to_owned()).is_err(), "{text}");
        }
        let config =
            from_toml("format = 1\n[train]\nfreeze = [\"embeddings\", \"layers.0-1\"]\nlayer_decay = 0.9\n").unwrap();
        assert_eq!(config.validate(), vec![]);
        assert_eq!(from_toml(&to_toml(&config)).unwrap(), config);
        let told = from_toml("format = 1\ntrain.freeze = [\"pooler\"]\n").unwrap_err().to_string();
        assert!(told.contains("train.freeze") && told.contains("names no part"), "{told}");
    }

    #[test]
    fn parts_that_are_not_there_and_models_of_two_stacks_are_refused() {
        let fields = |text: &str| -> Vec<String> {
            from_toml(&format!("format = 1\n{text}")).unwrap().validate().into_iter().map(|found| found.field).collect()
        };
        assert_eq!(fields("model.layers = 4\ntrain.freeze = [\"layers.2-4\"]\n"), ["train.freeze"]);
        assert_eq!(
            fields("model.layers = 4\ntrain.freeze = [\"embeddings\", \"layers.0-3\", \"head\"]\n"),
            ["train.freeze"]
        );
        assert_eq!(fields("train.layer_decay = 0.0\n"), ["train.layer_decay"]);
        assert_eq!(fields("train.layer_decay = 1.5\n"), ["train.layer_decay"]);
        let two = "model.kind = \"encoder_decoder\"\ndata.kind = \"number_words\"\ntrain.";
        assert_eq!(fields(&format!("{two}freeze = [\"embeddings\"]\n")), ["train.freeze"]);
        assert_eq!(fields(&format!("{two}layer_decay = 0.9\n")), ["train.layer_decay"]);
    }
}
