use egui::{Button, Popup, PopupCloseBehavior, RectAlign, RichText, Ui};
use headroom_engine::worker::Command;

use crate::{
    context::{Action, PanelContext},
    theme,
};

/// The queue button with its list of waiting runs: their order can be changed, they can be cancelled.
pub fn queue_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let waiting = cx.state.waiting.clone();
    let text = if waiting.is_empty() { "Queue".to_owned() } else { format!("Queue ({})", waiting.len()) };
    let spoken = match waiting.len() {
        0 => "Queue, empty".to_owned(),
        1 => "Queue, 1 run waits".to_owned(),
        more => format!("Queue, {more} runs wait"),
    };
    let button = ui.button(text).on_hover_text("Runs waiting to start").accessible_name(spoken);
    Popup::from_toggle_button_response(&button)
        // It grows away from the window's edge, which is near, from its first frame on.
        .align(RectAlign::BOTTOM_END)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .accessible_name("Waiting runs")
        .show(|ui| {
            ui.set_min_width(320.0);
            ui.label(RichText::new("Waiting runs").strong());
            if waiting.is_empty() {
                ui.colored_label(
                    theme::palette(ui.visuals()).weak,
                    "No run is waiting. A run that is started while another trains waits here.",
                );
                return;
            }
            egui::Grid::new("waiting runs").num_columns(5).spacing([8.0, 4.0]).show(ui, |ui| {
                for (position, run) in waiting.iter().enumerate() {
                    let name = cx.state.run_name(run);
                    let seed = cx.state.run(run).map_or_else(String::new, |summary| format!("seed {}", summary.seed));
                    ui.push_id(run.as_str(), |ui| ui.label(format!("{}.", position + 1)));
                    if ui.link(name.as_str()).on_hover_text("Show it in the inspector").clicked() {
                        cx.actions.push(Action::Inspect(run.clone()));
                    }
                    ui.colored_label(theme::palette(ui.visuals()).weak, seed);
                    ui.horizontal(|ui| {
                        let moves = [
                            ("Up", "Earlier", position.checked_sub(1)),
                            ("Down", "Later", Some(position + 1).filter(|&to| to < waiting.len())),
                        ];
                        for (word, spoken, to) in moves {
                            let response = ui
                                .add_enabled(to.is_some(), Button::new(word).small())
                                .accessible_name(format!("{spoken}: {name}, place {}", position + 1));
                            if let Some(to) = to
                                && response.clicked()
                            {
                                cx.actions.push(Action::Send(Command::Move { run: run.clone(), position: to }));
                            }
                        }
                    });
                    if ui
                        .add(Button::new("Cancel").small())
                        .on_hover_text("Removes it from the queue")
                        .accessible_name(format!("Cancel: {name}, place {}", position + 1))
                        .clicked()
                    {
                        cx.actions.push(Action::Send(Command::Cancel { run: run.clone() }));
                    }
                    ui.end_row();
                }
            });
        });
}
