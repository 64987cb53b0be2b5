//! From the variants of projections to columns that heads read.

use candle_core::{Result, Tensor, bail};

use super::open::{Number, check_affine};
use super::projections::{HeadMap, HeadProjections, KeyValueGroups};
use crate::ops::Affine;
use crate::ops::threaded::{AffineWeights, Columns, CoreHead, Derivation, HeadScores, Side};

/// What the projections of a layer give, what is made of it, and which columns every head reads.
pub(super) struct Wiring {
    /// Their outputs stand side by side.
    pub projections: Vec<Affine>,
    pub derivation: DerivationParts,
    pub heads: Vec<CoreHead>,
    /// The layers whose maps are borrowed, each once.
    pub lenders: Vec<usize>,
}

/// The parameters between projections and scores.
pub(super) enum DerivationParts {
    Nothing,
    Pairwise { between: Tensor },
    Diagonals { scores: Option<[Tensor; 2]>, value: Tensor, computing: Vec<usize> },
    Mixing { mixing: Tensor, width: usize },
    Up { first: usize, width: usize, maps: Vec<Affine> },
}

impl DerivationParts {
    /// Its tensors, in the order in which [`Derivation`] has slots for them.
    pub fn tensors(&self) -> Vec<&Tensor> {
        match self {
            Self::Nothing | Self::Up { .. } => Vec::new(),
            Self::Pairwise { between } => vec![between],
            Self::Diagonals { scores, value, .. } => scores.iter().flatten().chain([value]).collect(),
            Self::Mixing { mixing, .. } => vec![mixing],
        }
    }

    /// Its maps.
    pub fn maps(&self) -> &[Affine] {
        match self {
            Self::Up { maps, .. } => maps,
            _ => &[],
        }
    }

    /// The same with the values of its tensors and maps.
    pub fn open<'a, T: Number>(
        &'a self,
        tensors: &[&'a [T]],
        maps: Vec<AffineWeights<'a, T>>,
        size: usize,
    ) -> Derivation<'a, T> {
        match (self, tensors) {
            (Self::Pairwise { .. }, &[between]) => Derivation::Pairwise { between, size },
            (Self::Diagonals { computing, .. }, &[query, key, value]) => {
                Derivation::Diagonals { scores: Some([query, key]), value, computing, size }
            }
            (Self::Diagonals { computing, .. }, &[value]) => {
                Derivation::Diagonals { scores: None, value, computing, size }
            }
            (Self::Mixing { width, .. }, &[mixing]) => Derivation::Mixing { mixing, width: *width },
            (Self::Up { first, width, .. }, _) => Derivation::Up { first: *first, width: *width, maps },
            _ => Derivation::Nothing,
        }
    }
}

/// Columns of a head's query, its key and what is added to the scores of a key.
type ScoreColumns = (Columns, Columns, Option<Columns>);

