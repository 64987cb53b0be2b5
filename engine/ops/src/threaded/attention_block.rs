//! Attention as a whole sub-layer: of a sequence to itself, or to another one.

use super::affine::{AffineSlots, AffineWeights, NormSlots};
use super::buffer::Pooled;
use super::core::{CoreGradients, CoreInput, CoreShape, KeptMaps};
use super::derived::{Derivation, DerivationSlots, Run};
use super::lent::{LentGradient, LentMaps};
use super::rows::{Rows, Slab};
use super::sublayer::{Frame, FrameState};
use crate::kernels::MatrixMut;
use crate::profile::{Work, span};

/// What heads read of a sequence.
#[derive(Clone, Debug)]
pub struct Projections<'a, T> {
    /// What it is mapped with; the outputs stand side by side.
    pub maps: Vec<AffineWeights<'a, T>>,
    /// What is made of that before heads score.
    pub derivation: Derivation<'a, T>,
    /// The outputs that nobody reads: their gradient is zero.
    pub unread: &'a [Run],
}

/// Where the gradients of [`Projections`] go.
#[derive(Debug)]
pub struct ProjectionSlots<'a, T> {
    /// Of the maps.
    pub maps: Vec<AffineSlots<'a, T>>,
    /// Of what stands between them and scores.
    pub derivation: DerivationSlots<'a, T>,
}

/// What heads read, and the gradient of that.
#[derive(Debug)]
struct Projected<T: Pooled> {
    projected: Rows<T>,
    derived: Rows<T>,
}

impl<T: Pooled> Projections<'_, T> {
    /// Columns of all maps.
    fn width(&self) -> usize {
        self.maps.iter().map(|map| map.outputs).sum()
    }

    fn check(&self, width: usize) {
        for map in &self.maps {
            map.check("projection of an attention block", width);
        }
    }

    /// What heads read of `x`; `name` is what a profile calls the maps.
    fn forward(&self, x: Slab<'_, T>, name: &'static str) -> Projected<T> {
        let mut projected = Rows::take(x.rows(), self.width());
        span(name, Work::product::<T>(x.rows(), x.width(), self.width()), || {
            let mut rest = projected.output();
            for map in &self.maps {
                let part;
                (part, rest) = rest.split_columns(map.outputs);
                map.forward(x, part);
            }
        });
        Projected { derived: self.derivation.forward(projected.view()), projected }
    }

    /// Room for the gradient of what heads read, of `rows` positions.
    fn gradient(&self, rows: usize) -> Projected<T> {
        Projected { projected: Rows::take(rows, self.width()), derived: Rows::take(rows, self.derivation.width()) }
    }

    /// From the gradient of what heads read to those of the parameters and of `x`, which is written, or added to where
    /// `adds` is set.
    fn backward(
        &self,
        x: Slab<'_, T>,
        projected: Rows<T>,
        gradient: Projected<T>,
        slots: &mut ProjectionSlots<'_, T>,
        dx: &mut Rows<T>,
        adds: bool,
    ) {
        assert_eq!(slots.maps.len(), self.maps.len(), "gradients of the projections of an attention block");
        let Projected { projected: mut dprojected, derived: dderived } = gradient;
        if !self.unread.is_empty() {
            dprojected.for_each_row(|_, row| self.unread.iter().for_each(|run| run.of_mut(row).fill(T::ZERO)));
        }
        self.derivation.backward(projected.view(), dderived.view(), &mut dprojected, &mut slots.derivation);
        drop((projected, dderived));
        if self.maps.is_empty() && !adds {
            dx.for_each_row(|_, row| row.fill(T::ZERO));
        }
        let mut first = 0;
        for (index, (map, slots)) in self.maps.iter().zip(&mut slots.maps).enumerate() {
            let dpart = dprojected.view().columns(first, map.outputs);
            let work = Work::product::<T>(x.rows(), x.width(), map.outputs);
            span("attention: projections, gradient of weights", work, || map.parameter_gradients(x, dpart, slots));
            span("attention: projections, gradient of input", work, || {
                map.input_gradient(dpart, dx.output(), adds || index > 0);
            });
            first += map.outputs;
        }
    }
}

/// Weights of an attention.
#[derive(Clone, Debug)]
pub struct AttentionBlock<'a, T> {
    /// Norm, dropout of the output.
    pub frame: Frame<'a, T>,
    /// What heads read of the stream: queries alone, where another sequence is attended to.
    pub asking: Projections<'a, T>,
    /// What they read of another sequence that is attended to; none in self-attention.
    pub memory: Option<Projections<'a, T>>,
    /// From the mixed heads to the stream.
    pub output: AffineWeights<'a, T>,
    /// Sizes, heads, mask, dropout of the maps.
    pub core: CoreShape<'a>,
}

