//! The house as it was drawn: who may use whom. Reads manifests, `cargo tree` and `use` lines.
#![expect(clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

#[path = "house/cycles.rs"]
mod cycles;
#[path = "house/declared.rs"]
mod declared;
#[path = "house/tokens.rs"]
mod tokens;

/// The engine's crates, lowest first. Of who may use whom among them, the compiler makes sure.
const ENGINE: [&str; 10] = [
    "engine/products",
    "engine/ops",
    "engine/config",
    "engine/model",
    "engine/data",
    "engine/analysis",
    "engine/train",
    "engine/checkpoint",
    "engine/store",
    "engine",
];

/// Rooms of a crate that has several, lowest floor first. Rooms on one floor do not use each other.
const FLOORS: [(&str, &[&[&str]]); 9] = [
    ("engine/config", &[&["text"], &["config"]]),
    ("engine/model", &[&["attention"], &["model"], &["objective"], &["generate"]]),
    ("engine/train", &[&["convert"], &["advise"], &["train"], &["speed"]]),
    ("engine/checkpoint", &[&["checkpoint"], &["hub"]]),
    ("engine", &[&["machine"], &["protocol"], &["jobs"], &["worker"]]),
    ("app/figures", &[&["format", "theme"], &["plot"], &["export"]]),
    ("app/widgets", &[&["keys"], &["widgets"]]),
    ("app/results", &[&["examples"], &["compare", "findings", "measured"]]),
    (
        "app/window",
        &[
            &["file_dialogs", "fonts", "messages", "settings"],
            &["door", "state"],
            &["context", "link"],
            &["common"],
            &["panels"],
            &["race_dialog", "shell"],
            &["window"],
        ],
    ),
];

/// The crates of the window and the command line, lowest first.
const APP: [&str; 5] = ["app/figures", "app/widgets", "app/results", "app/window", "app"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every Rust file of the engine, with its text.
fn engine_sources() -> Vec<(PathBuf, String)> {
    ENGINE.into_iter().flat_map(|folder| sources(&root().join(folder).join("src"))).collect()
}

/// Every Rust file of the engine and of the app, with its text.
fn all_sources() -> Vec<(PathBuf, String)> {
    let mut all = engine_sources();
    all.extend(app_sources());
    all
}

/// Every Rust file of the window and the command line, with its text.
fn app_sources() -> Vec<(PathBuf, String)> {
    APP.into_iter().flat_map(|folder| sources(&root().join(folder).join("src"))).collect()
}

/// The folder of a room of the engine: a crate, or a module of one.
fn room(name: &str) -> PathBuf {
    let of_several = FLOORS.iter().find(|(_, floors)| floors.iter().any(|floor| floor.contains(&name)));
    match of_several {
        Some((of, _)) => root().join(of).join("src").join(name),
        None => root().join("engine").join(name).join("src"),
    }
}

/// Every Rust file below a folder, with its text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no source in {}", folder.display());
    found
}

