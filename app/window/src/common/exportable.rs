//! What can be exported, and the forms of exported figures.

use headroom_engine::store::{BenchmarkRecord, RunId};

use crate::export::{
    Drawing, Figure, MapFigure, drawing_to_png, map_to_csv, map_to_png, map_to_svg, to_csv, to_png, to_svg,
};

/// What is exported.
#[derive(Clone, Debug)]
pub enum Exportable {
    /// A checkpoint as a model directory.
    Checkpoint {
        /// The run.
        run: RunId,
        /// Its name.
        name: String,
        /// The one at this step, to begin with; the best when none is said.
        step: Option<u64>,
    },
    /// A whole run as JSON.
    Run {
        /// The run.
        run: RunId,
        /// Its name.
        name: String,
    },
    /// A chart.
    Figure(Box<Figure>),
    /// A figure that is no chart of curves.
    Drawing(Box<Drawing>),
    /// Everything that was measured, as JSON or as a table.
    Benchmark(Box<BenchmarkRecord>),
    /// A heat map.
    Map(Box<MapFigure>),
    /// Data that is no figure, as JSON or as a table.
    Data(Box<DataExport>),
}

/// Data in both forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataExport {
    /// What it is.
    pub title: String,
    /// All of it.
    pub json: String,
    /// Its table.
    pub csv: String,
}

/// Pixels per point of exported pictures: sharp in print at the usual column width.
const PNG_SCALE: f32 = 3.0;

/// The form of an exported figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FigureFormat {
    /// A picture.
    #[default]
    Png,
    /// A drawing with real text.
    Svg,
    /// The numbers of exactly what is shown.
    Csv,
}

impl FigureFormat {
    /// Every form, in menu order.
    pub const ALL: [Self; 3] = [Self::Png, Self::Svg, Self::Csv];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Svg => "SVG",
            Self::Csv => "CSV",
        }
    }

    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Csv => "csv",
        }
    }

    /// What it is for.
    pub fn about(self) -> &'static str {
        match self {
            Self::Png => "A picture, for slides and pages",
            Self::Svg => "A drawing with real text, for papers",
            Self::Csv => "The numbers of exactly what is shown",
        }
    }

    /// The file's bytes of a drawing that is no chart of curves.
    pub fn encode_drawing(self, drawing: &Drawing) -> Result<Vec<u8>, String> {
        match self {
            Self::Png => drawing_to_png(drawing, PNG_SCALE).map_err(|error| format!("{error:#}")),
            Self::Svg => Ok(drawing.svg.clone().into_bytes()),
            Self::Csv => Ok(drawing.csv.clone().into_bytes()),
        }
    }

    /// The file's bytes.
    pub fn encode(self, figure: &Figure) -> Result<Vec<u8>, String> {
        match self {
            Self::Png => to_png(figure, PNG_SCALE).map_err(|error| format!("{error:#}")),
            Self::Svg => Ok(to_svg(figure).into_bytes()),
            Self::Csv => Ok(to_csv(figure).into_bytes()),
        }
    }

    /// The file's bytes of a heat map.
    pub fn encode_map(self, figure: &MapFigure) -> Result<Vec<u8>, String> {
        match self {
            Self::Png => map_to_png(figure, PNG_SCALE).map_err(|error| format!("{error:#}")),
            Self::Svg => Ok(map_to_svg(figure).into_bytes()),
            Self::Csv => Ok(map_to_csv(figure).into_bytes()),
        }
    }
}

/// A name as a file name: letters, digits, dots and single hyphens; the sign of a difference as words.
pub fn slug(name: &str) -> String {
    let name = name.replace('Δ', "difference of ");
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_alphanumeric() || letter == '.' {
            out.extend(letter.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out = out.trim_matches(['-', '.']);
    if out.is_empty() { "export".to_owned() } else { out.chars().take(80).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names() {
        assert_eq!(slug("Wikitext decoder, half / borrowed"), "wikitext-decoder-half-borrowed");
        assert_eq!(slug("../.."), "export");
        assert_eq!(slug("Größe 1.5"), "größe-1.5");
        assert_eq!(slug("Δ Validation loss"), "difference-of-validation-loss");
    }
}
