//! Stores as strangers may make them, and what the program may and may not do with them.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    fmt,
    fs::{self, File},
    hash::{Hash as _, Hasher as _},
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Chance, Program, TINY_DECODER, tamper};

/// The variable of the environment with which a program of these tests is `headroom` itself.
pub const AS_PROGRAM: &str = "HEADROOM_TESTS_AS_PROGRAM";

/// Longer than any command here takes.
const PATIENCE: Duration = Duration::from_mins(2);

/// Address space of a command, most of which is reserved and never used.
const MEMORY_KIB: u64 = 8 << 20;

/// What is done to a store.
#[derive(Clone, Copy)]
enum Harm {
    /// A statement; `VICTIM` is a folder beside the store, `HERE` the store's folder, `ID` the id of the tampered run.
    Sql(&'static str),
    /// Something on disk.
    Disk(fn(&Store)),
    /// The same, after which the database cannot be used for certain.
    Breaks(fn(&Store)),
    /// A statement after which the store is to be refused.
    BreaksSql(&'static str),
    /// After which runs are listed, but files are reached through links.
    Hides(fn(&Store)),
    /// A change of the named kind, after which the store must be refused.
    Refused(&'static str, fn(&Store)),
    /// A change of the named kind, after which the healthy run must be usable.
    Borne(&'static str, fn(&Store)),
}

impl Harm {
    fn kind(self) -> &'static str {
        match self {
            Self::Sql(_) => "rows",
            Self::Disk(_) | Self::Hides(_) => "files and links",
            Self::Breaks(_) => "broken databases",
            Self::BreaksSql(_) => "schemas",
            Self::Refused(kind, _) | Self::Borne(kind, _) => kind,
        }
    }
}

/// A rollback journal that is hot and names a super-journal, which SQLite would delete.
pub fn hot_journal(name: &str) -> Vec<u8> {
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(byte)));
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    [&[1; 512][..], name.as_bytes(), &(name.len() as u32).to_be_bytes(), &sum.to_be_bytes(), &magic].concat()
}

/// Changes the config of the tampered run as TOML.
fn in_config(store: &Store, from: &str, to: &str) {
    let sql = format!("UPDATE run_configs SET config_toml = replace(config_toml, '{from}', '{to}') WHERE run = 2");
    let _ = tamper(&store.database(), &sql);
}

/// A spill file of a program that is gone.
fn spill(store: &Store, text: &[u8], length: u64) {
    let Ok(mut file) = File::create(store.beside(".12-0000000009.spill")) else { return };
    let _ = file.write_all(text);
    let _ = file.set_len(length.max(text.len() as u64));
}

const JOURNALS: &str = "hot journals";
const LINKED: &str = "linked side files";
const CONFIGS: &str = "stored configs";
const SCHEMAS: &str = "schema bombs";
const SPILLS: &str = "spill files";
const TEXTS: &str = "long texts";

/// A store that is tampered with.
struct Store {
    folder: PathBuf,
    victim: PathBuf,
    run: PathBuf,
    id: String,
    chance: Chance,
}

impl Store {
    fn database(&self) -> PathBuf {
        self.folder.join("headroom.db")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("headroom.db{suffix}"))
    }

    /// The newest checkpoint of the tampered run.
    fn checkpoint(&self) -> PathBuf {
        let mut all: Vec<PathBuf> = fs::read_dir(self.run.join("checkpoints"))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        all.sort();
        all.pop().unwrap_or_default()
    }

    fn replace_by_link(place: &Path, to: &Path) {
        let _ = fs::remove_dir_all(place).or_else(|_| fs::remove_file(place));
        let _ = symlink(to, place);
    }

    fn replace_by_pipe(place: &Path) {
        let _ = fs::remove_file(place);
        let _ = Command::new("mkfifo").arg(place).status();
    }
}

