//! Text from disk: `.txt`, `.jsonl`, `.csv`, `.tsv`, each also gzipped, `.parquet`, or a folder of such.
//!
//! - `.txt`: a document is a block of lines between blank lines. In text in the manner of `WikiText`, where lines like
//!   ` = Title = ` stand between blank lines, a document is an article.
//! - `.jsonl`: a document is a line's field, a text or a list of texts.
//! - `.parquet`: a document is a row's column, as if the row were a line of `.jsonl`.
//! - `.csv`, `.tsv`: a document is a row's cell. CSV is quoted in the usual way; TSV is never quoted.
//!
//! `pairs.rs` reads texts with their translations, `labelled.rs` tables of texts with labels, `preview.rs` the
//! beginning of one, `squad.rs` questions about paragraphs.
//!
//! A byte order mark is dropped, lines end at LF only (a CR before it is dropped), documents without text are left
//! out.

mod find;
mod jsonl;
mod labelled;
mod load;
mod pairs;
mod parquet;
mod preview;
mod probe;
mod read;
mod squad;
mod table;
mod txt;

pub(crate) use labelled::{Judged, LabelledRows, TableColumns, load_rows, probe_rows};
pub use load::{Loaded, load_files};
pub(crate) use pairs::{PairFiles, load_pairs, pairs_beginning, probe_pair_file, probe_pairs};
pub(crate) use preview::{Beginning, beginning};
pub(crate) use probe::probe_files;
pub(crate) use read::text_bytes_at;
pub use squad::is_squad_name;
pub(crate) use squad::{Needs, load_questions, parse as parse_questions, probe_questions, questions_beginning};
pub(crate) use table::USUAL_TEXTS;

#[cfg(test)]
mod tests;
