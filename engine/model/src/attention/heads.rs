//! The head plan: which heads compute an attention map, which borrow one, which have none.

use serde::{Deserialize, Serialize};

use super::{Cell, Draft, HeadAt, rows, schedule};
use crate::config::{AttentionConfig, CustomReuse, Problem, Reuse};

/// Field that problems of a head plan are reported at.
const FIELD: &str = "attention.reuse";

/// One [`Cell`] per layer and head: what everything downstream of the config reads about reuse.
///
/// It is the table of one attention of one stack, and the heads in it are named as if there were no other.
/// Always valid: every lender stands in an earlier layer and has a map, and every chain of lenders ends at a head
/// that computes. Written (serde) as rows of [`Draft`]; origins are found on reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<Draft>>", into = "Vec<Vec<Draft>>")]
pub struct HeadPlan {
    heads: usize,
    /// Row by row, layer 0 first.
    cells: Vec<Cell>,
}

impl HeadPlan {
    /// The plan that a config's `reuse` writes down for `layers` layers of `heads` heads.
    pub fn derive(config: &AttentionConfig, layers: usize, heads: usize) -> Result<Self, Vec<Problem>> {
        let plan = Self::from_drafts(&schedule::drafts(&config.reuse, layers, heads)?);
        if let Reuse::Custom(_) = &config.reuse {
            let at_rows = |problem: Problem| Problem { field: rows::FIELD.to_owned(), ..problem };
            return plan.map_err(|problems| problems.into_iter().map(at_rows).collect());
        }
        plan
    }

    /// The same table as a custom schedule: what a config becomes when a cell is changed by hand.
    pub fn to_custom(&self) -> CustomReuse {
        CustomReuse { rows: Vec::from(self.clone()).into_iter().map(rows::text).collect() }
    }

    /// Checks a table of drafts, one row a layer, and finds where every borrowed map was computed.
    ///
    /// # Errors
    /// Every problem at once: no layer, no head, rows of unequal length, a lender that does not exist, stands in
    /// the same or a later layer, or is skipped.
    pub fn from_drafts(drafts: &[Vec<Draft>]) -> Result<Self, Vec<Problem>> {
        let heads = drafts.first().map_or(0, Vec::len);
        if heads == 0 {
            return Err(vec![Problem::new(FIELD, "a head plan needs at least one layer and one head")]);
        }
        let mut problems = Vec::new();
        let mut cells: Vec<Cell> = Vec::with_capacity(drafts.len() * heads);
        for (layer, row) in drafts.iter().enumerate() {
            if row.len() != heads {
                problems.push(Problem::new(
                    FIELD,
                    format!("layer {layer} has {} heads, layer 0 has {heads}; every layer needs the same", row.len()),
                ));
            }
            for head in 0..heads {
                let at = HeadAt::new(layer, head);
                let cell = match row.get(head).copied().unwrap_or(Draft::Skip) {
                    Draft::Compute => Cell::Compute,
                    Draft::Skip => Cell::Skip,
                    Draft::Borrow { from } => match origin(&cells, heads, at, from) {
                        Ok(origin) => Cell::Borrow { from, origin },
                        Err(why) => {
                            problems.push(Problem::new(FIELD, format!("{at} cannot borrow from {from}: {why}")));
                            // Stands in for a map, so that heads that borrow from this one are judged on their own.
                            Cell::Compute
                        }
                    },
                };
                cells.push(cell);
            }
        }
        if problems.is_empty() { Ok(Self { heads, cells }) } else { Err(problems) }
    }

    /// Number of layers L.
    pub fn layers(&self) -> usize {
        self.cells.len() / self.heads
    }

    /// Number of heads H of every layer, skipped ones included.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// The cell of a head; none outside the plan.
    pub fn cell(&self, at: HeadAt) -> Option<Cell> {
        if at.head < self.heads { self.cells.get(at.layer * self.heads + at.head).copied() } else { None }
    }

    /// The cells of a layer, head by head; empty outside the plan.
    pub fn row(&self, layer: usize) -> &[Cell] {
        self.cells.chunks(self.heads).nth(layer).unwrap_or(&[])
    }

    /// Every head with its cell, layer by layer.
    pub fn iter(&self) -> impl Iterator<Item = (HeadAt, Cell)> {
        self.cells.iter().enumerate().map(|(i, &cell)| (HeadAt::new(i / self.heads, i % self.heads), cell))
    }

