use serde::{Deserialize, Serialize};

use crate::config::ImageShape;

/// How pixels become the numbers that a model reads: `(byte / 255 - mean) / deviation`, channel by channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalisation {
    /// Mean of each channel over the training part, 0..=1. `[channels]`
    pub mean: Vec<f64>,
    /// Standard deviation of each channel over the training part; 1 where all pixels are alike. `[channels]`
    pub deviation: Vec<f64>,
}

/// The largest byte.
const WHITE: f64 = 255.0;

impl Normalisation {
    /// Of images one after the other, of all their pixels together.
    pub fn of(pixels: &[u8], shape: ImageShape) -> Self {
        let plane = shape.size * shape.size;
        // Counts of bytes make the sums exact, whatever their order.
        let mut counts = vec![[0_u64; 256]; shape.channels];
        for (number, pixels) in pixels.chunks_exact(plane.max(1)).enumerate() {
            if let Some(counts) = counts.get_mut(number % shape.channels.max(1)) {
                for pixel in pixels {
                    counts[usize::from(*pixel)] += 1;
                }
            }
        }
        let (mut mean, mut deviation) = (Vec::new(), Vec::new());
        for counts in counts {
            let all = counts.iter().sum::<u64>().max(1) as f64;
            let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
                (0_u32..).zip(counts).map(|(byte, count)| of(f64::from(byte) / WHITE) * count as f64).sum()
            };
            let average = sum(&|value| value) / all;
            let variance = sum(&|value| (value - average).powi(2)) / all;
            mean.push(average);
            deviation.push(if variance > 0.0 { variance.sqrt() } else { 1.0 });
        }
        Self { mean, deviation }
    }

    /// Channels that it is for.
    pub fn channels(&self) -> usize {
        self.mean.len()
    }

    /// Adds the numbers of an image.
    pub(super) fn extend(&self, numbers: &mut Vec<f32>, image: &[u8]) {
        let plane = image.len().checked_div(self.channels()).unwrap_or(0).max(1);
        for ((pixels, mean), deviation) in image.chunks_exact(plane).zip(&self.mean).zip(&self.deviation) {
            numbers.extend(pixels.iter().map(|pixel| ((f64::from(*pixel) / WHITE - mean) / deviation) as f32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_mean_zero_and_deviation_one_by_channel() {
        let shape = ImageShape { size: 2, channels: 3 };
        let pixels: Vec<u8> = (0..48).map(|at| ((at * 37) % 251) as u8).collect();
        let own = Normalisation::of(&pixels, shape);
        let mut numbers = Vec::new();
        pixels.chunks(12).for_each(|image| own.extend(&mut numbers, image));
        for channel in 0..3 {
            let of: Vec<f64> = numbers.chunks(4).skip(channel).step_by(3).flatten().map(|n| f64::from(*n)).collect();
            let mean = of.iter().sum::<f64>() / of.len() as f64;
            let square = of.iter().map(|number| number * number).sum::<f64>() / of.len() as f64;
            assert!(of.len() == 16 && mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-5, "{mean} {square}");
        }
        let flat = Normalisation::of(&[7; 12], shape);
        assert_eq!(flat.deviation, [1.0; 3]);
    }
}
