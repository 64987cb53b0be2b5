//! Linear maps between matrices whose rows may be apart: what sub-layers are made of.

use super::buffer::Pooled;
use super::linear::Orientation;
use super::rows::{NormGradients, Slab};
use super::{add_assign, parallel_product, parallel_product_with_bias};
use crate::kernels::{Matrix, MatrixMut};

/// Where the gradient of one parameter goes.
#[derive(Debug)]
pub struct Slot<'a, T> {
    /// The gradient, of the parameter's size.
    pub data: &'a mut [T],
    /// Whether there is something in it already that is to be added to.
    pub filled: &'a mut bool,
}

impl<T: Pooled> Slot<'_, T> {
    /// Adds values.
    pub fn add(&mut self, values: &[T]) {
        if *self.filled {
            add_assign(self.data, values);
        } else {
            self.data.copy_from_slice(values);
            *self.filled = true;
        }
    }

    /// Adds a product of `rows` by `columns` elements.
    fn add_product(&mut self, rows: usize, columns: usize, a: Matrix<'_, T>, b: Matrix<'_, T>) {
        parallel_product(MatrixMut::new(self.data, rows, columns), a, b, *self.filled);
        *self.filled = true;
    }
}

/// A linear map, `y = x W + b`.
#[derive(Clone, Copy, Debug)]
pub struct AffineWeights<'a, T> {
    /// `W`, as `orientation` says.
    pub weight: &'a [T],
    /// `b`, if there is one. `[outputs]`
    pub bias: Option<&'a [T]>,
    /// How many outputs there are.
    pub outputs: usize,
    /// How `weight` lies.
    pub orientation: Orientation,
}

/// Where the gradients of a linear map go; nothing for a parameter that is not trained.
#[derive(Debug)]
pub struct AffineSlots<'a, T> {
    /// Of the weight, in its orientation.
    pub weight: Option<Slot<'a, T>>,
    /// Of the bias.
    pub bias: Option<Slot<'a, T>>,
}

impl<'a, T: Pooled> AffineWeights<'a, T> {
    /// Fails unless it maps `inputs` numbers; `name` is told then.
    pub fn check(&self, name: &str, inputs: usize) {
        assert_eq!(self.weight.len(), inputs * self.outputs, "weight of the {name}: {inputs} x {}", self.outputs);
        assert!(self.bias.is_none_or(|bias| bias.len() == self.outputs), "bias of the {name}: {}", self.outputs);
    }

    /// `W` as an `inputs` by `outputs` matrix.
    fn matrix(&self, inputs: usize) -> Matrix<'a, T> {
        self.orientation.matrix(self.weight, inputs, self.outputs)
    }

    /// `y = x W + b`.
    pub fn forward(&self, x: Slab<'_, T>, y: MatrixMut<'_, T>) {
        let matrix = self.matrix(x.width());
        match self.bias {
            Some(bias) => parallel_product_with_bias(y, x.matrix(), matrix, bias),
            None => parallel_product(y, x.matrix(), matrix, false),
        }
    }

    /// `dx = dy Wᵀ`, or adds it.
    pub fn input_gradient(&self, dy: Slab<'_, T>, dx: MatrixMut<'_, T>, accumulate: bool) {
        let inputs = dx.columns();
        parallel_product(dx, dy.matrix(), self.matrix(inputs).transposed(), accumulate);
    }

    /// Adds `xᵀ dy` and the sums of the columns of `dy`.
    pub fn parameter_gradients(&self, x: Slab<'_, T>, dy: Slab<'_, T>, slots: &mut AffineSlots<'_, T>) {
        self.weight_gradient(x, dy, slots);
        if let Some(slot) = &mut slots.bias {
            slot.add(&dy.column_sums());
        }
    }

    /// The same where the sums of the columns are known: whoever wrote `dy` has had it at hand.
    pub fn parameter_gradients_summed(
        &self,
        x: Slab<'_, T>,
        (dy, sums): (Slab<'_, T>, &[T]),
        slots: &mut AffineSlots<'_, T>,
    ) {
        self.weight_gradient(x, dy, slots);
        if let Some(slot) = &mut slots.bias {
            slot.add(sums);
        }
    }

    fn weight_gradient(&self, x: Slab<'_, T>, dy: Slab<'_, T>, slots: &mut AffineSlots<'_, T>) {
        if let Some(slot) = &mut slots.weight {
            match self.orientation {
                Orientation::InputsFirst => {
                    slot.add_product(x.width(), dy.width(), x.matrix().transposed(), dy.matrix());
                }
                Orientation::OutputsFirst => {
                    slot.add_product(dy.width(), x.width(), dy.matrix().transposed(), x.matrix());
                }
            }
        }
    }
}

/// Where the gradients of a layer norm go.
#[derive(Debug)]
pub struct NormSlots<'a, T> {
    /// Of the gain.
    pub gain: Option<Slot<'a, T>>,
    /// Of the bias.
    pub bias: Option<Slot<'a, T>>,
}

impl<T: Pooled> NormSlots<'_, T> {
    /// Adds them.
    pub fn add(&mut self, gradients: &NormGradients<T>) {
        if let Some(slot) = &mut self.gain {
            slot.add(&gradients.gain);
        }
        if let Some(slot) = &mut self.bias {
            slot.add(&gradients.bias);
        }
    }
}
