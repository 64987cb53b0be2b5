use std::sync::Arc;

/// What was kept of the positions that all rows of a source attend to: of a prompt, or of what an encoder read. Once for a
/// source, however many rows there are, and without padding.
#[derive(Clone, Debug)]
pub struct SharedRows {
    pub(super) data: Arc<Vec<f32>>,
    /// Numbers of a position.
    pub(super) width: usize,
    /// The first position of each source and how many it has.
    pub(super) spans: Arc<Vec<(usize, usize)>>,
}

impl SharedRows {
    /// Rows of `width` numbers; `spans` says for each source where its positions begin and how many there are.
    pub fn new(data: Arc<Vec<f32>>, width: usize, spans: Arc<Vec<(usize, usize)>>) -> Self {
        Self { data, width, spans }
    }

    /// The positions of a source.
    pub(super) fn span(&self, source: usize) -> (usize, usize) {
        self.spans.get(source).copied().unwrap_or_default()
    }

    /// What is allocated for it.
    pub fn bytes(&self) -> u64 {
        (self.data.capacity() * size_of::<f32>()) as u64
    }

    /// Whether both are the same numbers in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }
}

/// What was kept of the tokens that rows have written, in places that never move: which of them are a row's own past, a
/// [`Past`] says, so that nothing is copied where rows go on from others.
#[derive(Clone, Debug)]
pub struct WrittenRows {
    pub(super) data: Vec<f32>,
    pub(super) width: usize,
}

impl WrittenRows {
    /// Room for as many tokens.
    pub fn with_room(tokens: usize, width: usize) -> Self {
        Self { data: vec![0.0; tokens * width], width }
    }

    /// The numbers of a place, which is made if there was no room for it.
    pub(super) fn place(&mut self, place: usize) -> &mut [f32] {
        let end = (place + 1) * self.width;
        if self.data.len() < end {
            self.data.resize(end, 0.0);
        }
        &mut self.data[end - self.width..end]
    }

    /// What is allocated for it.
    pub fn bytes(&self) -> u64 {
        (self.data.capacity() * size_of::<f32>()) as u64
    }

    /// What as many tokens take of it.
    pub fn bytes_of(&self, tokens: usize) -> u64 {
        (tokens * self.width * size_of::<f32>()) as u64
    }
}

/// Where the past of each row stands, the same for all layers.
#[derive(Clone, Debug, Default)]
pub struct Past {
    rows: Vec<PastRow>,
    written: u32,
}

#[derive(Clone, Debug)]
struct PastRow {
    source: usize,
    places: Vec<u32>,
}

/// Neighbouring rows of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub source: usize,
    pub first: usize,
    pub rows: usize,
}

impl Past {
    /// One row for each source, which has written nothing.
    pub fn of_sources(sources: usize) -> Self {
        Self { rows: (0..sources).map(|source| PastRow { source, places: Vec::new() }).collect(), written: 0 }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Places that were taken so far, by rows that do not go on too.
    pub fn places_taken(&self) -> usize {
        self.written as usize
    }

    /// Tokens that a row has written.
    pub fn written(&self, row: usize) -> usize {
        self.rows.get(row).map_or(0, |row| row.places.len())
    }

    /// The source of a row.
    pub fn source(&self, row: usize) -> usize {
        self.rows.get(row).map_or(0, |row| row.source)
    }

    /// Rows that go on from others: row i from `parents[i]`.
    pub fn select(&mut self, parents: &[usize]) {
        self.rows = parents.iter().filter_map(|parent| self.rows.get(*parent)).cloned().collect();
    }

    /// A place for one more token of every row, in order; the first of them.
    pub(super) fn grow(&mut self) -> u32 {
        let first = self.written;
        for (place, row) in (first..).zip(&mut self.rows) {
            row.places.push(place);
        }
        self.written += self.rows.len() as u32;
        first
    }

    pub(super) fn places(&self, row: usize) -> &[u32] {
        self.rows.get(row).map_or(&[], |row| &row.places)
    }

    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if run.source == row.source => run.rows += 1,
                _ => runs.push(Run { source: row.source, first: at, rows: 1 }),
            }
        }
        runs
    }
}
