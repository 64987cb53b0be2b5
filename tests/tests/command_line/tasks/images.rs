//! Images and long expressions, from the config to the export.

use std::io::Write as _;

use flate2::{Compression, Crc, write::ZlibEncoder};
use headroom_tests::Program;
use serde_json::Value;

use super::{number, program, settings};

/// A tiny model of images of 12 pixels a side.
const CONFIG: &str = r#"
format = 1
name = "tiny images"
seed = 3
threads = 2
[data]
kind = "images"
path = "train-images-idx3-ubyte"
validation_path = "dev-images-idx3-ubyte"
classes = "classes.txt"
[task]
kind = "image_classification"
[model]
kind = "encoder"
patch = 3
layers = 2
heads = 2
width = 32
feed_forward = 64
dropout = 0.1
[train]
steps = 100
batch = 16
learning_rate = 2e-3
evaluate_every = 25
stability = { kind = "off" }
[probe]
every = 50
examples = 2
"#;

fn idx(dimensions: &[u32], content: Vec<u8>) -> Vec<u8> {
    let header = dimensions.iter().flat_map(|size| size.to_be_bytes());
    [0, 0, 8, dimensions.len() as u8].into_iter().chain(header).chain(content).collect()
}

/// Bright at the left, or at the right.
fn image(number: usize) -> Vec<u8> {
    let pixel = |at: usize| {
        let is_left = at % 12 < 6;
        let noise = (number * 131 + at * 57 + number * at * 7) % 90;
        (noise + if is_left == number.is_multiple_of(2) { 140 } else { 10 }) as u8
    };
    (0..144).map(pixel).collect()
}

fn write_part(program: &Program, part: &str, first: usize, count: usize) {
    let pixels = (first..first + count).flat_map(image).collect();
    program.write(&format!("{part}-images-idx3-ubyte"), idx(&[count as u32, 12, 12], pixels));
    let classes = (first..first + count).map(|number| (number % 2) as u8).collect();
    program.write(&format!("{part}-labels-idx1-ubyte"), idx(&[count as u32], classes));
}

fn with_images() -> Program {
    let program = program();
    write_part(&program, "train", 0, 300);
    write_part(&program, "dev", 1000, 50);
    program.write("classes.txt", "left\nright\n");
    program.write("c.toml", CONFIG);
    program
}

