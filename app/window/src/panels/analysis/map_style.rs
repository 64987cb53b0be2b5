use egui::{ComboBox, Ui};
use serde::{Deserialize, Serialize};

use crate::{
    plot::{Extent, HeatScale, Tone},
    theme::ColourMap,
};

/// The colours of values on maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MapStyle {
    /// The colours of values from low to high.
    pub colours: ColourMap,
    /// How values are spread over them.
    pub scale: HeatScale,
    /// From 0 to 1, so that maps can be compared; else from the smallest to the largest value.
    pub is_whole: bool,
}

impl Default for MapStyle {
    fn default() -> Self {
        Self { colours: ColourMap::Viridis, scale: HeatScale::Linear, is_whole: true }
    }
}

impl MapStyle {
    /// The colours of values of this extent.
    pub fn tone(self, extent: Extent) -> Tone {
        if self.is_whole {
            Tone::between(self.colours, self.scale, 0.0, 1.0)
        } else {
            Tone::fitting(self.colours, self.scale, extent)
        }
    }

    /// Draws the choices into a row.
    pub fn ui(&mut self, ui: &mut Ui) {
        let combo =
            ComboBox::from_id_salt("colours").width(90.0).selected_text(self.colours.label()).show_ui(ui, |ui| {
                for colours in ColourMap::SEQUENTIAL {
                    ui.selectable_value(&mut self.colours, colours, colours.label());
                }
            });
        combo.response.accessible_name("Colours");
        let combo = ComboBox::from_id_salt("scale").width(100.0).selected_text(self.scale.label()).show_ui(ui, |ui| {
            for scale in HeatScale::ALL {
                ui.selectable_value(&mut self.scale, scale, scale.label());
            }
        });
        combo
            .response
            .accessible_name("Scale of the colours")
            .on_hover_text("Square root and logarithm tell small values apart");
        ui.checkbox(&mut self.is_whole, "0 to 1").on_hover_text(
            "Colours from 0 to 1, so that steps and runs can be compared; else from the smallest to the largest value",
        );
    }
}
