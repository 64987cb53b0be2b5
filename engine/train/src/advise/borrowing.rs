use crate::{
    analysis::Similarity,
    attention::{Cell, HeadAt, HeadPlan},
};

/// A map that a head gets instead of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lent {
    /// The head that computes it.
    pub lender: HeadAt,
    /// Similarity of the two maps in the trained model.
    pub similarity: f64,
}

/// Which heads could borrow at any similarity: found once, read at every threshold.
///
/// Heads are joined as in complete linkage. Of all heads that compute, the one is given up first that some head of an
/// earlier layer can replace with the least harm: the least similarity of the lender's map to the head's own and to those
/// that it has replaced already. So nobody borrows a map over a chain of similarities: each is measured against the head
/// that computes it. Further joins are never better than those before, so that a lower threshold only adds borrowers.
#[derive(Clone, Debug, PartialEq)]
pub struct Borrowing {
    plan: HeadPlan,
    similarity: Similarity,
    /// Heads that are given up one after the other, and how well their replacement fits, which falls.
    given_up: Vec<(usize, f64)>,
}

impl Borrowing {
    /// What the heads of a model that were measured could do. Heads that borrow or have no map stay as they are; those
    /// that borrow from a head that is given up get its lender's map.
    pub fn new(plan: &HeadPlan, similarity: &Similarity) -> Self {
        let cells: Vec<(HeadAt, Cell)> = plan.iter().collect();
        let count = cells.len();
        let computes = |index: usize| cells.get(index).is_some_and(|(_, cell)| *cell == Cell::Compute);
        let at = |index: usize| cells.get(index).map_or(HeadAt::new(0, 0), |(at, _)| *at);
        // How well the map of one head does for another and for all whose map that is; NaN where it cannot lend.
        let mut fits = vec![f64::NAN; count * count];
        for head in (0..count).filter(|head| computes(*head)) {
            let users = plan.users(at(head));
            for lender in (0..head).filter(|lender| computes(*lender) && at(*lender).layer < at(head).layer) {
                let own = similarity.between(at(lender), at(head));
                let all = users.iter().map(|user| similarity.between(at(lender), *user)).fold(own, least);
                if let Some(place) = fits.get_mut(head * count + lender) {
                    *place = all;
                }
            }
        }
        let mut given_up = Vec::new();
        loop {
            let candidates = fits.iter().enumerate().filter(|(_, fit)| !fit.is_nan());
            let best = candidates.fold(None::<(usize, f64)>, |best, (place, fit)| match best {
                Some((_, known)) if *fit <= known => best,
                _ => Some((place, *fit)),
            });
            let Some((place, fit)) = best else { break };
            let (head, lender) = (place / count, place % count);
            given_up.push((head, fit));
            for other in 0..count {
                // Whoever replaces the lender now has to do for this head too; this head neither lends nor borrows anew.
                let new = fits.get(head * count + other).copied().unwrap_or(f64::NAN);
                if let Some(fit) = fits.get_mut(lender * count + other)
                    && !fit.is_nan()
                {
                    *fit = least(*fit, new);
                }
                for place in [head * count + other, other * count + head] {
                    if let Some(fit) = fits.get_mut(place) {
                        *fit = f64::NAN;
                    }
                }
            }
        }
        Self { plan: plan.clone(), similarity: similarity.clone(), given_up }
    }

    /// The plan of the model that was measured.
    pub fn plan(&self) -> &HeadPlan {
        &self.plan
    }

    /// How many heads that compute could borrow at a threshold.
    pub fn count(&self, threshold: f64) -> usize {
        self.given_up.partition_point(|(_, fit)| *fit >= threshold)
    }

    /// The similarities at which one more head could borrow, falling.
    pub fn steps(&self) -> Vec<f64> {
        self.given_up.iter().map(|(_, fit)| *fit).collect()
    }

    /// What each head borrows at a threshold, layer by layer; none where it goes on as before.
    ///
    /// Each gets the most similar map of all that are still computed in earlier layers.
    pub fn at(&self, threshold: f64) -> Vec<Option<Lent>> {
        let cells: Vec<(HeadAt, Cell)> = self.plan.iter().collect();
        let mut gone = vec![false; cells.len()];
        for (head, _) in self.given_up.iter().take(self.count(threshold)) {
            if let Some(gone) = gone.get_mut(*head) {
                *gone = true;
            }
        }
        let computing = || {
            let all = cells.iter().zip(&gone).filter(|((_, cell), gone)| *cell == Cell::Compute && !**gone);
            all.map(|((at, _), _)| *at)
        };
        let lent = |((at, _), gone): (&(HeadAt, Cell), &bool)| {
            let lenders = computing().filter(|lender| *gone && lender.layer < at.layer);
            lenders.fold(None, |best: Option<Lent>, lender| {
                let similarity = self.similarity.between(lender, *at);
                let is_better = !similarity.is_nan() && best.is_none_or(|best| similarity > best.similarity);
                if is_better { Some(Lent { lender, similarity }) } else { best }
            })
        };
        cells.iter().zip(&gone).map(lent).collect()
    }

    /// The most similar head of earlier layers that computes in the trained model.
    pub fn nearest(&self, at: HeadAt) -> Option<Lent> {
        let lenders = self.plan.iter().filter(|(lender, cell)| *cell == Cell::Compute && lender.layer < at.layer);
        lenders.fold(None, |best: Option<Lent>, (lender, _)| {
            let similarity = self.similarity.between(lender, at);
            let is_better = !similarity.is_nan() && best.is_none_or(|best| similarity > best.similarity);
            if is_better { Some(Lent { lender, similarity }) } else { best }
        })
    }

    /// Similarity of the maps of two heads.
    pub fn between(&self, a: HeadAt, b: HeadAt) -> f64 {
        self.similarity.between(a, b)
    }
}

/// The smaller of two similarities; NaN where one is not known.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}
