//! What is bounded or refused before it costs anything: things that are no files, words and archives without an end, absurd
//! numbers of threads; and what is answered without a text, a step or a file that somebody else would have to open.

use std::{
    fs,
    time::{Duration, Instant},
};
#[cfg(unix)]
use std::{path::Path, process::Command};

use headroom_engine::config::{PresetGroup, Source, presets};
#[cfg(target_os = "linux")]
use headroom_tests::{HostileFiles, Verdict};
use headroom_tests::{TINY_DECODER, TINY_ENCODER, sentences};
use serde_json::Value;

use crate::program;

#[cfg(unix)]
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A pipe without a writer is waited for, by whoever opens it as a file, for ever; so these must end.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_by_their_kind() {
    let program = program();
    program.write("text.txt", sentences(200));
    for name in ["pipe.txt", "tokenizer.json", "pipe.toml"] {
        pipe(&program.path(name));
    }
    std::os::unix::fs::symlink(program.path("pipe.txt"), program.path("link.txt.gz")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", program.path("zero.txt")).unwrap();
    program.write("c.toml", TINY_DECODER);
    for (path, kind) in [("pipe.txt", "pipe"), ("link.txt.gz", "pipe"), ("zero.txt", "device")] {
        let source = format!("kind = \"file\"\npath = \"{path}\"");
        program.write("reading.toml", TINY_DECODER.replace("kind = \"grammar\"\nwords = 4000", &source));
        let words = ["data.path", path, kind, "not a file"];
        let _ = program.run(&["train", "reading.toml"]).expect_code(2).expect_words(&words);
    }
    let tokenizer = ["train", "c.toml", "--set", "data.tokenizer={kind=\"file\",path=\"tokenizer.json\"}"];
    let words = ["data.tokenizer.path", "pipe", "tokenizer.json"];
    let _ = program.run(&tokenizer).expect_code(2).expect_words(&words);
    let _ =
        program.run(&["train", "pipe.toml"]).expect_code(2).expect_words(&["pipe.toml", "pipe", "headroom train -"]);

    let run = program.train(TINY_DECODER, &["--steps", "2"]);
    let _ = program.run(&["eval", &run, "--data", "pipe.txt"]).expect_code(2).expect_words(&["pipe", "not a file"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    for file in ["config.json", "model.safetensors", "tokenizer.json", "headroom.toml", "headroom.json"] {
        let path = program.path("model").join(file);
        fs::rename(&path, program.path("aside")).unwrap();
        pipe(&path);
        let answer = program.run(&["eval", "model", "--data", "text.txt"]);
        assert_ne!(answer.code, 0, "{file}");
        let _ = answer.expect_words(&["pipe"]);
        fs::rename(program.path("aside"), &path).unwrap();
    }
    let _ = program.run(&["eval", "model", "--data", "text.txt"]).expect_code(0);
}

/// What the shell opens itself, as in `headroom train <(command)`, is read to its end, up to a bound.
#[cfg(unix)]
#[test]
fn a_config_may_come_from_the_shells_own_pipe() {
    let program = program();
    program.write("text.txt", sentences(200));
    let config = TINY_DECODER.replace("kind = \"grammar\"\nwords = 4000", "kind = \"file\"\npath = \"text.txt\"");
    program.write("c.toml", config);
    let through_shell = |script: &str| {
        let own = program.command(&[]);
        let mut shell = program.command_of("bash", &["-c", script, "bash"]);
        shell.arg(own.get_program());
        program.run_command(shell)
    };
    // Relative paths start at the current folder.
    let _ = through_shell("\"$1\" train <(cat c.toml) --steps 2").expect_code(0);
    let _ = through_shell("cat c.toml | \"$1\" train /dev/stdin --steps 2").expect_code(0);
    let _ = through_shell("\"$1\" train - --steps 2 < /dev/zero").expect_code(2).expect_words(&["16.0 MiB"]);
}

/// Half a gigabyte of zero bytes in half a megabyte: refused by its beginning, in less memory than its text.
#[test]
fn a_packed_file_that_is_no_text_is_refused_by_its_beginning() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2"]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let block = vec![0; 1 << 20];
    for _ in 0..512 {
        packed.write_all(&block).unwrap();
    }
    program.write("zeros.txt.gz", packed.finish().unwrap());
    let answer = program.run(&["eval", &run, "--data", "zeros.txt.gz"]).expect_code(2);
    let _ = answer.expect_words(&["not text", "byte 0", "zeros.txt.gz"]);
}

#[test]
fn a_word_of_megabytes_does_not_hold_the_tokenizer() {
    let program = program();
    let letters = |at: usize| char::from(b'a' + (at.wrapping_mul(2_654_435_761) >> 13) as u8 % 4);
    let word: String = (0..4 << 20).map(letters).collect();
    program.write("word.txt", format!("{}{word}\n{}", sentences(50), sentences(50)));
    let config = TINY_DECODER
        .replace("kind = \"grammar\"\nwords = 4000", "kind = \"file\"\npath = \"word.txt\"")
        .replace("{ kind = \"bytes\" }", "{ kind = \"bpe\", vocabulary = 400 }");
    program.write("c.toml", config);
    let started = Instant::now();
    let _ = program.run(&["train", "c.toml", "--steps", "2"]).expect_code(0);
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
}

#[test]
fn more_threads_than_the_machine_has_are_bounded_with_a_word() {
    let program = program();
    let cores = std::thread::available_parallelism().unwrap().get();
    let asked = (cores * 4 + 1).to_string();
    let answer = program.run_with_input(&["train", "-", "--steps", "2", "--threads", &asked, "--json"], TINY_DECODER);
    let events = answer.expect_code(0).events();
    let of = |name: &str| events.iter().find(|event| event["event"] == name).unwrap();
    assert_eq!(of("started")["threads"], cores * 4);
    let message = of("warning")["message"].as_str().unwrap();
    assert!(message.contains(&format!("{} are used", cores * 4)), "{message}");
    let run = events.last().unwrap()["run"].as_str().unwrap();
    let text = program.run(&["show", run]).expect_code(0).stdout;
    assert!(text.contains(&format!("{} threads", cores * 4)), "{text}");
    let answer = program.run_with_input(&["train", "-", "--threads", "5000"], TINY_DECODER).expect_code(2);
    let _ = answer.expect_words(&["threads", "5000 is too large; it must be from 0 to 4,096", "core"]);
}

#[test]
fn an_estimate_needs_no_text_where_the_vocabulary_is_known() {
    let program = program();
    let estimate = |arguments: &[&str]| {
        let json = [&["estimate"], arguments, &["--json"]].concat();
        let answer = program.run(&json).expect_code(0).json();
        let text = program.run(&[&["estimate"], arguments].concat()).expect_code(0).stdout;
        (answer, text)
    };
    // The preset names no text, the second one a text that is not there.
    for set in ["seed=1", "data.path=nowhere.txt"] {
        let (json, text) = estimate(&["text-decoder", "--set", set]);
        assert_eq!((&json["vocabulary"], &json["vocabulary_from"]), (&8192.into(), &"config".into()));
        assert!(text.contains("8,192 tokens, as data.tokenizer.vocabulary says; no text was read"), "{text}");
    }
    let (json, _) = estimate(&["text-decoder", "--set", "data.tokenizer={kind=\"bytes\"}"]);
    assert_eq!((&json["vocabulary"], &json["vocabulary_from"]), (&257.into(), &"bytes".into()));

    let run = program.train(TINY_ENCODER, &["--steps", "2"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let file = |path: &str| format!("data.tokenizer={{kind=\"file\",path=\"{path}\"}}");
    let (json, text) = estimate(&["text-decoder", "--set", &file("model/tokenizer.json")]);
    assert_eq!((&json["vocabulary"], &json["vocabulary_from"]), (&300.into(), &"tokenizer_file".into()));
    assert!(text.contains("300 tokens, as in the tokenizer's file"), "{text}");
    let (json, text) = estimate(&["text-decoder", "--set", &file("nowhere.json")]);
    assert_eq!((&json["vocabulary"], &json["vocabulary_from"]), (&32_000.into(), &"assumption".into()));
    assert!(text.contains("assumed") && text.contains("nowhere.json"), "{text}");
}

#[test]
fn an_export_says_whether_transformers_opens_it() {
    let program = program();
    let reuse = "[attention]\nreuse = { kind = \"full\", layers = 1 }\n";
    for (config, norm, more, opens, words) in [
        (TINY_DECODER, "pre", "", true, "GPT2LMHeadModel"),
        (TINY_DECODER, "post", "", false, "norm last"),
        (TINY_ENCODER, "pre", "", true, "MegatronBertForMaskedLM"),
        (TINY_ENCODER, "post", "", true, "BertForMaskedLM"),
        (TINY_ENCODER, "post", reuse, false, "attention.reuse"),
    ] {
        let norm = format!("model.norm=\"{norm}\"");
        let run = program.train(&format!("{config}{more}"), &["--steps", "2", "--set", &norm]);
        let to = format!("model-{run}");
        let json = program.run(&["export", &run, "--to", &to, "--json"]).expect_code(0).json();
        assert_eq!(json["opens_in_transformers"], opens, "{json}");
        assert!(json["reason"].as_str().unwrap().contains(words), "{json}");
        let saved: Value = serde_json::from_slice(&fs::read(program.path(&to).join("config.json")).unwrap()).unwrap();
        assert_eq!(saved["model_type"] == "headroom", !opens);
        assert_eq!(saved.get("headroom_note"), (!opens).then_some(&json["reason"]));
        let text = program.run(&["export", &run, "--to", &format!("{to}-2")]).expect_code(0).stdout;
        assert!(text.contains(json["reason"].as_str().unwrap()), "{text}");
    }
}

/// Presets that a small machine trains, as they are but for their size.
#[test]
fn every_small_preset_trains() {
    let program = program();
    let small = presets().iter().filter(|preset| preset.group == PresetGroup::Attention);
    for preset in small {
        let config = preset.config().unwrap();
        let size = match config.data.source {
            Source::Grammar(_) => "data.words=6000",
            Source::NumberWords(_) => "data.pairs=1000",
            Source::File(_)
            | Source::Random(_)
            | Source::Pairs(_)
            | Source::Table(_)
            | Source::Squad(_)
            | Source::Images(_)
            | Source::Pathfinder(_)
            | Source::ListOps(_) => {
                panic!("{} trains on other text", preset.name)
            }
        };
        let mut set = vec![size, "data.tokenizer.vocabulary=400", "data.sequence_length=24"];
        set.extend(["model.width=16", "model.feed_forward=32", "train.batch=2", "train.steps=8", "probe.every=0"]);
        match config.attention.compatibility.kind() {
            "collaborative" => set.push("attention.compatibility.d_k=8"),
            "latent" => set.push("attention.compatibility.rank=8"),
            _ => {}
        }
        if !config.attention.coverage.is_full() {
            set.extend(["attention.coverage.warmup_steps=4", "attention.coverage.examples=8"]);
        }
        let mut arguments = vec!["train", preset.name, "--json", "--set"];
        arguments.extend(set);
        let events = program.run(&arguments).expect_code(0).events();
        let chosen = events.iter().filter(|event| event["event"] == "pairs_chosen").count();
        assert_eq!(chosen, usize::from(!config.attention.coverage.is_full()), "{}", preset.name);
        assert_eq!(events.last().unwrap()["state"], "finished", "{}", preset.name);
    }
}

/// Pairs are chosen for the length of the examples; the model may have more positions, as BERT has.
#[test]
fn partial_coverage_works_where_there_are_more_positions_than_tokens() {
    for (config, restore) in [(TINY_ENCODER, "fixed"), (TINY_DECODER, "per_layer")] {
        let program = program();
        program.write("text.txt", sentences(80));
        let partial = |from: &str| {
            format!(
                "{config}\n[attention]\ncoverage = {{ kind = \"partial\", k = 5, restore = \"{restore}\", \
                 examples = 12, warmup_steps = 20{from} }}\n"
            )
        };
        let positions = ["--set", "model.positions=64"];
        let exact = program.train(config, &positions);
        let run = program.train(&partial(""), &positions);
        let last = ["--which", "last"];
        let count = |run: &str| program.show(run)["parameters"].as_u64().unwrap();
        // R of one layer of the two, for 16 tokens.
        let restored = if restore == "fixed" { 0 } else { (11 * 12 / 2) * 5 };
        assert_eq!(count(&run) - count(&exact), restored);
        let loss = |target: &str, more: &[&str]| {
            let all = [&["eval", target, "--data", "text.txt", "--json"], more].concat();
            program.run(&all).expect_code(0).json()["loss"].as_f64().unwrap()
        };
        let _ = program.run(&["export", &run, "--to", "model", "--which", "last"]).expect_code(0);
        assert_eq!(loss(&run, &last).to_bits(), loss("model", &[]).to_bits());
        let config: Value = serde_json::from_slice(&fs::read(program.path("model/config.json")).unwrap()).unwrap();
        assert_eq!(config["headroom_attention"]["tokens"], 16);
        let saved = config.get("n_positions").or(config.get("max_position_embeddings")).unwrap();
        assert_eq!(saved, 64);
        // Pairs of another run, and pairs for an evaluation alone.
        let other = partial(&format!(", from = \"{exact}\""));
        let _ = program.train(&other, &positions);
        assert!(loss(&exact, &["--coverage", "partial:k=5"]).is_finite());
    }
}

/// A directory of 112 KB took 18 GB, a footer of 8 KB asked for 17, and panics of libraries were errors of the program's own. The
/// same as `cargo run -p headroom-tools --bin hostile_files`.
#[cfg(target_os = "linux")]
#[test]
fn files_whose_sizes_are_lies_are_refused_in_little_memory() {
    let files = HostileFiles::new(crate::BINARY.into());
    let outcomes = files.run(|_| true, |_| ());
    assert!(outcomes.len() > 40);
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !matches!(outcome.verdict, Verdict::Answered | Verdict::Refused))
        .map(ToString::to_string)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
