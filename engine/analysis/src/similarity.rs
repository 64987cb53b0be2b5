use serde::{Deserialize, Serialize};

use super::Measure;
use crate::attention::HeadAt;

/// The similarity of the attention maps of every two heads, a mean over examples.
///
/// Heads are numbered layer by layer, `l H + h`. Heads that have no map (a layer without attention) have NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// How two maps are compared.
    pub measure: Measure,
    /// Layers L.
    pub layers: usize,
    /// Heads H of a layer.
    pub heads: usize,
    /// Examples that were averaged over, each with the same weight.
    pub examples: u64,
    /// `[L H, L H]`, symmetric; 1 = identical maps.
    #[serde(with = "crate::text::floats")]
    pub mean: Vec<f64>,
    /// For each head the head whose map it has, which is itself unless it borrows: heads of one origin are alike by
    /// construction, which is no finding. Empty where nothing is known of the model's plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<usize>,
}

impl Similarity {
    /// Returns true if there is a number for every two heads.
    pub(super) fn is_whole(&self) -> bool {
        let heads = self.layers.checked_mul(self.heads);
        heads.and_then(|heads| heads.checked_mul(heads)) == Some(self.mean.len())
    }

    /// Whether two heads have the same map because one borrows it from the other, or both from a third. What is said of the
    /// most similar heads and layers leaves such pairs out.
    pub fn is_by_construction(&self, a: HeadAt, b: HeadAt) -> bool {
        let origin = |at: HeadAt| self.origins.get(at.layer * self.heads + at.head);
        a != b && origin(a).zip(origin(b)).is_some_and(|(a, b)| a == b)
    }

    /// Whether two heads of different layers have maps that one layer computed: a borrowed map beside those of its lender's layer
    /// tells how alike heads of that layer are, and nothing across layers.
    fn is_of_one_layer(&self, a: HeadAt, b: HeadAt) -> bool {
        let layer =
            |at: HeadAt| self.origins.get(at.layer * self.heads + at.head).map(|origin| origin / self.heads.max(1));
        a.layer != b.layer && layer(a).zip(layer(b)).is_some_and(|(a, b)| a == b)
    }

    /// The heads that have another head's map.
    pub fn borrowers(&self) -> usize {
        self.origins.iter().enumerate().filter(|(head, origin)| head != *origin).count()
    }

    /// The similarity of two heads; NaN where one of them has no map.
    pub fn between(&self, a: HeadAt, b: HeadAt) -> f64 {
        let count = self.layers * self.heads;
        let (a, b) = (a.layer * self.heads + a.head, b.layer * self.heads + b.head);
        if a < count && b < count { self.mean.get(a * count + b).copied().unwrap_or(f64::NAN) } else { f64::NAN }
    }

    /// The head of layer `layer` whose map is most similar to that of `head`, on average over the examples, and how similar
    /// they are: `c[l,h,l']` (Reuse Transformers, equation 3). One head for all examples; the first of several. Heads that have
    /// the same map by construction are left out, and so are maps that the same layer computed.
    pub fn best(&self, head: HeadAt, layer: usize) -> Option<(usize, f64)> {
        let is_found = |other: &usize| {
            let other = HeadAt::new(layer, *other);
            !self.is_by_construction(head, other) && !self.is_of_one_layer(head, other)
        };
        let candidates =
            (0..self.heads).filter(is_found).map(|other| (other, self.between(head, HeadAt::new(layer, other))));
        candidates.filter(|(_, value)| !value.is_nan()).fold(None, |best, candidate| match best {
            Some((_, value)) if candidate.1 <= value => best,
            _ => Some(candidate),
        })
    }

    /// For every two layers, the similarity of the two most similar heads (Reuse Transformers, figure 2).
    /// `[L, L]`, symmetric, 1 on the diagonal; NaN for layers without a map, and where every pair of heads has maps that one
    /// layer computed.
    pub fn layer_matrix(&self) -> Vec<f64> {
        let mut matrix = Vec::with_capacity(self.layers * self.layers);
        for layer in 0..self.layers {
            for other in 0..self.layers {
                let best = (0..self.heads).filter_map(|head| self.best(HeadAt::new(layer, head), other));
                matrix.push(best.map(|(_, value)| value).fold(f64::NAN, f64::max));
            }
        }
        matrix
    }

