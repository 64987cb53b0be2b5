//! What a model is to become.

use std::path::{Path, PathBuf};

use egui::{Button, ComboBox, RichText, TextEdit, Ui};
use headroom_engine::{
    checkpoint::DirectoryFacts,
    config::{Coverage, DataConfig, EigenCoverage, Modality, PartialCoverage, Source},
    convert::{Conversion, OneMap, ToBorrow, ToCollaborative, ToCoverage, ToGrouped, WithoutKeyBiases},
};
use serde::{Deserialize, Serialize};

use crate::{
    common::mark_path,
    context::PanelContext,
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    format,
    state::Preview,
    theme,
    widgets::{number_ui, slider_ui, together_ui, tooltip_above},
};

/// Room for all kinds in their list, in points.
const ALL_KINDS: f32 = 320.0;

/// The kinds of conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Shared queries and keys.
    #[default]
    Collaborative,
    /// Maps of other heads.
    Borrow,
    /// Queries that are keys.
    Symmetric,
    /// The same with a matrix between them.
    Pairwise,
    /// One matrix for queries, keys and values.
    SharedWeight,
    /// Shared keys and values.
    Grouped,
    /// Some pairs.
    Partial,
    /// Some directions.
    Eigen,
    /// No key biases.
    WithoutKeyBiases,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Collaborative,
        Self::Borrow,
        Self::Symmetric,
        Self::Pairwise,
        Self::SharedWeight,
        Self::Grouped,
        Self::Partial,
        Self::Eigen,
        Self::WithoutKeyBiases,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Collaborative => "Collaborative heads",
            Self::Borrow => "Borrowed maps",
            Self::Symmetric => "Symmetric",
            Self::Pairwise => "Pairwise",
            Self::SharedWeight => "Shared weight",
            Self::Grouped => "Grouped keys and values",
            Self::Partial => "Some pairs scored",
            Self::Eigen => "Scores on eigenvectors",
            Self::WithoutKeyBiases => "No key biases",
        }
    }

    /// The end of the name of what is made.
    fn word(self) -> &'static str {
        match self {
            Self::Collaborative => "collaborative",
            Self::Borrow => "borrowed",
            Self::Symmetric => OneMap::Symmetric.kind(),
            Self::Pairwise => OneMap::Pairwise.kind(),
            Self::SharedWeight => "shared-weight",
            Self::Grouped => "grouped",
            Self::Partial => "partial",
            Self::Eigen => "eigen",
            Self::WithoutKeyBiases => "without-key-biases",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Collaborative => {
                "W_Q W_K^T of all heads follow from queries and keys that they share, mixed by a row of each head. At the whole \
                 width nothing is lost."
            }
            Self::Borrow => {
                "Heads give up their own map for one of an earlier layer that is like it on the text, and lose their queries and \
                 keys."
            }
            Self::Symmetric => {
                "Queries are keys too: W_Q W_K^T of each head by the nearest W W^T. Half of the parameters of queries and keys; \
                 much is lost, and training further brings some of it back."
            }
            Self::Pairwise => {
                "Queries are keys too, with a matrix U between them: W_Q W_K^T of each head by the nearest W U W^T that is found. \
                 Much is lost, and training further brings some of it back."
            }
            Self::SharedWeight => {
                "One matrix for queries, keys and values, told apart by diagonals, and an output that is refitted: a third of their \
                 parameters. Most is lost, and training further brings some of it back."
            }
            Self::Grouped => "Heads in groups share keys and values, each the mean of its group's.",
            Self::Partial => {
                "Of each row k pairs are scored; the others follow from them by a linear map found on the text."
            }
            Self::Eigen => "Each row of scores is projected on its k top eigenvectors, found on the text.",
            Self::WithoutKeyBiases => {
                "A key bias adds the same to all scores of a row, which softmax ignores: nothing is lost."
            }
        }
    }
}

/// The form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversionForm {
    kind: Kind,
    d_k: usize,
    random_starts: usize,
    similarity: f64,
    merges: bool,
    kv_heads: usize,
    k: usize,
    /// A text file or folder; empty: the run's own.
    text: String,
    examples: usize,
    /// Tokens of each; 0: as the model was trained, or as many as it has positions.
    tokens: usize,
    /// The folder to make; empty: by a name of its own, where files were saved last, else in the current folder.
    to: String,
    /// The folder of that name that was proposed last, one that was not there.
    #[serde(skip)]
    proposed: Option<PathBuf>,
}

