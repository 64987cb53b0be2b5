use std::collections::BTreeSet;

/// A column: how it is called and laid out. The cells are drawn by the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// Stable name, kept in the settings: "loss.last".
    pub id: &'a str,
    /// The header: "Last loss".
    pub title: &'a str,
    /// What the column means, with its formula and unit; shown on hover. May be empty.
    pub help: &'a str,
    /// Width at first, in points; the user can drag it.
    pub width: f32,
    /// Numbers stand on the right.
    pub numeric: bool,
    /// Whether a click on the header sorts.
    pub sortable: bool,
    /// Whether the user may hide it. The column that names the row should stay.
    pub hideable: bool,
    /// The header where it is shorter than the title.
    pub short: &'a str,
    /// Takes the room that is left over; its width is the least.
    pub grows: bool,
    /// Never narrower than its width: what it holds would be cut.
    pub keeps: bool,
    /// Which columns give way where there is no room for all: those of the highest rank first, those of rank 0 never.
    pub rank: u8,
}

impl<'a> Column<'a> {
    /// A sortable, hideable column of text.
    pub fn text(id: &'a str, title: &'a str, width: f32) -> Self {
        Self {
            id,
            title,
            help: "",
            width,
            numeric: false,
            sortable: true,
            hideable: true,
            short: title,
            grows: false,
            keeps: false,
            rank: 0,
        }
    }

    /// A sortable, hideable column of numbers.
    pub fn number(id: &'a str, title: &'a str, width: f32) -> Self {
        Self { numeric: true, ..Self::text(id, title, width) }
    }

    /// With an explanation.
    pub fn help(mut self, help: &'a str) -> Self {
        self.help = help;
        self
    }

    /// With a shorter header.
    pub fn short(mut self, header: &'a str) -> Self {
        self.short = header;
        self
    }

    /// Takes the room that is left over.
    pub fn grows(mut self) -> Self {
        self.grows = true;
        self
    }

    /// Never narrower than its width.
    pub fn keeps(mut self) -> Self {
        self.keeps = true;
        self
    }

    /// Gives way where there is no room, the higher the sooner.
    pub fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// Never hidden.
    pub fn always(mut self) -> Self {
        self.hideable = false;
        self
    }

    /// Never sorted by: swatches, buttons.
    pub fn unsorted(mut self) -> Self {
        self.sortable = false;
        self
    }
}

/// The ids of the columns for which there is no room in `width` points with `gap` between two, so that nothing has to be
/// scrolled sideways.
pub fn without_room<'a>(columns: &[Column<'a>], width: f32, gap: f32) -> BTreeSet<&'a str> {
    let mut left: Vec<&Column<'a>> = columns.iter().collect();
    let mut without = BTreeSet::new();
    while left.iter().map(|column| column.width + gap).sum::<f32>() > width + gap {
        let Some(at) = (0..left.len()).rev().max_by_key(|&at| left.get(at).map(|column| column.rank)) else { break };
        if left.get(at).is_none_or(|column| column.rank == 0) {
            break;
        }
        without.insert(left.remove(at).id);
    }
    without
}
