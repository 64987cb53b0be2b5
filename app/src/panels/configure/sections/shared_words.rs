//! Words of fields that several kinds of data have.

use crate::panels::configure::field::Words;

pub(super) const PATH: Words = Words::new(
    "data.path",
    "File or folder",
    "Text files: .txt, .jsonl, .csv, .tsv, any of them gzipped, .parquet, or a folder of such.",
);
pub(super) const VALIDATION_PATH: Words = Words::new(
    "data.validation_path",
    "Held-out text",
    "A file or folder to evaluate on. When it is empty, a share of the text is held out.",
)
.empty("a share of the text");
pub(super) const TEXT_SEED: Words = Words::new(
    "data.text_seed",
    "Text seed",
    "Seed of the text, apart from the run's seed, so that runs with several seeds see the same text.",
);
