//! A backward pass of our own over operations of ours.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::{Result, Tensor, TensorId};

use super::gpu;
use super::tracked::{Flow, joints};

/// The operations that led to a tensor, all of them ours, from the last to the first.
pub struct Flows(Vec<(Tensor, Arc<dyn Flow>)>);

impl Flows {
    /// Those of a loss; none where an operation of candle is among them.
    pub fn of(loss: &Tensor) -> Option<Self> {
        let nodes = loss.sorted_nodes();
        let joints = joints();
        let flow = |node: &&Tensor| Some(((*node).clone(), joints.get(&node.id())?.upgrade()?));
        let flows = nodes.iter().filter(|node| !node.is_variable()).map(flow).collect::<Option<Vec<_>>>();
        // What is let go of here takes itself out of the list.
        drop(joints);
        flows.map(Self)
    }

    /// Carries the gradient of the loss back and tells every variable's, once, as soon as nothing more flows to it. Memory of
    /// gradients is freed as soon as they were handed on.
    ///
    /// # Errors
    /// If the device or `told` fails.
    pub fn run(self, loss: &Tensor, mut told: impl FnMut(&Tensor, Tensor) -> Result<()>) -> Result<()> {
        let mut found = HashMap::from([(loss.id(), loss.ones_like()?)]);
        let mut to_come = HashMap::<TensorId, usize>::new();
        for input in self.0.iter().flat_map(|(_, flow)| flow.inputs()).filter(|input| input.is_variable()) {
            *to_come.entry(input.id()).or_default() += 1;
        }
        for (node, flow) in self.0 {
            // Nothing may flow here, as to labels.
            let mut gradients = match found.remove(&node.id()) {
                Some(gradient) => flow.flow(&node, &gradient.contiguous()?)?.into_iter(),
                None => Vec::new().into_iter(),
            };
            for input in flow.inputs() {
                let gradient = gradients.next().flatten().map(|gradient| gradient.detach());
                if let Some(gradient) = gradient.filter(|_| input.track_op()) {
                    let sum = match found.remove(&input.id()) {
                        Some(before) if gpu::has_kernels(&before) => gpu::sum(&before, &gradient)?,
                        Some(before) => (before + gradient)?.detach(),
                        None => gradient,
                    };
                    found.insert(input.id(), sum);
                }
                let Some(left) = to_come.get_mut(&input.id()) else { continue };
                *left -= 1;
                if *left == 0
                    && let Some(gradient) = found.remove(&input.id())
                {
                    told(input, gradient)?;
                }
            }
        }
        Ok(())
    }
}
