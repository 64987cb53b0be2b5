//! The fields of each kind of data: every one describes its own.

use egui::Ui;
use headroom_engine::{
    config::{Source, TaskConfig, TranslationTask},
    data::{DataPreview, ImagesPreview},
    kinds_of_data,
};

use super::super::form::Form;
use crate::widgets::Thumbnails;

/// Surroundings of the fields of data beside their settings.
pub(super) struct SourceContext<'a> {
    /// Task that is learnt from them.
    pub task: &'a mut Option<TaskConfig>,
    /// Pixels of a side of the squares in which images are read.
    pub patch: Option<usize>,
    /// Findings in them.
    pub preview: Option<&'a DataPreview>,
    /// Pictures that are shown.
    pub thumbnails: &'a mut Thumbnails,
    /// How translations were scored, before none was.
    pub scored: &'a mut TranslationTask,
}

impl<'a> SourceContext<'a> {
    /// Findings in images, and the squares in which these are read.
    pub fn images(&self) -> Option<(&'a ImagesPreview, Option<usize>)> {
        self.preview.and_then(DataPreview::images).map(|images| (images, self.patch))
    }
}

/// The fields of one kind of data.
pub(super) trait SourceForm {
    /// Draws its fields.
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>);
}

macro_rules! dispatch {
    ($($(#[$about:meta])* $kind:ident($settings:ident),)+) => {
        /// The form of a source.
        pub(super) fn form_of(source: &mut Source) -> &mut dyn SourceForm {
            match source { $(Source::$kind(own) => own),+ }
        }
    };
}

kinds_of_data!(dispatch);