#[test]
fn a_model_of_images_is_trained_evaluated_asked_exported_and_begun_with() {
    let program = with_images();
    let run = program.train(CONFIG, &[]);
    let shown = program.show(&run);
    let of = |series: &str| number(&shown["metrics"][series]["last"]);
    assert!(of("validation/accuracy") > 0.95, "{}", shown["metrics"]);
    let found = program.run(&["eval", &run, "--json", "--which", "last"]).expect_code(0).json();
    assert!((number(&found["metrics"]["accuracy"]) - of("validation/accuracy")).abs() < 1e-9, "{found}");
    assert_eq!((&found["unit"], &found["tokens"]), (&"nats per example".into(), &50.into()));
    let again = ["eval", &run, "--data", "dev-images-idx3-ubyte", "--json", "--which", "last"];
    let again = program.run(&again).expect_code(0).json();
    assert_eq!((&again["loss"], &again["metrics"]), (&found["loss"], &found["metrics"]));
    // What `transformers` opens.
    let _ = program.run(&["export", &run, "--to", "model", "--which", "last"]).expect_code(0);
    let config = settings(&program, "model");
    assert_eq!(config["architectures"][0], "ViTForImageClassification");
    assert_eq!(config["id2label"], serde_json::json!({ "0": "left", "1": "right" }));
    assert_eq!(
        (&config["image_size"], &config["patch_size"], &config["num_channels"]),
        (&12.into(), &3.into(), &1.into())
    );
    let preprocessor = std::fs::read_to_string(program.path("model").join("preprocessor_config.json")).unwrap();
    let preprocessor: Value = serde_json::from_str(&preprocessor).unwrap();
    assert!(number(&preprocessor["image_mean"][0]) > 0.3 && number(&preprocessor["image_std"][0]) > 0.1);
    assert!(!program.path("model").join("tokenizer.json").exists());
    let of_directory =
        program.run(&["eval", "model", "--data", "dev-images-idx3-ubyte", "--json"]).expect_code(0).json();
    assert_eq!(of_directory["metrics"], found["metrics"]);
    // Answers, from the run and from the directory.
    for target in [run.as_str(), "model"] {
        let answers =
            program.run(&["predict", target, "--input", "dev-images-idx3-ubyte", "--json"]).expect_code(0).events();
        assert_eq!(answers.len(), 50);
        let right = |(place, answer): &(usize, &Value)| answer["label"] == ["left", "right"][place % 2];
        assert!(answers.iter().enumerate().filter(right).count() > 47);
        let sum = number(&answers[0]["probabilities"]["left"]) + number(&answers[0]["probabilities"]["right"]);
        assert!((sum - 1.0).abs() < 1e-9);
    }
    let _ = program
        .run_with_input(&["predict", &run, "--input", "-"], "a text\n")
        .expect_code(2)
        .expect_words(&["reads images"]);
    // Attention over 16 squares and the class token, while it trained and afterwards, of the run and of the directory.
    let live = program.run(&["analyse", &run, "--live", "--json"]).expect_code(0).json();
    let energy = |found: &Value| number(&found["result"]["spectra"]["network"]["trace"]);
    assert!(number(&live["result"]["tokens"]) == 17.0 && energy(&live) > 0.0, "{live}");
    let asked = ["analyse", &run, "--similarity", "--spectrum", "--examples", "20", "--json"];
    let found = program.run(&asked).expect_code(0).json();
    let of_model = [
        "analyse",
        "model",
        "--data",
        "dev-images-idx3-ubyte",
        "--similarity",
        "--spectrum",
        "--examples",
        "20",
        "--json",
    ];
    let of_model = program.run(&of_model).expect_code(0).json();
    assert_eq!(found["result"]["similarity"][0]["heads"], of_model["result"]["similarity"][0]["heads"]);
    assert!((energy(&found) / energy(&of_model) - 1.0).abs() < 1e-4, "{found} {of_model}");
    let _ = program.run(&["maps", &run, "--head", "0", "--layer", "0", "--out", "maps"]).expect_code(0);
    let map = std::fs::read_to_string(program.path("maps").join("map-L0H0.csv")).unwrap();
    assert!(map.contains("[CLS]") && map.contains("3,3"), "{map}");
    let _ = program.run(&["maps", &run, "--text", "a", "--out", "none"]).expect_code(2).expect_words(&["reads images"]);
    // Any of all held-out images: the first is the first of those that are spread over all.
    let of = |which: [&str; 2], folder: &str| {
        let wanted = ["maps", &run, which[0], which[1], "--head", "0", "--layer", "0", "--out", folder];
        let _ = program.run(&wanted).expect_code(0);
        std::fs::read_to_string(program.path(folder).join("map-L0H0.csv")).unwrap()
    };
    assert_eq!(of(["--image", "1"], "first"), map);
    assert_ne!(of(["--image", "2"], "second"), map);
    let beyond = ["maps", &run, "--image", "999999", "--out", "none"];
    let _ = program.run(&beyond).expect_words(&["no held-out image 999999", "there are"]);
    let _ = program.run(&["generate", &run, "--prompt", "x"]).expect_code(2);
    // Other classes: the head starts fresh, and that is told.
    program.write("classes.txt", "l\nr\n");
    let begun = ["train", "c.toml", "--json", "--set", "model.initial=model", "--set", "train.steps=2"];
    let events = program.run(&begun).expect_code(0).events();
    let begun_with = events.iter().find(|event| event["event"] == "begun_with").unwrap();
    assert_eq!(begun_with["fresh"], serde_json::json!(["classifier.weight", "classifier.bias"]));
    let other = ["train", "c.toml", "--set", "model.initial=model", "--set", "model.patch=4"];
    let _ = program.run(&other).expect_code(2).expect_words(&["model.patch", "set it to 3"]);
}

