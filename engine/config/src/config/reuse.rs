use serde::{Deserialize, Serialize};

use super::{
    About, Number, NumberValue, Problem,
    field::{field, field_of},
};

/// Which heads score at all. Layers and heads are counted from 1 here, except in [`CustomReuse`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reuse {
    /// Every head computes its own map.
    None(NoReuse),
    /// Layers 2..=P+1 borrow K heads each (Reuse Transformers, Algorithm 1).
    First(FirstReuse),
    /// All layers but the first and the last borrow K heads each: [`Reuse::First`] with P = L - 2.
    Partial(PartialReuse),
    /// Layers 2..=P+1 borrow all their heads: [`Reuse::First`] with K = H.
    Full(FullReuse),
    /// The layers 2, 4, 6, … borrow.
    Alternate(AlternateReuse),
    /// The layers L-P..=L-1 borrow; the last one computes.
    AllEnd(AllEndReuse),
    /// The layers 2..=P+1 have no attention at all.
    Skip(SkipReuse),
    /// Any table, head by head.
    Custom(CustomReuse),
}

impl Default for Reuse {
    fn default() -> Self {
        Self::None(NoReuse {})
    }
}

/// Every head computes its own map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoReuse {}

/// In P layers from the second on, the last K heads use the maps of the first K heads of the layer before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FirstReuse {
    /// Layers that borrow, P, 0..=L-1.
    pub layers: usize,
    /// Heads that borrow in each of them, K, 0..=H.
    pub heads: usize,
}

impl Default for FirstReuse {
    fn default() -> Self {
        Self { layers: 1, heads: 1 }
    }
}

/// All layers but the first and the last borrow some heads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartialReuse {
    /// Heads that borrow in each of these layers, K, 0..=H.
    pub heads: usize,
}

impl Default for PartialReuse {
    fn default() -> Self {
        Self { heads: 1 }
    }
}

/// Some layers from the second on borrow all their heads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FullReuse {
    /// Layers that borrow, P, 0..=L-1.
    pub layers: usize,
}

impl Default for FullReuse {
    fn default() -> Self {
        Self { layers: 1 }
    }
}

/// Every second layer borrows, from the second on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlternateReuse {
    /// Layers that borrow, P, 0..=L/2; when absent, all of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<usize>,
    /// Heads that borrow in each of them, K, 0..=H; when absent, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<usize>,
}

/// The layers before the last one borrow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllEndReuse {
    /// Layers that borrow, P, 0..=L-2.
    pub layers: usize,
    /// Heads that borrow in each of them, K, 0..=H; when absent, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<usize>,
}

impl Default for AllEndReuse {
    fn default() -> Self {
        Self { layers: 1, heads: None }
    }
}

/// Some layers from the second on have no attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkipReuse {
    /// Layers without attention, P, 0..=L-1.
    pub layers: usize,
}

impl Default for SkipReuse {
    fn default() -> Self {
        Self { layers: 1 }
    }
}

/// Any legal table of heads, a text a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CustomReuse {
    /// A row a layer, layer 0 first; in a row, for each head: `c` = it computes a map, `1.3` = it uses the map of
    /// layer 1, head 3 (from 0), `-` = it does not exist. Such as `["c c c c", "c c 0.0 0.1", "- - - -"]`.
    pub rows: Vec<String>,
}

