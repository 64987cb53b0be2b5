//! What holds for every panel.

use headroom_app::context::PanelId;

use super::{Screen, answer_maps, answer_rebuilt};

/// Every panel.
pub const EVERY_PANEL: [PanelId; 12] = [
    PanelId::CONFIGURE,
    PanelId::LIVE,
    PanelId::COMPARE,
    PanelId::RUNS,
    PanelId::REDUNDANCY,
    PanelId::SPECTRA,
    PanelId::HEADS,
    PanelId::RECONSTRUCT,
    PanelId::GENERATE,
    PanelId::SPEED,
    PanelId::ADVISER,
    PanelId::MODELS,
];

/// Answers what panels ask of maps, until nothing more is asked.
pub fn answer_all(screen: &mut Screen) {
    for _ in 0..4 {
        screen.settle();
        let asked = screen.recorded();
        answer_maps(screen.state(), &asked);
        answer_rebuilt(screen.state(), &asked);
    }
}
