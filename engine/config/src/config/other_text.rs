//! Another text for a model than the one that it was trained on.

use std::path::{Path, PathBuf};

use super::{DataConfig, Modality, Source, TextPlace};

/// Place of what is read in another text, as far as it differs from how the model's own text is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherText {
    /// Place of the text.
    pub place: TextPlace,
    /// Translations of the text, line by line.
    pub translations: Option<PathBuf>,
}

impl DataConfig {
    /// The same config, but reading this file or folder. Where translations are named, or the model learnt from pairs of texts,
    /// pairs are read: then from a table of both.
    #[must_use]
    pub fn reading(self, path: &Path, other: OtherText) -> Self {
        let OtherText { place, translations } = other;
        let modality = if self.source.has_pairs() { Modality::Pairs } else { Modality::Text };
        let mut source = match translations {
            Some(translations) => Source::of_translations(path, &translations),
            None => self.source.reading(modality, path),
        };
        source.settings_mut().set_text_place(&place);
        Self { source, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FileSource, NumberWordsSource, PairsSource};

    fn read(source: Source, other: OtherText) -> Source {
        DataConfig { source, ..DataConfig::default() }.reading(Path::new("other.csv"), other).source
    }

    #[test]
    fn another_file_is_read_as_the_own_one_was() {
        let file = |path: &str, column: &str| {
            Source::File(FileSource { path: path.into(), column: Some(column.to_owned()), ..FileSource::default() })
        };
        let named = OtherText {
            place: TextPlace { column: Some("b".to_owned()), ..TextPlace::default() },
            ..OtherText::default()
        };
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
