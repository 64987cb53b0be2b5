//! Layers that make up for what was saved.

use egui::{ComboBox, Ui};
use headroom_engine::{
    config::counted,
    config::{Baseline, RunConfig},
};

use super::{
    super::{
        estimate::Matched,
        field::{field, name_of},
        form::{Form, note_ui},
    },
    judged::Judged,
};
use crate::format;

/// The check box, what is matched, and what that did.
pub(super) fn matching_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    let matched = &mut config.attention.match_parameters;
    let field = field!("attention.match_parameters");
    let name = |baseline: Baseline| field.choice(&name_of(&baseline)).unwrap_or_default();
    form.custom(ui, field, |ui| {
        let mut is_on = matched.is_some();
        let mut check = ui.checkbox(&mut is_on, "");
        if check.changed() {
            *matched = is_on.then_some(Baseline::Standard);
        }
        if let Some(baseline) = matched {
            let before = *baseline;
            let combo = ComboBox::from_id_salt("baseline")
                .width((ui.available_width() - 16.0).clamp(90.0, 190.0))
                .truncate()
                .selected_text(name(before));
            let combo = combo.show_ui(ui, |ui| {
                for choice in Baseline::ALL {
                    ui.selectable_value(baseline, choice, name(choice));
                }
            });
            combo.response.accessible_name("Baseline of the match");
            if *baseline != before {
                check.mark_changed();
            }
        }
        check
    });
    let estimate = judged.estimate.filter(|_| !judged.is_estimate_old);
    let found = estimate.and_then(|estimate| estimate.matched);
    match (config.attention.match_parameters, found) {
        (None, _) => {
            note_ui(ui, "The model has the layers that are named; a variant may be smaller than its baseline.");
        }
        (Some(_), Some(found)) => note_ui(ui, &what_it_did(&found)),
        (Some(_), None) => {}
    }
}

fn what_it_did(matched: &Matched) -> String {
    let Matched { added, given, parameters, baseline_parameters } = *matched;
    let (of, against) = (four_digits(parameters), four_digits(baseline_parameters));
    if added > 0 {
        return format!("{} instead of {given}: {of} against {against} parameters.", counted(given + added, "layer"));
    }
    if parameters >= baseline_parameters {
        return format!("No layer is added: nothing was saved ({of} against {against} parameters).");
    }
    format!("No layer is added: {of} against {against} parameters is closer than with one more.")
}

/// A count with four digits: differences of a few per mille are to be seen.
fn four_digits(n: u64) -> String {
    let x = n as f64;
    match n {
        0..10_000 => format::count(n),
        10_000..1_000_000 => format!("{} k", format::significant(x / 1e3, 4)),
        1_000_000..1_000_000_000 => format!("{} M", format::significant(x / 1e6, 4)),
        _ => format!("{} G", format::significant(x / 1e9, 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_told_in_layers_and_parameters() {
        let mut matched = Matched { added: 1, given: 12, parameters: 109_083_130, baseline_parameters: 109_482_240 };
        assert_eq!(what_it_did(&matched), "13 layers instead of 12: 109.1 M against 109.5 M parameters.");
        matched.added = 0;
        assert!(what_it_did(&matched).ends_with("closer than with one more."));
        matched.parameters = matched.baseline_parameters;
        assert!(what_it_did(&matched).contains("nothing was saved"));
        assert_eq!(
            [four_digits(932_608), four_digits(1_234), four_digits(6_700_000_000)],
            ["932.6 k", "1,234", "6.700 G"]
        );
    }
}
