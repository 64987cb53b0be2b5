//! Images with a class each: IDX files (MNIST), CIFAR-10 and CIFAR-100 binaries, folders of PNG and JPEG files, and the
//! generated ones of Pathfinder.
//!
//! What a file is, its bytes say, not its name. Images are square, of one size and one number of channels, and kept as bytes,
//! channel by channel and row by row; they become numbers when a batch is made, by the mean and deviation of the training part.

mod cifar;
mod classes;
mod corpus;
mod decode;
mod examples;
mod folder;
mod idx;
mod kind;
mod load;
mod normalisation;
mod pathfinder;
mod place;
mod preview;
mod raw;
mod set;

pub use corpus::{ImageCorpus, UnansweredImages, unanswered_images};
pub use kind::holds_images;
pub use load::with_image_shape;
pub use normalisation::Normalisation;
pub use preview::{ImagesPreview, PreviewImage};

pub(super) use corpus::{Pictured, all_images, image_labels, split_images};
pub(super) use examples::Pictures;
pub(super) use load::probe_images;
pub(super) use preview::preview_images;

#[cfg(test)]
mod tests;
