//! Training that begins with a model (`model.initial`): a run, a directory, a fetched model, every family; what is taken, what a run
//! keeps of where it began, and what is refused.

use std::{fmt::Write as _, fs, path::Path};

use headroom_engine::{
    checkpoint::read_plan,
    config::{
        ClassificationTask, DataConfig, FileSource, InitialTokenizer, ModelKind, PairsSource, RunConfig, Source,
        StabilityChoice, TaskConfig, Tokenizer, Unwatched, from_toml, to_toml,
    },
    worker::model_facts,
};
use headroom_tests::{Program, TINY_DECODER, TINY_ENCODER, TINY_TRANSLATION};
use serde_json::Value;

use crate::program;

/// The same config, beginning with a model.
fn begins(config: &str, initial: &str) -> RunConfig {
    let mut config = from_toml(config).unwrap();
    config.model.initial = Some(initial.to_owned());
    config.data.tokenizer = Tokenizer::Initial(InitialTokenizer {});
    config.name.push_str(", further");
    // Losses of so few tokens jump.
    config.train.stability = StabilityChoice::Off(Unwatched {});
    config
}

/// A step that is too small to change a weight.
fn still(mut config: RunConfig) -> String {
    (config.train.steps, config.train.learning_rate, config.train.weight_decay) = (Some(1), 1e-30, 0.0);
    (config.train.evaluate_every, config.model.dropout) = (1, 0.0);
    to_toml(&config)
}

/// The loss of a run's best checkpoint on its own text.
fn evaluated(program: &Program, run: &str) -> f64 {
    program.run(&["eval", run, "--json"]).expect_code(0).json()["loss"].as_f64().unwrap()
}

/// The loss of any model on a file.
fn evaluated_on(program: &Program, target: &str, data: &str) -> f64 {
    program.run(&["eval", target, "--data", data, "--json"]).expect_code(0).json()["loss"].as_f64().unwrap()
}

fn validation_loss(program: &Program, run: &str) -> f64 {
    program.show(run)["metrics"]["validation/loss"]["last"].as_f64().unwrap()
}

fn lineage(program: &Program, target: &str) -> Value {
    program.run(&["show", target, "--json"]).expect_code(0).json()["lineage"].clone()
}

/// The events of a run of a config.
fn events(program: &Program, config: &str) -> Vec<Value> {
    program.write("further.toml", config);
    program.run(&["train", "further.toml", "--json"]).expect_code(0).events()
}

fn find<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// From a directory, and from the run itself, by name or id: before anything changed the loss is the model's, to the bit.
#[test]
fn a_run_that_changes_nothing_has_the_loss_of_its_model() {
    for config in [TINY_DECODER, TINY_ENCODER, TINY_TRANSLATION] {
        let program = program();
        let run = program.train(config, &["--steps", "20"]);
        let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
        let loss = evaluated(&program, &run);
        let name = from_toml(config).unwrap().name;
        for initial in ["model", &run, &name] {
            let events = events(&program, &still(begins(config, initial)));
            let (begun, queued) = (find(&events, "begun_with"), find(&events, "queued"));
            assert_eq!(begun["fresh"], serde_json::json!([]), "{begun}");
            assert_eq!(begun["left_out"], serde_json::json!([]), "{begun}");
            let further = queued["run"].as_str().unwrap();
            assert_eq!(validation_loss(&program, further).to_bits(), loss.to_bits(), "{name} from {initial}");
            // What it began with is said of it and of what is made of it.
            let _ = program.run(&["export", further, "--to", "taken"]).expect_code(0);
            let lineage = lineage(&program, "taken");
            assert_eq!(lineage["weights_sha256"], begun["weights_sha256"], "{lineage}");
            assert_eq!(lineage["weights_sha256"].as_str().unwrap().len(), 64);
            assert_eq!(lineage["run"].is_null(), initial == "model", "{lineage}");
            let card = fs::read_to_string(program.path("taken/README.md")).unwrap();
            assert!(card.contains("trained further"), "{card}");
            fs::remove_dir_all(program.path("taken")).unwrap();
        }
        // And it learns from there: better than the model that it began with.
        let mut config = begins(config, "model");
        (config.train.steps, config.train.learning_rate) = (Some(120), 2e-3);
        let events = events(&program, &to_toml(&config));
        let further = find(&events, "queued")["run"].as_str().unwrap().to_owned();
        let best = program.show(&further)["metrics"]["validation/loss"]["best"].as_f64().unwrap();
        assert!(best < loss, "{name}: {best} after {loss}");
    }
}

