//! The window: what the platform is given, from the opening of the store to the closing.
//!
//! [`run_window`] is the door of the program; tests draw a [`Program`] or a [`HeadroomWindow`] without a platform.

mod actions;
#[cfg(feature = "platform")]
mod clicks;
mod closing;
mod drop_hint;
mod dropped;
mod headroom_window;
#[cfg(feature = "platform")]
mod platform;
mod program;
mod remember;
mod store_error;

pub use headroom_window::HeadroomWindow;
#[cfg(feature = "platform")]
pub use platform::run_window;
pub use program::Program;
