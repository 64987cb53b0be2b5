use std::fmt::Write as _;

use egui::Color32;
use headroom_config::text::is_deceptive;

use crate::theme::hex;

/// Size of the labels of axes.
pub(in crate::export) const LABEL: f64 = 13.0;
/// Size of notes.
pub(in crate::export) const NOTE: f64 = 11.0;
/// Size of the labels of ticks, and of names in the legend.
pub(in crate::export) const TICK: f64 = 12.0;

/// Writes a line of text.
pub(in crate::export) fn text(
    out: &mut String,
    x: f64,
    y: f64,
    size: f64,
    anchor: &str,
    colour: Color32,
    content: &str,
) {
    let (colour, content) = (hex(colour), escape(content));
    let _ = writeln!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{content}</text>"#
    );
}

/// Text for XML: entities escaped, characters that XML cannot hold replaced.
pub(in crate::export) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            '\r' => out.push_str("&#13;"),
            // The sign of a wrong character, since XML cannot hold some of them and others turn lines around.
            c if is_deceptive(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