/// A stop and a continuation change no bit of a curve.
/// Images twice as dark: a model that begins with another reads them by its own mean and deviation, and not by theirs.
#[test]
fn a_model_of_images_goes_on_with_its_own_mean_and_deviation() {
    let program = with_images();
    let run = program.train(CONFIG, &["--steps", "40"]);
    let _ = program.run(&["export", &run, "--to", "model", "--which", "last"]).expect_code(0);
    for (part, count) in [("train", 300_usize), ("dev", 50)] {
        let pixels = (0..count).flat_map(image).map(|pixel| pixel / 2).collect();
        program.write(&format!("dark-{part}-images-idx3-ubyte"), idx(&[count as u32, 12, 12], pixels));
        let classes = (0..count).map(|number| (number % 2) as u8).collect();
        program.write(&format!("dark-{part}-labels-idx1-ubyte"), idx(&[count as u32], classes));
    }
    let dark = CONFIG.replace("\"train-images", "\"dark-train-images").replace("\"dev-images", "\"dark-dev-images");
    program.write("dark.toml", dark.replace("dropout = 0.1", "dropout = 0.0\ninitial = \"model\""));
    let settings = ["train.steps=1", "train.learning_rate=1e-30", "train.weight_decay=0", "train.evaluate_every=1"];
    let events = program.run(&[&["train", "dark.toml", "--json", "--set"], settings.as_slice()].concat());
    let events = events.expect_code(0).events();
    let further = events.iter().find(|event| event["event"] == "queued").unwrap()["run"].as_str().unwrap().to_owned();
    let direct =
        program.run(&["eval", "model", "--data", "dark-dev-images-idx3-ubyte", "--json"]).expect_code(0).json();
    let shown = program.show(&further);
    assert_eq!(number(&shown["metrics"]["validation/loss"]["last"]).to_bits(), number(&direct["loss"]).to_bits());
    // And so does what is made of it.
    let _ = program.run(&["export", &further, "--to", "further", "--which", "last"]).expect_code(0);
    let mean = |folder: &str| std::fs::read_to_string(program.path(folder).join("preprocessor_config.json")).unwrap();
    assert_eq!(mean("model"), mean("further"));
}

#[test]
fn a_stopped_run_of_images_goes_on_along_its_curve() {
    let program = with_images();
    let more = ["--steps", "40", "--set", "train.evaluate_every=10", "--set", "train.checkpoint_every=5"];
    let whole = program.train(CONFIG, &more);
    let training = program.start(&[&["train", "c.toml", "--json"], &more[..]].concat());
    let run = training.wait_for("queued", |_| true).unwrap()["run"].as_str().unwrap().to_owned();
    let _ = training.wait_for("checkpointed", |_| true).unwrap();
    training.kill();
    let _ = program.run(&["resume", &run, "--json"]).expect_code(0);
    for series in ["train/loss", "validation/loss", "validation/accuracy"] {
        assert_eq!(program.curve(&run, series), program.curve(&whole, series), "{series}");
    }
}

#[test]
fn variants_of_attention_learn_images_too() {
    let program = with_images();
    for answer in [
        "attention.reuse={ kind = \"first\", layers = 1, heads = 1 }",
        "attention.compatibility={ kind = \"shared_weight\" }",
        "attention.coverage={ kind = \"partial\", k = 6, warmup_steps = 20 }",
        "model.norm=post",
    ] {
        let run = program.train(CONFIG, &["--set", answer]);
        let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
        assert!(number(&found["metrics"]["accuracy"]) > 0.8, "{answer}: {found}");
        let name = answer.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let _ = program.run(&["export", &run, "--to", &name]).expect_code(0);
        let _ = program.run(&["predict", &name, "--input", "dev-images-idx3-ubyte"]).expect_code(0);
    }
}

