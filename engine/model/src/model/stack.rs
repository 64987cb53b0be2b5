use std::sync::Arc;

use candle_core::Tensor;

use super::{
    ForwardOptions, ModelError,
    layer::{CROSS_SITES, Layer, LayerOutput, Memory, Pass, SITES},
    names::{self, AttentionNames, FeedForwardNames},
    norm::StreamNorm,
    tensors::Tensors,
};
use crate::{
    attention::{
        AttentionKind, Positions, StackPlan,
        compatibility::{LayerCoverage, Lenders, PairPositions, PairScoring},
    },
    config::{Coverage, PartialCoverage, Restore},
    ops::{self, EachLayer, MaskSpec, PairSets, RelativeBias, Wanted},
};

/// The layers of a stack, with its table of positions and the norm that belongs to no layer.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    plan: StackPlan,
    /// What is added to the embeddings for their positions, where something is. `[first_position + positions, d]`
    pub positions: Option<Tensor>,
    embedding_norm: Option<StreamNorm>,
    last_norm: Option<StreamNorm>,
    pub layers: Vec<Layer>,
    /// The dropout site of its embeddings; those of its layers follow.
    pub site: u32,
}

/// What the layers give.
#[derive(Debug)]
pub(super) struct Encoded {
    /// `[b, t, d]`
    pub last: Tensor,
    pub maps: Vec<Tensor>,
    pub cross_maps: Vec<Tensor>,
    pub hidden: Vec<Tensor>,
}

impl Stack {
    /// Builds the layers of a plan, with dropout sites from `site` on.
    pub fn build(plan: &StackPlan, site: u32, tensors: &Tensors) -> Result<Self, ModelError> {
        let cross_plan = plan.cross.as_ref().map(|cross| &cross.head_plan);
        if [&plan.head_plan]
            .into_iter()
            .chain(cross_plan)
            .any(|of| (of.layers(), of.heads()) != (plan.layers, plan.heads))
        {
            return Err(ModelError::Unsupported("a head plan of another size than the model".to_owned()));
        }
        let pairs = match plan.coverage {
            Coverage::Partial(_) => {
                Some(Arc::new(PairSets::from_tensor(&tensors.get(&names::pairs(plan))?, plan.is_causal)?))
            }
            Coverage::Full(_) | Coverage::Eigen(_) => None,
        };
        let coverage = |layer: usize| {
            Ok::<_, ModelError>(match (&plan.coverage, &pairs) {
                _ if !plan.approximates(layer) => LayerCoverage::Full,
                (Coverage::Partial(PartialCoverage { restore, .. }), Some(pairs)) => {
                    let name = match restore {
                        Restore::Fixed | Restore::Common => names::restore(plan),
                        Restore::PerLayer => names::layer_restore(plan, layer),
                    };
                    LayerCoverage::Partial { pairs: Arc::clone(pairs), restore: tensors.get(&name)? }
                }
                (Coverage::Eigen(_), _) => LayerCoverage::Eigen { basis: tensors.get(&names::basis(plan))? },
                (Coverage::Full(_) | Coverage::Partial(_), _) => LayerCoverage::Full,
            })
        };
        let pairs = |is_own: bool| {
            let positions = match plan.design.positions {
                Positions::Rotary(rotation) if is_own => PairPositions::Rotary(rotation),
                Positions::Relative { farthest, .. } if is_own => PairPositions::Relative(RelativeBias {
                    table: tensors.weight(&names::relative(plan))?,
                    farthest,
                    is_two_sided: !plan.is_causal,
                }),
                Positions::Learned | Positions::Sinusoidal | Positions::Rotary(_) | Positions::Relative { .. } => {
                    PairPositions::None
                }
            };
            Ok::<_, ModelError>(PairScoring { is_scaled: plan.design.scales_scores, positions })
        };
        let norm = |is_there: bool, module: &str| {
            Ok::<_, ModelError>(if is_there { Some(tensors.stream_norm(plan, module)?) } else { None })
        };
        let layer = |layer: usize| {
            let names = |kind| AttentionNames::new(plan, plan.parameters_of(layer), kind);
            let heads = |head_plan| plan.heads_of(head_plan, layer);
            let own = heads(&plan.head_plan);
            let attention = tensors.attention(
                plan,
                &names(AttentionKind::Own),
                own,
                &plan.compatibility,
                coverage(layer)?,
                pairs(true)?,
            )?;
            let cross = match &plan.cross {
                Some(cross) => {
                    let (names, heads) = (names(AttentionKind::Cross), heads(&cross.head_plan));
                    tensors.attention(plan, &names, heads, &cross.compatibility, LayerCoverage::Full, pairs(false)?)?
                }
                None => None,
            };
            let feed_forward = tensors.feed_forward(plan, &FeedForwardNames::new(plan, plan.parameters_of(layer)))?;
            Ok(Layer { attention, cross, feed_forward, placement: plan.norm })
        };
        Ok(Self {
            positions: match plan.design.positions {
                Positions::Learned => Some(tensors.weight(&names::positions(plan))?),
                Positions::Sinusoidal => {
                    let rows = plan.first_position + plan.positions;
                    Some(ops::sinusoids(rows, plan.embedding_width(), &tensors.weight(names::WORDS)?)?)
                }
                Positions::Rotary(_) | Positions::Relative { .. } => None,
            },
            embedding_norm: norm(plan.norms_embeddings(), &names::embedding_norm(plan))?,
            last_norm: norm(plan.norms_last(), &names::final_norm(plan))?,
            layers: (0..plan.layers).map(layer).collect::<Result<_, ModelError>>()?,
            plan: plan.clone(),
            site,
        })
    }

