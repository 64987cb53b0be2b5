use std::time::{Duration, SystemTime, UNIX_EPOCH};

use egui::{Align, Button, Color32, Layout, RichText, ScrollArea, Ui};

use headroom_engine::config::counted;

use crate::{
    format,
    messages::{Level, Message, Messages},
    theme::{self, Palette},
};

/// So long a message has the colour of its level in the strip, and an error stands there; after that it is something that was.
const FRESH: Duration = Duration::from_mins(1);

fn colour(level: Level, palette: &Palette) -> Color32 {
    match level {
        Level::Info => palette.weak,
        Level::Warning => palette.warning,
        Level::Error => palette.error,
    }
}

fn sentence(message: &Message) -> String {
    let times = if message.times > 1 { format!(" ({} times)", message.times) } else { String::new() };
    if message.what_to_do.is_empty() {
        format!("{}{times}", message.what)
    } else {
        format!("{}{times} {}", message.what, message.what_to_do)
    }
}

fn age(at: SystemTime) -> String {
    let age = SystemTime::now().duration_since(at).unwrap_or(Duration::ZERO);
    match age.as_secs() {
        0..5 => "just now".to_owned(),
        5..60 => "within the last minute".to_owned(),
        secs @ 60..3600 => format!("{} min ago", secs / 60),
        secs @ 3600..86_400 => format!("{} h ago", secs / 3600),
        secs => format!("{} d ago", secs / 86_400),
    }
}

fn clock(at: SystemTime) -> String {
    let secs = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
    format::date_time(secs)
}

/// The strip at the foot of the window: the newest message, an error until it was seen in the log or is old. Returns whether it was
/// clicked.
pub fn strip_ui(ui: &mut Ui, messages: &Messages) -> bool {
    let palette = theme::palette(ui.visuals());
    let current = messages.current(FRESH);
    let errors = messages.unseen_errors();
    if current.is_none() && errors == 0 {
        return strip_button(ui, "Ready.".to_owned(), palette.weak);
    }
    let mut clicked = false;
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if let Some(current) = current {
            let age = RichText::new(age(current.at)).small().color(palette.weak);
            ui.label(age).on_hover_text(clock(current.at) + " UTC");
        }
        if errors > usize::from(current.is_some_and(|current| current.level == Level::Error)) {
            let words = counted(errors, "error");
            let button = Button::new(RichText::new(&words).small().color(palette.error)).frame(false);
            clicked = ui.add(button).on_hover_text("Click for all messages").clicked();
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let Some(current) = current else {
                clicked |= strip_button(ui, "Ready.".to_owned(), palette.weak);
                return;
            };
            let text = match current.level {
                Level::Info => sentence(current),
                level => format!("{}: {}", level.word(), sentence(current)),
            };
            let age = SystemTime::now().duration_since(current.at).unwrap_or(Duration::ZERO);
            let colour = if age < FRESH { colour(current.level, palette) } else { palette.weak };
            clicked |= strip_button(ui, text, colour);
        });
    });
    clicked
}

fn strip_button(ui: &mut Ui, text: String, colour: Color32) -> bool {
    let width = ui.available_width();
    let button = Button::new(RichText::new(text.clone()).color(colour)).frame(false).truncate();
    let height = ui.spacing().interact_size.y;
    ui.allocate_ui_with_layout(egui::vec2(width, height), Layout::left_to_right(Align::Center), |ui| {
        ui.add(button)
            .on_hover_text(format!("{text}\nClick for all messages."))
            .accessible_name(format!("Messages: {text}"))
            .clicked()
    })
    .inner
}

/// All messages, newest first. False when it was closed.
pub fn log_ui(ui: &mut Ui, messages: &mut Messages) -> bool {
    messages.mark_seen();
    let mut open = true;
    let palette = theme::palette(ui.visuals());
    ui.horizontal(|ui| {
        ui.label(RichText::new("Messages").strong());
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Close").accessible_name("Close the messages").clicked() {
                open = false;
            }
            if ui
                .add_enabled(!messages.is_empty(), Button::new("Clear"))
                .accessible_name("Clear the messages")
                .clicked()
            {
                messages.clear();
            }
            if ui
                .add_enabled(!messages.is_empty(), Button::new("Copy all"))
                .accessible_name("Copy all messages")
                .clicked()
            {
                let lines: Vec<String> = messages
                    .newest_first()
                    .map(|message| format!("{}\t{}\t{}", clock(message.at), message.level.word(), sentence(message)))
                    .collect();
                ui.ctx().copy_text(lines.join("\n"));
            }
        });
    });
    ui.separator();
    if messages.is_empty() {
        ui.colored_label(palette.weak, "Nothing has happened yet.");
    }
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        for (index, message) in messages.newest_first().enumerate() {
            ui.push_id(index, |ui| {
                ui.horizontal_top(|ui| {
                    ui.label(RichText::new(clock(message.at)).monospace().color(palette.weak));
                    ui.add_sized(
                        [64.0, 18.0],
                        egui::Label::new(RichText::new(message.level.word()).color(colour(message.level, palette))),
                    );
                    ui.add(egui::Label::new(sentence(message)).wrap());
                });
            });
        }
    });
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_happened_and_what_to_do() {
        let mut messages = Messages::default();
        messages.push_error("The disk is full.", "Free some space.");
        messages.push_error("The disk is full.", "Free some space.");
        assert_eq!(sentence(messages.latest().unwrap()), "The disk is full. (2 times) Free some space.");
        assert_eq!(age(SystemTime::now()), "just now");
        assert_eq!(age(SystemTime::now() - Duration::from_secs(125)), "2 min ago");
    }
}
