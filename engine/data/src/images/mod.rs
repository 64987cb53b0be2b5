//! Images with a class each: IDX files (MNIST), CIFAR-10 and CIFAR-100 binaries, folders of PNG and JPEG files.
//!
//! What a file is, its bytes say, not its name. Images are square, of one size and one number of channels, and kept as bytes,
//! channel by channel and row by row; they become numbers when a batch is made, by the mean and deviation of the training part.

mod cifar;
pub(crate) mod classes;
mod corpus;
mod decode;
mod examples;
mod folder;
mod idx;
mod kind;
mod load;
mod normalisation;
mod place;
mod preview;
mod raw;
mod set;

pub use corpus::{ImageCorpus, UnansweredImages, unanswered_images};
pub use kind::holds_images;
pub use normalisation::Normalisation;
pub use preview::{ImagesPreview, PreviewImage};

pub(super) use classes::Label;
pub(super) use corpus::classes_of;
pub(super) use examples::Pictures;
pub(super) use folder::empty_classes;
pub(super) use load::{load, require_shape};
pub(super) use place::{Place, shape_at};
pub(super) use preview::{Looked, SHOWN, look};
pub(super) use set::Set;

#[cfg(test)]
mod tests;
