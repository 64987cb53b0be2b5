//! The Heads panel: the attention maps of every head on one text, and one of them large with its tokens; two heads,
//! checkpoints or runs side by side, and their difference.

mod arcs;
mod grid;
mod image;
mod large;
mod memory;
mod panel;
mod shown;
mod tokens;

pub use large::head_figure;
pub use panel::HeadsPanel;
pub(super) use tokens::{MASKED, attends, of_text, token_axes, visible as visible_token};
