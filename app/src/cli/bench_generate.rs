//! `headroom bench generate`: texts generated with each cache at many points, in turns.

use std::path::Path;

use headroom_engine::{
    attention::ModelPlan,
    config::{Axis, Cache, RunConfig, SpecError, from_toml_with, to_toml},
    speed::{GenerationPreset, GenerationSpec, SweepSpec},
};

use super::{
    bench_args::BenchGenerateArgs,
    bench_sweep,
    common_args::ConfigArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    print,
    session::Session,
};

/// Measures, and keeps what was measured; Ctrl-C ends it with what there is.
pub fn run(store: Option<&Path>, args: &BenchGenerateArgs) -> CliResult {
    headroom_engine::ops::tune_process();
    let (spec, given_name) = spec(args)?;
    let name = args.name.clone().or(given_name).unwrap_or_else(|| bench_sweep::default_name(&spec));
    let session = Session::open(store, false)?;
    bench_sweep::finish(session, name, spec, (args.json, args.csv))
}

/// What is measured, checked whole, and its name where it has one of its own.
fn spec(args: &BenchGenerateArgs) -> CliResult<(SweepSpec, Option<String>)> {
    let bad = |error: SpecError| CliError::at("--axis", error.to_string());
    let preset = args.preset.as_deref().map(str::parse::<GenerationPreset>).transpose();
    let preset = preset.map_err(|why| CliError::at("--preset", why))?;
    let mut spec = match preset {
        Some(preset) => with_overrides(preset.spec(), args)?,
        None => SweepSpec { base: base(args)?, generation: Some(GenerationSpec::default()), ..SweepSpec::default() },
    };
    let mut generation = spec.generation.clone().unwrap_or_default();
    let fields = [
        (&mut generation.source, args.source),
        (&mut generation.beams, args.beam),
        (&mut generation.batch, args.batch),
        (&mut generation.new_tokens, args.new_tokens),
    ];
    for (field, given) in fields {
        *field = given.unwrap_or(*field);
    }
    if !args.cache.is_empty() {
        let caches = args.cache.iter().map(|word| word.trim().parse::<Cache>()).collect::<Result<_, _>>();
        generation.caches = caches.map_err(|why| CliError::at("--cache", why))?;
    }
    let axes: Vec<Axis> = args.axis.iter().map(|given| given.parse::<Axis>()).collect::<Result<_, _>>().map_err(bad)?;
    if !axes.is_empty() {
        spec.axes = axes;
    } else if spec.axes.is_empty() {
        spec.axes.push(lengths(&spec, generation.new_tokens).parse().map_err(bad)?);
    }
    // What is given as one value is no axis of a preset, nor one that is taken where none is given.
    let given = [("source", args.source), ("beams", args.beam), ("batch", args.batch), ("new_tokens", args.new_tokens)];
    for axis in &mut spec.axes {
        let Some(value) = given.iter().find(|(field, _)| *field == axis.field).and_then(|(_, value)| *value) else {
            continue;
        };
        if !args.axis.is_empty() {
            let why = format!("`{}` has values here and one of its own; leave one of them out.", axis.field);
            return Err(CliError::at("--axis", why));
        }
        *axis = format!("{}={value}", axis.field).parse().map_err(bad)?;
    }
    spec.generation = Some(generation);
    spec.vocabulary = args.vocabulary.or(spec.vocabulary);
    spec.warmup = args.warmup;
    spec.steps = args.runs;
    spec.largest_batch |= args.largest_batch;
    spec.memory_bytes = args.memory.or(spec.memory_bytes);
    let points = spec.points().map_err(bad)?;
    if let Some(note) = spec.base.threads_note() {
        print::aside(format!("Warning: {note}"));
    }
    bench_sweep::refuse_what_cannot_be_built(&points)?;
    Ok((spec, preset.map(|preset| preset.name().to_owned())))
}

fn base(args: &BenchGenerateArgs) -> CliResult<RunConfig> {
    let given = GivenConfig::read(&ConfigArgs {
        config: Some(args.config.clone()),
        set: args.set.clone(),
        device: args.device.clone(),
        threads: args.threads,
        ..ConfigArgs::default()
    })?;
    Ok(given.config)
}

/// A preset with what `--set`, `--device` and `--threads` change.
fn with_overrides(mut spec: SweepSpec, args: &BenchGenerateArgs) -> CliResult<SweepSpec> {
    let mut fields = args.set.clone();
    fields.extend(args.device.as_ref().map(|device| format!("device={device}")));
    fields.extend(args.threads.map(|threads| format!("threads={threads}")));
    spec.base =
        from_toml_with(&to_toml(&spec.base), &fields).map_err(|error| CliError::of_config("The preset", &error))?;
    Ok(spec)
}

/// The axis where none is given: a quarter, half and all of the positions that new tokens leave to a source.
fn lengths(spec: &SweepSpec, new_tokens: usize) -> String {
    let longest =
        ModelPlan::resolve(&spec.base, spec.vocabulary_of(&spec.base)).map_or(0, |plan| match &plan.encoder {
            Some(encoder) => encoder.longest(),
            None => (plan.stack.longest() + 1).saturating_sub(new_tokens),
        });
    let mut lengths = vec![longest / 4, longest / 2, longest];
    lengths.retain(|length| *length > 0);
    lengths.dedup();
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    // A model without positions is refused where its points are made.
    if lengths.is_empty() { "source=64".to_owned() } else { format!("source={}", lengths.join(",")) }
}