impl Wiring {
    /// Checks shapes and finds the columns, for a stream of width `d` and heads of size `size`.
    ///
    /// # Errors
    /// If a shape does not fit, or there are queries without a head that computes, or the other way round.
    pub fn new(projections: &HeadProjections, maps: &[HeadMap], size: usize, d: usize) -> Result<Self> {
        use Side::{Derived, Projected};
        if maps.is_empty() || size == 0 {
            bail!("An attention block needs at least one head, of at least one column.")
        }
        let computing: Vec<usize> =
            maps.iter().enumerate().filter(|(_, map)| **map == HeadMap::Computed).map(|(head, _)| head).collect();
        let (heads, c) = (maps.len(), computing.len());
        let columns = |side, first, index| Columns::block(side, first, index, size);
        let computes = |found: bool| {
            if found == (c > 0) {
                Ok(())
            } else {
                bail!(
                    "A layer in which {c} heads compute a map was given {} queries.",
                    if found { "some" } else { "no" }
                )
            }
        };
        let check = |what: &str, map: &Affine, inputs: usize, outputs: usize| check_affine(what, map, inputs, outputs);
        let mut list = Vec::new();
        let mut derivation = DerivationParts::Nothing;
        // The columns of head `head`, which is number `place` among those that compute.
        let scores: Box<dyn Fn(usize, usize) -> ScoreColumns>;
        let values: Box<dyn Fn(usize) -> Columns>;
        match projections {
            HeadProjections::Fused(all) => {
                if c != heads {
                    bail!("Queries, keys and values in one matrix are for layers in which every head computes.")
                }
                check("projection", all, d, 3 * heads * size)?;
                list.push(all.clone());
                let width = heads * size;
                scores = Box::new(move |head, _| (columns(Projected, 0, head), columns(Projected, width, head), None));
                values = Box::new(move |head| columns(Projected, 2 * width, head));
            }
            HeadProjections::Separate { scores: maps, value, groups } => {
                computes(maps.is_some())?;
                let own = || KeyValueGroups { keys: (0..c).collect(), values: (0..heads).collect() };
                let groups = groups.clone().unwrap_or_else(own);
                if (groups.keys.len(), groups.values.len()) != (c, heads) {
                    bail!("Groups of keys and values must name one for every head.")
                }
                let blocks = |groups: &[usize]| groups.iter().max().map_or(0, |last| last + 1);
                let (key_width, value_width) = (blocks(&groups.keys) * size, blocks(&groups.values) * size);
                if let Some([query, key]) = maps {
                    check("query projection", query, d, c * size)?;
                    check("key projection", key, d, key_width)?;
                    list.extend([query.clone(), key.clone()]);
                }
                check("value projection", value, d, value_width)?;
                list.push(value.clone());
                let KeyValueGroups { keys, values: value_groups } = groups;
                scores = Box::new(move |_, place| {
                    let group = keys.get(place).copied().unwrap_or(0);
                    (columns(Projected, 0, place), columns(Projected, c * size, group), None)
                });
                values = Box::new(move |head| {
                    let group = value_groups.get(head).copied().unwrap_or(0);
                    columns(Projected, c * size + key_width, group)
                });
            }
            HeadProjections::Symmetric { query, value } => {
                computes(query.is_some())?;
                if let Some(query) = query {
                    check("query projection", query, d, c * size)?;
                    list.push(query.clone());
                }
                check("value projection", value, d, heads * size)?;
                list.push(value.clone());
                scores = Box::new(move |_, place| (columns(Projected, 0, place), columns(Projected, 0, place), None));
                values = Box::new(move |head| columns(Projected, c * size, head));
            }
            HeadProjections::Pairwise { query, value } => {
                computes(query.is_some())?;
                if let Some((query, between)) = query {
                    check("query projection", query, d, c * size)?;
                    if between.dims() != [c, size, size] {
                        bail!("U of {c} heads of size {size} has the shape {:?}.", between.shape())
                    }
                    list.push(query.clone());
                    derivation = DerivationParts::Pairwise { between: between.clone() };
                }
                check("value projection", value, d, heads * size)?;
                list.push(value.clone());
                scores = Box::new(move |_, place| (columns(Derived, 0, place), columns(Projected, 0, place), None));
                values = Box::new(move |head| columns(Projected, c * size, head));
            }
            HeadProjections::SharedWeight { shared, scores: diagonals, value } => {
                computes(diagonals.is_some())?;
                check("shared projection", shared, d, heads * size)?;
                for (diagonal, count) in
                    diagonals.iter().flatten().map(|diagonal| (diagonal, c)).chain([(value, heads)])
                {
                    if diagonal.dims() != [count * size] {
                        bail!("A diagonal for {count} heads of size {size} has the shape {:?}.", diagonal.shape())
                    }
                }
                list.push(shared.clone());
                derivation = DerivationParts::Diagonals {
                    scores: diagonals.clone(),
                    value: value.clone(),
                    computing: computing.clone(),
                };
                scores = Box::new(move |head, place| (columns(Derived, 0, place), columns(Projected, 0, head), None));
                values = Box::new(move |head| columns(Derived, c * size, head));
            }
            HeadProjections::Collaborative { scores: shared, value } => {
                computes(shared.is_some())?;
                let mut width = 0;
                if let Some(shared) = shared {
                    width = shared.query.sizes()?.1;
                    check("shared query projection", &shared.query, d, width)?;
                    check("shared key projection", &shared.key, d, width)?;
                    check("content bias", &shared.content, d, c)?;
                    if width == 0 || shared.mixing.dims() != [c, width] {
                        bail!("M of {c} heads over {width} columns has the shape {:?}.", shared.mixing.shape())
                    }
                    list.extend([&shared.query, &shared.key, &shared.content].map(Clone::clone));
                    derivation = DerivationParts::Mixing { mixing: shared.mixing.clone(), width };
                }
                check("value projection", value, d, heads * size)?;
                list.push(value.clone());
                scores = Box::new(move |_, place| {
                    let content = Columns::block(Projected, 2 * width, place, 1);
                    let keys = Columns::block(Projected, width, 0, width);
                    (Columns::block(Derived, 0, place, width), keys, Some(content))
                });
                let first = if c > 0 { 2 * width + c } else { 0 };
                values = Box::new(move |head| columns(Projected, first, head));
            }
            HeadProjections::Latent { scores: maps, latent, value } => {
                computes(maps.is_some())?;
                let rank = latent.sizes()?.1;
                check("latent projection", latent, d, rank)?;
                check("values from the latent", value, rank, heads * size)?;
                let mut up = Vec::new();
                if let Some([query, key]) = maps {
                    check("query projection", query, d, c * size)?;
                    check("keys from the latent", key, rank, c * size)?;
                    list.push(query.clone());
                    up.push(key.clone());
                }
                list.push(latent.clone());
                up.push(value.clone());
                derivation = DerivationParts::Up { first: c * size, width: rank, maps: up };
                scores = Box::new(move |_, place| (columns(Projected, 0, place), columns(Derived, 0, place), None));
                values = Box::new(move |head| columns(Derived, c * size, head));
            }
        }
        let mut lenders = Vec::new();
        let mut place = 0;
        let mut wired = Vec::with_capacity(heads);
        for (head, map) in maps.iter().enumerate() {
            let from = match *map {
                HeadMap::Computed => {
                    let (query, key, bias) = scores(head, place);
                    place += 1;
                    HeadScores::Own { query, key, bias, place: place - 1 }
                }
                HeadMap::Borrowed { layer, computed } => {
                    let known = lenders.iter().position(|lender| *lender == layer);
                    let lender = known.unwrap_or_else(|| {
                        lenders.push(layer);
                        lenders.len() - 1
                    });
                    HeadScores::Lent { lender, place: computed }
                }
            };
            wired.push(CoreHead { scores: from, value: values(head) });
        }
        Ok(Self { projections: list, derivation, heads: wired, lenders })
    }
}
