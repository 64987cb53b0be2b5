use headroom_engine::store::{BenchmarkRecord, RunId};

use crate::export::{Drawing, Figure, MapFigure};

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
}

/// A name as a file name: letters, digits, dots and single hyphens.
pub(super) fn slug(name: &str) -> String {
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
    }
}
