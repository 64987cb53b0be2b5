//! The Models panel: what the files of a model say, where it came from, and other models that can be made of it, with the price
//! of each before and after it is paid. Models come from runs, from folders, or from a hub, and go to one.

mod bring;
mod exported;
mod facts;
mod form;
mod inside;
mod outcome;
mod panel;
mod recent;
mod transfer;
mod upload;

pub use panel::ModelsPanel;
