//! Files whose sizes are lies, or that become many times as large as they are, and the memory that the program takes to say so.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::AS_PROGRAM;

/// Longer than any command here takes.
const PATIENCE: Duration = Duration::from_mins(4);

/// More memory than any answer here needs, in bytes; a program that takes more is ended.
pub const MOST_MEMORY: u64 = 1536 << 20;

/// Bytes of a message that people can still read.
const LONGEST_MESSAGE: usize = 6000;

/// Content of a file that takes no space on disk.
const HOLE: u64 = 40 << 30;

/// Kind, name and what makes the file in a folder; the arguments that read it.
type Case = (&'static str, &'static str, fn(&Path), &'static [&'static str]);

const SHOW: &[&str] = &["show", "model", "--json"];
const EVALUATE: &[&str] = &["eval", "model", "--data", "text.txt", "--json"];
const PREVIEW: &[&str] = &["preview", "config.toml", "--json"];
const TRAIN: &[&str] = &["train", "config.toml", "--json"];

/// Every file that is made.
const CASES: &[Case] = &[
    ("weights", "a hole of 40 GiB that nobody needs", |at| weights(at, "more", HOLE), SHOW),
    ("weights", "a hole of 40 GiB in what is passed over", |at| weights(at, "h.0.attn.bias", HOLE), SHOW),
    ("weights", "a hole of 40 GiB in one of two files", sharded, SHOW),
    ("weights", "400,000 tensors of other models", unknown_tensors, SHOW),
    ("weights", "a header of 1 TiB", |at| header(at, 1 << 40, b"{}", HOLE), SHOW),
    ("weights", "a header of 64 MiB", |at| header(at, 64 << 20, &vec![b' '; 64 << 20], 0), SHOW),
    ("weights", "a shape whose product is beyond any number", overflowing, SHOW),
    ("weights", "a state of 40 GiB to go on from", training_state, SHOW),
    ("settings", "4,000,000,000 layers", |at| setting(at, "n_layer", 4_000_000_000), SHOW),
    ("settings", "a vocabulary of 4,000,000,000", |at| setting(at, "vocab_size", 4_000_000_000), SHOW),
    ("settings", "a width of 4,000,000,000", |at| setting(at, "n_embd", 4_000_000_000), SHOW),
    ("settings", "4,000,000,000 positions", |at| setting(at, "n_positions", 4_000_000_000), SHOW),
    ("settings", "lists in lists in 60 MB", |at| drop(fs::write(at.join("model/config.json"), nested(20 << 20))), SHOW),
    ("pickle", "63 MB of operations", |at| pickle(at, &vec![b'N'; 63 << 20], 0), SHOW),
    ("pickle", "15 MB of empty tables", |at| pickle(at, &vec![b'}'; 15 << 20], 0), SHOW),
    ("pickle", "15 MB of tuples that are remembered", |at| pickle(at, &remembered(), 0), SHOW),
    ("pickle", "numbers of 40 GiB", |at| pickle(at, b"}.", HOLE), SHOW),
    ("pickle", "a directory of 4 GiB", archive_directory, SHOW),
    ("parquet", "a footer of 4 GiB", |at| parquet(at, &[], Some(u32::MAX)), EVALUATE_PARQUET),
    ("parquet", "2,000,000,000 columns in a group", |at| parquet(at, &footer(i32::MAX, 1), None), EVALUATE_PARQUET),
    ("parquet", "a tree of 60,000 groups", |at| parquet(at, &deep_footer(60_000), None), EVALUATE_PARQUET),
    (
        "parquet",
        "a list of 2,000,000,000 columns",
        |at| parquet(at, &[0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 7], None),
        EVALUATE_PARQUET,
    ),
    ("parquet", "a page of 2 GiB", |at| page(at, i32::MAX, 8), EVALUATE_PARQUET),
    ("parquet", "a page with values of 17 GB", |at| page(at, 40, i32::MAX), EVALUATE_PARQUET),
    ("parquet", "a list that the library cannot read", odd_list, EVALUATE_PARQUET),
    ("questions", "12 MB of empty articles", |at| squad(at, "{\"data\": [REST]}"), PREVIEW),
    ("questions", "12 MB beside the articles", |at| squad(at, "{\"other\": [REST], \"data\": []}"), PREVIEW),
    ("questions", "12 MB of empty paragraphs", |at| squad(at, "{\"data\": [{\"paragraphs\": [REST]}]}"), PREVIEW),
    (
        "questions",
        "12 MB of empty questions",
        |at| squad(at, "{\"data\": [{\"paragraphs\": [{\"qas\": [REST]}]}]}"),
        TRAIN,
    ),
    ("questions", "12 MB of empty answers", |at| squad(at, ANSWERS), TRAIN),
    ("tokenizer", "30 rules that double a text", |at| normalizer(at, &vec![replace("a", "aa"); 30]), EVALUATE),
    ("tokenizer", "12 rules that double a text", |at| normalizer(at, &vec![replace("e", "ee"); 12]), EVALUATE),
    (
        "tokenizer",
        "a rule that puts 60 MB in place of nothing",
        |at| normalizer(at, &[replace("", &"x".repeat(60 << 20))]),
        EVALUATE,
    ),
    (
        "tokenizer",
        "a beginning of 100 MB",
        |at| normalizer(at, &[json!({"type": "Prepend", "prepend": "x".repeat(100 << 20)})]),
        EVALUATE,
    ),
    (
        "tokenizer",
        "a table of characters that is damaged",
        |at| normalizer(at, &[json!({"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"})]),
        EVALUATE,
    ),
    ("tokenizer", "60 MB of added tokens", |at| added_tokens(at, 600_000), EVALUATE),
    (
        "tokenizer",
        "an id of 4,000,000,000",
        |at| tokenizer(at, |whole| whole["model"]["vocab"]["more"] = json!(4_000_000_000_u64)),
        EVALUATE,
    ),
    (
        "tokenizer",
        "300 MB",
        |at| drop(File::create(at.join("model/tokenizer.json")).and_then(|file| file.set_len(300 << 20))),
        EVALUATE,
    ),
    ("tokenizer", "a template of a million tokens", template, EVALUATE),
    ("images", "a PNG file of 100,000 by 100,000", |at| image(at, 100_000, 0), PREVIEW),
    ("images", "a PNG file with a hole of 40 GiB", |at| image(at, 64, HOLE), PREVIEW),
    ("images", "4,000,000,000 images in a file of 16 bytes", |at| idx(at, 0), PREVIEW),
    ("images", "4,000,000,000 images in a hole of 40 GiB", |at| idx(at, HOLE), PREVIEW),
    ("tables", "a line of 4 MB of objects in objects", |at| table(at, "jsonl", &nested(4 << 20)), TRAIN),
    ("tables", "48 MB of tabs", |at| table(at, "tsv", &"\t".repeat(48 << 20)), TRAIN),
    ("tables", "48 MB of commas", |at| table(at, "csv", &",".repeat(48 << 20)), TRAIN),
    (
        "tables",
        "a hole of 40 GiB",
        |at| drop(File::create(at.join("data.tsv")).and_then(|file| file.set_len(HOLE))),
        TRAIN_TABLE,
    ),
];