impl Default for ConversionForm {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            d_k: 0,
            random_starts: 1,
            similarity: 0.9,
            merges: false,
            kv_heads: 1,
            k: 16,
            text: String::new(),
            examples: 32,
            tokens: 0,
            to: String::new(),
            proposed: None,
        }
    }
}

impl ConversionForm {
    /// What is asked for.
    pub fn conversion(&self, facts: &DirectoryFacts) -> Conversion {
        let coverage = |coverage: Coverage| Conversion::Coverage(ToCoverage { coverage, examples: 256 });
        match self.kind {
            Kind::Collaborative => {
                let (d_k, random_starts) = (self.shared_width(facts), self.random_starts);
                Conversion::Collaborative(ToCollaborative { d_k, random_starts, ..ToCollaborative::default() })
            }
            Kind::Borrow => Conversion::Borrow(ToBorrow { similarity: self.similarity, merges: self.merges }),
            Kind::Symmetric => OneMap::Symmetric.conversion(),
            Kind::Pairwise => OneMap::Pairwise.conversion(),
            Kind::SharedWeight => OneMap::SharedWeight.conversion(),
            Kind::Grouped => Conversion::Grouped(ToGrouped { kv_heads: self.kv_heads }),
            Kind::Partial => coverage(Coverage::Partial(PartialCoverage { k: self.k, ..PartialCoverage::default() })),
            Kind::Eigen => coverage(Coverage::Eigen(EigenCoverage { k: self.k })),
            Kind::WithoutKeyBiases => Conversion::WithoutKeyBiases(WithoutKeyBiases {}),
        }
    }

    /// Says a conversion on examples of so many tokens, of this text where none is named yet.
    pub fn set_up(&mut self, conversion: &Conversion, tokens: usize, text: String) {
        match conversion {
            Conversion::Collaborative(to) => {
                (self.kind, self.d_k, self.random_starts) = (Kind::Collaborative, to.d_k, to.random_starts);
            }
            Conversion::Borrow(to) => {
                (self.kind, self.similarity, self.merges) = (Kind::Borrow, to.similarity, to.merges);
            }
            Conversion::Symmetric(_) => self.kind = Kind::Symmetric,
            Conversion::Pairwise(_) => self.kind = Kind::Pairwise,
            Conversion::SharedWeight(_) => self.kind = Kind::SharedWeight,
            Conversion::Grouped(to) => (self.kind, self.kv_heads) = (Kind::Grouped, to.kv_heads),
            Conversion::Coverage(to) => match &to.coverage {
                Coverage::Partial(partial) => (self.kind, self.k) = (Kind::Partial, partial.k),
                Coverage::Eigen(eigen) => (self.kind, self.k) = (Kind::Eigen, eigen.k),
                Coverage::Full(_) => {}
            },
            Conversion::WithoutKeyBiases(_) => self.kind = Kind::WithoutKeyBiases,
        }
        self.tokens = tokens;
        self.to.clear();
        if self.text.trim().is_empty() {
            self.text = text;
        }
    }

    /// What is made next goes to a folder of its own name.
    pub fn forget_place(&mut self) {
        self.to.clear();
    }

    /// Half of the whole where nothing was chosen.
    fn shared_width(&self, facts: &DirectoryFacts) -> usize {
        if self.d_k == 0 { (facts.width / 2).max(1) } else { self.d_k }
    }

    /// The text, read as the run reads its own where there is one; none: the run's own. `inside`: the one that is read where the model
    /// is looked into.
    pub fn data(&self, trained_on: Option<&DataConfig>, inside: &str) -> Option<Box<DataConfig>> {
        let text = [self.text.trim(), inside.trim()].into_iter().find(|text| !text.is_empty())?;
        let source = Source::of_file(Modality::Text, &typed_path(text, &current_folder()));
        Some(Box::new(DataConfig { source, ..trained_on.cloned().unwrap_or_default() }))
    }

    /// Examples of the text, and tokens of each where they are not as the model was trained.
    pub fn amount(&self) -> (usize, Option<usize>) {
        (self.examples, (self.tokens > 0).then_some(self.tokens))
    }

    /// The folder to make of a model of this name, one that is not there yet; `saved_last`: the folder that files were saved in last.
    pub fn to(&self, name: &str, saved_last: Option<&Path>) -> PathBuf {
        if !self.to.trim().is_empty() {
            return typed_path(&self.to, &current_folder());
        }
        self.proposed.clone().unwrap_or_else(|| self.plain(name, saved_last))
    }

