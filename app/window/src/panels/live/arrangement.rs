//! The order of the small charts, and which of them are left out; remembered between starts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::plots::Plot;
use crate::widgets::TileWish;

/// As the user arranged them, by their stable names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrangement {
    /// Those that were moved, in their order; others follow as they are listed.
    pub order: Vec<String>,
    /// Those that are not shown.
    pub left_out: BTreeSet<String>,
}

impl Arrangement {
    /// Whether the chart is not shown.
    pub fn is_left_out(&self, plot: &Plot) -> bool {
        self.left_out.contains(plot.id)
    }

    /// The charts that are shown, in their order.
    pub fn ordered<'a>(&self, plots: impl Iterator<Item = &'a Plot>) -> Vec<&'a Plot> {
        let mut shown: Vec<&Plot> = plots.filter(|plot| !self.is_left_out(plot)).collect();
        let place = |plot: &&Plot| self.order.iter().position(|id| id == plot.id).unwrap_or(usize::MAX);
        shown.sort_by_key(place);
        shown
    }

    /// Does what was asked of the charts that are shown.
    pub fn change(&mut self, shown: &[&Plot], wish: TileWish) {
        let mut ids: Vec<String> = shown.iter().map(|plot| plot.id.to_owned()).collect();
        if let TileWish::Remove(place) = wish {
            self.left_out.extend(ids.get(place).cloned());
            return;
        }
        wish.apply(&mut ids);
        // Charts that another run has keep their order after these.
        ids.extend(self.order.iter().filter(|id| !shown.iter().any(|plot| plot.id == **id)).cloned());
        self.order = ids;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::plots::SMALL, *};

    #[test]
    fn charts_keep_the_order_that_they_were_given_and_those_left_out_come_back_in_it() {
        let mut arrangement = Arrangement::default();
        let ids = |arrangement: &Arrangement| -> Vec<&'static str> {
            arrangement.ordered(SMALL.iter()).iter().map(|plot| plot.id).collect()
        };
        let before = ids(&arrangement);
        let last = before.len() - 1;
        arrangement.change(&arrangement.clone().ordered(SMALL.iter()), TileWish::Move { from: last, to: 0 });
        assert_eq!((ids(&arrangement)[0], ids(&arrangement)[1]), (before[last], before[0]));
        arrangement.change(&arrangement.clone().ordered(SMALL.iter()), TileWish::Remove(0));
        assert_eq!(ids(&arrangement)[0], before[0]);
        arrangement.left_out.clear();
        assert_eq!(ids(&arrangement)[0], before[last]);
        // A run that has only some of them is arranged without forgetting the others.
        let some = arrangement.ordered(SMALL.iter().skip(2).take(3));
        arrangement.change(&some, TileWish::Move { from: 0, to: 1 });
        assert_eq!(ids(&arrangement).len(), before.len());
        assert_eq!(arrangement.order.len(), before.len());
    }
}
