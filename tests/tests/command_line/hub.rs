//! Fetching from a hub on loopback that misbehaves, and uploading to it: what comes is whole and right, or nothing of it is seen, and
//! the cache is what other tools of the hub expect.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use headroom_engine::hub::{
    FetchRequest, Fetched, Gating, HubError, HubSettings, PushRequest, RepoKind, Revision, Token, cached, contents,
    describe_hub, fetch, inspect, name_of_snapshot, push,
};
use headroom_tests::{
    Answer, Fault, Hub, LARGE, Program, Repo, TINY_DECODER, TOKEN, USER, hash_of, listing, sha256_of,
};
use serde_json::Value;
use tempfile::TempDir;

const MODEL: &str = "models/org/tiny";
const WEIGHTS: &str = "model.safetensors";

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf").join(name)
}

/// A hub with one model, and an empty cache.
struct Scene {
    hub: Hub,
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let hub = Hub::start();
        let files = ["config.json", WEIGHTS, "tokenizer.json", "vocab.txt"];
        hub.add_folder(MODEL, &golden("bert_mlm"), &files);
        hub.change(MODEL, |repo| {
            repo.files.insert("README.md".to_owned(), b"# Tiny".to_vec());
            repo.files.insert("tf_model.h5".to_owned(), vec![7; 3 * LARGE]);
            repo.said.insert("cardData".to_owned(), serde_json::json!({ "license": "apache-2.0" }));
            repo.said.insert("pipeline_tag".to_owned(), "fill-mask".into());
        });
        Self { hub, folder: TempDir::new().unwrap() }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("hub")
    }

    fn settings(&self) -> HubSettings {
        HubSettings {
            endpoint: self.hub.address().to_owned(),
            cache: self.cache(),
            token: None,
            is_offline: false,
            patience: Duration::from_secs(2),
            tries: 3,
        }
    }

    fn with_token(&self) -> HubSettings {
        HubSettings { token: Token::parse(TOKEN).unwrap(), ..self.settings() }
    }

    fn fetch(&self) -> Result<Fetched, HubError> {
        fetch(&self.settings(), &request(), &mut |_| {}, &|| false)
    }

    /// The weights as the hub has them.
    fn weights(&self) -> Vec<u8> {
        self.hub.repo(MODEL).unwrap().files[WEIGHTS].clone()
    }

    fn root(&self) -> PathBuf {
        self.cache().join("models--org--tiny")
    }

    fn incomplete(&self) -> PathBuf {
        self.root().join("blobs").join(format!("{}.incomplete", hash_of(&self.weights())))
    }

    /// Nothing that is seen is half a file or another one: every blob is what its name says, every link leads to one, and a branch
    /// that is written down has its whole snapshot.
    #[track_caller]
    fn assert_intact(&self) {
        for file in listing(&self.root().join("blobs")) {
            if !file.ends_with(".incomplete") {
                let contents = fs::read(self.root().join("blobs").join(&file)).unwrap();
                assert!([hash_of(&contents), sha256_of(&contents)].contains(&file), "{file} is not what its name says");
            }
        }
        for file in listing(&self.root().join("snapshots")) {
            let place = self.root().join("snapshots").join(&file);
            assert!(!file.contains(".headroom"), "{file} was left");
            assert!(fs::metadata(&place).is_ok_and(|there| there.is_file()), "{file} leads nowhere");
        }
        for branch in listing(&self.root().join("refs")) {
            let commit = fs::read_to_string(self.root().join("refs").join(&branch)).unwrap();
            let snapshot = self.root().join("snapshots").join(commit);
            assert!(snapshot.join("config.json").is_file() && snapshot.join(WEIGHTS).is_file(), "{branch}");
        }
    }

    /// It fails with these words, leaves the cache intact, and once the hub behaves again it comes whole.
    #[track_caller]
    fn fails_then_comes(&self, words: &[&str]) -> Fetched {
        let told = self.fetch().unwrap_err().to_string();
        for word in words {
            assert!(told.contains(word), "no \"{word}\" in: {told}");
        }
        self.assert_intact();
        assert!(cached(&self.settings(), RepoKind::Model, &request().name, None).is_none());
        let fetched = self.fetch().unwrap();
        self.assert_whole(&fetched);
        fetched
    }

    #[track_caller]
    fn assert_whole(&self, fetched: &Fetched) {
        self.assert_intact();
        assert!(fs::read(fetched.path.join(WEIGHTS)).unwrap() == self.weights());
        assert!(listing(&self.root().join("blobs")).iter().all(|file| !file.ends_with(".incomplete")));
        let here = cached(&self.settings(), RepoKind::Model, &request().name, None).unwrap();
        assert_eq!(here.path, fetched.path);
    }
}

fn request() -> FetchRequest {
    FetchRequest::of("org/tiny".parse().unwrap())
}

/// The ranges in which the weights were asked for.
fn ranges(hub: &Hub) -> Vec<Option<String>> {
    let requests = hub.take_requests().into_iter();
    let of_weights = requests
        .filter(|asked| asked.method == "GET" && asked.path.contains("/resolve/") && asked.path.ends_with(WEIGHTS));
    of_weights.map(|asked| asked.headers.get("range").cloned()).collect()
}

#[test]
fn a_model_is_fetched_into_the_cache_that_other_tools_share() {
    let scene = Scene::new();
    let mut told = Vec::new();
    let fetched = fetch(&scene.settings(), &request(), &mut |progress| told.push(progress.clone()), &|| false).unwrap();
    scene.assert_whole(&fetched);
    let commit = scene.hub.commit(MODEL);
    assert_eq!(fetched.commit.as_str(), commit);
    let names: Vec<&str> = fetched.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["config.json", "tokenizer.json", "vocab.txt", WEIGHTS], "no README, no weights of others");
    assert_eq!(fetched.path, scene.root().join("snapshots").join(&commit));
    assert_eq!(fs::read_to_string(scene.root().join("refs/main")).unwrap(), commit);
    #[cfg(unix)]
    {
        let link = fs::read_link(fetched.path.join(WEIGHTS)).unwrap();
        assert_eq!(link, Path::new("../../blobs").join(hash_of(&scene.weights())));
    }
    // Progress ends at everything, and never goes back.
    let last = told.last().unwrap();
    assert_eq!((last.bytes, last.count), (last.total_bytes, 4));
    assert_eq!(last.total_bytes, fetched.bytes());
    assert!(told.is_sorted_by_key(|progress| progress.bytes));
    assert_eq!(fetched.downloaded(), fetched.bytes());

    // Once more nothing is downloaded.
    let _ = scene.hub.take_requests();
    let again = scene.fetch().unwrap();
    assert_eq!((again.path.clone(), again.downloaded()), (fetched.path.clone(), 0));
    assert!(scene.hub.take_requests().iter().all(|asked| asked.method == "HEAD" || asked.path.starts_with("/api/")));

    // Offline it is taken from there, and nobody is asked.
    let offline = HubSettings { is_offline: true, ..scene.settings() };
    let taken = fetch(&offline, &request(), &mut |_| {}, &|| false).unwrap();
    assert_eq!((taken.path, taken.files.len()), (fetched.path, 4));
    assert!(scene.hub.take_requests().is_empty());
    let other = FetchRequest::of("org/other".parse().unwrap());
    let told = fetch(&offline, &other, &mut |_| {}, &|| false).unwrap_err();
    assert!(told.is_refusal() && told.to_string().contains("HF_HUB_OFFLINE"), "{told}");
    // It opens.
    assert!(headroom_engine::checkpoint::describe_model_dir(&again.path).is_ok());
}

