use headroom_engine::{
    checkpoint::{AttentionError, DirectoryFacts, FileFacts, Lineage, MeasuredChange, TensorFacts},
    config::{NormPlacement, RunConfig},
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
        config: None,
        config_toml: None,
        lineage: Some(lineage),
        training: None,
        further: Some(further),
        why_not_further: None,
    }
}
