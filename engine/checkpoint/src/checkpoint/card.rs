//! The model card of a directory that is taken home: `README.md`, which people and hubs read, made of what the directory is made of.

use std::{fmt::Write as _, path::Path};

use candle_core::Tensor;

use super::{
    Lineage, ModelCard, ModelDirectory,
    directory::MARK,
    hugging_face::{COMPUTED_THERE, module_class},
    in_transformers,
    own_module::auto_class,
};
use crate::{
    attention::{HeadPlan, ModelPlan, StackPlan},
    config::{Compatibility, RunConfig, counted},
    text::{escaped_json, escaped_line},
};

/// The text of the card.
pub(super) fn text(contents: &ModelDirectory<'_>, card: &ModelCard) -> String {
    let plan = contents.plan;
    let found = in_transformers(plan);
    let (auto, task) = auto_class(plan);
    let mut text = String::new();
    let origin = contents.lineage.and_then(origin);
    front_matter(&mut text, contents, task, origin.as_deref());
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    line(format!("# {}\n", plain(&card.name)));
    line(format!("{MARK}\n"));
    line(format!("{}\n", what_it_is(contents)));

    line("## How to load it\n".to_owned());
    let trust = if found.opens { "" } else { ", trust_remote_code=True" };
    if !found.opens {
        // What comes with it is said below.
        line(format!("{}\n", plain(found.words.trim_end_matches(COMPUTED_THERE))));
    }
    if !found.opens && module_class(plan).is_none() {
        line("No PyTorch module comes with it yet; Headroom opens it.\n".to_owned());
    } else {
        if !found.opens {
            line("`modeling_headroom.py` beside the weights computes it in PyTorch:\n".to_owned());
        }
        let (reader, tokenizer) = match contents.tokenizer_json {
            Some(_) => (", AutoTokenizer", format!("tokenizer = AutoTokenizer.from_pretrained(\".\"{trust})\n")),
            None => ("", String::new()),
        };
        line(format!(
            "```python\nfrom transformers import {auto}{reader}\n\nmodel = {auto}.from_pretrained(\".\"{trust})  # this \
             directory, or its name on a hub\n{tokenizer}```\n"
        ));
    }
    line("In Headroom: `headroom show DIR`, `headroom analyse DIR --data text.txt`, `headroom eval DIR --data text.txt`.\n".to_owned());

    line("## Attention\n".to_owned());
    for stack in plan.stacks() {
        line(attention(stack));
    }
    if let Some(config) = contents.config {
        line("## How it was trained\n".to_owned());
        line(training(config, card));
    }
    if !card.metrics.is_empty() {
        line("## What was measured\n".to_owned());
        line("| metric | value |\n|---|---|".to_owned());
        for (name, value, unit) in &card.metrics {
            let unit = if unit.is_empty() { String::new() } else { format!(" {}", plain(unit)) };
            line(format!("| {} | {value:.4}{unit} |", plain(name)));
        }
        line("\nOn the held-out text of the run, at this checkpoint.\n".to_owned());
    }
    if let Some(lineage) = contents.lineage {
        line("## Where it came from\n".to_owned());
        for one in std::iter::successors(Some(lineage), |lineage| lineage.before.as_deref()) {
            line(step_of(one));
        }
        line(String::new());
    }
    text
}

/// What hubs read: YAML, of which JSON strings are a part.
fn front_matter(text: &mut String, contents: &ModelDirectory<'_>, task: &str, origin: Option<&str>) {
    text.push_str("---\nlibrary_name: transformers\n");
    // Writing to a string never fails.
    let _ = writeln!(text, "pipeline_tag: {task}");
    if let Some(origin) = origin {
        let _ = writeln!(text, "base_model: {}", escaped_json(&serde_json::json!(origin).to_string()));
    }
    let stack = &contents.plan.stack;
    let _ = writeln!(text, "tags:\n- headroom\n- {}\n---\n", stack.compatibility.kind());
}

fn what_it_is(contents: &ModelDirectory<'_>) -> String {
    let plan = contents.plan;
    let parameters: usize =
        contents.tensors.values().filter(|tensor| tensor.dtype().is_float()).map(Tensor::elem_count).sum();
    let stack = &plan.stack;
    let mut words = format!(
        "{} with {} of {} in layers {} wide: {}",
        kind_of(plan),
        counted(stack.layers, "layer"),
        counted(stack.heads, "head"),
        stack.width,
        counted(parameters, "parameter"),
    );
    if plan.vocabulary() > 0 {
        let _ = write!(
            words,
            ", {} in the vocabulary, sequences of up to {}",
            counted(plan.vocabulary(), "token"),
            stack.longest()
        );
    }
    words.push('.');
    words
}

fn kind_of(plan: &ModelPlan) -> &'static str {
    match (plan.encoder.is_some(), plan.stack.is_causal, plan.vocabulary() > 0) {
        (true, ..) => "An encoder-decoder",
        (false, true, _) => "A decoder",
        (false, false, true) => "An encoder",
        (false, false, false) => "A vision transformer",
    }
}

