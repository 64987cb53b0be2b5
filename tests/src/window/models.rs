use std::path::PathBuf;

use headroom_engine::{
    checkpoint::{AttentionError, DirectoryFacts, FileFacts, Lineage, MeasuredChange, TensorFacts},
    config::{NormPlacement, RunConfig},
    hub::{
        CachedModel, CommitHash, Gating, HubFacts, InterruptedFetch, PushContents, RemoteArchitecture, RemoteFile,
        RepoFacts, RepoKind, RepoName, Revision,
    },
};

/// What the files of a small model say that was converted twice.
pub fn model_facts() -> DirectoryFacts {
    let first = Lineage {
        from: "/home/ada/runs/2n2gxw9ab1/checkpoints/step-00000600".to_owned(),
        run: Some("2n2gxw9ab1".to_owned()),
        step: Some(600),
        weights_sha256: None,
        by: "without key biases".to_owned(),
        attentions: Vec::new(),
        measured: None,
        before: None,
    };
    let lineage = Lineage {
        from: "/home/ada/models/keyless".to_owned(),
        run: None,
        step: None,
        weights_sha256: None,
        by: "grouped, 2 heads of keys and values, each the mean of its group".to_owned(),
        attentions: vec![AttentionError { attention: "decoder.0.self".to_owned(), relative_error: 0.482 }],
        measured: Some(MeasuredChange {
            data: "held-out text of the built-in grammar".to_owned(),
            examples: 32,
            tokens: 64,
            map_distance: Some(0.21),
            output_error: 0.134,
            loss_before: Some(2.81),
            loss: Some(3.37),
        }),
        before: Some(Box::new(first)),
    };
    let tensor = |name: &str, shape: &[usize]| TensorFacts { name: name.to_owned(), shape: shape.to_vec() };
    let file = |name: &str, bytes: u64| FileFacts { name: name.to_owned(), bytes };
    let mut further = RunConfig { name: "grouped, trained further".to_owned(), ..RunConfig::default() };
    (further.model.width, further.model.feed_forward) = (64, 256);
    further.model.initial = Some("/home/ada/models/grouped".to_owned());
    DirectoryFacts {
        path: "/home/ada/models/grouped".into(),
        class: Some("HeadroomDecoder".to_owned()),
        dtype: Some("float32".to_owned()),
        architecture: "decoder".to_owned(),
        norm: NormPlacement::Pre,
        layers: 4,
        heads: 4,
        width: 64,
        feed_forward: 256,
        positions: 64,
        vocabulary: 1024,
        parameters: 933_120,
        tensors: vec![tensor("transformer.wte.weight", &[1024, 64]), tensor("transformer.wpe.weight", &[64, 64])],
        files: vec![file("config.json", 1_482), file("model.safetensors", 3_732_480), file("tokenizer.json", 48_211)],
        notes: Vec::new(),
        config: None,
        config_toml: None,
        lineage: Some(lineage),
        training: None,
        further: Some(further),
        why_not_further: None,
    }
}

/// What is on this machine of a hub: a model that is whole, another one that was cut off.
pub fn hub_facts() -> HubFacts {
    let commit: CommitHash = "86b5e0934494bd15c9632b12f734a8a67f723594".parse().expect("a hash");
    let name: RepoName = "google-bert/bert-base-uncased".parse().expect("a name");
    let path = PathBuf::from("/home/ada/.cache/huggingface/hub/models--google-bert--bert-base-uncased/snapshots");
    HubFacts {
        endpoint: "https://huggingface.co".to_owned(),
        cache: "/home/ada/.cache/huggingface/hub".into(),
        has_token: false,
        is_offline: false,
        models: vec![CachedModel {
            name,
            path: path.join(commit.as_str()),
            commit,
            revisions: vec![Revision::default()],
            bytes: 441_200_000,
        }],
        interrupted: vec![InterruptedFetch { name: "org/large".parse().expect("a name"), bytes: 73_400_320 }],
    }
}

/// What would be uploaded of the same small model.
pub fn push_contents() -> PushContents {
    let file = |name: &str, bytes: u64| FileFacts { name: name.to_owned(), bytes };
    PushContents {
        files: vec![
            file("README.md", 1_912),
            file("config.json", 1_482),
            file("headroom.json", 1_130),
            file("headroom.toml", 1_604),
            file("model.safetensors", 3_732_480),
            file("modeling_headroom.py", 31_288),
            file("tokenizer.json", 48_211),
        ],
        left_out: vec!["notes.txt".to_owned(), "training_state.safetensors".to_owned()],
    }
}

/// What a hub says about a small model of sentences.
pub fn repo_facts() -> RepoFacts {
    let commit: CommitHash = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf".parse().expect("a hash");
    let file = |path: &str, bytes: u64| RemoteFile { path: path.parse().expect("a path"), bytes: Some(bytes) };
    let files = vec![file("config.json", 612), file("tokenizer.json", 466_247), file("model.safetensors", 90_868_376)];
    RepoFacts {
        kind: RepoKind::Model,
        name: "sentence-transformers/all-MiniLM-L6-v2".parse().expect("a name"),
        revision: Revision::default(),
        folder: PathBuf::from("/home/ada/.cache/huggingface/hub")
            .join("models--sentence-transformers--all-MiniLM-L6-v2/snapshots")
            .join(commit.as_str()),
        commit,
        private: false,
        gated: Gating::Open,
        licence: Some("apache-2.0".to_owned()),
        task: Some("sentence-similarity".to_owned()),
        updated: None,
        parameters: Some(22_713_728),
        architecture: Some(RemoteArchitecture {
            model_type: Some("bert".to_owned()),
            class: Some("BertModel".to_owned()),
            layers: Some(6),
            heads: Some(12),
            width: Some(384),
            vocabulary: Some(30_522),
        }),
        opens: Some(true),
        refusal: None,
        bytes: files.iter().filter_map(|file| file.bytes).sum(),
        files,
        bytes_here: 0,
        other_files: 24,
        problem: None,
    }
}
