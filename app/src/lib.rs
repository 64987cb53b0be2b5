//! The window and the command line of Headroom.

pub mod export;
pub mod widgets;
