//! How the heads of a layer score pairs and what they mix, as plain data.

use candle_core::{Result, bail};

/// Deviation of initial weights in BERT and GPT-2.
pub const DEVIATION: f64 = 0.02;

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// Drawn from a normal distribution around 0.
    Normal {
        /// Its standard deviation.
        deviation: f64,
    },
    /// All ones: gains of norms.
    Ones,
    /// All zeros: biases.
    Zeros,
}

impl Initial {
    /// As BERT and GPT-2 start their matrices.
    pub const USUAL: Self = Self::Normal { deviation: DEVIATION };
}

/// One module of an attention layer: what is saved under one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its name within the layer, such as `query`.
    pub module: &'static str,
    /// What it is.
    pub form: PieceForm,
    /// How its weight starts; biases start at zero.
    pub initial: Initial,
}

/// What a module of an attention layer is.
#[derive(Clone, Debug, PartialEq)]
pub enum PieceForm {
    /// A linear map.
    Map {
        /// Numbers that it takes.
        inputs: usize,
        /// Numbers that it gives.
        outputs: usize,
        /// Whether it has a bias.
        bias: bool,
    },
    /// Any other tensor, which lies the same way in every architecture.
    Tensor {
        /// Its shape.
        shape: Vec<usize>,
        /// Whether weight decay applies.
        decay: bool,
    },
}

impl Piece {
    /// A linear map that starts as usual.
    pub fn map(module: &'static str, inputs: usize, outputs: usize, bias: bool) -> Self {
        Self { module, form: PieceForm::Map { inputs, outputs, bias }, initial: Initial::USUAL }
    }

    /// Another tensor.
    pub fn tensor(module: &'static str, shape: &[usize], initial: Initial, decay: bool) -> Self {
        Self { module, form: PieceForm::Tensor { shape: shape.to_vec(), decay }, initial }
    }

    /// The same, starting otherwise.
    #[must_use]
    pub fn starting(self, initial: Initial) -> Self {
        Self { initial, ..self }
    }

    /// Whether it is a tensor or a map of no numbers.
    fn is_empty(&self) -> bool {
        match &self.form {
            PieceForm::Map { outputs, .. } => *outputs == 0,
            PieceForm::Tensor { shape, .. } => shape.contains(&0),
        }
    }
}

/// A matrix with a row for every position, of which heads read columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// What a map makes of the stream; number of its piece.
    Map(usize),
    /// What is made of that; number in [`ScoringForm::derived`].
    Derived(usize),
}

impl Source {
    /// Block `index` of blocks of `count` columns.
    pub const fn block(self, index: usize, count: usize) -> Columns {
        Columns { of: self, first: index * count, count }
    }
}

/// Neighbouring columns. Those of two heads are the same or have none in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Columns {
    /// Of which matrix.
    pub of: Source,
    /// The first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Columns {
    /// Whether some columns are the same.
    pub fn overlaps(self, other: Self) -> bool {
        self.of == other.of && self.first < other.first + other.count && other.first < self.first + self.count
    }

    /// All columns from those of one to those of the other, of the same matrix.
    fn around(self, other: Self) -> Self {
        let first = self.first.min(other.first);
        let end = (self.first + self.count).max(other.first + other.count);
        Self { first, count: end - first, ..self }
    }
}

/// A matrix that is made of the outputs of a map; `of`, `map` and `by` are numbers of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Derived {
    /// The outputs of one map through another one: keys and values of a latent.
    Mapped {
        /// The first.
        of: usize,
        /// The second.
        map: usize,
    },
    /// Each block of columns times a matrix of its own.
    Multiplied {
        /// What has the blocks.
        of: usize,
        /// The matrices. `[blocks, size, size]`
        by: usize,
    },
    /// Some blocks of columns, side by side, each column times a factor of its own.
    Scaled {
        /// What has the blocks.
        of: usize,
        /// The factors. `[blocks size]`
        by: usize,
        /// Which blocks.
        blocks: Vec<usize>,
    },
    /// All columns times the first row of factors, all times the second, and so on, side by side.
    Mixed {
        /// What has the columns, which every head reads.
        of: usize,
        /// The rows. `[rows, columns]`
        by: usize,
    },
}

