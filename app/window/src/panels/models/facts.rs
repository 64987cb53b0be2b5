//! What a model is, and where it came from.

use egui::{CollapsingHeader, Grid, Label, RichText, Ui};
use headroom_engine::{
    checkpoint::{DirectoryFacts, Lineage},
    config::counted,
};

use crate::{format, theme};

/// Draws what the files say.
pub fn facts_ui(ui: &mut Ui, facts: &DirectoryFacts) {
    let palette = theme::palette(ui.visuals());
    let class = facts.class.clone().unwrap_or_else(|| "not said".to_owned());
    // A model of images has no words.
    let has_words = facts.vocabulary > 0;
    let reads = if has_words { "" } else { " of an image: its squares, and one for its class" };
    let vocabulary = has_words.then(|| ("Vocabulary", counted(facts.vocabulary as u64, "token")));
    let before = [
        ("Architecture", format!("{}, {class}", facts.architecture.replace('_', "-"))),
        ("Parameters", format::count(facts.parameters)),
        (
            "Size",
            format!(
                "{} of {}, width {}, feed-forward {}",
                counted(facts.layers as u64, "layer"),
                counted(facts.heads as u64, "head"),
                facts.width,
                facts.feed_forward
            ),
        ),
        ("Reads", format!("up to {}{reads}", counted(facts.positions as u64, "token"))),
    ];
    let rows = [("On disk", on_disk(facts)), ("Folder", facts.path.display().to_string())];
    Grid::new("facts").num_columns(2).spacing([16.0, 4.0]).show(ui, |ui| {
        for (name, value) in before.into_iter().chain(vocabulary).chain(rows) {
            ui.label(RichText::new(name).color(palette.weak));
            // A long path takes no more room than there is.
            ui.add(Label::new(value).truncate());
            ui.end_row();
        }
    });
    for note in &facts.notes {
        ui.add(Label::new(RichText::new(note).color(palette.warning)).wrap());
    }
    if let Some(lineage) = &facts.lineage {
        lineage_ui(ui, lineage, facts);
    }
    CollapsingHeader::new(counted(facts.tensors.len() as u64, "tensor")).id_salt("tensors").show(ui, |ui| {
        Grid::new("tensors").num_columns(2).spacing([16.0, 2.0]).striped(true).show(ui, |ui| {
            for tensor in &facts.tensors {
                ui.label(RichText::new(&tensor.name).small().monospace());
                let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
                ui.label(RichText::new(shape.join(" × ")).small());
                ui.end_row();
            }
        });
    });
}

/// What its files take, and how much of it only training needs.
fn on_disk(facts: &DirectoryFacts) -> String {
    let all = format!("{}, {}", format::bytes(facts.bytes()), counted(facts.files.len() as u64, "file"));
    match facts.training_bytes() {
        Some(bytes) => format!("{all}; {} of it only to go on with training", format::bytes(bytes)),
        None => all,
    }
}

/// Draws from what it was made, the first model on top.
fn lineage_ui(ui: &mut Ui, lineage: &Lineage, facts: &DirectoryFacts) {
    let palette = theme::palette(ui.visuals());
    ui.add_space(6.0);
    ui.label(RichText::new("Where it came from").color(palette.strong));
    let mut steps = vec![lineage];
    while let Some(before) = steps.last().and_then(|step| step.before.as_deref()) {
        steps.push(before);
    }
    steps.reverse();
    if let Some(first) = steps.first() {
        ui.label(source(first));
    }
    for (depth, step) in steps.iter().enumerate() {
        let made = steps.get(depth + 1).map_or_else(|| facts.path.display().to_string(), |next| source(next));
        ui.horizontal_wrapped(|ui| {
            ui.add_space(18.0 * (depth + 1) as f32);
            ui.label(made);
        });
        ui.horizontal_wrapped(|ui| {
            ui.add_space(18.0 * (depth + 1) as f32);
            ui.label(RichText::new(words(step)).small().color(palette.weak));
        });
    }
}

fn source(step: &Lineage) -> String {
    match &step.run {
        Some(run) => {
            format!("run {run}{}", step.step.map(|at| format!(", step {}", format::count(at))).unwrap_or_default())
        }
        None => step.from.clone(),
    }
}

/// A step in words.
fn words(step: &Lineage) -> String {
    let mut words = vec![step.by.clone()];
    if let Some(error) = step.largest_error().filter(|error| *error > 0.0) {
        words.push(format!("largest error of an attention {}", format::percent(error)));
    }
    if let Some(measured) = &step.measured {
        if let (Some(loss), Some(before)) = (measured.loss, measured.loss_before) {
            words.push(format!("loss {} after {} on examples", format::number(loss), format::number(before)));
        }
        words.push(format!("output off by {}", format::percent(measured.output_error)));
    }
    words.join("; ")
}