/// The answers of a stack.
fn attention(stack: &StackPlan) -> String {
    let name = if stack.is_causal { "Decoder" } else { "Encoder" };
    let mut words = format!("{name}: {}", answers(&stack.compatibility, &stack.head_plan));
    if !stack.coverage.is_full() {
        let _ = writeln!(words, "Not every pair is scored: coverage `{}`.\n", stack.coverage.kind());
    }
    if let Some(cross) = &stack.cross {
        let _ = write!(words, "Its attention to the encoder: {}", answers(&cross.compatibility, &cross.head_plan));
    }
    words
}

fn answers(compatibility: &Compatibility, heads: &HeadPlan) -> String {
    let compatibility = compatibility.words();
    if heads.is_plain() {
        return format!("{compatibility}; every head computes its own map.\n");
    }
    let rows = heads.to_custom().rows.join("\n");
    format!(
        "{compatibility}; which heads compute (`c`), use the map of another (`layer.head`) or are not there (`-`), a line a \
         layer:\n\n```\n{rows}\n```\n"
    )
}

fn training(config: &RunConfig, card: &ModelCard) -> String {
    let mut words = String::new();
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(words, "| {name} | {} |", plain(&value));
    };
    fact("what", "value".to_owned());
    fact("---", "---".to_owned());
    if let Some((run, step)) = &card.run {
        fact("run", format!("{run}, step {step}"));
    }
    fact("text", config.data.source.to_string());
    fact("examples", counted(config.data.sequence_length, "token"));
    match (config.train.steps, config.train.epochs) {
        (_, Some(epochs)) => fact("passes over the text", epochs.to_string()),
        (Some(steps), None) => fact("steps", counted(steps, "step")),
        (None, None) => {}
    }
    fact("batch", counted(config.train.batch, "example"));
    fact("learning rate", config.train.learning_rate.to_string());
    fact("seed", config.seed.to_string());
    words.push_str("\n`headroom.toml` is the whole config: `headroom train headroom.toml` repeats it.\n");
    words
}

/// One conversion, in a line.
fn step_of(lineage: &Lineage) -> String {
    let from = shown(&lineage.from);
    let of_run = lineage.run.as_deref().map(|run| {
        let step = lineage.step.map(|step| format!(", step {step}")).unwrap_or_default();
        format!(" (run {}{step})", plain(run))
    });
    let error = lineage.largest_error().map(|error| format!("; largest error of an attention {:.2} %", 100.0 * error));
    let measured = lineage.measured.as_ref().map(|found| {
        let losses =
            found.loss_before.zip(found.loss).map(|(before, now)| format!("; loss {before:.4} before, {now:.4} after"));
        let output = 100.0 * found.output_error;
        format!(
            "; on {}: error of the last layer's output, after a norm at the end, {output:.2} %{}",
            plain(&found.data),
            losses.unwrap_or_default()
        )
    });
    let weights = lineage.weights_sha256.as_deref().map(|hash| format!("; its weights: SHA-256 `{}`", plain(hash)));
    format!(
        "- {}, from {}{}{}{}{}",
        plain(&lineage.by),
        plain(&from),
        of_run.unwrap_or_default(),
        error.unwrap_or_default(),
        measured.unwrap_or_default(),
        weights.unwrap_or_default()
    )
}

/// The model of a hub that everything began with, if it was one.
fn origin(lineage: &Lineage) -> Option<String> {
    let first = std::iter::successors(Some(lineage), |lineage| lineage.before.as_deref()).last()?;
    of_hub(&first.from).map(|(name, _)| name)
}

/// A directory as others may read of it: its name on a hub where it lies in a cache, else its last part.
fn shown(from: &str) -> String {
    match of_hub(from) {
        Some((name, commit)) => format!("{name} at {commit}"),
        None => Path::new(from).file_name().map_or_else(|| from.to_owned(), |name| name.to_string_lossy().into_owned()),
    }
}

/// Name and commit of a snapshot in the cache of a hub.
fn of_hub(path: &str) -> Option<(String, String)> {
    let mut parts = Path::new(path).iter().rev();
    let commit = parts.next()?.to_str()?;
    (parts.next()? == "snapshots").then_some(())?;
    let name = parts.next()?.to_str()?.strip_prefix("models--")?;
    Some((name.replace("--", "/"), commit.to_owned()))
}

/// Text of others on one line, which begins no table, no markup and no tag.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in escaped_line(text).chars() {
        if matches!(letter, '|' | '<' | '>' | '`' | '[' | ']' | '\\') {
            plain.push('\\');
        }
        plain.push(letter);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_text() {
        assert_eq!(plain("a | <b> `c`\n# d"), "a \\| \\<b\\> \\`c\\`\\\\n# d");
        assert_eq!(shown("/home/somebody/secret/model"), "model");
        let cached = "/home/u/.cache/huggingface/hub/models--org--m/snapshots/0123abc";
        assert_eq!(shown(cached), "org/m at 0123abc");
        assert_eq!(of_hub("/a/snapshots/b"), None);
    }
}
