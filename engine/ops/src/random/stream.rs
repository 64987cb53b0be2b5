//! A sequence of random numbers.

use super::Purpose;
use crate::kernels::philox4x32;

/// A sequence of random numbers that depends on seed, purpose and index alone (Philox4x32-10; Salmon et al., 2011).
///
/// The seed is the key; block number, purpose and index are the counter, so that streams never overlap. A stream has
/// 2^58 words.
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    /// Purpose and index, without the block.
    counter: [u32; 4],
    /// The next block to draw.
    block: u64,
    /// The block being handed out.
    words: [u32; 4],
    /// How many of `words` were handed out.
    used: usize,
    /// The second of a pair of normal numbers.
    spare_normal: Option<f64>,
}

impl Stream {
    /// The stream of a seed for a purpose; `index` tells apart, say, the steps or the parameters.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
            counter: [0, (purpose as u32) << 24, index as u32, (index >> 32) as u32],
            block: 0,
            words: [0; 4],
            used: 4,
            spare_normal: None,
        }
    }

    /// 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.used >= self.words.len() {
            let [_, purpose, low, high] = self.counter;
            let block_high = (self.block >> 32) as u32 & 0x00FF_FFFF;
            self.words = philox4x32([self.block as u32, purpose | block_high, low, high], self.key);
            self.block += 1;
            self.used = 0;
        }
        let word = self.words[self.used];
        self.used += 1;
        word
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | (u64::from(self.next_u32()) << 32)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in `0..bound`, without bias; zero for a bound of zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 128-bit product, drawn again in the few cases that would favour some results
        // (Lemire, "Fast random integer generation in an interval", 2019).
        let threshold = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// From the normal distribution with mean 0 and deviation 1 (Box and Muller, 1958).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        // In (0, 1], so that the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare_normal = Some(radius * sine);
        radius * cosine
    }

    /// Brings the items into a random order, every order with the same probability (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::new(7, Purpose::Test, 3)
    }

    #[test]
    fn a_stream_is_a_function_of_seed_purpose_and_index() {
        let draw = |mut stream: Stream| (0..9).map(|_| stream.next_u32()).collect::<Vec<_>>();
        let base = draw(stream());
        assert_eq!(base, draw(stream()));
        for other in [
            Stream::new(8, Purpose::Test, 3),
            Stream::new(7 | 1 << 40, Purpose::Test, 3),
            Stream::new(7, Purpose::Init, 3),
            Stream::new(7, Purpose::Test, 4),
            Stream::new(7, Purpose::Test, 3 | 1 << 40),
        ] {
            assert_ne!(base, draw(other));
        }
    }

    #[test]
    fn the_first_stream_starts_with_the_known_answer() {
        // Purpose and index zero do not exist, so the counter is set by hand.
        let mut stream = Stream { key: [0; 2], counter: [0; 4], ..Stream::new(0, Purpose::Test, 0) };
        assert_eq!(stream.next_u32(), 0x6627_e8d5);
        assert_eq!(stream.next_u32(), 0xe169_c58d);
        assert_eq!(stream.next_u64(), 0x9b00_dbd8_bc57_ac4c);
    }

    #[test]
    fn uniform_covers_its_range_evenly() {
        let mut stream = stream();
        let mut bins = [0_u32; 10];
        for _ in 0..100_000 {
            let value = stream.uniform();
            assert!((0.0..1.0).contains(&value));
            bins[(value * 10.0) as usize] += 1;
        }
        // 10,000 expected, deviation 95.
        assert!(bins.iter().all(|&n| (9_500..10_500).contains(&n)), "{bins:?}");
    }

    #[test]
    fn below_is_unbiased_and_bounded() {
        let mut stream = stream();
        let mut bins = [0_u32; 7];
        for _ in 0..70_000 {
            bins[stream.below(7) as usize] += 1;
        }
        assert!(bins.iter().all(|&n| (9_500..10_500).contains(&n)), "{bins:?}");
        assert_eq!(stream.below(1), 0);
        assert_eq!(stream.below(0), 0);
        // Three quarters of the range: without drawing again, some results would come twice as often.
        let bound = 3 << 62;
        let low = (0..30_000).filter(|_| stream.below(bound) < 1 << 62).count();
        assert!((9_500..10_500).contains(&low), "{low} of 30,000 in the first third");
    }

    #[test]
    fn normal_has_its_moments() {
        let mut stream = stream();
        let values: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let moment = |power: i32| values.iter().map(|v| v.powi(power)).sum::<f64>() / values.len() as f64;
        // Five deviations of each mean: sqrt(1, 2, 15, 96 / n).
        assert!(moment(1).abs() < 0.016);
        assert!((moment(2) - 1.0).abs() < 0.023);
        assert!(moment(3).abs() < 0.062);
        assert!((moment(4) - 3.0).abs() < 0.155);
    }

    #[test]
    fn shuffle_gives_every_order() {
        let mut stream = stream();
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            stream.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|&n| (800..1_200).contains(&n)), "{counts:?}");
    }
}
