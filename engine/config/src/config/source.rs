//! Sources of examples. Each kind of data is described in its own file below `source/`; the list of the kinds stands here, and
//! nowhere else.

mod facts;
mod file;
mod files;
mod grammar;
mod images;
mod listops;
mod long_pairs;
mod number_words;
mod pairs;
mod pathfinder;
mod paths;
mod random;
mod squad;
mod table;
mod text_place;

use std::{fmt, path::Path};

use serde::{Deserialize, Serialize};

use super::{ImageShape, MOST_SIDE, field_spec::Choice};

pub use facts::{Modality, SourceFacts, SourceSettings};
pub use long_pairs::LongPairs;
pub use paths::{Holds, PathField, PathSlot};
pub use text_place::TextPlace;
// A kind of data is named in its own file alone.
pub use {
    file::*, grammar::*, images::*, listops::*, number_words::*, pairs::*, pathfinder::*, random::*, squad::*, table::*,
};

/// Hands every kind of data with its settings to a macro, in the order of menus. It declares [`config::Source`](crate::config::Source);
/// other modules dispatch by it to what they implement for the settings.
#[macro_export]
macro_rules! kinds_of_data {
    ($then:ident) => {
        $then! {
            /// English-like text from the built-in probabilistic grammar.
            Grammar(GrammarSource),
            /// The grammar's control: words drawn independently with the same unigram frequencies.
            Random(RandomSource),
            /// Files on disk.
            File(FileSource),
            /// English numbers and dates in words with their German translations, generated.
            NumberWords(NumberWordsSource),
            /// Pairs of texts on disk, to translate from one into the other.
            Pairs(PairsSource),
            /// A table on disk: one or two texts a row, with a label.
            Table(TableSource),
            /// Questions about paragraphs on disk.
            Squad(SquadSource),
            /// Images on disk, with a class each.
            Images(ImagesSource),
            /// Images of curves that one follows with the eye, generated.
            Pathfinder(PathfinderSource),
            /// Expressions of lists of digits with their values, generated.
            #[serde(rename = "listops")]
            ListOps(ListOpsSource),
        }
    };
}