const EVALUATE_PARQUET: &[&str] = &["eval", "model", "--data", "data.parquet", "--json"];
const TRAIN_TABLE: &[&str] = &["train", "table.toml", "--json"];

const ANSWERS: &str =
    r#"{"data": [{"paragraphs": [{"context": "a", "qas": [{"id": "1", "question": "?", "answers": [REST]}]}]}]}"#;

/// Outcome of one file.
#[derive(Clone, Debug)]
pub struct FileOutcome {
    /// The kind of the file.
    pub kind: &'static str,
    /// Fault of the file.
    pub name: &'static str,
    /// The most memory that was taken, in bytes.
    pub peak_bytes: u64,
    /// Seconds until the answer.
    pub seconds: f64,
    /// Verdict on the program's answer.
    pub verdict: Verdict,
    /// Last line of the program's standard error.
    pub said: String,
}

/// Verdict on the program's answer to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It answered.
    Answered,
    /// It said what is wrong, with exit code 2.
    Refused,
    /// It took more memory than it may.
    Memory,
    /// It died, panicked, said nothing or too much, or did not end.
    Crashed,
}

impl fmt::Display for FileOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.peak_bytes >> 20;
        let said: String = self.said.chars().take(160).collect();
        write!(f, "{:?}: {}, {}: {mib} MiB, {:.1} s: {said}", self.verdict, self.kind, self.name, self.seconds)
    }
}

