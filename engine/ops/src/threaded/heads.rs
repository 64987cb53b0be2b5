//! Which columns of the working matrices every head reads, and which heads write gradients to the same place.

use std::collections::BTreeSet;

/// One of the matrices that heads read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// What the projections give of the sequence that asks, which in self-attention is attended to as well.
    Projected,
    /// What is made of that.
    Derived,
    /// What the projections give of another sequence that is attended to.
    MemoryProjected,
    /// What is made of that.
    MemoryDerived,
}

impl Side {
    /// What is made of the sequence that asks.
    pub const ASKING: [Self; 2] = [Self::Projected, Self::Derived];
    /// What is made of another one that is attended to.
    pub const MEMORY: [Self; 2] = [Self::MemoryProjected, Self::MemoryDerived];

    /// Whether it is made of another sequence than the one that asks.
    pub fn is_memory(self) -> bool {
        Self::MEMORY.contains(&self)
    }
}

/// A block of columns. Two blocks of heads are the same or have no column in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Columns {
    /// Of which matrix.
    pub side: Side,
    /// The first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// What a head scores with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnScores {
    /// Its queries.
    pub query: Columns,
    /// Its keys: as many columns.
    pub key: Columns,
    /// What is added to all scores of a key: one column.
    pub bias: Option<Columns>,
    /// Its number among the heads that compute.
    pub place: usize,
}

/// Where a head's map comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadScores {
    /// `query keyᵀ`, and a number for every key on top.
    Own(OwnScores),
    /// The map of another layer.
    Lent {
        /// Which of the layers that lend.
        lender: usize,
        /// The head's number among those that compute there.
        place: usize,
    },
}

/// A head that attends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreHead {
    /// Its map.
    pub scores: HeadScores,
    /// Its values.
    pub value: Columns,
}

impl CoreHead {
    /// The blocks that it reads.
    pub fn blocks(&self) -> Vec<Columns> {
        let mut blocks = vec![self.value];
        if let HeadScores::Own(OwnScores { query, key, bias, .. }) = self.scores {
            blocks.extend([query, key]);
            blocks.extend(bias);
        }
        blocks
    }
}

/// Heads whose gradients meet: one task for each example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadGroup {
    /// Heads, by number.
    pub heads: Vec<usize>,
    /// The blocks they read.
    pub blocks: Vec<Columns>,
    /// The lent maps they use: lender and place.
    pub lent: Vec<(usize, usize)>,
}

impl HeadGroup {
    fn meets(&self, other: &Self) -> bool {
        self.blocks.iter().any(|block| other.blocks.contains(block))
            || self.lent.iter().any(|lent| other.lent.contains(lent))
    }

    fn take(&mut self, other: Self) {
        self.heads.extend(other.heads);
        for block in other.blocks {
            if !self.blocks.contains(&block) {
                self.blocks.push(block);
            }
        }
        for lent in other.lent {
            if !self.lent.contains(&lent) {
                self.lent.push(lent);
            }
        }
    }
}

/// The heads of a layer that attend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreHeads {
    heads: Vec<CoreHead>,
    groups: Vec<HeadGroup>,
    blocks: Vec<Columns>,
}

impl CoreHeads {
    /// Finds the groups.
    pub fn new(heads: Vec<CoreHead>) -> Self {
        let mut groups: Vec<HeadGroup> = Vec::new();
        for (number, head) in heads.iter().enumerate() {
            let lent = match head.scores {
                HeadScores::Own(_) => Vec::new(),
                HeadScores::Lent { lender, place } => vec![(lender, place)],
            };
            let mut group = HeadGroup::default();
            group.take(HeadGroup { heads: vec![number], blocks: head.blocks(), lent });
            let (meeting, apart) = groups.into_iter().partition::<Vec<_>, _>(|other| other.meets(&group));
            groups = apart;
            for other in meeting {
                group.take(other);
            }
            group.heads.sort_unstable();
            groups.push(group);
        }
        groups.sort_by_key(|group| group.heads.first().copied());
        let blocks: BTreeSet<Columns> = groups.iter().flat_map(|group| group.blocks.iter().copied()).collect();
        Self { heads, groups, blocks: blocks.into_iter().collect() }
    }

    /// The heads.
    pub fn all(&self) -> &[CoreHead] {
        &self.heads
    }

    /// How many attend.
    pub fn count(&self) -> usize {
        self.heads.len()
    }

    /// How many compute a map.
    pub fn computed(&self) -> usize {
        self.heads.iter().filter(|head| matches!(head.scores, HeadScores::Own(_))).count()
    }

    /// Multiply-accumulates of the scores of one pair of positions, over all heads.
    pub fn score_width(&self) -> usize {
        let width = |head: &CoreHead| match head.scores {
            HeadScores::Own(own) => own.query.count,
            HeadScores::Lent { .. } => 0,
        };
        self.heads.iter().map(width).sum()
    }

    /// Heads whose gradients meet.
    pub fn groups(&self) -> &[HeadGroup] {
        &self.groups
    }

    /// All blocks, matrix by matrix and from left to right.
    pub fn blocks(&self) -> &[Columns] {
        &self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(first: usize) -> Columns {
        Columns { side: Side::Projected, first, count: 4 }
    }

    fn own(query: usize, key: usize, value: usize, place: usize) -> CoreHead {
        let scores = HeadScores::Own(OwnScores { query: columns(query), key: columns(key), bias: None, place });
        CoreHead { scores, value: columns(value) }
    }

    fn groups(heads: Vec<CoreHead>) -> Vec<Vec<usize>> {
        CoreHeads::new(heads).groups().iter().map(|group| group.heads.clone()).collect()
    }

    #[test]
    fn heads_with_columns_of_their_own_are_apart() {
        assert_eq!(groups(vec![own(0, 8, 16, 0), own(4, 12, 20, 1)]), [[0], [1]]);
        // Queries that are keys too.
        let symmetric = CoreHeads::new(vec![own(0, 0, 8, 0), own(4, 4, 12, 1)]);
        assert_eq!(symmetric.groups().len(), 2);
        assert_eq!(symmetric.blocks().len(), 4);
        assert_eq!((symmetric.count(), symmetric.computed(), symmetric.score_width()), (2, 2, 8));
    }

    #[test]
    fn heads_that_share_anything_even_by_way_of_others_are_together() {
        assert_eq!(groups(vec![own(0, 40, 60, 0), own(4, 44, 64, 1), own(8, 44, 60, 2)]), [[0, 1, 2]]);
        let lent = |place, value| CoreHead { scores: HeadScores::Lent { lender: 0, place }, value: columns(value) };
        assert_eq!(groups(vec![lent(0, 0), lent(1, 4), lent(0, 8)]), [vec![0, 2], vec![1]]);
    }
}