/// What a new commit changes is fetched, the rest is linked, and the old one stays for those who use it.
#[test]
fn a_new_commit_shares_what_it_did_not_change() {
    let scene = Scene::new();
    let before = scene.fetch().unwrap();
    scene.hub.change(MODEL, |repo| {
        repo.files.insert("vocab.txt".to_owned(), b"another\n".to_vec());
    });
    let after = scene.fetch().unwrap();
    scene.assert_whole(&after);
    assert_ne!(before.commit, after.commit);
    assert_eq!(after.downloaded(), 8);
    assert!(fs::read(before.path.join("vocab.txt")).unwrap().len() > 8);
    // The old one by its name; the branch only where it is now.
    let old = Some(before.commit.as_str().parse::<Revision>().unwrap());
    assert_eq!(cached(&scene.settings(), RepoKind::Model, &request().name, old.as_ref()).unwrap().path, before.path);
    let told =
        fetch(&scene.settings(), &FetchRequest { revision: "v9".parse().unwrap(), ..request() }, &mut |_| {}, &|| {
            false
        });
    let told = told.unwrap_err().to_string();
    assert!(told.contains("no revision \"v9\"") && told.contains("branch"), "{told}");
}

#[test]
fn before_anything_is_downloaded_it_says_what_there_is() {
    let scene = Scene::new();
    let facts = inspect(&scene.settings(), &request(), &|| false).unwrap();
    assert_eq!((facts.name.as_str(), facts.commit.as_str()), ("org/tiny", scene.hub.commit(MODEL).as_str()));
    assert_eq!((facts.licence.as_deref(), facts.task.as_deref()), (Some("apache-2.0"), Some("fill-mask")));
    assert_eq!((facts.gated, facts.private, facts.other_files), (Gating::Open, false, 2));
    let architecture = facts.architecture.unwrap();
    assert_eq!(architecture.model_type.as_deref(), Some("bert"));
    assert!(architecture.layers.is_some() && architecture.heads.is_some() && architecture.width.is_some());
    assert_eq!(facts.files.len(), 4);
    assert_eq!((facts.opens, facts.bytes_here), (Some(true), 0), "{:?}", facts.refusal);
    let fetched = scene.fetch().unwrap();
    assert_eq!((facts.bytes, facts.folder.as_path()), (fetched.bytes(), fetched.path.as_path()));
    let again = inspect(&scene.settings(), &request(), &|| false).unwrap();
    assert_eq!(again.bytes_here, facts.bytes, "all of it is here now");
    assert!(facts.problem.is_none());
    assert!(!scene.cache().join("models--org--other").exists());
    // A gated one is described, and not fetched.
    scene.hub.change(MODEL, |repo| {
        repo.gated = true;
        repo.said.insert("config".to_owned(), serde_json::json!({ "model_type": "bert" }));
    });
    let facts = inspect(&scene.settings(), &request(), &|| false).unwrap();
    assert_eq!((facts.gated, facts.architecture.unwrap().model_type.as_deref()), (Gating::Owner, Some("bert")));
    // One without weights says so, and what it has.
    scene.hub.change(MODEL, |repo| {
        repo.files.remove(WEIGHTS);
    });
    let facts = inspect(&scene.settings(), &request(), &|| false).unwrap();
    let problem = facts.problem.unwrap();
    assert!(problem.contains("neither model.safetensors") && problem.contains("tf_model.h5"), "{problem}");
}

/// What is here is found without asking the hub, and folders of other programs do no harm.
#[test]
fn what_is_here_is_listed_without_the_hub() {
    let scene = Scene::new();
    assert_eq!(describe_hub(&scene.settings()).models, []);
    // Cut off: what came is told, and is no model.
    scene.hub.fault(WEIGHTS, &[Fault::CutAfter(5_000), Fault::Status(500, None), Fault::Status(500, None)]);
    scene.fetch().unwrap_err();
    let facts = describe_hub(&scene.settings());
    let kept = fs::metadata(scene.incomplete()).unwrap().len();
    assert_eq!((facts.models.len(), facts.interrupted.len(), facts.interrupted[0].bytes), (0, 1, kept));
    let fetched = scene.fetch().unwrap();
    for folder in ["models--", "models--a--b--c", "models--..--x", "datasets--org--tiny", "tmp"] {
        fs::create_dir_all(scene.cache().join(folder).join("snapshots/main")).unwrap();
    }
    scene.hub.take_requests();
    let facts = describe_hub(&HubSettings { is_offline: true, ..scene.settings() });
    assert!(scene.hub.take_requests().is_empty() && facts.is_offline && facts.interrupted.is_empty());
    let [model] = &facts.models[..] else { panic!("{:?}", facts.models) };
    assert_eq!((&model.name, &model.path, model.bytes), (&fetched.name, &fetched.path, fetched.bytes()));
    assert_eq!(model.revisions, [Revision::default()]);
    assert_eq!(name_of_snapshot(&model.path), Some(fetched.name));
    for path in ["/models/bert", "/x/models--org--tiny/snapshots/main", "/x/models--org--tiny/blobs/", ""] {
        assert_eq!(name_of_snapshot(Path::new(path)), None, "{path}");
    }
}

#[test]
fn datasets_and_single_files_are_fetched() {
    let scene = Scene::new();
    let mut files = std::collections::BTreeMap::new();
    files.insert(".gitattributes".to_owned(), b"x".to_vec());
    files.insert("data/train ü.txt".to_owned(), vec![b'a'; 2 * LARGE]);
    files.insert("data/test.txt".to_owned(), b"some text".to_vec());
    files.insert("README.md".to_owned(), b"# Text".to_vec());
    scene.hub.add("datasets/org/text", Repo { files, ..Repo::default() });
    let wanted = FetchRequest { kind: RepoKind::Dataset, ..FetchRequest::of("org/text".parse().unwrap()) };
    let fetched = fetch(&scene.settings(), &wanted, &mut |_| {}, &|| false).unwrap();
    assert_eq!(fetched.files.len(), 3);
    assert!(fetched.path.starts_with(scene.cache().join("datasets--org--text/snapshots")));
    assert_eq!(fs::read(fetched.path.join("data/train ü.txt")).unwrap(), vec![b'a'; 2 * LARGE]);
    let only = FetchRequest { only: vec!["data/test.txt".parse().unwrap()], ..wanted };
    let fetched = fetch(&scene.settings(), &only, &mut |_| {}, &|| false).unwrap();
    assert_eq!(fetched.files.len(), 1);
    // A model of that name is something else.
    let told = fetch(&scene.settings(), &FetchRequest::of("org/text".parse().unwrap()), &mut |_| {}, &|| false);
    assert!(matches!(told.unwrap_err(), HubError::NotFound { .. }));
}