/// The code alone: no comments, no documentation.
fn without_comments(text: &str) -> String {
    let code = |line: &str| {
        let end =
            line.match_indices("//").map(|(at, _)| at).find(|&at| !line[..at].ends_with(':')).unwrap_or(line.len());
        line[..end].to_owned()
    };
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// The names that follow `crate::`, directly or in a group.
fn used_rooms(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, prefix) in code.match_indices("crate::") {
        let rest = &code[at + prefix.len()..];
        let first_word = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let Some(group) = rest.strip_prefix('{') else {
            used.insert(first_word(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = 0;
        for (place, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    used.insert(first_word(&group[start..place]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    used.insert(first_word(&group[start..place]));
                    start = place + 1;
                }
                _ => {}
            }
        }
    }
    used.remove("");
    used
}

/// What breaks the order of the floors in a crate's sources.
fn faults(crate_name: &str, floors: &[&[&str]]) -> Vec<String> {
    let source = root().join(crate_name).join("src");
    let floor = |room: &str| floors.iter().position(|floor| floor.contains(&room));
    let mut faults = Vec::new();
    let mut rooms = BTreeSet::new();
    for (path, text) in sources(&source) {
        let inside = path.strip_prefix(&source).unwrap().to_owned();
        let room = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if ["lib", "main"].contains(&room.as_str()) {
            continue;
        }
        let Some(own) = floor(&room) else {
            faults.push(format!("{room} stands on no floor: add it to this test and to {crate_name}/README.md"));
            continue;
        };
        for used in used_rooms(&without_comments(&text)) {
            if let Some(other) = floor(&used)
                && used != room
                && other >= own
            {
                faults.push(format!("{} uses {used}, which is not below {room}", inside.display()));
            }
        }
        rooms.insert(room);
    }
    let gone = floors.iter().copied().flatten().filter(|room| !rooms.contains(**room));
    faults.extend(gone.map(|room| format!("{room} stands on a floor and is no room of {crate_name}")));
    faults
}

/// Names of all crates that a crate needs to be built, by cargo itself.
fn needs(package: &str, options: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--package", package, "--edges", "normal,build", "--prefix", "none", "--format"]);
    cargo.arg("{p}").current_dir(root());
    cargo.args(options);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn groups_and_single_names_are_found() {
    let code = "use crate::{\n config::{A, B},\n store::X, self,\n};\nfn f() { crate::ops::g(); }\nuse crate::model;";
    let expected: BTreeSet<String> = ["config", "model", "ops", "self", "store"].map(str::to_owned).into();
    assert_eq!(used_rooms(&without_comments(code)), expected);
    assert_eq!(used_rooms(&without_comments("// crate::worker\nlet x = 1; // crate::store")), BTreeSet::new());
}

#[test]
fn rooms_use_only_rooms_below_them() {
    let all: Vec<String> = FLOORS.iter().flat_map(|(of, floors)| faults(of, floors)).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The code of a file without what stands below `#[cfg(test)]`.
fn shipped(text: &str) -> String {
    without_comments(text.split("#[cfg(test)]\nmod tests").next().unwrap())
}

/// The metrics of objectives are data everywhere else: no field, constant or word of one of them.
#[test]
fn only_objectives_name_their_metrics() {
    let inside = room("objective");
    let (mut faults, mut named) = (Vec::new(), 0);
    for (path, text) in all_sources() {
        let code = without_comments(&text).to_lowercase();
        for metric in ["perplexity", "masked_accuracy", "masked accuracy", "token_accuracy"] {
            match (path.starts_with(&inside), code.contains(metric)) {
                (true, true) => named += 1,
                (false, true) => faults.push(format!("{} names {metric}", path.display())),
                _ => {}
            }
        }
    }
    assert!(named > 0, "this test reads no code");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a model learns is asked of its objective, not of its architecture.
#[test]
fn no_room_decides_by_the_architecture_what_is_learnt() {
    for room in ["analysis", "data", "generate", "objective", "speed", "store", "train", "jobs", "worker"] {
        for (path, text) in sources(&self::room(room)) {
            let is_test = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
            let code = shipped(&text);
            for kind in ["ModelKind::Encoder", "ModelKind::Decoder", "ModelKind::EncoderDecoder"] {
                let decides = [format!("{kind} =>"), format!("{kind} |"), format!("= {kind}")];
                assert!(
                    is_test || !decides.iter().any(|way| code.contains(way)),
                    "{} decides by the architecture",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn the_engine_knows_no_window() {
    let needed = needs("headroom-engine", &[]);
    assert!(needed.contains("candle-core"), "cargo tree lists too little: {needed:?}");
    for window in ["accesskit", "eframe", "egui", "headroom-app", "rfd", "wgpu", "winit"] {
        assert!(!needed.contains(window), "the engine needs {window}");
    }
    for (path, text) in engine_sources() {
        let code = without_comments(&text);
        for window in ["egui::", "eframe::", "winit::"] {
            assert!(!code.contains(window), "{} names {window}", path.display());
        }
    }
}

#[test]
fn the_window_knows_no_tensors() {
    for package in ["headroom-app", "headroom-figures", "headroom-results", "headroom-widgets", "headroom-window"] {
        let needed = needs(package, &["--depth", "1"]);
        assert!(needed.len() > 3, "{needed:?}");
        for tensors in ["candle-core", "candle-nn", "gemm", "safetensors", "sqlx", "tokenizers"] {
            assert!(!needed.contains(tensors), "{package} needs {tensors} itself");
        }
    }
    for (path, text) in app_sources() {
        assert!(!without_comments(&text).contains("candle"), "{} names candle", path.display());
    }
}

#[test]
fn figures_and_drawings_know_no_engine() {
    for package in ["headroom-figures", "headroom-widgets"] {
        let needed = needs(package, &[]);
        assert!(needed.contains("egui"), "{needed:?}");
        let engine = ["headroom-engine", "headroom-model", "headroom-ops", "headroom-store", "candle-core", "sqlx"];
        assert!(!engine.iter().any(|engine| needed.contains(*engine)), "{package}: {needed:?}");
    }
}

/// A machine without a screen needs no toolkit of windows: the feature `window` alone brings them.
#[test]
fn without_its_window_the_program_needs_none() {
    let toolkits = ["eframe", "rfd", "wgpu", "winit", "x11rb", "zbus"];
    let with = needs("headroom-app", &[]);
    assert!(toolkits[..4].iter().all(|toolkit| with.contains(*toolkit)), "{with:?}");
    let without = needs("headroom-app", &["--no-default-features"]);
    assert!(without.contains("headroom-engine"), "{without:?}");
    for toolkit in toolkits {
        assert!(!without.contains(toolkit), "the program needs {toolkit} without its window");
    }
}

#[test]
fn what_crosses_the_engines_doors_is_plain_data() {
    for (path, text) in sources(&root().join("engine/src/protocol")) {
        let code = shipped(&text);
        let is_queue = path.ends_with("outbox.rs");
        for forbidden in
            ["candle", "Tensor", "ops::", "crate::model::", "Sender", "Receiver", "crate::jobs", "crate::worker"]
        {
            let is_its_channel = is_queue && forbidden == "Sender";
            assert!(is_its_channel || !code.contains(forbidden), "{} names {forbidden}", path.display());
        }
    }
}

/// A background job is declared in its own file in `jobs/`, with its payloads in `protocol/`. Besides these, few files name it: the
/// table of commands, and the commands and panels that ask for it.
#[test]
fn few_files_name_a_job() {
    const MOST: usize = 4;
    let tables = fs::read_to_string(root().join("engine/src/protocol/messages.rs")).unwrap();
    let rows = tables.split("    jobs {\n").nth(1).unwrap().split("    }\n").next().unwrap();
    // `analyse { Analyse -> AnalyseEnded, "analyse" }`
    let jobs: Vec<(&str, &str)> = rows
        .lines()
        .filter_map(|row| {
            let (topic, rest) = row.trim().split_once(" { ")?;
            Some((topic, rest.split(" ->").next()?))
        })
        .collect();
    assert!(jobs.len() > 10, "{jobs:?}");
    let all: Vec<(PathBuf, String)> = all_sources()
        .into_iter()
        .filter(|(path, _)| {
            !path.components().any(|part| ["wire_tests", "tests.rs"].iter().any(|test| part.as_os_str() == *test))
        })
        .map(|(path, text)| (path, shipped(&text)))
        .collect();
    for (topic, job) in jobs {
        let is_own = |path: &Path, code: &str| {
            path.ends_with(format!("protocol/{topic}.rs")) || code.contains(&format!("impl Job for commands::{job} "))
        };
        assert!(
            all.iter().any(|(path, code)| !path.ends_with("protocol/messages.rs") && is_own(path, code)),
            "{job} has no file"
        );
        let named = [format!("commands::{job}"), format!("JobCommand::{job}")];
        let names = |code: &str| named.iter().any(|name| has_name(code, name));
        let others: Vec<String> = all
            .iter()
            .filter(|(path, code)| !is_own(path, code) && (names(code) || path.ends_with("protocol/messages.rs")))
            .map(|(path, _)| path.strip_prefix(root()).unwrap().display().to_string())
            .collect();
        assert!(others.len() <= MOST, "{job}: {others:?}");
    }
}

/// A kind of data is named where its settings, its reading and its form are, and in the list of the kinds. All else asks its
/// description.
#[test]
fn few_files_name_a_kind_of_data() {
    const MOST: usize = 4;
    let list = fs::read_to_string(root().join("engine/config/src/config/source.rs")).unwrap();
    let rows = list.split("$then! {\n").nth(1).unwrap().split("\n        }").next().unwrap();
    // `Grammar(GrammarSource),`
    let kinds: Vec<(&str, &str)> =
        rows.lines().filter_map(|row| row.trim().strip_suffix("),")?.split_once('(')).collect();
    assert!(kinds.len() >= 10, "{kinds:?}");
    let all = product();
    for (kind, settings) in &kinds {
        let variant = format!("Source::{kind}");
        let names: Vec<&str> = all
            .iter()
            .filter(|(_, code)| has_name(code, &variant) || has_name(code, settings))
            .map(|(path, _)| path.as_str())
            .collect();
        assert!(names.len() >= 3, "this test reads no code: {names:?}");
        assert!(names.len() <= MOST, "{kind}: {names:?}");
    }
    // There is no second list of the kinds.
    for (path, code) in all.iter().filter(|(path, _)| path != "engine/config/src/config/source.rs") {
        let named = kinds.iter().filter(|(kind, _)| has_name(code, &format!("Source::{kind}"))).count();
        assert!(named <= 1, "{path} decides by the kind of data");
    }
}

/// Shipped code of the engine and of the window, by path below the repository.
fn product() -> Vec<(String, String)> {
    let all = all_sources();
    let of_tests: BTreeSet<PathBuf> = all
        .iter()
        .flat_map(|(path, text)| {
            let declared = text.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.split_once(';'));
            let is_of_folder = path.ends_with("mod.rs") || path.ends_with("lib.rs");
            let folder = if is_of_folder { path.with_file_name("") } else { path.with_extension("") };
            declared.map(|(name, _)| folder.join(name)).collect::<Vec<_>>()
        })
        .collect();
    let is_test = |path: &Path| path.ancestors().any(|part| of_tests.contains(&part.with_extension("")));
    all.into_iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (path.strip_prefix(root()).unwrap().display().to_string(), shipped(&text)))
        .collect()
}

/// True if code has this name and not a longer one.
fn has_name(code: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(name)
        .any(|(at, _)| !code[at + name.len()..].starts_with(is_part) && !code[..at].ends_with(is_part))
}

/// The variants of an enum, each with the type that it holds.
fn variants(file: &str, name: &str) -> Vec<(String, Option<String>)> {
    let text = without_comments(&fs::read_to_string(root().join(file)).unwrap());
    // With or without what describes its members.
    let starts = [format!("pub enum {name} {{"), format!("pub enum {name}: ")];
    let mut body = text.lines().skip_while(|line| !starts.iter().any(|start| line.trim_start().starts_with(start)));
    assert!(body.next().is_some(), "{file} has no enum {name}");
    body.take_while(|line| line.trim() != "}")
        .filter_map(|line| line.trim().strip_suffix(','))
        .map(|line| match line.split_once('(') {
            None => (line.to_owned(), None),
            Some((variant, held)) => (variant.to_owned(), Some(held.trim_end_matches(')').to_owned())),
        })
        .collect()
}

/// A conversion describes itself in its own file. Besides it the list names it, and the adviser that proposes some.
#[test]
fn few_files_name_a_conversion() {
    const MOST: usize = 3;
    let product = product();
    let all = variants("engine/train/src/convert/conversion.rs", "Conversion");
    assert!(all.len() > 7, "{all:?}");
    for (variant, held) in all {
        let held = held.unwrap();
        let described = format!("impl Convert for {held} ");
        let own = product
            .iter()
            .find(|(_, code)| code.contains(&described) || code.contains(&format!("one_map!(\n    {held},")));
        let own = own.map(|(path, _)| path).unwrap();
        // Types of attention families are named as such elsewhere.
        let is_own_type = held.starts_with("To") || held.starts_with("Without");
        let names =
            |code: &str| has_name(code, &format!("Conversion::{variant}")) || is_own_type && has_name(code, &held);
        let lists = ["engine/train/src/convert/conversion.rs", "engine/train/src/convert/mod.rs"];
        let mut files: Vec<&str> = product
            .iter()
            .filter(|(path, code)| names(code) && path != own && !lists.contains(&path.as_str()))
            .map(|(path, _)| path.as_str())
            .collect();
        files.extend([own.as_str(), lists[0]]);
        assert!(files.len() <= MOST, "{variant}: {files:?}");
    }
    let flags = ["drop-key-biases", "shared-weight", "choose-from", "restarts"].map(|flag| format!("\"{flag}\""));
    for (path, code) in product.iter().filter(|(path, _)| !path.starts_with("engine/train/src/convert/")) {
        assert!(!flags.iter().any(|flag| code.contains(flag)), "{path} names an option of a conversion");
    }
}

/// A task describes itself in its own file. Besides it the list names it, what its labels say of it, and its form.
#[test]
fn few_files_name_a_task() {
    const MOST: usize = 5;
    let product = product();
    for (variant, held) in variants("engine/config/src/config/task/task_config.rs", "TaskConfig") {
        let mut names = vec![format!("TaskConfig::{variant}"), held.unwrap()];
        names.extend([format!("Objective::{variant}"), format!("Objective::{}", variant.to_uppercase())]);
        let exports =
            |path: &str| path == "engine/config/src/config/mod.rs" || path == "engine/config/src/config/task/mod.rs";
        let named = |code: &str| names.iter().any(|name| has_name(code, name));
        let files: Vec<&String> =
            product.iter().filter(|(path, code)| !exports(path) && named(code)).map(|(path, _)| path).collect();
        assert!(files.len() > 1 && files.len() <= MOST, "{variant}: {files:?}");
    }
}

/// A kind of model says what it is; no other list of kinds stands beside that one.
#[test]
fn few_files_name_a_kind_of_model() {
    const MOST: usize = 8;
    let product = product();
    let kinds: Vec<String> = variants("engine/config/src/config/model.rs", "ModelKind")
        .into_iter()
        .map(|(kind, _)| format!("ModelKind::{kind}"))
        .collect();
    let of = |path: &str, code: &str| {
        path == "engine/config/src/config/model.rs" || kinds.iter().any(|kind| has_name(code, kind))
    };
    let files: Vec<&String> = product.iter().filter(|(path, code)| of(path, code)).map(|(path, _)| path).collect();
    assert!(files.len() > 1 && files.len() <= MOST, "{files:?}");
    let lists_all = |code: &str| kinds.iter().all(|kind| has_name(code, kind));
    let lists: Vec<&String> = product.iter().filter(|(_, code)| lists_all(code)).map(|(path, _)| path).collect();
    assert_eq!(lists, ["engine/model/src/attention/preset.rs"], "a family of each kind");
}

#[test]
fn the_door_alone_starts_engines() {
    for (path, text) in app_sources() {
        let may = path.ends_with("app/window/src/door.rs");
        assert!(may || !without_comments(&text).contains("Engine::start"), "{} starts an engine", path.display());
    }
}

/// Lines of shipped code with one of these words, by file below the engine's sources; tests inside of a file are left out.
fn lines_with(rooms: &[&str], words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let files = rooms.iter().flat_map(|room| {
        let (first, inside) = room.split_once('/').unwrap_or((room, ""));
        let folder = self::room(first);
        sources(&folder.join(inside)).into_iter().map(move |(path, text)| {
            let inside = path.strip_prefix(&folder).unwrap().display().to_string().replace('\\', "/");
            (format!("{first}/{inside}"), text)
        })
    });
    for (name, text) in files {
        let is_test = name.split('/').any(|part| part == "tests") || name.ends_with("tests.rs");
        let code = without_comments(text.split("#[cfg(test)]\nmod tests {").next().unwrap());
        let lines = code.lines().filter(|line| !is_test && words.iter().any(|word| line.contains(word)));
        found.extend(lines.map(|line| (name.clone(), line.trim().to_owned())));
    }
    found
}

/// One file refuses all that somebody else's database could do by being opened.
#[test]
fn one_file_connects_to_sqlite() {
    let words = ["SqliteConnectOptions", "connect_with(", "SqlitePool", "ATTACH"];
    let mut files: Vec<String> =
        lines_with(&["advise", "checkpoint", "data", "hub", "speed", "store", "train", "jobs", "worker"], &words)
            .into_iter()
            .map(|line| line.0)
            .collect();
    files.dedup();
    assert_eq!(files, ["store/connect.rs"]);
}

/// A config in a store may be anybody's: it is validated before anything is sized by it.
#[test]
fn stored_configs_are_read_by_their_record() {
    let mut faults = Vec::new();
    for (path, text) in all_sources() {
        let code = shipped(&text);
        let reads = ["from_toml(&record.", "from_json(&record.", "?.config_toml)"];
        let ways = reads.iter().filter(|way| code.contains(**way));
        faults.extend(ways.map(|way| format!("{} reads a config by {way}", path.display())));
    }
    assert!(faults.is_empty(), "RunRecord::run_config validates: {}", faults.join("; "));
}

/// A wrong shape is refused at the entry of an operation, with the name of the tensor. What takes an empty slice for one
/// that is not there, or passes over it, would compute nothing and say nothing.
#[test]
fn operations_never_take_a_wrong_shape_for_nothing() {
    let rooms = ["analysis", "model", "ops"];
    assert_eq!(lines_with(&rooms, &["unwrap_or(&[])", "unwrap_or(&mut [])", "&[] as "]), []);
    let inner = ["ops/kernels", "ops/threaded"];
    assert_eq!(lines_with(&inner, &["else { continue }", "else { return }", "debug_assert"]), []);
    // Where nothing is meant: no gradient of the input is wanted, no map is kept.
    let meant = ["ops/threaded/core/forward.rs", "ops/threaded/layer_norm.rs"];
    let mut empty: Vec<String> = lines_with(&inner, &["unwrap_or_default()"]).into_iter().map(|line| line.0).collect();
    empty.sort();
    assert_eq!(empty, meant);
}

#[test]
fn one_file_of_the_command_line_prints() {
    let cli = root().join("app/src/cli");
    let ways = ["print!", "println!", "io::stdout", "io::stderr", "dbg!", ".println(", ".set_message(", ".suspend("];
    let mut faults = Vec::new();
    for (path, text) in app_sources() {
        let code = without_comments(&text);
        if path == cli.join("print.rs") {
            assert!(ways.iter().any(|way| code.contains(way)), "this test reads no code");
            continue;
        }
        faults
            .extend(ways.iter().filter(|way| code.contains(**way)).map(|way| format!("{} has {way}", path.display())));
    }
    assert!(faults.is_empty(), "text from outside is escaped in cli/print.rs alone: {}", faults.join("; "));
}

/// History holds every picture that ever was: what is kept of a scene is its layout, and a picture of some.
#[test]
fn pictures_are_few_and_small() {
    let folder = root().join("tests/tests/snapshots");
    let sizes: Vec<u64> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
    let bytes: u64 = sizes.iter().sum();
    assert!(
        sizes.len() <= 40 && bytes <= 4_000_000,
        "{} pictures of {bytes} bytes: pack them, keep fewer",
        sizes.len()
    );
}

#[test]
fn no_file_uses_itself_through_others() {
    let mut faults = Vec::new();
    for of in ENGINE.into_iter().chain(APP) {
        let cycles = cycles::cycles_in(&root().join(of).join("src"));
        faults.extend(cycles.into_iter().map(|cycle| format!("{of}/src/{cycle}")));
    }
    assert!(faults.is_empty(), "move what is shared into a file below: {}", faults.join("\n"));
}
