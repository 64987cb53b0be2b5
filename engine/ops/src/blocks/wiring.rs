//! From a form to the columns that heads read in the fused operation.

use std::collections::BTreeMap;

use candle_core::{Result, Tensor, bail};

use super::form::{Columns, Derived, ScoreColumns, ScoringForm, Source};
use super::open::{InOrder, affine_tensors, check_affine};
use super::projections::{HeadMap, HeadProjections};
use crate::Affine;
use crate::threaded::{
    self, BlockMatrices, CoreHead, Derivation, DerivationSlots, Factors, HeadScores, OwnScores, ProjectionSlots, Run,
    Scaled, SecondMap, Side, Slot,
};

/// What heads read of the sequences of a layer, and which columns each of them.
pub(super) struct Wiring {
    /// Of the stream: queries alone where another sequence is attended to.
    pub asking: ProjectionParts,
    /// Of another sequence that is attended to; none in self-attention.
    pub memory: Option<ProjectionParts>,
    pub heads: Vec<CoreHead>,
    /// The layers whose maps are borrowed, each once.
    pub lenders: Vec<usize>,
}

/// What heads read of a sequence; see [`threaded::Projections`].
pub(super) struct ProjectionParts {
    /// The maps that the sequence goes through, whose outputs stand side by side.
    pub maps: Vec<Affine>,
    pub derivation: DerivationParts,
    unread: Vec<Run>,
}

impl ProjectionParts {
    /// In the order in which values and gradients are handed out.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let maps = self.maps.iter().flat_map(affine_tensors);
        maps.chain(self.derivation.tensors()).chain(self.derivation.maps().iter().flat_map(affine_tensors))
    }

    /// The same with the values of its tensors and maps.
    ///
    /// # Errors
    /// If they are not as many.
    pub fn open<'a, T>(&'a self, values: &mut InOrder<&'a [T]>) -> Result<threaded::Projections<'a, T>> {
        Ok(threaded::Projections {
            maps: self.maps.iter().map(|map| values.affine(map)).collect::<Result<_>>()?,
            derivation: self.derivation.open(values)?,
            unread: &self.unread,
        })
    }

    /// Where its gradients go.
    ///
    /// # Errors
    /// If there are not as many places.
    pub fn slots<'a, T>(&self, next: &mut InOrder<Option<Slot<'a, T>>>) -> Result<ProjectionSlots<'a, T>> {
        Ok(ProjectionSlots {
            maps: self.maps.iter().map(|map| next.affine(map)).collect::<Result<_>>()?,
            derivation: DerivationSlots {
                tensors: self.derivation.tensors().map(|_| next.take()).collect::<Result<_>>()?,
                maps: self.derivation.maps().iter().map(|map| next.affine(map)).collect::<Result<_>>()?,
            },
        })
    }
}

/// Of which of its roles a sequence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// It asks and is attended to.
    All,
    /// It asks: queries.
    Queries,
    /// It is attended to: keys, contents and values.
    Memory,
}

/// The parameters between projections and scores; see [`Derivation`].
#[derive(Default)]
pub(super) struct DerivationParts {
    matrices: Vec<MatricesParts>,
    runs: Vec<Run>,
    factors: Vec<(Tensor, Option<Tensor>)>,
    cleared: Vec<Run>,
    maps: Vec<Affine>,
    /// Of each map: the columns that it takes, and whether they have a gradient already.
    taken: Vec<(Run, bool)>,
}

struct MatricesParts {
    first: usize,
    size: usize,
    matrices: Tensor,
    adds: bool,
}

