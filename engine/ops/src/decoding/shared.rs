use candle_core::{Result, bail};

use super::{
    map::StepMap,
    reach::{Reaches, Side},
    store::{Blocks, Group, SharedRows},
};
use crate::{
    Affine, LayerReading,
    profile::{Work, span},
    threaded::{Rows, Slab},
};

/// What an attention keeps of the positions that all rows of a source attend to: of a prompt, or of what an encoder read.
#[derive(Clone, Debug)]
pub struct SharedParts {
    /// Maps of the stream, whose outputs are kept side by side; none where the stream itself is kept.
    pub maps: Option<Vec<Affine>>,
    /// How heads read what is kept.
    pub reaches: Reaches,
}

/// The same with everything in place.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    maps: Option<Vec<StepMap>>,
    blocks: Blocks,
    side: Side,
    /// Outputs of all maps of the stream, and which of them are kept, where a layer reads its own.
    own: (usize, Vec<(usize, usize)>),
}

impl Shared {
    /// `outputs` are those of all maps that a layer's attention to its own stream has, `kept` what is kept of them.
    pub fn new(parts: &SharedParts, outputs: usize, kept: &[(usize, usize)]) -> Result<Self> {
        let maps = |maps: &Vec<Affine>| maps.iter().map(StepMap::new).collect::<Result<_>>();
        Ok(Self {
            maps: parts.maps.as_ref().map(maps).transpose()?,
            blocks: Blocks::of(&parts.reaches),
            side: Side::new(&parts.reaches)?,
            own: (outputs, kept.to_vec()),
        })
    }

    /// How heads read what is kept.
    pub fn side(&self) -> &Side {
        &self.side
    }

    /// Numbers that are kept of a position.
    pub fn width(&self) -> usize {
        self.blocks.width
    }

    /// Whether the stream itself is kept.
    pub fn is_stream(&self) -> bool {
        self.maps.is_none()
    }

    /// Room for sources of `lengths` positions.
    pub fn room(&self, lengths: &[usize]) -> SharedRows {
        SharedRows::with_room(lengths, &self.blocks)
    }

    /// Keeps what is needed of the stream `x` of some sources.
    pub fn keep(&self, x: Slab<'_, f32>, group: Group, kept: &mut SharedRows) -> Result<()> {
        let Some(maps) = &self.maps else { return Self::copy(x, &[(0, x.width())], group, kept) };
        let outputs: usize = maps.iter().map(StepMap::outputs).sum();
        span("attention: keys and values", Work::product::<f32>(x.rows(), x.width(), outputs), || {
            let mut made = Rows::<f32>::take(x.rows(), outputs);
            let mut rest = made.output();
            for map in maps {
                let out;
                (out, rest) = rest.split_columns(map.outputs());
                map.apply_to_many(x, out)?;
            }
            kept.fill(group, made.view(), &[(0, outputs)])
        })
    }

    /// The same of what a layer has read of them.
    pub fn keep_read(&self, read: LayerReading<'_, f32>, group: Group, kept: &mut SharedRows) -> Result<()> {
        if self.is_stream() {
            return Self::copy(read.input, &[(0, read.input.width())], group, kept);
        }
        let (outputs, columns) = &self.own;
        if read.projected.width() != *outputs {
            bail!("An attention that makes {outputs} numbers of a position was given {}.", read.projected.width())
        }
        Self::copy(read.projected, columns, group, kept)
    }

    fn copy(x: Slab<'_, f32>, columns: &[(usize, usize)], group: Group, kept: &mut SharedRows) -> Result<()> {
        let count: usize = columns.iter().map(|(_, count)| count).sum();
        let work = Work::pass::<f32>(2 * x.rows() * count);
        span("attention: keys and values", work, || kept.fill(group, x, columns))
    }
}