/// Losses of so few tokens jump.
const WATCHES_NOT: &str = "train.stability.kind=off";

/// What the window's button puts into Configure.
#[test]
fn a_config_that_trains_further_is_printed() {
    let program = program();
    let run = program.train(TINY_TRANSLATION, &["--steps", "10"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    for target in [&run, "model"] {
        let printed = program.run(&["show", target, "--further"]).expect_code(0).stdout;
        let config = from_toml(&printed).unwrap();
        assert_eq!(config.data.source, from_toml(TINY_TRANSLATION).unwrap().data.source);
        assert!(config.model.initial.as_ref().unwrap().ends_with(target), "{printed}");
        let told = events(&program, &still(config));
        assert_eq!(told.last().unwrap()["state"], "finished");
        let further = find(&told, "queued")["run"].as_str().unwrap();
        assert_eq!(validation_loss(&program, further).to_bits(), evaluated(&program, &run).to_bits(), "{target}");
    }
    golden(&program, "mistral");
    let config = from_toml(&program.run(&["show", "mistral", "--further"]).expect_code(0).stdout).unwrap();
    assert_eq!(config.validate(), vec![]);
    golden(&program, "vit");
    let _ = program.run(&["show", "vit", "--further"]).expect_code(2).expect_words(&["reads images"]);
}

/// Without its own word about the tokenizer a run has that of the model.
#[test]
fn a_converted_model_is_trained_further() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--steps", "20"]);
    let _ = program.run(&["convert", &run, "--to", "half", "--collaborative", "--d-k", "8"]).expect_code(0);
    program.write("text.txt", "the old river runs to the sea and the owl sleeps. ".repeat(40));
    let converted = evaluated_on(&program, "half", "text.txt");
    let config = TINY_ENCODER.replace("tokenizer = { kind = \"word_piece\", vocabulary = 300 }\n", "");
    program.write("c.toml", format!("{config}[attention]\ncompatibility = {{ kind = \"collaborative\", d_k = 8 }}\n"));
    let arguments =
        ["train", "c.toml", "--set", "model.initial=half", "train.steps=1", "train.learning_rate=1e-30", "--json"];
    let events = program.run(&arguments).expect_code(0).events();
    let further = find(&events, "queued")["run"].as_str().unwrap().to_owned();
    assert_eq!(evaluated_on(&program, &further, "text.txt").to_bits(), converted.to_bits());
    let arguments =
        ["train", "c.toml", "--set", "model.initial=half", "train.learning_rate=2e-3", WATCHES_NOT, "--json"];
    let events = program.run(&arguments).expect_code(0).events();
    let learnt = find(&events, "queued")["run"].as_str().unwrap().to_owned();
    assert!(evaluated(&program, &learnt) < evaluated(&program, &further));
    let _ = program.run(&["export", &further, "--to", "taken"]).expect_code(0);
    let lineage = lineage(&program, "taken");
    assert!(lineage["by"].as_str().unwrap().starts_with("trained further"), "{lineage}");
    assert!(lineage["before"]["by"].as_str().unwrap().starts_with("collaborative"), "{lineage}");
    // What is done with a run is done with this one.
    let _ = program.run(&["analyse", &further]).expect_code(0);
    let told = program.run(&["estimate", "c.toml", "--set", "model.initial=half"]).expect_code(0).stdout;
    assert!(told.contains("tokens of the model to begin with"), "{told}");
}

/// A model at several shared widths: what each is worth before it is trained further, and after.
#[test]
fn widths_are_swept_before_and_after_training_further() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--steps", "20"]);
    let convert = ["convert", run.as_str(), "--to", "narrow", "--collaborative", "--d-k", "8,4", "--json"];
    let told = program.run(&convert).expect_code(0).events();
    let made: Vec<&Value> = told.iter().filter(|event| event["event"] == "converted").collect();
    assert_eq!(made.len(), 2);
    assert!(made[1]["path"].as_str().unwrap().ends_with("d_k-4"), "{made:?}");
    assert!(made[1]["parameters"].as_u64() < made[0]["parameters"].as_u64(), "{made:?}");
    let _ = program.run(&convert).expect_code(2).expect_words(&["d_k-8 holds files already"]);
    let _ = program
        .run(&["convert", &run, "--to", "again", "--collaborative", "--d-k", "4,4"])
        .expect_code(2)
        .expect_words(&["4 is named twice"]);
    program.write(
        "c.toml",
        TINY_ENCODER.replace("steps = 60", "steps = 20").replace("evaluate_every = 20", "evaluate_every = 10"),
    );
    let begin = format!("{run},narrow/d_k-8,narrow/d_k-4");
    let arguments = ["race", "c.toml", "--begin", &begin, "--json", "--set", WATCHES_NOT];
    let race = program.run(&arguments).expect_code(0).json();
    let entrants = race["entrants"].as_array().unwrap();
    let names: Vec<&str> = entrants.iter().map(|entrant| entrant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tiny encoder", "d_k-8", "d_k-4"]);
    let runs: Vec<&str> = entrants.iter().map(|entrant| entrant["runs"][0]["id"].as_str().unwrap()).collect();
    let loss = |run: &str| -> Vec<(u64, f64)> {
        let curve = program.curve(run, "validation/loss");
        curve.into_iter().map(|(step, bits)| (step, f64::from_bits(bits))).collect()
    };
    let curves: Vec<Vec<(u64, f64)>> = runs.iter().map(|run| loss(run)).collect();
    for curve in &curves {
        assert_eq!(curve.iter().map(|point| point.0).collect::<Vec<_>>(), [0, 10, 20], "{curves:?}");
    }
    // Before: the run as it was, and the narrower the worse.
    assert!((curves[0][0].1 - evaluated(&program, &run)).abs() < 1e-12, "{curves:?}");
    assert!(curves[2][0].1 != curves[0][0].1, "{curves:?}");
    let widths: Vec<Value> =
        runs.iter().map(|run| program.show(run)["config"]["attention"]["compatibility"]["d_k"].clone()).collect();
    assert_eq!(widths, [Value::Null, 8.into(), 4.into()]);
    for (begin, words) in [("narrow/d_k-8", "nothing to race"), ("nowhere/at,narrow/d_k-8", "nowhere/at")] {
        let _ = program.run(&["race", "c.toml", "--begin", begin]).expect_code(2).expect_words(&[words]);
    }
}

/// A run that is killed goes on along the same curve, though the model that it began with is gone.
#[test]
fn a_run_needs_its_model_no_more_once_it_began() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--steps", "20"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let mut config = begins(TINY_ENCODER, "model");
    (config.train.steps, config.train.checkpoint_every, config.train.learning_rate) = (Some(120), 50, 1e-3);
    program.write("c.toml", to_toml(&config));
    let whole = program.run(&["train", "c.toml", "--json"]).expect_code(0).events();
    let whole = find(&whole, "queued")["run"].as_str().unwrap().to_owned();
    // Before the first checkpoint of its own interval, and after.
    for step in [0, 60] {
        let training = program.start(&["train", "c.toml", "--json"]);
        let queued = training.wait_for("queued", |_| true).unwrap();
        let killed = queued["run"].as_str().unwrap().to_owned();
        let _ = training.wait_for("checkpointed", |_| true).unwrap();
        let _ = training.wait_for("step", |event| event["step"].as_u64().unwrap() >= step).unwrap();
        training.kill();
        fs::rename(program.path("model"), program.path("gone")).unwrap();
        let resumed = program.run(&["resume", &killed, "--json"]).expect_code(0).events();
        assert_eq!(resumed.last().unwrap()["state"], "finished");
        assert!(!resumed.iter().any(|event| event["event"] == "begun_with"));
        for series in ["train/loss", "validation/loss", "train/grad_norm"] {
            assert_eq!(program.curve(&whole, series), program.curve(&killed, series), "{series}");
        }
        let _ = program.run(&["export", &killed, "--to", "taken"]).expect_code(0);
        assert!(lineage(&program, "taken")["weights_sha256"].is_string());
        assert_eq!(evaluated(&program, &killed).to_bits(), evaluated(&program, &whole).to_bits());
        fs::remove_dir_all(program.path("taken")).unwrap();
        fs::rename(program.path("gone"), program.path("model")).unwrap();
    }
    // A new run does need it.
    fs::remove_dir_all(program.path("model")).unwrap();
    let _ = program.run(&["train", "c.toml"]).expect_code(2).expect_words(&["model.initial", "model"]);
}

