use std::collections::BTreeMap;

use candle_core::{Result, Tensor, bail};

use crate::ops::Affine;

/// Deviation of initial weights in BERT and GPT-2.
pub const DEVIATION: f64 = 0.02;

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// Drawn from a normal distribution around 0.
    Normal {
        /// Its standard deviation.
        deviation: f64,
    },
    /// All ones: gains of norms.
    Ones,
    /// All zeros: biases.
    Zeros,
}

impl Initial {
    /// As BERT and GPT-2 start their matrices.
    pub const USUAL: Self = Self::Normal { deviation: DEVIATION };
}

/// One module of an attention layer: what is saved under one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its name within the layer, such as `query`.
    pub module: &'static str,
    /// What it is.
    pub form: PieceForm,
    /// How its weight starts; biases start at zero.
    pub initial: Initial,
}

/// What a module of an attention layer is.
#[derive(Clone, Debug, PartialEq)]
pub enum PieceForm {
    /// A linear map.
    Map {
        /// Numbers that it takes.
        inputs: usize,
        /// Numbers that it gives.
        outputs: usize,
        /// Whether it has a bias.
        bias: bool,
    },
    /// Any other tensor, which lies the same way in every architecture.
    Tensor {
        /// Its shape.
        shape: Vec<usize>,
        /// Whether weight decay applies.
        decay: bool,
    },
}

impl Piece {
    /// A linear map that starts as usual.
    pub fn map(module: &'static str, inputs: usize, outputs: usize, bias: bool) -> Self {
        Self { module, form: PieceForm::Map { inputs, outputs, bias }, initial: Initial::USUAL }
    }

    /// Another tensor.
    pub fn tensor(module: &'static str, shape: &[usize], initial: Initial, decay: bool) -> Self {
        Self { module, form: PieceForm::Tensor { shape: shape.to_vec(), decay }, initial }
    }

    /// The same, starting otherwise.
    #[must_use]
    pub fn starting(self, initial: Initial) -> Self {
        Self { initial, ..self }
    }
}

/// The modules of an attention layer with their weights.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Linear maps.
    pub maps: BTreeMap<&'static str, Affine>,
    /// Other tensors.
    pub tensors: BTreeMap<&'static str, Tensor>,
}

impl Loaded {
    /// A linear map.
    ///
    /// # Errors
    /// If it is not there.
    pub fn map(&self, module: &str) -> Result<Affine> {
        match self.maps.get(module) {
            Some(map) => Ok(map.clone()),
            None => bail!("An attention layer was given no map \"{module}\"."),
        }
    }

    /// Another tensor.
    ///
    /// # Errors
    /// If it is not there.
    pub fn tensor(&self, module: &str) -> Result<Tensor> {
        match self.tensors.get(module) {
            Some(tensor) => Ok(tensor.clone()),
            None => bail!("An attention layer was given no tensor \"{module}\"."),
        }
    }
}
