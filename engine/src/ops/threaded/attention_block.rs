//! Self-attention as a whole sub-layer.

use super::affine::{AffineSlots, AffineWeights, NormSlots};
use super::buffer::Pooled;
use super::core::{CoreGradients, CoreInput, CoreShape, KeptMaps};
use super::derived::{Derivation, DerivationSlots};
use super::lent::{LentGradient, LentMaps};
use super::rows::{Rows, Slab};
use super::sublayer::{Frame, FrameState};
use crate::ops::kernels::MatrixMut;
use crate::ops::profile::{Work, span};

/// Weights of a self-attention.
#[derive(Clone, Debug)]
pub struct AttentionBlock<'a, T> {
    /// Norm, dropout of the output.
    pub frame: Frame<'a, T>,
    /// What the stream is mapped with; the outputs stand side by side.
    pub projections: Vec<AffineWeights<'a, T>>,
    /// What is made of that before heads score.
    pub derivation: Derivation<'a, T>,
    /// From the mixed heads to the stream.
    pub output: AffineWeights<'a, T>,
    /// Sizes, heads, mask, dropout of the maps.
    pub core: CoreShape<'a>,
}

/// Where the gradients go.
#[derive(Debug)]
pub struct AttentionSlots<'a, T> {
    /// Of the norm.
    pub norm: NormSlots<'a, T>,
    /// Of the projections.
    pub projections: Vec<AffineSlots<'a, T>>,
    /// Of what stands between projections and scores.
    pub derivation: DerivationSlots<'a, T>,
    /// Of the output map.
    pub output: AffineSlots<'a, T>,
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct AttentionState<T: Pooled> {
    frame: FrameState<T>,
    projected: Rows<T>,
    derived: Option<Rows<T>>,
    mixed: Rows<T>,
    maps: KeptMaps<T>,
    computed: usize,
}

impl<T: Pooled> AttentionState<T> {
    /// The maps that were computed here, if they were kept.
    pub fn maps(&self) -> Option<LentMaps<'_, T>> {
        self.maps.whole(self.computed)
    }

    /// Them alone.
    pub fn into_maps(self) -> (KeptMaps<T>, usize) {
        (self.maps, self.computed)
    }
}

/// The gradients of lent maps on their way through a layer.
#[derive(Debug)]
pub struct LentGradients<'a, T: Pooled> {
    /// Of the maps of each layer that lends to this one.
    pub lenders: Vec<&'a mut LentGradient<T>>,
    /// Of the maps that this layer lends.
    pub own: Option<&'a LentGradient<T>>,
}

