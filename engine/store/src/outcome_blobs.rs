//! Lists of numbers by example as blobs, and how long each must be.

use super::ExampleOutcomes;

/// Widths of a whole number in a blob, in bytes.
const WIDTHS: [usize; 3] = [1, 2, 4];

/// Lengths that a row states, in examples and bytes.
pub(crate) struct Lengths {
    pub examples: u64,
    pub loss: u64,
    pub labels: u64,
    pub correct: Option<u64>,
}

/// Bytes of a number in each list of whole numbers.
pub(crate) struct Widths {
    pub labels: usize,
    pub correct: Option<usize>,
}

impl Lengths {
    /// The bytes of a number in each list.
    ///
    /// # Errors
    /// The lengths are not those of so many examples, or there are too many examples.
    pub fn widths(&self) -> Result<Widths, String> {
        let examples = self.examples;
        if !(1..=ExampleOutcomes::MOST as u64).contains(&examples) {
            return Err(format!("it has {examples} examples; 1 to {} are possible", ExampleOutcomes::MOST));
        }
        if self.loss != 4 * examples {
            return Err(format!("the losses of {examples} examples take {} bytes, not {}", 4 * examples, self.loss));
        }
        let width = |name: &str, bytes: u64| {
            let fits = |width: &usize| *width as u64 * examples == bytes;
            let wrong = || format!("{name} of {examples} examples do not take {bytes} bytes");
            WIDTHS.into_iter().find(fits).ok_or_else(wrong)
        };
        let correct = self.correct.map(|bytes| width("correct labels", bytes)).transpose()?;
        Ok(Widths { labels: width("labels", self.labels)?, correct })
    }
}

/// Whole numbers in as few bytes each as the largest needs.
pub(crate) fn packed(numbers: &[u32]) -> Vec<u8> {
    let width = match numbers.iter().max().copied().unwrap_or(0) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    };
    numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(width)).collect()
}

/// The whole numbers of a list of this width.
pub(crate) fn whole(bytes: &[u8], width: usize) -> Vec<u32> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    bytes.chunks_exact(width).map(number).collect()
}

/// The floats of a list.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}
