//! Trains every preset and every way to score a pair for 30 steps and compares the losses, bit for bit, and the exported files,
//! byte for byte, with a list that an earlier version wrote.
//!
//! `cargo run --release -p headroom-tools --bin losses` compares with `tests/losses.json`, which commit d2036534 wrote.
//! `-- --before PROGRAM` compares with what another build of the program does here and now: the list is of one kind of
//! processor, since matrix products sum in an order that depends on its caches and vectors.
//! `-- --program PROGRAM --write FILE` writes a list; `--only TEXT` takes the cases whose names hold that text.
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use headroom_engine::store::series_names;
use headroom_tests::{Program, carry_out_commands, text};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use toml::{Table, toml};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STEPS: i64 = 30;
const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../losses.json");
const PRESETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/presets");
/// Larger batches and longer texts than these are cut to them, and files become built-in text, so that models of every size
/// take their steps in a minute.
const BATCH: i64 = 4;
const TOKENS: i64 = 64;
/// The built-in text has about as many tokens.
const VOCABULARY: i64 = 600;
/// Models of other processors may differ by as much, relative to the loss.
const ELSEWHERE: f64 = 1e-4;

/// Files of an export, which are to stay the same byte for byte.
const FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

/// Cases that are not as commit d2036534 had them, and the change that was wanted. What they are since then stands in the list
/// under `since`.
const WANTED: &[(&str, &str)] = &[];

/// What came of one case.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    losses: Vec<f64>,
    validation: Vec<f64>,
    files: BTreeMap<String, String>,
}

impl Outcome {
    fn of(program: &Program, config: &Table) -> Self {
        let config = toml::to_string(config).unwrap();
        let run = program.train(&config, &[]);
        let folder = program.path(format!("export-{run}"));
        let exported = program.run(&["export", &run, "--which", "last", "--to", &folder.to_string_lossy()]);
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        let hash = |name: &str| {
            let mut bytes = fs::read(folder.join(name)).unwrap();
            if name == "config.json" {
                let mut keys: Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
                // A sentence for people, which came later.
                keys.remove("headroom_note");
                bytes = serde_json::to_vec(&keys).unwrap();
            }
            let sum = Sha256::digest(&bytes).iter().take(8).fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
            (name.to_owned(), sum)
        };
        let files = FILES.into_iter().map(hash).collect();
        let values =
            |series: &str| program.curve(&run, series).into_iter().map(|(_, bits)| f64::from_bits(bits)).collect();
        Self { losses: values(series_names::TRAIN_LOSS), validation: values(series_names::VALIDATION_LOSS), files }
    }

    fn to_json(&self) -> Value {
        let bits = |values: &[f64]| -> Vec<String> { values.iter().map(|v| format!("{:016x}", v.to_bits())).collect() };
        json!({ "losses": bits(&self.losses).join(" "), "validation": bits(&self.validation).join(" "), "files": self.files })
    }

    fn from_json(value: &Value) -> Self {
        let values = |name: &str| {
            let bits = value[name].as_str().unwrap().split_whitespace();
            bits.map(|bits| f64::from_bits(u64::from_str_radix(bits, 16).unwrap())).collect()
        };
        Self {
            losses: values("losses"),
            validation: values("validation"),
            files: serde_json::from_value(value["files"].clone()).unwrap(),
        }
    }

