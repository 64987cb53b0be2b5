//! Parts of a model that was trained before: which stay as they are, and how fast the others learn.

use egui::Ui;
use headroom_engine::config::{ModelPart, RunConfig, TrainConfig};

use super::super::{
    field::{field, sentence},
    form::Form,
};

/// Where a model was trained before, or a config file says something about parts.
pub(super) fn parts_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig) {
    let is_of_one_stack = !config.model.kind.has_encoder();
    let train = &mut config.train;
    let is_usual = train.freeze.is_empty() && train.layer_decay == TrainConfig::default().layer_decay;
    let is_wanted = !is_usual || (is_of_one_stack && config.model.initial.is_some());
    if !stays(ui, is_wanted) {
        form.unreadable.forget(field!("train.layer_decay").path);
        form.unreadable.forget(field!("train.freeze").path);
        return;
    }
    form.decimal(ui, field!("train.layer_decay"), &mut train.layer_decay);
    form.written(ui, field!("train.freeze"), &mut train.freeze, read, |parts| write(parts));
}

/// Whether these fields are there: once they are, they do not go as long as somebody types.
fn stays(ui: &Ui, is_wanted: bool) -> bool {
    let id = ui.scope_id().with("parts of the model");
    let types = ui.memory(|memory| memory.focused().is_some());
    let was_there = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
    let is_there = is_wanted || (was_there && types);
    ui.data_mut(|data| data.insert_temp(id, is_there));
    is_there
}

fn read(text: &str) -> Result<Vec<ModelPart>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| ModelPart::try_from(part.to_owned()).map_err(|why| sentence(&why))).collect()
}

fn write(parts: &[ModelPart]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_are_written_and_half_a_name_is_explained() {
        let text = "embeddings, layers.0-5, head";
        let parts = read(text).unwrap();
        assert_eq!(parts, [ModelPart::Embeddings, ModelPart::Layers { first: 0, last: 5 }, ModelPart::Head]);
        assert_eq!(write(&parts), text);
        assert_eq!(read(" head ,").unwrap(), [ModelPart::Head], "the next one is about to be typed");
        assert!(read("").unwrap().is_empty());
        let why = read("head, laye").unwrap_err();
        assert!(why.starts_with("\"laye\" names no part") && why.ends_with('.'), "{why}");
    }
}