    /// The same, whether it is there or not.
    fn plain(&self, name: &str, saved_last: Option<&Path>) -> PathBuf {
        let words = name.split(|c: char| !c.is_alphanumeric() && !"_.".contains(c)).filter(|word| !word.is_empty());
        let name = words.collect::<Vec<&str>>().join("-");
        let stem = format!("{}-{}", name.trim_matches(['.', '-']), self.kind.word());
        saved_last.map_or_else(current_folder, Path::to_owned).join(stem)
    }

    /// Draws the form. `preview`: what it would come to, or why it cannot be.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        (name, facts): (&str, &DirectoryFacts),
        preview: &Result<Option<Preview>, String>,
        (is_of_run, inside): (bool, &str),
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        ui.horizontal_wrapped(|ui| {
            ui.label("Make it");
            let combo = ComboBox::from_id_salt("kind").width(190.0).height(ALL_KINDS).selected_text(self.kind.label());
            let combo = combo.show_ui(ui, |ui| {
                for kind in Kind::ALL {
                    ui.selectable_value(&mut self.kind, kind, kind.label()).on_hover_text(kind.about());
                }
            });
            combo.response.accessible_name("Conversion");
            self.numbers_ui(ui, facts);
        });
        ui.label(RichText::new(self.kind.about()).small().color(palette.weak));
        match preview {
            Ok(Some(preview)) => {
                ui.label(preview_words(preview));
            }
            Ok(None) => {
                ui.label(RichText::new("Counting…").color(palette.weak));
            }
            Err(why) => {
                // Said before anything was asked for: no fault of the user's.
                ui.label(RichText::new(why).color(palette.warning));
            }
        }
        self.places_ui(ui, (name, facts), (is_of_run, inside), cx);
    }

    fn numbers_ui(&mut self, ui: &mut Ui, facts: &DirectoryFacts) {
        match self.kind {
            Kind::Collaborative => {
                self.d_k = self.shared_width(facts).min(facts.width.max(1));
                together_ui(ui, "width", |ui| {
                    let label = ui.label("d_k");
                    let slider = slider_ui(ui, &mut self.d_k, 1..=facts.width.max(1), |slider| slider);
                    slider.labelled_by(label.id).on_hover_text("The shared width of queries and keys of all heads");
                });
                together_ui(ui, "starts", |ui| {
                    let label = ui.label("Random starts");
                    let help = "Beginnings of the search beside the one from singular vectors; the best is kept";
                    let drag = number_ui(ui, &mut self.random_starts, 0..=100, |drag| drag);
                    drag.labelled_by(label.id).on_hover_text(help);
                });
            }
            Kind::Borrow => {
                together_ui(ui, "similarity", |ui| {
                    let label = ui.label("Similarity");
                    let slider =
                        slider_ui(ui, &mut self.similarity, 0.0..=1.0, |slider| slider.fixed_decimals(2).step_by(0.01));
                    let help = "Of a borrowed map to the head's own, at least: 1 less the total-variation distance";
                    slider.labelled_by(label.id).on_hover_text(help);
                });
                ui.checkbox(&mut self.merges, "Merge projections").on_hover_text(
                    "A lender gets the best single map for itself and its borrowers: the mean of their W_Q W_K^T, cut to the size \
                     of a head",
                );
            }
            Kind::Grouped => {
                let heads = facts.heads.max(1);
                let divisors: Vec<usize> = (1..=heads).filter(|count| heads.is_multiple_of(*count)).collect();
                if !divisors.contains(&self.kv_heads) {
                    self.kv_heads = 1;
                }
                together_ui(ui, "heads", |ui| {
                    ui.label("Heads of keys and values");
                    let combo = ComboBox::from_id_salt("kv_heads").width(60.0).selected_text(self.kv_heads.to_string());
                    let combo = combo.show_ui(ui, |ui| {
                        for count in divisors {
                            ui.selectable_value(&mut self.kv_heads, count, count.to_string());
                        }
                    });
                    combo.response.accessible_name("Heads of keys and values");
                });
            }
            Kind::Partial | Kind::Eigen => {
                together_ui(ui, "k", |ui| {
                    let label = ui.label("k");
                    let most = facts.positions.saturating_sub(1).max(1);
                    let drag = number_ui(ui, &mut self.k, 1..=most, |drag| drag);
                    drag.labelled_by(label.id).on_hover_text("Pairs of a row, or eigenvectors");
                });
            }
            Kind::Symmetric | Kind::Pairwise | Kind::SharedWeight | Kind::WithoutKeyBiases => {}
        }
    }

    fn places_ui(
        &mut self,
        ui: &mut Ui,
        (name, facts): (&str, &DirectoryFacts),
        (is_of_run, inside): (bool, &str),
        cx: &mut PanelContext<'_>,
    ) {
        let needs = matches!(self.kind, Kind::Borrow | Kind::Partial | Kind::Eigen);
        let of_inside = format!("{inside}, as in Look inside");
        let hint = match (is_of_run, needs) {
            (true, _) => "the text that was held out of the run",
            (false, _) if !inside.is_empty() => of_inside.as_str(),
            (false, true) => "path of a text: it depends on one",
            (false, false) => "path of a text, to compare both on it",
        };
        let plain = self.plain(name, cx.settings.last_folder.as_deref());
        self.proposed = cx.dialogs.look("models.proposed", &plain, free).flatten();
        let suggested = self.proposed.as_ref().unwrap_or(&plain).display().to_string();
        let rows = [
            (
                "Text",
                "models.text",
                hint,
                "The text on which both models are compared, and from which heads and pairs are chosen",
            ),
            ("Write to", "models.to", suggested.as_str(), "The model directory to make; must not exist or be empty"),
        ];
        // As wide as there is room for, with its label and its button: paths differ at their ends.
        let width = (ui.available_width() - 430.0).clamp(200.0, 720.0);
        for (number, (label, key, hint, help)) in rows.into_iter().enumerate() {
            let field = if number == 0 { &mut self.text } else { &mut self.to };
            if let Some(Answer::Picked(path)) = cx.dialogs.take(key) {
                *field = path.display().to_string();
            }
            ui.horizontal_wrapped(|ui| {
                let name = ui.label(label);
                let edit = TextEdit::singleline(field).desired_width(width).hint_text(hint);
                let edit = tooltip_above(ui.add(edit).labelled_by(name.id), help);
                if number == 0 {
                    mark_path(ui, edit, field, key, cx.dialogs);
                }
                let browse = ui.add_enabled(!cx.dialogs.is_busy(key), Button::new("Browse…"));
                if browse.accessible_name(format!("Browse: {label}")).clicked() {
                    let pick = if number == 0 { Pick::File } else { Pick::Folder };
                    cx.dialogs.pick(key, Ask::new(pick, label));
                }
                if number == 0 {
                    together_ui(ui, "examples", |ui| {
                        let label = ui.label("Examples");
                        let drag = number_ui(ui, &mut self.examples, 1..=100_000, |drag| drag);
                        drag.labelled_by(label.id).on_hover_text("Of the text, spread evenly over it");
                    });
                    together_ui(ui, "tokens", |ui| {
                        let label = ui.label("Tokens");
                        let help =
                            "Of an example; as trained where the run says so, else as many as the model has positions";
                        let drag = number_ui(ui, &mut self.tokens, 0..=facts.positions, |drag| {
                            drag.custom_formatter(|tokens, _| {
                                if tokens < 1.0 { "as trained".to_owned() } else { format!("{tokens:.0}") }
                            })
                        });
                        drag.labelled_by(label.id).on_hover_text(help);
                    });
                }
            });
        }
    }
}

