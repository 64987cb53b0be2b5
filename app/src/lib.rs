//! The window and the command line of Headroom.

pub mod export;
pub mod theme;
pub mod widgets;