const HARMS: &[Harm] = &[
    Harm::Sql("UPDATE runs SET id = 'VICTIM', deleted_ms = 1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = '', deleted_ms = 1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = '..', deleted_ms = 1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = '../../victim', deleted_ms = 1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = '../../victim' WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = '../../../created' WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = CAST(x'61002f' AS TEXT) WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = CAST(x'fffe' AS TEXT) WHERE number = 2"),
    Harm::Sql("UPDATE runs SET id = hex(zeroblob(4000)) WHERE number = 2"),
    Harm::Sql("UPDATE runs SET deleted_ms = 1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET deleted_ms = -5 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET number = -7 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET name = CAST(x'ff61' AS TEXT) WHERE number = 2"),
    Harm::Sql("UPDATE runs SET name = char(27) || '[2J' || char(7) || char(8238) WHERE number = 2"),
    Harm::Sql("UPDATE runs SET steps_done = -1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET steps_done = 9223372036854775807, tokens = 9223372036854775807 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET steps_total = 9007199254740992, flops_per_step = 9223372036854775807 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET threads = -5 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET created_ms = -9223372036854775808, ended_ms = 9223372036854775807 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET train_secs = 9e999 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET train_secs = 1e300 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET state = 'asleep' WHERE number = 2"),
    Harm::Sql("UPDATE runs SET parent_run = '../../victim', parent_step = -1 WHERE number = 2"),
    Harm::Sql("UPDATE runs SET owner = 'x/../../victim/own', state = 'running' WHERE number = 2"),
    Harm::Sql("UPDATE runs SET owner = CAST(x'2f2e2eff' AS TEXT), state = 'running' WHERE number = 2"),
    Harm::Sql("INSERT INTO instances (id, pid, host, started_ms) VALUES ('x/../../victim/own', -1, 'h', -1)"),
    Harm::Sql("UPDATE run_configs SET config_json = '{' WHERE run = 2"),
    Harm::Sql("UPDATE run_configs SET config_toml = CAST(x'ff' AS TEXT) WHERE run = 2"),
    Harm::Sql(
        "UPDATE run_configs SET config_toml = replace(config_toml, 'name = \"target\"', 'name = \"../../victim\"') WHERE run = 2",
    ),
    Harm::Sql("DELETE FROM run_configs WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET path = 'VICTIM/model' WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET path = '../victim/model' WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET path = 'runs/ID/checkpoints/../../../../victim/model' WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET path = '' WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET path = CAST(x'ff' AS TEXT) WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET path = 'HERE/' || path WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET step = -step, bytes = -1 WHERE run = 2"),
    Harm::Sql("UPDATE checkpoints SET step = 9223372036854775807 WHERE run = 2 AND kind = 'best'"),
    Harm::Sql("INSERT INTO tags (run, tag) VALUES (2, CAST(x'ff' AS TEXT))"),
    Harm::Sql("UPDATE attempts SET first_step = 9223372036854775807, attempt = 2147483647 WHERE run = 2"),
    Harm::Sql("UPDATE attempts SET first_step = -9, attempt = -4 WHERE run = 2"),
    Harm::Sql("UPDATE points SET step = -step, tokens = -1 WHERE run = 2"),
    Harm::Sql("UPDATE series_summary SET count = 9223372036854775807, last_step = -1 WHERE run = 2"),
    Harm::Sql("INSERT INTO series (id, name, direction) VALUES (99, CAST(x'ff' AS TEXT), 'none')"),
    Harm::Sql("UPDATE snapshots SET shape = '99999999999,99999999999', dtype = 'f32', step = -1 WHERE run = 2"),
    Harm::Disk(|store| Store::replace_by_link(&store.run, &store.victim)),
    Harm::Disk(|store| Store::replace_by_link(&store.run.join("checkpoints"), &store.victim)),
    Harm::Disk(|store| Store::replace_by_link(&store.checkpoint(), &store.victim.join("model"))),
    Harm::Disk(|store| {
        let _ = fs::remove_dir_all(store.folder.join("cache"));
        let _ = symlink(&store.victim, store.folder.join("cache"));
    }),
    Harm::Disk(|store| Store::replace_by_pipe(&store.checkpoint().join("model.safetensors"))),
    Harm::Disk(|store| Store::replace_by_link(&store.checkpoint().join("model.safetensors"), Path::new("/dev/zero"))),
    Harm::Disk(|store| {
        Store::replace_by_link(&store.checkpoint().join("config.json"), &store.victim.join("thesis.tex"));
    }),
    Harm::Disk(|store| drop(fs::remove_file(store.checkpoint().join("headroom.json")))),
    Harm::Disk(|store| drop(fs::write(store.checkpoint().join("headroom.json"), "{\"format\":1}"))),
    Harm::Disk(|store| drop(fs::write(store.run.join("notes.txt"), "mine"))),
    Harm::Disk(|store| drop(fs::create_dir_all(store.run.join("checkpoints/step-00000099/deep")))),
    Harm::Disk(|store| {
        // A half-written checkpoint that holds what nobody writes there.
        let _ = fs::create_dir_all(store.run.join("checkpoints/.step-00000004.headroom-new-1-2-3/deep"));
        let _ = symlink(&store.victim, store.run.join("checkpoints/.step-00000004.headroom-old"));
    }),
    Harm::Disk(|store| {
        let _ = fs::create_dir_all(store.beside(".x"));
        let _ = symlink(store.victim.join("thesis.tex"), store.beside(".12-0000000001.lock"));
        let _ = symlink(store.victim.join("thesis.tex"), store.beside(".12-0000000001.spill"));
    }),
    Harm::Disk(|store| {
        let line = format!(r#"{{"entry":"progress","run":"../../victim","progress":{{"steps_done":1}}}} {}"#, store.id);
        let _ = fs::write(store.beside(".12-0000000002.spill"), format!("0123456789abcdef {line}\n"));
    }),
    Harm::Disk(|store| Store::replace_by_pipe(&store.beside(".12-0000000003.spill"))),
    Harm::Disk(|store| drop(symlink(store.victim.join("thesis.tex"), store.beside(".opening")))),
    Harm::Hides(|store| {
        let _ = fs::rename(store.folder.join("runs"), store.folder.join("elsewhere"));
        let _ = symlink(store.folder.join("elsewhere"), store.folder.join("runs"));
    }),
    Harm::BreaksSql("DROP TABLE tags"),
    Harm::BreaksSql("DROP TABLE runs"),
    Harm::BreaksSql("PRAGMA application_id = 7"),
    Harm::BreaksSql("CREATE TRIGGER t AFTER UPDATE ON runs BEGIN UPDATE runs SET deleted_ms = 1, id = '..'; END"),
    Harm::BreaksSql("CREATE VIEW v AS SELECT 1"),
    Harm::BreaksSql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'x', 1, x'00', 0)",
    ),
    Harm::Breaks(|store| {
        if let Ok(bytes) = fs::read(store.database()) {
            let kept = store.chance.clone().below(bytes.len() as u64) as usize;
            let _ = fs::write(store.database(), bytes.get(..kept).unwrap_or_default());
        }
    }),
    Harm::Breaks(|store| {
        if let Ok(mut bytes) = fs::read(store.database()) {
            let mut chance = store.chance.clone();
            for _ in 0..=chance.below(200) {
                let (place, value) = (chance.below(bytes.len() as u64) as usize, chance.below(256) as u8);
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = value;
                }
            }
            let _ = fs::write(store.database(), bytes);
        }
    }),
    Harm::Breaks(|store| Store::replace_by_pipe(&store.beside("-wal"))),
    Harm::Breaks(|store| Store::replace_by_link(&store.beside("-wal"), &store.victim.join("thesis.tex"))),
    Harm::Breaks(|store| Store::replace_by_pipe(&store.database())),
    Harm::Refused(JOURNALS, |store| {
        let name = store.victim.join("thesis.tex").display().to_string();
        let _ = fs::write(store.beside("-journal"), hot_journal(&name));
    }),
    Harm::Refused(JOURNALS, |store| drop(fs::write(store.beside("-journal"), hot_journal("../victim/thesis.tex")))),
    Harm::Refused(JOURNALS, |store| {
        // Without any page, and at the end of a large one.
        let name = store.victim.join("model/model.safetensors").display().to_string();
        let _ = fs::write(store.beside("-journal"), [vec![7; 1 << 20], hot_journal(&name)].concat());
    }),
    Harm::Refused(JOURNALS, |store| {
        // With a checksum that does not fit, over which SQLite passes.
        let mut journal = hot_journal(&store.victim.join("thesis.tex").display().to_string());
        journal[513] ^= 1;
        let _ = fs::write(store.beside("-journal"), journal);
    }),
    Harm::Borne(JOURNALS, |store| drop(fs::write(store.beside("-journal"), vec![0; 1 << 20]))),
    Harm::Refused(LINKED, |store| Store::replace_by_link(&store.beside("-journal"), &store.victim.join("thesis.tex"))),
    Harm::Refused(LINKED, |store| Store::replace_by_link(&store.beside("-shm"), &store.victim.join("thesis.tex"))),
    Harm::Refused(LINKED, |store| Store::replace_by_link(&store.beside("-wal"), &store.victim.join("nothing"))),
    Harm::Refused(LINKED, |store| drop(fs::hard_link(store.victim.join("thesis.tex"), store.beside("-wal")))),
    Harm::Refused(LINKED, |store| {
        let _ = fs::rename(store.database(), store.folder.join("other.db"));
        let _ = symlink("other.db", store.database());
    }),
    Harm::Borne(CONFIGS, |store| in_config(store, "layers = 2", "layers = 4000000000")),
    Harm::Borne(CONFIGS, |store| in_config(store, "batch = 4", "batch = 18446744073709551615")),
    Harm::Borne(CONFIGS, |store| in_config(store, "kind = \"bytes\"", "kind = \"bpe\"\nvocabulary = 4000000000")),
    Harm::Borne(CONFIGS, |store| in_config(store, "words = 4000", "words = 4000000000000000000")),
    Harm::Borne(CONFIGS, |store| in_config(store, "sequence_length = 16", "sequence_length = 4000000000")),
    Harm::Borne(CONFIGS, |store| in_config(store, "threads = 1", "threads = 4000000000")),
    Harm::Borne(CONFIGS, |store| in_config(store, "feed_forward = 32", "feed_forward = 4000000000")),
    Harm::Refused(SCHEMAS, |store| {
        let sql = format!("ALTER TABLE tags ADD COLUMN more TEXT DEFAULT '{}'", "x".repeat(200 << 20));
        let _ = tamper(&store.database(), &sql);
    }),
    Harm::Refused(SCHEMAS, |store| {
        let tables: Vec<String> = (0..20_000).map(|number| format!("CREATE TABLE t{number} (x);")).collect();
        let _ = tamper(&store.database(), &format!("BEGIN; {} COMMIT", tables.concat()));
    }),
    Harm::Refused(SCHEMAS, |store| {
        let _ = tamper(&store.database(), "CREATE INDEX i ON runs (note)");
    }),
    Harm::Refused(SCHEMAS, |store| {
        let _ = tamper(&store.database(), "CREATE VIRTUAL TABLE words USING fts5(x)");
    }),
    Harm::Borne(SPILLS, |store| spill(store, b"", 6 << 30)),
    Harm::Borne(SPILLS, |store| spill(store, b"0123456789abcdef {\"entry\":", 6 << 30)),
    Harm::Borne(SPILLS, |store| spill(store, &b"\n".repeat(64 << 20), 0)),
    Harm::Borne(SPILLS, |store| spill(store, &b"0123456789abcdef {}\n".repeat(1 << 20), 0)),
    Harm::Borne(TEXTS, |store| {
        let sql = "UPDATE runs SET note = CAST(zeroblob(200000000) AS TEXT) WHERE number = 2";
        let _ = tamper(&store.database(), sql);
    }),
    Harm::Borne(TEXTS, |store| {
        let sql = "UPDATE run_configs SET config_json = hex(zeroblob(100000000)) WHERE run = 2";
        let _ = tamper(&store.database(), sql);
    }),
    Harm::Borne(TEXTS, |store| {
        // One alone: each takes its room on disk.
        let sql = "UPDATE snapshots SET data = zeroblob(540000000) WHERE id = (SELECT MIN(id) FROM snapshots)";
        let _ = tamper(&store.database(), sql);
    }),
];

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Stores that were made.
    pub stores: u64,
    /// Of these, those whose database itself was broken or is to be refused.
    pub broken: u64,
    /// Commands that were run.
    pub commands: u64,
    /// Commands by exit code.
    pub codes: BTreeMap<i32, u64>,
    /// Stores and what was not as it is to be, by the kind of what was done to them first.
    pub kinds: BTreeMap<&'static str, (u64, u64)>,
    /// What was not as it is to be.
    pub faults: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes: Vec<String> = self.codes.iter().map(|(code, count)| format!("{count} with {code}")).collect();
        write!(
            f,
            "{} stores ({} of them broken as a file), {} commands ({}): {} faults",
            self.stores,
            self.broken,
            self.commands,
            codes.join(", "),
            self.faults
        )?;
        for (kind, (stores, faults)) in &self.kinds {
            write!(f, "\n  {kind}: {stores} stores, {faults} faults")?;
        }
        Ok(())
    }
}

