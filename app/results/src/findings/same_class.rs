use headroom_engine::objective::ConfusionMatrix;

use crate::format;

/// That every example gets the same class, some of them wrongly: the model tells none from another.
pub fn same_class(found: &ConfusionMatrix) -> Option<String> {
    let predicted = |class: usize| found.counts.iter().filter_map(|row| row.get(class)).sum::<u64>();
    let all = found.counts.iter().flatten().sum::<u64>();
    let (class, label) = found.labels.iter().enumerate().find(|(class, _)| predicted(*class) == all)?;
    let right = found.counts.get(class).and_then(|row| row.get(class)).copied().unwrap_or_default();
    (all > 1 && right < all).then(|| format!("It says \"{label}\" for every one of {} examples.", format::count(all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_says_the_same_of_everything_is_told_of() {
        let of = |counts: [[u64; 2]; 2]| {
            let labels = ["entailment", "not_entailment"].map(str::to_owned).to_vec();
            same_class(&ConfusionMatrix { labels, counts: counts.map(Vec::from).to_vec() })
        };
        let told = of([[458, 0], [414, 0]]);
        assert_eq!(told.as_deref(), Some("It says \"entailment\" for every one of 872 examples."));
        let told = of([[0, 3], [0, 0]]);
        assert_eq!(told.as_deref(), Some("It says \"not_entailment\" for every one of 3 examples."));
        // One example of the other class, all of them right, a single one, none.
        for counts in [[[458, 0], [413, 1]], [[5, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [0, 0]]] {
            assert_eq!(of(counts), None, "{counts:?}");
        }
    }
}
