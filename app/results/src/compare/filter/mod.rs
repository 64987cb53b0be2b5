//! The filter language of tables: `loss<2 and attention.reuse.kind="first"`.
//!
//! ```text
//! filter     = either
//! either     = both { "or" both }
//! both       = inverse { ["and"] inverse }          two terms side by side mean "and"
//! inverse    = "not" inverse | "(" either ")" | comparison | word
//! comparison = field ("<" | "<=" | ">" | ">=" | "=" | "!=" | "~") value
//! ```
//!
//! A plain word matches runs that hold it in one of their words (name, tags, state ...), whatever its case. What a run is called
//! where others have its name finds it too: `base, seed 2`. `~` means "contains". Numbers may carry k, M, G or T. Words with blanks
//! or operators stand in double or single quotes. A comparison with a field that a run does not have is false, except `!=`.
//! A colon compares nothing, and behind a field of every run it is an error; only `tag:` with a word means `tag=`.

mod error;
mod evaluate;
mod lexer;
mod operator;
mod parser;

pub use error::FilterError;
pub use evaluate::{Record, Value};
pub use operator::Operator;
pub use parser::{Expression, Filter};
