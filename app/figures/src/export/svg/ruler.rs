use egui::FontId;
use egui::epaint::text::{FontDefinitions, Fonts, TextOptions};

use crate::format::Names;

/// Widths of text as the built-in font sets it.
pub(in crate::export) struct Ruler(Fonts);

impl Ruler {
    /// The built-in font.
    pub fn new() -> Self {
        Self(Fonts::new(TextOptions::default(), FontDefinitions::default()))
    }

    /// The width of `text` at a size.
    pub fn width(&mut self, text: &str, size: f64) -> f64 {
        let font = FontId::proportional(size as f32);
        let mut view = self.0.with_pixels_per_point(1.0);
        text.chars().map(|c| f64::from(view.glyph_width(&font, c))).sum()
    }

    /// A name that has to be told from others, shortened where it is the same as they are when it is wider than `limit`.
    pub fn fit_name(&mut self, name: &str, names: &Names, size: f64, limit: f64) -> String {
        if self.width(name, size) <= limit {
            return name.to_owned();
        }
        let font = FontId::proportional(size as f32);
        let view = std::cell::RefCell::new(self.0.with_pixels_per_point(1.0));
        let short = names.elided(name, limit as f32, |letter| view.borrow_mut().glyph_width(&font, letter));
        short.unwrap_or_else(|| name.to_owned())
    }

    /// `text`, cut with an ellipsis when it is wider than `limit`.
    pub fn fit(&mut self, text: &str, size: f64, limit: f64) -> String {
        if self.width(text, size) <= limit {
            return text.to_owned();
        }
        let mut kept = text.to_owned();
        while kept.pop().is_some() {
            let candidate = format!("{}…", kept.trim_end());
            if self.width(&candidate, size) <= limit {
                return candidate;
            }
        }
        "…".to_owned()
    }
}
