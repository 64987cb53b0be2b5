//! Text in, batches of token ids out.
//!
//! [`Corpus::load`] does it all: it reads files or generates text, holds out a part that never leaks into training,
//! trains or opens the tokenizer and encodes. A [`Batcher`] then cuts the tokens into batches; each is a pure
//! function of the seed and the step, so a resumed run sees exactly the batches that an uninterrupted one sees.
//!
//! Sources are one file each: `file` (on disk), `grammar` (built-in English-like text), `random` (its control) and
//! `number_words` (pairs of texts to translate). A corpus of pairs has the documents of plain text, a source and then its
//! translation; a table has the texts of each row as documents, and beside them the answers that stand there (`answers`), and so
//! have generated expressions (`listops`); of questions about paragraphs (`questions`) the paragraphs come first. A corpus of
//! images (`images`) has no documents and a tokenizer without tokens. `preview` looks at the beginning of a table before
//! anything is trained. What a batch is, the `objective` says. Uses `config`, `ops` and `objective`; everything that
//! crosses this door is plain data.

use headroom_config::{config, text};
use headroom_model::objective;
use headroom_ops as ops;

mod answered;
mod batcher;
mod cache;
mod check;
mod class_labels;
mod corpus;
mod dataset;
mod documents;
mod edition;
mod encode;
mod error;
mod error_wording;
mod examples;
mod file;
mod grammar;
mod guard;
mod hash;
mod image_error;
mod images;
mod load;
/// What the machine has of memory.
pub mod memory;
mod open;
mod pairs;
mod preview;
mod progress;
mod questions;
mod reading;
mod rng;
mod row_answers;
mod seen;
mod source;
mod split;
mod squad_error;
mod table_error;
mod text_pieces;
mod tokenizer;
mod windows;

pub use answered::{Asked, question_batches, unanswered_batches};
pub use batcher::{Batcher, EvaluatedSet, HeldOut};
pub use check::{data_problems, short_text_problems};
pub use corpus::{Corpus, PartStatistics, Statistics};
pub use dataset::{Dataset, TokenParts};
pub use documents::Documents;
pub use edition::{Edition, PairFraming};
pub use encode::TokenStream;
pub use error::DataError;
pub use examples::ExamplesPreview;
pub use file::{Loaded, is_squad_name, load_files};
pub use grammar::{Agreement, Checked, Checker, Grammar, Passage, generate_grammar};
pub use guard::is_guarded;
pub use hash::hex;
pub use image_error::ImageError;
pub use images::{
    ImageCorpus, ImagesPreview, Normalisation, PreviewImage, UnansweredImages, holds_images, unanswered_images,
};
pub use open::{open_file, read_file, read_stream, read_text_file, wrong_kind};
pub use pairs::PairRules;
pub use preview::{DataPreview, PreviewAnswers, TablePreview};
pub use progress::{Progress, Silent, Stage};
pub use questions::{questions_at, questions_of};
pub use reading::Reading;
pub use row_answers::RowAnswers;
pub use seen::{PreviewExample, given_vocabulary, pair_as_read, with_model_tokenizer};
pub use source::{all_pairs, generate_random, held_out_pairs, preview, source_labels, with_image_shape};
pub use split::{Split, split};
pub use squad_error::{SquadError, SquadPlace};
pub use table_error::FieldNames;
pub use table_error::TableError;
pub use tokenizer::{Frame, TextTokenizer};
pub use tokenizer::{LARGEST_TOKENIZER, check_tokenizer};
pub use windows::NumberedBatch;