#[test]
fn who_asks_decides_what_is_seen() {
    let scene = Scene::new();
    let absent = FetchRequest::of("org/absent".parse().unwrap());
    let fetch_with = |settings: &HubSettings, request: &FetchRequest| {
        let told = fetch(settings, request, &mut |_| {}, &|| false).unwrap_err();
        assert!(told.is_refusal(), "{told}");
        told.to_string()
    };
    let told = fetch_with(&scene.settings(), &absent);
    assert!(["\"org/absent\"", "HF_TOKEN", "Check the name"].iter().all(|word| told.contains(word)), "{told}");
    let told = fetch_with(&scene.with_token(), &absent);
    assert!(told.contains("your token may see"), "{told}");
    let wrong = HubSettings { token: Token::parse("hf_wrong").unwrap(), ..scene.settings() };
    let told = fetch_with(&wrong, &request());
    assert!(told.contains("does not take your token") && !told.contains("hf_wrong"), "{told}");
    scene.hub.change(MODEL, |repo| repo.private = true);
    assert!(matches!(scene.fetch().unwrap_err(), HubError::NotFound { .. }));
    let fetched = fetch(&scene.with_token(), &request(), &mut |_| {}, &|| false).unwrap();
    scene.assert_whole(&fetched);

    let scene = Scene::new();
    scene.hub.change(MODEL, |repo| repo.gated = true);
    let told = fetch_with(&scene.settings(), &request());
    let page = format!("{}/org/tiny", scene.hub.address());
    assert!(told.contains(&page) && told.contains("ask for access") && told.contains("HF_TOKEN"), "{told}");
    let told = fetch_with(&scene.with_token(), &request());
    assert!(told.contains(&page) && told.contains("account that your token belongs to"), "{told}");
    scene.assert_intact();
    scene.hub.change(MODEL, |repo| repo.gated = false);
    scene.assert_whole(&scene.fetch().unwrap());
}

/// The token goes to the hub, and to nobody else.
#[test]
fn the_token_stays_with_the_hub() {
    let scene = Scene::new();
    let storage = Hub::start();
    storage.add_folder(MODEL, &golden("bert_mlm"), &[WEIGHTS, "tokenizer.json"]);
    scene.hub.keep_at(&storage);
    let fetched = fetch(&scene.with_token(), &request(), &mut |_| {}, &|| false).unwrap();
    scene.assert_whole(&fetched);
    let (own, other) = (scene.hub.take_requests(), storage.take_requests());
    assert!(own.iter().all(|asked| asked.headers.contains_key("authorization")));
    assert_eq!(other.len(), 2);
    assert!(other.iter().all(|asked| !asked.headers.contains_key("authorization")));
}

#[test]
fn what_was_cut_off_goes_on_where_it_ended() {
    let scene = Scene::new();
    // Within one fetch.
    scene.hub.fault(WEIGHTS, &[Fault::CutAfter(3000), Fault::CutAfter(5000)]);
    let fetched = scene.fetch().unwrap();
    scene.assert_whole(&fetched);
    let asked = ranges(&scene.hub);
    assert_eq!(asked, [None, Some("bytes=3000-".to_owned()), Some("bytes=8000-".to_owned())]);
    assert_eq!(fetched.downloaded(), fetched.bytes(), "nothing came twice");

    // In the next one.
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::CutAfter(3000), Fault::CutAfter(0), Fault::CutAfter(0), Fault::CutAfter(0)]);
    let told = scene.fetch().unwrap_err();
    assert!(!told.is_refusal());
    let told = told.to_string();
    assert!(
        ["cut off at 3000 bytes of", WEIGHTS, "goes on from there"].iter().all(|word| told.contains(word)),
        "{told}"
    );
    scene.assert_intact();
    assert_eq!(fs::metadata(scene.incomplete()).unwrap().len(), 3000);
    let _ = ranges(&scene.hub);
    scene.hub.fault(WEIGHTS, &[]);
    let fetched = scene.fetch().unwrap();
    scene.assert_whole(&fetched);
    assert_eq!(ranges(&scene.hub), [Some("bytes=3000-".to_owned())]);
    let here_before = fetched.files.last().unwrap();
    assert_eq!(here_before.downloaded, here_before.bytes - 3000);
}

#[test]
fn what_other_programs_left_half_is_gone_on_with_or_thrown_away() {
    let scene = Scene::new();
    let weights = scene.weights();
    let blobs = scene.root().join("blobs");
    fs::create_dir_all(&blobs).unwrap();
    // Another beginning: seen when it is whole, and fetched once from the start.
    let mut wrong = weights[..5000].to_vec();
    wrong[17] ^= 1;
    fs::write(scene.incomplete(), &wrong).unwrap();
    scene.assert_whole(&scene.fetch().unwrap());
    assert_eq!(ranges(&scene.hub), [Some("bytes=5000-".to_owned()), None]);
    // Longer than the file.
    fs::remove_dir_all(scene.root()).unwrap();
    fs::create_dir_all(&blobs).unwrap();
    fs::write(scene.incomplete(), [weights.clone(), vec![0; 10]].concat()).unwrap();
    scene.assert_whole(&scene.fetch().unwrap());
    // Whole, but not renamed.
    fs::remove_dir_all(scene.root()).unwrap();
    fs::create_dir_all(&blobs).unwrap();
    fs::write(scene.incomplete(), &weights).unwrap();
    let _ = ranges(&scene.hub);
    let fetched = scene.fetch().unwrap();
    scene.assert_whole(&fetched);
    assert_eq!(ranges(&scene.hub), []);
    // A blob that a crash cut short.
    let blob = blobs.join(hash_of(&weights));
    fs::write(&blob, &weights[..100]).unwrap();
    scene.assert_whole(&scene.fetch().unwrap());
}

#[test]
fn servers_that_know_no_ranges_send_all_of_it_again() {
    let scene = Scene::new();
    scene.hub.ignore_ranges();
    scene.hub.hide_sizes();
    scene.hub.fault(WEIGHTS, &[Fault::CutAfter(3000)]);
    scene.assert_whole(&scene.fetch().unwrap());
    assert_eq!(ranges(&scene.hub), [None, Some("bytes=3000-".to_owned())]);
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::CutAfter(3000), Fault::WrongRange]);
    scene.assert_whole(&scene.fetch().unwrap());
}

#[test]
fn what_is_not_what_was_promised_is_never_seen() {
    for (faults, words) in [
        (&[Fault::WrongByte][..], &["not what the hub promised", "hash", "thrown away"][..]),
        (&[Fault::TooLong], &["where the hub promised", "thrown away"]),
    ] {
        let scene = Scene::new();
        scene.hub.fault(WEIGHTS, faults);
        let fetched = scene.fails_then_comes(words);
        assert!(fetched.downloaded() > 0);
    }
    // Small files have hashes of another kind.
    let scene = Scene::new();
    scene.hub.fault("vocab.txt", &[Fault::WrongByte]);
    scene.fails_then_comes(&["vocab.txt", "hash"]);
    // Too little is the same as cut off: the rest is asked for.
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::TooShort]);
    scene.assert_whole(&scene.fetch().unwrap());
    assert_eq!(ranges(&scene.hub).len(), 2);
}

