//! The inspector at the right of the window: the run that has the focus, its numbers, what can be done with it.

mod facts;
mod mixing;
mod panel;

pub use mixing::MixingView;
pub use panel::Inspector;

#[cfg(test)]
mod tests;
