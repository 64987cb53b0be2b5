//! Places of paths that are found with a dialog.

use headroom_engine::config::DataConfig;

use crate::file_dialogs::{Answer, FileDialogs};

/// Puts the answers of file dialogs into their fields. Returns the field that changed.
pub fn picked(dialogs: &mut FileDialogs, data: &mut DataConfig) -> Option<&'static str> {
    let mut changed = None;
    for field in DataConfig::path_field_names() {
        // The user may have turned to another kind of data meanwhile.
        if let Some(Answer::Picked(path)) = dialogs.take(field)
            && data.put_path(field, path)
        {
            changed = Some(*field);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{
        Column, FileSource, FileTokenizer, GrammarSource, ImagesSource, ListOpsSource, NumberWordsSource, PairsSource,
        PathfinderSource, RandomSource, Source, SquadSource, TableSource, Tokenizer,
    };

    use std::path::PathBuf;

    use super::*;

    /// What stands in every path to begin with.
    const BEFORE: &str = "/before";

    /// One of each kind, with every path that it can have. A field that is new has to be named here.
    fn sources() -> [Source; 10] {
        let path = || PathBuf::from(BEFORE);
        let file = FileSource { path: path(), validation_path: Some(path()), field: None, column: None };
        let pairs = PairsSource {
            source: Some(path()),
            target: Some(path()),
            path: Some(path()),
            text: None,
            validation_source: Some(path()),
            validation_target: Some(path()),
            validation_path: Some(path()),
            long: PairsSource::default().long,
        };
        let table = TableSource {
            path: path(),
            validation_path: Some(path()),
            text: vec![Column::named("text")],
            label: Column::named("label"),
            header: None,
        };
        let squad = SquadSource { path: path(), validation_path: Some(path()), strict: false };
        let images = ImagesSource {
            path: path(),
            labels: Some(path()),
            validation_path: Some(path()),
            validation_labels: Some(path()),
            classes: Some(path()),
            size: Some(28),
            channels: Some(1),
        };
        [
            Source::File(file),
            Source::Pairs(pairs),
            Source::Table(table),
            Source::Squad(squad),
            Source::Images(images),
            Source::Grammar(GrammarSource::default()),
            Source::Random(RandomSource::default()),
            Source::NumberWords(NumberWordsSource::default()),
            Source::Pathfinder(PathfinderSource::default()),
            Source::ListOps(ListOpsSource::default()),
        ]
    }

    /// Adds the fields that hold this text, each below the path.
    fn holding(value: &serde_json::Value, text: &str, path: &str, found: &mut Vec<String>) {
        match value {
            serde_json::Value::String(own) if own == text => found.push(path.to_owned()),
            serde_json::Value::Object(fields) => {
                for (name, field) in fields {
                    holding(field, text, &format!("{path}.{name}"), found);
                }
            }
            _ => {}
        }
    }

    /// Fields of a config that hold this text.
    fn fields_with(data: &DataConfig, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        holding(&serde_json::to_value(data).unwrap_or_default(), text, "data", &mut found);
        found
    }

    #[test]
    fn every_path_of_every_kind_of_data_takes_what_a_dialog_finds() {
        for source in sources() {
            let kind = format!("{source:?}");
            let tokenizer = Tokenizer::File(FileTokenizer { path: BEFORE.into() });
            let data = DataConfig { source, tokenizer, ..DataConfig::default() };
            let named = fields_with(&data, BEFORE);
            assert_eq!(
                named.iter().any(|field| field == "data.tokenizer.path"),
                !data.source.has_own_tokens(),
                "{kind}"
            );
            for field in &named {
                assert!(
                    DataConfig::path_field_names().contains(&field.as_str()),
                    "nobody waits for what is found for {field}: {kind}"
                );
                let mut data = data.clone();
                assert!(data.put_path(field, "/after".into()), "{field}: {kind}");
                assert_eq!(fields_with(&data, "/after"), [field.as_str()], "{kind}");
            }
            for field in DataConfig::path_field_names().iter().filter(|field| !named.iter().any(|own| own == *field)) {
                let mut other = data.clone();
                assert!(!other.put_path(field, "/after".into()), "{field}: {kind}");
                assert_eq!(other, data);
            }
        }
    }

    #[test]
    fn a_path_that_was_empty_is_filled() {
        let source = Source::Images(ImagesSource::default());
        let mut data = DataConfig { source, ..DataConfig::default() };
        for field in ["data.path", "data.labels", "data.validation_path", "data.validation_labels", "data.classes"] {
            assert!(data.put_path(field, "/after".into()), "{field}");
        }
        assert_eq!(fields_with(&data, "/after").len(), 5);
    }

    #[test]
    fn other_images_have_a_size_of_their_own() {
        let images = ImagesSource { size: Some(28), channels: Some(1), ..ImagesSource::default() };
        let mut data = DataConfig { source: Source::Images(images), ..DataConfig::default() };
        data.put_path("data.validation_path", "/held-out".into());
        let Source::Images(held_out) = &data.source else { panic!("{:?}", data.source) };
        assert_eq!((held_out.size, held_out.channels), (Some(28), Some(1)));
        data.put_path("data.path", "/other".into());
        let Source::Images(other) = &data.source else { panic!("{:?}", data.source) };
        assert_eq!((other.size, other.channels), (None, None));
    }
}