#[test]
fn trouble_that_passes_is_waited_for_and_other_trouble_is_said() {
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Status(503, None), Fault::Status(429, Some(0))]);
    scene.assert_whole(&scene.fetch().unwrap());
    // Longer than anybody waits.
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Status(429, Some(300))]);
    scene.fails_then_comes(&["too many requests", "in 300 seconds"]);
    let scene = Scene::new();
    scene.hub.fault("/api/models/org/tiny/revision/main", &[Fault::Status(429, Some(90))]);
    scene.fails_then_comes(&["too many requests", "in 90 seconds"]);
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Status(500, None); 3]);
    scene.fails_then_comes(&["500", "Try again later"]);
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Status(404, None)]);
    scene.fails_then_comes(&["no file model.safetensors any more"]);
}

#[test]
fn a_hub_that_is_not_there_or_silent_is_said() {
    let scene = Scene::new();
    let nobody = HubSettings { endpoint: "http://127.0.0.1:9".to_owned(), tries: 2, ..scene.settings() };
    let told = fetch(&nobody, &request(), &mut |_| {}, &|| false).unwrap_err();
    assert!(!told.is_refusal());
    let told = told.to_string();
    let words = ["127.0.0.1:9 cannot be reached", "Check the network", "HF_ENDPOINT", "HF_HUB_OFFLINE"];
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
    let impatient = HubSettings { patience: Duration::from_millis(300), tries: 2, ..scene.settings() };
    scene.hub.fault(WEIGHTS, &[Fault::Silent, Fault::Silent]);
    let begun = Instant::now();
    let told = fetch(&impatient, &request(), &mut |_| {}, &|| false).unwrap_err().to_string();
    assert!(told.contains("cannot be reached"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    scene.assert_intact();
    scene.assert_whole(&scene.fetch().unwrap());
    // Something that is no hub.
    let scene = Scene::new();
    scene.hub.change(MODEL, |repo| {
        repo.said.insert("sha".to_owned(), "../../../etc".into());
    });
    let told = scene.fetch().unwrap_err().to_string();
    assert!(told.contains("cannot be understood") && told.contains("HF_ENDPOINT"), "{told}");
    assert!(!scene.root().exists(), "nothing was written");
}

/// Paths that lead out of the folder are no files.
#[test]
fn names_of_strangers_stay_in_the_cache() {
    let scene = Scene::new();
    scene.hub.change(MODEL, |repo| {
        for path in ["../../../evil.txt", "/etc/evil", "a/../../evil.txt", "a\\..\\evil.txt"] {
            repo.files.insert(path.to_owned(), b"evil".to_vec());
        }
    });
    let before: BTreeSet<String> = listing(scene.folder.path());
    let fetched = scene.fetch().unwrap();
    scene.assert_whole(&fetched);
    let new = listing(scene.folder.path());
    assert!(
        new.difference(&before)
            .all(|path| path.starts_with("hub/models--org--tiny/") || path.starts_with("hub/.locks/"))
    );
    assert!(new.iter().all(|path| !path.contains("evil")), "{new:?}");
}

/// A hub that sends other parts than those that were asked for, now and then or for ever.
#[test]
fn wrong_ranges_are_not_asked_for_without_end() {
    let scene = Scene::new();
    let faults: Vec<Fault> = [Fault::CutAfter(3000), Fault::WrongRange].repeat(100);
    scene.hub.fault(WEIGHTS, &faults);
    let told = scene.fetch().unwrap_err().to_string();
    assert!(told.contains("cut off") || told.contains("cannot be reached"), "{told}");
    assert!(ranges(&scene.hub).len() < 10);
    scene.assert_intact();
    scene.hub.fault(WEIGHTS, &[]);
    scene.assert_whole(&scene.fetch().unwrap());
    // Each of them once, after which the whole is asked for.
    for fault in [Fault::WrongRange, Fault::RangeOfLonger(1000), Fault::RangeAndMore(50)] {
        let scene = Scene::new();
        scene.hub.fault(WEIGHTS, &[Fault::CutAfter(3000), fault]);
        scene.assert_whole(&scene.fetch().unwrap());
        assert_eq!(ranges(&scene.hub), [None, Some("bytes=3000-".to_owned()), None], "{fault:?}");
    }
    // A part that is shorter is what was asked for, and the rest is asked for next.
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::CutAfter(3000), Fault::RangeOf(2000)]);
    scene.assert_whole(&scene.fetch().unwrap());
    assert_eq!(ranges(&scene.hub)[1..], [Some("bytes=3000-".to_owned()), Some("bytes=5000-".to_owned())]);
    // One byte at a request is progress, and too little.
    let scene = Scene::new();
    let faults: Vec<Fault> =
        [Fault::CutAfter(100)].into_iter().chain(std::iter::repeat_n(Fault::RangeOf(1), 2000)).collect();
    scene.hub.fault(WEIGHTS, &faults);
    let hasty = HubSettings { patience: Duration::from_millis(500), ..scene.settings() };
    let told = fetch(&hasty, &request(), &mut |_| {}, &|| false).unwrap_err().to_string();
    assert!(told.contains("less than 64 KiB a minute") && told.contains("goes on from there"), "{told}");
    assert!(ranges(&scene.hub).len() < 100);
}

#[test]
fn a_hub_that_sends_a_byte_now_and_then_is_given_up() {
    const LIST: &str = "/api/models/org/tiny/revision/main";
    let hasty = |scene: &Scene| HubSettings { patience: Duration::from_millis(500), tries: 2, ..scene.settings() };
    for (file, fault, word) in [
        (WEIGHTS, Fault::Trickle(20), "less than 64 KiB a minute"),
        ("vocab.txt", Fault::Trickle(100), "less than 64 KiB a minute"),
        (LIST, Fault::Trickle(20), "less than 64 KiB a minute"),
        (LIST, Fault::SlowHead(200), "silent"),
        (WEIGHTS, Fault::SlowHead(200), "silent"),
    ] {
        let scene = Scene::new();
        scene.hub.fault(file, &[fault; 4]);
        let begun = Instant::now();
        let told = fetch(&hasty(&scene), &request(), &mut |_| {}, &|| false).unwrap_err();
        assert!(!told.is_refusal() && told.to_string().contains(word), "{file}, {fault:?}: {told}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{file}, {fault:?}: {:?}", begun.elapsed());
        scene.assert_intact();
        scene.hub.behave();
        scene.assert_whole(&scene.fetch().unwrap());
    }
}