/// Makes files and tries the program on them.
pub struct HostileFiles {
    program: PathBuf,
    golden: PathBuf,
}

impl HostileFiles {
    /// `program`: the program, or one that is it where [`AS_PROGRAM`] is set.
    pub fn new(program: PathBuf) -> Self {
        Self { program, golden: Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf") }
    }

    /// Tries every file of the kinds that `is_wanted`, and hands on what came of each.
    pub fn run(&self, is_wanted: impl Fn(&str) -> bool, mut tell: impl FnMut(&FileOutcome)) -> Vec<FileOutcome> {
        let mut all = Vec::new();
        for (kind, name, make, arguments) in CASES.iter().filter(|case| is_wanted(case.0)) {
            let folder = TempDir::new().expect("a temporary folder");
            self.prepare(kind, folder.path());
            make(folder.path());
            let outcome = self.answer(folder.path(), kind, name, arguments);
            tell(&outcome);
            all.push(outcome);
        }
        all
    }

    /// A model, a text and configs that the files come beside.
    fn prepare(&self, kind: &str, at: &Path) {
        let golden = match kind {
            "pickle" => "roberta_pickled",
            "weights" | "settings" => "gpt2",
            _ => "bert_mlm",
        };
        fs::create_dir_all(at.join("model")).expect("a folder");
        for entry in fs::read_dir(self.golden.join(golden)).expect("a golden model").flatten() {
            fs::copy(entry.path(), at.join("model").join(entry.file_name())).expect("a copy");
        }
        fs::write(at.join("text.txt"), "the small dog sees a very long house\n\n".repeat(400)).expect("a text");
        let config = |data: &str, task: &str| {
            format!(
                "format = 1\n[data]\n{data}\nsequence_length = 16\ntokenizer = {{ kind = \"word_piece\", vocabulary = 300 }}\n\
                 [model]\nkind = \"encoder\"\nlayers = 1\nheads = 1\nwidth = 8\nfeed_forward = 8\n[task]\nkind = \"{task}\"\n\
                 [train]\nsteps = 1\nbatch = 1\nschedule = {{ kind = \"constant\", warmup_steps = 0 }}\n"
            )
        };
        let (data, task) = match kind {
            "questions" => ("kind = \"squad\"\npath = \"data.json\"".to_owned(), "span"),
            "images" => ("kind = \"images\"\npath = \"data\"".to_owned(), "image_classification"),
            _ => ("kind = \"table\"\npath = \"data.jsonl\"".to_owned(), "classification"),
        };
        let text = config(&data, task);
        let text = if kind == "images" {
            text.replace("sequence_length = 16\ntokenizer = { kind = \"word_piece\", vocabulary = 300 }\n", "")
                .replace("layers = 1\n", "layers = 1\npatch = 4\n")
        } else {
            text
        };
        fs::write(at.join("config.toml"), text).expect("a config");
        let tabs = config("kind = \"table\"\npath = \"data.tsv\"", "classification");
        fs::write(at.join("table.toml"), tabs).expect("a config");
    }

    fn answer(&self, at: &Path, kind: &'static str, name: &'static str, arguments: &[&str]) -> FileOutcome {
        let file = |name: &str| File::create(at.join(name)).expect("a file");
        let temporary = at.join("temporary");
        fs::create_dir_all(&temporary).expect("a folder");
        let started = Instant::now();
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(at)
            .env(AS_PROGRAM, "1")
            .env("HOME", at)
            .env("HEADROOM_STORE", at.join("store/headroom.db"))
            .env("TMPDIR", &temporary)
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("the program starts");
        let (mut peak_bytes, mut ended) = (0, None);
        while started.elapsed() < PATIENCE && peak_bytes <= MOST_MEMORY && ended.is_none() {
            peak_bytes = peak_bytes.max(peak_of(child.id()));
            ended = child.try_wait().expect("a status");
            std::thread::sleep(Duration::from_millis(1));
        }
        // One that has ended is waited for once more, which asks nothing of it.
        let _ = child.kill();
        let _ = child.wait();
        let text = |name: &str| String::from_utf8_lossy(&fs::read(at.join(name)).unwrap_or_default()).into_owned();
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        let reports = fs::read_dir(&temporary).map_or(0, |entries| {
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().contains("crash")).count()
        });
        let is_panic =
            ["panicked at", "error of its own"].iter().any(|sign| stderr.contains(sign) || stdout.contains(sign));
        let is_short = (20..LONGEST_MESSAGE).contains(&stderr.trim().len());
        let verdict = match ended.and_then(|status| status.code()) {
            _ if peak_bytes > MOST_MEMORY => Verdict::Memory,
            _ if is_panic || reports > 0 => Verdict::Crashed,
            Some(0) => Verdict::Answered,
            Some(2) if is_short => Verdict::Refused,
            _ => Verdict::Crashed,
        };
        let said = stderr.lines().last().unwrap_or_default().to_owned();
        FileOutcome { kind, name, peak_bytes, seconds: started.elapsed().as_secs_f64(), verdict, said }
    }
}

