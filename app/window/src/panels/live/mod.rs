//! The Live panel: one run's curves, what its model writes, and the buttons that govern it.

mod alerts;
mod arrangement;
mod charts;
mod confusion;
mod follow;
mod mistakes;
mod panel;
mod plots;
mod samples;
mod strip;
mod view;

pub(in crate::panels) use follow::live_run;
pub use panel::LivePanel;
pub(in crate::panels) use panel::{picker_ui, shown_run};
pub(in crate::panels) use samples::drawable;
pub(in crate::panels) use strip::mean_speed;

#[cfg(test)]
mod tests;
