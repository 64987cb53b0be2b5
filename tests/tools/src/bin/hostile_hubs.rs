//! Lets the program fetch from hubs on loopback that misbehave, each in one way with sizes by chance, and prints counts for each kind:
//! what came is whole and right or is not seen, requests, time and disk are bounded, and once the hub behaves the same command
//! brings the model. Needs nothing but itself, and asks nobody but 127.0.0.1.
//!
//! `cargo run -p headroom-tools --bin hostile_hubs -- --count 200 --seed 1`

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use headroom_tests::{Answer, Chance, Fault, Hub, Program, Repo, carry_out_commands, listing, number, sha256_of, text};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MODEL: &str = "models/org/tiny";
const LIST: &str = "/api/models/org/tiny/revision/main";
const WEIGHTS: &str = "model.safetensors";
/// Longest time that a fetch may take.
const LONGEST: Duration = Duration::from_mins(1);
/// Most requests of a fetch.
const MOST_REQUESTS: usize = 400;
/// Most bytes on disk: files of which no size is known have at most about as many.
const MOST_BEYOND: u64 = 33 << 20;

/// Expected outcome of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The model, whole.
    Comes,
    /// An error that says what to do.
    Fails,
    /// Either, as chance has it.
    Either,
}

/// A way to misbehave.
struct Kind {
    name: &'static str,
    outcome: Outcome,
    harm: fn(&Hub, &mut Chance),
}

const fn kind(name: &'static str, outcome: Outcome, harm: fn(&Hub, &mut Chance)) -> Kind {
    Kind { name, outcome, harm }
}

fn size(chance: &mut Chance, below: u64) -> usize {
    chance.below(below) as usize
}

/// The same fault, whenever the contents are asked for.
fn always(hub: &Hub, fault: Fault) {
    hub.fault(WEIGHTS, &vec![fault; 2000]);
}

/// A fault after the connection was cut off, so that a part is asked for.
fn after_cut(hub: &Hub, chance: &mut Chance, fault: Fault) {
    hub.fault(WEIGHTS, &[Fault::CutAfter(1 + size(chance, 4000)), fault]);
}