    /// What is not as before, if anything. `elsewhere`: before was on another processor.
    fn difference(&self, before: &Self, elsewhere: bool) -> Option<String> {
        let same = |now: &[f64], then: &[f64]| {
            let fits = |(now, then): (&f64, &f64)| {
                now.to_bits() == then.to_bits() || (elsewhere && (now - then).abs() <= ELSEWHERE * then.abs())
            };
            now.len() == then.len() && now.iter().zip(then).all(fits)
        };
        let worst = |now: &[f64], then: &[f64]| {
            let found = now.iter().zip(then).enumerate().find(|(_, (now, then))| now.to_bits() != then.to_bits());
            found.map_or("other points".to_owned(), |(at, (now, then))| format!("step {}: {now} was {then}", at + 1))
        };
        let mut said = Vec::new();
        if !same(&self.losses, &before.losses) {
            said.push(format!("training loss, {}", worst(&self.losses, &before.losses)));
        }
        if !same(&self.validation, &before.validation) {
            said.push(format!("validation loss, {}", worst(&self.validation, &before.validation)));
        }
        let weights = |name: &str| elsewhere && name.ends_with(".safetensors");
        let changed = self.files.iter().filter(|(name, hash)| !weights(name) && before.files.get(*name) != Some(hash));
        said.extend(changed.map(|(name, _)| format!("exported {name}")));
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Changes a preset into one that is trained in a minute.
fn shortened(mut config: Table) -> Table {
    let least = |table: &mut Table, field: &str, most: i64| {
        let value = table.get(field).and_then(toml::Value::as_integer).map_or(most, |value| value.min(most));
        table.insert(field.to_owned(), value.into());
    };
    let width = config.get("model").and_then(|model| model.get("width")).and_then(toml::Value::as_integer);
    let (batch, tokens, accumulation) = if width > Some(256) { (1, 16, 1) } else { (BATCH, TOKENS, 2) };
    config.insert("device".to_owned(), "cpu".into());
    config.insert("threads".to_owned(), 2.into());
    let section = config.entry("data").or_insert_with(|| Table::new().into()).as_table_mut().unwrap();
    least(section, "sequence_length", tokens);
    if section.get("kind").and_then(toml::Value::as_str) == Some("file") {
        section.insert("kind".to_owned(), "grammar".into());
        section.remove("path");
    }
    if section.get("kind").and_then(toml::Value::as_str) == Some("pairs") {
        section.insert("kind".to_owned(), "number_words".into());
        section.insert("pairs".to_owned(), 2_000.into());
        section.remove("path");
    }
    if section.get("kind").and_then(toml::Value::as_str) == Some("grammar") {
        least(section, "words", 60_000);
    }
    if let Some(tokenizer) = section.get_mut("tokenizer").and_then(toml::Value::as_table_mut)
        && tokenizer.contains_key("vocabulary")
    {
        least(tokenizer, "vocabulary", VOCABULARY);
    }
    let section = config.entry("train").or_insert_with(|| Table::new().into()).as_table_mut().unwrap();
    least(section, "batch", batch);
    least(section, "accumulation", accumulation);
    section.remove("epochs");
    section.remove("evaluate_examples");
    for (field, value) in [("steps", STEPS), ("evaluate_every", 15), ("evaluate_batches", 2), ("checkpoint_every", 0)] {
        section.insert(field.to_owned(), value.into());
    }
    let warmup = section.get_mut("schedule").and_then(|schedule| schedule.get_mut("warmup_steps"));
    if let Some(warmup) = warmup {
        *warmup = 10.into();
    }
    let coverage = config.get_mut("attention").and_then(|attention| attention.get_mut("coverage"));
    if let Some(coverage) = coverage.and_then(toml::Value::as_table_mut) {
        coverage.insert("warmup_steps".to_owned(), 10.into());
    }
    config.insert("probe".to_owned(), toml! { every = 0 }.into());
    config
}

/// Every case by its name.
fn cases() -> Vec<(String, Table)> {
    let mut cases = Vec::new();
    let mut presets: Vec<PathBuf> = fs::read_dir(PRESETS).unwrap().map(|entry| entry.unwrap().path()).collect();
    presets.sort();
    for path in presets {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let config = fs::read_to_string(&path).unwrap().parse::<Table>().unwrap();
        cases.push((format!("preset {name}"), shortened(config)));
    }
    let families = [
        "{ kind = \"standard\" }",
        "{ kind = \"standard\", biases = \"without_key\" }",
        "{ kind = \"standard\", biases = \"none\" }",
        "{ kind = \"symmetric\" }",
        "{ kind = \"pairwise\" }",
        "{ kind = \"shared_weight\" }",
        "{ kind = \"collaborative\", d_k = 20 }",
        "{ kind = \"grouped\", kv_heads = 2 }",
        "{ kind = \"grouped\", kv_heads = 1 }",
        "{ kind = \"latent\", rank = 10 }",
    ];
    let schedules = ["{ kind = \"none\" }", "{ kind = \"first\", layers = 2, heads = 3 }", "{ kind = \"alternate\" }"];
    for (kind, norm) in [("decoder", "pre"), ("decoder", "post"), ("encoder", "pre"), ("encoder", "post")] {
        for family in families {
            for (number, schedule) in schedules.into_iter().enumerate() {
                // Norms at the other place say nothing more about a schedule.
                let usual = (kind == "decoder") == (norm == "pre");
                if !usual && number != 1 {
                    continue;
                }
                let config = format!(
                    "format = 1\nname = \"case\"\nseed = 5\nthreads = 2\n[data]\nkind = \"grammar\"\nwords = 6000\n\
                     sequence_length = 24\ntokenizer = {{ kind = \"bpe\", vocabulary = 300 }}\n[model]\n\
                     kind = \"{kind}\"\nlayers = 3\nheads = 4\nwidth = 32\nfeed_forward = 48\ndropout = 0.1\n\
                     norm = \"{norm}\"\n[attention]\nreuse = {schedule}\ncompatibility = {family}\n[train]\n\
                     steps = {STEPS}\nbatch = 3\naccumulation = 2\nlearning_rate = 5e-3\nevaluate_every = 15\n\
                     evaluate_batches = 2\nschedule = {{ kind = \"cosine\", warmup_steps = 5 }}\n[probe]\nevery = 0\n"
                );
                let words = |text: &str| text.replace(['{', '}', '"'], "").replace("kind = ", "").trim().to_owned();
                let name = format!("{kind} norm {norm}, {}, reuse {}", words(family), words(schedule));
                cases.push((name, config.parse().unwrap()));
            }
        }
    }
    let wanted = text("--only");
    cases.retain(|(name, _)| wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())));
    cases
}