/// A tokenizer of 36 words.
fn write_words(program: &Program, file: &str) {
    let mut words: Vec<String> = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"].map(str::to_owned).to_vec();
    words.extend((5..36).map(|word| format!("w{word}")));
    let vocabulary: serde_json::Map<String, Value> =
        words.iter().zip(0..).map(|(word, id): (_, u32)| (word.clone(), id.into())).collect();
    let special = |id: usize| {
        serde_json::json!({"id": id, "content": words[id], "special": true, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false})
    };
    let tokenizer = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
        "decoder": null, "added_tokens": (0..5).map(special).collect::<Vec<_>>(),
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    });
    program.write(file, tokenizer.to_string());
}

/// A golden with a tokenizer of its vocabulary.
fn golden(program: &Program, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf").join(name);
    for file in ["config.json", "generation_config.json", "model.safetensors", "pytorch_model.bin"] {
        if let Ok(bytes) = fs::read(from.join(file)) {
            program.write(&format!("{name}/{file}"), bytes);
        }
    }
    write_words(program, &format!("{name}/tokenizer.json"));
}

/// A config that trains a model further, on text or pairs in its words.
fn config_for(program: &Program, name: &str) -> Result<RunConfig, String> {
    let plan = read_plan(&program.path(name)).unwrap();
    let (mut model, attention) = plan.config_to_train_further()?;
    (model.initial, model.dropout) = (Some(name.to_owned()), 0.0);
    let mut text = String::new();
    for line in 0..300_u32 {
        let words = |salt: u32| {
            let word = |place: u32| format!("w{}", 5 + (line * 7 + place * (1 + line % 3) + salt) % 31);
            (0..6).map(word).collect::<Vec<_>>().join(" ")
        };
        if model.kind == ModelKind::EncoderDecoder {
            let _ = write!(text, "{}\t", words(3));
        }
        let _ = writeln!(text, "{}", words(0));
    }
    program.write("text.txt", &text);
    program.write("pairs.tsv", &text);
    let source = match model.kind {
        ModelKind::EncoderDecoder => {
            Source::Pairs(PairsSource { path: Some("pairs.tsv".into()), ..PairsSource::default() })
        }
        ModelKind::Encoder | ModelKind::Decoder => {
            Source::File(FileSource { path: "text.txt".into(), ..FileSource::default() })
        }
    };
    let mut config = RunConfig { model, attention, ..RunConfig::default() };
    config.data = DataConfig {
        source,
        sequence_length: 12,
        tokenizer: Tokenizer::Initial(InitialTokenizer {}),
        ..DataConfig::default()
    };
    (config.threads, config.probe.every) = (1, 0);
    (config.train.steps, config.train.batch, config.train.learning_rate) = (Some(60), 4, 3e-3);
    (config.train.evaluate_every, config.train.checkpoint_every) = (20, 20);
    config.train.stability = StabilityChoice::Off(Unwatched {});
    Ok(config)
}