    /// The two most similar heads of two layers, and their similarity.
    pub fn best_pair(&self, layer: usize, other: usize) -> Option<(HeadAt, HeadAt, f64)> {
        let mut found: Option<(HeadAt, HeadAt, f64)> = None;
        for head in 0..self.heads {
            let at = HeadAt::new(layer, head);
            let Some((to, value)) = self.best(at, other) else { continue };
            if found.is_none_or(|(_, _, best)| value > best) {
                found = Some((at, HeadAt::new(other, to), value));
            }
        }
        found
    }

    /// For every layer but the first, how similar each of its heads is to the layer before, ascending (Reuse
    /// Transformers, figure 3). Heads without a map are left out.
    pub fn ranked(&self) -> Vec<Vec<f64>> {
        let ranked = |layer: usize| {
            let heads = (0..self.heads).filter_map(|head| self.best(HeadAt::new(layer, head), layer - 1));
            let mut values: Vec<f64> = heads.map(|(_, value)| value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        (1..self.layers).map(ranked).collect()
    }

    /// All other heads, the most similar first, without those that have the same map by construction.
    pub fn like(&self, head: HeadAt) -> Vec<(HeadAt, f64)> {
        let others = self.all_heads().filter(|other| *other != head && !self.is_by_construction(head, *other));
        let mut found: Vec<(HeadAt, f64)> = others.map(|other| (other, self.between(head, other))).collect();
        found.retain(|(_, value)| !value.is_nan());
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }

    /// Groups of heads of which every two are at least `threshold` similar, largest first; heads that are similar to no other
    /// are in none, and neither are heads that borrow. (Agglomerative clustering with complete linkage.)
    pub fn clusters(&self, threshold: f64) -> Vec<Vec<HeadAt>> {
        let own = |(place, head): (usize, HeadAt)| self.origins.get(place).is_none_or(|&o| o == place).then_some(head);
        let heads = self.all_heads().enumerate().filter_map(own);
        let heads: Vec<HeadAt> = heads.filter(|head| !self.between(*head, *head).is_nan()).collect();
        let mut groups: Vec<Vec<usize>> = (0..heads.len()).map(|head| vec![head]).collect();
        let count = heads.len();
        // The least similarity between any two members of two groups.
        let mut links: Vec<f64> = Vec::with_capacity(count * count);
        for a in &heads {
            links.extend(heads.iter().map(|b| self.between(*a, *b)));
        }
        loop {
            let mut best: Option<(usize, usize, f64)> = None;
            for a in 0..count {
                if groups[a].is_empty() {
                    continue;
                }
                for b in a + 1..count {
                    let link = links[a * count + b];
                    if !groups[b].is_empty() && link >= threshold && best.is_none_or(|(_, _, found)| link > found) {
                        best = Some((a, b, link));
                    }
                }
            }
            let Some((a, b, _)) = best else { break };
            let taken = std::mem::take(&mut groups[b]);
            groups[a].extend(taken);
            for other in 0..count {
                let least = links[a * count + other].min(links[b * count + other]);
                (links[a * count + other], links[other * count + a]) = (least, least);
            }
        }
        let named = groups.into_iter().filter(|group| group.len() > 1).map(|group| {
            let mut group: Vec<HeadAt> = group.into_iter().map(|head| heads[head]).collect();
            group.sort_by_key(|at| (at.layer, at.head));
            group
        });
        let mut named: Vec<Vec<HeadAt>> = named.collect();
        named.sort_by_key(|group| (std::cmp::Reverse(group.len()), group.first().map(|at| (at.layer, at.head))));
        named
    }

    /// The mean similarity of neighbouring layers' best heads, and that of layers further apart; NaN where there are
    /// none.
    pub fn near_and_far(&self) -> (f64, f64) {
        let matrix = self.layer_matrix();
        let mean = |is_near: bool| {
            let pairs = (0..self.layers).flat_map(|a| (a + 1..self.layers).map(move |b| (a, b)));
            let values: Vec<f64> = pairs
                .filter(|(a, b)| (b - a == 1) == is_near)
                .map(|(a, b)| matrix[a * self.layers + b])
                .filter(|value| !value.is_nan())
                .collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        (mean(true), mean(false))
    }

    fn all_heads(&self) -> impl Iterator<Item = HeadAt> {
        let heads = self.heads;
        (0..self.layers).flat_map(move |layer| (0..heads).map(move |head| HeadAt::new(layer, head)))
    }
}
