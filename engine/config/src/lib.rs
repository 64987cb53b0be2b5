//! Configs, their fields and sources of data, and text as it is read and shown.

pub mod config;
pub mod text;
