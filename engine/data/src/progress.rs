use super::DataError;

/// What loading is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The built-in grammar writes its text.
    Generating,
    /// Files are read.
    Reading,
    /// The tokenizer learns its vocabulary.
    TrainingTokenizer,
    /// Text becomes tokens.
    Encoding,
}

impl Stage {
    /// A few words for a progress line.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Generating => "Making the corpus",
            Self::Reading => "Reading files",
            Self::TrainingTokenizer => "Training the tokenizer",
            Self::Encoding => "Encoding text",
        }
    }
}

/// Follows a long load and can end it. `report` is called from the loading thread, every few megabytes of text;
/// `is_stopped` from any thread and more often.
pub trait Progress: Sync {
    /// `fraction` (0..=1) of `stage` is done. It never falls within a stage; reading begins anew for a validation
    /// path.
    fn report(&self, stage: Stage, fraction: f32);

    /// `true` ends the load with [`DataError::Stopped`] within about a second.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A closure reports; it cannot stop.
impl<F: Fn(Stage, f32) + Sync> Progress for F {
    fn report(&self, stage: Stage, fraction: f32) {
        self(stage, fraction);
    }
}

/// Nobody is told and nobody stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: Stage, _: f32) {}
}

/// Reports `done` of `total`, or ends the load when it was stopped.
pub(super) fn advance(progress: &dyn Progress, stage: Stage, done: u64, total: u64) -> Result<(), DataError> {
    if progress.is_stopped() {
        return Err(DataError::Stopped);
    }
    let fraction = if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) as f32 };
    progress.report(stage, fraction);
    Ok(())
}

/// Bytes read between two reports.
pub(super) const CHUNK: usize = 1 << 20;