/// Where the gradients go, but those of what is read of another sequence.
#[derive(Debug)]
pub struct AttentionSlots<'a, T> {
    /// Of the norm.
    pub norm: NormSlots<'a, T>,
    /// Of what heads read of the stream.
    pub asking: ProjectionSlots<'a, T>,
    /// Of the output map.
    pub output: AffineSlots<'a, T>,
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct AttentionState<T: Pooled> {
    frame: FrameState<T>,
    asking: KeptProjected<T>,
    memory: Option<KeptProjected<T>>,
    mixed: Rows<T>,
    maps: KeptMaps<T>,
    computed: usize,
}

/// What is kept of what heads read.
#[derive(Debug)]
struct KeptProjected<T: Pooled> {
    projected: Rows<T>,
    /// None where it is cheaper to make it once more.
    derived: Option<Rows<T>>,
}

impl<T: Pooled> KeptProjected<T> {
    fn of(Projected { projected, derived }: Projected<T>, projections: &Projections<'_, T>) -> Self {
        Self { projected, derived: projections.derivation.is_kept().then_some(derived) }
    }

    fn open(self, projections: &Projections<'_, T>) -> Projected<T> {
        let Self { projected, derived } = self;
        let derived = derived.unwrap_or_else(|| projections.derivation.forward(projected.view()));
        Projected { projected, derived }
    }
}

/// What is left to do for another sequence that was attended to: [`AttentionBlock::memory_backward`].
#[derive(Debug)]
pub struct MemoryGradient<T: Pooled> {
    projected: Rows<T>,
    gradient: Projected<T>,
}

