use std::path::PathBuf;

use super::error_wording::list;
use crate::config::{ImageShape, counted};

/// Why images cannot be learnt from. Every message says what failed, why, what to do, and the path last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// A file that is of no kind that is read.
    #[error(
        "It holds no images that can be read: it begins neither as an IDX, PNG nor JPEG file, and its {bytes} bytes are no whole number \
         of CIFAR images (3,073 bytes each in CIFAR-10, 3,074 in CIFAR-100). Name a file of one of these kinds, or a folder: {}",
        path.display()
    )]
    UnknownKind {
        /// The file.
        path: PathBuf,
        /// Its length, unpacked.
        bytes: usize,
    },

    /// An IDX file of something else.
    #[error("The IDX file holds {found}, and here {wanted} is read. Name another file: {}", path.display())]
    OtherIdx {
        /// The file.
        path: PathBuf,
        /// What its header says.
        found: String,
        /// What is read.
        wanted: &'static str,
    },

    /// A file that is shorter or longer than its header says.
    #[error(
        "The file {} than it says: its header promises {wanted} bytes and {found} are there. It was damaged or not fetched to its \
         end; fetch it again: {}",
        if found < wanted { "is shorter" } else { "is longer" }, path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes that the header promises.
        wanted: usize,
        /// Bytes that are there.
        found: usize,
    },

    /// An IDX file of images without labels.
    #[error(
        "An IDX file of images has its labels in a file of its own, and none was named nor lies beside it as such files are called. \
         Name it in {field}: {}", path.display()
    )]
    NoLabels {
        /// The images.
        path: PathBuf,
        /// The field of the config to set.
        field: &'static str,
    },

    /// A file of labels where the images have their own.
    #[error("The images have their labels with them, so that {field} has no meaning. Leave it out: {}", path.display())]
    OwnLabels {
        /// The images.
        path: PathBuf,
        /// The field of the config to leave out.
        field: &'static str,
    },

    /// Other numbers of images and labels.
    #[error(
        "There are {} and {}, and each image has one. Name the file that belongs to it ({}): {}",
        counted(*images as u64, "image"), counted(*labels as u64, "label"), labels_path.display(), path.display()
    )]
    Counts {
        /// Images.
        images: usize,
        /// Labels.
        labels: usize,
        /// The file of the labels.
        labels_path: PathBuf,
        /// The file of the images.
        path: PathBuf,
        /// The field that names the labels.
        field: &'static str,
    },

    /// A file that is named beside the images and cannot be read.
    #[error("{why}")]
    Unreadable {
        /// Why, with its path.
        why: String,
        /// The field that names it.
        field: &'static str,
    },

    /// An image that is not square.
    #[error(
        "It has {width} x {height} pixels, and images are square here. Cut or scale all of them to one size: {}", path.display()
    )]
    NotSquare {
        /// The file.
        path: PathBuf,
        /// Pixels of a row.
        width: usize,
        /// Rows.
        height: usize,
    },

    /// Images of two sizes.
    #[error(
        "The images have different sizes: {size} pixels a side here, and {first_size} in {}. Scale all of them to one size: {}",
        first_path.display(), path.display()
    )]
    MixedSizes {
        /// The image.
        path: PathBuf,
        /// Pixels of its side.
        size: usize,
        /// An image before it.
        first_path: PathBuf,
        /// Pixels of its side.
        first_size: usize,
    },

    /// A coloured image among grey ones.
    #[error(
        "It is coloured, and the images before it are grey. Set data.channels to 3 to read all of them in colours, or to 1 to read \
         all of them in grey: {}", path.display()
    )]
    Coloured {
        /// The image.
        path: PathBuf,
    },

    /// An image that cannot be decoded.
    #[error("The image cannot be decoded ({why}). Remove it or replace it: {}", path.display())]
    Undecodable {
        /// The image.
        path: PathBuf,
        /// The decoder's reason.
        why: String,
    },

    /// A folder without images in folders of classes.
    #[error(
        "There are no images in {} as classes have them: in a folder for each class, like cat/1.png. Sort them so, or name {}",
        path.display(),
        instead.as_ref().map_or_else(
            || "another folder.".to_owned(),
            |file| format!("the file of images that is in it: {}", file.display())
        )
    )]
    NoClassFolders {
        /// The folder.
        path: PathBuf,
        /// A file of many images that is in it.
        instead: Option<PathBuf>,
    },

    /// A path without any image.
    #[error("There is no PNG or JPEG file in it. Name a file of images, or a folder with some: {}", path.display())]
    NoImages {
        /// The folder.
        path: PathBuf,
    },

    /// All images of one class.
    #[error(
        "All images have the class `{label}`, so that there is nothing to tell apart. Give images of other classes: {}", path.display()
    )]
    OneClass {
        /// Where they are.
        path: PathBuf,
        /// The only class.
        label: String,
    },

    /// A label beyond the known classes.
    #[error(
        "Image {image} has the label {label}, and there are {} ({}): labels count from 0. Correct the labels, or the names of the \
         classes: {}",
        counted(*classes as u64, "class"), known, path.display()
    )]
    LabelOutOfRange {
        /// The file of the labels.
        path: PathBuf,
        /// Which image, from 1.
        image: usize,
        /// Its label.
        label: usize,
        /// How many classes are known.
        classes: usize,
        /// From where.
        known: String,
    },

    /// A folder that is none of the known classes.
    #[error(
        "The folder `{label}` is none of the classes that are known: {}. Rename it, or train on images that have this class: {}",
        list(known), path.display()
    )]
    UnknownClass {
        /// The folder of the classes.
        path: PathBuf,
        /// The name.
        label: String,
        /// The classes.
        known: Vec<String>,
    },

    /// More classes than anybody tells apart.
    #[error("There are {count} classes, more than the {most} that a model may tell apart. Take fewer: {}", path.display())]
    ManyClasses {
        /// Where they are.
        path: PathBuf,
        /// How many.
        count: usize,
        /// The most.
        most: usize,
    },

    /// A file of names that are no names of classes.
    #[error("{why} in line {line}. A file of classes has a name of its own in every line: {}", path.display())]
    Names {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
        /// The line, from 1.
        line: usize,
    },

    /// Images of another shape than is asked for.
    #[error(
        "The images have {} of {} a side, and {} of {} are read. Give images like those of the model, or correct \
         data.size and data.channels: {}",
        counted(found.channels, "channel"), counted(found.size, "pixel"), counted(wanted.channels, "channel"),
        counted(wanted.size, "pixel"), path.display()
    )]
    OtherShape {
        /// Where they are.
        path: PathBuf,
        /// What they are.
        found: ImageShape,
        /// What is asked for.
        wanted: ImageShape,
    },

    /// A weight of a class that is not there.
    #[error("There are {} to train on, and one batch needs {batch}. Lower train.batch to {images} or less, or give more images",
        counted(*images as u64, "image"))]
    TooFew {
        /// Images.
        images: usize,
        /// Images in one batch.
        batch: usize,
    },

    /// Curves that find no place.
    #[error(
        "Two curves of {contour_length} strokes find no place in an image of {size} pixels a side. Lower data.contour_length, or \
         raise data.size"
    )]
    NoPlace {
        /// Strokes of a curve.
        contour_length: usize,
        /// Pixels of a side.
        size: usize,
    },
}

impl ImageError {
    /// The field of the config to correct, where it is not the one that names the path.
    pub(crate) fn field(&self) -> Option<&'static str> {
        match self {
            Self::NoLabels { field, .. }
            | Self::OwnLabels { field, .. }
            | Self::Counts { field, .. }
            | Self::Unreadable { field, .. } => Some(field),
            Self::Coloured { .. } => Some("data.channels"),
            Self::Names { .. } => Some("data.classes"),
            Self::TooFew { .. } => Some("train.batch"),
            Self::NoPlace { .. } => Some("data.contour_length"),
            Self::OtherShape { .. } => Some("data.size"),
            Self::UnknownKind { .. }
            | Self::OtherIdx { .. }
            | Self::Length { .. }
            | Self::NotSquare { .. }
            | Self::MixedSizes { .. }
            | Self::Undecodable { .. }
            | Self::NoClassFolders { .. }
            | Self::NoImages { .. }
            | Self::OneClass { .. }
            | Self::LabelOutOfRange { .. }
            | Self::UnknownClass { .. }
            | Self::ManyClasses { .. } => None,
        }
    }
}
