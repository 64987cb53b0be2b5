use candle_core::{Result, Tensor, bail};

use crate::ops::MaskSpec;

/// The maps that the layers of a stack have computed so far and that later ones borrow.
///
/// A map is lent as it is after the softmax and before dropout, on its graph: gradients flow through it from every
/// borrower.
#[derive(Clone, Debug, Default)]
pub struct Lenders(Vec<Option<Lender>>);

#[derive(Clone, Debug)]
struct Lender {
    /// `[b, c, n, m]`
    maps: Tensor,
    mask: MaskSpec,
    until: usize,
}

impl Lenders {
    /// Adds the next layer: what it computed, if any later layer borrows of it, the last of which is `until`. Forgets
    /// what no later layer borrows.
    pub fn push(&mut self, maps: Option<&Tensor>, mask: &MaskSpec, until: Option<usize>) {
        let layer = self.0.len();
        for lender in &mut self.0 {
            *lender = lender.take().filter(|lender| lender.until > layer);
        }
        let lender = maps.zip(until).map(|(maps, until)| Lender { maps: maps.clone(), mask: mask.clone(), until });
        self.0.push(lender);
    }

    /// The maps that a layer computed, for a borrower with `mask`. `[b, c, n, m]`
    ///
    /// # Errors
    /// If they are not there, or were computed under another mask: a borrowed map is already masked, so lender and
    /// borrower must see the same keys.
    pub(super) fn borrow(&self, layer: usize, mask: &MaskSpec) -> Result<&Tensor> {
        let Some(lender) = self.0.get(layer).and_then(Option::as_ref) else {
            bail!("Layer {layer} has no maps that could be borrowed.")
        };
        if !is_same(&lender.mask, mask)? {
            bail!("The maps of layer {layer} cannot be borrowed: its queries see other keys than the borrower's.")
        }
        Ok(&lender.maps)
    }
}

fn is_same(a: &MaskSpec, b: &MaskSpec) -> Result<bool> {
    Ok(a.causal == b.causal
        && match (&a.keys, &b.keys) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                let values = |keys: &Tensor| keys.flatten_all()?.to_vec1::<u8>();
                a.id() == b.id() || (a.dims() == b.dims() && values(a)? == values(b)?)
            }
            _ => false,
        })
}
