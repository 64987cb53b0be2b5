//! What stands around the panels: top bar, rail, message strip and log, palette, help, queue, what was interrupted.
//!
//! Each part draws itself from the view model and returns what the user wants as actions.

mod button_width;
mod handbook;
mod help;
mod interrupted;
mod log;
mod palette;
mod palette_dialog;
mod purge_dialog;
mod queue;
mod rail;
mod top_bar;
mod view_menu;

pub use help::HelpDialog;
pub use interrupted::interrupted_ui;
pub use log::{log_ui, strip_ui};
pub use palette::PaletteAction;
pub use palette_dialog::{Outcome, PaletteDialog};
pub use purge_dialog::PurgeDialog;
pub use queue::queue_ui;
pub use rail::rail_ui;
pub use top_bar::top_bar_ui;
pub use view_menu::view_menu_ui;
