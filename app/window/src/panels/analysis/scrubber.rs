use std::time::Duration;

use egui::{Key, Modifiers, Slider, Ui};
use headroom_engine::store::RunId;

use crate::format;

/// Time between two steps while playing.
const PACE: Duration = Duration::from_millis(450);

/// The position on the steps of a run.
#[derive(Debug, Default)]
pub struct Scrubber {
    run: Option<RunId>,
    /// The step that was chosen; none: the newest, also when newer ones come.
    chosen: Option<u64>,
    shown: Option<u64>,
    /// When the next step comes, in seconds of the window's clock.
    next_secs: Option<f64>,
}

impl Scrubber {
    /// The step to be shown of those that there are: the chosen one, else the nearest before it.
    pub fn step(&mut self, run: &RunId, steps: &[u64]) -> Option<u64> {
        if self.run.as_ref() != Some(run) {
            *self = Self { run: Some(run.clone()), ..Self::default() };
        }
        let Some(chosen) = self.chosen else { return steps.last().copied() };
        let place = steps.partition_point(|step| *step <= chosen);
        steps.get(place.saturating_sub(1)).copied()
    }

    /// Whether it moves by itself.
    pub fn is_playing(&self) -> bool {
        self.next_secs.is_some()
    }

    /// What is shown now.
    pub(super) fn shows(&mut self, step: u64) {
        self.shown = Some(step);
    }

    /// What was shown last.
    pub(super) fn shown_before(&self) -> Option<u64> {
        self.shown
    }

    /// Draws it into a row.
    pub fn ui(&mut self, ui: &mut Ui, steps: &[u64], step: u64) {
        if steps.is_empty() {
            return;
        }
        let last = steps.len().saturating_sub(1);
        let place = steps.partition_point(|other| *other < step).min(last);
        self.play(ui, steps, place);
        let words = if self.is_playing() { "Pause" } else { "Play" };
        let button = ui.add_enabled(last > 0, egui::Button::new(words).min_size(egui::vec2(56.0, 0.0)));
        let button = button.on_hover_text("Plays the steps from the first one, or on from here");
        if button.accessible_name("Play the steps").clicked() {
            if self.is_playing() {
                self.next_secs = None;
            } else {
                if place == last {
                    self.chosen = steps.first().copied();
                }
                self.next_secs = Some(ui.input(|input| input.time) + PACE.as_secs_f64());
                ui.ctx().request_repaint_after(PACE);
            }
        }
        let mut wanted = place;
        ui.spacing_mut().slider_width = (ui.available_width() - 260.0).clamp(80.0, 360.0);
        let slider = ui.add_enabled(last > 0, Slider::new(&mut wanted, 0..=last).show_value(false));
        let slider =
            slider.accessible_name("Step of the analysis").on_hover_text("Steps at which the run was analysed");
        if slider.has_focus() {
            ui.input_mut(|input| {
                if input.consume_key(Modifiers::NONE, Key::Home) {
                    wanted = 0;
                } else if input.consume_key(Modifiers::NONE, Key::End) {
                    wanted = last;
                }
            });
        }
        if wanted != place {
            self.next_secs = None;
            // At the end it follows a run that is still training.
            self.chosen = if wanted == last { None } else { steps.get(wanted).copied() };
        }
        let newest = if self.chosen.is_none() && last > 0 { ", the newest" } else { "" };
        ui.label(format!("Step {} ({} of {}{newest})", format::count(step), place + 1, steps.len()));
    }

    fn play(&mut self, ui: &Ui, steps: &[u64], place: usize) {
        let Some(due) = self.next_secs else { return };
        let now = ui.input(|input| input.time);
        if now >= due {
            let next = steps.get(place + 1).copied();
            let is_last = place + 2 >= steps.len();
            self.chosen = next.filter(|_| !is_last);
            self.next_secs = if is_last { None } else { Some(now + PACE.as_secs_f64()) };
        }
        if let Some(due) = self.next_secs {
            ui.ctx().request_repaint_after(Duration::from_secs_f64((due - now).max(0.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_shown_until_another_is_chosen() {
        let (a, b) = ("000000000a".parse().unwrap(), "000000000b".parse().unwrap());
        let mut scrubber = Scrubber::default();
        assert_eq!(scrubber.step(&a, &[]), None);
        assert_eq!(scrubber.step(&a, &[100, 200]), Some(200));
        assert_eq!(scrubber.step(&a, &[100, 200, 300]), Some(300), "it follows the run");
        scrubber.chosen = Some(200);
        assert_eq!(scrubber.step(&a, &[100, 200, 300]), Some(200));
        assert_eq!(scrubber.step(&a, &[100, 300]), Some(100), "the nearest before");
        assert_eq!(scrubber.step(&a, &[300]), Some(300), "or the first");
        assert_eq!(scrubber.step(&b, &[100, 200, 300]), Some(300), "another run begins at its newest");
    }
}
