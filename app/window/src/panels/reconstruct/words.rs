//! What restoring scores comes to, in plain words.

use headroom_engine::{
    analysis::reconstruction::{ErrorCurve, Reconstruction, ScopeReconstruction},
    config::counted,
};

use crate::{findings::exact_rows_words, format};

/// Where the method comes from, with its formulas.
pub const METHOD: &str = "Eigen analysis of self-attention and its reconstruction from partial computation, section \
                          3.1. \
    C = E[a a^T] are the second moments of a query's scores a before the softmax. P are the pairs that are computed, N the \
    others: a_N = R a_P with R = C[N,P] C[P,P]^-1 (equation 7), whose squared error is the trace of \
    C[N,N] - R C[P,N] (equation 8). The next pair is the one with the largest sum over j of C_ij^2 / C_ii, C being what \
    the pairs before it leave (equation 9). Errors are shares of Tr C, as in figure 9.";

/// An error as a share.
fn share(error: Option<f64>) -> String {
    match error {
        Some(error) if error >= 10.0 => format!("{} times the scores' squares", format::significant(error, 2)),
        Some(error) => format::percent(error),
        None => "unknown".to_owned(),
    }
}

/// What k pairs of each query come to.
pub fn at(found: &Reconstruction, scope: &ScopeReconstruction, k: usize) -> Vec<String> {
    let error = |curve: &ErrorCurve| share(curve.honest().get(k).copied());
    let fitted = if found.held_out_examples > 0 {
        format!(
            " on held-out examples ({} on those that the pairs were chosen from)",
            share(scope.greedy.fitted.get(k).copied())
        )
    } else {
        " on the examples that the pairs were chosen from".to_owned()
    };
    let mut lines = vec![format!(
        "With {} per query computed and the others restored from them, the squared error of the scores is {} of their \
         squares{fitted}; {} with as many eigenvectors, which need all scores first; {} with random pairs.",
        counted(k, "pair"),
        error(&scope.greedy),
        error(&scope.eigen),
        error(&scope.random),
    )];
    if found.is_causal && (1..found.tokens).contains(&k) {
        lines.push(exact_rows_words(k, found.tokens));
    }
    if let Some((scores, forward)) = found.score_flops.get(k).zip(found.forward_flops.get(k)) {
        let saves = if *scores > 1.0 { ": more than computing them all" } else { "" };
        lines.push(format!(
            "In every layer but the last scores take {} of the FLOPs of all pairs{saves}; a forward pass takes {}.",
            format::percent(*scores),
            format::percent(*forward)
        ));
    }
    lines
}

/// k for errors of 10, 5 and 1 %, with what the buttons say.
pub fn choices(scope: &ScopeReconstruction) -> Vec<(String, usize)> {
    let found = [(0.10, "90 %"), (0.05, "95 %"), (0.01, "99 %")].into_iter();
    found.filter_map(|(error, name)| scope.greedy.least(error).map(|k| (format!("{name}: k = {k}"), k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_the_slider_is_said() {
        let curve = |pace: f64| {
            let errors: Vec<f64> = (0..=4).map(|k| if k == 4 { 0.0 } else { pace.powi(k) }).collect();
            ErrorCurve { held_out: errors.iter().map(|error| error * 1.2).collect(), fitted: errors }
        };
        let scope = ScopeReconstruction {
            greedy: curve(0.25),
            eigen: curve(0.125),
            random: curve(5.0),
            ..ScopeReconstruction::default()
        };
        let mut found = Reconstruction {
            tokens: 4,
            held_out_examples: 3,
            score_flops: vec![0.0, 0.5, 1.25, 1.1, 1.0],
            forward_flops: vec![0.9, 0.95, 1.02, 1.01, 1.0],
            ..Reconstruction::default()
        };
        let lines = at(&found, &scope, 2).join(" ");
        assert!(!lines.contains("by construction"), "every query of an encoder has all keys: {lines}");
        let causal = Reconstruction { is_causal: true, ..found.clone() };
        let said = at(&causal, &scope, 2).join(" ");
        assert!(
            said.contains("2 of 4 queries have no more than 2 keys") && said.contains("that of the other 2."),
            "{said}"
        );
        for words in [
            "2 pairs per query",
            "is 7.5 %",
            "(6.2 % on those",
            "1.9 % with as many eigenvectors",
            "30 times the scores' squares with random pairs",
            "125 % of the FLOPs of all pairs: more than",
        ] {
            assert!(lines.contains(words), "{words}: {lines}");
        }
        assert_eq!(
            choices(&scope),
            [("90 %: k = 2".to_owned(), 2), ("95 %: k = 3".to_owned(), 3), ("99 %: k = 4".to_owned(), 4)]
        );
        found.held_out_examples = 0;
        assert!(at(&found, &scope, 1)[0].contains("With 1 pair per query"));
    }
}
