//! Tables that files may hold several times: what is tied in `transformers`, and what differs there in spite of that.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use crate::checkpoint::{CONFIG, CheckpointError, tensors::Weights};

/// The tensors of a family that are usually copies of others, by their whole names.
#[derive(Clone, Copy, Debug)]
pub(in crate::checkpoint) struct Ties {
    /// Beginning of the base model's names, which files of the base model alone leave out.
    pub base: &'static str,
    /// Beginning of all names in files of a model that was put into another one.
    pub wrapper: Option<&'static str>,
    /// The table of the embeddings.
    pub words: &'static str,
    /// Copies of it that the embeddings of stacks are.
    pub inputs: &'static [&'static str],
    /// The table of the head.
    pub head: &'static str,
    /// The bias of that table, and the tensor that it is a copy of.
    pub head_bias: Option<(&'static str, &'static str)>,
}

/// The table of a head as far as files have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::checkpoint) enum HeadTensor {
    /// None, or no file is known.
    #[default]
    Absent,
    /// The numbers of the embeddings.
    Same,
    /// Other numbers.
    Other,
}

/// Copies of its family that the files of one model hold.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct TiedTensors {
    /// The head's table.
    pub head: HeadTensor,
    /// Name in the files.
    pub head_name: Option<String>,
    /// Names in files that stand for other tensors, by their whole names.
    pub renamed: Vec<(String, &'static str)>,
    /// Names in files of copies that hold nothing else.
    pub copies: BTreeSet<String>,
}

impl TiedTensors {
    /// Compares the copies with what they are copies of.
    ///
    /// # Errors
    /// If embeddings of stacks differ, or the files cannot be read.
    pub fn of(
        ties: &Ties,
        weights: &Weights<'_>,
        notes: &RefCell<Vec<String>>,
        dir: &Path,
    ) -> Result<Self, CheckpointError> {
        let names = weights.names();
        let named = |whole: &str| {
            let short = whole.strip_prefix(ties.base).filter(|_| !ties.base.is_empty());
            let wrapped = ties.wrapper.map(|wrapper| format!("{wrapper}{}", short.unwrap_or(whole)));
            let written = [Some(whole), short, wrapped.as_deref()];
            written.into_iter().flatten().find(|name| names.contains(*name)).map(str::to_owned)
        };
        let mut tied = Self::default();
        let mut words = named(ties.words);
        let head = named(ties.head);
        for input in ties.inputs.iter().filter_map(|input| named(input)) {
            match &words {
                None => {
                    tied.renamed.push((input.clone(), ties.words));
                    words = Some(input);
                }
                Some(words) if weights.are_equal(words, &input)? => {
                    let _ = tied.copies.insert(input);
                }
                Some(words) => {
                    let why = format!(
                        "{input} and {words} hold other numbers, and a model whose stacks have embeddings of their own cannot be computed \
                         here."
                    );
                    return Err(CheckpointError::Settings { file: CONFIG.to_owned(), why, path: dir.to_owned() });
                }
            }
        }
        tied.head = match (&words, &head) {
            (_, None) => HeadTensor::Absent,
            (None, Some(head)) => {
                tied.renamed.push((head.clone(), ties.words));
                HeadTensor::Same
            }
            (Some(words), Some(head)) if weights.are_equal(words, head)? => HeadTensor::Same,
            (Some(_), Some(_)) => HeadTensor::Other,
        };
        tied.head_name = head;
        if let Some((copy, original)) = ties.head_bias
            && let Some(copy) = named(copy)
        {
            match named(original) {
                Some(original) if weights.are_equal(&copy, &original)? => {
                    let _ = tied.copies.insert(copy);
                }
                found => {
                    if let Some(found) = found {
                        notes
                            .borrow_mut()
                            .push(format!("{copy} and {found} hold other numbers; {copy} is the bias of the head."));
                        let _ = tied.copies.insert(found);
                    }
                    tied.renamed.push((copy, original));
                }
            }
        }
        Ok(tied)
    }
}