    /// Heads of a layer that score a map of their own.
    pub fn computed(&self, layer: usize) -> usize {
        self.row(layer).iter().filter(|cell| matches!(cell, Cell::Compute)).count()
    }

    /// Heads of a layer that use a borrowed map.
    pub fn borrowed(&self, layer: usize) -> usize {
        self.row(layer).iter().filter(|cell| matches!(cell, Cell::Borrow { .. })).count()
    }

    /// Heads of a layer that have a map, of their own or borrowed: those with values and a share of the output.
    pub fn live(&self, layer: usize) -> usize {
        self.computed(layer) + self.borrowed(layer)
    }

    /// True when every head of the layer computes.
    pub fn computes_all(&self, layer: usize) -> bool {
        self.computed(layer) == self.heads
    }

    /// True when the layer has no attention at all.
    pub fn skips_layer(&self, layer: usize) -> bool {
        self.live(layer) == 0
    }

    /// True when every head of every layer computes: the ordinary transformer.
    pub fn is_plain(&self) -> bool {
        self.cells.iter().all(|cell| matches!(cell, Cell::Compute))
    }

    /// The head whose scores a head uses: itself when it computes, none when it is skipped.
    pub fn origin(&self, at: HeadAt) -> Option<HeadAt> {
        match self.cell(at)? {
            Cell::Compute => Some(at),
            Cell::Borrow { origin, .. } => Some(origin),
            Cell::Skip => None,
        }
    }

    /// The heads that use the map computed by `origin`, the computer itself excluded, layer by layer.
    pub fn users(&self, origin: HeadAt) -> Vec<HeadAt> {
        self.iter()
            .filter(|(_, cell)| matches!(cell, Cell::Borrow { origin: o, .. } if *o == origin))
            .map(|(at, _)| at)
            .collect()
    }

    /// The last layer in which the map computed by `origin` is used: it can be dropped after that.
    pub fn last_use(&self, origin: HeadAt) -> usize {
        self.users(origin).last().map_or(origin.layer, |at| at.layer)
    }
}

impl TryFrom<Vec<Vec<Draft>>> for HeadPlan {
    type Error = String;

    fn try_from(drafts: Vec<Vec<Draft>>) -> Result<Self, String> {
        Self::from_drafts(&drafts)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }
}

impl From<HeadPlan> for Vec<Vec<Draft>> {
    fn from(plan: HeadPlan) -> Self {
        let draft = |cell: &Cell| match *cell {
            Cell::Compute => Draft::Compute,
            Cell::Borrow { from, .. } => Draft::Borrow { from },
            Cell::Skip => Draft::Skip,
        };
        plan.cells.chunks(plan.heads).map(|row| row.iter().map(draft).collect()).collect()
    }
}