macro_rules! declare {
    ($($(#[$about:meta])* $kind:ident($settings:ident),)+) => {
        /// Source of examples.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Source {
            $($(#[$about])* $kind($settings),)+
        }

        impl Source {
            /// Word and label of each kind, in the order of menus.
            pub(super) const KINDS: &[Choice] = &[$(($settings::FACTS.kind, $settings::FACTS.label)),+];

            /// One of each kind with its usual settings, in the order of menus.
            pub fn examples() -> Vec<Self> {
                vec![$(Self::$kind($settings::default())),+]
            }

            /// Its settings, which describe it.
            pub fn settings(&self) -> &dyn SourceSettings {
                match self { $(Self::$kind(own) => own),+ }
            }

            /// The same to be changed.
            pub fn settings_mut(&mut self) -> &mut dyn SourceSettings {
                match self { $(Self::$kind(own) => own),+ }
            }
        }
    };
}

kinds_of_data!(declare);

impl Default for Source {
    fn default() -> Self {
        Self::Grammar(GrammarSource::default())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.facts().name {
            Some(name) => f.write_str(name),
            None => f.write_str(&self.file_names(false)),
        }
    }
}

impl Source {
    /// Facts about data of its kind.
    pub fn facts(&self) -> &'static SourceFacts {
        self.settings().facts()
    }

    /// The kind of this word in configs, with its usual settings.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::examples().into_iter().find(|source| source.facts().kind == kind)
    }

    /// A file or folder of examples of this modality.
    #[must_use]
    pub fn of_file(modality: Modality, path: &Path) -> Self {
        let mut source = match modality {
            Modality::Text => Self::File(FileSource::default()),
            Modality::Pairs => Self::Pairs(PairsSource::default()),
            Modality::Rows => Self::Table(TableSource::default()),
            Modality::Spans => Self::Squad(SquadSource::default()),
            Modality::Images => Self::Images(ImagesSource::default()),
        };
        source.put_path("data.path", path.to_owned());
        source
    }

    /// Texts with their translations, line by line.
    #[must_use]
    pub fn of_translations(source: &Path, target: &Path) -> Self {
        let [source, target] = [source, target].map(|path| Some(path.to_owned()));
        Self::Pairs(PairsSource { source, target, ..PairsSource::default() })
    }

    /// A file or folder of examples of this modality; of that of these data it is read as theirs are.
    #[must_use]
    pub fn reading(&self, modality: Modality, path: &Path) -> Self {
        let mut own = self.clone();
        let is_read = self.facts().modality == modality && own.settings_mut().turn_to(path);
        if is_read { own } else { Self::of_file(modality, path) }
    }

    /// Data of this modality that are generated: what stands in where no file is named yet.
    pub fn generated(modality: Modality) -> Option<Self> {
        Self::examples().into_iter().find(|source| source.facts().modality == modality && !source.reads_files())
    }

    /// Returns true if its examples stand on disk.
    pub fn reads_files(&self) -> bool {
        self.facts().name.is_none()
    }

    /// Returns true if it gives pairs of texts, for models that translate.
    pub fn has_pairs(&self) -> bool {
        self.facts().modality == Modality::Pairs
    }

    /// Returns true if it gives texts or images with labels or answers, for models with a task.
    pub fn has_labels(&self) -> bool {
        matches!(self.facts().modality, Modality::Rows | Modality::Spans | Modality::Images)
    }

    /// Returns true if it gives images, which have no text, no tokenizer and no sequence length of their own.
    pub fn has_images(&self) -> bool {
        self.facts().modality == Modality::Images
    }

    /// Returns true if nothing is to be chosen about tokens: it has no text, or a vocabulary of its own.
    pub fn has_own_tokens(&self) -> bool {
        self.has_images() || !self.facts().symbols.is_empty()
    }

    /// Returns true if it says itself which examples are held out, so that no share of them is.
    pub fn has_own_split(&self) -> bool {
        self.facts().has_own_split || self.named_paths().any(|path| path.is_held_out && path.holds == Holds::Examples)
    }

    /// The validation set's name: that of its own file, where there is one.
    pub fn held_out_name(&self) -> String {
        Some(self.file_names(true)).filter(|names| !names.is_empty()).unwrap_or_else(|| self.to_string())
    }

    /// The shape of its images; where it is not known, one that squares of `patch` pixels cut and that is about that of MNIST
    /// and CIFAR: for estimates.
    pub fn image_shape_or_assumed(&self, patch: usize) -> ImageShape {
        const SIDE: usize = 32;
        let patch = patch.clamp(1, MOST_SIDE);
        self.image_shape().unwrap_or(ImageShape { size: SIDE.div_ceil(patch) * patch, channels: 3 })
    }

    /// The shape of its images, where it is known without looking at them.
    pub fn image_shape(&self) -> Option<ImageShape> {
        self.settings().image_shape()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_describes_itself() {
        let mut kinds = Vec::new();
        for source in Source::examples() {
            let facts = source.facts();
            let written = serde_json::to_value(&source).unwrap();
            assert_eq!(written["kind"], facts.kind);
            assert_eq!(Source::of_kind(facts.kind), Some(source.clone()));
            assert_eq!(
                source.reads_files(),
                source.clone().path_fields().iter().any(|field| field.name == "data.path")
            );
            assert_eq!(source.has_labels(), facts.without_task.is_some(), "{}", facts.kind);
            assert!(!source.has_labels() || !facts.tasks.is_empty(), "{}", facts.kind);
            assert!(!kinds.contains(&facts.kind));
            kinds.push(facts.kind);
        }
        assert!(Source::of_kind("nothing").is_none());
    }

    #[test]
    fn there_is_a_file_of_each_modality() {
        for modality in [Modality::Text, Modality::Pairs, Modality::Rows, Modality::Spans, Modality::Images] {
            let source = Source::of_file(modality, Path::new("a/b.txt"));
            assert_eq!((source.facts().modality, source.to_string().as_str()), (modality, "b.txt"));
            assert!(!source.has_own_split());
        }
    }

    #[test]
    fn held_out_examples_stand_alone_where_they_have_files_or_are_generated() {
        let alone = |text: &str| toml::from_str::<Source>(text).unwrap().held_out_alone();
        let source = |text: &str| Some(toml::from_str::<Source>(text).unwrap());
        for (given, expected) in [
            (
                "kind = 'file'\npath = 'a'\nfield = 'f'\nvalidation_path = 'b'",
                source("kind = 'file'\npath = 'b'\nfield = 'f'"),
            ),
            ("kind = 'file'\npath = 'a'", None),
            (
                "kind = 'images'\npath = 'a'\nlabels = 'l'\nclasses = 'c'\nvalidation_path = 'b'\nvalidation_labels = 'm'",
                source("kind = 'images'\npath = 'b'\nlabels = 'm'\nclasses = 'c'"),
            ),
            ("kind = 'images'\npath = 'a'\nvalidation_labels = 'm'", None),
            (
                "kind = 'pairs'\nsource = 'a'\ntarget = 'b'\nvalidation_source = 'c'\nvalidation_target = 'd'",
                source("kind = 'pairs'\nsource = 'c'\ntarget = 'd'"),
            ),
            // Held-out pairs need not stand in files like those that are trained on.
            ("kind = 'pairs'\nsource = 'a'\ntarget = 'b'\nvalidation_path = 'c'", source("kind = 'pairs'\npath = 'c'")),
            (
                "kind = 'pairs'\npath = 'c'\nvalidation_source = 'a'\nvalidation_target = 'b'",
                source("kind = 'pairs'\nsource = 'a'\ntarget = 'b'"),
            ),
            ("kind = 'listops'", source("kind = 'listops'")),
        ] {
            assert_eq!(alone(given), expected, "{given}");
        }
    }

    #[test]
    fn another_file_is_read_as_the_one_before_it() {
        let table: Source = toml::from_str("kind = 'table'\npath = 'a'\ntext = 'x'\nvalidation_path = 'b'").unwrap();
        let read = |modality, source: &Source| source.reading(modality, Path::new("new"));
        assert_eq!(read(Modality::Rows, &table), toml::from_str("kind = 'table'\npath = 'new'\ntext = 'x'").unwrap());
        assert_eq!(read(Modality::Text, &table), toml::from_str("kind = 'file'\npath = 'new'").unwrap());
        assert_eq!(read(Modality::Pairs, &Source::default()), toml::from_str("kind = 'pairs'\npath = 'new'").unwrap());
    }
}
