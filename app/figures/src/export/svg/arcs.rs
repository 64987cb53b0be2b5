use std::{collections::BTreeMap, fmt::Write as _};

use egui::Color32;
use headroom_config::text::csv_cell;

use super::document::{TITLE, open, write_metadata};
use super::ruler::Ruler;
use super::text::{NOTE, TICK, text};
use crate::export::Drawing;
use crate::theme::{self, hex};

/// Height of a token and width between the two columns, in points.
const ROW: f64 = 17.0;
const BETWEEN: f64 = 320.0;
const EDGE: f64 = 20.0;

/// The text twice, with arcs from queries at the left to keys at the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArcsFigure {
    /// Above it.
    pub title: String,
    /// Under the title: what it is of.
    pub subtitle: String,
    /// Names and colours of the heads.
    pub heads: Vec<(String, Color32)>,
    /// The tokens.
    pub words: Vec<String>,
    /// The arcs.
    pub arcs: Vec<FigureArc>,
    /// Small print below.
    pub notes: Vec<String>,
    /// Key to text, written into the file.
    pub metadata: BTreeMap<String, String>,
}

/// An arc of [`ArcsFigure`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FigureArc {
    /// Which of the heads.
    pub head: usize,
    /// The query's place among the tokens.
    pub query: usize,
    /// The key's.
    pub key: usize,
    /// Attention, 0..=1.
    pub weight: f32,
    /// How opaque it is drawn, 0..=1.
    pub opacity: f32,
}

impl ArcsFigure {
    /// The figure as picture and table.
    pub fn draw(self) -> Drawing {
        Drawing { svg: self.svg(), csv: self.csv(), title: self.title, metadata: self.metadata }
    }

    /// A row for each arc.
    fn csv(&self) -> String {
        let mut out = String::from("head,query,query token,key,key token,attention\n");
        let word = |at: usize| csv_cell(self.words.get(at).map_or("", String::as_str));
        for FigureArc { head, query, key, weight, .. } in &self.arcs {
            let name = csv_cell(self.heads.get(*head).map_or("", |(name, _)| name));
            let _ = writeln!(out, "{name},{query},{},{key},{},{weight}", word(*query), word(*key));
        }
        out
    }

    fn svg(&self) -> String {
        let mut ruler = Ruler::new();
        let p = &theme::PAPER;
        let widest = self.words.iter().map(|word| ruler.width(word, TICK)).fold(0.0, f64::max);
        let left = EDGE + widest + 8.0;
        let legend: f64 = self.heads.iter().map(|(name, _)| ruler.width(name, TICK) + 26.0).sum();
        let title_width = ruler.width(&self.title, TITLE).max(ruler.width(&self.subtitle, TICK));
        let note_width = self.notes.iter().map(|note| ruler.width(note, NOTE)).fold(0.0, f64::max);
        let width = (left + BETWEEN + widest + 8.0 + EDGE).max(legend.max(title_width).max(note_width) + 2.0 * EDGE);
        let head = 16.0 + TITLE + 6.0 + TICK + 10.0;
        let top = head + TICK + 14.0;
        let bottom = top + ROW * self.words.len() as f64;
        let height = bottom + 12.0 + self.notes.len() as f64 * (NOTE + 4.0) + 12.0;
        let y = |at: usize| top + (at as f64 + 0.5) * ROW;
        let mut out = String::with_capacity(1 << 14);
        open(&mut out, (width, height), &self.title);
        write_metadata(&mut out, &self.metadata);
        let _ = writeln!(out, r#"<rect width="{width:.1}" height="{height:.1}" fill="{}"/>"#, hex(p.background));
        let room = width - 2.0 * EDGE;
        text(&mut out, EDGE, 16.0 + TITLE * 0.8, TITLE, "start", p.strong, &ruler.fit(&self.title, TITLE, room));
        let subtitle = ruler.fit(&self.subtitle, TICK, room);
        text(&mut out, EDGE, 16.0 + TITLE + 6.0 + TICK * 0.8, TICK, "start", p.weak, &subtitle);
        let mut x = EDGE;
        for (name, colour) in &self.heads {
            let _ = writeln!(
                out,
                r#"<rect x="{x:.1}" y="{:.1}" width="12" height="{:.1}" fill="{}"/>"#,
                head + 1.0,
                TICK - 2.0,
                hex(*colour)
            );
            text(&mut out, x + 16.0, head + TICK * 0.85, TICK, "start", p.text, name);
            x += ruler.width(name, TICK) + 26.0;
        }
        let _ = writeln!(out, r#"<g fill="none" stroke-linecap="round">"#);
        for FigureArc { head, query, key, weight, opacity } in &self.arcs {
            let colour = self.heads.get(*head).map_or(p.text, |(_, colour)| *colour);
            let _ = writeln!(
                out,
                r#"<path d="M{left:.1} {:.1}L{:.1} {:.1}" stroke="{}" stroke-width="{:.2}" stroke-opacity="{:.3}"/>"#,
                y(*query),
                left + BETWEEN,
                y(*key),
                hex(colour),
                0.6 + 2.4 * weight,
                opacity.clamp(0.06, 1.0)
            );
        }
        let _ = writeln!(out, "</g>");
        for (at, word) in self.words.iter().enumerate() {
            let y = y(at) + TICK * 0.35;
            text(&mut out, left - 6.0, y, TICK, "end", p.text, word);
            text(&mut out, left + BETWEEN + 6.0, y, TICK, "start", p.text, word);
        }
        for (line, note) in self.notes.iter().enumerate() {
            let y = bottom + 12.0 + (line as f64 + 0.8) * (NOTE + 4.0);
            text(&mut out, EDGE, y, NOTE, "start", p.weak, &ruler.fit(note, NOTE, room));
        }
        out.push_str("</svg>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arc_is_a_line_and_a_row_and_the_tokens_are_text() {
        let drawing = ArcsFigure {
            title: "Attention in layer 1".to_owned(),
            heads: vec![("L1H0".to_owned(), Color32::RED)],
            words: ["<a>", "b, c"].map(str::to_owned).to_vec(),
            arcs: vec![
                FigureArc { head: 0, query: 1, key: 0, weight: 0.75, opacity: 0.75 },
                FigureArc { head: 0, query: 1, key: 1, weight: 0.25, opacity: 0.25 },
            ],
            ..ArcsFigure::default()
        }
        .draw();
        assert_eq!(drawing.svg.matches("<path").count(), 2);
        assert_eq!(drawing.svg.matches(">&lt;a&gt;</text>").count(), 2, "at both sides");
        assert_eq!(
            drawing.csv,
            "head,query,query token,key,key token,attention\nL1H0,1,\"b, c\",0,<a>,0.75\nL1H0,1,\"b, c\",1,\"b, c\",0.25\n"
        );
    }
}
