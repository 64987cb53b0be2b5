//! The description of a kind of data.

use std::path::Path;

use super::{LongPairs, PathField, TextPlace};
use crate::config::{ImageShape, Problem};

/// Form of the examples of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modality {
    /// Plain text.
    Text,
    /// Texts with their translations.
    Pairs,
    /// Texts with a label each.
    Rows,
    /// Questions with paragraphs that hold their answers.
    Spans,
    /// Images with a class each.
    Images,
}

/// Facts about a kind of data, whatever its settings.
#[derive(Debug)]
pub struct SourceFacts {
    /// Its word in configs.
    pub kind: &'static str,
    /// Its label in menus.
    pub label: &'static str,
    /// Form of its examples.
    pub modality: Modality,
    /// Its name in messages, where its examples are generated; else that of its files.
    pub name: Option<&'static str>,
    /// Name of a run until somebody names it: of a decoder, and of another model.
    pub run_names: [&'static str; 2],
    /// The vocabulary, where it has one of its own.
    pub symbols: &'static [&'static str],
    /// Tasks that are learnt from it, by their words in configs; the usual one first.
    pub tasks: &'static [&'static str],
    /// The message where it has labels and a config has no task.
    pub without_task: Option<&'static str>,
    /// True if it always has held-out examples of its own.
    pub has_own_split: bool,
    /// True if it is text by the rules of the built-in grammar, by which what a model writes can be checked.
    pub follows_grammar: bool,
}

impl SourceFacts {
    /// Those that most kinds share.
    pub(super) const USUAL: Self = Self {
        kind: "",
        label: "",
        modality: Modality::Text,
        name: None,
        run_names: [""; 2],
        symbols: &[],
        tasks: &[],
        without_task: None,
        has_own_split: false,
        follows_grammar: false,
    };
}

/// Settings of a kind of data: the fields that stand in `[data]` beside the common ones.
pub trait SourceSettings {
    /// Facts about data of this kind.
    fn facts(&self) -> &'static SourceFacts;

    /// The fields that name files, as far as it has such.
    fn path_fields(&mut self) -> Vec<PathField<'_>> {
        Vec::new()
    }

    /// Other problems of it, as far as can be said without its files.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Reason why a task that is for other examples of this form is not learnt from it, where there is more to say than its tasks.
    fn refusal(&self, _task: &str) -> Option<&'static str> {
        None
    }

    /// Texts of an example that has a label.
    fn texts(&self) -> Option<usize> {
        None
    }

    /// Tokens of its longest example, where that is known before it is read.
    fn longest(&self) -> Option<usize> {
        None
    }

    /// Treatment of pairs that are too long.
    fn long_pairs(&self) -> LongPairs {
        LongPairs::default()
    }

    /// Words and seed of generated text, which its kinds share in forms.
    fn amount_mut(&mut self) -> Option<(&mut usize, &mut u64)> {
        None
    }

    /// The shape of its images, where it is known without looking at them.
    fn image_shape(&self) -> Option<ImageShape> {
        None
    }

    /// The shape that its files were found to have; none where it is to be looked up.
    fn set_image_shape(&mut self, _found: Option<ImageShape>) {}

    /// Place of the text in its files.
    fn text_place(&self) -> TextPlace {
        TextPlace::default()
    }

    /// Says where in its files texts and labels stand, as far as that is named.
    fn set_text_place(&mut self, _place: &TextPlace) {}

    /// Turns to another file or folder, which is read as the one before was and has nothing held out. False where no other file can
    /// share its settings.
    fn turn_to(&mut self, _path: &Path) -> bool {
        false
    }
}