/// Models of every family that predict tokens, and encoders that predict something else, are trained further, go on from a
/// checkpoint exactly, and are taken home as what they were.
#[test]
fn every_family_is_trained_further() {
    let fresh_head = ["bert_model", "bert_seqcls", "bert_span", "distilbert_seqcls", "electra", "roberta_model"];
    let whole = [
        "albert",
        "bart",
        "bart_relu",
        "bert_mlm",
        "distilbert",
        "electra_generator",
        "gpt2",
        "llama",
        "marian",
        "mistral",
        "qwen2",
        "roberta",
        "roberta_pickled",
    ];
    for name in whole.into_iter().chain(fresh_head) {
        let program = program();
        golden(&program, name);
        let config = config_for(&program, name).unwrap();
        let told = events(&program, &to_toml(&config));
        let begun = find(&told, "begun_with");
        let fresh = begun["fresh"].as_array().unwrap();
        assert_eq!(fresh.is_empty(), whole.contains(&name), "{name}: {begun}");
        let run = find(&told, "queued")["run"].as_str().unwrap().to_owned();
        let losses = program.curve(&run, "train/loss");
        let loss = |(_, bits): &(u64, u64)| f64::from_bits(*bits);
        let first = losses.iter().take(4).map(loss).sum::<f64>() / 4.0;
        let last = validation_loss(&program, &run);
        assert!(last < first, "{name}: {last} after {first}");
        // Killed somewhere and gone on with.
        let training = program.start(&["train", "further.toml", "--json"]);
        let killed = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
        let _ = training.wait_for("checkpointed", |_| true);
        training.kill();
        fs::remove_dir_all(program.path(name)).unwrap();
        if program.show(&killed)["state"] != "finished" {
            let _ = program.run(&["resume", &killed, "--json"]).expect_code(0);
        }
        for series in ["train/loss", "validation/loss"] {
            assert_eq!(program.curve(&run, series), program.curve(&killed, series), "{name} {series}");
        }
        let _ = program.run(&["export", &run, "--to", "taken"]).expect_code(0);
        let data = if config.data.source.has_pairs() { "pairs.tsv" } else { "text.txt" };
        let loss = |target: &str| evaluated_on(&program, target, data).to_bits();
        assert_eq!(loss("taken"), loss(&run), "{name}");
        let by = lineage(&program, "taken")["by"].as_str().unwrap().to_owned();
        assert_eq!(by.contains("fresh"), !fresh.is_empty(), "{name}: {by}");
    }
}

