//! The panel itself.

use std::{ops::RangeInclusive, sync::Arc};

use egui::{ComboBox, Key, Modifiers, RichText, Ui};
use headroom_engine::{
    analysis::{Analysis, Topic, reconstruction::Reconstruction},
    attention::HeadAt,
    config::counted,
    protocol::{MapText, Rebuild, Which},
    store::AnalysisId,
};
use serde::{Deserialize, Serialize};

use super::{
    curves::{self, Curves, Options},
    form::ReconstructionOptions,
    maps::{Drawn, Maps, NAMES},
    pairs::Pairs,
    words,
};
use crate::{
    common::Exportable,
    context::{Action, Panel, PanelContext},
    export::{MapFigure, TextTable},
    findings::{FLOPS_CONVENTION, reconstruction_csv, reconstruction_table, reliable_words, scope_name},
    format::{self, with_capital},
    panels::{
        analysis::{
            About, AnalysisFrame, FoundAnalysis, MapStyle, Subject, export_menu_ui, head_name, notes_ui, provenance,
            undo_delete,
        },
        heads::{of_text, visible_token},
    },
    plot::HeatScale,
    state::{MapsOf, ShownMaps, ShownRebuilt, SubjectId},
    theme,
    widgets::{HeightHandle, slider_ui},
};

/// Below this width the parts stand below each other.
const NARROW: f32 = 860.0;
/// How much higher the map of pairs is than the errors: these have their legend below.
const ABOVE_ERRORS: f32 = 30.0;
/// Heights that the errors can be given, in points.
const HEIGHTS: RangeInclusive<f32> = 140.0..=1200.0;
/// Examples that can be chosen.
const EXAMPLES: usize = 16;

const ABOUT: About = About {
    name: "reconstruct",
    without_runs: "How well attention scores follow from a few of them is shown here once a run has a checkpoint.",
    without_analysis: "From how few pairs per query all of its scores follow, which pairs these are, and what each \
                       head's map looks like when restored from them.",
    is_of_reconstructions: true,
};

/// What the panel remembers between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    options: Options,
    look: MapStyle,
    is_scores: bool,
    /// Height of the errors in points; none: the usual one.
    height: Option<f32>,
    /// The same of the three maps.
    height_of_maps: Option<f32>,
}

impl Default for Memory {
    fn default() -> Self {
        // Rows are peaky: square roots show what is small beside it.
        let look = MapStyle { scale: HeatScale::SquareRoot, is_whole: false, ..MapStyle::default() };
        Self { options: Options::default(), look, is_scores: false, height: None, height_of_maps: None }
    }
}

/// Which figure is exported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FigureChoice {
    Curves,
    Pairs,
    Map(usize),
}

/// Restores scores from some of their pairs.
pub struct ReconstructPanel {
    frame: AnalysisFrame<Memory, ReconstructionOptions>,
    of: Option<SubjectId>,
    scope: usize,
    /// None: the least for 95 % of the variance.
    k: Option<usize>,
    head: HeadAt,
    example: usize,
    curves: Curves,
    pairs: Pairs,
    maps: Maps,
    words: Option<(Arc<ShownMaps>, Arc<[String]>)>,
    wanted: Option<FigureChoice>,
    exported: Option<Exportable>,
}

impl Default for ReconstructPanel {
    fn default() -> Self {
        Self {
            frame: AnalysisFrame::default(),
            of: None,
            scope: 0,
            k: None,
            head: HeadAt::new(0, 0),
            example: 0,
            curves: Curves::default(),
            pairs: Pairs::default(),
            maps: Maps::default(),
            words: None,
            wanted: None,
            exported: None,
        }
    }
}

