//! Colour maps: what a value between lowest (0) and highest (1) looks like.

use egui::Color32;
use serde::{Deserialize, Serialize};

use super::mix;

/// Control points, evenly spaced; colours between two of them are mixed.
type Points = [u32; 11];

/// Dark blue to yellow (van der Walt and Smith, 2015; public domain).
const VIRIDIS: Points = [
    0x44_01_54, 0x48_24_75, 0x41_44_87, 0x35_5F_8D, 0x2A_78_8E, 0x21_91_8C, 0x22_A8_84, 0x44_BF_70, 0x7A_D1_51,
    0xBD_DF_26, 0xFD_E7_25,
];
/// Black over purple to cream.
const MAGMA: Points = [
    0x00_00_04, 0x14_0E_36, 0x3B_0F_70, 0x64_1A_80, 0x8C_29_81, 0xB7_37_79, 0xDE_49_68, 0xF7_70_5C, 0xFE_9F_6D,
    0xFE_CF_92, 0xFC_FD_BF,
];
/// Black over red to pale yellow.
const INFERNO: Points = [
    0x00_00_04, 0x16_0B_39, 0x42_0A_68, 0x6A_17_6E, 0x93_26_67, 0xBC_37_54, 0xDD_51_3A, 0xF3_78_19, 0xFC_A5_0A,
    0xF6_D7_46, 0xFC_FF_A4,
];
/// Blue below, orange above, and a neutral middle; both ends equally dark, told apart by the colour-blind too.
const DIFFERENCE: Points = [
    0x0B_3C_78, 0x1F_5F_A6, 0x4C_88_C2, 0x89_B2_DB, 0xC4_D8_EC, 0xF5_F4_F2, 0xF3_D6_BC, 0xE6_AE_80, 0xCE_7D_40,
    0xA6_55_15, 0x75_37_05,
];

/// A colour map. The sequential ones are perceptual: equal steps look equally large, lightness only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColourMap {
    /// Dark blue to yellow.
    #[default]
    Viridis,
    /// Black over purple to cream.
    Magma,
    /// Black over red to pale yellow.
    Inferno,
    /// For differences: blue below zero, orange above, zero neutral.
    Difference,
}

impl ColourMap {
    /// The maps for values from low to high.
    pub const SEQUENTIAL: [Self; 3] = [Self::Viridis, Self::Magma, Self::Inferno];

    /// Its name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Viridis => "Viridis",
            Self::Magma => "Magma",
            Self::Inferno => "Inferno",
            Self::Difference => "Difference",
        }
    }

    /// Whether its middle means zero.
    pub fn is_diverging(self) -> bool {
        self == Self::Difference
    }

    /// The colour of a place between lowest (0) and highest (1).
    pub fn colour(self, place: f32) -> Color32 {
        let points = match self {
            Self::Viridis => &VIRIDIS,
            Self::Magma => &MAGMA,
            Self::Inferno => &INFERNO,
            Self::Difference => &DIFFERENCE,
        };
        let along = place.clamp(0.0, 1.0) * (points.len() - 1) as f32;
        let at = |index: usize| {
            let [_, r, g, b] = points.get(index).or(points.last()).copied().unwrap_or_default().to_be_bytes();
            Color32::from_rgb(r, g, b)
        };
        mix(at(along as usize), at(along as usize + 1), along.fract())
    }

    /// 256 colours from lowest to highest.
    pub fn table(self) -> Vec<Color32> {
        (0..=255_u8).map(|step| self.colour(f32::from(step) / 255.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE lightness, 0..=100.
    fn lightness(colour: Color32) -> f64 {
        let linear = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        let y = 0.2126 * linear(colour.r()) + 0.7152 * linear(colour.g()) + 0.0722 * linear(colour.b());
        if y > 0.008_856 { 116.0 * y.cbrt() - 16.0 } else { 903.3 * y }
    }

    #[test]
    fn sequential_maps_only_become_lighter_in_even_steps() {
        for map in ColourMap::SEQUENTIAL {
            let light: Vec<f64> = map.table().into_iter().map(lightness).collect();
            assert!(light.windows(2).all(|pair| pair[1] >= pair[0] - 0.3), "{map:?}");
            let steps: Vec<f64> = (0..8).map(|part| light[part * 32 + 31] - light[part * 32]).collect();
            let mean = (light[255] - light[0]) / 8.0;
            assert!(steps.iter().all(|step| (0.5..1.6).contains(&(step / mean))), "{map:?} {steps:?}");
        }
    }

    #[test]
    fn the_middle_of_differences_is_neutral_and_both_sides_weigh_the_same() {
        let middle = ColourMap::Difference.colour(0.5);
        assert!(middle.r().abs_diff(middle.b()) < 6 && lightness(middle) > 94.0);
        for step in 1..=5 {
            let away = step as f32 / 10.0;
            let (below, above) = (ColourMap::Difference.colour(0.5 - away), ColourMap::Difference.colour(0.5 + away));
            assert!((lightness(below) - lightness(above)).abs() < 8.0, "{below:?} {above:?}");
            assert!(below.b() > below.r() && above.r() > above.b());
        }
        assert_eq!(ColourMap::Viridis.colour(-1.0), ColourMap::Viridis.colour(0.0));
        assert_eq!(ColourMap::Viridis.colour(2.0), Color32::from_rgb(0xFD, 0xE7, 0x25));
    }
}