fn preview_words(preview: &Preview) -> String {
    let before = preview.before;
    let Some(after) = preview.after else {
        return format!(
            "{} now; what it saves follows from who borrows, which the text says",
            format::parameters(before.parameters)
        );
    };
    let change = |before: u64, after: u64| {
        let share = if before > 0 { after as f64 / before as f64 - 1.0 } else { 0.0 };
        format::delta_percent(share)
    };
    format!(
        "{} instead of {} ({}), {} instead of {} to read {} tokens ({})",
        format::parameters(after.parameters),
        format::parameters(before.parameters),
        change(before.parameters, after.parameters),
        format::flops(after.forward_flops as f64),
        format::flops(before.forward_flops as f64),
        format::count(after.tokens as u64),
        change(before.forward_flops, after.forward_flops),
    )
}
/// A path that nothing is at yet: this one, or this one with the least number from 2 that is free behind it.
fn free(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let numbered = (2..1000).map(|number| path.with_file_name(format!("{name}-{number}")));
    std::iter::once(path.to_owned()).chain(numbered).find(|path| !path.exists())
}

#[cfg(test)]
mod tests {
    use headroom_engine::protocol::ModelCost;

    use super::*;

    #[test]
    fn what_is_proposed_is_not_there_yet() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(free(&folder.join("src")), Some(folder.join("src-2")));
        assert_eq!(free(&folder.join("model")), Some(folder.join("model")));
    }

    #[test]
    fn parameters_are_named_once() {
        let before = ModelCost { parameters: 166_128, forward_flops: 1, tokens: 8 };
        let words = preview_words(&Preview { before, after: None });
        assert!(words.starts_with("166 k params now;"), "{words}");
    }
}
