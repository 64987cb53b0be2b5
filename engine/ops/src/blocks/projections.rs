use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use super::form::{Piece, PieceForm, ScoringForm};
use super::open::check_affine;
use crate::Affine;

/// Where a head that attends has its map from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMap {
    /// It scores its own.
    Computed,
    /// It uses the map that another layer computed (Reuse Transformers, Algorithm 1), as it was before dropout.
    Borrowed {
        /// The layer that computed the map, from 0.
        layer: usize,
        /// Which of the heads that compute there, from 0.
        computed: usize,
    },
}

/// The weights of a [`Piece`].
#[derive(Clone, Debug)]
pub enum PieceWeights {
    /// Of a linear map.
    Map(Affine),
    /// Of any other tensor.
    Tensor(Tensor),
}

/// What makes queries, keys and values: a [`ScoringForm`] with its weights.
#[derive(Clone, Debug)]
pub struct HeadProjections {
    form: Arc<ScoringForm>,
    weights: Vec<PieceWeights>,
}

impl HeadProjections {
    /// Puts a form together with the weights of its pieces, in their order. A map may do without its bias.
    ///
    /// # Errors
    /// If a shape is not the one that the form says, or the form does not fit together.
    pub fn new(form: ScoringForm, weights: Vec<PieceWeights>) -> Result<Self> {
        form.check()?;
        if form.pieces.len() != weights.len() {
            bail!("An attention layer of {} modules was given weights of {}.", form.pieces.len(), weights.len())
        }
        for (Piece { module, form, .. }, weights) in form.pieces.iter().zip(&weights) {
            match (form, weights) {
                (PieceForm::Map { inputs, outputs, .. }, PieceWeights::Map(map)) => {
                    check_affine(&format!("map \"{module}\""), map, *inputs, *outputs)?;
                }
                (PieceForm::Tensor { shape, .. }, PieceWeights::Tensor(tensor)) if tensor.dims() == shape => {}
                (form, weights) => {
                    let dims = match weights {
                        PieceWeights::Map(map) => map.weight.dims(),
                        PieceWeights::Tensor(tensor) => tensor.dims(),
                    };
                    bail!("\"{module}\" of an attention layer should be {form:?}; it has the shape {dims:?}.")
                }
            }
        }
        Ok(Self { form: Arc::new(form), weights })
    }

    /// What is to be done with the weights.
    pub fn form(&self) -> &ScoringForm {
        &self.form
    }

    /// The map of a piece.
    ///
    /// # Errors
    /// If it is none.
    pub fn map(&self, piece: usize) -> Result<&Affine> {
        match self.weights.get(piece) {
            Some(PieceWeights::Map(map)) => Ok(map),
            _ => bail!("Module {piece} of an attention layer is no linear map."),
        }
    }

    /// The tensor of a piece.
    ///
    /// # Errors
    /// If it is none.
    pub fn tensor(&self, piece: usize) -> Result<&Tensor> {
        match self.weights.get(piece) {
            Some(PieceWeights::Tensor(tensor)) => Ok(tensor),
            _ => bail!("Module {piece} of an attention layer is no tensor."),
        }
    }

    /// The weights by piece, in order.
    pub fn weights(&self) -> impl Iterator<Item = (&Piece, &PieceWeights)> {
        self.form.pieces.iter().zip(&self.weights)
    }

    /// The same with other weights.
    ///
    /// # Errors
    /// If `change` fails or gives other shapes.
    pub fn try_map(&self, change: impl FnMut((&Piece, &PieceWeights)) -> Result<PieceWeights>) -> Result<Self> {
        Self::new(self.form.as_ref().clone(), self.weights().map(change).collect::<Result<_>>()?)
    }
}