/// A file of unknown length cannot fill the disk.
#[test]
fn the_largest_size_that_was_seen_bounds_what_is_taken() {
    let most_on_disk = |scene: &Scene| {
        let blobs = scene.root().join("blobs");
        listing(&blobs).iter().map(|file| fs::metadata(blobs.join(file)).unwrap().len()).max().unwrap_or_default()
    };
    // Neither hash nor size: nothing is asked for.
    let scene = Scene::new();
    scene.hub.hide_hashes();
    scene.hub.hide_sizes();
    scene.hub.hide_lengths();
    let told = scene.fetch().unwrap_err();
    assert!(told.is_refusal(), "{told}");
    let told = told.to_string();
    assert!(
        ["config.json", "neither its size nor what its contents hash to"].iter().all(|word| told.contains(word)),
        "{told}"
    );
    assert!(ranges(&scene.hub).is_empty() && most_on_disk(&scene) == 0);
    // A hash and no size.
    let scene = Scene::new();
    scene.hub.hide_sizes();
    scene.hub.hide_lengths();
    scene.hub.mark_all(&format!("\"{}\"", hash_of(&scene.weights())));
    let only = FetchRequest { only: vec![WEIGHTS.parse().unwrap()], ..request() };
    scene.hub.fault(WEIGHTS, &[Fault::Endless(80)]);
    let told = fetch(&scene.settings(), &only, &mut |_| {}, &|| false).unwrap_err().to_string();
    assert!(told.contains("longer than 32.0 MiB"), "{told}");
    assert_eq!(most_on_disk(&scene), 0, "it was thrown away");
    let fetched = fetch(&scene.settings(), &only, &mut |_| {}, &|| false).unwrap();
    assert!(fs::read(fetched.path.join(WEIGHTS)).unwrap() == scene.weights());
    // A size, and more than that; packed into little, or said in the answer.
    for fault in
        [Fault::Endless(80), Fault::PackedEndless(80), Fault::LengthSaid(1 << 40), Fault::LengthSaid(usize::MAX / 2)]
    {
        let scene = Scene::new();
        scene.hub.fault(WEIGHTS, &[fault; 3]);
        let begun = Instant::now();
        scene.fetch().unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10), "{fault:?}");
        assert!(most_on_disk(&scene) <= scene.weights().len() as u64, "{fault:?}");
        scene.assert_intact();
        scene.hub.behave();
        scene.assert_whole(&scene.fetch().unwrap());
    }
    // What is packed on its way is unpacked and held against the hash.
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Packed]);
    scene.hub.fault("vocab.txt", &[Fault::Packed]);
    scene.assert_whole(&scene.fetch().unwrap());
}

/// A tag that several files share is no name of a blob.
#[test]
fn only_a_hash_identifies_contents() {
    for (mark, hides_hashes) in [
        ("W/\"same\"", false),
        ("W/\"same\"", true),
        ("\"same\"", true),
        ("W/\"0123456789abcdef0123456789abcdef01234567\"", true),
        ("\"../../../evil\"", false),
        ("\"a/b\"", true),
        ("", true),
        ("", false),
    ] {
        let scene = Scene::new();
        scene.hub.mark_all(mark);
        if hides_hashes {
            scene.hub.hide_hashes();
        }
        let fetched = scene.fetch().unwrap_or_else(|error| panic!("{mark}: {error}"));
        scene.assert_whole(&fetched);
        for (file, contents) in &scene.hub.repo(MODEL).unwrap().files {
            if let Ok(there) = fs::read(fetched.path.join(file)) {
                assert!(there == *contents, "{mark}: {file} is another file");
            }
        }
        // It is known again, though nothing says what it hashes to.
        let again = scene.fetch().unwrap();
        assert_eq!((&again.path, again.downloaded()), (&fetched.path, 0), "{mark}");
        assert!(!scene.folder.path().join("evil").exists());
    }
    // Without a hash a length is held against.
    let scene = Scene::new();
    scene.hub.hide_hashes();
    scene.hub.mark_all("W/\"same\"");
    scene.hub.fault(WEIGHTS, &[Fault::TooLong]);
    let told = scene.fetch().unwrap_err().to_string();
    assert!(told.contains("where the hub promised"), "{told}");
    scene.assert_intact();
    // Two hashes of one file.
    let scene = Scene::new();
    scene.hub.mark_all(&format!("\"{}\"", "0f".repeat(20)));
    let told = scene.fetch().unwrap_err().to_string();
    assert!(told.contains("cannot be understood") && told.contains("its hash is"), "{told}");
    assert!(listing(&scene.root().join("blobs")).is_empty());
}

#[test]
fn an_address_that_leads_to_itself_is_left() {
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Redirect]);
    let told = scene.fetch().unwrap_err().to_string();
    assert!(told.contains("without an end"), "{told}");
    assert!(ranges(&scene.hub).len() < 10);
    scene.hub.behave();
    scene.assert_whole(&scene.fetch().unwrap());
}

/// A stop is answered at once, whatever the hub does, and what came is kept.
#[test]
fn it_stops_at_once_and_goes_on_later() {
    for fault in [Fault::Slow(20), Fault::Silent] {
        let scene = Scene::new();
        scene.hub.fault(WEIGHTS, &[fault]);
        let is_over = AtomicBool::new(false);
        let settings = HubSettings { patience: Duration::from_mins(1), ..scene.settings() };
        let stopped = std::thread::scope(|scope| {
            let stop = || is_over.load(Ordering::Relaxed);
            let fetching = std::thread::Builder::new().name("fetch".to_owned());
            let fetching = fetching
                .spawn_scoped(scope, move || (fetch(&settings, &request(), &mut |_| {}, &stop), Instant::now()))
                .unwrap();
            while !scene
                .hub
                .take_requests()
                .iter()
                .any(|asked| asked.path.starts_with("/cdn/") && asked.path.contains(WEIGHTS))
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(100));
            let asked = Instant::now();
            is_over.store(true, Ordering::Relaxed);
            let (outcome, ended) = fetching.join().unwrap();
            assert!(ended.duration_since(asked) < Duration::from_secs(2), "{:?}", ended.duration_since(asked));
            outcome
        });
        let told = stopped.unwrap_err();
        assert!(matches!(told, HubError::Stopped) && told.to_string().contains("goes on from there"), "{told}");
        scene.assert_intact();
        let kept = fs::metadata(scene.incomplete()).unwrap().len();
        assert_eq!(kept > 0, fault != Fault::Silent);
        let fetched = scene.fetch().unwrap();
        scene.assert_whole(&fetched);
        let weights = fetched.files.last().unwrap();
        assert_eq!(weights.downloaded, weights.bytes - kept);
    }
}

/// Two at once: one downloads, the other waits and finds it.
#[test]
fn two_at_once_download_it_once() {
    let scene = Scene::new();
    scene.hub.fault(WEIGHTS, &[Fault::Slow(5)]);
    let downloaded = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (scene, downloaded) = (&scene, &downloaded);
            let work = move || {
                let fetched = scene.fetch().unwrap();
                downloaded.fetch_add(fetched.downloaded() as usize, Ordering::Relaxed);
            };
            std::thread::Builder::new().name(format!("fetch-{number}")).spawn_scoped(scope, work).unwrap();
        }
    });
    let fetched = scene.fetch().unwrap();
    scene.assert_whole(&fetched);
    assert_eq!(downloaded.load(Ordering::Relaxed) as u64, fetched.bytes());
}

