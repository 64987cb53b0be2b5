//! Encoder-decoders from the config to the export, through the command line.

use headroom_tests::TINY_TRANSLATION;

use crate::program;

/// The same model with standard attention everywhere: what `transformers` knows.
fn plain() -> String {
    let (before, after) = TINY_TRANSLATION.split_once("[attention.cross]").unwrap();
    format!("{before}[train]{}", after.split_once("[train]").unwrap().1)
}

#[test]
fn a_run_is_trained_shown_evaluated_and_exported() {
    let program = program();
    program.write("c.toml", plain());
    let events = program.run(&["train", "c.toml", "--json", "--set", "probe.every=30"]).expect_code(0).events();
    let evaluated: Vec<_> = events.iter().filter(|event| event["event"] == "evaluated").collect();
    assert_eq!(evaluated.len(), 3);
    for field in ["loss", "perplexity", "token_accuracy"] {
        assert!(evaluated.iter().all(|event| event[field].as_f64().is_some_and(f64::is_finite)), "{field}");
    }
    assert!(evaluated[2]["loss"].as_f64() < evaluated[0]["loss"].as_f64());
    let sample = events.iter().find(|event| event["event"] == "sample").unwrap();
    assert!(sample["text"].as_str().unwrap().contains('\u{2192}'), "{sample}");
    let finished = events.last().unwrap();
    assert_eq!(finished["state"], "finished");
    let run = finished["run"].as_str().unwrap();
    let shown = program.show(run);
    assert_eq!(shown["config"]["model"]["kind"], "encoder_decoder");
    let best = shown["metrics"]["validation/loss"]["best"].as_f64().unwrap();
    assert!(shown["parameters"].as_u64().unwrap() > 10_000);
    // The same loss from the checkpoint.
    let found = program.run(&["eval", run, "--json"]).expect_code(0).json();
    assert!((found["loss"].as_f64().unwrap() - best).abs() < 1e-6 * best, "{found} {best}");
    let exported = program.run(&["export", run, "--to", "model", "--json"]).expect_code(0).json();
    assert_eq!(exported["step"], 60);
    let config = std::fs::read_to_string(program.path("model/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!((&config["model_type"], &config["encoder_layers"]), (&"bart".into(), &1.into()));
    assert_eq!((&config["decoder_start_token_id"], &config["pad_token_id"]), (&2.into(), &1.into()));
    // Pairs of one's own, as two files and as a table, with the run and with the directory.
    program.write("a.en", "twenty-one\nthe third of May nineteen hundred\n");
    program.write("a.de", "einundzwanzig\nder dritte Mai neunzehnhundert\n");
    program.write(
        "a.tsv",
        "twenty-one\teinundzwanzig\nthe third of May nineteen hundred\tder dritte Mai neunzehnhundert\n",
    );
    let losses: Vec<f64> = [
        &["eval", run, "--data", "a.en", "--translations", "a.de", "--json"][..],
        &["eval", run, "--data", "a.tsv", "--json"],
        &["eval", "model", "--data", "a.tsv", "--json"],
        &["eval", "model", "--data", "a.en", "--translations", "a.de", "--json"],
    ]
    .iter()
    .map(|arguments| program.run(arguments).expect_code(0).json()["loss"].as_f64().unwrap())
    .collect();
    assert!(losses.iter().all(|loss| (loss - losses[0]).abs() < 1e-6 * losses[0]), "{losses:?}");
    // What cannot be said of it yet, it says so of.
    for arguments in [
        &["advise", run][..],
        &["analyse", run],
        &["domains", "c.toml"],
        &["eval", run, "--coverage", "partial:k=4"],
        &["maps", run, "--out", "maps"],
    ] {
        let answer = program.run(arguments).expect_code(2);
        assert!(answer.stderr.contains("encoder-decoder"), "{arguments:?}: {}", answer.stderr);
    }
}

#[test]
fn translations_are_scored_alike_with_every_cache() {
    let program = program();
    let run = program.train(&plain(), &[]);
    let _ = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    let settings = std::fs::read_to_string(program.path("model/generation_config.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!((&settings["decoder_start_token_id"], &settings["eos_token_id"]), (&2.into(), &2.into()));
    program.write("a.en", "twenty-one\nfive\nthe third of May nineteen hundred\nforty\n");
    program.write("a.de", "einundzwanzig\nf\u{fc}nf\nder dritte Mai neunzehnhundert\nvierzig\n");
    let pairs = ["--data", "a.en", "--translations", "a.de"];
    let score = |target: &str, more: &[&str]| {
        let arguments: Vec<&str> = ["translate-eval", target, "--json"].iter().chain(more).copied().collect();
        program.run(&arguments).expect_code(0).json()
    };
    let (mut texts, mut bytes) = (Vec::new(), Vec::new());
    for (target, cache, batch) in
        [(&*run, "none", "4"), (&*run, "key_value", "4"), (&*run, "hidden", "4"), ("model", "key_value", "1")]
    {
        let output = format!("{}-{cache}-{batch}.txt", target.len());
        let more = ["--cache", cache, "--batch", batch, "--output", &output, "--max-length", "20"];
        let found = score(target, &[&pairs[..], &more].concat());
        assert_eq!((&found["event"], &found["pairs"]), (&"translation_evaluated".into(), &4.into()));
        for field in ["bleu", "chrf", "rouge_1", "rouge_2", "rouge_l", "exact_match"] {
            let value = found[field].as_f64().unwrap();
            assert!((0.0..=100.0).contains(&value), "{field}: {value}");
        }
        assert!(found["samples_per_sec"].as_f64().unwrap() > 0.0 && found["translations"].is_null());
        bytes.push(found["cache_bytes"].as_u64().unwrap());
        let text = std::fs::read_to_string(program.path(&output)).unwrap();
        assert_eq!(text.lines().count(), 4);
        texts.push((text, found["bleu"].clone(), found["chrf"].clone()));
    }
    assert!(texts.iter().all(|other| *other == texts[0]), "{texts:?}");
    // Without a cache what the encoder read alone is there; one text at a time takes less than four.
    assert!(bytes[0] < bytes[1] && bytes[0] <= bytes[2] && bytes[3] < bytes[1], "{bytes:?}");
    // The pairs that were held out of the run, some of them, with beams.
    let found = score(&run, &["--limit", "5", "--beam", "2", "--max-length", "12"]);
    assert_eq!((&found["pairs"], &found["beams"], &found["stopped"]), (&5.into(), &2.into(), &false.into()));
    // The sources of held-out pairs are what the proof reads.
    let proof = program.run(&["generate", &run, "--prove", "--examples", "4", "--max-length", "12", "--json"]);
    let proof = proof.expect_code(0).json();
    assert_eq!((&proof["lossless"], &proof["proofs"][0]["proof"]["texts"]), (&true.into(), &4.into()), "{proof}");
    // What one line alone is translated to is what `generate` writes.
    let alone = program.run(&["generate", &run, "--prompt", "twenty-one", "--max-length", "20", "--json"]);
    let alone = alone.expect_code(0).json()["text"].as_str().unwrap().to_owned();
    assert_eq!(texts[0].0.lines().next().unwrap(), alone.trim());
    // By the config that lies in it a directory is scored on the pairs that were held out of its run; one from elsewhere needs some.
    let more = ["--limit", "5", "--max-length", "12"];
    let (of_run, of_directory) = (score(&run, &more), score("model", &more));
    for field in ["data", "pairs", "bleu", "chrf"] {
        assert_eq!(of_run[field], of_directory[field], "{field}");
    }
    std::fs::remove_file(program.path("model/headroom.toml")).unwrap();
    for (arguments, words) in [
        (&["translate-eval", "model"][..], "--data"),
        (&["translate-eval", &run, "--data", "nowhere"], "no file"),
        (&["translate-eval", &run, "--output", "a.en"], "already"),
        (&["translate-eval", &run, "--beam", "0"], "beams"),
        (&["translate-eval", &run, "--data", "a.en"], "tab"),
    ] {
        let answer = program.run(arguments).expect_code(2);
        assert!(answer.stderr.to_lowercase().contains(words), "{arguments:?}: {}", answer.stderr);
    }
    let decoder = program.train(headroom_tests::TINY_DECODER, &["--set", "train.steps=1"]);
    let _ = program.run(&["translate-eval", &decoder]).expect_code(2).expect_words(&["encoder-decoder"]);
}

/// With the task, every evaluation scores what the model writes; training is what it is without.
#[test]
fn a_run_with_the_task_is_scored_while_it_trains_and_judged_by_a_score() {
    let program = program();
    program.write("c.toml", plain());
    let task = r#"task={ kind = "translation", scored_pairs = 5, beams = 2 }"#;
    let stop = r#"train.stop_early={ metric = "chrf", patience = 9 }"#;
    // Long enough to write some words rightly.
    let longer = ["train.steps=300", "train.evaluate_every=100"];
    let trained = |settings: &[&str]| -> Vec<serde_json::Value> {
        let all = [&["train", "c.toml", "--json", "--set"], &longer[..], settings].concat();
        program.run(&all).expect_code(0).events()
    };
    let (scored, plain) = (trained(&[task, stop]), trained(&["name=plain"]));
    let evaluated = |events: &[serde_json::Value]| -> Vec<serde_json::Value> {
        events.iter().filter(|event| event["event"] == "evaluated").cloned().collect()
    };
    let (with, without) = (evaluated(&scored), evaluated(&plain));
    assert_eq!(with.len(), 3);
    for (with, without) in with.iter().zip(&without) {
        assert_eq!(with["loss"], without["loss"], "scores change nothing of a run");
        for field in ["bleu", "chrf", "rouge_1", "rouge_2", "rouge_l", "exact_match"] {
            assert!(with[field].as_f64().is_some_and(|score| (0.0..=100.0).contains(&score)), "{field}: {with}");
            assert!(without.get(field).is_none_or(serde_json::Value::is_null), "{field}: {without}");
        }
    }
    assert!(with.iter().any(|event| event["chrf"].as_f64() > Some(5.0)), "{with:?}");
    let run = scored.last().unwrap()["run"].as_str().unwrap().to_owned();
    let best = program.show(&run)["metrics"]["translation/chrf"]["best"].as_f64().unwrap();
    // The best checkpoint is the best by the score, and has it again.
    let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
    assert!((found["metrics"]["chrf"].as_f64().unwrap() - best).abs() < 1e-9, "{found} {best}");
    program.write("a.tsv", "twenty-one\teinundzwanzig\nthe third of May\tder dritte Mai\n");
    let other = program.run(&["eval", &run, "--data", "a.tsv", "--json"]).expect_code(0).json();
    assert!(other["metrics"]["bleu"].is_number(), "{other}");
    for (settings, field) in [
        (&["task.kind=translation", "model.kind=decoder"][..], "data.kind"),
        (&["task.kind=translation", "task.scored_pairs=0"], "task.scored_pairs"),
        (&["task.kind=translation", "data={ kind = \"grammar\" }"], "data.kind"),
        (&["train.stop_early={ metric = \"bleu\" }"], "train.stop_early.metric"),
    ] {
        let refused = program.run(&[&["train", "c.toml", "--set"], settings].concat()).expect_code(2);
        let _ = refused.expect_words(&[field]);
    }
}

/// Pairs of a text and its summary, in a table.
#[test]
fn summaries_are_scored_by_rouge() {
    let program = program();
    let table = |first: usize, count: usize| -> String {
        let row = |number: usize| {
            let (who, what) = (["the fox", "an owl", "my aunt"][number % 3], ["bread", "a lamp"][number % 2]);
            let more = "There was rain all day, and nobody else came to the market until it was dark.";
            format!("On day {number} of the long winter {who} sold {what}. {more}\t{who} sold {what}\n")
        };
        (first..first + count).map(row).collect()
    };
    program.write("train.tsv", table(0, 40));
    program.write("dev.tsv", table(100, 6));
    let words = "kind = \"number_words\"\npairs = 1000\nsequence_length = 40\n\
                 tokenizer = { kind = \"bpe\", vocabulary = 320 }";
    let pairs = "kind = \"pairs\"\npath = \"train.tsv\"\nvalidation_path = \"dev.tsv\"\nsequence_length = 160\n\
                 tokenizer = { kind = \"bytes\" }";
    let config = plain().replace(words, pairs);
    assert!(config.contains("dev.tsv"), "{config}");
    let task = "task={ kind = \"translation\", scored_pairs = 3 }";
    let run = program.train(&config, &["--steps", "2", "--set", task, "train.batch=2"]);
    let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
    assert!(found["loss"].as_f64().is_some_and(f64::is_finite), "{found}");
    for field in ["rouge_1", "rouge_2", "rouge_l"] {
        let score = found["metrics"][field].as_f64();
        assert!(score.is_some_and(|score| (0.0..=100.0).contains(&score)), "{field}: {found}");
    }
    let counts = |translations: u64, pairs: u64| serde_json::json!({ "translations": translations, "pairs": pairs });
    assert_eq!(found["counts"], counts(3, 6), "{found}");
    // Of pairs of one's own, too.
    let found = program.run(&["eval", &run, "--data", "train.tsv", "--json"]).expect_code(0).json();
    assert!(found["metrics"]["rouge_l"].is_number(), "{found}");
    assert_eq!(found["counts"], counts(3, 40), "{found}");
    let told = program.run(&["eval", &run]).expect_code(0).stdout;
    assert!(told.contains("3 of 6 pairs were translated and scored; `headroom translate-eval`"), "{told}");
}

#[test]
fn a_run_that_translates_answers_about_every_line() {
    let program = program();
    let run = program.train(&plain(), &["--steps", "40"]);
    let _ = program.run(&["export", &run, "--to", "model", "--which", "last"]).expect_code(0);
    program.write("in.txt", "twenty-one\n\nthe third of May\n");
    let ask = |target: &str, more: &[&str]| {
        program.run(&[&["predict", target, "--input", "in.txt"], more].concat()).expect_code(0)
    };
    let answers = ask(&run, &["--json", "--which", "last"]).events();
    let texts: Vec<&str> = answers.iter().map(|answer| answer["text"].as_str().unwrap()).collect();
    assert_eq!((texts.len(), texts[1]), (3, ""), "{answers:?}");
    // Without the line that has no text these are what the run writes.
    program.write("lines.txt", "twenty-one\nthe third of May\n");
    let length = program.show(&run)["config"]["data"]["sequence_length"].as_u64().unwrap();
    let most = (length + length / 2).to_string();
    let written = ["generate", &run, "--input", "lines.txt", "--which", "last", "--json", "--max-length", &most];
    let written = program.run(&written).expect_code(0).events();
    let written: Vec<&str> = written.iter().map(|text| text["text"].as_str().unwrap()).collect();
    assert_eq!([texts[0], texts[2]], written[..], "{written:?}");
    assert_eq!(ask(&run, &["--which", "last"]).stdout.lines().count(), 3);
    assert_eq!(ask("model", &["--json"]).events().len(), 3);
    program.write(
        "q.json",
        r#"{"data": [{"title": "t", "paragraphs": [{"context": "a b", "qas": [{"id": "1", "question": "b?"}]}]}]}"#,
    );
    let _ = program.run(&["predict", &run, "--input", "q.json"]).expect_code(2).expect_words(&["translates"]);
}

#[test]
fn every_attention_of_its_own_is_kept_in_checkpoints_and_exports() {
    let program = program();
    let run = program.train(TINY_TRANSLATION, &[]);
    let loss = program.run(&["eval", &run, "--json"]).expect_code(0).json()["loss"].as_f64().unwrap();
    let exported = program.run(&["export", &run, "--to", "model"]).expect_code(0);
    assert!(exported.stdout.contains("does not open in transformers by itself"), "{}", exported.stdout);
    let text = std::fs::read_to_string(program.path("model/config.json")).unwrap();
    assert!(text.contains("HeadroomEncoderDecoder") && text.contains("\"cross\""), "{text}");
    program.write("a.tsv", "twenty-one\teinundzwanzig\nfive\tf\u{fc}nf\n");
    let of = |target: &str| {
        let found = program.run(&["eval", target, "--data", "a.tsv", "--json"]).expect_code(0).json();
        found["loss"].as_f64().unwrap()
    };
    assert!(loss.is_finite() && of("model").to_bits() == of(&run).to_bits());
}

#[test]
fn costs_and_races_count_the_encoder_and_the_attention_to_it() {
    let program = program();
    program.write("c.toml", plain());
    let estimate = program.run(&["estimate", "c.toml", "--json"]).expect_code(0).json();
    let run = program.train(&plain(), &["--steps", "1"]);
    let of = |estimate: &serde_json::Value| {
        (estimate["parameters"].as_u64().unwrap(), estimate["forward_flops"].as_u64().unwrap())
    };
    assert_eq!(of(&estimate).0, program.show(&run)["parameters"].as_u64().unwrap(), "those of the model that trains");
    let deeper = ["estimate", "c.toml", "--set", "model.encoder_layers=2", "--json"];
    let deeper = program.run(&deeper).expect_code(0).json();
    // A layer of width d and f inner units: 4 d² + 4 d of attention, 2 d f + d + f, and two norms of 2 d.
    let (d, f) = (16, 32);
    assert_eq!(of(&deeper).0 - of(&estimate).0, 4 * d * d + 4 * d + 2 * d * f + d + f + 4 * d);
    assert!(of(&deeper).1 > of(&estimate).1, "{deeper}");
    let race = ["race", "c.toml", "--families", "symmetric", "--json", "--set", "train.steps=4"];
    let found = program.run(&race).expect_code(0).json();
    assert!(found.to_string().contains("symmetric"), "{found}");
}

#[test]
fn bad_pairs_are_refused_with_the_place() {
    let program = program();
    let config = plain()
        .replace("kind = \"number_words\"\npairs = 1000", "kind = \"pairs\"\nsource = \"a.en\"\ntarget = \"a.de\"");
    program.write("c.toml", &config);
    let refused = |words: &[&str]| {
        let answer = program.run(&["train", "c.toml", "--json"]);
        assert_ne!(answer.code, 0);
        let told = format!("{}{}", answer.stdout, answer.stderr);
        assert!(words.iter().all(|word| told.contains(word)), "{words:?}: {told}");
    };
    refused(&["no such file", "a.en"]);
    program.write("a.en", "one\ntwo\n");
    program.write("a.de", "eins\n");
    let both = ["a.en has 2 lines", "the file of the translations 1 line", "a.de"];
    refused(&[&["data.target", "do not belong together"], &both[..]].concat());
    program.write("a.de", "eins\n\n");
    refused(&["line 2", "translation"]);
    program.write("a.de", b"eins\n\xff\xfe\n");
    refused(&["not UTF-8", "line 2"]);
    program.write("a.de", "eins\nzwei\n");
    for (set, field) in [
        ("data.kind=grammar", "data.kind"),
        ("model.kind=decoder", "data.kind"),
        ("attention.coverage={kind=\"partial\",k=4}", "attention.coverage.kind"),
        ("train.label_smoothing=1.5", "train.label_smoothing"),
    ] {
        let answer = program.run(&["train", "c.toml", "--set", set]).expect_code(2);
        assert!(answer.stderr.contains(field), "{set}: {}", answer.stderr);
    }
}
