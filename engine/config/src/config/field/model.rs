use super::super::field_spec::FieldSpec;

/// Fields of the transformer around the attention layers.
pub(super) const FIELDS: &[FieldSpec] = &[
    FieldSpec::new(
        "model.initial",
        "Begins with",
        "The weights that training begins with: a run by name or id, a model directory, or a model that was fetched \
         from a hub. Its sizes and its attention must be those below. Empty = fresh weights.",
    )
    .empty("fresh weights"),
    FieldSpec::new(
        "model.kind",
        "Architecture",
        "An encoder learns to predict masked tokens from both sides; a decoder learns to predict the next token \
         from the ones before it; both together learn to translate.",
    )
    .names(&[
        ("encoder", "Encoder, as BERT"),
        ("decoder", "Decoder, as GPT-2"),
        ("encoder_decoder", "Encoder and decoder, as BART"),
    ]),
    FieldSpec::new("model.layers", "Layers", "Number of layers, each attention and feed-forward.").whole(1, 256),
    FieldSpec::new(
        "model.encoder_layers",
        "Encoder layers",
        "Layers of the encoder; empty = as many as the decoder has.",
    )
    .empty("as the decoder")
    .whole(1, 256),
    FieldSpec::new("model.heads", "Heads", "Attention heads of each layer; must divide the width.").whole(1, 1024),
    FieldSpec::new("model.width", "Width", "Size of the vector that stands for a token between layers.")
        .whole(1, super::super::model::WIDEST as u64)
        .step(32),
    FieldSpec::new(
        "model.feed_forward",
        "Feed-forward width",
        "Inner width of the feed-forward block; usually 4 × width.",
    )
    .whole(1, 1_048_576)
    .step(64),
    FieldSpec::new(
        "model.dropout",
        "Dropout",
        "Share of numbers that are set to zero while training, after embeddings, on attention maps and on each \
         sub-layer's output. 0 for short runs on much text.",
    )
    .unit("0 to 1")
    .share(),
    FieldSpec::new(
        "model.norm",
        "Layer norm",
        "Before each sub-layer: x + f(norm(x)), easier to train deep. After: norm(x + f(x)), as in BERT.",
    )
    .names(&[("pre", "Before each sub-layer"), ("post", "After each sub-layer")]),
    FieldSpec::new(
        "model.patch",
        "Square",
        "Pixels of a side of the squares that an image is read in, a token each; must divide the side of the \
         images.",
    )
    .unit("pixels")
    .whole(1, super::super::MOST_SIDE as u64),
    FieldSpec::new(
        "model.positions",
        "Positions",
        "Learned positions; empty = as many as the sequence length. More let the model read longer text later.",
    )
    .empty("sequence length")
    .whole(1, 1_048_576),
];