impl DerivationParts {
    /// Its tensors, in the order in which [`threaded::DerivationSlots`] has slots for them.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let factors = self.factors.iter().flat_map(|(by, and)| [Some(by), and.as_ref()]).flatten();
        self.matrices.iter().map(|parts| &parts.matrices).chain(factors)
    }

    /// Its maps.
    pub fn maps(&self) -> &[Affine] {
        &self.maps
    }

    /// The same with the values of its tensors and maps.
    ///
    /// # Errors
    /// If they are not as many.
    pub fn open<'a, T>(&'a self, values: &mut InOrder<&'a [T]>) -> Result<Derivation<'a, T>> {
        let matrices = self.matrices.iter().map(|&MatricesParts { first, size, adds, .. }| {
            Ok(BlockMatrices { first, size, matrices: values.take()?, adds })
        });
        let matrices = matrices.collect::<Result<_>>()?;
        let factors = self
            .factors
            .iter()
            .map(|(_, and)| Ok(Factors { by: values.take()?, and: and.as_ref().map(|_| values.take()).transpose()? }));
        let factors = factors.collect::<Result<_>>()?;
        let maps = self.maps.iter().zip(&self.taken);
        let maps = maps.map(|(map, &(from, adds))| Ok(SecondMap { from, map: values.affine(map)?, adds }));
        Ok(Derivation {
            matrices,
            scaled: Scaled { runs: &self.runs, factors, cleared: &self.cleared },
            maps: maps.collect::<Result<_>>()?,
        })
    }
}

/// Finds the columns of a form among the projected and the derived ones.
struct Layout<'a> {
    projections: &'a HeadProjections,
    reads: Reads,
    /// Where the outputs of each map of the stream start.
    projected: BTreeMap<usize, usize>,
    /// Where each derived matrix starts that is made.
    derived: BTreeMap<usize, usize>,
    /// The projected columns that have a gradient when that of the derived ones is taken back.
    written: Vec<Run>,
    parts: DerivationParts,
}

impl Wiring {
    /// Finds the columns, for a stream of width `d` and heads of size `size`; `is_cross` where another sequence, of the
    /// same width, is attended to.
    ///
    /// # Errors
    /// If a shape does not fit, or there are queries without a head that computes, or the other way round.
    pub fn new(projections: &HeadProjections, maps: &[HeadMap], size: usize, d: usize, is_cross: bool) -> Result<Self> {
        let form = projections.form();
        if maps.is_empty() || size == 0 {
            bail!("An attention block needs at least one head, of at least one column.")
        }
        let computes = |map: &HeadMap| *map == HeadMap::Computed;
        let is_other = |(head, map): (&super::form::HeadColumns, _)| {
            head.scores.is_some() != computes(map) || head.value.count != size
        };
        if form.heads.len() != maps.len() || form.heads.iter().zip(maps).any(is_other) {
            bail!(
                "A layer of {} heads of size {size}, {} of which compute a map, was given columns of {} heads, {} of \
                 them for queries.",
                maps.len(),
                maps.iter().filter(|map| computes(map)).count(),
                form.heads.len(),
                form.scores().count()
            )
        }
        let mut layout = Layout::new(projections, d, if is_cross { Reads::Queries } else { Reads::All })?;
        let is_folded = layout.folds();
        layout.derive(is_folded)?;
        let mut memory = if is_cross { Some(Layout::new(projections, d, Reads::Memory)?) } else { None };
        if let Some(memory) = &mut memory {
            memory.derive(is_folded)?;
        }
        let attended = memory.as_ref().unwrap_or(&layout);
        let (mut lenders, mut wired, mut place) = (Vec::new(), Vec::with_capacity(maps.len()), 0);
        for (head, map) in form.heads.iter().zip(maps) {
            let scores = match (*map, &head.scores) {
                (HeadMap::Computed, Some(scores)) => {
                    place += 1;
                    layout.scores(scores, attended, is_folded, place - 1)?
                }
                (HeadMap::Computed, None) => bail!("A head that computes has no queries."),
                (HeadMap::Borrowed { layer, computed }, _) => {
                    let known = lenders.iter().position(|lender| *lender == layer);
                    let lender = known.unwrap_or_else(|| {
                        lenders.push(layer);
                        lenders.len() - 1
                    });
                    HeadScores::Lent { lender, place: computed }
                }
            };
            wired.push(CoreHead { scores, value: attended.columns(head.value)? });
        }
        let memory = memory.map(Layout::finish).transpose()?;
        Ok(Self { asking: layout.finish()?, memory, heads: wired, lenders })
    }
}