/// Makes stores and tries the program on them.
pub struct HostileStores {
    program: PathBuf,
    /// A store with a run that finished and one that was stopped, as the program made it.
    template: Program,
    target: String,
    /// What came of it so far.
    pub counts: Counts,
}

impl HostileStores {
    /// Trains what the stores are made of. `program`: the program, or one that is it where [`AS_PROGRAM`] is set.
    pub fn new(program: PathBuf) -> Self {
        let template = Program::new(&program);
        let config = |name: &str, steps: u64| {
            TINY_DECODER
                .replace("tiny decoder", name)
                .replace("steps = 60", &format!("steps = {steps}"))
                .replace("evaluate_every = 20", "evaluate_every = 2")
                .replace("checkpoint_every = 20", "checkpoint_every = 2")
                .replace("warmup_steps = 10", "warmup_steps = 1")
        };
        template.train(&config("healthy", 4), &[]);
        let target = template.train(&config("target", 4), &[]);
        // As if it had been stopped on its way to more steps.
        for sql in [
            "UPDATE runs SET state = 'stopped', steps_total = 6 WHERE number = 2",
            "UPDATE run_configs SET config_toml = replace(config_toml, 'steps = 4', 'steps = 6') WHERE run = 2",
        ] {
            assert!(tamper(&template.store_path(), sql), "{sql}");
        }
        Self { program, template, target, counts: Counts::default() }
    }