/// Sizes that no disk has are refused before anything is written.
#[test]
fn what_does_not_fit_on_the_disk_is_not_begun() {
    let scene = Scene::new();
    scene.hub.claim_size(WEIGHTS, 1 << 60);
    let told = scene.fetch().unwrap_err();
    assert!(!told.is_refusal());
    let told = told.to_string();
    assert!(["Not enough disk space", "free", "HF_HUB_CACHE"].iter().all(|word| told.contains(word)), "{told}");
    scene.assert_intact();
    assert!(scene.hub.take_requests().iter().all(|asked| asked.method == "HEAD" || asked.path.starts_with("/api/")));
}

#[test]
fn a_directory_is_uploaded_and_fetched_again() {
    let scene = Scene::new();
    let from = scene.folder.path().join("mine");
    fs::create_dir(&from).unwrap();
    for file in ["config.json", WEIGHTS, "tokenizer.json"] {
        fs::copy(golden("bert_mlm").join(file), from.join(file)).unwrap();
    }
    fs::write(from.join("README.md"), "# Mine").unwrap();
    fs::write(from.join("notes.txt"), "mine alone").unwrap();
    fs::write(from.join("training_state.safetensors"), "large").unwrap();
    let push_it = |settings: &HubSettings, name: &str, public: bool| {
        let request =
            PushRequest { directory: from.clone(), name: name.parse().unwrap(), public, message: "A model".to_owned() };
        push(settings, &request, &mut |_| {}, &|| false)
    };
    let listed = contents(&from).unwrap();
    let told = push_it(&scene.settings(), "mine", false).unwrap_err();
    assert!(told.is_refusal() && told.to_string().contains("HF_TOKEN"), "{told}");
    let told = push_it(&scene.with_token(), "somebody/mine", false).unwrap_err().to_string();
    assert!(told.contains("somebody/mine") && told.contains("rights to write"), "{told}");
    assert!(scene.hub.repo("models/somebody/mine").is_none());

    let pushed = push_it(&scene.with_token(), "mine", false).unwrap();
    assert_eq!(pushed.name.as_str(), format!("{USER}/mine"));
    assert!(pushed.is_new && pushed.commit.is_some());
    assert_eq!(pushed.files, ["README.md", "config.json", WEIGHTS, "tokenizer.json"]);
    assert_eq!(pushed.left_out, ["notes.txt", "training_state.safetensors"]);
    // As it was said before.
    assert!(listed.files.iter().map(|file| &file.name).eq(&pushed.files) && listed.left_out == pushed.left_out);
    assert_eq!((listed.bytes(), pushed.public), (pushed.bytes, false));
    let key = format!("models/{USER}/mine");
    let there = scene.hub.repo(&key).unwrap();
    assert!(there.private && there.commits == 1);
    for (file, contents) in &there.files {
        assert!(contents == &fs::read(from.join(file)).unwrap(), "{file}");
    }
    // Once more nothing is sent, and nothing is committed.
    let again = push_it(&scene.with_token(), "mine", false).unwrap();
    assert_eq!((again.commit, again.sent, again.is_new), (None, 0, false));
    assert_eq!(scene.hub.repo(&key).unwrap().commits, 1);
    // What changed goes alone.
    fs::write(from.join("README.md"), "# Mine, better").unwrap();
    let changed = push_it(&scene.with_token(), "mine", false).unwrap();
    assert_eq!(changed.sent, 14);
    assert_eq!(scene.hub.repo(&key).unwrap().files["README.md"], b"# Mine, better");
    // It comes back as it was.
    let mine = FetchRequest::of(format!("{USER}/mine").parse().unwrap());
    let fetched = fetch(&scene.with_token(), &mine, &mut |_| {}, &|| false).unwrap();
    assert!(fs::read(fetched.path.join(WEIGHTS)).unwrap() == fs::read(from.join(WEIGHTS)).unwrap());
    // One that is there stays private, whatever is asked for.
    let asked_public = push_it(&scene.with_token(), "mine", true).unwrap();
    assert!(!asked_public.public && scene.hub.repo(&key).unwrap().private);
    // A public one is not written to by accident.
    scene.hub.change(&key, |repo| repo.private = false);
    let told = push_it(&scene.with_token(), "mine", false).unwrap_err().to_string();
    assert!(told.contains("everybody can read it") && told.contains("--public"), "{told}");
    assert!(push_it(&scene.with_token(), "mine", true).unwrap().public);
    // Everything else that is no model.
    fs::remove_file(from.join("config.json")).unwrap();
    let told = push_it(&scene.with_token(), "mine", true).unwrap_err();
    assert!(told.is_refusal() && told.to_string().contains("config.json"), "{told}");
}

#[test]
fn large_files_go_in_parts_and_what_fails_leaves_the_repository_as_it_was() {
    let scene = Scene::new();
    let from = golden("bert_mlm");
    let request =
        PushRequest { directory: from.clone(), name: "mine".parse().unwrap(), public: false, message: "m".to_owned() };
    let key = format!("models/{USER}/mine");
    // The storage never takes it.
    scene.hub.fault("storage", &[Fault::Status(500, None); 3]);
    let told = push(&scene.with_token(), &request, &mut |_| {}, &|| false).unwrap_err().to_string();
    assert!(told.contains("500"), "{told}");
    assert_eq!(scene.hub.repo(&key).unwrap().commits, 0);
    // Then it does, in parts.
    scene.hub.take_parts_of(10_000);
    scene.hub.fault("storage", &[Fault::Status(503, None)]);
    let mut told = Vec::new();
    let pushed = push(&scene.with_token(), &request, &mut |progress| told.push(progress.clone()), &|| false).unwrap();
    assert!(!pushed.is_new);
    let there = scene.hub.repo(&key).unwrap();
    assert!(there.files[WEIGHTS] == fs::read(from.join(WEIGHTS)).unwrap());
    assert_eq!(told.last().unwrap().bytes, told.last().unwrap().total_bytes);
    let parts = scene.hub.take_requests();
    let parts = parts.iter().filter(|asked| asked.method == "PUT");
    assert!(parts.clone().count() > 3);
    for part in parts {
        assert!(!part.headers.contains_key("authorization"), "the storage is told no token");
    }
    // Ended before the commit.
    let other = PushRequest { name: "other".parse().unwrap(), ..request };
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > 3;
    let told = push(&scene.with_token(), &other, &mut |_| {}, &stop).unwrap_err().to_string();
    assert!(told.contains("stopped") && told.contains("as it was"), "{told}");
    let offline = HubSettings { is_offline: true, ..scene.with_token() };
    let told = push(&offline, &other, &mut |_| {}, &|| false).unwrap_err().to_string();
    assert!(told.contains("HF_HUB_OFFLINE"), "{told}");
}

/// The program, with a hub and a cache of its own.
struct CommandLine {
    program: Program,
    hub: Hub,
}

impl CommandLine {
    fn new() -> Self {
        let Scene { hub, folder: _ } = Scene::new();
        Self { program: crate::program(), hub }
    }

