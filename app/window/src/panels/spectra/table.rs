//! How many components hold 80, 90 and 95 % of the energy.

use egui::{Grid, RichText, Ui};
use headroom_engine::analysis::{ScoreSpectra, Spectrum};

use crate::{
    export::TextTable,
    findings::{between, count_words},
    format, theme,
};

/// The shares that are asked for.
const SHARES: [f64; 3] = [0.8, 0.9, 0.95];

/// The column of the share that is known, and what stands in it where that is everything.
const KNOWN: usize = 4;
const ALL_KNOWN: &str = "100 %";

const HEADER: [&str; 7] = ["", "80 %", "90 %", "95 %", "Known", "Energy", "Samples"];
const HELP: [&str; 7] = [
    "",
    "Components that hold 80 % of the energy, and their share of all",
    "Components that hold 90 % of the energy, and their share of all",
    "Components that hold 95 % of the energy, and their share of all",
    "Share of the energy in the known eigenvalues",
    "The sum of all eigenvalues: the mean squared length of a vector of scores. Exact",
    "Number of vectors averaged; where it is below the dimension, the last eigenvalues are zero for that reason alone",
];

/// A line: whether it is one of a layer, and its cells.
struct Row {
    is_main: bool,
    cells: [String; 7],
}

fn row(name: &str, spectrum: &Spectrum, is_main: bool) -> Row {
    let of_all = |count: usize| count as f64 / spectrum.dimension.max(1) as f64;
    let holds = |share: f64| match spectrum.components_between(share) {
        (least, Some(most)) => {
            let of_all = between((of_all(least), of_all(most)), format::percent);
            format!("{} ({of_all})", count_words(spectrum, share))
        }
        (_, None) => count_words(spectrum, share).replace("more than", "over"),
    };
    let [first, second, third] = SHARES.map(holds);
    let known = between(spectrum.share_between(spectrum.values.len()), format::percent);
    let energy = format::significant(spectrum.trace, 4);
    Row { is_main, cells: [name.to_owned(), first, second, third, known, energy, format::count(spectrum.samples)] }
}

fn rows(spectra: &ScoreSpectra) -> Vec<Row> {
    let mut rows = vec![row("Network", &spectra.network, true)];
    rows.extend(spectra.row_mean_subtracted.as_ref().map(|found| row("Without row means", found, true)));
    for (layer, spectrum) in spectra.layers.iter().enumerate() {
        if spectrum.samples == 0 {
            let mut cells = [const { String::new() }; 7];
            cells[0] = format!("L{layer}");
            "no head scores".clone_into(&mut cells[1]);
            rows.push(Row { is_main: false, cells });
        } else {
            rows.push(row(&format!("L{layer}"), spectrum, false));
        }
    }
    rows
}

/// Draws the table.
pub fn table_ui(ui: &mut Ui, spectra: &ScoreSpectra) {
    let palette = theme::palette(ui.visuals());
    let network = &spectra.network;
    let all = format::count(network.dimension as u64);
    let masked = network.visible.filter(|visible| *visible < network.dimension);
    let masked = masked.map(|visible| format!(", of which the mask leaves {}", format::count(visible as u64)));
    let words = format!(
        "Components that hold 80, 90 and 95 % of the energy, and their share of all n² = {all}{}",
        masked.unwrap_or_default()
    );
    ui.label(RichText::new(words).small());
    let rows = rows(spectra);
    // Where all is known nothing is to be said of it, and the others have the room.
    let is_known = rows.iter().all(|row| [ALL_KNOWN, ""].contains(&row.cells[KNOWN].as_str()));
    let is_shown = |place: usize| place != KNOWN || !is_known;
    Grid::new("components").striped(true).spacing([7.0, 3.0]).show(ui, |ui| {
        for (_, (title, help)) in HEADER.into_iter().zip(HELP).enumerate().filter(|(place, _)| is_shown(*place)) {
            let label = ui.label(RichText::new(title).small().color(palette.weak));
            if !help.is_empty() {
                label.on_hover_text(help);
            }
        }
        ui.end_row();
        for row in rows {
            for (place, cell) in row.cells.into_iter().enumerate().filter(|(place, _)| is_shown(*place)) {
                let text = RichText::new(cell);
                ui.label(if row.is_main && place < 4 { text.color(palette.strong) } else { text });
            }
            ui.end_row();
        }
    });
}

/// The table as CSV.
pub fn table_csv(spectra: &ScoreSpectra) -> String {
    let rows: Vec<[String; 7]> = rows(spectra).into_iter().map(|row| row.cells).collect();
    TextTable::new(HEADER).with_rows(rows).to_csv()
}
