//! All heads of a layer at once: the text twice, queries at the left and keys at the right, and an arc from each token to those
//! that it attends to, in the colour of the head.

use std::{collections::BTreeSet, fmt::Write as _};

use egui::{
    Align2, Button, Color32, CornerRadius, Id, Label, Rect, RichText, Role, ScrollArea, Sense, Stroke, TextStyle, Ui,
    WidgetInfo, pos2, vec2,
};
use headroom_engine::attention::HeadAt;

use super::tokens::Kept;
use crate::{
    export::{ArcsFigure, FigureArc},
    format,
    panels::analysis::head_name,
    plot::HeatData,
    theme::{self, LineStyle},
};

/// Height of a token in points.
const ROW: f32 = 17.0;
/// Room of the tokens at each side, and of a square beside them.
const WORDS: f32 = 130.0;
const SQUARE: f32 = 9.0;
/// Arcs that are drawn of a token that was chosen are of at least this attention.
const LEAST: f32 = 0.01;
/// Keys or queries of a head that are named.
const TOLD: usize = 3;

/// A token at one of the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At the left: what it attends to is shown.
    Query(usize),
    /// At the right: what attends to it is shown.
    Key(usize),
}

/// What the view remembers.
#[derive(Default)]
pub struct ArcsView {
    /// The token that was clicked.
    chosen: Option<Side>,
    /// Heads that are not drawn.
    hidden: BTreeSet<usize>,
    layer: usize,
    kept: Vec<Kept>,
    /// Which maps they are of, and whether special tokens are left out.
    of: (Vec<Option<u64>>, bool),
    /// The least attention of an arc while no token is told of.
    least: f32,
}

/// A head of the layer.
struct Head<'a> {
    at: HeadAt,
    colour: Color32,
    kept: &'a Kept,
}

impl ArcsView {
    /// Lets go of the token that was clicked; whether there was one.
    pub fn release(&mut self) -> bool {
        self.chosen.take().is_some()
    }

    /// Brings the maps of a layer up to date, head by head; none where one is not there yet. `least`: the least attention of an
    /// arc, where it is not those of one token.
    pub fn update(
        &mut self,
        layer: usize,
        maps: &[Option<HeatData>],
        tokens: &[String],
        (hides_special, least): (bool, f32),
    ) {
        self.least = least;
        let of = (maps.iter().map(|map| map.as_ref().map(HeatData::version)).collect::<Vec<_>>(), hides_special);
        // Of another run, text or checkpoint the clicked place means nothing. A map that was still to come changes nothing.
        let mut pairs = self.of.0.iter().zip(&of.0);
        let is_other = self.of.1 != of.1 || pairs.any(|(before, now)| before.is_some() && before != now);
        if self.layer != layer || is_other {
            (self.layer, self.chosen) = (layer, None);
        }
        self.of = of;
        self.kept.resize_with(maps.len(), Kept::default);
        for (kept, map) in self.kept.iter_mut().zip(maps) {
            match map {
                Some(map) if !map.values().is_empty() => kept.update(map, tokens, hides_special),
                _ => *kept = Kept::default(),
            }
        }
    }

    fn heads(&self) -> Vec<Head<'_>> {
        let shown = |(head, kept): (usize, &'_ Kept)| !self.hidden.contains(&head) && !kept.words.is_empty();
        let places = self.kept.iter().enumerate().filter(|(head, kept)| shown((*head, kept)));
        let colour = |head: usize| colour_of(head, self.kept.len());
        places.map(|(head, kept)| Head { at: HeadAt::new(self.layer, head), colour: colour(head), kept }).collect()
    }

