//! The registry of config fields: one description of each, from which forms, checks, messages and the handbook come.

mod attention;
mod check;
mod data;
mod model;
mod registry;
mod run;
mod spec;
mod task;
#[cfg(test)]
mod tests;
mod train;

pub(super) use check::{faults, huge_numbers, is_kind, outside, outside_of};
pub(super) use registry::place_of;
pub use registry::{field, field_of, fields_of, names_taken};
pub use spec::{Choice, FieldSpec, Fields, Takes};