/// What makes the scores of a head: `query keyᵀ`, and a number for every key on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreColumns {
    /// Its queries.
    pub query: Columns,
    /// Its keys: as many columns.
    pub key: Columns,
    /// What is added to all scores of a key, if anything: one column.
    pub content: Option<Columns>,
}

impl ScoreColumns {
    /// `query keyᵀ` alone.
    pub const fn of(query: Columns, key: Columns) -> Self {
        Self { query, key, content: None }
    }
}

/// What a head that attends reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadColumns {
    /// What makes its scores; none if it borrows its map.
    pub scores: Option<ScoreColumns>,
    /// Its values.
    pub value: Columns,
}

/// How the heads of a layer score pairs and what they mix.
///
/// Queries are read from what the pieces make of the sequence that asks; keys, contents and values from what they make
/// of the sequence that is attended to, which in self-attention is the same one. All that a way to score a pair needs
/// follows from this: its parameters, the operations in a model, their cost, and what a cache keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoringForm {
    /// The modules, in the order of a forward pass.
    pub pieces: Vec<Piece>,
    /// What is made of the outputs of maps.
    pub derived: Vec<Derived>,
    /// The heads that attend, in order.
    pub heads: Vec<HeadColumns>,
    /// Whether the map from the mixed heads back to the stream has no bias.
    pub lacks_output_bias: bool,
}

/// The number of a piece or matrix that was left out: nothing reads it.
const LEFT_OUT: usize = usize::MAX;