    /// Draws it, so high. `loading`: maps that are still to come.
    pub fn ui(&mut self, ui: &mut Ui, height: f32, loading: usize) {
        let palette = theme::palette(ui.visuals());
        self.heads_ui(ui, loading);
        let heads = self.heads();
        let Some(first) = heads.first() else {
            ui.label(if loading > 0 { "Reading the maps of this layer…" } else { "No head of this layer is shown." });
            return;
        };
        let words = std::sync::Arc::clone(&first.kept.words);
        let count = words.len();
        let id = ui.scope_id().with("arcs");
        let mut chosen = self.chosen.filter(|side| matches!(side, Side::Query(at) | Side::Key(at) if *at < count));
        let mut pointed = None;
        let titles = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::empty()).0;
        let across = (ui.available_width() - 14.0).clamp(2.0 * WORDS + 60.0, 760.0);
        let small = TextStyle::Small.resolve(ui.style());
        let over = |x: f32, align: Align2, text: &str| {
            ui.painter().text(pos2(titles.left() + x, titles.center().y), align, text, small.clone(), palette.weak);
        };
        over(WORDS, Align2::RIGHT_CENTER, "Query");
        over(across - WORDS, Align2::LEFT_CENTER, "Key");
        let scroll = ScrollArea::vertical().id_salt("arcs").max_height((height - 3.0 * ROW).max(6.0 * ROW));
        scroll.auto_shrink([false, true]).show(ui, |ui| {
            let (whole, _) = ui.allocate_exact_size(vec2(across, ROW * count as f32), Sense::empty());
            let row =
                |at: usize| Rect::from_min_size(pos2(whole.left(), whole.top() + ROW * at as f32), vec2(across, ROW));
            let seen: Vec<usize> = (0..count).filter(|at| ui.is_rect_visible(row(*at))).collect();
            for &at in &seen {
                for side in [Side::Query(at), Side::Key(at)] {
                    let rect = token_rect(row(at), side);
                    let token = ui.interact(rect, token_id(id, side), Sense::click());
                    let is_chosen = chosen == Some(side);
                    let name = format!("{} \"{}\"", side.words(), words.get(at).map_or("", String::as_str));
                    token.widget_info(|| WidgetInfo::selected(Role::Button, true, is_chosen, &name));
                    if token.hovered() {
                        pointed = Some(side);
                    }
                    if token.clicked() {
                        chosen = if is_chosen { None } else { Some(side) };
                    }
                }
            }
            let told = pointed.or(chosen);
            let squares_room = room_of_squares(told, heads.len());
            let ends = |query: usize, key: usize| {
                let (from, to) = (token_rect(row(query), Side::Query(query)), token_rect(row(key), Side::Key(key)));
                [from.right_center(), to.left_center() - vec2(squares_room, 0.0)]
            };
            let painter = ui.painter();
            for head in &heads {
                for (query, key, weight) in arcs(&head.kept.map, told, &seen, self.least) {
                    let colour = head.colour.gamma_multiply(opacity(weight, told.is_some()).max(0.06));
                    painter.line_segment(ends(query, key), Stroke::new(0.6 + 2.4 * weight, colour));
                }
            }
            let font = TextStyle::Body.resolve(ui.style());
            for &at in &seen {
                for side in [Side::Query(at), Side::Key(at)] {
                    let rect = token_rect(row(at), side);
                    let is_told = told == Some(side);
                    if is_told {
                        painter.rect_filled(rect, CornerRadius::same(3), palette.selection);
                    }
                    let word = words.get(at).map_or("", String::as_str);
                    let (place, align) = match side {
                        Side::Query(_) => (rect.right_center() - vec2(4.0, 0.0), Align2::RIGHT_CENTER),
                        Side::Key(_) => (rect.left_center() + vec2(4.0, 0.0), Align2::LEFT_CENTER),
                    };
                    let colour = if is_told { palette.strong } else { palette.text };
                    painter.with_clip_rect(rect.intersect(ui.clip_rect())).text(
                        place,
                        align,
                        word,
                        font.clone(),
                        colour,
                    );
                }
                squares(painter, &heads, told, at, token_rect(row(at), Side::Key(at)));
            }
        });
        let line = pointed.or(chosen).map_or_else(
            || {
                format!(
                    "Lines: attention of {} or more. Click a query to see all that it attends to, or a key to see what \
                     attends to it; Esc releases it.",
                    format::fixed(f64::from(self.least), 2)
                )
            },
            |side| said(&heads, side),
        );
        let is_told = pointed.or(chosen).is_some();
        let colour = if is_told { palette.text } else { palette.weak };
        ui.add(Label::new(RichText::new(line).small().color(colour)).wrap());
        self.chosen = chosen;
    }

    /// Which heads are drawn, in their colours.
    fn heads_ui(&mut self, ui: &mut Ui, loading: usize) {
        let palette = theme::palette(ui.visuals());
        ui.horizontal_wrapped(|ui| {
            ui.strong(format!("Layer {}", self.layer));
            for head in 0..self.kept.len() {
                let name = head_name(HeadAt::new(self.layer, head));
                let colour = colour_of(head, self.kept.len());
                let mut is_shown = !self.hidden.contains(&head);
                // Its colour is around the name: on the ground of what is chosen, blue letters would be blue on blue.
                let text =
                    RichText::new(format!("H{head}")).color(if is_shown { palette.strong } else { palette.weak });
                let edge = if is_shown { Stroke::new(2.0, colour) } else { Stroke::new(1.0, palette.line) };
                let help = format!("Draws {name}. Right click: this one alone, or all again");
                let button =
                    Button::selectable(is_shown, text).frame_when_inactive(true).fill(palette.well).stroke(edge);
                let button = ui.add(button).accessible_name(format!("Draw {name}"));
                is_shown ^= button.clicked();
                if button.secondary_clicked() {
                    let others: BTreeSet<usize> = (0..self.kept.len()).filter(|other| *other != head).collect();
                    self.hidden = if self.hidden == others { BTreeSet::new() } else { others };
                } else if is_shown {
                    self.hidden.remove(&head);
                } else {
                    self.hidden.insert(head);
                }
                button.on_hover_text(help);
            }
            if loading > 0 {
                ui.spinner();
            }
        });
    }

    /// What is shown, as it is exported.
    pub fn figure(&self) -> ArcsFigure {
        let heads = self.heads();
        let count = heads.first().map_or(0, |head| head.kept.words.len());
        let all: Vec<usize> = (0..count).collect();
        let of_head = |(place, head): (usize, &Head<'_>)| -> Vec<FigureArc> {
            let arc = |(query, key, weight)| {
                let opacity = opacity(weight, self.chosen.is_some());
                FigureArc { head: place, query, key, weight, opacity }
            };
            arcs(&head.kept.map, self.chosen, &all, self.least).into_iter().map(arc).collect()
        };
        let least = format::fixed(f64::from(if self.chosen.is_some() { LEAST } else { self.least }), 2);
        let what = self.chosen.map_or_else(|| "all queries".to_owned(), |side| side.words().to_lowercase());
        ArcsFigure {
            title: format!("Attention in layer {}", self.layer),
            heads: heads.iter().map(|head| (head_name(head.at), head.colour)).collect(),
            words: heads.first().map_or_else(Vec::new, |head| head.kept.words.to_vec()),
            arcs: heads.iter().enumerate().flat_map(of_head).collect(),
            notes: vec![format!("Of {what}; arcs of an attention of at least {least}.")],
            ..ArcsFigure::default()
        }
    }
}

