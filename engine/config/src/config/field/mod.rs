//! The registry of config fields: one description of each, from which forms, checks, messages and the handbook come.

mod attention;
mod data;
mod model;
mod registry;
mod run;
mod task;
#[cfg(test)]
mod tests;
mod train;

pub(super) use registry::{described, fields_in, fields_of_files, kind_at, place_of, sections_of};
pub use registry::{field, field_of, field_paths, fields_of, names_taken};
