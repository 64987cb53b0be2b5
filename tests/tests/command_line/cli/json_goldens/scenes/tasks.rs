use std::{fs, path::Path};

use headroom_tests::{Program, TINY_ENCODER, TINY_TRANSLATION};

use super::super::recorder::Recorder;

/// A tiny encoder on a table of two texts.
const TABLE: &str = r#"
format = 1
name = "table"
seed = 3
threads = 1
[data]
kind = "table"
path = "train.tsv"
validation_path = "dev.tsv"
text = ["first", "second"]
label = "label"
sequence_length = 24
tokenizer = { kind = "bytes" }
[task]
kind = "classification"
[model]
kind = "encoder"
layers = 1
heads = 2
width = 16
feed_forward = 32
dropout = 0.0
[train]
steps = 30
batch = 8
learning_rate = 1e-2
evaluate_every = 15
[probe]
every = 0
"#;

/// Encoders of every kind, tables, questions, images and translations.
pub fn record(recorder: &mut Recorder<'_>) {
    tables(recorder);
    fixtures(recorder);
    hidden_words(recorder);
    translations(recorder);
}

fn tables(recorder: &mut Recorder<'_>) {
    let table = |rows: usize| {
        let row = |row: usize| format!("{}\tit is {}\tyes, {row}\n", row % 2, ["good", "poor"][row % 2]);
        format!("label\tfirst\tsecond\n{}", (0..rows).map(row).collect::<String>())
    };
    recorder.program.write("table.toml", TABLE);
    recorder.program.write("train.tsv", table(24));
    recorder.program.write("dev.tsv", table(6));
    recorder.program.write("pairs.txt", "it is good\tyes\nit is poor\tno\n");
    recorder.succeed("preview table.toml");
    recorder.record("preview table.toml --set data.label=missing");
    recorder.succeed("train table.toml");
    recorder.succeed("eval table --which last --mistakes 1");
    recorder.succeed("predict table --input pairs.txt --which last");
    recorder.record("predict table --input gone.txt");
    recorder.succeed("train table.toml --name numbers --set task.kind=regression");
    recorder.succeed("eval numbers --which last");
    recorder.succeed("predict numbers --input pairs.txt --which last");
}

/// Questions and images of the fixtures.
fn fixtures(recorder: &mut Recorder<'_>) {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/inputs");
    copy(&inputs.join("squad"), recorder.program, "squad");
    recorder.succeed("preview squad/sq.toml");
    recorder.succeed("train squad/sq.toml --name questions");
    recorder.succeed("eval questions --mistakes 1");
    recorder.succeed("predict questions --input squad/sq_ok.json");

    copy(&inputs.join("images"), recorder.program, "images");
    let few = "--set train.steps=4 train.evaluate_every=4";
    recorder.succeed("preview images/im.toml");
    recorder.succeed(&format!("train images/im.toml --name pictures {few}"));
    recorder.succeed("eval pictures");
    recorder.succeed("predict pictures --input images/img_val/h");
    recorder.succeed("maps pictures --image 1 --layer 0 --head 0 --out maps");
}

fn hidden_words(recorder: &mut Recorder<'_>) {
    recorder.program.write("hidden.toml", TINY_ENCODER.replace("tiny encoder", "hidden"));
    recorder.succeed("estimate hidden.toml");
    recorder.succeed("train hidden.toml --steps 4 --set train.evaluate_every=4 train.schedule.warmup_steps=2");
    recorder.succeed("generate hidden --prompt the[MASK]");
    recorder.record("generate hidden --prompt the");
}

fn translations(recorder: &mut Recorder<'_>) {
    let config = TINY_TRANSLATION.replace("tiny translation", "translation");
    recorder.program.write("translation.toml", config);
    recorder.program.write("lines.txt", "twenty-one\nfive\n");
    recorder.succeed("preview translation.toml");
    recorder.succeed("estimate translation.toml");
    recorder.succeed(
        "train translation.toml --steps 4 --set train.evaluate_every=4 train.schedule.warmup_steps=2 task.kind=translation \
         task.scored_pairs=2",
    );
    recorder.succeed("eval translation");
    recorder.succeed("translate-eval translation --limit 2 --max-length 6 --threads 1");
    recorder.record("translate-eval translation --beam 0");
    recorder.succeed("generate translation --prompt five --max-length 3");
    recorder.succeed("predict translation --input lines.txt");
}

fn copy(from: &Path, program: &Program, to: &str) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = format!("{to}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            copy(&path, program, &to);
        } else {
            program.write(&to, fs::read(&path).expect("a file"));
        }
    }
}