    fn variables(&self) -> [(&'static str, String); 3] {
        let cache = self.program.path("cache").display().to_string();
        [
            ("HF_ENDPOINT", self.hub.address().to_owned()),
            ("HF_HUB_CACHE", cache),
            ("HF_HUB_DOWNLOAD_TIMEOUT", "5".to_owned()),
        ]
    }

    fn run_with(&self, arguments: &[&str], more: &[(&str, &str)]) -> Answer {
        let mut command = self.program.command(arguments);
        command.envs(self.variables()).envs(more.iter().copied());
        self.program.run_command(command)
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        self.run_with(arguments, &[])
    }
}

#[test]
fn files_of_a_fetched_data_set_are_named_as_on_the_hub() {
    let line = CommandLine::new();
    let table = |word: &str| {
        let rows = (0..40).map(|row| format!("{word} number {row}\t{}\n", row % 2));
        std::iter::once("text\tlabel\n".to_owned()).chain(rows).collect::<String>()
    };
    let mut files = std::collections::BTreeMap::new();
    files.insert("part/train.tsv".to_owned(), table("river").into_bytes());
    line.hub.add("datasets/org/text", Repo { files, ..Repo::default() });
    let config = r#"
        format = 1
        data = { kind = "table", path = "org/text/part/train.tsv", text = ["text"], label = "label", tokenizer = { kind = "bytes" } }
        task = { kind = "classification" }
        model = { kind = "encoder" }
    "#;
    line.program.write("config.toml", config);
    let _ = line
        .run(&["preview", "config.toml"])
        .expect_code(2)
        .expect_words(&["Check the path", "org/text/part/train.tsv"]);
    assert!(line.hub.take_requests().is_empty(), "nobody was asked");
    let _ = line.run(&["fetch", "org/text", "--dataset"]).expect_code(0);
    let _ = line.hub.take_requests();
    let told = line.run(&["preview", "config.toml"]).expect_code(0).stdout;
    assert!(told.contains("river number"), "{told}");
    let _ = line.run(&["estimate", "config.toml"]).expect_code(0);
    let trained = ["train", "config.toml", "--set", "train.steps=2", "--set", "train.batch=2", "--json"];
    let events = line.run(&trained).expect_code(0).events();
    let run = events.iter().find_map(|event| event["run"].as_str()).unwrap().to_owned();
    let kept = line.run(&["show", &run, "--json"]).expect_code(0).json()["config"]["data"]["path"].to_string();
    assert!(kept.contains("datasets--org--text/snapshots/"), "{kept}");
    assert!(line.hub.take_requests().is_empty(), "only the cache is looked into");
    // What lies beside the config goes first.
    line.program.write("org/text/part/train.tsv", table("owl"));
    let told = line.run(&["preview", "config.toml"]).expect_code(0).stdout;
    assert!(told.contains("owl number") && !told.contains("river"), "{told}");
}

#[test]
fn a_fetched_name_stands_for_its_directory() {
    let line = CommandLine::new();
    line.program.write("text.txt", "the old river runs to the sea and the owl sleeps. ".repeat(40));
    // Before it is fetched, what to do.
    for command in [
        &["show", "org/tiny"][..],
        &["eval", "org/tiny", "--data", "text.txt"],
        &["maps", "org/tiny", "--text", "a", "--out", "x"],
    ] {
        let _ = line.run(command).expect_code(2).expect_words(&["headroom fetch org/tiny"]);
    }
    assert!(line.hub.take_requests().is_empty(), "nobody was asked");
    let facts = line.run(&["fetch", "org/tiny", "--info", "--json"]).expect_code(0).json();
    assert_eq!(
        (&facts["licence"], &facts["gated"], &facts["private"]),
        (&"apache-2.0".into(), &"open".into(), &false.into())
    );
    assert_eq!(facts["architecture"]["model_type"], "bert");
    assert_eq!(facts["opens"], true);
    let told = line.run(&["fetch", "org/tiny", "--info"]).expect_code(0).stdout;
    assert!(
        ["apache-2.0", "fill-mask", "layers", "model.safetensors"].iter().all(|word| told.contains(word)),
        "{told}"
    );
    assert!(!line.program.path("cache/models--org--tiny/snapshots").exists());

    let answer = line.run(&["fetch", "org/tiny"]).expect_code(0);
    let path = PathBuf::from(answer.stdout.trim());
    assert!(path.starts_with(line.program.path("cache")) && path.join(WEIGHTS).is_file(), "{answer:?}");
    assert!(answer.stderr.contains("downloaded"), "{}", answer.stderr);
    let again = line.run(&["fetch", "org/tiny", "--json"]).expect_code(0).events();
    let last = again.last().unwrap();
    assert_eq!((&last["event"], &last["downloaded"]), (&"fetched".into(), &0.into()));
    assert_eq!(last["path"], path.display().to_string());
    let _ = line.hub.take_requests();
    let here = line.run(&["fetch", "--cached", "--json"]).expect_code(0).json();
    assert_eq!((&here["models"][0]["name"], &here["models"][0]["path"]), (&"org/tiny".into(), &last["path"]));

    let shown = line.run(&["show", "org/tiny", "--json"]).expect_code(0).json();
    assert_eq!(shown["path"], path.display().to_string());
    let loss = line.run(&["eval", "org/tiny", "--data", "text.txt", "--json"]).expect_code(0).json();
    assert!(loss["loss"].as_f64().unwrap().is_finite());
    let _ = line.run(&["analyse", "org/tiny", "--data", "text.txt"]).expect_code(0);
    let arguments = ["convert", "org/tiny", "--to", "half", "--collaborative", "--d-k", "8"];
    let _ = line.run(&arguments).expect_code(0);
    assert!(line.program.path("half/config.json").is_file());
    assert!(line.hub.take_requests().is_empty(), "only the cache is looked into");
    // What was fetched is as it was.
    let offline = line.run_with(&["fetch", "org/tiny"], &[("HF_HUB_OFFLINE", "1")]).expect_code(0);
    assert_eq!(PathBuf::from(offline.stdout.trim()), path);
    assert!(fs::read(path.join(WEIGHTS)).unwrap() == fs::read(golden("bert_mlm").join(WEIGHTS)).unwrap());
}

#[test]
fn the_command_line_says_what_went_wrong() {
    let line = CommandLine::new();
    for (arguments, words) in [
        (&["fetch", "../../etc"][..], &["is no name on a hub"][..]),
        (&["fetch", "org/absent"], &["org/absent", "Check the name"]),
        (&["fetch", "org/tiny", "--revision", "../x"], &["is no revision"]),
        (&["fetch", "org/tiny", "--revision", "v9"], &["no revision \"v9\""]),
        (&["fetch", "org/tiny", "--only", "../x"], &["is no path"]),
        (&["fetch", "org/tiny", "--only", "none.txt"], &["no file or folder none.txt"]),
        (&["push", "nowhere/model", "mine"], &["headroom fetch nowhere/model"]),
        (&["show", "nowhere/at/all"], &["There is no model directory"]),
    ] {
        let _ = line.run(arguments).expect_code(2).expect_words(words);
    }
    let told = line.run(&["fetch", "org/absent", "--json"]).expect_code(2).json();
    assert_eq!((&told["event"], &told["problems"][0]["field"]), (&"refused".into(), &"name".into()));
    let elsewhere = [("HF_ENDPOINT", "http://127.0.0.1:9")];
    let told = line.run_with(&["fetch", "org/tiny", "--json"], &elsewhere).expect_code(1).json();
    assert_eq!(told["event"], "failed");
    let told = line.run_with(&["fetch", "org/tiny"], &[("HF_ENDPOINT", "nonsense")]).expect_code(2);
    let _ = told.expect_words(&["HF_ENDPOINT", "https://"]);
    // What strangers say steers no terminal.
    line.hub.change(MODEL, |repo| {
        repo.said.insert("pipeline_tag".to_owned(), "x\u{1b}[2Jy".into());
    });
    let told = line.run(&["fetch", "org/tiny", "--info"]).expect_code(0).stdout;
    assert!(!told.contains('\u{1b}'), "{told:?}");
}

/// Ctrl-C keeps what came, and the same command goes on from there; so does a program that was killed.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_came() {
    let line = CommandLine::new();
    line.hub.change(MODEL, |repo| {
        repo.files.insert(WEIGHTS.to_owned(), (0..400_000_u32).map(|n| n as u8).collect());
    });
    let incomplete = || {
        let blobs = line.program.path("cache/models--org--tiny/blobs");
        let found = listing(&blobs).into_iter().find(|file| file.ends_with(".incomplete"))?;
        fs::metadata(blobs.join(found)).ok().map(|there| there.len())
    };
    for signal in ["INT", "KILL"] {
        let before = incomplete().unwrap_or_default();
        line.hub.fault(WEIGHTS, &[Fault::Slow(20)]);
        let mut command = line.program.command(&["fetch", "org/tiny", "--json"]);
        let mut child = command.envs(line.variables()).spawn().unwrap();
        let begun = Instant::now();
        while incomplete().unwrap_or_default() < before + 20_000 {
            assert!(begun.elapsed() < Duration::from_mins(1) && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(10));
        }
        let status = std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(status.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        if signal == "INT" {
            assert_eq!(output.status.code(), Some(1), "{text}");
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(last["event"], "failed");
            assert!(last["problems"][0]["message"].as_str().unwrap().contains("goes on from there"), "{last}");
        }
        assert!(!line.program.path("cache/models--org--tiny/refs/main").exists());
    }
    let kept = incomplete().unwrap();
    line.hub.fault(WEIGHTS, &[]);
    let fetched = line.run(&["fetch", "org/tiny", "--json"]).expect_code(0).events().pop().unwrap();
    let weights = fetched["files"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(weights["downloaded"].as_u64().unwrap(), 400_000 - kept, "{weights}");
}

/// The file size limit of a process stands for a disk that is full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_what_came() {
    let line = CommandLine::new();
    let weights: Vec<u8> = (0..3_000_000_u32).map(|n| n.wrapping_mul(n) as u8).collect();
    line.hub.change(MODEL, |repo| drop(repo.files.insert(WEIGHTS.to_owned(), weights.clone())));
    let binary = crate::BINARY;
    let mut command = std::process::Command::new("sh");
    // A mebibyte; the signal is ignored, so that writing fails.
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f 2048; exec {binary} fetch org/tiny")]);
    let inherited = line.program.command(&[]);
    for (name, value) in inherited.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(line.program.path("")).envs(line.variables());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("The disk is full. What came is kept"), "{told}");
    let fetched = line.run(&["fetch", "org/tiny", "--json"]).expect_code(0).events().pop().unwrap();
    let path = PathBuf::from(fetched["path"].as_str().unwrap());
    assert!(fs::read(path.join(WEIGHTS)).unwrap() == weights);
    let fetched = fetched["files"].as_array().unwrap().last().unwrap().clone();
    assert!(fetched["downloaded"].as_u64() < fetched["bytes"].as_u64(), "{fetched}");
}

