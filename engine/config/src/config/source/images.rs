//! `data.kind = "images"`: images on disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Modality, PathField, SourceFacts, SourceSettings};
use crate::config::{ImageShape, Problem};

/// Images with a class each: an IDX file of images (MNIST), CIFAR-10 or CIFAR-100 binaries (each also gzipped), or a folder
/// with a folder of PNG and JPEG files for every class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImagesSource {
    /// The file or folder. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
    /// The IDX file of the labels, where `path` is one of images; when absent, the file beside it that is named alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Held-out images; without them a share of those of `path` is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// The IDX file of their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_labels: Option<PathBuf>,
    /// Names of the classes, a line each: of the numbers from 0 on that stand as labels in a file, or of the folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<PathBuf>,
    /// Pixels of a side, as the images have; looked up when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// Numbers of a pixel, as the images have: 1 = grey, 3 = red, green and blue; looked up when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<usize>,
}

impl ImagesSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts =
        SourceFacts { kind: "images", label: "Images with classes", run_names: ["image classifier"; 2], ..OF_IMAGES };
}

impl SourceSettings for ImagesSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn path_fields(&mut self) -> Vec<PathField<'_>> {
        vec![
            PathField::required("data.path", &mut self.path),
            PathField::labels("data.labels", &mut self.labels),
            PathField::optional("data.validation_path", &mut self.validation_path),
            PathField::labels("data.validation_labels", &mut self.validation_labels),
            PathField::labels("data.classes", &mut self.classes),
        ]
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for field in self.clone().path_fields() {
            if field.path().is_some_and(|path| path.as_os_str().is_empty()) {
                let message = match field.name {
                    "data.path" => "name a folder of classes with images, an IDX file or a CIFAR file",
                    _ => "name a file, or leave the field out",
                };
                found.push(Problem::new(field.name, message));
            }
        }
        if self.validation_labels.is_some() && self.validation_path.is_none() {
            let message = "labels of held-out images need these; name them in {data.validation_path}, or leave it out";
            found.push(Problem::new("data.validation_labels", message));
        }
        if self.channels.is_some_and(|channels| ![1, 3].contains(&channels)) {
            found.push(Problem::new("data.channels", "a pixel has 1 number (grey) or 3 (red, green and blue)"));
        }
        found
    }

    fn refusal(&self, task: &str) -> Option<&'static str> {
        classes_alone(task)
    }

    fn image_shape(&self) -> Option<ImageShape> {
        self.size.zip(self.channels).map(|(size, channels)| ImageShape { size, channels })
    }

    fn set_image_shape(&mut self, found: Option<ImageShape>) {
        let Some(found) = found else {
            (self.size, self.channels) = (None, None);
            return;
        };
        self.size.get_or_insert(found.size);
        self.channels.get_or_insert(found.channels);
    }
}

/// Settings that all kinds of images share.
pub(super) const OF_IMAGES: SourceFacts = SourceFacts {
    modality: Modality::Images,
    tasks: &["image_classification"],
    without_task: Some("images are for a task; set {task.kind} to {task.kind=image_classification}"),
    ..SourceFacts::USUAL
};

/// Reason why tasks of texts are not learnt from images.
pub(super) fn classes_alone(task: &str) -> Option<&'static str> {
    ["classification", "regression"]
        .contains(&task)
        .then_some("of images classes are learnt; set {task.kind} to {task.kind=image_classification}")
}