#[test]
fn models_that_cannot_be_trained_further_are_refused() {
    let program = program();
    for (name, words) in [("vit", &["reads images"][..]), ("t5_encoder", &["predicts no tokens"])] {
        golden(&program, name);
        let refused = config_for(&program, name).unwrap_err();
        assert!(words.iter().all(|word| refused.contains(word)), "{name}: {refused}");
        program.write("c.toml", TINY_DECODER);
        let answer = program.run(&["train", "c.toml", "--set", &format!("model.initial={name}")]);
        let _ = answer.expect_code(2).expect_words(&["model.initial"]).expect_words(words);
    }
    // Their decoders begin with another token than those that are trained here; so do those of Marian on hubs.
    for name in ["marian", "t5", "t5_gated"] {
        golden(&program, name);
        let file = format!("{name}/config.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(program.path(&file)).unwrap()).unwrap();
        settings["decoder_start_token_id"] = 1.into();
        program.write(&file, settings.to_string());
        program.write("c.toml", to_toml(&config_for(&program, name).unwrap()));
        let answer = program.run(&["train", "c.toml"]);
        assert_ne!(answer.code, 0);
        let _ = answer.expect_words(&["begin with the token \"<pad>\"", "begin with \"</s>\""]);
    }
}

#[test]
fn what_differs_from_the_model_is_told_field_by_field() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--steps", "2"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let of = |settings: &[&str]| {
        program.write("c.toml", TINY_DECODER);
        let arguments = [&["train", "c.toml", "--set", "model.initial=model"], settings].concat();
        program.run(&arguments).expect_code(2)
    };
    let answer = of(&["model.layers=3", "model.heads=4", "model.width=32", "model.feed_forward=8", "model.norm=post"]);
    let _ = answer.expect_words(&[
        "model.layers: it is 3 here, and 2 in the model to begin with; set it to 2",
        "model.heads: it is 4 here",
        "model.width: it is 32 here",
        "model.feed_forward: it is 8 here",
        "model.norm: it is \"post\" here, and \"pre\"",
    ]);
    let _ = of(&["data.sequence_length=32"]).expect_words(&["data.sequence_length", "at most 16 tokens"]);
    let _ = of(&["model.positions=32"]).expect_words(&["model.positions: it is 32 here"]);
    let _ = of(&["attention.compatibility.kind=symmetric"]).expect_words(&[
        "attention.compatibility",
        "standard",
        "headroom convert",
    ]);
    let reuse = "attention.reuse={ kind = \"first\", layers = 1, heads = 1 }";
    let _ = of(&[reuse]).expect_words(&["attention.reuse", "none", "headroom convert"]);
    let _ = of(&["attention.match_parameters=standard"]).expect_words(&["attention.match_parameters"]);
    program.write("c.toml", TINY_ENCODER);
    let _ = program
        .run(&["train", "c.toml", "--set", "model.initial=model"])
        .expect_code(2)
        .expect_words(&["model.kind: it is \"encoder\" here, and \"decoder\""]);

    // The tokenizer.
    program.write("c.toml", TINY_DECODER);
    let other = "data.tokenizer={ kind = \"bpe\", vocabulary = 300 }";
    let answer = program.run(&["train", "c.toml", "--set", "model.initial=model", other]);
    assert_ne!(answer.code, 0);
    let _ = answer.expect_words(&["data.tokenizer", "kind = \"initial\""]);
    let _ = program
        .run(&["train", "c.toml", "--set", "data.tokenizer.kind=initial"])
        .expect_code(2)
        .expect_words(&["data.tokenizer.kind", "model.initial"]);
    fs::remove_file(program.path("model/tokenizer.json")).unwrap();
    fs::remove_file(program.path("model/headroom.json")).unwrap();
    let answer = program.run(&["train", "c.toml", "--set", "model.initial=model"]);
    assert_ne!(answer.code, 0);
    let _ = answer.expect_words(&["tokenizer.json"]);

    // What is nowhere.
    for (initial, words) in [
        ("nowhere", &["model.initial", "headroom fetch nowhere"][..]),
        ("an/other", &["model.initial", "headroom fetch an/other"]),
        ("./no/such/folder", &["model.initial", "no model directory"]),
    ] {
        let answer = program.run(&["train", "c.toml", "--set", &format!("model.initial={initial}")]);
        let _ = answer.expect_code(2).expect_words(words);
    }
    program.write("empty/nothing.txt", "nothing");
    let _ = program.run(&["train", "c.toml", "--set", "model.initial=empty"]).expect_code(2).expect_words(&["model"]);
    let _ = program.run(&["train", "c.toml", "--set", "model.initial=\"\""]).expect_code(2).expect_words(&["leave"]);
}

