//! The Adviser panel: what a trained model could save, by what was measured of it; trains that beside it, and shows what was
//! predicted beside what was measured.
//!
//! Three sections (heads, dimensions, pairs), each with a switch and a slider; everything follows the sliders at once, since
//! what does not depend on them is kept (`derived`).

mod chart;
mod conversions;
mod derived;
mod memory;
mod outcome;
mod panel;
mod parts;
mod saving;

pub use panel::AdviserPanel;
