//! What the window can do, against what the command line can: every action has its command, or a written reason why it has
//! none. A new action does not compile without an entry; the handbook's page of the command line holds the same.

use clap::CommandFactory;
use headroom_engine::protocol::{Command, JobCommand, RunEdit, commands as payloads};

use super::args::Cli;
use crate::{
    common::{Exportable, RunOperation},
    context::{Action, PanelId, PanelInfo},
    keys::Pressed,
    panels::Panels,
    shell::PaletteAction,
};

/// What stands on the command line for an action of the window.
#[derive(Clone, Copy, Debug)]
enum Counterpart {
    /// A command with the arguments that matter, as it is typed after `headroom`.
    Does(&'static str),
    /// Nothing, and why.
    Needs(&'static str),
}

use Counterpart::{Does as Typed, Needs};

/// It changes nothing but what the window shows.
const VIEW: Counterpart = Needs("it changes what the window shows and nothing else");
/// It stands in another table of this file.
const ELSEWHERE: Counterpart = Needs("the actions that it carries are listed themselves");
/// Keys do it while a command runs.
const CTRL_C: Counterpart = Needs("Ctrl-C ends the command that runs, with what there is");

macro_rules! counterparts {
    ($name:ident, $of:ty, { $($pattern:pat => $counterpart:expr,)* }) => {
        fn $name() -> Vec<(&'static str, Counterpart)> {
            // Never called: it makes the compiler ask for every variant.
            let _is_complete = |of: &$of| match of { $($pattern => stringify!($pattern),)* };
            vec![$((stringify!($pattern), $counterpart),)*]
        }
    };
}

counterparts!(commands, Command, {
    Command::Enqueue(_) => Typed("train"),
    Command::EnqueueAll(_) => Typed("race"),
    Command::ResumeRun(_) => Typed("resume"),
    Command::ListQueue => Typed("queue"),
    Command::Cancel(_) => Typed("stop"),
    Command::Move(_) => Typed("move"),
    Command::Pause => Typed("pause"),
    Command::Resume => Typed("resume-current"),
    Command::Stop => Typed("stop"),
    Command::Checkpoint => Needs("Ctrl-C stops with a checkpoint, train.checkpoint_every writes one every so many steps"),
    Command::DescribeModel(_) => Typed("show"),
    Command::ReadFacts(_) => Typed("estimate"),
    Command::ReadPlan(_) => Typed("advise"),
    Command::PreviewConversion(_) => Needs("`convert` itself says what it came to; it changes nothing that was there"),
    Command::DescribeHub => Typed("fetch --cached"),
    Command::PreviewPush(_) => Typed("push --dry-run"),
    Command::Job(_) => ELSEWHERE,
    Command::Export(_) => Typed("export"),
    Command::ListRuns => Typed("runs"),
    Command::LoadRun(_) => Typed("show"),
    Command::LoadSeries(_) => Typed("show --points"),
    Command::LoadOutcomes(_) => Typed("compare"),
    Command::LoadSamples(_) => Typed("show --json"),
    Command::Edit(_) => ELSEWHERE,
    Command::Check(_) => Typed("train"),
    Command::Devices => Typed("devices"),
    Command::ListDeleted(_) => Typed("purge --dry-run"),
    Command::Purge(_) => Typed("purge"),
    Command::ListBenchmarks => Typed("bench list"),
    Command::LoadBenchmark(_) => Typed("bench show"),
    Command::DeleteBenchmark(payloads::DeleteBenchmark { deleted: true, .. }) => Typed("bench delete"),
    Command::DeleteBenchmark(payloads::DeleteBenchmark { deleted: false, .. }) => Typed("bench restore"),
    Command::CompareDomains(_) => Typed("domains"),
    Command::ListAnalyses => Typed("analyses"),
    Command::LoadAnalysis(_) => Typed("analyses show"),
    Command::DeleteAnalysis(payloads::DeleteAnalysis { deleted: true, .. }) => Typed("analyses delete"),
    Command::DeleteAnalysis(payloads::DeleteAnalysis { deleted: false, .. }) => Typed("analyses restore"),
    Command::TrainAdvice(_) => Typed("advise --train"),
    Command::ListAdvice => Typed("advise --outcome"),
    Command::LoadLiveAnalyses(_) => Typed("analyses"),
    Command::LoadLiveAnalysis(_) => Typed("analyse --live"),
    Command::LoadSnapshots(_) => Typed("mixing"),
    Command::LoadSnapshot(_) => Typed("mixing"),
    Command::LoadMaps(_) => Typed("maps"),
    Command::LoadMap(_) => Typed("maps --layer --head"),
    Command::RebuildMap(_) => Typed("maps --rebuild --pairs"),
    Command::Shutdown => CTRL_C,
});

counterparts!(edits, RunEdit, {
    RunEdit::Rename(_) => Typed("rename"),
    RunEdit::Note(_) => Typed("note"),
    RunEdit::AddTag(_) => Typed("tag --add"),
    RunEdit::RemoveTag(_) => Typed("tag --remove"),
    RunEdit::Archive(true) => Typed("archive"),
    RunEdit::Archive(false) => Typed("archive --undo"),
    RunEdit::Delete => Typed("delete"),
    RunEdit::Undelete => Typed("restore"),
});

counterparts!(operations, RunOperation, {
    RunOperation::Resume => Typed("resume"),
    RunOperation::Cancel => Typed("stop"),
    RunOperation::Pin => Typed("compare"),
    RunOperation::Configure => Typed("show --config"),
    RunOperation::Repeat => Typed("train --seed"),
    RunOperation::NextSeed => Typed("train --seed"),
    RunOperation::Race => Typed("race --families"),
    RunOperation::CopyConfig => Typed("show --config"),
    RunOperation::Archive => Typed("archive"),
    RunOperation::Delete => Typed("delete"),
});

counterparts!(exports, Exportable, {
    Exportable::Checkpoint { .. } => Typed("export --to"),
    Exportable::Run { .. } => Typed("show --json --points"),
    Exportable::Figure(_) => Typed("chart --out"),
    Exportable::Drawing(_) => Typed("compare --csv"),
    Exportable::Benchmark(_) => Typed("bench show --csv"),
    Exportable::Map(_) => Typed("maps --out"),
    Exportable::Data(_) => Typed("generate --json"),
});

counterparts!(palette, PaletteAction, {
    PaletteAction::Press(_) => ELSEWHERE,
    PaletteAction::Open(_) => ELSEWHERE,
    PaletteAction::Preset(_) => Typed("presets"),
    PaletteAction::Help(..) => Needs("the handbook is files that a terminal can show"),
    PaletteAction::Inspect(_) => Typed("show"),
    PaletteAction::SetUpRace => Typed("race"),
    PaletteAction::Purge => Typed("purge"),
    PaletteAction::Pause => Typed("pause"),
    PaletteAction::Resume => Typed("resume-current"),
    PaletteAction::Stop => Typed("stop"),
    PaletteAction::Checkpoint => ELSEWHERE,
    PaletteAction::Operate(..) => ELSEWHERE,
    PaletteAction::ExportCheckpoint(_) => Typed("export"),
    PaletteAction::ExportRun(_) => Typed("show --json --points"),
    PaletteAction::Theme(_) => VIEW,
    PaletteAction::Log => VIEW,
    PaletteAction::Zoom(_) => VIEW,
});

counterparts!(keys, Pressed, {
    Pressed::Palette => VIEW,
    Pressed::Help => VIEW,
    Pressed::Filter => VIEW,
    Pressed::Undo => Typed("restore"),
    Pressed::Redo => VIEW,
    Pressed::Start => Typed("train"),
    Pressed::Export => ELSEWHERE,
    Pressed::Rail => VIEW,
    Pressed::Inspector => VIEW,
    Pressed::FullScreen => VIEW,
    Pressed::Panel(_) => ELSEWHERE,
});

counterparts!(actions, Action, {
    Action::Send(_) => ELSEWHERE,
    Action::Open(_) => ELSEWHERE,
    Action::Configure(..) => Typed("estimate"),
    Action::Start(..) => Typed("train"),
    Action::StartForm => Typed("train"),
    Action::SetUpRace(..) => Typed("sweep"),
    Action::StartAll(..) => Typed("race"),
    Action::Inspect(_) => Typed("show"),
    Action::Delete(_) => Typed("delete"),
    Action::DeleteAll(_) => Typed("delete"),
    Action::Copy(..) => Needs("a terminal copies what it shows"),
    Action::Say(..) => VIEW,
    Action::Purge => Typed("purge"),
    Action::Undo => Typed("restore"),
});

/// The panels, in the order of the rail.
const PANELS: [(PanelId, Counterpart); 12] = [
    (PanelId::CONFIGURE, Typed("estimate")),
    (PanelId::LIVE, Typed("train")),
    (PanelId::COMPARE, Typed("compare --tag")),
    (PanelId::RUNS, Typed("runs")),
    (PanelId::SPEED, Typed("bench show --out")),
    (PanelId::REDUNDANCY, Typed("analyse --similarity")),
    (PanelId::SPECTRA, Typed("analyse --spectrum")),
    (PanelId::HEADS, Typed("maps")),
    (PanelId::RECONSTRUCT, Typed("analyse --reconstruction")),
    (PanelId::GENERATE, Typed("generate")),
    (PanelId::ADVISER, Typed("advise")),
    (PanelId::MODELS, Typed("convert")),
];

fn panels() -> Vec<(&'static str, Counterpart)> {
    let of = |info: &PanelInfo| PANELS.iter().find(|(id, _)| *id == info.id).map(|(id, of)| (id.0, *of));
    let known = |info| of(info).unwrap_or_else(|| panic!("the panel {} is missing in PANELS", info.label));
    Panels::default().infos().iter().map(known).collect()
}

/// Every action of the window.
fn all() -> Vec<(&'static str, Counterpart)> {
    let jobs = JobCommand::COMMAND_LINES.iter().map(|(job, typed)| (*job, Typed(typed))).collect();
    [commands(), jobs, edits(), operations(), exports(), palette(), keys(), actions(), panels()].concat()
}

#[test]
fn every_action_of_the_window_has_a_command_or_a_reason() {
    for (action, counterpart) in all() {
        match counterpart {
            Needs(reason) => assert!(reason.len() > 20, "{action}: {reason}"),
            Typed(typed) => {
                let (flags, words): (Vec<&str>, Vec<&str>) = typed.split(' ').partition(|word| word.starts_with("--"));
                let root = Cli::command();
                let mut command = &root;
                for word in words {
                    command = command.find_subcommand(word).unwrap_or_else(|| panic!("{action}: no command {typed}"));
                }
                for flag in flags {
                    let known = command.get_arguments().any(|known| known.get_long() == flag.strip_prefix("--"));
                    assert!(known, "{action}: {typed} has no {flag}");
                }
            }
        }
    }
}

#[test]
fn the_handbook_names_every_counterpart_and_every_command() {
    let page = include_str!("../../../assets/handbook/command_line.md");
    for (action, counterpart) in all() {
        if let Typed(typed) = counterpart {
            let words: Vec<&str> = typed.split(' ').filter(|word| !word.starts_with("--")).collect();
            let words = words.join(" ");
            assert!(page.contains(&format!("`headroom {words}")), "{action}: the handbook has no `headroom {words}`");
        }
    }
    // What is hidden is for the program itself.
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        assert!(page.contains(&format!("`headroom {name}")), "the handbook has no `headroom {name}`");
    }
}
