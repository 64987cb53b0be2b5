//! What an answer costs against the baseline: standard attention in which every head computes.

use egui::{Color32, Grid, RichText, Ui, vec2};
use headroom_engine::{
    attention::{Cost, ModelFacts},
    config::{AttentionConfig, Baseline, RunConfig},
};

use crate::{
    format,
    theme::{self, Palette},
};

/// The four questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which heads score.
    Reuse,
    /// How a pair is scored.
    Compatibility,
    /// How many pairs are scored.
    Coverage,
    /// What is kept while generating.
    Cache,
}

impl Question {
    /// In the order in which they are asked.
    pub const ALL: [Self; 4] = [Self::Reuse, Self::Compatibility, Self::Coverage, Self::Cache];

    /// The baseline with this one answer of a config.
    pub fn alone(self, config: &RunConfig) -> AttentionConfig {
        let given = config.attention.clone();
        let baseline = given.baseline(Baseline::Standard);
        match self {
            Self::Reuse => AttentionConfig { reuse: given.reuse, ..baseline },
            Self::Compatibility => AttentionConfig { compatibility: given.compatibility, ..baseline },
            Self::Coverage => AttentionConfig { coverage: given.coverage, ..baseline },
            Self::Cache => AttentionConfig { cache: given.cache, ..baseline },
        }
    }
}

/// The three numbers of a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Trainable numbers.
    pub parameters: u64,
    /// FLOPs of an optimiser step.
    pub flops: u64,
    /// Bytes held at once.
    pub memory: u64,
}

impl Figures {
    /// Those of a cost.
    pub fn of(cost: &Cost) -> Self {
        Self { parameters: cost.parameters, flops: cost.flops_per_step, memory: cost.memory_bytes }
    }
}

/// The numbers of a config with other answers; none where it is not sound.
pub fn figures(config: &RunConfig, attention: &AttentionConfig, facts: &ModelFacts) -> Option<Figures> {
    Some(Figures::of(&facts.answering_cost(config, attention).ok()?))
}

/// Numbers beside those of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of the config.
    pub of: Figures,
    /// Of the baseline.
    pub baseline: Figures,
}

/// One of the three numbers beside the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    of: u64,
    baseline: u64,
}

impl Change {
    /// The relative difference, 0.05 = 5 % more.
    pub fn fraction(self) -> f64 {
        if self.of == self.baseline { 0.0 } else { self.of as f64 / self.baseline.max(1) as f64 - 1.0 }
    }

    /// The relative difference with its sign.
    pub fn percent(self) -> String {
        format::delta_percent(self.fraction())
    }

    /// The absolute difference with its sign, written by `show`.
    pub fn amount(self, show: impl Fn(u64) -> String) -> String {
        let sign = match self.of.cmp(&self.baseline) {
            std::cmp::Ordering::Less => format::MINUS,
            std::cmp::Ordering::Equal => '±',
            std::cmp::Ordering::Greater => '+',
        };
        format!("{sign}{}", show(self.of.abs_diff(self.baseline)))
    }

    /// The colour of a number that is better when it is less.
    pub fn colour(self, palette: &Palette) -> Color32 {
        match self.of.cmp(&self.baseline) {
            std::cmp::Ordering::Less => palette.better,
            std::cmp::Ordering::Equal => palette.weak,
            std::cmp::Ordering::Greater => palette.worse,
        }
    }
}

impl Difference {
    /// Whether there is no difference at all.
    pub fn is_none(&self) -> bool {
        self.of == self.baseline
    }

    /// In parameters.
    pub fn parameters(&self) -> Change {
        Change { of: self.of.parameters, baseline: self.baseline.parameters }
    }

    /// In FLOPs of a step.
    pub fn flops(&self) -> Change {
        Change { of: self.of.flops, baseline: self.baseline.flops }
    }

    /// In memory.
    pub fn memory(&self) -> Change {
        Change { of: self.of.memory, baseline: self.baseline.memory }
    }

    /// In a menu: "−7.1 M parameters, −8.0 % FLOPs".
    pub fn words(&self) -> String {
        if self.is_none() {
            return "as the baseline".to_owned();
        }
        let parameters = self.parameters().amount(|n| format::si(n as f64, ""));
        format!("{parameters} parameters, {} FLOPs", self.flops().percent())
    }
}

/// The three differences of an answer, a line each, or that there are none. Fewer parameters are neither good nor bad;
/// less work and less memory are good.
pub fn difference_ui(ui: &mut Ui, id: &str, difference: &Difference) {
    let palette = theme::palette(ui.visuals());
    let small = |text: String| RichText::new(text).small();
    if difference.is_none() {
        ui.label(small("Costs what the baseline costs.".to_owned()).color(palette.weak)).on_hover_text(ALONE);
        return;
    }
    let lines = [
        ("parameters", difference.parameters(), palette.text, amount_of_parameters as fn(u64) -> String),
        ("a step", difference.flops(), difference.flops().colour(palette), |n| format::flops(n as f64)),
        ("of memory", difference.memory(), difference.memory().colour(palette), format::bytes),
    ];
    ui.spacing_mut().interact_size.y = 15.0;
    let grid = Grid::new(("difference", id)).num_columns(3).spacing(vec2(10.0, 0.0)).min_row_height(15.0);
    let shown = grid.show(ui, |ui| {
        for (unit, change, colour, show) in lines {
            ui.label(small(change.percent()).strong().color(colour));
            ui.label(small(format!("{} {unit}", change.amount(show))).color(palette.weak));
            ui.end_row();
        }
    });
    shown.response.on_hover_text(ALONE);
}

/// What the numbers beside a question mean.
const ALONE: &str = "This answer alone against the baseline: the same config with standard attention in which every \
                     head computes. What all answers together do stands under \"What it takes\".";

fn amount_of_parameters(n: u64) -> String {
    format::si(n as f64, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_bear_signs_and_only_less_work_is_better() {
        let baseline = Figures { parameters: 109_500_000, flops: 1_000, memory: 1 << 20 };
        let of = Figures { parameters: 102_400_000, flops: 920, memory: 2 << 20 };
        let difference = Difference { of, baseline };
        assert_eq!(difference.words(), "\u{2212}7.10 M parameters, \u{2212}8.0 % FLOPs");
        assert_eq!(difference.memory().amount(format::bytes), "+1.0 MiB");
        assert_eq!(difference.memory().percent(), "+100 %");
        let palette = &theme::DARK;
        assert_eq!(difference.flops().colour(palette), palette.better);
        assert_eq!(difference.memory().colour(palette), palette.worse);
        let same = Difference { of: baseline, baseline };
        assert!(same.is_none() && same.parameters().fraction() == 0.0);
        assert_eq!(same.words(), "as the baseline");
        assert_eq!(same.flops().amount(|n| n.to_string()), "±0");
    }
}
