//! Clicks that begin and end within one frame.

use std::mem;

use egui::Event;

/// Where a frame takes long, a button may be pressed and let go before the next. Then what the press brings to the top and what the
/// release opens would come at the same time, and a list could open under the dialog that it belongs to: they are told in two frames.
#[derive(Default)]
pub struct Clicks {
    waiting: Vec<Event>,
}

impl Clicks {
    /// Puts off to the next frame what begins with the release of a button that was pressed in this one. Gives whether there is such.
    pub fn part(&mut self, events: &mut Vec<Event>) -> bool {
        let mut all = mem::take(&mut self.waiting);
        all.append(events);
        let mut is_pressed = false;
        let is_release = |event: &Event| {
            let Event::PointerButton { pressed, .. } = event else { return false };
            is_pressed |= pressed;
            is_pressed && !pressed
        };
        if let Some(at) = all.iter().position(is_release) {
            self.waiting = all.split_off(at);
        }
        *events = all;
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use egui::{Modifiers, PointerButton, Pos2};

    use super::*;

    fn button(pressed: bool) -> Event {
        Event::PointerButton { pos: Pos2::ZERO, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
    }

    #[test]
    fn a_click_within_a_frame_is_told_in_two() {
        let mut clicks = Clicks::default();
        let moved = Event::PointerMoved(Pos2::ZERO);
        let mut frame = |given: &[Event]| {
            let mut events = given.to_vec();
            let waits = clicks.part(&mut events);
            (events, waits)
        };
        let double = [moved.clone(), button(true), button(false), button(true), button(false)];
        assert_eq!(frame(&double), (vec![moved.clone(), button(true)], true));
        // What comes meanwhile comes after.
        assert_eq!(frame(std::slice::from_ref(&moved)), (vec![button(false), button(true)], true));
        assert_eq!(frame(&[]), (vec![button(false), moved], false));
        assert_eq!(frame(&[]), (Vec::new(), false));
    }

    #[test]
    fn buttons_that_are_held_wait_for_nothing() {
        let mut clicks = Clicks::default();
        for event in [button(true), button(false)] {
            let mut events = vec![event.clone()];
            assert!(!clicks.part(&mut events));
            assert_eq!(events, [event]);
        }
    }
}
