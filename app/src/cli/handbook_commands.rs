//! Every command that the handbook and the README show, against the arguments, the variants and the fields that there are.

use std::{fs, path::Path};

use clap::{
    Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use headroom_engine::config::{Answer, Axis, RunConfig, Side, from_toml_with, to_toml};

use super::{
    args::{Cli, Task},
    bench_args::BenchTask,
};

/// A config with fields that other data do not have.
const TABLE: &str = r#"
format = 1
name = "table"
[data]
kind = "table"
path = "train.tsv"
text = ["sentence"]
label = "label"
[task]
kind = "classification"
[model]
kind = "encoder"
"#;

/// What `bench generate` varies beside fields of the config.
const OF_TEXTS: [&str; 4] = ["source", "beams", "batch", "new_tokens"];

/// What stands for something that is left out.
const LEFT_OUT: &str = "...";

/// The words of a line of a shell, up to a remark.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = (Vec::new(), None, None);
    for letter in line.chars() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word = Some(word.unwrap_or_default());
            }
            (' ', None) => words.extend(word.take()),
            ('#', None) if word.is_none() => return words,
            _ => word.get_or_insert_with(String::new).push(letter),
        }
    }
    words.extend(word);
    words
}

/// The commands of ours in a line, without what leads their output elsewhere.
fn commands_of(line: &str) -> Vec<Vec<String>> {
    let told = |word: &String| {
        // Options in brackets may be left out.
        if word.starts_with("[--") { word.trim_matches(['[', ']']).to_owned() } else { word.clone() }
    };
    let words = words(line);
    let is_ours = |command: &&[String]| command.first().is_some_and(|name| name == "headroom");
    let ours = words.split(|word| word == "|").filter(is_ours);
    ours.map(|command| command.iter().take_while(|word| *word != ">" && *word != "<").map(told).collect()).collect()
}

/// The commands of a page, and whether each stands in a block of code: in a sentence some are told in part.
fn commands(page: &str) -> Vec<(Vec<String>, bool)> {
    let (mut found, mut prose, mut is_code) = (Vec::new(), String::new(), false);
    for line in page.replace("\\\n", " ").lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            found.extend(commands_of(line).into_iter().map(|command| (command, true)));
            continue;
        } else {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    for paragraph in prose.split("\n\n") {
        for span in paragraph.split('`').skip(1).step_by(2) {
            let line = span.replace('\n', " ").replace("\\|", "|");
            found.extend(commands_of(&line).into_iter().map(|command| (command, false)));
        }
    }
    found
}

/// Why a command would be refused as it stands; words in capitals stand for values.
fn complaint(command: &[String], is_whole: bool) -> Option<String> {
    let error = match Cli::try_parse_from(command) {
        Ok(cli) => return cli.command.and_then(|task| unknown(&task)),
        Err(error) => error,
    };
    // A value that is missing is empty here.
    let kinds = [ContextKind::InvalidValue, ContextKind::InvalidSubcommand];
    let named = kinds.into_iter().find_map(|kind| error.get(kind));
    let stands_for_another = match named {
        Some(ContextValue::String(word)) => {
            word.chars().all(|letter| letter.is_ascii_uppercase()) && !(is_whole && word.is_empty())
        }
        _ => false,
    };
    let is_part = matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::TooFewValues
            | ErrorKind::WrongNumberOfValues
    );
    let is_fine = stands_for_another || (is_part && !is_whole);
    (!is_fine).then(|| error.to_string())
}

/// A variant or a field of a config that a command names and that there is not.
fn unknown(task: &Task) -> Option<String> {
    let none: &[String] = &[];
    let (set, axes, sides) = match task {
        Task::Train(args) => (args.config.set.as_slice(), none, none),
        Task::Estimate(args) | Task::Preview(args) => (args.config.set.as_slice(), none, none),
        Task::Domains(args) => (args.config.set.as_slice(), none, none),
        Task::Race(args) => (args.config.set.as_slice(), none, args.variant.as_slice()),
        Task::Sweep(args) => (args.config.set.as_slice(), args.over.as_slice(), none),
        Task::Bench(BenchTask::Generate(args)) => (args.set.as_slice(), args.axis.as_slice(), none),
        Task::Bench(BenchTask::LargestBatch(args)) => (args.set.as_slice(), none, none),
        Task::Bench(BenchTask::Step(args)) => (args.set.as_slice(), none, none),
        Task::Bench(BenchTask::Sweep(args)) => (args.set.as_slice(), args.axis.as_slice(), args.side.as_slice()),
        _ => return None,
    };
    if let Task::Race(args) = task {
        let base = RunConfig::default();
        let mut named = args.families.iter().filter(|kind| *kind != LEFT_OUT);
        if let Some(kind) = named.find(|kind| Answer::of_kind(kind, &base).is_none()) {
            return Some(format!("there is no variant {kind}"));
        }
    }
    let mut changes = vec![set.to_vec()];
    for text in sides {
        match text.parse::<Side>() {
            Ok(side) => changes.push(side.overrides),
            Err(error) => return Some(error.to_string()),
        }
    }
    for text in axes.iter().filter(|text| *text != LEFT_OUT) {
        match text.parse::<Axis>() {
            Ok(axis) if OF_TEXTS.contains(&axis.field.as_str()) => {}
            Ok(Axis { field, values }) => {
                changes.extend(values.iter().map(|value| vec![format!("{field}={value}")]));
            }
            Err(error) => return Some(error.to_string()),
        }
    }
    let bases = [to_toml(&RunConfig::default()), TABLE.to_owned()];
    let is_unknown = |change: &&Vec<String>| bases.iter().all(|base| from_toml_with(base, change).is_err());
    changes.iter().find(is_unknown).map(|change| format!("no config takes {}", change.join(" ")))
}

#[test]
fn every_command_that_is_shown_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = fs::read_dir(root.join("assets/handbook")).unwrap().map(|entry| entry.unwrap().path());
    let (mut count, mut wrong) = (0, Vec::new());
    for path in folder.chain([root.join("README.md")]) {
        for (command, is_whole) in commands(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            if let Some(why) = complaint(&command, is_whole) {
                wrong.push(format!("{}: {}: {why}", path.display(), command.join(" ")));
            }
        }
    }
    assert!(count > 150, "only {count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_cannot_be_typed_is_found() {
    let lines = [
        "`headroom race my.toml --families standard` and `headroom train",
        "my.toml --set model.layer=2`",
        "",
        "```",
        "headroom eval RUN --dat x   # a remark",
        "headroom show RUN --config | headroom sweep - --over model.heads=2,4",
        "```",
        "`headroom move RUN PLACE`, `headroom eval`, `headroom analyse --examples`, `headroom race CONFIG --families ...`",
    ];
    let all = commands(&lines.join("\n"));
    assert_eq!(all.len(), 9, "{all:?}");
    let refused = all.iter().filter_map(|(command, is_whole)| Some((command.clone(), complaint(command, *is_whole)?)));
    let names: Vec<String> = refused.map(|(command, _)| command.join(" ")).collect();
    assert_eq!(
        names,
        [
            "headroom eval RUN --dat x",
            "headroom race my.toml --families standard",
            "headroom train my.toml --set model.layer=2"
        ]
    );
}