/// Outcomes by kind, as a table.
pub fn count_outcomes(outcomes: &[FileOutcome]) -> String {
    let mut counts: BTreeMap<&str, BTreeMap<Verdict, u64>> = BTreeMap::new();
    let mut peaks: BTreeMap<&str, u64> = BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome.kind).or_default().entry(outcome.verdict).or_default() += 1;
        let peak = peaks.entry(outcome.kind).or_default();
        *peak = (*peak).max(outcome.peak_bytes >> 20);
    }
    let mut lines = vec![format!(
        "{:<12}{:>10}{:>10}{:>10}{:>10}{:>12}",
        "kind", "refused", "answered", "memory", "crashed", "most MiB"
    )];
    for (kind, own) in counts {
        let of = |verdict| own.get(&verdict).copied().unwrap_or_default();
        lines.push(format!(
            "{kind:<12}{:>10}{:>10}{:>10}{:>10}{:>12}",
            of(Verdict::Refused),
            of(Verdict::Answered),
            of(Verdict::Memory),
            of(Verdict::Crashed),
            peaks.get(kind).copied().unwrap_or_default()
        ));
    }
    lines.join("\n")
}

/// The most memory that a process has taken so far, in bytes; 0 where it ended.
fn peak_of(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() << 10
}

/// Adds a hole as another tensor to the weights of the model.
fn weights(at: &Path, name: &str, hole: u64) {
    let path = at.join("model/model.safetensors");
    let bytes = fs::read(&path).expect("weights");
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
    let (header, data) = rest.split_at(length);
    let mut tensors: Value = serde_json::from_slice(header).expect("a header");
    let end = data.len() as u64;
    tensors[name] = json!({"dtype": "U8", "shape": [hole], "data_offsets": [end, end + hole]});
    let header = tensors.to_string();
    let whole = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat();
    fs::write(&path, &whole).expect("weights");
    File::options().write(true).open(&path).and_then(|file| file.set_len(whole.len() as u64 + hole)).expect("a hole");
}

fn header(at: &Path, length: u64, header: &[u8], hole: u64) {
    let path = at.join("model/model.safetensors");
    fs::write(&path, [&length.to_le_bytes()[..], header].concat()).expect("weights");
    let bytes = 8 + header.len() as u64 + hole;
    File::options().write(true).open(&path).and_then(|file| file.set_len(bytes)).expect("a hole");
}

fn overflowing(at: &Path) {
    let text = r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}"#;
    header(at, text.len() as u64, text.as_bytes(), 0);
}

fn unknown_tensors(at: &Path) {
    let path = at.join("model/model.safetensors");
    let bytes = fs::read(&path).expect("weights");
    let (length, rest) = bytes.split_at(8);
    let (known, data) = rest.split_at(u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize);
    let (known, end) = (String::from_utf8_lossy(known), data.len());
    let one = |number: u32| format!(r#","x{number}":{{"dtype":"U8","shape":[0],"data_offsets":[{end},{end}]}}"#);
    let more: String = (0..400_000).map(one).collect();
    let text = format!("{}{more}}}", known.trim_end().strip_suffix('}').expect("an object"));
    fs::write(&path, [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), data].concat()).expect("weights");
}

