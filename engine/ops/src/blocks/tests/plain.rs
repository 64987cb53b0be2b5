//! Ways to score a pair as their formulas have them: what the reference reads, and what forms are made of.

use candle_core::{Result, Tensor};

use crate::{
    Affine, Columns, Derived, HeadColumns, HeadMap, HeadProjections, Initial, Piece, PieceWeights, ScoreColumns,
    ScoringForm, Source,
};

/// What makes queries, keys and values. Without a head that computes there are no queries and keys.
pub(super) enum Plain {
    /// Queries, keys and values side by side.
    Fused(Affine),
    /// `Q Kᵀ`; heads may share keys and values.
    Separate { scores: Option<[Affine; 2]>, value: Affine, groups: Option<KeyValueGroups> },
    /// `Q Qᵀ`.
    Symmetric { query: Option<Affine>, value: Affine },
    /// `Q U Qᵀ`.
    Pairwise { query: Option<(Affine, Tensor)>, value: Affine },
    /// `S D_q`, `S D_k`, `S D_v`.
    SharedWeight { shared: Affine, scores: Option<[Tensor; 2]>, value: Tensor },
    /// `Q diag(m_i) Kᵀ + 1 (x v_i)ᵀ`.
    Collaborative { scores: Option<CollaborativeScores>, value: Affine },
    /// `Q Kᵀ`, keys and values of a latent.
    Latent { scores: Option<[Affine; 2]>, latent: Affine, value: Affine },
}

/// For every head that computes which block of keys, for every head that attends which block of values.
pub(super) struct KeyValueGroups {
    pub keys: Vec<usize>,
    pub values: Vec<usize>,
}

/// Shared queries and keys with a mixing row for every head.
pub(super) struct CollaborativeScores {
    pub query: Affine,
    pub key: Affine,
    pub mixing: Tensor,
    pub content: Affine,
}

#[derive(Default)]
struct Maker {
    form: ScoringForm,
    weights: Vec<PieceWeights>,
}

impl Maker {
    fn map(&mut self, module: &'static str, map: &Affine) -> usize {
        let (inputs, outputs) = map.sizes().unwrap();
        self.weights.push(PieceWeights::Map(map.clone()));
        self.form.add(Piece::map(module, inputs, outputs, map.bias.is_some()))
    }

    fn tensor(&mut self, module: &'static str, tensor: &Tensor) -> usize {
        self.weights.push(PieceWeights::Tensor(tensor.clone()));
        self.form.add(Piece::tensor(module, tensor.dims(), Initial::Zeros, false))
    }
}

type Scores = Box<dyn Fn(usize) -> ScoreColumns>;
type Values = Box<dyn Fn(usize) -> Columns>;

impl Plain {
    /// The same as a form with weights, of heads of size `size`.
    pub fn projections(&self, heads: &[HeadMap], size: usize) -> Result<HeadProjections> {
        let h = heads.len();
        let computing: Vec<usize> = (0..h).filter(|head| heads[*head] == HeadMap::Computed).collect();
        let mut maker = Maker::default();
        let of = move |query: Source, key: Source| -> Option<Scores> {
            Some(Box::new(move |i| ScoreColumns::of(query.block(i, size), key.block(i, size))))
        };
        let own = move |value: Source| -> Values { Box::new(move |head| value.block(head, size)) };
        let (scores, values): (Option<Scores>, Values) = match self {
            Self::Fused(all) => {
                let all = Source::Map(maker.map("all", all));
                let scores: Scores = Box::new(move |i| ScoreColumns::of(all.block(i, size), all.block(h + i, size)));
                (Some(scores), Box::new(move |head| all.block(2 * h + head, size)))
            }
            Self::Separate { scores, value, groups } => {
                let pair = scores.as_ref().map(|[query, key]| (maker.map("query", query), maker.map("key", key)));
                let value = Source::Map(maker.map("value", value));
                let groups = groups.as_ref().map(|groups| (groups.keys.clone(), groups.values.clone()));
                let (keys, groups) = groups.unwrap_or_else(|| ((0..computing.len()).collect(), (0..h).collect()));
                let scores = pair.map(|(query, key)| -> Scores {
                    Box::new(move |i| {
                        ScoreColumns::of(Source::Map(query).block(i, size), Source::Map(key).block(keys[i], size))
                    })
                });
                (scores, Box::new(move |head| value.block(groups[head], size)))
            }
            Self::Symmetric { query, value } => {
                let query = query.as_ref().map(|query| Source::Map(maker.map("query", query)));
                let value = Source::Map(maker.map("value", value));
                (query.and_then(|query| of(query, query)), own(value))
            }
            Self::Pairwise { query, value } => {
                let query = query.as_ref().map(|(query, between)| {
                    let (of, by) = (maker.map("query", query), maker.tensor("between", between));
                    (maker.form.derive(Derived::Multiplied { of, by }), Source::Map(of))
                });
                let value = Source::Map(maker.map("value", value));
                (query.and_then(|(query, key)| of(query, key)), own(value))
            }
            Self::SharedWeight { shared, scores, value } => {
                let shared = maker.map("shared", shared);
                let mut scaled = |module, diagonal: &Tensor, blocks: Vec<usize>| {
                    let by = maker.tensor(module, diagonal);
                    maker.form.derive(Derived::Scaled { of: shared, by, blocks })
                };
                let scores = scores.as_ref().map(|[query, key]| {
                    (scaled("query diagonal", query, computing.clone()), scaled("key diagonal", key, computing.clone()))
                });
                let value = scaled("value diagonal", value, (0..h).collect());
                (scores.and_then(|(query, key)| of(query, key)), own(value))
            }
            Self::Collaborative { scores, value } => {
                let scores = scores.as_ref().map(|CollaborativeScores { query, key, mixing, content }| -> Scores {
                    let width = query.sizes().unwrap().1;
                    let (query, key) = (maker.map("query", query), Source::Map(maker.map("key", key)));
                    let content = Source::Map(maker.map("content", content));
                    let by = maker.tensor("mixing", mixing);
                    let query = maker.form.derive(Derived::Mixed { of: query, by });
                    Box::new(move |i| ScoreColumns {
                        query: query.block(i, width),
                        key: key.block(0, width),
                        content: Some(content.block(i, 1)),
                    })
                });
                let value = Source::Map(maker.map("value", value));
                (scores, own(value))
            }
            Self::Latent { scores, latent, value } => {
                let pair = scores.as_ref().map(|[query, key]| (Source::Map(maker.map("query", query)), key));
                let latent = maker.map("latent", latent);
                let mut mapped = |module, map: &Affine| {
                    let map = maker.map(module, map);
                    maker.form.derive(Derived::Mapped { of: latent, map })
                };
                let scores = pair.and_then(|(query, key)| of(query, mapped("key", key)));
                (scores, own(mapped("value", value)))
            }
        };
        let mut number = 0;
        maker.form.heads = (0..h)
            .map(|head| HeadColumns {
                scores: (heads[head] == HeadMap::Computed).then(|| {
                    number += 1;
                    scores.as_ref().unwrap()(number - 1)
                }),
                value: values(head),
            })
            .collect();
        HeadProjections::new(maker.form, maker.weights)
    }
}
