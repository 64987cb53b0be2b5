//! `headroom preview`: what a table, or images, hold and how a model will see it, before anything is trained on it.

use std::path::{Path, PathBuf};

use headroom_engine::{
    config::{Modality, RunConfig, Source, Tokenizer, counted},
    data::{
        DataPreview, ExamplesPreview, ImagesPreview, PreviewAnswers, Reading, TablePreview, preview,
        with_model_tokenizer,
    },
    hub,
};

use crate::export::TextTable;
use crate::format::shortened;

use super::{
    args::EstimateArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    plain, print,
    target::{Named, named},
};

/// Letters of a cell that are shown.
const LETTERS: usize = 60;

/// Shows what the data of a config hold: a table's columns, labels and rows, some questions, pairs or expressions, images by class.
pub fn run(store: Option<&Path>, args: &EstimateArgs) -> CliResult {
    let GivenConfig { config, base_dir, .. } = GivenConfig::read(&args.config)?;
    let config = hub::anchored(config, &base_dir);
    let model = initial_of(store, &config, &base_dir);
    let data = model.map_or_else(|| config.data.clone(), |model| with_model_tokenizer(&config.data, &model));
    let found = preview(&data, &config.objective(), &Reading::of(config.task.as_ref()))
        .map_err(|error| CliError::at(error.field().unwrap_or("data.path"), error.to_string()))?
        .ok_or_else(|| {
            let is_shown = |source: &Source| source.facts().modality != Modality::Text;
            let kinds = Source::examples().into_iter().filter(is_shown).map(|source| source.facts().kind);
            let kinds = kinds.collect::<Vec<_>>().join("\", \"");
            let why = "Nothing can be previewed of plain text, nor where no file is named yet";
            CliError::at("data.kind", format!("{why}: only where data.kind is one of \"{kinds}\"."))
        })?;
    match found {
        DataPreview::Table(found) if args.json => print::json(&found),
        DataPreview::Images(found) if args.json => print::json(&found),
        DataPreview::Examples(found) if args.json => print::json(&found),
        DataPreview::Table(found) => of_table(&found),
        DataPreview::Images(found) => of_images(&found),
        DataPreview::Examples(found) => of_examples(&found),
    }
}

/// Where the model lies whose tokenizer the config takes: a directory, a run's checkpoint, or what was fetched; none where it is
/// nowhere, or has no checkpoint yet.
fn initial_of(store: Option<&Path>, config: &RunConfig, base_dir: &Path) -> Option<PathBuf> {
    let initial = config.model.initial.as_ref().filter(|_| matches!(config.data.tokenizer, Tokenizer::Initial(_)))?;
    let joined = base_dir.join(initial);
    if joined.is_dir() {
        return Some(joined);
    }
    match named(store, initial).ok()? {
        Named::Directory(path) => Some(path),
        Named::Run(store, record) => {
            let checkpoints = store.checkpoints(&record.summary.id).ok()?;
            // All of them have the same tokenizer.
            checkpoints.into_iter().find(|checkpoint| checkpoint.problem.is_none()).map(|checkpoint| checkpoint.path)
        }
    }
}

fn of_examples(found: &ExamplesPreview) -> CliResult {
    print::line(format!("{}.", found.about))?;
    for example in &found.examples {
        print::line(format!("\n{}", example.texts.join("\n")))?;
        print::line(format!("-> {}", example.label))?;
        if let Some(tokens) = &example.tokens {
            let more = match example.cut_off {
                0 => String::new(),
                more => format!(" ({} do not fit)", counted(more, "token")),
            };
            print::line(format!("{}{more}", tokens.join(" ")))?;
        }
    }
    Ok(())
}

fn of_images(found: &ImagesPreview) -> CliResult {
    let size = found.shape.size;
    let colour = if found.shape.channels == 1 { "grey" } else { "coloured" };
    print::line(format!("{} of {size} x {size} pixels, {colour}.", counted(found.images, "image")))?;
    for folder in &found.empty_folders {
        print::line(format!("The folder {folder} holds no image, so that it is no class."))?;
    }
    counts("images", &found.classes)
}

/// How many examples each class has.
fn counts(of: &str, classes: &[(String, u64)]) -> CliResult {
    if classes.is_empty() {
        return Ok(());
    }
    let mut labels = TextTable::new(["label", of]);
    for (label, count) in classes {
        labels.row([shortened(label, LETTERS), plain::count(*count)]);
    }
    print::block(&labels.to_plain())
}

fn of_table(found: &TablePreview) -> CliResult {
    let mut columns = TextTable::new(["column", "first cell"]);
    for (name, sample) in &found.columns {
        columns.row([name.clone(), shortened(sample, LETTERS)]);
    }
    print::block(&columns.to_plain())?;
    let rows = counted(found.rows, "row");
    let rows = if found.is_whole { rows } else { format!("The first {rows} of a longer table") };
    print::line(format!(
        "\n{rows}; {} without text and {} without a label left out.",
        counted(found.without_text, "row"),
        plain::count(found.without_label)
    ))?;
    if let Some(question) = &found.question {
        print::line(question)?;
    }
    match &found.answers {
        PreviewAnswers::Classes(classes) => counts("rows", classes)?,
        PreviewAnswers::Many(count) => print::line(format!("{} different labels.", plain::count(*count)))?,
        PreviewAnswers::Numbers { least, most, mean } => print::line(format!(
            "From {} to {}, {} on average.",
            plain::number(*least),
            plain::number(*most),
            plain::number(*mean)
        ))?,
        PreviewAnswers::Unknown => print::line("No row can be read by the columns of the config.")?,
    }
    for example in &found.examples {
        let seen = match &example.tokens {
            Some(tokens) => tokens.join(" "),
            None => format!("[CLS] {} [SEP]", example.texts.join(" [SEP] ")),
        };
        let cut_off = if example.cut_off > 0 {
            format!(" ({} cut off)", counted(example.cut_off, "token"))
        } else {
            String::new()
        };
        print::line(format!("{}: {seen}{cut_off}", example.label))?;
    }
    Ok(())
}
