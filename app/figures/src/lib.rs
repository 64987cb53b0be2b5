//! Figures: numbers as text, colours, axes, and files of pictures and tables.

pub mod export;
pub mod format;
pub mod plot;
pub mod theme;