impl ScoringForm {
    /// Adds a module and gives its number. What has no numbers is left out.
    pub fn add(&mut self, piece: Piece) -> usize {
        if piece.is_empty() {
            return LEFT_OUT;
        }
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// Adds what is made of a map, unless one of the two was left out.
    pub fn derive(&mut self, derived: Derived) -> Source {
        let ([of, by], _) = derived.pieces();
        if of == LEFT_OUT || by == LEFT_OUT {
            return Source::Derived(LEFT_OUT);
        }
        self.derived.push(derived);
        Source::Derived(self.derived.len() - 1)
    }

    /// Inputs and outputs of a map.
    pub fn map_sizes(&self, piece: usize) -> Option<(usize, usize)> {
        match self.pieces.get(piece)?.form {
            PieceForm::Map { inputs, outputs, .. } => Some((inputs, outputs)),
            PieceForm::Tensor { .. } => None,
        }
    }

    /// Numbers of a tensor.
    fn tensor_size(&self, piece: usize) -> Option<usize> {
        match &self.pieces.get(piece)?.form {
            PieceForm::Map { .. } => None,
            PieceForm::Tensor { shape, .. } => Some(shape.iter().product()),
        }
    }

    /// Columns of a matrix; none if it is not there or does not fit what it is made of.
    pub fn width(&self, source: Source) -> Option<usize> {
        let outputs = |piece: usize| Some(self.map_sizes(piece)?.1);
        match source {
            Source::Map(piece) => outputs(piece),
            Source::Derived(number) => match self.derived.get(number)? {
                Derived::Mapped { map, .. } => outputs(*map),
                Derived::Multiplied { of, .. } => outputs(*of),
                Derived::Scaled { by, .. } | Derived::Mixed { by, .. } => self.tensor_size(*by),
            },
        }
    }

    /// The maps of queries, keys and values, where each head reads its own block of `size` columns of each, one block after
    /// the other, these are all of their columns, and nothing else is read: three maps, or one that has all queries, then all keys, then
    /// all values.
    pub fn plain_maps(&self, size: usize) -> Option<Vec<usize>> {
        let count = self.heads.len();
        let first = self.heads.first()?;
        let score = first.scores?;
        let parts = [score.query, score.key, first.value];
        let is_own = |(number, head): (usize, &HeadColumns)| {
            let [query, key, value] =
                parts.map(|part| Columns { first: part.first + number * size, count: size, ..part });
            head.value == value && head.scores == Some(ScoreColumns::of(query, key))
        };
        if !self.heads.iter().enumerate().all(is_own) {
            return None;
        }
        let map = |part: Columns| if let Source::Map(piece) = part.of { Some(piece) } else { None };
        let maps = parts.map(map).into_iter().collect::<Option<Vec<_>>>()?;
        let [queries, keys, values] = parts.map(|part| part.first);
        let outputs = |piece: usize| self.map_sizes(piece).map(|(_, outputs)| outputs);
        match *maps.as_slice() {
            [q, k, v] if q == k && k == v => {
                let whole = [0, count * size, 2 * count * size] == [queries, keys, values];
                (whole && outputs(q) == Some(3 * count * size)).then(|| vec![q])
            }
            [q, k, v] if q != k && k != v && q != v => {
                let whole = maps.iter().all(|&piece| outputs(piece) == Some(count * size));
                (whole && [queries, keys, values] == [0; 3]).then_some(maps)
            }
            _ => None,
        }
    }

    /// The maps that take the stream, by number.
    pub fn stream_maps(&self) -> impl Iterator<Item = usize> {
        let is_second = |piece: usize| {
            self.derived.iter().any(|derived| matches!(derived, Derived::Mapped { map, .. } if *map == piece))
        };
        let maps = self.pieces.iter().enumerate().filter(|(_, piece)| matches!(piece.form, PieceForm::Map { .. }));
        maps.map(|(number, _)| number).filter(move |number| !is_second(*number))
    }

    /// What the heads that compute read for their scores.
    pub fn scores(&self) -> impl Iterator<Item = &ScoreColumns> {
        self.heads.iter().filter_map(|head| head.scores.as_ref())
    }

    /// What heads read as queries, keys, content biases and values.
    fn roles(&self) -> [Vec<Columns>; 4] {
        let of_scores = |part: fn(&ScoreColumns) -> Option<Columns>| self.scores().filter_map(part).collect();
        [
            of_scores(|scores| Some(scores.query)),
            of_scores(|scores| Some(scores.key)),
            of_scores(|scores| scores.content),
            self.heads.iter().map(|head| head.value).collect(),
        ]
    }

    /// Columns that are read of the stream that asks (queries), and of the stream that is attended to (keys, content biases, values).
    pub fn sides(&self) -> [Vec<Columns>; 2] {
        let [queries, keys, contents, values] = self.roles();
        [queries, [keys, contents, values].concat()]
    }

    /// Whether heads mix the columns of a query that they share.
    pub fn is_mixed(&self) -> bool {
        let mixes = |scores: &ScoreColumns| match scores.query.of {
            Source::Derived(number) => matches!(self.derived.get(number), Some(Derived::Mixed { .. })),
            Source::Map(_) => false,
        };
        self.scores().next().is_some_and(mixes)
    }

    /// The outputs of the maps of the stream in parts: where one map makes queries, keys and values side by side, each
    /// of these is a part.
    pub fn parts(&self) -> Vec<Columns> {
        let mut parts: Vec<Columns> = Vec::new();
        for role in self.roles() {
            let behind = role.iter().filter_map(|columns| self.behind(*columns));
            let Some(mut part) = behind.reduce(Columns::around) else { continue };
            let (common, others) = parts.into_iter().partition::<Vec<_>, _>(|other| other.overlaps(part));
            part = common.into_iter().fold(part, Columns::around);
            parts = others;
            parts.push(part);
        }
        parts.sort_unstable();
        parts
    }

    /// The columns of maps of the stream that stand behind some columns, and which map.
    pub fn behind(&self, columns: Columns) -> Option<Columns> {
        let Source::Derived(number) = columns.of else { return Some(columns) };
        let whole = |of: usize| Some(Columns { of: Source::Map(of), first: 0, count: self.map_sizes(of)?.1 });
        match self.derived.get(number)? {
            Derived::Mapped { of, .. } | Derived::Mixed { of, .. } => whole(*of),
            Derived::Multiplied { of, .. } => Some(Columns { of: Source::Map(*of), ..columns }),
            Derived::Scaled { of, blocks, .. } => {
                let block = blocks.get(columns.first.checked_div(columns.count)?)?;
                Some(Source::Map(*of).block(*block, columns.count))
            }
        }
    }

    /// The map, the factors and the blocks of columns of a derived matrix that is made by scaling.
    pub(super) fn scaling(&self, derived: usize) -> Option<(usize, usize, Vec<usize>)> {
        match self.derived.get(derived)? {
            Derived::Scaled { of, by, blocks } => Some((*of, *by, blocks.clone())),
            Derived::Mixed { of, by } => {
                let rows = self.tensor_size(*by)?.checked_div(self.map_sizes(*of)?.1)?;
                Some((*of, *by, vec![0; rows]))
            }
            Derived::Mapped { .. } | Derived::Multiplied { .. } => None,
        }
    }

    /// What has to be known of a position that others attend to: columns of the maps of the stream, each once, in order.
    pub fn memory(&self) -> Vec<Columns> {
        let scores = self.scores().flat_map(|scores| [Some(scores.key), scores.content].into_iter().flatten());
        let read = scores.chain(self.heads.iter().map(|head| head.value));
        let mut columns: Vec<Columns> = read.filter_map(|columns| self.behind(columns)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Numbers that a cache keeps of every token: the columns of [`ScoringForm::memory`].
    pub fn numbers_per_token(&self) -> usize {
        self.memory().iter().map(|columns| columns.count).sum()
    }
}

impl Derived {
    /// The map whose outputs it takes and the piece that it takes them through, and whether that is a map too.
    pub fn pieces(&self) -> ([usize; 2], bool) {
        match *self {
            Self::Mapped { of, map } => ([of, map], true),
            Self::Multiplied { of, by } | Self::Scaled { of, by, .. } | Self::Mixed { of, by } => ([of, by], false),
        }
    }
}

impl ScoringForm {
    /// Refuses a form whose parts do not fit together.
    ///
    /// # Errors
    /// What does not fit, with the name of the module.
    pub(super) fn check(&self) -> Result<()> {
        for derived in &self.derived {
            self.check_derived(derived)?;
        }
        for (what, columns) in ["queries", "keys", "content biases", "values"].into_iter().zip(self.roles()) {
            let Some(first) = columns.first() else { continue };
            for of_head in &columns {
                let width = self.width(of_head.of).unwrap_or(0);
                if (of_head.of, of_head.count) != (first.of, first.count)
                    || of_head.count == 0
                    || of_head.first % of_head.count != 0
                    || of_head.first + of_head.count > width
                {
                    bail!("The {what} of a layer should be blocks of one matrix, as wide as the first: {columns:?}.")
                }
            }
        }
        let is_bad = |scores: &ScoreColumns| {
            scores.query.count != scores.key.count || scores.content.is_some_and(|content| content.count != 1)
        };
        if self.scores().any(is_bad) {
            bail!("A query should be as wide as its key, and a content bias one column.")
        }
        Ok(())
    }

    fn check_derived(&self, derived: &Derived) -> Result<()> {
        let ([of, by], _) = derived.pieces();
        let name = self.pieces.get(by).map_or("a missing module", |piece| piece.module);
        let Some((_, width)) = self.map_sizes(of).filter(|_| self.stream_maps().any(|map| map == of)) else {
            bail!("\"{name}\" is to be applied to what no map makes of the stream.")
        };
        let fits = match derived {
            Derived::Mapped { map, .. } => self.map_sizes(*map).is_some_and(|(inputs, _)| inputs == width),
            Derived::Multiplied { by, .. } => match self.pieces.get(*by).map(|piece| &piece.form) {
                Some(PieceForm::Tensor { shape, .. }) => {
                    matches!(*shape.as_slice(), [blocks, rows, columns] if rows == columns && blocks * rows == width)
                }
                _ => false,
            },
            Derived::Scaled { by, blocks, .. } => self.tensor_size(*by).is_some_and(|factors| {
                let size = factors.checked_div(blocks.len()).unwrap_or(0);
                size > 0 && size * blocks.len() == factors && blocks.iter().all(|block| (block + 1) * size <= width)
            }),
            Derived::Mixed { by, .. } => {
                self.tensor_size(*by).is_some_and(|factors| width > 0 && factors > 0 && factors % width == 0)
            }
        };
        if fits { Ok(()) } else { bail!("\"{name}\" does not fit the {width} columns that it is to be applied to.") }
    }
}
