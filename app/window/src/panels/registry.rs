use super::{
    adviser::AdviserPanel, compare::ComparePanel, configure::ConfigurePanel, generate::GeneratePanel,
    heads::HeadsPanel, inspector::Inspector, live::LivePanel, models::ModelsPanel, reconstruct::ReconstructPanel,
    redundancy::RedundancyPanel, runs::RunsPanel, spectra::SpectraPanel, speed::SpeedPanel,
};
use crate::context::{
    Icon, Panel,
    PanelGroup::{self, Measure, SetUp, Understand, Watch},
    PanelId, PanelInfo,
};

/// Makes a panel.
type New = fn() -> Box<dyn Panel>;

const CONFIGURE: PanelInfo = PanelInfo {
    // A column of its own stands where the inspector would.
    has_inspector: false,
    ..info(
        PanelId::CONFIGURE,
        SetUp,
        ["Configure", "Set up a run and start it"],
        &[
            &[(0.0, 0.25), (1.0, 0.25)],
            &[(0.0, 0.75), (1.0, 0.75)],
            &[(0.3, 0.05), (0.3, 0.45)],
            &[(0.7, 0.55), (0.7, 0.95)],
        ],
    )
};

/// The table of panels after Configure, in the order of the rail: what is known of each, and how it is made.
const TABLE: [(PanelInfo, New); 11] = [
    (
        info(
            PanelId::LIVE,
            Watch,
            ["Live", "Watch the run that is training"],
            &[&[(0.0, 0.5), (0.25, 0.5), (0.4, 0.1), (0.6, 0.9), (0.75, 0.5), (1.0, 0.5)]],
        ),
        new::<LivePanel>,
    ),
    (
        info(
            PanelId::COMPARE,
            Watch,
            ["Compare", "Overlay runs and compare them with a baseline"],
            &[&[(0.0, 0.05), (0.3, 0.6), (1.0, 0.95)], &[(0.0, 0.35), (0.4, 0.45), (1.0, 0.55)]],
        ),
        new::<ComparePanel>,
    ),
    (
        info(
            PanelId::RUNS,
            Watch,
            ["Runs", "List every run in the store"],
            &[&[(0.0, 0.15), (1.0, 0.15)], &[(0.0, 0.5), (1.0, 0.5)], &[(0.0, 0.85), (1.0, 0.85)]],
        ),
        new::<RunsPanel>,
    ),
    (
        info(
            PanelId::REDUNDANCY,
            Understand,
            ["Redundancy", "See which heads and layers have similar attention"],
            &[
                &[(0.0, 0.0), (0.7, 0.0), (0.7, 0.7), (0.0, 0.7), (0.0, 0.0)],
                &[(0.3, 0.7), (0.3, 1.0), (1.0, 1.0), (1.0, 0.3), (0.7, 0.3)],
            ],
        ),
        new::<RedundancyPanel>,
    ),
    (
        info(
            PanelId::SPECTRA,
            Understand,
            ["Spectra", "See in how few dimensions attention scores lie"],
            &[
                &[(0.0, 1.0), (1.0, 1.0)],
                &[(0.1, 0.0), (0.1, 1.0)],
                &[(0.37, 0.4), (0.37, 1.0)],
                &[(0.64, 0.65), (0.64, 1.0)],
                &[(0.9, 0.85), (0.9, 1.0)],
            ],
        ),
        new::<SpectraPanel>,
    ),
    (
        info(
            PanelId::HEADS,
            Understand,
            ["Heads", "See the attention map of every head"],
            &[
                &[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)],
                &[(0.5, 0.0), (0.5, 1.0)],
                &[(0.0, 0.5), (1.0, 0.5)],
            ],
        ),
        new::<HeadsPanel>,
    ),
    (
        info(
            PanelId::RECONSTRUCT,
            Understand,
            ["Reconstruct", "Restore attention scores from some of their pairs"],
            &[
                &[(0.0, 0.55), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.45, 1.0)],
                &[(0.0, 0.8), (0.0, 1.0), (0.2, 1.0)],
                &[(0.3, 0.7), (0.7, 0.3)],
            ],
        ),
        new::<ReconstructPanel>,
    ),
    (
        info(
            PanelId::GENERATE,
            Understand,
            ["Generate", "Let a model write text, and see what is kept between tokens"],
            &[
                &[(0.0, 0.1), (0.75, 0.1)],
                &[(0.0, 0.5), (1.0, 0.5)],
                &[(0.0, 0.9), (0.45, 0.9)],
                &[(0.65, 0.75), (0.65, 1.0)],
            ],
        ),
        new::<GeneratePanel>,
    ),
    (
        PanelInfo {
            // A benchmark is of no run.
            has_inspector: false,
            ..info(
                PanelId::SPEED,
                Measure,
                ["Speed", "Measure how long training steps take"],
                &[
                    &[(0.0, 0.85), (0.05, 0.5), (0.25, 0.2), (0.5, 0.1), (0.75, 0.2), (0.95, 0.5), (1.0, 0.85)],
                    &[(0.5, 0.85), (0.72, 0.45)],
                ],
            )
        },
        new::<SpeedPanel>,
    ),
    (
        info(
            PanelId::ADVISER,
            Measure,
            ["Adviser", "See what a trained model could save, and train that beside it"],
            &[
                &[(0.3, 0.72), (0.1, 0.4), (0.25, 0.05), (0.75, 0.05), (0.9, 0.4), (0.7, 0.72), (0.3, 0.72)],
                &[(0.35, 0.97), (0.65, 0.97)],
            ],
        ),
        new::<AdviserPanel>,
    ),
    (
        info(
            PanelId::MODELS,
            Measure,
            ["Models", "Look into a model, and make another one of it"],
            &[
                &[(0.0, 0.25), (0.35, 0.25), (0.35, 0.75), (0.0, 0.75), (0.0, 0.25)],
                &[(0.65, 0.25), (1.0, 0.25), (1.0, 0.75), (0.65, 0.75), (0.65, 0.25)],
                &[(0.35, 0.5), (0.65, 0.5)],
            ],
        ),
        new::<ModelsPanel>,
    ),
];