/// The head that computed the map that `from` has, judged among the cells of the layers so far.
fn origin(cells: &[Cell], heads: usize, at: HeadAt, from: HeadAt) -> Result<HeadAt, String> {
    if from != HeadAt::new(from.layer, from.head) {
        return Err("it belongs to another attention".to_owned());
    }
    if from.head >= heads {
        return Err(format!("there are {heads} heads, counted from 0"));
    }
    if from.layer >= at.layer {
        return Err("a map must be computed in an earlier layer before it is borrowed".to_owned());
    }
    match cells.get(from.layer * heads + from.head) {
        Some(Cell::Compute) => Ok(from),
        Some(Cell::Borrow { origin, .. }) => Ok(*origin),
        Some(Cell::Skip) | None => Err("it is skipped and has no map".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::AttentionKind;
    use proptest::prelude::*;

    use super::*;

    /// Legal tables: a head computes, is not there, or borrows from one of the heads before that have a map.
    fn legal() -> impl Strategy<Value = Vec<Vec<Draft>>> {
        (1_usize..6, 1_usize..5).prop_flat_map(|(layers, heads)| {
            proptest::collection::vec((0_u8..4, any::<prop::sample::Index>()), layers * heads).prop_map(
                move |choices| {
                    let mut drafts: Vec<Vec<Draft>> = Vec::new();
                    for (layer, row) in choices.chunks(heads).enumerate() {
                        let lenders: Vec<HeadAt> = (0..layer)
                            .flat_map(|layer| (0..heads).map(move |head| HeadAt::new(layer, head)))
                            .filter(|at| drafts[at.layer][at.head] != Draft::Skip)
                            .collect();
                        let draft = |(kind, index): &(u8, prop::sample::Index)| match kind {
                            0 => Draft::Skip,
                            1 | 2 if !lenders.is_empty() => Draft::Borrow { from: *index.get(&lenders) },
                            _ => Draft::Compute,
                        };
                        drafts.push(row.iter().map(draft).collect());
                    }
                    drafts
                },
            )
        })
    }

    /// Heads of models of one stack are in stores and checkpoints as they always were.
    #[test]
    fn a_head_is_written_with_what_tells_it_apart() {
        for (at, json, words) in [
            (HeadAt::new(1, 2), r#"{"layer":1,"head":2}"#, "layer 1 head 2"),
            (
                HeadAt::new(1, 2).of(1, AttentionKind::Cross),
                r#"{"stack":1,"layer":1,"attention":"cross","head":2}"#,
                "stack 1 layer 1 cross-attention head 2",
            ),
        ] {
            assert_eq!(serde_json::to_string(&at).unwrap(), json);
            assert_eq!(serde_json::from_str::<HeadAt>(json).unwrap(), at);
            assert_eq!(at.to_string(), words);
        }
    }

    proptest! {
        #[test]
        fn legal_tables_hold_together(drafts in legal()) {
            let plan = HeadPlan::from_drafts(&drafts).unwrap();
            prop_assert_eq!(Vec::from(plan.clone()), drafts);
            for (at, cell) in plan.iter() {
                let origin = plan.origin(at);
                match cell {
                    Cell::Compute => prop_assert_eq!(origin, Some(at)),
                    Cell::Skip => prop_assert_eq!(origin, None),
                    Cell::Borrow { from, origin: computer } => {
                        prop_assert!(from.layer < at.layer && computer.layer <= from.layer);
                        prop_assert_eq!((origin, plan.origin(from)), (Some(computer), Some(computer)));
                        prop_assert_eq!(plan.cell(computer), Some(Cell::Compute));
                        prop_assert!(plan.users(computer).contains(&at));
                        prop_assert!(plan.last_use(computer) >= at.layer);
                    }
                }
                let users = plan.users(at);
                prop_assert!(cell == Cell::Compute || users.is_empty());
                prop_assert_eq!(plan.last_use(at), users.iter().map(|user| user.layer).max().unwrap_or(at.layer));
            }
            let borrowed: usize = (0..plan.layers()).map(|layer| plan.borrowed(layer)).sum();
            let users: usize = plan.iter().map(|(at, _)| plan.users(at).len()).sum();
            prop_assert_eq!(users, borrowed);
            // As text and back.
            let reuse = Reuse::Custom(plan.to_custom());
            let config = AttentionConfig { reuse, ..AttentionConfig::default() };
            prop_assert_eq!(HeadPlan::derive(&config, plan.layers(), plan.heads()).unwrap(), plan);
        }
    }

    fn custom(rows: &[&str], layers: usize, heads: usize) -> Result<HeadPlan, Vec<Problem>> {
        let rows = rows.iter().map(|&row| row.to_owned()).collect();
        let config = AttentionConfig { reuse: Reuse::Custom(CustomReuse { rows }), ..AttentionConfig::default() };
        HeadPlan::derive(&config, layers, heads)
    }

    #[test]
    fn a_table_of_text_is_read_as_it_is_written() {
        let rows = ["c c c c", "c c 0.0 0.1", "- - - -", "c 1.2 1.3 -"];
        let plan = custom(&rows, 4, 4).unwrap();
        assert_eq!(plan.to_custom().rows, rows);
        assert_eq!(plan.origin(HeadAt::new(3, 2)), Some(HeadAt::new(0, 1)));
        assert_eq!(custom(&["c  c", " c\t0.0 "], 2, 2).unwrap().to_custom().rows, ["c c", "c 0.0"]);
    }

    #[test]
    fn tables_that_cannot_be_are_refused_at_their_rows() {
        for (rows, wanted) in [
            (&["c c"][..], "1 rows, the model 2 layers"),
            (&["c c", "c c c"], "layer 1 has 3 heads, the model 2"),
            (&["c x", "c c"], "\"x\" at layer 0 head 1"),
            (&["0.0 c", "c c"], "layer 0 head 0 cannot borrow"),
            (&["c -", "c 0.1"], "skipped"),
            (&["c c", "c 1.0"], "earlier layer"),
        ] {
            let problems = custom(rows, 2, 2).unwrap_err();
            assert!(problems.iter().all(|problem| problem.field == "attention.reuse.rows"), "{problems:?}");
            assert!(problems.iter().any(|problem| problem.message().contains(wanted)), "{problems:?} for {wanted}");
        }
    }

    fn borrow(layer: usize, head: usize) -> Draft {
        Draft::Borrow { from: HeadAt::new(layer, head) }
    }

    #[test]
    fn without_reuse_every_head_computes() {
        let plan = HeadPlan::derive(&AttentionConfig::default(), 3, 2).unwrap();
        assert_eq!((plan.layers(), plan.heads()), (3, 2));
        assert!(plan.is_plain());
        assert_eq!(plan.iter().count(), 6);
        assert_eq!(plan.row(2), [Cell::Compute; 2]);
        assert!(plan.row(3).is_empty());
        assert_eq!(plan.cell(HeadAt::new(0, 2)), None);
    }

    #[test]
    fn no_layers_or_no_heads_are_refused() {
        assert!(HeadPlan::derive(&AttentionConfig::default(), 0, 2).is_err());
        assert!(HeadPlan::derive(&AttentionConfig::default(), 2, 0).is_err());
    }

    #[test]
    fn chains_of_lenders_end_at_the_computer() {
        let c = Draft::Compute;
        let plan = HeadPlan::from_drafts(&[
            vec![c, c, Draft::Skip],
            vec![c, borrow(0, 0), borrow(0, 1)],
            vec![borrow(1, 1), borrow(1, 0), Draft::Skip],
            vec![Draft::Skip; 3],
        ])
        .unwrap();
        let first = HeadAt::new(0, 0);
        assert_eq!(plan.cell(HeadAt::new(2, 0)), Some(Cell::Borrow { from: HeadAt::new(1, 1), origin: first }));
        assert_eq!(plan.users(first), [HeadAt::new(1, 1), HeadAt::new(2, 0)]);
        assert_eq!(plan.last_use(first), 2);
        assert_eq!(plan.last_use(HeadAt::new(0, 1)), 1);
        assert_eq!(plan.origin(HeadAt::new(1, 0)), Some(HeadAt::new(1, 0)));
        assert_eq!(plan.origin(HeadAt::new(0, 2)), None);
        assert_eq!((plan.computed(1), plan.borrowed(1), plan.live(2)), (1, 2, 2));
        assert!(plan.skips_layer(3) && !plan.skips_layer(2) && !plan.is_plain());
    }

    #[test]
    fn every_bad_lender_is_reported_at_once() {
        let c = Draft::Compute;
        let problems = HeadPlan::from_drafts(&[
            vec![Draft::Skip, c],
            vec![borrow(0, 0), borrow(1, 0)],
            vec![borrow(3, 0), borrow(0, 7)],
            vec![borrow(9, 0), c],
        ])
        .unwrap_err();
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 5, "{messages:#?}");
        assert!(messages[0].contains("skipped"), "{messages:#?}");
        assert!(messages[1].contains("earlier layer"), "{messages:#?}");
        assert!(messages[3].contains("2 heads"), "{messages:#?}");
    }

    #[test]
    fn rows_of_unequal_length_are_refused() {
        let c = Draft::Compute;
        assert_eq!(HeadPlan::from_drafts(&[vec![c, c], vec![c]]).unwrap_err().len(), 1);
        assert_eq!(HeadPlan::from_drafts(&[vec![c], vec![c, c]]).unwrap_err().len(), 1);
    }

    #[test]
    fn written_and_read_back_with_origins() {
        let c = Draft::Compute;
        let plan =
            HeadPlan::from_drafts(&[vec![c, c], vec![borrow(0, 1), c], vec![borrow(1, 0), Draft::Skip]]).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<HeadPlan>(&text).unwrap(), plan);
        let edited = text.replace(r#"{"layer":0,"head":1}"#, r#"{"layer":5,"head":1}"#);
        assert!(serde_json::from_str::<HeadPlan>(&edited).unwrap_err().to_string().contains("cannot borrow"));
    }
}
