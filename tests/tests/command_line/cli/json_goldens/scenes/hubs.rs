use std::{collections::BTreeMap, path::Path};

use headroom_tests::{Hub, Repo, TOKEN};

use super::{super::recorder::Recorder, train};

const MODEL: &str = "models/org/tiny";

/// Transfers from and to a hub on loopback.
pub fn record(recorder: &mut Recorder<'_>) {
    let hub = Hub::start();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/hf/bert_mlm");
    hub.add_folder(MODEL, &model, &["config.json", "model.safetensors", "tokenizer.json", "vocab.txt"]);
    hub.change(MODEL, |repo| {
        repo.files.insert("tf_model.h5".to_owned(), vec![7; 1000]);
        repo.said.insert("cardData".to_owned(), serde_json::json!({ "license": "apache-2.0" }));
        repo.said.insert("pipeline_tag".to_owned(), "fill-mask".into());
    });
    let files = BTreeMap::from([("part/train.tsv".to_owned(), b"text\tlabel\nriver\t1\n".to_vec())]);
    hub.add("datasets/org/text", Repo { files, ..Repo::default() });
    recorder.ask_hub(hub.address());

    recorder.succeed("fetch org/tiny --info");
    recorder.succeed("fetch org/tiny");
    recorder.succeed("fetch org/tiny");
    recorder.succeed("fetch org/text --dataset --only part");
    recorder.succeed("fetch --cached");
    recorder.record("fetch org/absent");
    recorder.record("fetch ../x");
    recorder.record("fetch");

    train(recorder.program, &["--steps", "2"]);
    recorder.record("push tiny mine");
    recorder.set("HF_TOKEN", TOKEN);
    recorder.succeed("push tiny mine --dry-run");
    recorder.succeed("push tiny mine");
    recorder.succeed("push tiny mine --public --which last");
    recorder.record("push nobody mine");
    recorder.record("push tiny somebody/mine");
}