/// What tells kinds of processors apart whose sums may be in other orders.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|start| start.trim() == name));
        line.and_then(|line| line.split(':').nth(1)).map_or("unknown", str::trim)
    };
    let [name, family, model, cache] = ["model name", "cpu family", "model", "cache size"].map(field);
    let vectors = if field("flags").contains("avx512f") { "512" } else { "256" };
    format!("{name}, family {family}, model {model}, cache {cache}, vectors of {vectors} bits")
}

fn main() -> ExitCode {
    if let Some(code) = carry_out_commands() {
        return code;
    }
    let this = || text("--program").map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from);
    let outcome = |binary: &Path, config: &Table| Outcome::of(&Program::new(binary), config);
    let cases = cases();
    let start = Instant::now();
    if let Some(file) = text("--write") {
        let mut lines = Map::new();
        for (number, (name, config)) in cases.iter().enumerate() {
            lines.insert(name.clone(), outcome(&this(), config).to_json());
            println!("{}/{} {name} ({:.0} s)", number + 1, cases.len(), start.elapsed().as_secs_f64());
        }
        // A case a line, so that a difference between two lists can be read.
        let lines: Vec<String> = lines.iter().map(|(name, outcome)| format!("{}:{outcome}", json!(name))).collect();
        let text = format!("{{\"processor\":{},\"cases\":{{\n{}\n}}}}\n", json!(processor()), lines.join(",\n"));
        fs::write(file, text).unwrap();
        return ExitCode::SUCCESS;
    }
    let before = text("--before").map(PathBuf::from);
    let list: Value = serde_json::from_str(&fs::read_to_string(LIST).unwrap()).unwrap();
    let elsewhere = before.is_none() && list["processor"] != json!(processor());
    if elsewhere {
        println!("The list is of {}: losses may differ by {ELSEWHERE:e} of their size here.", list["processor"]);
    }
    let (mut same, mut wanted, mut differ, mut new) = (0, 0, 0, 0);
    for (name, config) in &cases {
        let then = match &before {
            Some(binary) => Some(outcome(binary, config)),
            None => WANTED
                .iter()
                .find(|(case, _)| case == name)
                .and_then(|_| list["since"].get(name))
                .or_else(|| list["cases"].get(name))
                .map(Outcome::from_json),
        };
        let Some(then) = then else {
            new += 1;
            println!("new        {name}");
            continue;
        };
        match outcome(&this(), config).difference(&then, elsewhere) {
            None => match WANTED.iter().find(|(case, _)| case == name && before.is_none()) {
                Some((_, why)) => {
                    wanted += 1;
                    println!("wanted     {name}: {why}");
                }
                None => same += 1,
            },
            Some(what) => {
                differ += 1;
                println!("different  {name}: {what}");
            }
        }
    }
    let secs = start.elapsed().as_secs_f64();
    println!(
        "{same} cases as before, {wanted} with a wanted change, {differ} different, {new} not in the list ({secs:.0} s)"
    );
    if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