impl Reuse {
    /// What people read of it.
    pub const fn about(&self) -> About {
        let (kind, name, title, formula, note) = match self {
            Self::None(_) => (
                "none",
                "No reuse",
                "No reuse: every head scores",
                "Which heads compute an attention map of their own.\nA = softmax(Q Kᵀ / √d) in each of the L × H heads.",
                "Each head of each layer computes its own map; none is borrowed.",
            ),
            Self::First(_) => (
                "first",
                "First",
                "First: early layers borrow some",
                "Algorithm 1 of Reuse Transformers: in the layers 1 to P, the heads 0 to H−K−1 compute, and head H−K+j uses \
                 map j of the layer before. A borrowing head has no query and key, but values and an output.",
                "From layer 1 on, the last heads use the maps of the layer before.",
            ),
            Self::Partial(_) => (
                "partial",
                "Partial",
                "Partial: inner layers borrow some",
                "As algorithm 1 with P = L − 2: in the layers 1 to L−2, head H−K+j uses map j of the layer before.",
                "In all layers but the first and the last, the last heads use maps of the layer before.",
            ),
            Self::Full(_) => (
                "full",
                "Full",
                "Full: early layers borrow all",
                "As algorithm 1 with K = H: the layers 1 to P use the maps of layer 0.",
                "From layer 1 on, layers use the maps of the first one.",
            ),
            Self::Alternate(_) => (
                "alternate",
                "Alternate",
                "Alternate: every second layer borrows",
                "In the layers 1, 3, 5 … head H−K+j uses map j of the layer before.",
                "The layers 1, 3, 5 … use the maps of the layer before.",
            ),
            Self::AllEnd(_) => (
                "all_end",
                "All end",
                "All end: late layers borrow",
                "In the layers L−1−P to L−2, head H−K+j uses map j of the layer before; the last layer computes.",
                "The layers before the last one borrow; the last one computes.",
            ),
            Self::Skip(_) => (
                "skip",
                "Skip",
                "Skip: early layers have none",
                "The layers 1 to P are a feed-forward block alone: no map, no values, no output.",
                "From layer 1 on, layers have no attention at all.",
            ),
            Self::Custom(_) => (
                "custom",
                "Custom reuse",
                "Custom reuse: a table of your own",
                "Each head computes, uses the map of any head of an earlier layer, or is off.",
                "Head by head, as you click it.",
            ),
        };
        About { kind, name, title, formula, note }
    }

