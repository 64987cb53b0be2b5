use std::collections::BTreeMap;

/// A head of a layer; both count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeadSpot {
    /// Layer, 0 next to the embeddings.
    pub layer: usize,
    /// Head within the layer.
    pub head: usize,
}

impl HeadSpot {
    /// The head `head` of layer `layer`.
    pub const fn new(layer: usize, head: usize) -> Self {
        Self { layer, head }
    }
}

impl std::fmt::Display for HeadSpot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "layer {} head {}", self.layer, self.head)
    }
}

/// What a head does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadCell {
    /// It computes its own map.
    Computes,
    /// It uses another head's map.
    Borrows {
        /// The direct lender.
        from: HeadSpot,
        /// The head that computed the map.
        origin: HeadSpot,
    },
    /// It is similar to the others of its group; groups count from 0.
    Alike {
        /// The group.
        group: usize,
    },
    /// It is in no group.
    Alone,
    /// It does not exist.
    Skips,
    /// What is written down for it cannot be; [`HeadGrid::reason`] says why.
    Wrong,
}

/// A table of heads, a row a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadGrid {
    heads: usize,
    cells: Vec<HeadCell>,
    /// How many use the map that each head computes.
    users: Vec<usize>,
    reasons: BTreeMap<HeadSpot, String>,
    /// For each head the number of the lender whose map it uses; empty: lenders are not told apart.
    families: Vec<Option<usize>>,
}

impl HeadGrid {
    /// A table of `heads` heads a layer; `cells` row by row, layer 0 first. A last row that is not full is left out.
    pub fn new(heads: usize, mut cells: Vec<HeadCell>) -> Self {
        cells.truncate(cells.len().checked_div(heads).unwrap_or(0) * heads);
        let mut grid =
            Self { heads, users: vec![0; cells.len()], cells, reasons: BTreeMap::new(), families: Vec::new() };
        for cell in &grid.cells {
            if let HeadCell::Borrows { origin, .. } = cell
                && let Some(users) = grid.index(*origin).and_then(|index| grid.users.get_mut(index))
            {
                *users += 1;
            }
        }
        grid
    }

    /// Tells lenders apart: each gets a colour together with the heads that use its map.
    pub fn by_lender(mut self) -> Self {
        let lenders: Vec<usize> =
            (0..self.cells.len()).filter(|at| self.users.get(*at).is_some_and(|n| *n > 0)).collect();
        let family = |place: usize| lenders.iter().position(|lender| *lender == place);
        let own = |(place, cell): (usize, &HeadCell)| match cell {
            HeadCell::Borrows { origin, .. } => self.index(*origin).and_then(family),
            _ => family(place),
        };
        self.families = self.cells.iter().enumerate().map(own).collect();
        self
    }

    /// Whether lenders are told apart.
    pub(super) fn has_families(&self) -> bool {
        self.families.iter().any(Option::is_some)
    }

    /// The number of the lender whose map a head uses, where lenders are told apart.
    pub(super) fn family(&self, at: HeadSpot) -> Option<usize> {
        self.families.get(self.index(at)?).copied().flatten()
    }

    /// Marks a head as impossible, and why.
    pub fn mark(&mut self, at: HeadSpot, why: impl Into<String>) {
        if let Some(index) = self.index(at) {
            self.cells.splice(index..=index, [HeadCell::Wrong]);
            self.reasons.insert(at, why.into());
        }
    }

    /// Why a head is impossible.
    pub fn reason(&self, at: HeadSpot) -> Option<&str> {
        self.reasons.get(&at).map(String::as_str)
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.cells.len().checked_div(self.heads).unwrap_or(0)
    }

    /// Heads of a layer.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// A head's cell; none outside the table.
    pub fn cell(&self, at: HeadSpot) -> Option<HeadCell> {
        self.cells.get(self.index(at)?).copied()
    }

    fn index(&self, at: HeadSpot) -> Option<usize> {
        (at.head < self.heads && at.layer < self.layers()).then(|| at.layer * self.heads + at.head)
    }