#[test]
fn a_run_is_uploaded_and_comes_back() {
    let line = CommandLine::new();
    let run = line.program.train(TINY_DECODER, &["--steps", "4"]);
    let told = line.run(&["push", &run, "mine"]).expect_code(2);
    let _ = told.expect_words(&["needs a token", "HF_TOKEN"]);
    // What would be sent is said without a hub and without a token.
    let listed = line.run(&["push", &run, "mine", "--dry-run"]).expect_code(0).expect_words(&["nothing was sent"]);
    assert!(listed.stdout.contains(WEIGHTS) && !listed.stdout.contains("training_state"), "{}", listed.stdout);
    let listed = line.run(&["push", &run, "mine", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(listed["event"], "push_previewed");
    assert!(line.hub.take_requests().is_empty(), "nobody was asked");
    let token = [("HF_TOKEN", TOKEN)];
    let told = line.run_with(&["push", &run, "somebody/mine"], &token).expect_code(2);
    let _ = told.expect_words(&["somebody/mine", "rights"]);
    let answer = line.run_with(&["push", &run, "mine"], &token).expect_code(0);
    assert_eq!(answer.stdout.trim(), format!("{}/{USER}/mine", line.hub.address()));
    assert!(answer.stderr.contains("private"), "{}", answer.stderr);
    let key = format!("models/{USER}/mine");
    let repo = line.hub.repo(&key).unwrap();
    assert!(repo.private && repo.files.contains_key(WEIGHTS) && repo.files.contains_key("config.json"));
    assert!(!repo.files.contains_key("training_state.safetensors"));
    let names: Vec<&str> =
        listed["files"].as_array().unwrap().iter().filter_map(|file| file["name"].as_str()).collect();
    assert!(repo.files.keys().map(String::as_str).eq(names.iter().copied()), "{names:?} were promised");
    assert_eq!(listed["bytes"], repo.files.values().map(Vec::len).sum::<usize>());
    let name = format!("{USER}/mine");
    let _ = line.run(&["fetch", &name]).expect_code(2);
    let _ = line.run_with(&["fetch", &name], &token).expect_code(0);
    let text = |target: &str| {
        let arguments = ["generate", target, "--prompt", "the ", "--max-length", "8", "--json"];
        line.run(&arguments).expect_code(0).json()["tokens"].clone()
    };
    assert_eq!(text(&run), text(&name));
    let pushed = line.run_with(&["push", &name, "mine", "--json"], &token).expect_code(0).events().pop().unwrap();
    assert_eq!((&pushed["event"], &pushed["commit"]), (&"pushed".into(), &Value::Null));
    // From a directory, for everybody.
    let _ = line.run(&["export", &run, "--to", "out"]).expect_code(0);
    let pushed = line.run_with(&["push", "out", "shown", "--public", "--json"], &token).expect_code(0).events();
    assert_eq!(pushed.last().unwrap()["public"], true);
    assert!(!line.hub.repo(&format!("models/{USER}/shown")).unwrap().private);
}