impl<'a> Layout<'a> {
    fn new(projections: &'a HeadProjections, d: usize, reads: Reads) -> Result<Self> {
        let (mut projected, mut first) = (BTreeMap::new(), 0);
        let form = projections.form();
        let behind: Vec<Columns> = reads.columns(form).into_iter().filter_map(|columns| form.behind(columns)).collect();
        let is_read = |map: &usize| reads == Reads::All || behind.iter().any(|columns| columns.of == Source::Map(*map));
        for map in form.stream_maps().filter(is_read) {
            let affine = projections.map(map)?;
            let (_, outputs) = affine.sizes()?;
            check_affine("projection", affine, d, outputs)?;
            projected.insert(map, first);
            first += outputs;
        }
        Ok(Self {
            projections,
            reads,
            projected,
            derived: BTreeMap::new(),
            written: Vec::new(),
            parts: DerivationParts::default(),
        })
    }

    fn form(&self) -> &'a ScoringForm {
        self.projections.form()
    }

    /// The derived matrices that are read of this sequence.
    fn derived_here(&self) -> Vec<usize> {
        let read = self.reads.columns(self.form());
        let is_read =
            |number: &usize| self.reads == Reads::All || read.iter().any(|of| of.of == Source::Derived(*number));
        (0..self.form().derived.len()).filter(is_read).collect()
    }

    /// The parameters, and which of the projected columns are read.
    fn finish(self) -> Result<ProjectionParts> {
        let maps = self.projected.keys().map(|map| self.projections.map(*map).cloned()).collect::<Result<_>>()?;
        let widths =
            self.projected.iter().map(|(map, first)| (*first, self.form().width(Source::Map(*map)).unwrap_or(0)));
        let mut unread: Vec<Run> = Vec::new();
        for column in widths.flat_map(|(first, width)| first..first + width) {
            let is_written = self.written.iter().any(|run| (run.first..run.first + run.count).contains(&column));
            if !is_written {
                join(&mut unread, Run { first: column, count: 1 });
            }
        }
        Ok(ProjectionParts { maps, derivation: self.parts, unread })
    }

    /// Whether the factors of keys go to the queries: those of a head stand in the same place of both, and nobody else
    /// reads the scaled keys.
    fn folds(&self) -> bool {
        let scaling = |source: Source| match source {
            Source::Derived(number) => self.form().scaling(number).is_some(),
            Source::Map(_) => false,
        };
        let folds = |scores: &ScoreColumns| {
            let ScoreColumns { query, key, .. } = scores;
            scaling(query.of) && scaling(key.of) && query.of != key.of && query.first == key.first
        };
        let mut scores = self.form().scores().peekable();
        scores.peek().is_some()
            && scores.all(|scores| folds(scores) && self.form().heads.iter().all(|head| head.value.of != scores.key.of))
    }

    /// Lays out what is made of the projections: products with matrices, then with factors, then second maps.
    fn derive(&mut self, is_folded: bool) -> Result<()> {
        let form = self.form();
        let folded = form.scores().next().filter(|_| is_folded);
        let (query, key) = (folded.map(|scores| scores.query.of), folded.map(|scores| scores.key.of));
        self.written = self.read_by_heads(key)?;
        let mut width = 0;
        let here = self.derived_here();
        for &number in &here {
            if let Some(Derived::Multiplied { of, by }) = form.derived.get(number) {
                let (first, matrices) = (self.first_of(*of)?, self.projections.tensor(*by)?.clone());
                let (_, size, _) = matrices.dims3()?;
                let count = self.width(number)?;
                let adds = self.takes(Run { first, count })?;
                self.parts.matrices.push(MatricesParts { first, size, matrices, adds });
                self.derived.insert(number, width);
                width += count;
            }
        }
        for &number in here.iter().filter(|number| key != Some(Source::Derived(**number))) {
            let Some((of, by, blocks)) = form.scaling(number) else { continue };
            let and = match key {
                Some(Source::Derived(key)) if query == Some(Source::Derived(number)) => {
                    form.scaling(key).map(|(_, by, _)| self.projections.tensor(by).cloned()).transpose()?
                }
                _ => None,
            };
            let (first, count) = (self.first_of(of)?, self.width(number)?);
            let size = count / blocks.len().max(1);
            for block in blocks {
                let run = Run { first: first + block * size, count: size };
                if !self.takes(run)? {
                    join(&mut self.parts.cleared, run);
                }
                join(&mut self.parts.runs, run);
            }
            self.parts.factors.push((self.projections.tensor(by)?.clone(), and));
            self.derived.insert(number, width);
            width += count;
        }
        for &number in &here {
            if let Some(Derived::Mapped { of, map }) = form.derived.get(number) {
                let from = Run { first: self.first_of(*of)?, count: self.projections.map(*of)?.sizes()?.1 };
                let adds = self.takes(from)?;
                self.parts.maps.push(self.projections.map(*map)?.clone());
                self.parts.taken.push((from, adds));
                self.derived.insert(number, width);
                width += self.width(number)?;
            }
        }
        let projected: usize = form.stream_maps().filter_map(|map| form.width(Source::Map(map))).sum();
        if self.reads == Reads::All && self.written.iter().map(|run| run.count).sum::<usize>() != projected {
            bail!("Some of the {projected} columns that an attention layer projects are read by no head.")
        }
        Ok(())
    }

    fn first_of(&self, map: usize) -> Result<usize> {
        match self.projected.get(&map) {
            Some(first) => Ok(*first),
            None => bail!("Module {map} of an attention layer does not take the stream."),
        }
    }

    fn width(&self, derived: usize) -> Result<usize> {
        match self.form().width(Source::Derived(derived)) {
            Some(width) => Ok(width),
            None => bail!("An attention layer has no derived matrix {derived}."),
        }
    }

    /// The projected columns that heads read, each block once.
    fn read_by_heads(&self, folded: Option<Source>) -> Result<Vec<Run>> {
        let form = self.form();
        let mut read = Vec::new();
        for columns in self.reads.columns(form) {
            let columns = if folded == Some(columns.of) { form.behind(columns).unwrap_or(columns) } else { columns };
            if let Source::Map(map) = columns.of {
                let run = Run { first: self.first_of(map)? + columns.first, count: columns.count };
                if !read.contains(&run) {
                    read.push(run);
                }
            }
        }
        Ok(read)
    }

    /// Whether columns have a gradient already; they have one from now on.
    fn takes(&mut self, run: Run) -> Result<bool> {
        let end = run.first + run.count;
        let common = |other: &Run| (other.first + other.count).min(end).saturating_sub(other.first.max(run.first));
        let written: usize = self.written.iter().map(common).sum();
        if written == 0 {
            self.written.push(run);
        } else if written != run.count {
            bail!("Columns {} to {end} of an attention layer are read in part by heads.", run.first)
        }
        Ok(written > 0)
    }

    fn columns(&self, columns: Columns) -> Result<threaded::Columns> {
        let [projected, derived] = if self.reads == Reads::Memory { Side::MEMORY } else { Side::ASKING };
        let (side, first) = match columns.of {
            Source::Map(map) => (projected, self.first_of(map)?),
            Source::Derived(number) => match self.derived.get(&number) {
                Some(first) => (derived, *first),
                None => bail!("An attention layer does not make its derived matrix {number}."),
            },
        };
        Ok(threaded::Columns { side, first: first + columns.first, count: columns.count })
    }

    /// What a head that computes reads, its keys of `attended`.
    fn scores(&self, scores: &ScoreColumns, attended: &Self, is_folded: bool, place: usize) -> Result<HeadScores> {
        let key = if is_folded { self.form().behind(scores.key) } else { Some(scores.key) };
        let Some(key) = key else { bail!("The keys of an attention layer are made of nothing.") };
        Ok(HeadScores::Own(OwnScores {
            query: self.columns(scores.query)?,
            key: attended.columns(key)?,
            bias: scores.content.map(|content| attended.columns(content)).transpose()?,
            place,
        }))
    }
}

impl Reads {
    /// What heads read in these roles, head by head.
    fn columns(self, form: &ScoringForm) -> Vec<Columns> {
        let mut read = Vec::new();
        for head in &form.heads {
            if let Some(scores) = &head.scores {
                if self != Self::Memory {
                    read.push(scores.query);
                }
                if self != Self::Queries {
                    read.push(scores.key);
                    read.extend(scores.content);
                }
            }
            if self != Self::Queries {
                read.push(head.value);
            }
        }
        read
    }
}

/// Adds columns to a list, in which neighbours that follow each other are one run.
fn join(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.first + last.count == run.first => last.count += run.count,
        _ => runs.push(run),
    }
}