/// A model that leaves out pairs goes on with these; one that scores all of them may choose some after a warm-up.
#[test]
fn pairs_are_kept_and_chosen() {
    let program = program();
    let partial = "[attention]\ncoverage = { kind = \"partial\", k = 4, warmup_steps = 10, examples = 8 }\n";
    let full = program.train(TINY_DECODER, &["--steps", "20"]);
    let text = format!("{TINY_DECODER}{partial}");
    let told = events(&program, &to_toml(&begins(&text, &full)));
    let chosen = find(&told, "queued")["run"].as_str().unwrap().to_owned();
    assert_eq!(find(&told, "pairs_chosen")["step"], 10);
    let loss = evaluated(&program, &chosen);
    let mut config = from_toml(&still(begins(&text, &chosen))).unwrap();
    (config.train.steps, config.train.evaluate_every) = (Some(12), 12);
    let told = events(&program, &to_toml(&config));
    assert!(!told.iter().any(|event| event["event"] == "pairs_chosen"));
    let further = find(&told, "queued")["run"].as_str().unwrap();
    assert_eq!(validation_loss(&program, further).to_bits(), loss.to_bits());
    program.write("c.toml", to_toml(&begins(TINY_DECODER, &chosen)));
    let _ = program.run(&["train", "c.toml"]).expect_code(2).expect_words(&["attention.coverage", "leaves out pairs"]);
}