impl Panel for ReconstructPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.ui(ui, cx, &ABOUT, |frame, ui, subject, memory, cx| {
            if self.of.as_ref() != Some(&subject.id) {
                self.of = Some(subject.id.clone());
                (self.scope, self.k, self.example) = (0, None, 0);
            }
            frame.form.options.head = self.head;
            let shown = frame.header_ui(ui, subject, &ABOUT, cx, |_, _| ());
            let FoundAnalysis { analysis, id, .. } = frame.found_ui(ui, subject, shown, &ABOUT, cx)?;
            let reconstruction = analysis.reconstruction.as_ref().filter(|found| !found.scopes.is_empty());
            if let Some((found, id)) = reconstruction.zip(id) {
                self.found_ui(ui, subject, (&analysis, found, &id), memory, cx);
            } else {
                frame.empty_ui(ui, subject, &ABOUT, cx);
            }
            self.exported.take()
        });
        self.frame = frame;
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let has_any = self.frame.has_figures(&ABOUT, cx);
        self.wanted = has_any.then_some(FigureChoice::Curves);
        has_any
    }

    fn undo(&mut self, cx: &mut PanelContext<'_>) -> bool {
        undo_delete(cx)
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.frame.back()
    }
}

impl ReconstructPanel {
    fn found_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        (analysis, found, id): (&Arc<Analysis>, &Reconstruction, &AnalysisId),
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        let n = found.tokens;
        self.scope = self.scope.min(found.scopes.len() - 1);
        let (told, metadata) = provenance(subject, analysis, cx);
        let chosen = format!(
            "{}; chosen from {}, measured on {}.",
            with_capital(&told),
            format::count(found.examples),
            match found.held_out_examples {
                0 => "the same".to_owned(),
                others => counted(others, "other"),
            }
        );
        ui.label(RichText::new(chosen).small().color(palette.weak));
        self.controls_ui(ui, found, memory, cx);
        let Some(scope) = found.scopes.get(self.scope) else { return };
        let k = self.k.unwrap_or_else(|| scope.greedy.least(0.05).unwrap_or(n / 4)).min(n);
        self.curves.update(analysis, found, self.scope, memory.options);
        self.pairs.update(analysis, self.scope, scope, n, k);
        let height = memory.height.unwrap_or(curves::HEIGHT);
        if ui.available_width() >= NARROW {
            ui.columns(2, |columns| {
                if let [left, right] = columns {
                    // Columns set their text to both edges; what stands in one of them does not.
                    left.vertical(|ui| self.curves.ui(ui, k, memory.options, height));
                    right.vertical(|ui| self.pairs.ui(ui, scope, n, k, height + ABOVE_ERRORS));
                }
            });
        } else {
            self.curves.ui(ui, k, memory.options, height);
            self.pairs.ui(ui, scope, n, k, height + ABOVE_ERRORS);
        }
        HeightHandle::new("errors and pairs", HEIGHTS).show(ui, &mut memory.height, height);
        let unreliable = reliable_words(found, scope);
        if let Some(words) = &unreliable {
            ui.add(egui::Label::new(RichText::new(words).small().color(palette.warning)).wrap());
        }
        ui.horizontal_wrapped(|ui| self.slider_ui(ui, k, n, &words::choices(scope)));
        for (place, line) in words::at(found, scope, k).into_iter().enumerate() {
            let label = ui.label(RichText::new(line).color(palette.text));
            label.on_hover_text(if place == 0 { words::METHOD } else { FLOPS_CONVENTION });
        }
        ui.add_space(8.0);
        self.maps_ui(ui, subject, (analysis, found, id), k, memory, cx);
        notes_ui(ui, analysis, &[Topic::Analysis, Topic::Reconstruction]);
        if let Some(FigureChoice::Curves | FigureChoice::Pairs) = self.wanted {
            let name = scope_name(scope.scope);
            let figure = if self.wanted.take() == Some(FigureChoice::Curves) {
                let mut figure = self.curves.figure(memory.options, metadata);
                (figure.title, figure.subtitle) = (format!("{}, {name}", curves::TITLE), with_capital(&told));
                figure.notes.extend(unreliable);
                Exportable::Figure(Box::new(figure))
            } else {
                let figure = self.pairs.figure(k).origin(with_capital(&told), metadata);
                Exportable::Map(Box::new(MapFigure { title: format!("{}, {name}", figure.title), ..figure }))
            };
            self.exported = Some(figure);
        }
    }

    fn controls_ui(&mut self, ui: &mut Ui, found: &Reconstruction, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            let name = |place: usize| found.scopes.get(place).map(|scope| with_capital(&scope_name(scope.scope)));
            let text = name(self.scope).unwrap_or_default();
            let combo = ComboBox::from_id_salt("scope").width(90.0).selected_text(text).show_ui(ui, |ui| {
                for place in 0..found.scopes.len() {
                    ui.selectable_value(&mut self.scope, place, name(place).unwrap_or_default());
                }
            });
            combo
                .response
                .accessible_name("Whose scores")
                .on_hover_text("Whether pairs are chosen for all heads together, for a layer or for one head");
            memory.options.ui(ui);
            let maps = NAMES.iter().enumerate().map(|(place, name)| (FigureChoice::Map(place), *name));
            let all = [(FigureChoice::Curves, curves::TITLE), (FigureChoice::Pairs, "Computed pairs")];
            self.wanted = export_menu_ui(ui, all.into_iter().chain(maps)).or(self.wanted);
            if ui.button("Copy table").on_hover_text("k for errors of 10, 5 and 1 % as CSV").clicked() {
                let (headings, rows) = reconstruction_table(found);
                cx.act(Action::Copy(
                    "The table of pairs".to_owned(),
                    TextTable::new(headings).with_rows(rows).to_csv(),
                ));
            }
            let all = "The errors at every k, of the network and its parts, as CSV; unreliable ones are marked";
            if ui.button("Copy all errors").on_hover_text(all).clicked() {
                cx.act(Action::Copy("All errors".to_owned(), reconstruction_csv(found)));
            }
        });
    }

    fn slider_ui(&mut self, ui: &mut Ui, k: usize, n: usize, choices: &[(String, usize)]) {
        let label = ui.label("Pairs per query");
        ui.spacing_mut().slider_width = (ui.available_width() - 420.0).clamp(120.0, 640.0);
        let mut wanted = k;
        let slider = slider_ui(ui, &mut wanted, 0..=n, |slider| slider).labelled_by(label.id);
        let slider = slider.accessible_name("Pairs per query");
        if slider.has_focus() {
            ui.input_mut(|input| {
                if input.consume_key(Modifiers::NONE, Key::Home) {
                    wanted = 0;
                } else if input.consume_key(Modifiers::NONE, Key::End) {
                    wanted = n;
                }
            });
        }
        for (text, place) in choices {
            let button = ui.selectable_label(*place == k, text);
            if button
                .on_hover_text("The smallest k that keeps this share of the scores, on held-out examples")
                .clicked()
            {
                wanted = *place;
            }
        }
        if wanted != k {
            self.k = Some(wanted);
        }
    }

    /// The map of a head beside itself put together from k pairs.
    fn maps_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        (analysis, found, id): (&Arc<Analysis>, &Reconstruction, &AnalysisId),
        k: usize,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new("An attention map restored from its pairs").color(palette.strong));
        let scope = found.scopes.get(self.scope);
        let why = if subject.needs_text(cx.state) && analysis.text.is_none() {
            Some("It is not known which text this analysis read, so that no map can be restored. Analyse it again.")
        } else if scope.is_some_and(|scope| !scope.has_factors) {
            Some(
                "The matrices that restore these maps were too large to keep. Choose the network, or analyse shorter \
                 examples.",
            )
        } else {
            None
        };
        if let Some(why) = why {
            ui.label(RichText::new(why).color(palette.weak));
            return;
        }
        let examples = usize::try_from(analysis.examples).unwrap_or(usize::MAX);
        let of = MapsOf {
            target: subject.id.target(analysis.step.map_or(Which::Best, Which::Step)),
            data: analysis.text.clone(),
            text: MapText::HeldOut { number: self.example, tokens: found.tokens, examples },
        };
        let maps = match cx.state.maps.maps(&of) {
            None => {
                ui.horizontal(|ui| {
                    ui.add(egui::Spinner::new());
                    ui.label("Reading the text with the model…");
                });
                return;
            }
            Some(Err(why)) => {
                if again_ui(ui, &format!("The maps cannot be shown. {why}")) {
                    cx.state.maps.again(&of);
                }
                return;
            }
            Some(Ok(maps)) => maps,
        };
        if self.head.layer >= maps.layers || self.head.head >= maps.heads {
            self.head = HeadAt::new(0, 0);
        }
        ui.horizontal_wrapped(|ui| {
            self.head_ui(ui, &maps, found.held_out_examples);
            ui.selectable_value(&mut memory.is_scores, false, "Probabilities");
            ui.selectable_value(&mut memory.is_scores, true, "Scores").on_hover_text("Before the softmax");
            if !memory.is_scores {
                memory.look.ui(ui);
            }
        });
        let HeadAt { layer, head, .. } = self.head;
        let rebuild = Rebuild { analysis: id.clone(), scope: self.scope, layer, head, k };
        match cx.state.maps.rebuilt(&of, &rebuild) {
            None => drop(ui.add(egui::Spinner::new())),
            Some(Err(why)) => {
                if again_ui(ui, &format!("The map cannot be rebuilt. {why}")) {
                    cx.state.maps.rebuild_again(&of);
                    cx.state.maps.again(&of);
                }
            }
            Some(Ok(rebuilt)) => self.rebuilt_ui(ui, &maps, &rebuilt, memory),
        }
    }

    fn rebuilt_ui(&mut self, ui: &mut Ui, maps: &Arc<ShownMaps>, rebuilt: &ShownRebuilt, memory: &mut Memory) {
        if !self.words.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, maps)) {
            self.words = Some((Arc::clone(maps), maps.tokens.iter().map(|token| visible_token(token)).collect()));
        }
        let Some((_, words)) = &self.words else { return };
        let drawn = Drawn { rebuilt, is_scores: memory.is_scores, style: memory.look, words };
        let is_wide = ui.available_width() >= NARROW;
        self.maps.ui(ui, &drawn, is_wide, &mut memory.height_of_maps);
        if let Some(FigureChoice::Map(place)) = self.wanted
            && let Some(figure) = self.maps.figure(&drawn, place, &head_name(self.head))
        {
            self.wanted = None;
            let figure = of_text(figure, &maps.target, &maps.tokens);
            self.exported = Some(Exportable::Map(Box::new(figure)));
        }
    }

    /// Which head, and what it reads.
    fn head_ui(&mut self, ui: &mut Ui, maps: &ShownMaps, held_out: u64) {
        let numbers = [
            ("Layer of the map", 'L', &mut self.head.layer, maps.layers),
            ("Head of the map", 'H', &mut self.head.head, maps.heads),
        ];
        for (name, letter, number, count) in numbers {
            let combo =
                ComboBox::from_id_salt(name).width(60.0).selected_text(format!("{letter}{number}")).show_ui(ui, |ui| {
                    for other in 0..count {
                        ui.selectable_value(number, other, format!("{letter}{other}"));
                    }
                });
            combo.response.accessible_name(name);
        }
        let count = usize::try_from(held_out).unwrap_or(EXAMPLES).clamp(1, EXAMPLES);
        self.example = self.example.min(count - 1);
        let text = format!("Held-out example {}", self.example + 1);
        let combo = ComboBox::from_id_salt("example").width(110.0).selected_text(text).show_ui(ui, |ui| {
            for example in 0..count {
                ui.selectable_value(&mut self.example, example, format!("Held-out example {}", example + 1));
            }
        });
        combo
            .response
            .accessible_name("Text")
            .on_hover_text("Examples of the held-out text from which no pair was chosen");
    }
}

/// Why something cannot be shown, and a button that asks again; whether it was clicked.
fn again_ui(ui: &mut Ui, why: &str) -> bool {
    ui.label(RichText::new(why).color(theme::palette(ui.visuals()).warning));
    ui.button("Try again").clicked()
}