impl<T: Pooled> AttentionBlock<'_, T> {
    /// Columns of all projections.
    fn projected_width(&self) -> usize {
        self.projections.iter().map(|projection| projection.outputs).sum()
    }

    fn mixed_width(&self) -> usize {
        self.core.heads.count() * self.core.head_size
    }

    /// The work of the output map, and that of scoring and of mixing.
    fn work(&self, x: Slab<'_, T>) -> (Work, Work) {
        let CoreShape { batch, tokens, heads, .. } = self.core;
        let output = Work::product::<T>(x.rows(), self.mixed_width(), x.width());
        let width = heads.score_width() + self.mixed_width();
        (output, Work::product::<T>(tokens, width, tokens).times(batch))
    }

    /// Fails unless the stream and all weights are as large as the sizes say.
    fn check(&self, streams: [(&str, usize); 2], width: usize) {
        let CoreShape { batch, tokens, .. } = self.core;
        for (name, length) in streams {
            assert_eq!(length, batch * tokens * width, "{name} of an attention block: {batch} x {tokens} x {width}");
        }
        for projection in &self.projections {
            projection.check("projection of an attention block", width);
        }
        self.output.check("output map of an attention block", self.mixed_width());
        assert_eq!(self.output.outputs, width, "outputs of the output map of an attention block");
        self.frame.norm.check("an attention block", width);
    }

    /// Writes the stream after the sub-layer; gives what the backward pass needs, the maps whole if `keep_maps`.
    /// `lent` are the maps of each layer that lends to this one.
    pub fn forward(
        &self,
        x: &[T],
        y: &mut [T],
        width: usize,
        lent: Vec<LentMaps<'_, T>>,
        keep_maps: bool,
    ) -> AttentionState<T> {
        self.check([("stream", x.len()), ("stream after", y.len())], width);
        let slab = Slab::dense(x, width);
        let mut frame = self.frame.enter(slab);
        let mut projected = Rows::take(slab.rows(), self.projected_width());
        span("attention: projections", Work::product::<T>(slab.rows(), width, self.projected_width()), || {
            let mut rest = projected.output();
            for projection in &self.projections {
                let part;
                (part, rest) = rest.split_columns(projection.outputs);
                projection.forward(frame.input(slab), part);
            }
        });
        let derived = self.derivation.forward(projected.view());
        let (stream, mixing) = self.work(slab);
        let mut mixed = Rows::take(slab.rows(), self.mixed_width());
        let maps = span("attention: scores, softmax, mix", mixing, || {
            let input = CoreInput { projected: projected.view(), derived: derived.view(), lent };
            self.core.forward(&input, mixed.output(), keep_maps)
        });
        let derived = self.derivation.is_kept().then_some(derived);
        span("attention: output", stream, || {
            self.output.forward(mixed.view(), MatrixMut::new(y, slab.rows(), width));
        });
        self.frame.leave(x, y, width, &mut frame);
        AttentionState { frame, projected, derived, mixed, maps, computed: self.core.heads.computed() }
    }

    /// Writes the gradient of the stream before, from that after.
    #[expect(clippy::too_many_arguments, reason = "the stream and its gradient, twice, and everything that was lent")]
    pub fn backward(
        &self,
        x: &[T],
        width: usize,
        state: AttentionState<T>,
        lent: Vec<LentMaps<'_, T>>,
        dy: &[T],
        dx: &mut [T],
        slots: &mut AttentionSlots<'_, T>,
        lent_gradients: LentGradients<'_, T>,
    ) {
        self.check([("gradient of the stream after", dy.len()), ("gradient of the stream", dx.len())], width);
        assert_eq!(x.len(), dx.len(), "stream of an attention block");
        assert_eq!(
            slots.projections.len(),
            self.projections.len(),
            "gradients of the projections of an attention block"
        );
        let slab = Slab::dense(x, width);
        let AttentionState { frame, projected, derived, mixed, maps, .. } = state;
        let past = self.frame.backward_leave(dy, width, &frame, &mut slots.norm);
        let ds = past.as_deref().unwrap_or(dy);
        let df = self.frame.backward_dropout(ds, width);
        let (stream, mixing) = self.work(slab);
        span("attention: output, gradient of weights", stream, || {
            self.output.parameter_gradients(mixed.view(), df.view(), &mut slots.output);
        });
        // The mixed values are done with: their memory takes their gradient.
        let mut dmixed = mixed;
        span("attention: output, gradient of input", stream, || {
            self.output.input_gradient(df.view(), dmixed.output(), false);
        });
        drop(df);
        let derived = derived.unwrap_or_else(|| self.derivation.forward(projected.view()));
        let mut dprojected = Rows::take(slab.rows(), self.projected_width());
        let mut dderived = Rows::take(slab.rows(), self.derivation.width());
        span("attention: scores, softmax, mix, gradient", mixing.times(2), || {
            let input = CoreInput { projected: projected.view(), derived: derived.view(), lent };
            let gradients = CoreGradients {
                projected: dprojected.output(),
                derived: dderived.output(),
                lent: lent_gradients.lenders,
                own: lent_gradients.own,
            };
            self.core.backward(&input, &maps, dmixed.view(), gradients);
        });
        drop((maps, derived, dmixed));
        self.derivation.backward(projected.view(), dderived.view(), &mut dprojected, &mut slots.derivation);
        drop((projected, dderived));
        let mut dinput = Rows::take(slab.rows(), width);
        let mut first = 0;
        for (index, (projection, slots)) in self.projections.iter().zip(&mut slots.projections).enumerate() {
            let dpart = dprojected.view().columns(first, projection.outputs);
            let work = Work::product::<T>(slab.rows(), width, projection.outputs);
            span("attention: projections, gradient of weights", work, || {
                projection.parameter_gradients(frame.input(slab), dpart, slots);
            });
            span("attention: projections, gradient of input", work, || {
                projection.input_gradient(dpart, dinput.output(), index > 0);
            });
            first += projection.outputs;
        }
        self.frame.backward_enter(slab, &dinput, ds, dx, &mut slots.norm);
    }
}