/// The colour of a head among so many: of more than there are colours for lines, one of a ramp, so that no two are alike.
fn colour_of(head: usize, heads: usize) -> Color32 {
    let styles: Vec<Color32> = (0..heads).map(|place| LineStyle::of_place(place).colour).collect();
    let is_repeated = styles.iter().enumerate().any(|(place, colour)| styles.split_at(place).0.contains(colour));
    match styles.get(head) {
        Some(colour) if !is_repeated => *colour,
        _ => theme::ramp(head as f32 / heads.saturating_sub(1).max(1) as f32),
    }
}

impl Side {
    fn words(self) -> String {
        match self {
            Self::Query(at) => format!("Query {at}"),
            Self::Key(at) => format!("Key {at}"),
        }
    }
}

fn token_id(id: Id, side: Side) -> Id {
    match side {
        Side::Query(at) => id.with(("query", at)),
        Side::Key(at) => id.with(("key", at)),
    }
}

/// Where a token stands in its row.
fn token_rect(row: Rect, side: Side) -> Rect {
    match side {
        Side::Query(_) => Rect::from_min_max(row.left_top(), pos2(row.left() + WORDS, row.bottom())),
        Side::Key(_) => Rect::from_min_max(pos2(row.right() - WORDS, row.top()), row.right_bottom()),
    }
}

