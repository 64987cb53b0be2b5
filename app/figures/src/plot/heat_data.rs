use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

/// Values of a rectangle of cells, row by row; NaN where there is none. Cloning shares them.
#[derive(Clone, Debug)]
pub struct HeatData(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    version: u64,
    extent: Extent,
    whole: Level,
    /// Half the size each, until one is a single cell; made when they are first needed.
    pooled: OnceLock<Vec<Level>>,
}

/// What values there are; NaN where there are none of the kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The smallest finite one.
    pub least: f32,
    /// The smallest above zero.
    pub least_positive: f32,
    /// The largest finite one.
    pub most: f32,
    /// Whether any is NaN.
    pub has_gaps: bool,
}

impl Extent {
    /// That of a map without a value.
    pub const NONE: Self = Self { least: f32::NAN, least_positive: f32::NAN, most: f32::NAN, has_gaps: false };

    /// That of two maps together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            least_positive: self.least_positive.min(other.least_positive),
            most: self.most.max(other.most),
            has_gaps: self.has_gaps || other.has_gaps,
        }
    }
}

/// The values at one size.
#[derive(Debug)]
pub struct Level {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f32>,
}

impl Default for HeatData {
    fn default() -> Self {
        Self::new(0, 0, Vec::new())
    }
}

impl HeatData {
    /// `rows` x `columns` values, row by row; what is missing at the end is NaN, what is too much is left out.
    pub fn new(rows: usize, columns: usize, mut values: Vec<f32>) -> Self {
        values.resize(rows * columns, f32::NAN);
        let extent = values.iter().fold(Extent::NONE, |found, &value| Extent {
            // `min` and `max` of a number and NaN are the number.
            least: if value.is_finite() { found.least.min(value) } else { found.least },
            least_positive: if value > 0.0 { found.least_positive.min(value) } else { found.least_positive },
            most: if value.is_finite() { found.most.max(value) } else { found.most },
            has_gaps: found.has_gaps || value.is_nan(),
        });
        Self(Arc::new(Inner {
            version: NEXT_VERSION.fetch_add(1, Ordering::Relaxed),
            extent,
            whole: Level { rows, columns, values },
            pooled: OnceLock::new(),
        }))
    }

    /// The same of double precision.
    pub fn from_f64(rows: usize, columns: usize, values: &[f64]) -> Self {
        Self::new(rows, columns, values.iter().map(|&value| value as f32).collect())
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.0.whole.rows
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.0.whole.columns
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f32] {
        &self.0.whole.values
    }

    /// What values there are.
    pub fn extent(&self) -> Extent {
        self.0.extent
    }

    /// A value; NaN outside.
    pub fn at(&self, row: usize, column: usize) -> f32 {
        self.0.whole.at(row, column)
    }

    /// Equal versions are equal values.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// How often the map can be halved.
    pub fn levels(&self) -> usize {
        let longest = self.rows().max(self.columns()).max(1);
        longest.next_power_of_two().trailing_zeros() as usize + 1
    }

    /// The values, halved so many times: a cell is the value furthest from zero of the 2 x 2 that it stands for, so that
    /// a single large one is seen from any distance.
    pub fn level(&self, halved: usize) -> &Level {
        let Some(place) = halved.checked_sub(1) else { return &self.0.whole };
        let pooled = self.0.pooled.get_or_init(|| {
            let mut levels: Vec<Level> = Vec::new();
            for _ in 1..self.levels() {
                let next = levels.last().unwrap_or(&self.0.whole).halved();
                levels.push(next);
            }
            levels
        });
        pooled.get(place).or(pooled.last()).unwrap_or(&self.0.whole)
    }
}

impl PartialEq for HeatData {
    fn eq(&self, other: &Self) -> bool {
        self.version() == other.version()
    }
}

impl Level {
    pub fn at(&self, row: usize, column: usize) -> f32 {
        if row >= self.rows || column >= self.columns {
            return f32::NAN;
        }
        self.values.get(row * self.columns + column).copied().unwrap_or(f32::NAN)
    }

    fn halved(&self) -> Self {
        let (rows, columns) = (self.rows.div_ceil(2), self.columns.div_ceil(2));
        let mut values = Vec::with_capacity(rows * columns);
        for pair in self.values.chunks(2 * self.columns.max(1)) {
            let (above, below) = pair.split_at(self.columns.min(pair.len()));
            for column in 0..columns {
                let cells = |row: &[f32]| {
                    let first = row.get(2 * column).copied().unwrap_or(f32::NAN);
                    further(first, row.get(2 * column + 1).copied().unwrap_or(f32::NAN))
                };
                values.push(further(cells(above), cells(below)));
            }
        }
        Self { rows, columns, values }
    }
}

/// The one further from zero; NaN only of two.
fn further(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.abs() > a.abs() { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_spike_is_seen_at_every_level() {
        let (rows, columns) = (37, 70);
        let mut values = vec![0.1; rows * columns];
        values[36 * columns + 69] = -5.0;
        values[0] = f32::NAN;
        let data = HeatData::new(rows, columns, values);
        assert_eq!(data.levels(), 8);
        for halved in 0..data.levels() {
            let level = data.level(halved);
            assert_eq!((level.rows, level.columns), (37_usize.div_ceil(1 << halved), 70_usize.div_ceil(1 << halved)));
            assert_eq!(level.values.len(), level.rows * level.columns);
            assert_eq!(level.at(level.rows - 1, level.columns - 1), -5.0, "halved {halved} times");
        }
        assert_eq!(data.level(1).at(0, 0), 0.1, "a gap beside a value is no gap");
        assert_eq!(data.level(99).values.len(), 1);
    }

    #[test]
    fn extents_leave_out_what_is_no_number() {
        let data = HeatData::new(2, 3, vec![0.5, f32::NAN, f32::INFINITY, -0.25, 0.0]);
        let Extent { least, least_positive, most, has_gaps } = data.extent();
        assert_eq!((least, least_positive, most, has_gaps), (-0.25, 0.5, 0.5, true));
        assert!(data.at(1, 2).is_nan() && data.at(2, 0).is_nan() && data.at(0, 3).is_nan());
        let nothing = HeatData::default();
        assert_eq!((nothing.levels(), nothing.level(3).values.len()), (1, 0));
        assert!(nothing.extent().most.is_nan());
    }
}
