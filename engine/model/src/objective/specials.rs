/// Names of the mask token, most usual first, in tokenizers by various makers.
const MASK: [&str; 3] = ["[MASK]", "<mask>", "<|mask|>"];
const PAD: [&str; 5] = ["[PAD]", "<pad>", "<|pad|>", "<|padding|>", "<|finetune_right_pad_id|>"];
const START: [&str; 4] = ["[CLS]", "<s>", "<cls>", "<bos>"];
const SEPARATOR: [&str; 4] = ["[SEP]", "</s>", "<sep>", "<eos>"];
const END: [&str; 8] =
    ["<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>", "[EOS]", "<|im_end|>", "[SEP]", "<|eot_id|>"];
const UNKNOWN: [&str; 3] = ["[UNK]", "<unk>", "<|unk|>"];

/// The tokens with a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    /// Fills up short examples. Where the vocabulary has none, the end-of-text token or token 0 stands in; padding
    /// is always masked, so it never matters which.
    pub pad: u32,
    /// Hides a token that a model is to fill in.
    pub mask: Option<u32>,
    /// Starts an example whose tokens are filled in.
    pub cls: Option<u32>,
    /// Ends such an example and stands after its documents.
    pub sep: Option<u32>,
    /// Ends a document of which the next token is predicted.
    pub end_of_text: Option<u32>,
    /// Stands for what the vocabulary cannot spell.
    pub unknown: Option<u32>,
}

impl Specials {
    /// Every one that the vocabulary has, but what stands for the unknown.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        let marks = [self.mask, self.cls, self.sep, self.end_of_text];
        marks.into_iter().flatten()
    }

    /// Looks the usual names up. `id_of` gives the id of a token, if it is in the vocabulary.
    pub fn find(id_of: impl Fn(&str) -> Option<u32>) -> Self {
        let first = |names: &[&str]| names.iter().find_map(|name| id_of(name));
        let end_of_text = first(&END);
        Self {
            pad: first(&PAD).or(end_of_text).unwrap_or(0),
            mask: first(&MASK),
            cls: first(&START),
            sep: first(&SEPARATOR),
            end_of_text,
            unknown: first(&UNKNOWN),
        }
    }
}
