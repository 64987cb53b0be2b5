//! The largest eigenvalues as bars.

use std::collections::BTreeMap;

use egui::{Align2, Color32, FontId, Rect, RichText, Sense, Stroke, Ui, pos2, vec2};
use headroom_engine::analysis::Spectrum;

use crate::{
    export::{Figure, FigureAxis, FigureSeries},
    findings::{between, component_share},
    format,
    plot::{Axis, Quantity, Tick},
    theme,
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "The largest components";
/// What the bars are, and what they are of.
const SHARE: &str = "Share of the energy";
const COMPONENT: &str = "Component";
/// Bars at most.
const MOST: usize = 32;
const HEIGHT: f32 = 144.0;
/// Room below for numbers and the title of the axis, and at the left.
const BELOW: f32 = 30.0;
const LEFT: f32 = 44.0;

fn shares(spectrum: &Spectrum) -> Vec<f64> {
    spectrum.values.iter().take(MOST).map(|value| value / spectrum.trace).collect()
}

fn share_axis() -> Axis {
    Axis::new(SHARE).quantity(Quantity::Fraction)
}

/// Draws the bars.
pub fn bars_ui(ui: &mut Ui, spectrum: &Spectrum, colour: Color32) {
    let palette = theme::palette(ui.visuals());
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(TITLE).color(palette.strong));
        ui.label(RichText::new(SHARE).small().color(palette.weak));
    });
    let shares = shares(spectrum);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let plot = Rect::from_min_max(rect.min + vec2(LEFT, 4.0), rect.max - vec2(4.0, BELOW));
    let most = shares.first().copied().unwrap_or(0.0);
    let told = |place: usize| component_share(spectrum, place).map(|share| between(share, format::percent));
    let first: Vec<String> = (0..shares.len().min(8)).filter_map(told).collect();
    let name = format!("{TITLE}: {}", first.join(", "));
    let pointer = response.hover_pos();
    let step = plot.width() / MOST as f32;
    let at = pointer.filter(|at| plot.x_range().contains(at.x)).map(|at| ((at.x - plot.left()) / step) as usize);
    if most.is_finite() && most > 0.0 && ui.is_rect_visible(rect) {
        let painter = ui.painter();
        painter.rect_filled(plot, 2.0, palette.well);
        let font = FontId::proportional(11.0);
        for Tick { value, label, .. } in share_axis().ticks(0.0, most, 3) {
            let y = plot.bottom() - plot.height() * (value / most) as f32;
            painter.hline(plot.x_range(), y, Stroke::new(1.0, palette.grid));
            painter.text(pos2(plot.left() - 5.0, y), Align2::RIGHT_CENTER, label, font.clone(), palette.weak);
        }
        let below = pos2(plot.center().x, rect.bottom());
        painter.text(below, Align2::CENTER_BOTTOM, COMPONENT, font.clone(), palette.weak);
        for (place, share) in shares.iter().enumerate() {
            let height = plot.height() * (share / most) as f32;
            let corner = pos2(plot.left() + step * place as f32 + 1.0, plot.bottom() - height);
            let bar = Rect::from_min_max(corner, pos2(corner.x + (step - 2.0).max(1.0), plot.bottom()));
            let fill = if at == Some(place) { palette.strong } else { colour };
            painter.rect_filled(bar, 1.0, fill);
            // What it is at most.
            let upper = component_share(spectrum, place).map_or(*share, |(_, upper)| upper);
            if upper > *share {
                let top = (plot.bottom() - plot.height() * (upper / most) as f32).max(plot.top());
                painter.vline(bar.center().x, top..=bar.top(), Stroke::new(1.0, palette.weak));
            }
            if place == 0 || (place + 1) % 4 == 0 {
                let below = pos2(bar.center().x, plot.bottom() + 2.0);
                painter.text(below, Align2::CENTER_TOP, (place + 1).to_string(), font.clone(), palette.weak);
            }
        }
    }
    let response = response.accessible_name(name);
    if let Some((place, share)) = at.and_then(|place| Some((place, component_share(spectrum, place)?))) {
        let value = between((share.0 * spectrum.trace, share.1 * spectrum.trace), format::number);
        let share = between(share, format::percent);
        response
            .on_hover_text_at_pointer(format!("Component {}: {share} of the energy, eigenvalue {value}", place + 1));
    }
}

/// The numbers as a figure.
pub fn figure(spectrum: &Spectrum, colour: Color32, metadata: BTreeMap<String, String>) -> Figure {
    let points: Vec<(f64, f64)> = shares(spectrum).into_iter().zip(1_u32..).map(|(y, x)| (f64::from(x), y)).collect();
    let most = points.first().map_or(1.0, |first| first.1 * 1.05);
    let band = points.iter().flat_map(|&(x, y)| [(x - 0.4, 0.0, y), (x + 0.4, 0.0, y)]).collect();
    Figure {
        title: TITLE.to_owned(),
        x: FigureAxis { axis: Axis::new(COMPONENT).quantity(Quantity::Count), range: (0.0, points.len() as f64 + 1.0) },
        y: FigureAxis { axis: share_axis(), range: (0.0, most) },
        series: vec![FigureSeries { colour, width: 1.6, points, band, ..FigureSeries::default() }],
        metadata,
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_round_ticks_at_their_places() {
        let ticks = share_axis().ticks(0.0, 0.273, 3);
        let told: Vec<(f64, &str)> = ticks.iter().map(|tick| (tick.value, tick.label.as_str())).collect();
        assert_eq!(told, [(0.0, "0 %"), (0.1, "10 %"), (0.2, "20 %")]);
        for most in [0.004, 0.06, 0.5, 1.0] {
            assert!((3..=7).contains(&share_axis().ticks(0.0, most, 3).len()), "{most}");
        }
    }
}
