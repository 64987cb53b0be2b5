use super::{
    Panel, PanelId, adviser::AdviserPanel, compare::ComparePanel, configure::ConfigurePanel, heads::HeadsPanel,
    live::LivePanel, reconstruct::ReconstructPanel, redundancy::RedundancyPanel, runs::RunsPanel,
    spectra::SpectraPanel, speed::SpeedPanel,
};
use crate::inspector::Inspector;

/// The panels of the window.
pub struct Panels {
    /// Set a run up; the window loads configs into it.
    pub configure: ConfigurePanel,
    /// The others, by their place in the rail.
    pub others: Vec<(PanelId, Box<dyn Panel>)>,
    /// What stands at the right.
    pub inspector: Option<Box<dyn Panel>>,
}

impl Default for Panels {
    fn default() -> Self {
        Self {
            configure: ConfigurePanel::default(),
            others: vec![
                (PanelId::Live, Box::new(LivePanel::default())),
                (PanelId::Compare, Box::new(ComparePanel::default())),
                (PanelId::Runs, Box::new(RunsPanel::default())),
                (PanelId::Speed, Box::new(SpeedPanel::default())),
                (PanelId::Redundancy, Box::new(RedundancyPanel::default())),
                (PanelId::Spectra, Box::new(SpectraPanel::default())),
                (PanelId::Heads, Box::new(HeadsPanel::default())),
                (PanelId::Reconstruct, Box::new(ReconstructPanel::default())),
                (PanelId::Adviser, Box::new(AdviserPanel::default())),
            ],
            inspector: Some(Box::new(Inspector::default())),
        }
    }
}

impl Panels {
    /// The panels that there are, in the order of the rail.
    pub fn ids(&self) -> Vec<PanelId> {
        let exists = |id: PanelId| id == PanelId::Configure || self.others.iter().any(|(other, _)| *other == id);
        PanelId::ALL.into_iter().filter(|&id| exists(id)).collect()
    }

    /// A panel; Configure when there is no such panel.
    pub fn get(&mut self, id: PanelId) -> &mut dyn Panel {
        match self.others.iter_mut().find(|(other, _)| *other == id) {
            Some((_, panel)) => panel.as_mut(),
            None => &mut self.configure,
        }
    }
}