    /// The name in the file.
    pub const fn kind(&self) -> &'static str {
        self.about().kind
    }

    /// Its numbers, for so many layers of so many heads.
    pub fn numbers(&mut self, layers: usize, heads: usize) -> Vec<Number<'_>> {
        let number = |field, symbol, (most, limit), value| Number {
            field,
            symbol,
            least: 0,
            most,
            limit,
            divides_heads: false,
            value,
        };
        let borrowing = |most, value| number(const { field_of("first", "attention.reuse.layers") }, "P", most, value);
        let of_layer = |value| number(const { field("attention.reuse.heads") }, "K", (heads, "all heads"), value);
        let after_first = (layers.saturating_sub(1), "the first layer has nothing to borrow");
        match self {
            Self::None(_) | Self::Custom(_) => Vec::new(),
            Self::First(FirstReuse { layers: p, heads: k }) => {
                vec![borrowing(after_first, NumberValue::Always(p)), of_layer(NumberValue::Always(k))]
            }
            Self::Partial(PartialReuse { heads: k }) => vec![of_layer(NumberValue::Always(k))],
            Self::Full(FullReuse { layers: p }) => vec![borrowing(after_first, NumberValue::Always(p))],
            Self::Alternate(AlternateReuse { layers: p, heads: k }) => {
                let most = (layers / 2, "every second layer");
                vec![borrowing(most, NumberValue::Optional(p)), of_layer(NumberValue::Optional(k))]
            }
            Self::AllEnd(AllEndReuse { layers: p, heads: k }) => {
                let most = (layers.saturating_sub(2), "the first and the last layer compute");
                vec![borrowing(most, NumberValue::Always(p)), of_layer(NumberValue::Optional(k))]
            }
            Self::Skip(SkipReuse { layers: p }) => {
                let most = (layers.saturating_sub(1), "the first layer attends");
                let field = const { field_of("skip", "attention.reuse.layers") };
                vec![number(field, "P", most, NumberValue::Always(p))]
            }
        }
    }

    /// In words with its numbers: "first P 3 K 2", "no reuse".
    pub fn words(&self) -> String {
        let mut own = self.clone();
        let numbers = own.numbers(0, 0).iter().filter_map(Number::words).collect::<Vec<_>>();
        [self.about().name.to_lowercase()].into_iter().chain(numbers).collect::<Vec<_>>().join(" ")
    }

    /// One of each kind, for menus and conformance tests; legal for at least three layers.
    pub fn examples(layers: usize, heads: usize) -> Vec<Self> {
        let some = heads.div_ceil(2);
        let mut rows = vec![vec!["c".to_owned(); heads]; layers];
        // A chain of lenders, a lender that is not in the layer before, and a head that does not exist.
        for (layer, row) in rows.iter_mut().enumerate().skip(1) {
            if let Some(last) = row.last_mut() {
                *last = format!("{}.{}", layer - 1, heads - 1);
            }
        }
        if let (Some(head), true) = (rows.last_mut().and_then(|row| row.first_mut()), layers > 2) {
            "0.0".clone_into(head);
        }
        if let (Some(head), true) = (rows.get_mut(1).and_then(|row| row.first_mut()), heads > 1) {
            "-".clone_into(head);
        }
        vec![
            Self::None(NoReuse {}),
            Self::First(FirstReuse { layers: 1, heads: some }),
            Self::Partial(PartialReuse { heads: some }),
            Self::Full(FullReuse { layers: layers.saturating_sub(1) }),
            Self::Alternate(AlternateReuse::default()),
            Self::AllEnd(AllEndReuse { layers: layers.saturating_sub(2), heads: Some(some) }),
            Self::Skip(SkipReuse { layers: 1 }),
            Self::Custom(CustomReuse { rows: rows.iter().map(|row| row.join(" ")).collect() }),
        ]
    }

    /// Numbers outside of what `layers` layers of `heads` heads allow. The rows of a custom table are judged with the
    /// head plan.
    pub fn problems(&self, layers: usize, heads: usize) -> Vec<Problem> {
        let mut problems: Vec<Problem> =
            self.clone().numbers(layers, heads).iter().filter_map(Number::problem).collect();
        if matches!(self, Self::Custom(CustomReuse { rows }) if rows.is_empty()) {
            problems.push(Problem::new(
                "attention.reuse.rows",
                "write a row for each layer, such as \"c c 0.0 0.1\": c computes, 0.1 borrows from layer 0 head 1, - does \
                 not exist",
            ));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RunConfig, from_toml, from_toml_with, to_toml};

    #[test]
    fn every_kind_is_written_and_read() {
        for reuse in Reuse::examples(4, 4) {
            let mut config = RunConfig::default();
            config.attention.reuse = reuse.clone();
            let text = to_toml(&config);
            assert!(text.contains(&format!("kind = \"{}\"", reuse.kind())), "{text}");
            assert_eq!(from_toml(&text).unwrap(), config);
            assert_eq!(config.validate(), vec![], "{reuse:?}");
            // The kind alone is enough: every number has a default.
            let kind = format!("attention.reuse.kind={}", reuse.kind());
            let config = from_toml_with("format = 1", &[kind]).unwrap();
            assert_eq!(config.attention.reuse.kind(), reuse.kind());
        }
    }

    #[test]
    fn numbers_are_judged_against_the_model() {
        let fields =
            |reuse: Reuse| -> Vec<String> { reuse.problems(4, 3).into_iter().map(|problem| problem.field).collect() };
        let (layers, heads) = ("attention.reuse.layers", "attention.reuse.heads");
        assert_eq!(fields(Reuse::First(FirstReuse { layers: 4, heads: 4 })), [layers, heads]);
        assert!(fields(Reuse::First(FirstReuse { layers: 3, heads: 3 })).is_empty());
        assert_eq!(fields(Reuse::Partial(PartialReuse { heads: 4 })), [heads]);
        assert_eq!(fields(Reuse::Full(FullReuse { layers: 4 })), [layers]);
        assert_eq!(fields(Reuse::Alternate(AlternateReuse { layers: Some(3), heads: Some(4) })), [layers, heads]);
        assert_eq!(fields(Reuse::AllEnd(AllEndReuse { layers: 3, heads: None })), [layers]);
        assert_eq!(fields(Reuse::Skip(SkipReuse { layers: 4 })), [layers]);
        assert_eq!(fields(Reuse::Custom(CustomReuse::default())), ["attention.reuse.rows"]);
        let message = Reuse::AllEnd(AllEndReuse { layers: 3, heads: None }).problems(4, 3)[0].to_string();
        assert_eq!(
            message,
            "attention.reuse.layers: 3 is too large; it must be from 0 to 2 (the first and the last layer compute)"
        );
    }
}
