//! Keeps the gradients of half-precision models inside of their range.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::TrainError;

/// The name under which it is saved with the optimiser's state.
const NAME: &str = "optimizer.loss_scale";
/// Where it starts.
const FIRST: f64 = 65_536.0;
/// The largest: beyond it the loss itself leaves the range of 32-bit floats.
const LARGEST: f64 = 16_777_216.0;
/// Steps in a row with finite gradients after which it doubles.
const PATIENCE: u64 = 2000;

/// What the loss is multiplied with before the backward pass, and the gradients divided by after it.
///
/// It halves when a gradient overflows, and doubles after 2,000 steps without. (Micikevicius et al., 2018, section 3.2)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScale {
    factor: f64,
    good_steps: u64,
}

impl Default for LossScale {
    fn default() -> Self {
        Self { factor: FIRST, good_steps: 0 }
    }
}

impl LossScale {
    /// What to multiply with.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// A gradient was not finite: halves; false when there is nothing left to halve.
    pub fn shrink(&mut self) -> bool {
        self.good_steps = 0;
        let can = self.factor > 1.0;
        self.factor = (self.factor / 2.0).max(1.0);
        can
    }

    /// A step was taken.
    pub fn succeed(&mut self) {
        self.good_steps += 1;
        if self.good_steps >= PATIENCE && self.factor < LARGEST {
            (self.factor, self.good_steps) = (self.factor * 2.0, 0);
        }
    }

    /// Adds it to what is saved.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn save(&self, state: &mut BTreeMap<String, Tensor>) -> Result<(), TrainError> {
        let values = vec![self.factor, self.good_steps as f64];
        state.insert(NAME.to_owned(), Tensor::from_vec(values, 2, &Device::Cpu)?);
        Ok(())
    }

    /// Takes it out of what was saved.
    ///
    /// # Errors
    /// If it is missing or makes no sense.
    pub fn load(state: &mut BTreeMap<String, Tensor>) -> Result<Self, TrainError> {
        let broken = || TrainError::State(format!("\"{NAME}\" is missing or makes no sense"));
        let saved = state.remove(NAME).ok_or_else(broken)?;
        match saved.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?.as_slice() {
            &[factor, good_steps] if (1.0..=LARGEST).contains(&factor) && good_steps >= 0.0 => {
                Ok(Self { factor, good_steps: good_steps as u64 })
            }
            _ => Err(broken()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_at_once_and_doubles_after_many_good_steps() {
        let mut scale = LossScale::default();
        assert!(scale.shrink());
        assert_eq!(scale.factor(), 32_768.0);
        (0..PATIENCE - 1).for_each(|_| scale.succeed());
        assert_eq!(scale.factor(), 32_768.0);
        scale.succeed();
        assert_eq!(scale, LossScale { factor: 65_536.0, good_steps: 0 });
        let mut state = BTreeMap::new();
        scale.succeed();
        scale.save(&mut state).unwrap();
        assert_eq!(LossScale::load(&mut state).unwrap(), scale);
        assert!(state.is_empty() && LossScale::load(&mut state).is_err());
        (0..16).for_each(|_| assert!(scale.shrink()));
        assert!(!scale.shrink() && scale.factor() == 1.0);
    }

    #[test]
    fn it_never_grows_without_end() {
        let mut scale = LossScale { factor: LARGEST, good_steps: 0 };
        (0..3 * PATIENCE).for_each(|_| scale.succeed());
        assert_eq!(scale.factor(), LARGEST);
    }
}
