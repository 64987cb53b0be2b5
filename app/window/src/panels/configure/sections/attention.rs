use egui::Ui;
use headroom_engine::config::{AttentionConfig, Cache, RunConfig};

use super::{
    super::{
        difference::Question,
        field::field,
        form::{Form, note_ui},
    },
    compatibility::compatibility_ui,
    coverage::coverage_ui,
    head_editor::HeadEditor,
    judged::Judged,
    matching::matching_ui,
    reuse::reuse_ui,
};

/// The four questions, in their order.
pub fn attention_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    config: &mut RunConfig,
    judged: &Judged<'_>,
    editor: &mut HeadEditor,
) {
    if config.model.kind.has_encoder() {
        let others = [("encoder", &config.attention.encoder), ("cross-attention", &config.attention.cross)];
        let others: Vec<&str> = others.iter().filter(|(_, answers)| answers.is_some()).map(|(name, _)| *name).collect();
        note_ui(
            ui,
            &if others.is_empty() {
                "These answers hold for the encoder, the decoder and its attention to the encoder. A config file can give the \
                 encoder and the cross-attention answers of their own: tables [attention.encoder] and [attention.cross]."
                    .to_owned()
            } else {
                format!("The config file has other answers for: {}.", others.join(", "))
            },
        );
    }
    reuse_ui(ui, form, config, judged, editor);
    ui.separator();
    compatibility_ui(ui, form, config, judged);
    ui.separator();
    coverage_ui(ui, form, config, judged);
    ui.separator();
    let generates = config.model.kind.generates();
    let attention = &mut config.attention;
    // An encoder reads all tokens at once. What a config file says of it all the same is shown, so that it can be changed.
    if generates || attention.cache != Cache::default() {
        cache_ui(ui, form, attention, judged);
        ui.separator();
    }
    matching_ui(ui, form, config, judged);
}

/// What is kept of the tokens before while a text is generated.
fn cache_ui(ui: &mut Ui, form: &mut Form<'_>, attention: &mut AttentionConfig, judged: &Judged<'_>) {
    form.choice(
        ui,
        field!("attention.cache.kind"),
        &mut attention.cache,
        &Cache::ALL.map(|cache| (cache.clone(), cache.label())),
    );
    note_ui(
        ui,
        match attention.cache {
            Cache::None(_) => "Every new token computes the whole text before it again.",
            Cache::KeyValue(_) => "Keys and values of every token are kept. The text is the same.",
            Cache::Hidden(_) => {
                "The hidden states of the prompt are kept, once for all heads and beams. The text is the same."
            }
        },
    );
    judged.difference_ui(ui, Question::Cache);
}
