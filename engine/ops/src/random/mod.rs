//! The one source of randomness: counter-based streams split by purpose.
//!
//! Nothing here has a state that would have to be saved. A stream is a function of the run's seed, of what it is for,
//! and of an index (a step, a document, a parameter); a resumed run asks for the same streams and gets the same
//! numbers.

mod dropout_stream;
mod purpose;
mod stream;

pub use dropout_stream::DropoutStream;
pub use purpose::Purpose;
pub use stream::Stream;
