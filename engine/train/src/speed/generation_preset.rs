use super::{GenerationSpec, SweepSpec};
use crate::config::{Axis, preset};

/// Measurements of generation that papers on what is kept publish, at a size for two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationPreset {
    /// Attention over the length of the source.
    Length,
    /// Attention over the number of beams.
    Beams,
    /// Texts a second over the number of texts at the same time, until memory ends.
    Batch,
}

/// What the largest batch of [`GenerationPreset::Batch`] may use, so that a run with it takes seconds.
const BATCH_MEMORY: u64 = 512 << 20;

impl GenerationPreset {
    /// Every preset, in menu order.
    pub const ALL: [Self; 3] = [Self::Length, Self::Beams, Self::Batch];

    /// The word for it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Beams => "beams",
            Self::Batch => "batch",
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "Attention over length",
            Self::Beams => "Attention over beams",
            Self::Batch => "Samples per second over batch",
        }
    }

    /// What it measures, as a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Length => "Time of attention to sources of 64 to 1,024 tokens with 4 beams, with each cache",
            Self::Beams => "Time of attention to sources of 1,024 tokens with 1 to 8 beams, with each cache",
            Self::Batch => {
                "Texts a second of 1 to 32 sources of 256 tokens at the same time with 4 beams, with each cache, and of the most that fit into 512 MiB"
            }
        }
    }

    /// The measurement: an encoder-decoder of 4 + 4 layers, width 256 and 2 heads, with random weights.
    ///
    /// Few heads, since hidden states are multiplied once for each of them.
    pub fn spec(self) -> SweepSpec {
        let mut base = preset("number-words").and_then(|preset| preset.config().ok()).unwrap_or_default();
        "encoder-decoder of 4 + 4 layers, width 256, 2 heads".clone_into(&mut base.name);
        base.data.sequence_length = 1024;
        (base.model.layers, base.model.heads, base.model.width, base.model.feed_forward) = (4, 2, 256, 1024);
        let (field, values, generation) = match self {
            Self::Length => ("source", "64,128,256,512,1024", GenerationSpec::default()),
            Self::Beams => ("beams", "1,2,4,8", GenerationSpec { source: 1024, ..GenerationSpec::default() }),
            Self::Batch => ("batch", "1,2,4,8,16,32", GenerationSpec { source: 256, ..GenerationSpec::default() }),
        };
        let is_batch = self == Self::Batch;
        SweepSpec {
            base,
            axes: vec![Axis { field: field.to_owned(), values: values.split(',').map(str::to_owned).collect() }],
            warmup: 1,
            steps: 3,
            largest_batch: is_batch,
            memory_bytes: is_batch.then_some(BATCH_MEMORY),
            generation: Some(generation),
            ..SweepSpec::default()
        }
    }
}

impl std::str::FromStr for GenerationPreset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::word).join(", ");
        Self::ALL
            .into_iter()
            .find(|preset| preset.word() == text)
            .ok_or_else(|| format!("\"{text}\" is no preset of generation. Use one of these: {}.", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_measured() {
        for preset in GenerationPreset::ALL {
            let spec = preset.spec();
            let points = spec.points().unwrap();
            assert!(points.len() >= 4, "{preset:?}");
            for point in points {
                assert_eq!(point.subjects.len(), 3);
                assert!(
                    point.subjects.iter().all(|subject| subject.problems.is_empty() && subject.generation.is_some())
                );
            }
            assert_eq!(preset.word().parse::<GenerationPreset>(), Ok(preset));
        }
        assert!("width".parse::<GenerationPreset>().unwrap_err().contains("length, beams, batch"));
    }
}
