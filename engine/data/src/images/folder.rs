//! Folders of images: a folder a class, in which PNG and JPEG files lie.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::classes::Label;
use super::decode::{Decoded, decode};
use super::kind::{holds_many, single};
use super::raw;
use super::raw::Raw;
use super::set::Set;
use crate::ImageError;
use crate::config::ImageShape;
use crate::progress::advance;
use crate::{DataError, Edition, Progress, Stage, memory};

/// Files that are decoded at once.
const GROUP: usize = 512;

/// Bytes that tell PNG and JPEG files.
const MARK: u64 = 8;

/// The names in a folder, hidden ones left out, in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let wrong = |error: std::io::Error| DataError::unreadable(folder, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file begins as a PNG or JPEG file does.
fn is_image(path: &Path) -> Result<bool, DataError> {
    Ok(single(&Raw::open(path)?.read(MARK, path)?).is_some())
}

/// The folders of the classes.
fn class_folders(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

/// The shape of the first image of a folder of classes, its channels as the file has them.
pub(super) fn first_shape(folder: &Path) -> Result<ImageShape, DataError> {
    for class in class_folders(folder)? {
        for path in entries(&class)? {
            if path.is_file() && is_image(&path)? {
                return read(&path, Edition::Current)
                    .map(|image| ImageShape { size: image.size, channels: image.channels });
            }
        }
    }
    Err(without_classes(folder).into())
}

/// What is wrong with a folder without images in folders of classes: the file of many images in it is meant, if there is one.
pub(super) fn without_classes(folder: &Path) -> ImageError {
    let mut files: Vec<PathBuf> = entries(folder).unwrap_or_default();
    // What is to be learnt goes before what is held out.
    files.sort_by_key(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().contains("train")));
    let instead = files.into_iter().find(|path| holds_many(path));
    ImageError::NoClassFolders { path: folder.to_owned(), instead }
}

fn read(path: &Path, edition: Edition) -> Result<Decoded, DataError> {
    let bytes = raw::read_image(path)?;
    let undecodable = || ImageError::Undecodable { path: path.to_owned(), why: "it is no PNG or JPEG file".to_owned() };
    let format = single(&bytes).ok_or_else(undecodable)?;
    Ok(decode(&bytes, format, edition, path)?)
}

/// Each class of a folder with its files, whatever these are.
pub(super) fn classes(folder: &Path) -> Result<Vec<(String, Vec<PathBuf>)>, DataError> {
    let mut found = Vec::new();
    for class in class_folders(folder)? {
        let name = class.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let files: Vec<PathBuf> = entries(&class)?.into_iter().filter(|path| path.is_file()).collect();
        if !files.is_empty() {
            found.push((name, files));
        }
    }
    Ok(found)
}

/// The pixels of a PNG or JPEG file, channel by channel.
pub(super) fn pixels(path: &Path, channels: usize) -> Result<Vec<u8>, DataError> {
    Ok(read(path, Edition::Current)?.pixels(channels))
}

/// The images of a folder of classes.
pub(super) fn images(
    folder: &Path,
    channels: Option<usize>,
    edition: Edition,
    progress: &dyn Progress,
) -> Result<Set, DataError> {
    let (mut files, mut labels, mut left_out, mut empty) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for class in class_folders(folder)? {
        let name = class.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let before = files.len();
        for path in entries(&class)? {
            if path.is_file() && is_image(&path)? {
                files.push(path);
                labels.push(Label::Folder(name.clone()));
            } else {
                left_out.push(path);
            }
        }
        if files.len() == before {
            empty.push(class);
        }
    }
    if files.is_empty() {
        return Err(without_classes(folder).into());
    }
    let mut set = of_files(&files, channels, edition, progress)?;
    set.labels = Some(labels);
    set.warnings.extend(empty.iter().map(|class| empty_class(class)));
    if let Some(first) = left_out.first() {
        let (count, were) = match left_out.len() {
            1 => ("1 file".to_owned(), "was"),
            count => (crate::config::counted(count as u64, "file"), "were"),
        };
        set.warnings
            .push(format!("{count} that {were} neither PNG nor JPEG {were} left out, the first: {}", first.display()));
    }
    Ok(set)
}

/// Warning about the folder of a class that holds no image.
fn empty_class(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!(
        "The folder `{name}` holds no PNG or JPEG file, so that it is no class. Fill or remove it: {}",
        folder.display()
    )
}

/// Folders of classes that hold no file at all.
pub(crate) fn empty_classes(folder: &Path) -> Result<Vec<String>, DataError> {
    let mut empty = Vec::new();
    for class in class_folders(folder)? {
        let mut holds_image = false;
        for path in entries(&class)? {
            if path.is_file() && is_image(&path)? {
                holds_image = true;
                break;
            }
        }
        if !holds_image {
            empty.push(class.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
        }
    }
    Ok(empty)
}

/// Every image below a path, whatever the folders mean.
pub(super) fn all_images(path: &Path, channels: Option<usize>, progress: &dyn Progress) -> Result<Set, DataError> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    if files.is_empty() {
        return Err(ImageError::NoImages { path: path.to_owned() }.into());
    }
    of_files(&files, channels, Edition::Current, progress)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
    for path in entries(folder)? {
        // Folders behind links may lead back.
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files)?;
        } else if path.is_file() && is_image(&path)? {
            files.push(path);
        }
    }
    Ok(())
}

/// Images of one size; in grey where the first is, unless it is said.
pub(super) fn of_files(
    files: &[PathBuf],
    channels: Option<usize>,
    edition: Edition,
    progress: &dyn Progress,
) -> Result<Set, DataError> {
    let mut pixels = Vec::new();
    let mut first: Option<(PathBuf, ImageShape)> = None;
    let available_bytes = memory::free_bytes().unwrap_or(u64::MAX);
    for (number, group) in files.chunks(GROUP).enumerate() {
        let decoded = group.par_iter().map(|path| read(path, edition)).collect::<Vec<_>>();
        for (path, image) in group.iter().zip(decoded) {
            let image = image?;
            let own = ImageShape { size: image.size, channels: channels.unwrap_or(image.channels) };
            let (first_path, shape) = first.get_or_insert_with(|| (path.clone(), own));
            if image.size != shape.size {
                return Err(ImageError::MixedSizes {
                    path: path.clone(),
                    size: image.size,
                    first_path: first_path.clone(),
                    first_size: shape.size,
                }
                .into());
            }
            if channels.is_none() && image.channels > shape.channels {
                return Err(ImageError::Coloured { path: path.clone() }.into());
            }
            if pixels.is_empty() {
                let needed_bytes = 2 * (shape.numbers() * files.len()) as u64;
                if needed_bytes > available_bytes {
                    return Err(DataError::TooLarge { path: Some(path.clone()), needed_bytes, available_bytes });
                }
            }
            pixels.extend(image.pixels(shape.channels));
        }
        advance(progress, Stage::Reading, (number * GROUP + group.len()) as u64, files.len() as u64)?;
    }
    let shape = first.map_or(ImageShape { size: 0, channels: 1 }, |(_, shape)| shape);
    let names = files.iter().map(|path| path.display().to_string()).collect();
    Ok(Set {
        shape,
        pixels,
        labels: None,
        names: Some(names),
        labels_path: None,
        files: files.len(),
        warnings: Vec::new(),
    })
}
