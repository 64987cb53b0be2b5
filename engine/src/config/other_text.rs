//! Another text for a model than the one that it was trained on.

use std::path::{Path, PathBuf};

use super::{DataConfig, FileSource, PairsSource, Source};

/// Where in another text what is to be read stands, as far as it differs from how the model's own text is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherText {
    /// The field of objects, as [`FileSource::field`].
    pub field: Option<String>,
    /// The column of a table, as [`FileSource::column`].
    pub column: Option<String>,
    /// Translations of the text, line by line.
    pub translations: Option<PathBuf>,
}

impl DataConfig {
    /// The same config, but reading this file or folder. Where translations are named, or the model learnt from pairs of texts,
    /// pairs are read: then from a table of both.
    #[must_use]
    pub fn reading(self, path: &Path, other: OtherText) -> Self {
        let OtherText { field, column, translations } = other;
        let source = match (translations, &self.source) {
            (Some(translations), _) => Source::Pairs(PairsSource {
                source: Some(path.to_owned()),
                target: Some(translations),
                ..PairsSource::default()
            }),
            (None, Source::Pairs(own)) => {
                let text = own.text.clone();
                Source::Pairs(PairsSource { path: Some(path.to_owned()), text, ..PairsSource::default() })
            }
            (None, Source::NumberWords(_)) => {
                Source::Pairs(PairsSource { path: Some(path.to_owned()), ..PairsSource::default() })
            }
            (None, own) => {
                let (own_field, own_column) = match own {
                    Source::File(file) => (file.field.clone(), file.column.clone()),
                    _ => (None, None),
                };
                Source::File(FileSource {
                    path: path.to_owned(),
                    validation_path: None,
                    field: field.or(own_field),
                    column: column.or(own_column),
                })
            }
        };
        Self { source, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NumberWordsSource;

    fn read(source: Source, other: OtherText) -> Source {
        DataConfig { source, ..DataConfig::default() }.reading(Path::new("other.csv"), other).source
    }

    #[test]
    fn another_file_is_read_as_the_own_one_was() {
        let file = |path: &str, column: &str| {
            Source::File(FileSource { path: path.into(), column: Some(column.to_owned()), ..FileSource::default() })
        };
        let named = OtherText { column: Some("b".to_owned()), ..OtherText::default() };
        assert_eq!(read(file("own.csv", "a"), OtherText::default()), file("other.csv", "a"));
        assert_eq!(read(file("own.csv", "a"), named.clone()), file("other.csv", "b"));
        assert_eq!(read(Source::default(), named), file("other.csv", "b"));
    }

    #[test]
    fn translations_make_pairs_and_pairs_stay_pairs() {
        let other = OtherText { translations: Some("other.de".into()), ..OtherText::default() };
        let Source::Pairs(pairs) = read(Source::default(), other) else { panic!("no pairs") };
        assert_eq!((pairs.source, pairs.target), (Some("other.csv".into()), Some("other.de".into())));
        for own in [Source::Pairs(PairsSource::default()), Source::NumberWords(NumberWordsSource::default())] {
            let Source::Pairs(pairs) = read(own, OtherText::default()) else { panic!("no pairs") };
            assert_eq!((pairs.path, pairs.source), (Some("other.csv".into()), None));
        }
    }
}
