//! Groups of similar heads, on a head map.

use egui::{Button, RichText, Slider, Ui};
use headroom_engine::{analysis::Similarity, attention::HeadAt, config::counted};

use super::derived::{Derived, head_at, spot};
use crate::{
    format,
    panels::analysis::head_name,
    theme,
    widgets::{HeadMap, group_letters},
};

/// Groups that are written out.
const MOST: usize = 8;

/// Draws the slider, the map and the groups in words; a click on a head chooses it. True when the groups are to be marked
/// on the head map of Configure.
pub fn groups_ui(
    ui: &mut Ui,
    similarity: &Similarity,
    derived: &Derived,
    threshold: &mut f64,
    head: &mut Option<HeadAt>,
) -> bool {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new("Groups of similar heads").color(palette.strong));
    ui.horizontal_wrapped(|ui| {
        let label = ui.label("Threshold");
        let slider = ui.add(Slider::new(threshold, 0.0..=1.0).fixed_decimals(2).step_by(0.01));
        slider
            .labelled_by(label.id)
            .on_hover_text("Least similarity of any two heads of a group (agglomerative clustering, complete linkage)");
    });
    let grouped: usize = derived.groups.iter().map(Vec::len).sum();
    let heads = similarity.layers * similarity.heads;
    let spare: usize = derived.groups.iter().map(|group| could_borrow(group)).sum();
    ui.label(match derived.groups.len() {
        0 => "No two heads are that similar. Of what trains in minutes, the preset \"random control\" has heads that are.".to_owned(),
        // A group has two heads at least.
        groups => format!(
            "{} {} {grouped} heads, every two of one at {} or more: {spare} of {heads} maps could come from a head of an earlier layer.",
            counted(groups, "group"),
            if groups == 1 { "of" } else { "hold" },
            format::fixed(*threshold, 2)
        ),
    });
    let words = "A head that is similar to some heads of a group and not to all stays out of it. Heads of one layer cannot \
                 borrow from each other; Adviser shows which heads should.";
    ui.label(RichText::new(words).small().color(palette.weak));
    let shown = HeadMap::new("groups", &derived.grid).selectable().selected(head.map(spot)).show(ui);
    if let Some(chosen) = shown.chosen {
        *head = Some(head_at(chosen));
    }
    let has_any = !derived.groups.is_empty();
    let about = "Shows the groups on the head map on which you choose who borrows";
    let button = Button::new("Mark them in Configure");
    let wants_marks = ui.horizontal(|ui| ui.add_enabled(has_any, button).on_hover_text(about).clicked()).inner;
    for (place, group) in derived.groups.iter().enumerate().take(MOST) {
        let names: Vec<String> = group.iter().take(12).map(|at| head_name(*at)).collect();
        let more = if group.len() > 12 { format!(" and {} more", group.len() - 12) } else { String::new() };
        let words = format!("{}: {}{more}", group_letters(place), names.join(", "));
        let told = ui.label(RichText::new(words).small().color(palette.weak));
        if !more.is_empty() {
            let all: Vec<String> = group.iter().map(|at| head_name(*at)).collect();
            told.on_hover_text(all.join(", "));
        }
    }
    if derived.groups.len() > MOST {
        let words = format!("and {}", counted(derived.groups.len() - MOST, "more group"));
        ui.label(RichText::new(words).small().color(palette.weak));
    }
    wants_marks
}

/// How many heads of a group could borrow from one of an earlier layer: all but those of its first layer.
fn could_borrow(group: &[HeadAt]) -> usize {
    let first = group.iter().map(|at| at.layer).min();
    group.iter().filter(|at| Some(at.layer) != first).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_the_first_layer_of_a_group_have_nobody_to_borrow_from() {
        let group = |layers: &[usize]| layers.iter().map(|&layer| HeadAt::new(layer, 0)).collect::<Vec<_>>();
        assert_eq!(could_borrow(&group(&[1, 1])), 0);
        assert_eq!(could_borrow(&group(&[0, 1, 1, 0, 2])), 3);
        assert_eq!(could_borrow(&[]), 0);
    }
}