/// Query, key and attention of the arcs of a head: of the token that is told of, else those of the queries `seen` that are `strong`
/// or stronger.
fn arcs(map: &HeatData, told: Option<Side>, seen: &[usize], strong: f32) -> Vec<(usize, usize, f32)> {
    let (queries, keys): (Vec<usize>, Vec<usize>) = match told {
        Some(Side::Query(query)) => (vec![query], (0..map.columns()).collect()),
        Some(Side::Key(key)) => ((0..map.rows()).collect(), vec![key]),
        None => (seen.iter().copied().filter(|at| *at < map.rows()).collect(), (0..map.columns()).collect()),
    };
    let least = if told.is_some() { LEAST } else { strong };
    let mut found = Vec::new();
    for &query in &queries {
        for &key in &keys {
            let weight = map.at(query, key);
            if weight >= least {
                found.push((query, key, weight));
            }
        }
    }
    found
}

/// How opaque an arc is. Of one token the weak ones are looked for too; among all of them the strong ones are.
fn opacity(weight: f32, is_told: bool) -> f32 {
    let weight = weight.clamp(0.0, 1.0);
    if is_told { weight.sqrt() } else { weight }
}

/// Between the arcs and the keys: squares stand there while one token is told of, else the arcs reach the names.
fn room_of_squares(told: Option<Side>, heads: usize) -> f32 {
    if told.is_some() { SQUARE * heads as f32 + 4.0 } else { 0.0 }
}