const KINDS: &[Kind] = &[
    kind("wrong range once", Outcome::Comes, |hub, chance| after_cut(hub, chance, Fault::WrongRange)),
    kind("wrong range for ever", Outcome::Comes, |hub, chance| {
        let cut = Fault::CutAfter(1 + size(chance, 4000));
        hub.fault(WEIGHTS, &[cut, Fault::WrongRange].repeat(1000));
    }),
    kind("range of a longer file", Outcome::Comes, |hub, chance| {
        let more = 1 + size(chance, 1 << 40);
        after_cut(hub, chance, Fault::RangeOfLonger(more));
    }),
    kind("more than its range", Outcome::Comes, |hub, chance| {
        let more = 1 + size(chance, 100_000);
        after_cut(hub, chance, Fault::RangeAndMore(more));
    }),
    kind("a part of its range", Outcome::Comes, |hub, chance| {
        let part = 2000 + size(chance, 4000);
        after_cut(hub, chance, Fault::RangeOf(part));
    }),
    kind("a byte a range", Outcome::Fails, |hub, chance| {
        let cut = Fault::CutAfter(1 + size(chance, 4000));
        hub.fault(WEIGHTS, &[cut].into_iter().chain([Fault::RangeOf(1); 2000]).collect::<Vec<_>>());
    }),
    kind("cut off for ever", Outcome::Fails, |hub, chance| always(hub, Fault::CutAfter(size(chance, 2)))),
    kind("a byte now and then", Outcome::Fails, |hub, chance| always(hub, Fault::Trickle(20 + chance.below(200)))),
    kind("a list byte by byte", Outcome::Fails, |hub, chance| {
        hub.fault(LIST, &[Fault::Trickle(20 + chance.below(200)); 20]);
    }),
    kind("a head byte by byte", Outcome::Fails, |hub, chance| {
        hub.fault(LIST, &[Fault::SlowHead(100 + chance.below(200)); 20]);
    }),
    kind("silence", Outcome::Fails, |hub, _| always(hub, Fault::Silent)),
    kind("no end", Outcome::Fails, |hub, chance| always(hub, Fault::Endless(1 + size(chance, 80)))),
    kind("no size, no hash", Outcome::Fails, |hub, _| {
        hub.hide_hashes();
        hub.hide_sizes();
        hub.hide_lengths();
        always(hub, Fault::Endless(200));
    }),
    kind("no size anywhere", Outcome::Fails, |hub, _| {
        hub.hide_sizes();
        hub.hide_lengths();
        hub.mark_all(&format!("\"{}\"", "ab".repeat(32)));
        hub.fault("config.json", &[Fault::Endless(80); 20]);
    }),
    kind("packed", Outcome::Comes, |hub, _| always(hub, Fault::Packed)),
    kind("packed without end", Outcome::Fails, |hub, chance| {
        always(hub, Fault::PackedEndless(2 + size(chance, 60)));
    }),
    kind("a length of terabytes", Outcome::Fails, |hub, chance| {
        always(hub, Fault::LengthSaid((1 << 40) + size(chance, 1 << 50)));
    }),
    kind("a length too short", Outcome::Either, |hub, chance| {
        hub.fault(WEIGHTS, &[Fault::LengthSaid(size(chance, 3000))]);
    }),
    kind("a list of terabytes", Outcome::Fails, |hub, chance| {
        hub.claim_size(WEIGHTS, (1 << 50) + size(chance, 1 << 55));
    }),
    kind("one weak tag", Outcome::Comes, |hub, _| hub.mark_all("W/\"same\"")),
    kind("one weak tag, no hash", Outcome::Comes, |hub, _| {
        hub.hide_hashes();
        hub.mark_all("W/\"same\"");
    }),
    kind("one tag, no hash", Outcome::Comes, |hub, _| {
        hub.hide_hashes();
        hub.mark_all("\"same\"");
    }),
    kind("one hash for all", Outcome::Fails, |hub, _| hub.mark_all(&format!("\"{}\"", "0f".repeat(20)))),
    kind("a weak hash for all", Outcome::Comes, |hub, _| {
        hub.hide_hashes();
        hub.mark_all(&format!("W/\"{}\"", "0f".repeat(20)));
    }),
    kind("a tag with separators", Outcome::Comes, |hub, chance| {
        hub.mark_all(["\"../../../evil\"", "\"a/b\"", "\"..\\\\evil\"", "\"/etc/evil\""][size(chance, 4)]);
    }),
    kind("no tag", Outcome::Comes, |hub, _| hub.mark_all("")),
    kind("an address that leads to itself", Outcome::Fails, |hub, _| always(hub, Fault::Redirect)),
    kind("another byte", Outcome::Fails, |hub, _| always(hub, Fault::WrongByte)),
    kind("names that lead out", Outcome::Comes, |hub, _| {
        hub.change(MODEL, |repo| {
            for path in ["../../../evil.txt", "/etc/evil", "a/../../evil.txt", "a\\..\\evil.txt", "con\u{1b}[2J"] {
                repo.files.insert(path.to_owned(), b"evil".to_vec());
            }
        });
    }),
    kind("errors that pass", Outcome::Comes, |hub, chance| {
        let status = [500, 502, 503, 504][size(chance, 4)];
        hub.fault(WEIGHTS, &[Fault::Status(status, None), Fault::Status(429, Some(0))]);
    }),
    kind("errors that stay", Outcome::Fails, |hub, chance| {
        let status = [500, 502, 503, 429, 418][size(chance, 5)];
        always(hub, Fault::Status(status, None));
    }),
];

/// Outcomes of the fetches of a kind.
#[derive(Default)]
struct Counts {
    fetches: u64,
    came: u64,
    refused: u64,
    failed: u64,
    most_requests: usize,
    longest: Duration,
}

/// One hub, the program and a cache.
struct Scene {
    hub: Hub,
    program: Program,
}