    /// The first dropout site after its own.
    pub fn next_site(&self) -> u32 {
        self.layer_site(self.plan.layers)
    }

    fn layer_site(&self, layer: usize) -> u32 {
        let sites = if self.plan.cross.is_some() { SITES + CROSS_SITES } else { SITES };
        self.site + 1 + sites * layer as u32
    }

    /// The norm after the embeddings, where norms come last.
    pub fn embedding_norm(&self) -> Option<&StreamNorm> {
        self.embedding_norm.as_ref()
    }

    /// The norm after the last layer, where norms come first.
    pub fn last_norm(&self) -> Option<&StreamNorm> {
        self.last_norm.as_ref()
    }

    /// The stream after some first layers, of a stack of single operations without an encoder; `each` sees what every layer that
    /// attends has of it.
    ///
    /// # Shapes
    /// `x` `[b, t, d]`, as the result.
    pub fn read(
        &self,
        x: &Tensor,
        layers: usize,
        pass: &Pass<'_>,
        each: EachLayer<'_, f32>,
    ) -> Result<Vec<f32>, ModelError> {
        let t = x.dim(1)?;
        let layers = self.layers.iter().enumerate().take(layers);
        let layers = layers.map(|(number, layer)| layer.parts(self.layer_site(number), t, pass, None));
        Ok(ops::read_layers(x, layers.collect::<candle_core::Result<_>>()?, each)?)
    }

    /// The layers. `x` is what they begin with, `memory` the states of the encoder, and which of them are seen.
    ///
    /// # Shapes
    /// `x` `[b, t, d]`.
    pub fn forward(
        &self,
        mut x: Tensor,
        pass: &Pass<'_>,
        memory: Option<(&Tensor, MaskSpec)>,
        options: &ForwardOptions,
    ) -> Result<Encoded, ModelError> {
        if self.plan.cross.is_some() != memory.is_some() {
            return Err(ModelError::Unsupported("cross-attention with nothing to attend to".to_owned()));
        }
        let (t, heads) = (x.dim(1)?, self.plan.heads);
        let mut hidden: Vec<Tensor> = options.keep_hidden.then(|| x.clone()).into_iter().collect();
        let last_norm = self.last_norm();
        // Layers that leave scores out, and designs that single operations do not know, are composed of small operations.
        if pass.in_blocks && self.plan.coverage.is_full() && self.plan.is_fusible() {
            let seen = memory.as_ref().map(|(states, mask)| Ok::<_, ModelError>((mask, states.dim(1)?))).transpose()?;
            let layers = self.layers.iter().enumerate();
            let layers = layers.map(|(number, layer)| layer.parts(self.layer_site(number), t, pass, seen));
            let layers = layers.collect::<candle_core::Result<_>>()?;
            let wanted = Wanted { maps: options.keep_maps, hidden: options.keep_hidden };
            let states = memory.as_ref().map(|(states, _)| *states);
            let last = last_norm.map(|norm| norm.layer().cloned()).transpose()?;
            let stacked = ops::stack(&x, states, layers, last, pass.gradients, pass.products, wanted)?;
            hidden.extend(stacked.hidden);
            let maps = self.layers.iter().zip(&stacked.maps);
            let maps = maps.map(|(layer, maps)| layer.all_maps(Some(maps), &stacked.stream, heads));
            let cross = self.layers.iter().zip(&stacked.cross_maps);
            let keys = seen.map_or(0, |(_, keys)| keys);
            let cross = cross.map(|(layer, maps)| layer.all_cross_maps(Some(maps), &stacked.stream, keys, heads));
            let (maps, cross_maps) = (maps.collect::<Result<_, _>>()?, cross.collect::<Result<_, _>>()?);
            return Ok(Encoded { maps, cross_maps, last: stacked.stream, hidden });
        }
        let (mut maps, mut cross_maps) = (Vec::new(), Vec::new());
        let mut lenders = Lenders::default();
        let mut memory = memory.map(|(states, mask)| Memory { states, mask, lenders: Lenders::default() });
        for (number, layer) in self.layers.iter().enumerate() {
            let site = self.layer_site(number);
            let LayerOutput { stream, maps: own, cross_maps: cross } =
                layer.forward(&x, site, pass, &mut lenders, memory.as_mut())?;
            x = match last_norm.filter(|_| number + 1 == self.layers.len()) {
                Some(norm) => norm.forward(&stream)?,
                None => stream,
            };
            if options.keep_maps {
                maps.push(layer.all_maps(own.as_ref(), &x, heads)?);
                if let Some(memory) = &memory {
                    cross_maps.push(layer.all_cross_maps(cross.as_ref(), &x, memory.states.dim(1)?, heads)?);
                }
            }
            if options.keep_hidden {
                hidden.push(x.clone());
            }
        }
        Ok(Encoded { last: x, maps, cross_maps, hidden })
    }
}