/// A square a head beside a key: as strong as the token that is told of attends to it, or is attended to.
fn squares(painter: &egui::Painter, heads: &[Head<'_>], told: Option<Side>, at: usize, key: Rect) {
    let Some(told) = told else { return };
    for (place, head) in heads.iter().enumerate() {
        let weight = match told {
            Side::Query(query) => head.kept.map.at(query, at),
            Side::Key(own) if own == at => 1.0,
            Side::Key(_) => continue,
        };
        if weight.is_nan() || weight < LEAST {
            continue;
        }
        let left = key.left() - SQUARE * (heads.len() - place) as f32 - 2.0;
        let rect = Rect::from_min_size(pos2(left, key.top() + 3.0), vec2(SQUARE - 1.0, ROW - 6.0));
        painter.rect_filled(rect, 0.0, head.colour.gamma_multiply(opacity(weight, true)));
    }
}

/// What a token attends to most, or is attended to by, head by head.
fn said(heads: &[Head<'_>], side: Side) -> String {
    let mut line = String::new();
    for head in heads {
        let map = &head.kept.map;
        let word = |at: usize| head.kept.words.get(at).map_or("", String::as_str);
        let mut others: Vec<(usize, f32)> = match side {
            Side::Query(query) => (0..map.columns()).map(|key| (key, map.at(query, key))).collect(),
            Side::Key(key) => (0..map.rows()).map(|query| (query, map.at(query, key))).collect(),
        };
        others.retain(|(_, weight)| *weight >= LEAST);
        others.sort_by(|a, b| b.1.total_cmp(&a.1));
        if line.is_empty() {
            let (at, verb) = match side {
                Side::Query(at) => (at, "attends to"),
                Side::Key(at) => (at, "is attended to by"),
            };
            let place = head.kept.places.get(at).copied().unwrap_or(at);
            let _ = write!(line, "{place} \"{}\" {verb}", word(at));
        }
        let told: Vec<String> = others
            .iter()
            .take(TOLD)
            .map(|(at, weight)| format!("{} {}", word(*at), format::fixed(f64::from(*weight), 2)))
            .collect();
        let told = if told.is_empty() { "nothing".to_owned() } else { told.join(", ") };
        let _ = write!(line, " · H{}: {told}", head.at.head);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> HeatData {
        HeatData::new(3, 3, vec![1.0, f32::NAN, f32::NAN, 0.9, 0.1, f32::NAN, 0.005, 0.25, 0.745])
    }

    #[test]
    fn a_query_has_arcs_to_its_keys_and_a_key_from_its_queries() {
        assert_eq!(arcs(&map(), Some(Side::Query(2)), &[], 0.2), [(2, 1, 0.25), (2, 2, 0.745)]);
        assert_eq!(arcs(&map(), Some(Side::Key(0)), &[], 0.2), [(0, 0, 1.0), (1, 0, 0.9)]);
        assert_eq!(arcs(&map(), None, &[1, 2], 0.2), [(1, 0, 0.9), (2, 1, 0.25), (2, 2, 0.745)], "of what is seen");
        assert_eq!(arcs(&map(), None, &[1, 2], 0.5), [(1, 0, 0.9), (2, 2, 0.745)]);
    }

    /// How far the arcs of twelve heads end before the words of the keys.
    fn short_of_words(chosen: Option<Side>) -> f32 {
        let ctx = egui::Context::default();
        let tokens = ["a", "b", "c"].map(str::to_owned);
        let mut view = ArcsView::default();
        view.update(0, &vec![Some(map()); 12], &tokens, (false, 0.2));
        let (mut ends, mut words) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        for _ in 0..3 {
            view.chosen = chosen;
            let output = ctx.run_ui(egui::RawInput::default(), |ui| view.ui(ui, 400.0, 0));
            for shape in &output.shapes {
                match &shape.shape {
                    egui::Shape::LineSegment { points, .. } => ends = ends.max(points[1].x),
                    egui::Shape::Text(text) if text.galley.text() == "a" => words = words.max(text.pos.x),
                    _ => {}
                }
            }
            output.drop_without_applying_deltas();
        }
        words - ends
    }

    #[test]
    fn arcs_reach_the_words_of_keys_unless_squares_stand_between() {
        let short = short_of_words(None);
        assert!((0.0..8.0).contains(&short), "{short}");
        let short = short_of_words(Some(Side::Query(2)));
        assert!(short > 12.0 * SQUARE && short < 14.0 * SQUARE, "{short}");
    }

    #[test]
    fn words_name_the_strongest_of_each_head() {
        let tokens = ["a", "b", "c"].map(str::to_owned);
        let mut view = ArcsView::default();
        view.update(1, &[Some(map()), None], &tokens, (false, 0.2));
        let heads = view.heads();
        assert_eq!(heads.len(), 1, "one has not come yet");
        assert_eq!(said(&heads, Side::Query(2)), "2 \"c\" attends to · H0: c 0.75, b 0.25");
        assert_eq!(said(&heads, Side::Key(1)), "1 \"b\" is attended to by · H0: c 0.25, b 0.10");
        view.chosen = Some(Side::Query(2));
        let figure = view.figure();
        assert_eq!((figure.arcs.len(), figure.heads[0].0.as_str(), figure.words.len()), (2, "L1H0", 3));
        view.update(0, &[Some(map())], &tokens, (false, 0.2));
        assert_eq!(view.chosen, None, "another layer, another question");
    }

    #[test]
    fn a_token_is_let_go_where_other_maps_are_shown_and_kept_while_more_of_the_same_come() {
        let tokens = ["a", "b", "c"].map(str::to_owned);
        let mut view = ArcsView::default();
        let first = map();
        view.update(0, &[Some(first.clone()), None], &tokens, (false, 0.2));
        view.chosen = Some(Side::Query(2));
        view.update(0, &[Some(first.clone()), Some(map())], &tokens, (false, 0.2));
        assert_eq!(view.chosen, Some(Side::Query(2)));
        view.update(0, &[Some(map()), None], &tokens, (false, 0.2));
        assert_eq!(view.chosen, None, "of another run");
        view.chosen = Some(Side::Key(1));
        view.update(0, &[None, None], &tokens, (false, 0.2));
        assert_eq!(view.chosen, None, "those of another run are still to come");
    }
}
