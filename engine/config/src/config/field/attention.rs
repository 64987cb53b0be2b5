use super::super::field_spec::{FieldSpec, Takes};

/// Fields of reuse. Kinds have titles and formulas of their own, beside what they do.
pub(super) const FIELDS: &[FieldSpec] = &[
    FieldSpec::new("attention.reuse.kind", "Which heads score", "Which heads compute an attention map of their own.")
        .names(&[
            ("none", "No reuse"),
            ("first", "First"),
            ("partial", "Partial"),
            ("full", "Full"),
            ("alternate", "Alternate"),
            ("all_end", "All end"),
            ("skip", "Skip"),
            ("custom", "Custom reuse"),
        ]),
    FieldSpec::new("attention.reuse.layers", "Layers that borrow", "How many layers borrow, P.").count().of(&[
        "first",
        "full",
        "alternate",
        "all_end",
    ]),
    FieldSpec::new("attention.reuse.layers", "Layers without attention", "How many layers have no attention, P.")
        .count()
        .of(&["skip"]),
    FieldSpec::new("attention.reuse.heads", "Heads that borrow", "How many heads of each of these layers borrow, K.")
        .count()
        .of(&["first", "partial", "alternate", "all_end"]),
    FieldSpec::new(
        "attention.reuse.rows",
        "Table of heads",
        "A row a layer, layer 0 first, with / between rows: c computes, 0.1 borrows from layer 0 head 1, - is off.",
    )
    .takes(Takes::Texts)
    .of(&["custom"]),
];

/// Fields of what follows the way to score.
pub(super) const FURTHER: &[FieldSpec] = &[
    FieldSpec::new("attention.coverage.kind", "How many pairs", "Which pairs of positions are scored.").names(&[
        ("full", "All pairs"),
        ("partial", "Some pairs"),
        ("eigen", "Projected"),
    ]),
    FieldSpec::new(
        "attention.coverage.k",
        "Pairs per row",
        "How many keys each query scores, k. A decoder's first queries, which see fewer, score all that they see.",
    )
    .count()
    .of(&["partial"]),
    FieldSpec::new(
        "attention.coverage.k",
        "Directions per row",
        "How many eigenvectors of its covariance each row is projected on, k.",
    )
    .count()
    .of(&["eigen"]),
    FieldSpec::new(
        "attention.coverage.restore",
        "Map to the others",
        "Whether R is trained, the map from the scored pairs of a row to its others: k numbers for each restored \
         pair, once for all layers, or for each layer but the last.",
    )
    .names(&[
        ("fixed", "Fixed"),
        ("common", "Trained, one for all layers"),
        ("per_layer", "Trained, one for each layer"),
    ])
    .of(&["partial"]),
    FieldSpec::new(
        "attention.coverage.from",
        "Pairs from run",
        "The name or id of a trained run that scores all pairs: pairs and R come from its best checkpoint. Empty: \
         from the warm-up of this run.",
    )
    .empty("the warm-up of this run")
    .of(&["partial"]),
    FieldSpec::new(
        "attention.coverage.warmup_steps",
        "Steps with all pairs",
        "Steps in which all pairs are scored, before pairs are chosen by what the model has learnt.",
    )
    .count()
    .step(100)
    .of(&["partial"]),
    FieldSpec::new(
        "attention.coverage.examples",
        "Examples for covariance",
        "Examples of the training text from whose scores the covariance is estimated.",
    )
    .whole(1, 1_000_000)
    .step(64)
    .of(&["partial"]),
    FieldSpec::new(
        "attention.cache.kind",
        "Cache",
        "What is kept from token to token while generating; training is not affected.\nNone: token t costs as much \
         as a text of t tokens.",
    )
    .names(&[("none", "No cache"), ("key_value", "Key/value cache"), ("hidden", "Hidden states (EL)")]),
    FieldSpec::new(
        "attention.match_parameters",
        "Match parameters",
        "Adds layers until the model has about as many parameters as the baseline of the same depth as the config. \
         The schedule is written down anew for the deeper model.",
    )
    .names(&[("standard", "Of standard attention"), ("without_reuse", "Of the same without reuse")]),
];