    /// Makes the store of a seed, runs every command on it, and tells what was not as it is to be.
    pub fn one(&mut self, seed: u64) -> Vec<String> {
        let folder = TempDir::new().expect("a temporary folder");
        let (store, victim) = (folder.path().join("store"), folder.path().join("victim"));
        copy(self.template.store_path().parent().expect("a folder"), &store);
        self.make_victim(&victim);
        let mut chance = Chance::new(seed);
        let run = store.join("runs").join(&self.target);
        let mut made =
            Store { folder: store, victim: victim.clone(), run, id: self.target.clone(), chance: chance.clone() };
        let (mut is_broken, mut is_hidden, mut is_refused) = (false, false, false);
        let mut what = Vec::new();
        for _ in 0..=chance.below(3) {
            // Each of them comes first once in so many seeds.
            let place = if what.is_empty() { seed } else { chance.below(HARMS.len() as u64) };
            let place = place as usize % HARMS.len();
            what.push(place);
            made.chance = Chance::new(seed.wrapping_mul(31));
            match HARMS.get(place) {
                Some(Harm::Sql(sql)) => drop(tamper(&made.database(), &made.filled(sql))),
                Some(Harm::BreaksSql(sql)) => is_broken |= tamper(&made.database(), &made.filled(sql)),
                Some(Harm::Disk(harm)) => harm(&made),
                Some(Harm::Hides(harm)) => {
                    harm(&made);
                    is_hidden = true;
                }
                Some(Harm::Borne(_, harm)) => harm(&made),
                Some(Harm::Breaks(harm) | Harm::Refused(_, harm)) => {
                    is_refused = matches!(HARMS.get(place), Some(Harm::Refused(..)));
                    harm(&made);
                    is_broken = true;
                    // Nothing but a broken file is to be told of from here on.
                    break;
                }
                None => {}
            }
        }
        self.counts.stores += 1;
        self.counts.broken += u64::from(is_broken);
        let before = digest(&victim);
        let mut faults = self.commands(folder.path(), &made, is_broken, is_hidden, is_refused);
        if digest(&victim) != before {
            faults.push("the folder beside the store was changed".to_owned());
        }
        for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !["store", "victim", "out", "home", "stdout", "stderr"].contains(&name.as_str()) {
                faults.push(format!("{name} was written beside the store"));
            }
        }
        self.counts.faults += faults.len() as u64;
        if let Some(harm) = what.first().and_then(|place| HARMS.get(*place)) {
            let (stores, found) = self.counts.kinds.entry(harm.kind()).or_default();
            *stores += 1;
            *found += faults.len() as u64;
        }
        faults.into_iter().map(|fault| format!("seed {seed} (harms {what:?}): {fault}")).collect()
    }

    fn commands(
        &mut self,
        folder: &Path,
        store: &Store,
        is_broken: bool,
        is_hidden: bool,
        is_refused: bool,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let out = folder.join("out").display().to_string();
        let commands: [&[&str]; 10] = [
            &["runs"],
            &["show", "2", "--json"],
            &["eval", "2"],
            &["purge", "--dry-run", "--json"],
            &["resume", "2", "--json"],
            &["eval", "healthy", "--json"],
            &["export", "healthy", "--to", &out, "--json"],
            &["purge", "--yes", "--json"],
            &["runs", "--json"],
            &["show", "healthy", "--json"],
        ];
        for arguments in commands {
            let answer = self.answer(folder, store, arguments);
            let (code, stdout, stderr) = match answer {
                Ok(answer) => answer,
                Err(why) => {
                    faults.push(format!("{arguments:?}: {why}"));
                    continue;
                }
            };
            self.counts.commands += 1;
            *self.counts.codes.entry(code).or_default() += 1;
            if !(0..=2).contains(&code) {
                faults.push(format!("{arguments:?} ended with {code}: {stderr}"));
            }
            for sign in ["panicked at", "stack backtrace", "fault of its own", "error of its own"] {
                if stderr.contains(sign) || stdout.contains(sign) {
                    faults.push(format!("{arguments:?} shows a panic: {stderr}"));
                }
            }
            if is_refused && code != 2 {
                faults.push(format!("{arguments:?} is not refused ({code}): {stdout}{stderr}"));
            }
            if is_broken {
                continue;
            }
            let is_fine = match arguments {
                ["eval" | "export", first, ..] if *first == "healthy" => code == 0 || is_hidden,
                ["show", "healthy", ..] => code == 0,
                ["runs", "--json"] => code == 0 && lists_healthy(&stdout),
                ["runs"] => code == 0 && stdout.contains("healthy"),
                ["purge", ..] => code <= 2,
                _ => true,
            };
            if !is_fine {
                faults.push(format!("{arguments:?}: the healthy run suffers ({code}): {stderr}"));
            }
        }
        faults
    }

    /// The exit code, standard output and standard error of a command.
    fn answer(&self, folder: &Path, store: &Store, arguments: &[&str]) -> Result<(i32, String, String), String> {
        let home = folder.join("home");
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let file = |name: &str| File::create(folder.join(name)).map_err(|error| error.to_string());
        // What asks for more memory than any of these commands needs ends with a code of its own.
        let limited = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limited])
            .arg(&self.program)
            .args(arguments)
            .arg("--store")
            .arg(&store.folder)
            .current_dir(&home)
            .env(AS_PROGRAM, "1")
            .env("HOME", &home)
            .env_remove("HEADROOM_STORE")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(file("stdout")?)
            .stderr(file("stderr")?)
            .spawn()
            .map_err(|error| format!("could not be started: {error}"))?;
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code().unwrap_or(-1),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("did not end in {PATIENCE:?}"));
                }
            }
        };
        let text = |name: &str| String::from_utf8_lossy(&fs::read(folder.join(name)).unwrap_or_default()).into_owned();
        Ok((code, text("stdout"), text("stderr")))
    }

    /// What nobody may touch: a file, and a model that looks like a checkpoint of ours.
    fn make_victim(&self, victim: &Path) {
        let run = self.template.store_path().with_file_name("runs").join(&self.target).join("checkpoints");
        let newest = fs::read_dir(run).expect("checkpoints").flatten().map(|entry| entry.path()).max().expect("one");
        copy(&newest, &victim.join("model"));
        for name in ["thesis.tex", "own.lock", "own.spill", "checkpoints/step-00000002/chapter.tex"] {
            let path = victim.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "years of work").expect("a file");
        }
    }
}

impl Store {
    fn filled(&self, sql: &str) -> String {
        sql.replace("VICTIM", &self.victim.display().to_string())
            .replace("HERE", &self.folder.display().to_string())
            .replace("ID", &self.id)
    }
}

fn lists_healthy(stdout: &str) -> bool {
    let listed = serde_json::from_str::<Value>(stdout).unwrap_or_default();
    let all = listed.as_array().cloned().unwrap_or_default();
    all.iter().any(|run| run["name"] == "healthy" && run["state"] == "finished")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Names, kinds, rights and contents of everything below a folder.
fn digest(folder: &Path) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    entries.sort();
    for path in entries {
        path.hash(&mut hash);
        let kind = path.symlink_metadata().map(|there| (there.file_type(), there.permissions()));
        format!("{kind:?}").hash(&mut hash);
        match path.symlink_metadata().map(|there| there.file_type()) {
            Ok(kind) if kind.is_dir() => digest(&path).hash(&mut hash),
            Ok(kind) if kind.is_file() => fs::read(&path).unwrap_or_default().hash(&mut hash),
            // A link may lead to a device without an end.
            _ => fs::read_link(&path).ok().hash(&mut hash),
        }
    }
    hash.finish()
}
