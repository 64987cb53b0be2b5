use super::super::field_spec::{FieldSpec, Takes};

/// Fields of the run itself and of its probe.
pub(super) const FIELDS: &[FieldSpec] = &[
    FieldSpec::new("format", "Format", "Version of the format of config files.").whole(1, 1),
    FieldSpec::new("name", "Name", "Name of the run. It need not be unique."),
    FieldSpec::new(
        "seed",
        "Seed",
        "Everything random in the run comes from it: initial weights, order of the text, dropout, masking. Same \
         config and same seed give the same curve.",
    )
    .whole(0, i64::MAX as u64),
    FieldSpec::new("device", "Device", "Device that the run computes on.").takes(Takes::Device),
    FieldSpec::new("threads", "Threads", "Threads that compute on the processor; 0 = one for each core.")
        .unit("0 = all")
        .whole(0, 4096),
    FieldSpec::new(
        "precision",
        "Precision",
        "The number format of weights, activations and gradients. 64 bits run at half the speed: for checking \
         numerics.",
    )
    .names(&[
        ("f32", "32-bit floats"),
        ("tf32", "32-bit floats, products in TF32"),
        ("f64", "64-bit floats"),
        ("f16", "16-bit floats, loss scaled"),
        ("bf16", "16-bit brain floats"),
    ]),
];

/// Fields of the probe.
pub(super) const PROBE: &[FieldSpec] = &[
    FieldSpec::new(
        "probe.every",
        "Analyse every",
        "Steps between analyses of the probe (a fixed batch of held-out text) and samples of what the model writes; \
         0 = never.",
    )
    .unit("steps")
    .count()
    .step(10),
    FieldSpec::new("probe.examples", "Probe examples", "Examples in the probe batch.").unit("examples").whole(1, 1024),
];
