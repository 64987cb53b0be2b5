//! How the line of a run is drawn, the same in charts, tables and lists.

use egui::Color32;

use super::{Dash, run_style};

/// Colour, dashes and width of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineStyle {
    /// Its colour.
    pub colour: Color32,
    /// Its dash pattern.
    pub dash: Dash,
    /// Its width in points.
    pub width: f32,
}

/// Slate: neutral beside the colours of runs, and seen on light and dark grounds alike.
const BASELINE: Color32 = Color32::from_rgb(0x7A, 0x84, 0x91);

impl LineStyle {
    /// The width of an ordinary line in points.
    pub const WIDTH: f32 = 1.6;

    /// The line of the baseline, whichever run it is.
    pub const BASELINE: Self = Self { colour: BASELINE, dash: Dash::Solid, width: 3.0 };

    /// The line at this place among those that are shown together: 24 can be told apart.
    pub fn of_place(place: usize) -> Self {
        let (colour, dash) = run_style(place as u64);
        Self { colour, dash, width: Self::WIDTH }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DARK, LIGHT, RUN_COLOURS, contrast, hex};
    use super::*;

    #[test]
    fn the_baseline_is_seen_on_both_grounds_and_no_run_looks_like_it() {
        for ground in [DARK.well, LIGHT.well] {
            let ratio = contrast(BASELINE, ground);
            assert!(ratio >= 3.0, "{ratio:.1}:1 on {}", hex(ground));
        }
        assert!(!RUN_COLOURS.contains(&BASELINE));
    }

    #[test]
    fn a_dozen_lines_differ_and_six_without_dashes() {
        let first: Vec<LineStyle> = (0..12).map(LineStyle::of_place).collect();
        for (place, style) in first.iter().enumerate() {
            assert!(!first.iter().skip(place + 1).any(|other| other == style), "{place}");
            assert_eq!(style.dash == Dash::Solid, place < 6);
        }
    }
}
