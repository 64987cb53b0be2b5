//! The fields of each kind of data: every one describes its own.

use egui::Ui;
use headroom_engine::{
    config::{Source, TaskConfig, TranslationTask},
    data::{DataPreview, ImagesPreview},
    kinds_of_data,
};

use super::super::{field::Words, form::Form};
use crate::widgets::Thumbnails;

/// What the fields of data are drawn with beside their settings.
pub(super) struct SourceContext<'a> {
    /// What is learnt from them.
    pub task: &'a mut Option<TaskConfig>,
    /// Pixels of a side of the squares in which images are read.
    pub patch: Option<usize>,
    /// What was found in them.
    pub preview: Option<&'a DataPreview>,
    /// Pictures that are shown.
    pub thumbnails: &'a mut Thumbnails,
    /// How translations were scored, before none was.
    pub scored: &'a mut TranslationTask,
}

impl<'a> SourceContext<'a> {
    /// What was found of images, and the squares in which these are read.
    pub fn images(&self) -> Option<(&'a ImagesPreview, Option<usize>)> {
        self.preview.and_then(DataPreview::images).map(|images| (images, self.patch))
    }
}

/// The fields of one kind of data.
pub(super) trait SourceForm {
    /// Words of every field that it may have, and of the task that it is for.
    fn words(&self) -> &'static [Words];

    /// Draws its fields.
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>);
}

macro_rules! dispatch {
    ($($(#[$about:meta])* $kind:ident($settings:ident),)+) => {
        /// The form of a source.
        pub(super) fn form_of(source: &mut Source) -> &mut dyn SourceForm {
            match source { $(Source::$kind(own) => own),+ }
        }

        /// Words of the fields of a source.
        pub(super) fn own_words(source: &Source) -> &'static [Words] {
            match source { $(Source::$kind(own) => own.words()),+ }
        }
    };
}

kinds_of_data!(dispatch);
