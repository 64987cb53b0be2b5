//! What random numbers are used for.

/// Keeps streams of one seed apart: numbers drawn for one purpose never depend on those for another.
///
/// The numbers are part of what makes a run reproducible: add purposes, never renumber them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Purpose {
    /// Initial weights.
    Init = 1,
    /// The order of training examples.
    DataOrder = 2,
    /// Dropout masks.
    Dropout = 3,
    /// Which tokens masked-language modelling hides.
    Masking = 4,
    /// Drawing tokens from a model.
    Sampling = 5,
    /// The built-in grammar's sentences.
    Grammar = 6,
    /// Random tokens, the grammar's control.
    RandomTokens = 7,
    /// Cutting data into training and validation.
    Split = 8,
    /// The probe batch that live analysis looks at.
    Probe = 9,
    /// Directions onto which large covariances are projected.
    Sketch = 10,
    /// Pairs of attention scores that are computed by chance.
    RandomPairs = 11,
    /// The built-in pairs of numbers and dates.
    NumberWords = 12,
    /// Where a search for the factors of converted weights begins.
    Factors = 13,
    /// The images of Pathfinder.
    Pathfinder = 14,
    /// The expressions of `ListOps`.
    ListOps = 15,
    /// Noise on embeddings.
    EmbeddingNoise = 16,
    /// Tests and benchmarks.
    Test = 255,
}