const fn info(id: PanelId, group: PanelGroup, [label, about]: [&'static str; 2], icon: Icon) -> PanelInfo {
    PanelInfo { id, group, label, about, icon, has_inspector: true }
}

fn new<P: Panel + Default + 'static>() -> Box<dyn Panel> {
    Box::<P>::default()
}

/// The panels of the window.
pub struct Panels {
    /// The first panel; the window loads configs into it.
    pub configure: ConfigurePanel,
    /// What stands at the right.
    pub inspector: Inspector,
    infos: Vec<PanelInfo>,
    others: Vec<(PanelId, Box<dyn Panel>)>,
}

impl Default for Panels {
    fn default() -> Self {
        let mut panels = Self {
            configure: ConfigurePanel::default(),
            inspector: Inspector::default(),
            infos: vec![CONFIGURE],
            others: Vec::new(),
        };
        for (info, new) in TABLE {
            panels.add(info, new());
        }
        panels
    }
}

impl Panels {
    /// Adds a panel at the end of its group.
    pub fn add(&mut self, info: PanelInfo, panel: Box<dyn Panel>) {
        let place = self.infos.iter().rposition(|other| other.group <= info.group).map_or(0, |last| last + 1);
        self.infos.insert(place, info);
        self.others.push((info.id, panel));
    }

    /// Every panel, in the order of the rail. The digits 1 to 9 and 0 open the first ten.
    pub fn infos(&self) -> &[PanelInfo] {
        &self.infos
    }

    /// The panel of this name; Configure where there is none.
    pub fn named(&self, name: &str) -> PanelInfo {
        self.infos.iter().find(|info| info.id.0 == name).copied().unwrap_or(CONFIGURE)
    }

    /// A panel, to be drawn; Configure where there is none of this name.
    pub fn get(&mut self, id: PanelId) -> &mut dyn Panel {
        match self.others.iter_mut().find(|(other, _)| *other == id) {
            Some((_, panel)) => panel.as_mut(),
            None => &mut self.configure,
        }
    }
}
