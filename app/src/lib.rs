//! The window and the command line of Headroom.

pub mod compare;
pub mod dialogs;
pub mod export;
pub mod inspector;
pub mod keys;
pub mod link;
pub mod messages;
pub mod palette;
pub mod panels;
pub mod settings;
pub mod shell;
pub mod state;
pub mod theme;
pub mod widgets;
pub mod window;