fn sharded(at: &Path) {
    weights(at, "more", HOLE);
    let path = at.join("model/model.safetensors");
    let shard = "model-00001-of-00001.safetensors";
    let mut length = [0; 8];
    let mut file = File::open(&path).expect("weights");
    std::io::Read::read_exact(&mut file, &mut length).expect("a length");
    let mut header = vec![0; u64::from_le_bytes(length) as usize];
    std::io::Read::read_exact(&mut file, &mut header).expect("a header");
    let tensors: Value = serde_json::from_slice(&header).expect("a header");
    let names = tensors.as_object().expect("an object").keys().filter(|name| *name != "__metadata__");
    let map: Value = names.map(|name| (name.clone(), json!(shard))).collect::<serde_json::Map<_, _>>().into();
    fs::rename(&path, at.join("model").join(shard)).expect("a name");
    let index = json!({"weight_map": map}).to_string();
    fs::write(at.join("model/model.safetensors.index.json"), index).expect("an index");
}

fn training_state(at: &Path) {
    let progress = r#"{\"step\":1,\"tokens\":1,\"best\":null,\"progress\":{}}"#;
    let text = format!(
        r#"{{"__metadata__":{{"headroom":"{progress}"}},"x.exp_avg":{{"dtype":"U8","shape":[{HOLE}],"data_offsets":[0,{HOLE}]}}}}"#
    );
    let path = at.join("model/training_state.safetensors");
    fs::write(&path, [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()).expect("a state");
    let bytes = 8 + text.len() as u64 + HOLE;
    File::options().write(true).open(&path).and_then(|file| file.set_len(bytes)).expect("a hole");
}

fn setting(at: &Path, key: &str, value: u64) {
    let path = at.join("model/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).expect("a config")).expect("an object");
    config[key] = json!(value);
    fs::write(path, config.to_string()).expect("a config");
}

/// An object with so many objects in a list.
fn nested(bytes: usize) -> String {
    format!("{{\"text\": [{}0], \"label\": \"a\"}}\n", "{\"\":0},".repeat(bytes / 7))
}

/// An archive of entries that are stored as they are, with a hole as the last one.
fn pickle(at: &Path, table: &[u8], hole: u64) {
    let table = [b"\x80\x02", table, b"."].concat();
    let entries: [(&str, &[u8], u64); 2] = [("archive/data.pkl", &table, 0), ("archive/data/0", &[], hole)];
    let mut file = File::create(at.join("model/pytorch_model.bin")).expect("a file");
    let mut directory = Vec::new();
    for (name, bytes, hole) in entries {
        let start = file.stream_position().expect("a place");
        let size = (bytes.len() as u64 + hole).to_le_bytes();
        let extra = [&[1, 0, 16, 0][..], &size, &size].concat();
        let wide = [&[0xff; 8][..], &(name.len() as u16).to_le_bytes(), &(extra.len() as u16).to_le_bytes()].concat();
        let fixed = [&[45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &wide].concat();
        let local = [&b"PK\x03\x04"[..], &fixed, name.as_bytes(), &extra, bytes].concat();
        file.write_all(&local).expect("an entry");
        let _ = file.seek(SeekFrom::Current(hole as i64)).expect("a hole");
        let rest = [&[0; 10][..], &(start as u32).to_le_bytes()].concat();
        directory.extend([&b"PK\x01\x02\x2d\x00"[..], &fixed, &rest, name.as_bytes(), &extra].concat());
    }
    let start = file.stream_position().expect("a place");
    file.write_all(&directory).expect("a directory");
    let end = file.stream_position().expect("a place");
    let record = [
        &b"PK\x06\x06"[..],
        &44_u64.to_le_bytes(),
        &[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &2_u64.to_le_bytes(),
        &2_u64.to_le_bytes(),
        &(directory.len() as u64).to_le_bytes(),
        &start.to_le_bytes(),
        b"PK\x06\x07\0\0\0\0",
        &end.to_le_bytes(),
        &1_u32.to_le_bytes(),
        b"PK\x05\x06\0\0\0\0",
        &[0xff; 12],
        &[0, 0],
    ];
    file.write_all(&record.concat()).expect("an end");
}

fn archive_directory(at: &Path) {
    pickle(at, b"}", 0);
    let path = at.join("model/pytorch_model.bin");
    let mut bytes = fs::read(&path).expect("an archive");
    // The directory's bytes in the record of 64 bits.
    let place = bytes.len() - 22 - 20 - 56 + 40;
    bytes[place..place + 8].copy_from_slice(&(4_u64 << 30).to_le_bytes());
    fs::write(&path, bytes).expect("an archive");
}

fn remembered() -> Vec<u8> {
    (0..(15_u32 << 20) / 7).flat_map(|place| [&b"N\x85r"[..], &place.to_le_bytes()].concat()).collect()
}

/// A file of Parquet with nothing but a footer.
fn parquet(at: &Path, footer: &[u8], length: Option<u32>) {
    let length = length.unwrap_or(footer.len() as u32).to_le_bytes();
    let filling = vec![0; 8 << 10];
    fs::write(at.join("data.parquet"), [b"PAR1", &filling[..], footer, &length, b"PAR1"].concat()).expect("a file");
}

/// A number with its sign, of seven bits a byte.
fn varint(number: i64) -> Vec<u8> {
    let (mut left, mut bytes) = ((number << 1 ^ number >> 63).cast_unsigned(), Vec::new());
    while left > 0x7f {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// A column, or a group of so many: {1: type}, 3: repetition, 4: name, {5: children}.
fn column(name: &str, children: i32) -> Vec<u8> {
    let named = [&[0x18, name.len() as u8][..], name.as_bytes()].concat();
    if children > 0 {
        return [&[0x35, 0][..], &named, &[0x15], &varint(children.into()), &[0]].concat();
    }
    [&[0x15, 12, 0x25, 0][..], &named, &[0]].concat()
}

fn footer(children: i32, columns: usize) -> Vec<u8> {
    let list = [column("root", children), column("text", 0).repeat(columns)].concat();
    [&[0x15, 2, 0x19, (columns as u8 + 1) << 4 | 0xc][..], &list, &[0x16, 0, 0x19, 0x0c, 0]].concat()
}

fn deep_footer(depth: usize) -> Vec<u8> {
    let mut count = Vec::new();
    let mut left = depth + 1;
    while left > 0x7f {
        count.push(left as u8 | 0x80);
        left >>= 7;
    }
    count.push(left as u8);
    let list = [column("group", 1).repeat(depth), column("text", 0)].concat();
    [&[0x15, 2, 0x19, 0xfc][..], &count, &list, &[0x16, 0, 0x19, 0x0c, 0]].concat()
}

/// A file with one page of values that others point to, which says its sizes so.
fn page(at: &Path, unpacked: i32, values: i32) {
    let contents = [&4_u32.to_le_bytes()[..], b"text"].concat().repeat(5);
    // {1: 2 (dictionary), 2: unpacked, 3: packed, 7: {1: values, 2: 0 (plain)}}
    let dictionary = [
        &[0x15, 4, 0x15][..],
        &varint(unpacked.into()),
        &[0x15],
        &varint(contents.len() as i64),
        &[0x4c, 0x15],
        &varint(values.into()),
        &[0x15, 0, 0, 0],
        &contents,
    ]
    .concat();
    // A page of eight values, all the first: {1: 0, 2: 3, 3: 3, 5: {1: 8, 2: 8, 3: 3, 4: 3}}
    let values = [0x15, 0, 0x15, 6, 0x15, 6, 0x2c, 0x15, 16, 0x15, 16, 0x15, 6, 0x15, 6, 0, 0, 1, 16, 0];
    let length = (dictionary.len() + values.len()) as i64;
    // {1: 6, 2: [8], 3: ["text"], 4: 0, 5: 8, 6: length, 7: length, 9: data page, 11: dictionary page}
    let meta = [
        &[0x15, 12, 0x19, 0x15, 16, 0x19, 0x18, 4][..],
        b"text",
        &[0x15, 0, 0x16, 16, 0x16],
        &varint(length),
        &[0x16],
        &varint(length),
        &[0x26],
        &varint(4 + dictionary.len() as i64),
        &[0x26],
        &varint(4),
        &[0],
    ]
    .concat();
    // {1: [{2: 4, 3: meta}], 2: length, 3: 8}
    let group = [&[0x19, 0x1c, 0x26, 8, 0x1c][..], &meta, &[0, 0x16], &varint(length), &[0x16, 16, 0]].concat();
    let columns = [column("root", 1), column("text", 0)].concat();
    let footer = [&[0x15, 2, 0x19, 0x2c][..], &columns, &[0x16, 16, 0x19, 0x1c], &group, &[0]].concat();
    let length = (footer.len() as u32).to_le_bytes();
    fs::write(at.join("data.parquet"), [b"PAR1", &dictionary[..], &values, &footer, &length, b"PAR1"].concat())
        .expect("a file");
}

/// A list of two columns, of which the library has no idea: it gives up without an error.
fn odd_list(at: &Path) {
    // 3: optional, 4: name, 5: 2 children, 6: 3 (list)
    let list = [&[0x35, 2, 0x18, 4][..], b"list", &[0x15, 4, 0x15, 6, 0]].concat();
    let columns = [column("root", 1), list, column("text", 0), column("more", 0)].concat();
    let chunk = |name: &[u8]| {
        [
            &[0x26, 8, 0x1c, 0x15, 12, 0x19, 0x15, 16, 0x19, 0x28, 4][..],
            b"list",
            &[4],
            name,
            &[0x15, 0, 0x16, 0, 0x16, 0, 0x16, 0, 0x26, 8, 0, 0],
        ]
        .concat()
    };
    let group = [&[0x19, 0x2c][..], &chunk(b"text"), &chunk(b"more"), &[0x16, 0, 0x16, 16, 0]].concat();
    parquet(at, &[&[0x15, 2, 0x19, 0x4c][..], &columns, &[0x16, 16, 0x19, 0x1c], &group, &[0]].concat(), None);
}

fn squad(at: &Path, around: &str) {
    let rest = "{},".repeat(4 << 20);
    fs::write(at.join("data.json"), around.replace("REST", rest.trim_end_matches(','))).expect("a file");
}

fn tokenizer(at: &Path, change: impl Fn(&mut Value)) {
    let path = at.join("model/tokenizer.json");
    let mut whole: Value = serde_json::from_slice(&fs::read(&path).expect("a tokenizer")).expect("an object");
    change(&mut whole);
    fs::write(path, whole.to_string()).expect("a tokenizer");
}

fn replace(pattern: &str, content: &str) -> Value {
    json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
}

fn normalizer(at: &Path, rules: &[Value]) {
    tokenizer(at, |whole| whole["normalizer"] = json!({"type": "Sequence", "normalizers": rules}));
}

fn added_tokens(at: &Path, count: u64) {
    let token = |number: u64| {
        json!({"id": number, "content": format!("<token {number}>"), "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false, "special": true})
    };
    tokenizer(at, |whole| whole["added_tokens"] = (0..count).map(token).collect());
}

fn template(at: &Path) {
    tokenizer(at, |whole| {
        let piece = json!({"SpecialToken": {"id": "[CLS]", "type_id": 0}});
        whole["post_processor"]["single"] = json!(vec![piece; 1 << 20]);
    });
}

/// A folder of two classes with a PNG file each, which say so many pixels a side and have a hole behind.
fn image(at: &Path, side: u32, hole: u64) {
    let header =
        [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &side.to_be_bytes()[..], &side.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    for class in ["a", "b"] {
        let folder = at.join("data").join(class);
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("1.png");
        fs::write(&path, [&header[..], &[0; 4]].concat()).expect("an image");
        File::options().write(true).open(path).and_then(|file| file.set_len(37 + hole)).expect("a hole");
    }
}

/// A file of images of 28 pixels a side, and labels beside it.
fn idx(at: &Path, hole: u64) {
    let images =
        [&[0, 0, 8, 3][..], &4_000_000_000_u32.to_be_bytes(), &28_u32.to_be_bytes(), &28_u32.to_be_bytes()].concat();
    fs::write(at.join("data"), &images).expect("images");
    File::options().write(true).open(at.join("data")).and_then(|file| file.set_len(16 + hole)).expect("a hole");
    fs::write(at.join("labels"), [&[0, 0, 8, 1][..], &4_000_000_000_u32.to_be_bytes()].concat()).expect("labels");
    let config = fs::read_to_string(at.join("config.toml")).expect("a config");
    let named = config.replace("path = \"data\"", "path = \"data\"\nlabels = \"labels\"");
    fs::write(at.join("config.toml"), named).expect("a config");
}

/// A table with this ending in place of the one that the config names.
fn table(at: &Path, ending: &str, text: &str) {
    fs::write(at.join(format!("data.{ending}")), text).expect("a table");
    let config = fs::read_to_string(at.join("config.toml")).expect("a config");
    fs::write(at.join("config.toml"), config.replace("data.jsonl", &format!("data.{ending}"))).expect("a config");
}