    /// Every head with its cell, layer by layer.
    pub fn iter(&self) -> impl Iterator<Item = (HeadSpot, HeadCell)> + '_ {
        let heads = self.heads.max(1);
        self.cells.iter().enumerate().map(move |(i, cell)| (HeadSpot::new(i / heads, i % heads), *cell))
    }

    /// The heads that use the map computed by `origin`.
    pub fn users(&self, origin: HeadSpot) -> impl Iterator<Item = HeadSpot> + '_ {
        self.iter().filter_map(move |(at, cell)| match cell {
            HeadCell::Borrows { origin: found, .. } if found == origin => Some(at),
            _ => None,
        })
    }

    /// Heads that compute, borrow, are off, are in a group and in none.
    pub fn counts(&self) -> [usize; 5] {
        let count = |is: fn(&HeadCell) -> bool| self.cells.iter().filter(|cell| is(cell)).count();
        [
            count(|cell| matches!(cell, HeadCell::Computes)),
            count(|cell| matches!(cell, HeadCell::Borrows { .. })),
            count(|cell| matches!(cell, HeadCell::Skips)),
            count(|cell| matches!(cell, HeadCell::Alike { .. })),
            count(|cell| matches!(cell, HeadCell::Alone)),
        ]
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        let group = |cell: &HeadCell| if let HeadCell::Alike { group } = cell { Some(group + 1) } else { None };
        self.cells.iter().filter_map(group).max().unwrap_or(0)
    }

    /// Whether every head computes.
    pub fn is_plain(&self) -> bool {
        self.cells.iter().all(|cell| matches!(cell, HeadCell::Computes))
    }

    /// What a head does, in words: "layer 3 head 1 borrows from layer 2 head 0, computed in layer 0 head 0".
    pub fn words(&self, at: HeadSpot) -> String {
        match self.cell(at) {
            None => format!("there is no {at}"),
            Some(HeadCell::Computes) => {
                let users = self.index(at).and_then(|index| self.users.get(index)).copied().unwrap_or(0);
                let used = match users {
                    0 => String::new(),
                    1 => ", used by 1 other head".to_owned(),
                    _ => format!(", used by {users} other heads"),
                };
                format!("{at} computes its own map{used}")
            }
            Some(HeadCell::Borrows { from, origin }) if from == origin => format!("{at} borrows the map of {from}"),
            Some(HeadCell::Borrows { from, origin }) => format!("{at} borrows from {from}, computed in {origin}"),
            Some(HeadCell::Alike { group }) => {
                let is_of_it = |cell: &&HeadCell| matches!(cell, HeadCell::Alike { group: other } if *other == group);
                let others = self.cells.iter().filter(is_of_it).count().saturating_sub(1);
                let heads = if others == 1 { "head" } else { "heads" };
                format!("{at} is in group {}, with {others} other {heads}", group_letters(group))
            }
            Some(HeadCell::Alone) => format!("{at} is in no group"),
            Some(HeadCell::Skips) => format!("{at} is off: it has no map, no values and no output"),
            Some(HeadCell::Wrong) => {
                format!("{at} is invalid: {}", self.reason(at).unwrap_or("its entry has no meaning"))
            }
        }
    }
}

/// What a group is called: A to Z, then AA, AB and so on.
pub fn group_letters(group: usize) -> String {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8);
    if group < 26 { letter(group).to_string() } else { format!("{}{}", group_letters(group / 26 - 1), letter(group)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> HeadGrid {
        let first = HeadSpot::new(0, 0);
        let borrow = |from| HeadCell::Borrows { from, origin: first };
        let c = HeadCell::Computes;
        HeadGrid::new(2, vec![c, c, c, borrow(first), borrow(HeadSpot::new(1, 1)), HeadCell::Skips, c])
    }

    #[test]
    fn a_table_knows_its_size_and_what_each_head_does() {
        let grid = grid();
        assert_eq!((grid.layers(), grid.heads()), (3, 2), "the row that is not full is left out");
        assert_eq!(grid.cell(HeadSpot::new(2, 1)), Some(HeadCell::Skips));
        assert_eq!((grid.cell(HeadSpot::new(3, 0)), grid.cell(HeadSpot::new(0, 2))), (None, None));
        assert_eq!(grid.counts(), [3, 2, 1, 0, 0]);
        assert!(!grid.is_plain() && HeadGrid::default().is_plain());
        assert_eq!(grid.users(HeadSpot::new(0, 0)).collect::<Vec<_>>(), [HeadSpot::new(1, 1), HeadSpot::new(2, 0)]);
        assert_eq!(HeadGrid::new(0, vec![HeadCell::Skips]).layers(), 0);
    }

    #[test]
    fn a_lender_and_those_that_use_its_map_are_one_family() {
        let (grid, plain) = (grid().by_lender(), grid());
        let of = |layer, head| grid.family(HeadSpot::new(layer, head));
        assert_eq!([of(0, 0), of(1, 1), of(2, 0)], [Some(0); 3]);
        assert_eq!([of(0, 1), of(1, 0), of(2, 1)], [None; 3]);
        assert_eq!(plain.family(HeadSpot::new(0, 0)), None);
    }

    #[test]
    fn words_name_the_lender_and_the_head_that_computed() {
        let mut grid = grid();
        let words = |grid: &HeadGrid, layer, head| grid.words(HeadSpot::new(layer, head));
        assert_eq!(words(&grid, 2, 0), "layer 2 head 0 borrows from layer 1 head 1, computed in layer 0 head 0");
        assert_eq!(words(&grid, 1, 1), "layer 1 head 1 borrows the map of layer 0 head 0");
        assert_eq!(words(&grid, 0, 0), "layer 0 head 0 computes its own map, used by 2 other heads");
        assert!(words(&grid, 2, 1).contains("is off"));
        grid.mark(HeadSpot::new(1, 0), "it borrows from itself");
        assert_eq!(words(&grid, 1, 0), "layer 1 head 0 is invalid: it borrows from itself");
        grid.mark(HeadSpot::new(9, 0), "outside");
        assert_eq!(grid.reason(HeadSpot::new(9, 0)), None);
    }

    #[test]
    fn groups_are_named_and_say_how_many_are_in_them() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(group_letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
        let (a, b) = (HeadCell::Alike { group: 0 }, HeadCell::Alike { group: 1 });
        let grid = HeadGrid::new(3, vec![a, b, HeadCell::Alone, a, b, a]);
        assert_eq!(grid.words(HeadSpot::new(0, 0)), "layer 0 head 0 is in group A, with 2 other heads");
        assert_eq!(grid.words(HeadSpot::new(1, 1)), "layer 1 head 1 is in group B, with 1 other head");
        assert_eq!(grid.words(HeadSpot::new(0, 2)), "layer 0 head 2 is in no group");
        assert_eq!((grid.counts(), grid.is_plain()), ([0, 0, 0, 5, 1], false));
    }
}