#[test]
fn images_that_cannot_be_learnt_are_refused_with_file_and_field() {
    let program = with_images();
    let refused = |changes: &[&str], words: &[&str]| {
        let sets = changes.iter().flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> = ["train", "c.toml"].into_iter().chain(sets).collect();
        let _ = program.run(&arguments).expect_code(2).expect_words(words);
    };
    refused(&["model.patch=5"], &["model.patch", "1, 2, 3, 4, 6, 12"]);
    refused(&["data.sequence_length=17"], &["data.sequence_length", "leave it out"]);
    refused(&["data.tokenizer.kind=bytes"], &["data.tokenizer", "images have no text"]);
    refused(&["data.path=none"], &["data.path", "no such file"]);
    refused(&["data.path=c.toml"], &["data.path", "no images that can be read", "c.toml"]);
    refused(&["data.labels=train-images-idx3-ubyte"], &["a file of labels"]);
    // Each at the field that names the wrong file.
    refused(&["data.labels=dev-labels-idx1-ubyte"], &["data.labels", "300 images and 50 labels"]);
    refused(&["data.labels=none"], &["data.labels", "none"]);
    refused(
        &["data.validation_labels=train-labels-idx1-ubyte"],
        &["data.validation_labels", "50 images and 300 labels"],
    );
    refused(&["data.classes=none.txt"], &["data.classes", "none.txt"]);
    refused(&["data.shuffled=true"], &["data.shuffled"]);
    refused(&["model.kind=decoder"], &["model.kind", "encoder"]);
    refused(&["task.kind=classification"], &["task.kind", "image_classification"]);
    let without_patch = CONFIG.replace("patch = 3\n", "");
    program.write("no_patch.toml", without_patch);
    let _ = program.run(&["train", "no_patch.toml"]).expect_code(2).expect_words(&["model.patch"]);
    program.write("classes.txt", "left\n");
    refused(&[], &["data.classes", "2 has the label 1", "1 class", "classes.txt"]);
}

/// A grey PNG file of `side` x `side` pixels, brighter to the right.
fn png(side: u32) -> Vec<u8> {
    let chunk = |kind: &[u8], content: &[u8]| -> Vec<u8> {
        let body = [kind, content].concat();
        let mut sum = Crc::new();
        sum.update(&body);
        [&(content.len() as u32).to_be_bytes()[..], &body, &sum.sum().to_be_bytes()].concat()
    };
    // Eight bits a pixel, grey; packed, filtered and ordered in the usual ways.
    let header = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    // A row begins with its filter: none.
    let row = [vec![0_u8], (0..side).map(|at| (at * 20) as u8).collect()].concat();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&row.repeat(side as usize)).unwrap();
    let pixels = packed.finish().unwrap();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), chunk(b"IDAT", &pixels), chunk(b"IEND", &[])].concat()
}

#[test]
fn questions_about_images_of_another_size_are_refused_by_both_sizes() {
    let program = with_images();
    let run = program.train(CONFIG, &["--steps", "2", "--set", "probe.every=0"]);
    for (name, sides) in [("right", [12, 12]), ("mixed", [12, 8]), ("small", [8, 8])] {
        for (number, side) in sides.into_iter().enumerate() {
            program.write(&format!("{name}/{number}.png"), png(side));
        }
    }
    let answers = program.run(&["predict", &run, "--input", "right", "--json"]).expect_code(0).events();
    let named = |answer: &Value| answer["image"].as_str().unwrap().contains(".png") && answer["label"].is_string();
    assert!(answers.len() == 2 && answers.iter().all(named), "{answers:?}");
    let refused = |input: &str, words: &[&str]| {
        let _ = program.run(&["predict", &run, "--input", input]).expect_code(2).expect_words(words);
    };
    let both = ["reads images of 12 x 12 pixels", "different sizes: 8 pixels a side here, and 12 in"];
    refused("mixed", &[&both[..], &["mixed/0.png", "mixed/1.png"]].concat());
    let other = ["1 channel of 8 pixels a side", "1 channel of 12 pixels are read", "small"];
    refused("small", &other);
    refused("small/0.png", &other);
}

