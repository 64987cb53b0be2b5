//! What stands around the panels: top bar, rail, message strip and log, palette, help, queue, what was interrupted.
//!
//! Each part draws itself from the view model and tells what the user wants as actions.

mod help;
mod interrupted;
mod log;
mod palette_box;
mod purge_box;
mod queue;
mod rail;
mod top_bar;
mod view_menu;

pub use help::help_ui;
pub use interrupted::interrupted_ui;
pub use log::{log_ui, strip_ui};
pub use palette_box::{Outcome, PaletteBox};
pub use purge_box::PurgeBox;
pub use queue::queue_ui;
pub use rail::rail_ui;
pub use top_bar::top_bar_ui;
pub use view_menu::view_menu_ui;