impl<T: Pooled> AttentionState<T> {
    /// The maps that were computed here, if they were kept.
    pub fn maps(&self) -> Option<LentMaps<'_, T>> {
        self.maps.whole(self.computed)
    }

    /// What it was given, where `x` is the stream, and what its maps made of that.
    pub fn read<'a>(&'a self, x: Slab<'a, T>) -> [Slab<'a, T>; 2] {
        [self.frame.input(x), self.asking.projected.view()]
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
    fn mixed_width(&self) -> usize {
        self.core.heads.count() * self.core.head_size
    }

    /// The work of the output map, and that of scoring and of mixing.
    fn work(&self, x: Slab<'_, T>) -> (Work, Work) {
        let CoreShape { batch, tokens, keys, heads, .. } = self.core;
        let output = Work::product::<T>(x.rows(), self.mixed_width(), x.width());
        let width = heads.score_width() + self.mixed_width();
        (output, Work::product::<T>(tokens, width, keys).times(batch))
    }

    /// Fails unless the stream, what is attended to and all weights are as large as the sizes say.
    fn check(&self, streams: [(&str, usize); 2], width: usize, memory: Option<&[T]>) {
        let CoreShape { batch, tokens, keys, .. } = self.core;
        for (name, length) in streams {
            assert_eq!(length, batch * tokens * width, "{name} of an attention block: {batch} x {tokens} x {width}");
        }
        assert_eq!(memory.is_some(), self.memory.is_some(), "another sequence that an attention block attends to");
        if let Some(memory) = memory {
            assert_eq!(
                memory.len(),
                batch * keys * width,
                "what an attention block attends to: {batch} x {keys} x {width}"
            );
        }
        for projections in [&self.asking].into_iter().chain(&self.memory) {
            projections.check(width);
        }
        self.output.check("output map of an attention block", self.mixed_width());
        assert_eq!(self.output.outputs, width, "outputs of the output map of an attention block");
        self.frame.norm.check("an attention block", width);
    }

    /// Writes the stream after the sub-layer; gives what the backward pass needs, the maps whole if `keep_maps`.
    /// `memory` is the other sequence that is attended to, if there is one, as wide as the stream; `lent` are the maps of
    /// each layer that lends to this one.
    pub fn forward(
        &self,
        x: &[T],
        y: &mut [T],
        width: usize,
        memory: Option<&[T]>,
        lent: Vec<LentMaps<'_, T>>,
        keep_maps: bool,
    ) -> AttentionState<T> {
        self.check([("stream", x.len()), ("stream after", y.len())], width, memory);
        let slab = Slab::dense(x, width);
        let mut frame = self.frame.enter(slab);
        let [asking, kept] = if self.memory.is_some() {
            ["attention: queries", "attention: keys and values"]
        } else {
            ["attention: projections"; 2]
        };
        let asking = self.asking.forward(frame.input(slab), asking);
        let of_memory = self
            .memory
            .iter()
            .zip(memory)
            .map(|(projections, x)| projections.forward(Slab::dense(x, width), kept))
            .next();
        let (stream, mixing) = self.work(slab);
        let mut mixed = Rows::take(slab.rows(), self.mixed_width());
        let maps = span("attention: scores, softmax, mix", mixing, || {
            self.core.forward(&core_input(&asking, of_memory.as_ref(), lent), mixed.output(), keep_maps)
        });
        let asking = KeptProjected::of(asking, &self.asking);
        let memory =
            self.memory.iter().zip(of_memory).map(|(projections, read)| KeptProjected::of(read, projections)).next();
        span("attention: output", stream, || {
            self.output.forward(mixed.view(), MatrixMut::new(y, slab.rows(), width));
        });
        self.frame.leave(x, y, width, &mut frame);
        AttentionState { frame, asking, memory, mixed, maps, computed: self.core.heads.computed() }
    }

    /// Writes the gradient of the stream before, from that after. Of another sequence that was attended to the gradient
    /// is left to [`Self::memory_backward`]: both may use the same parameters.
    #[expect(clippy::too_many_arguments, reason = "the stream and its gradient, twice, and everything that was lent")]
    pub fn backward(
        &self,
        x: &[T],
        width: usize,
        memory: Option<&[T]>,
        state: AttentionState<T>,
        lent: Vec<LentMaps<'_, T>>,
        dy: &[T],
        dx: &mut [T],
        slots: &mut AttentionSlots<'_, T>,
        lent_gradients: LentGradients<'_, T>,
    ) -> Option<MemoryGradient<T>> {
        self.check([("gradient of the stream after", dy.len()), ("gradient of the stream", dx.len())], width, memory);
        assert_eq!(x.len(), dx.len(), "stream of an attention block");
        let slab = Slab::dense(x, width);
        let AttentionState { frame, asking, memory: of_memory, mixed, maps, .. } = state;
        let past = self.frame.backward_leave(dy, width, &frame, &mut slots.norm);
        let ds = past.as_deref().unwrap_or(dy);
        let (df, sums) = self.frame.backward_dropout(ds, width);
        let (stream, mixing) = self.work(slab);
        span("attention: output, gradient of weights", stream, || {
            self.output.parameter_gradients_summed(mixed.view(), (df.view(), &sums), &mut slots.output);
        });
        // The mixed values are done with: their memory takes their gradient.
        let mut dmixed = mixed;
        span("attention: output, gradient of input", stream, || {
            self.output.input_gradient(df.view(), dmixed.output(), false);
        });
        drop(df);
        let asking = asking.open(&self.asking);
        let mut dasking = self.asking.gradient(slab.rows());
        let mut of_memory = self
            .memory
            .iter()
            .zip(of_memory)
            .map(|(projections, kept)| {
                let read = kept.open(projections);
                let gradient = projections.gradient(read.projected.view().rows());
                (read, gradient)
            })
            .next();
        span("attention: scores, softmax, mix, gradient", mixing.times(2), || {
            let (read, dmemory) = of_memory.as_mut().map(|(read, gradient)| (&*read, gradient)).unzip();
            let gradients = CoreGradients {
                projected: dasking.projected.output(),
                derived: dasking.derived.output(),
                memory: dmemory.map(|gradient| [gradient.projected.output(), gradient.derived.output()]),
                lent: lent_gradients.lenders,
                own: lent_gradients.own,
            };
            self.core.backward(&core_input(&asking, read, lent), &maps, dmixed.view(), gradients);
        });
        drop((maps, dmixed));
        let Projected { projected, derived } = asking;
        drop(derived);
        let mut dinput = Rows::take(slab.rows(), width);
        self.asking.backward(frame.input(slab), projected, dasking, &mut slots.asking, &mut dinput, false);
        self.frame.backward_enter(slab, &dinput, ds, dx, &mut slots.norm);
        of_memory.map(|(read, gradient)| MemoryGradient { projected: read.projected, gradient })
    }

    /// Adds the gradient of another sequence that was attended to, `memory` and `dmemory`, and those of the parameters
    /// that it went through.
    pub fn memory_backward(
        &self,
        memory: Slab<'_, T>,
        MemoryGradient { projected, gradient }: MemoryGradient<T>,
        slots: &mut ProjectionSlots<'_, T>,
        dmemory: &mut Rows<T>,
    ) {
        let Some(projections) = &self.memory else { unreachable!("a gradient of what nobody attended to") };
        projections.backward(memory, projected, gradient, slots, dmemory, true);
    }
}

fn core_input<'a, T: Pooled>(
    asking: &'a Projected<T>,
    memory: Option<&'a Projected<T>>,
    lent: Vec<LentMaps<'a, T>>,
) -> CoreInput<'a, T> {
    CoreInput {
        projected: asking.projected.view(),
        derived: asking.derived.view(),
        memory: memory.map(|read| [read.projected.view(), read.derived.view()]),
        lent,
    }
}