#[test]
fn generated_curves_and_expressions_are_learnt_by_their_own_rules() {
    let program = program();
    let pathfinder = CONFIG
        .replace("kind = \"images\"\npath = \"train-images-idx3-ubyte\"\nvalidation_path = \"dev-images-idx3-ubyte\"\nclasses = \"classes.txt\"", "kind = \"pathfinder\"\nexamples = 200\nvalidation_examples = 20")
        .replace("patch = 3", "patch = 8");
    let run = program.train(&pathfinder, &["--steps", "5"]);
    let found = program.run(&["eval", &run, "--json"]).expect_code(0).json();
    assert_eq!(found["tokens"], 20);
    // A model that hardly learnt says the same of everything, as a rule; then it is told.
    let counts: Vec<Vec<u64>> = serde_json::from_value(found["confusion"]["counts"].clone()).unwrap();
    let is_said = |class: &usize| counts.iter().any(|row| row[*class] > 0);
    let said: Vec<usize> = (0..counts.len()).filter(is_said).collect();
    let told = program.run(&["eval", &run]).expect_code(0).stdout;
    let label = found["confusion"]["labels"][said[0]].as_str().unwrap();
    let words = format!("It says \"{label}\" for every one of 20 examples.");
    assert_eq!(told.contains(&words), said.len() == 1, "{counts:?}: {told}");
    // A patch of one pixel: 1,024 and the class token.
    let by_pixel = program.train(
        &pathfinder,
        &["--steps", "1", "--set", "model.patch=1", "--set", "train.batch=2", "--set", "train.evaluate_batches=1"],
    );
    assert_eq!(number(&program.run(&["eval", &by_pixel, "--json"]).expect_code(0).json()["sequence_length"]), 1025.0);
    let listops = CONFIG
        .replace("kind = \"images\"\npath = \"train-images-idx3-ubyte\"\nvalidation_path = \"dev-images-idx3-ubyte\"\nclasses = \"classes.txt\"", "kind = \"listops\"\nmin_length = 5\nmax_length = 40\nmax_args = 4\nexamples = 300\nvalidation_examples = 40\nsequence_length = 44")
        .replace("image_classification", "classification")
        .replace("patch = 3\n", "");
    let run = program.train(&listops, &["--steps", "30"]);
    let found = program.run(&["eval", &run, "--json", "--which", "last"]).expect_code(0).json();
    assert_eq!(found["tokens"], 40);
    assert!(found["metrics"]["accuracy"].is_number());
    let counts: Vec<Vec<u64>> = serde_json::from_value(found["confusion"]["counts"].clone()).unwrap();
    let right: u64 = counts.iter().enumerate().map(|(class, row)| row[class]).sum();
    assert_eq!(counts.iter().flatten().sum::<u64>(), 40);
    assert!((right as f64 / 40.0 - number(&found["metrics"]["accuracy"])).abs() < 1e-12, "{found}");
    let all = ["eval", &run, "--json", "--which", "last", "--mistakes", "100"];
    let mistakes = program.run(&all).expect_code(0).json()["mistakes"].as_array().unwrap().clone();
    assert_eq!(mistakes.len() as u64, 40 - right);
    let sure: Vec<f64> = mistakes.iter().map(|mistake| number(&mistake["confidence"])).collect();
    assert!(sure.is_sorted_by(|a, b| a >= b), "the surest first: {sure:?}");
    for mistake in mistakes.iter().take(3) {
        let text = mistake["texts"][0].as_str().unwrap();
        assert!(text.starts_with('[') && text.ends_with(']') && mistake["right"] != mistake["predicted"], "{mistake}");
        // What the model is asked again about, it answers the same.
        let again = program
            .run_with_input(&["predict", &run, "--input", "-", "--json", "--which", "last"], &format!("{text}\n"));
        assert_eq!(again.expect_code(0).events()[0]["label"], mistake["predicted"], "{text}");
    }
    let answers = program
        .run_with_input(&["predict", &run, "--input", "-", "--json"], "[MAX 1 2 [MIN 3 4 ] ]\n")
        .expect_code(0)
        .events();
    assert_eq!(answers[0]["probabilities"].as_object().unwrap().len(), 10);
    program.write(
        "bad.toml",
        listops.replace("sequence_length = 44", "sequence_length = 44\ntokenizer = { kind = \"bytes\" }"),
    );
    let _ =
        program.run(&["train", "bad.toml"]).expect_code(2).expect_words(&["data.tokenizer", "vocabulary of its own"]);
    // Two thousand symbols.
    let long = [
        "--steps",
        "1",
        "--set",
        "data.sequence_length=2048",
        "--set",
        "train.batch=1",
        "--set",
        "train.evaluate_batches=1",
        "--set",
        "data.min_length=1500",
        "--set",
        "data.max_length=2040",
        "--set",
        "data.max_args=10",
        "--set",
        "data.max_depth=10",
        "--set",
        "data.examples=100",
        "--set",
        "data.validation_examples=10",
    ];
    let run = program.train(&listops, &long);
    assert!(number(&program.show(&run)["metrics"]["validation/loss"]["last"]) > 0.0);
}