/// From the cache of a hub, and by `data.tokenizer` of one's own where it is the same.
#[test]
fn a_fetched_model_is_found_in_the_cache() {
    let program = program();
    golden(&program, "gpt2");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let snapshot = format!("cache/models--org--tiny/snapshots/{commit}");
    fs::create_dir_all(program.path(&snapshot)).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(program.path("gpt2").join(file), program.path(&snapshot).join(file)).unwrap();
    }
    program.write("cache/models--org--tiny/refs/main", commit);
    let mut config = config_for(&program, "gpt2").unwrap();
    (config.model.initial, config.train.steps) = (Some("org/tiny".to_owned()), Some(1));
    config.data.tokenizer =
        Tokenizer::File(headroom_engine::config::FileTokenizer { path: "gpt2/tokenizer.json".into() });
    program.write("c.toml", to_toml(&config));
    let mut command = program.command(&["train", "c.toml", "--json"]);
    command.env("HF_HUB_CACHE", program.path("cache"));
    let told = program.run_command(command).expect_code(0).events();
    assert!(find(&told, "begun_with")["model"].as_str().unwrap().contains(commit));
}

/// A table of four classes, and a model with more positions and another vocabulary than a config alone would give.
#[test]
fn costs_are_those_of_the_run_that_begins_with_the_model() {
    let program = program();
    let run = program.train(TINY_ENCODER, &["--steps", "4"]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let rows = (0..60).map(|row| format!("the river runs to sea {row}\t{}\n", ["a", "b", "c", "d"][row % 4]));
    program.write("rows.tsv", format!("text\tlabel\n{}", rows.collect::<String>()));
    let mut config = begins(TINY_ENCODER, "model");
    config.data.source = from_toml("format = 1\ntask.kind = \"classification\"\n[data]\nkind = \"table\"\npath = \"rows.tsv\"\ntext = \"text\"\nlabel = \"label\"\n[model]\nkind = \"encoder\"\n").unwrap().data.source;
    config.task = Some(TaskConfig::Classification(ClassificationTask::default()));
    config.data.sequence_length /= 2;
    config.train.steps = Some(2);
    program.write("further.toml", to_toml(&config));
    let estimated = program.run(&["estimate", "further.toml", "--json"]).expect_code(0).json();
    let trained = program.run(&["train", "further.toml", "--json"]).expect_code(0).events();
    let further = find(&trained, "queued")["run"].as_str().unwrap();
    let shown = program.show(further);
    for key in ["parameters", "flops_per_step"] {
        assert_eq!(estimated[key], shown[key], "{key}");
        assert!(shown[key].as_u64().unwrap() > 0, "{shown}");
    }
    let _ = program.run(&["analyse", further]).expect_code(0);
    let advised = program.run(&["advise", further, "--json"]).expect_code(0).json();
    assert_eq!(advised["present"]["parameters"], shown["parameters"], "{advised}");
    // What the form and the race dialog count by.
    let facts = model_facts(None, &config, program.path("further.toml").parent().unwrap());
    assert_eq!((facts.outputs, facts.initial.is_some()), (Some(4), true));
    let cost = facts.training_cost(&config).unwrap();
    assert_eq!(Some(cost.parameters), shown["parameters"].as_u64());
    assert_eq!(Some(cost.flops_per_step), shown["flops_per_step"].as_u64());
}

/// `eval` computes in double precision where training did.
#[test]
fn a_run_is_evaluated_in_its_own_precision() {
    let program = program();
    let run = program.train(TINY_DECODER, &["--set", "precision=f64", "train.steps=10"]);
    let best = program.show(&run)["metrics"]["validation/loss"]["best"].as_f64().unwrap();
    let loss = |more: &[&str]| {
        let found = program.run(&[&["eval", &run, "--json"], more].concat()).expect_code(0).json();
        (found["loss"].as_f64().unwrap(), found["precision"].clone())
    };
    assert_eq!(loss(&[]), (best, "f64".into()));
    let (single, precision) = loss(&["--precision", "f32"]);
    assert!(single != best && (single - best).abs() < 1e-5 * best && precision == "f32", "{single} {best}");
    let _ = program.run(&["eval", &run, "--precision", "f8"]).expect_code(2).expect_words(&["f32, f64, f16, bf16"]);
}