impl Scene {
    fn new(binary: PathBuf, chance: &mut Chance) -> Self {
        let hub = Hub::start();
        let mut bytes = |length: usize| (0..length).map(|_| chance.below(256) as u8).collect::<Vec<u8>>();
        let files =
            [("config.json", br#"{"model_type":"bert"}"#.to_vec()), ("vocab.txt", bytes(300)), (WEIGHTS, bytes(8_000))];
        let files = files.into_iter().map(|(name, contents)| (name.to_owned(), contents)).collect();
        hub.add(MODEL, Repo { files, ..Repo::default() });
        Self { hub, program: Program::new(binary) }
    }

    fn cache(&self) -> PathBuf {
        self.program.path("cache")
    }

    fn fetch(&self) -> Answer {
        let mut command = self.program.command(&["fetch", "org/tiny", "--json"]);
        command.env("HF_ENDPOINT", self.hub.address()).env("HF_HUB_CACHE", self.cache());
        command.env("HF_HUB_DOWNLOAD_TIMEOUT", "1");
        self.program.run_command(command)
    }

    /// Files of the model in the cache that differ from those of the hub.
    fn wrong_files(&self) -> Vec<String> {
        let snapshots = self.cache().join("models--org--tiny/snapshots");
        let files = self.hub.repo(MODEL).map(|repo| repo.files).unwrap_or_default();
        let is_right = |inside: &str| {
            let name = inside.split_once('/').map_or("", |(_, name)| name);
            let there = fs::read(snapshots.join(inside)).ok();
            there.is_some() && there.as_ref() == files.get(name)
        };
        listing(&snapshots).into_iter().filter(|inside| !is_right(inside)).collect()
    }

    fn bytes_on_disk(&self) -> u64 {
        let blobs = self.cache().join("models--org--tiny/blobs");
        listing(&blobs).iter().filter_map(|file| fs::metadata(blobs.join(file)).ok()).map(|there| there.len()).sum()
    }

    /// Files where no fetch may put any.
    fn strays(&self) -> Vec<String> {
        let folder = self.program.path("");
        listing(&folder).into_iter().filter(|path| path.contains("evil")).collect()
    }
}

/// One fetch from a hub that misbehaves, and one when it behaves again; what went wrong.
fn one(binary: &Path, kind: &Kind, seed: u64, counts: &mut Counts) -> Vec<String> {
    let mut chance = Chance::new(seed);
    let scene = Scene::new(binary.to_owned(), &mut chance);
    (kind.harm)(&scene.hub, &mut chance);
    let begun = Instant::now();
    let answer = scene.fetch();
    let took = begun.elapsed();
    let requests = scene.hub.take_requests().len();
    let mut faults = Vec::new();
    let mut require = |holds: bool, what: String| {
        if !holds {
            faults.push(format!("{} (seed {seed}): {what}", kind.name));
        }
    };
    let last = answer.events().pop().unwrap_or_default();
    let event = last["event"].as_str().unwrap_or("nothing").to_owned();
    counts.fetches += 1;
    counts.most_requests = counts.most_requests.max(requests);
    counts.longest = counts.longest.max(took);
    match event.as_str() {
        "fetched" => counts.came += 1,
        "refused" => counts.refused += 1,
        "failed" => counts.failed += 1,
        _ => require(false, format!("it ended with {event}, code {}: {}", answer.code, answer.stderr)),
    }
    let came = event == "fetched";
    let is_expected = match kind.outcome {
        Outcome::Comes => came,
        Outcome::Fails => !came,
        Outcome::Either => true,
    };
    require(is_expected, format!("{event}, {:?} was expected: {}", kind.outcome, answer.stderr.trim()));
    require(
        answer.code == i32::from(!came) || (event == "refused" && answer.code == 2),
        format!("code {}", answer.code),
    );
    require(took <= LONGEST, format!("it took {took:?}"));
    require(requests <= MOST_REQUESTS, format!("{requests} requests"));
    let bytes = scene.bytes_on_disk();
    require(bytes <= MOST_BEYOND, format!("{bytes} bytes on disk"));
    let wrong = scene.wrong_files();
    require(wrong.is_empty(), format!("not what the hub has: {wrong:?}"));
    require(scene.strays().is_empty(), format!("outside of the cache: {:?}", scene.strays()));
    scene.hub.behave();
    let again = scene.fetch();
    require(again.code == 0, format!("it does not come when the hub behaves: {}", again.stderr.trim()));
    let wrong = scene.wrong_files();
    require(wrong.is_empty(), format!("afterwards not what the hub has: {wrong:?}"));
    let path = again.events().pop().unwrap_or_default()["path"].as_str().unwrap_or_default().to_owned();
    let weights = fs::read(Path::new(&path).join(WEIGHTS)).map(|weights| sha256_of(&weights)).ok();
    let expected = scene.hub.repo(MODEL).and_then(|repo| repo.files.get(WEIGHTS).map(|weights| sha256_of(weights)));
    require(weights == expected, "the weights are others".to_owned());
    faults
}

fn main() -> ExitCode {
    if let Some(code) = carry_out_commands() {
        return code;
    }
    let Some(binary) = text("--program").map(PathBuf::from).or_else(|| std::env::current_exe().ok()) else {
        return ExitCode::FAILURE;
    };
    let (count, first) = (number("--count", 200), number("--seed", 1));
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut faults = 0;
    let begun = Instant::now();
    for (seed, kind) in (first..first + count).zip(KINDS.iter().cycle()) {
        for fault in one(&binary, kind, seed, counts.entry(kind.name).or_default()) {
            println!("{fault}");
            faults += 1;
        }
    }
    println!("kind                              fetches  came  refused  failed  most requests  longest");
    for (name, counts) in &counts {
        let Counts { fetches, came, refused, failed, most_requests, longest } = counts;
        let seconds = longest.as_secs_f64();
        println!("{name:<33} {fetches:>7} {came:>5} {refused:>8} {failed:>7} {most_requests:>14} {seconds:>7.1}s");
    }
    println!("{count} fetches of {} kinds in {:.0} s, {faults} faults.", counts.len(), begun.elapsed().as_secs_f64());
    ExitCode::from(u8::from(faults > 0))
}
