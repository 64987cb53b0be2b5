use crate::{
    attention::{Cell, HeadAt, HeadPlan},
    ops::{Columns, HeadColumns, HeadMap, ScoreColumns},
};

/// The heads of one layer, as its parameters and its forward pass see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerHeads {
    /// Where each head that attends has its map from, in the order of the heads.
    pub maps: Vec<HeadMap>,
    /// Which heads of the layer these are, from 0.
    pub attending: Vec<usize>,
    /// Heads H of the layer, those that do not exist included.
    pub heads: usize,
    /// Size of a head, `d_k = d / H`.
    pub head_size: usize,
    /// Width d of the stream: usually `H d_k`.
    pub width: usize,
    /// The last layer that borrows from this one, if any does.
    pub lends_until: Option<usize>,
}

impl LayerHeads {
    /// The heads of layer `layer` of a plan; no head attends outside of the plan.
    pub fn of(plan: &HeadPlan, layer: usize, head_size: usize) -> Self {
        let last = (0..plan.heads()).map(|head| plan.last_use(HeadAt::new(layer, head))).max();
        Self { lends_until: last.filter(|last| *last > layer), ..Self::alone(plan, layer, head_size) }
    }

    /// The same without a look at who borrows from this layer, which takes a pass over the whole plan.
    pub fn alone(plan: &HeadPlan, layer: usize, head_size: usize) -> Self {
        let (maps, attending) = (Vec::new(), Vec::new());
        let width = plan.heads() * head_size;
        let mut heads = Self { maps, attending, heads: plan.heads(), head_size, width, lends_until: None };
        for (head, cell) in plan.row(layer).iter().enumerate() {
            let map = match *cell {
                Cell::Compute => HeadMap::Computed,
                Cell::Borrow { origin, .. } => {
                    let before = plan.row(origin.layer).iter().take(origin.head);
                    let computed = before.filter(|cell| matches!(cell, Cell::Compute)).count();
                    HeadMap::Borrowed { layer: origin.layer, computed }
                }
                Cell::Skip => continue,
            };
            heads.maps.push(map);
            heads.attending.push(head);
        }
        heads
    }

    /// What every head that attends reads: for its scores by its number among the heads that compute and its place among
    /// those that attend, for its values by its place.
    pub fn read(
        &self,
        scores: impl Fn(usize, usize) -> ScoreColumns,
        value: impl Fn(usize) -> Columns,
    ) -> Vec<HeadColumns> {
        let mut computing = 0;
        let mut read = |(place, map): (usize, &HeadMap)| {
            let scores = (*map == HeadMap::Computed).then(|| {
                computing += 1;
                scores(computing - 1, place)
            });
            HeadColumns { scores, value: value(place) }
        };
        self.maps.iter().enumerate().map(&mut read).collect()
    }

    /// Every one of `heads` heads computes.
    pub fn plain(heads: usize, head_size: usize) -> Self {
        Self {
            maps: vec![HeadMap::Computed; heads],
            attending: (0..heads).collect(),
            heads,
            head_size,
            width: heads * head_size,
            lends_until: None,
        }
    }

    /// Width d of the stream.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Places among the attending heads of those that compute.
    pub fn computing(&self) -> impl Iterator<Item = usize> {
        self.maps.iter().enumerate().filter(|(_, map)| **map == HeadMap::Computed).map(|(place, _)| place)
    }

    /// How many heads compute, c.
    pub fn computed(&self) -> usize {
        self.computing().count()
    }

    /// How many heads attend, h.
    pub fn attending(&self) -> usize {
        self.maps.len()
    }

    /// Columns of all heads that compute, `c d_k`.
    pub fn scoring_width(&self) -> usize {
        self.computed() * self.head_size
    }

    /// Columns of all heads that attend, `h d_k`.
    pub fn mixing_width(&self) -> usize {
        self.attending() * self.head_size
    }

    /// Whether every head of the layer computes.
    pub fn computes_all(&self) -> bool {
        self.computed() == self.heads
    }
}
