use proptest::prelude::*;

use super::*;

fn borrowers(borrowing: &Borrowing, threshold: f64) -> Vec<HeadAt> {
    let lent = borrowing.at(threshold);
    borrowing.plan().iter().zip(lent).filter(|(_, lent)| lent.is_some()).map(|((at, _), _)| at).collect()
}

#[test]
fn similarity_does_not_pass_on_over_a_chain() {
    // A ~ B and B ~ C, but A is not like C.
    let similarity = planted(3, 1, 0.1, &[(at(0, 0), at(1, 0), 0.9), (at(1, 0), at(2, 0), 0.95)]);
    let borrowing = Borrowing::new(&plain(3, 1), &similarity);
    assert_eq!(borrowers(&borrowing, 0.8), [at(2, 0)], "C borrows from B, which therefore stays");
    assert_eq!(borrowing.at(0.8)[2], Some(Lent { lender: at(1, 0), similarity: 0.95 }));
    assert_eq!(borrowers(&borrowing, 0.1), [at(1, 0), at(2, 0)], "below what A and C have in common both go");
    assert!(borrowing.at(0.1).iter().flatten().all(|lent| lent.lender == at(0, 0)));
    // The stronger pair comes first, whichever it is.
    let similarity = planted(3, 1, 0.1, &[(at(0, 0), at(1, 0), 0.95), (at(1, 0), at(2, 0), 0.9)]);
    assert_eq!(borrowers(&Borrowing::new(&plain(3, 1), &similarity), 0.8), [at(1, 0)]);
}

#[test]
fn each_head_gets_the_most_similar_map_that_is_still_computed() {
    let pairs = [(at(0, 0), at(1, 1), 0.7), (at(0, 1), at(1, 1), 0.9), (at(1, 0), at(1, 1), 0.99)];
    let borrowing = Borrowing::new(&plain(2, 2), &planted(2, 2, 0.2, &pairs));
    let lent = borrowing.at(0.6);
    assert_eq!(lent[3], Some(Lent { lender: at(0, 1), similarity: 0.9 }), "not from a head of its own layer");
    assert_eq!(borrowing.count(0.6), 1);
    assert_eq!(borrowing.nearest(at(1, 1)).map(|nearest| nearest.lender), Some(at(0, 1)));
}

#[test]
fn at_the_ends_of_the_scale_none_and_every_legal_head_borrow() {
    let similarity = planted(3, 4, 0.5, &[(at(1, 1), at(2, 3), 0.97), (at(0, 3), at(1, 1), 0.3)]);
    let borrowing = Borrowing::new(&plain(3, 4), &similarity);
    assert_eq!((borrowing.count(1.0), borrowing.count(0.0)), (0, 8));
    assert!(borrowing.at(1.0).iter().all(Option::is_none));
    let advice = HeadAdvice::new(&borrowing, 0.0, &Reuse::default()).unwrap();
    assert_eq!((advice.borrowers(), advice.replaced, advice.maps), (8, 8, 12));
    assert!((0..4).all(|head| advice.plan.cell(at(0, head)) == Some(Cell::Compute)));
}

#[test]
fn heads_that_borrow_stay_and_those_without_a_map_have_no_say() {
    // 1.0 borrows from 0.0; 1.1 is not there. 2.0 lends to 3.0.
    let plan = plan_of(&["c c", "0.0 -", "c c", "2.0 c"]);
    let mut similarity = planted(4, 2, 0.2, &[(at(0, 1), at(2, 0), 0.9), (at(0, 1), at(3, 0), 0.9)]);
    for other in 0..8 {
        (similarity.mean[3 * 8 + other], similarity.mean[other * 8 + 3]) = (f64::NAN, f64::NAN);
    }
    let borrowing = Borrowing::new(&plan, &similarity);
    let advice = HeadAdvice::new(&borrowing, 0.8, &Reuse::default()).unwrap();
    assert_eq!(advice.plan.origin(at(2, 0)), Some(at(0, 1)));
    assert_eq!(advice.plan.origin(at(3, 0)), Some(at(0, 1)), "whoever borrowed from it gets the same map");
    assert_eq!((advice.borrowers(), advice.replaced, advice.maps), (1, 2, 7));
    assert!((advice.mean_similarity.unwrap() - 0.9).abs() < 1e-12);
    assert_eq!(advice.heads[2].verdict, Verdict::BorrowedBefore { lender: at(0, 0) });
    assert_eq!(advice.heads[3].verdict, Verdict::NoMap);
    assert_eq!(advice.plan.cell(at(1, 1)), Some(Cell::Skip));
}

#[test]
fn a_table_that_a_schedule_writes_gets_its_name() {
    // Layer 1 borrows all of layer 0, head by head.
    let pairs = [(at(0, 0), at(1, 0), 0.9), (at(0, 1), at(1, 1), 0.9)];
    let borrowing = Borrowing::new(&plain(3, 2), &planted(3, 2, 0.1, &pairs));
    let reuse = |threshold| HeadAdvice::new(&borrowing, threshold, &Reuse::default()).unwrap().reuse;
    assert_eq!(reuse(0.8).kind(), "full");
    assert_eq!(reuse(0.95), Reuse::default(), "nothing changes");
    let pairs = [(at(0, 0), at(1, 0), 0.9), (at(0, 1), at(2, 1), 0.9)];
    let borrowing = Borrowing::new(&plain(3, 2), &planted(3, 2, 0.1, &pairs));
    assert_eq!(HeadAdvice::new(&borrowing, 0.8, &Reuse::default()).unwrap().reuse.kind(), "custom");
}

proptest! {
    /// Any similarities: a lower threshold only adds borrowers, every lender computes in an earlier layer and is as similar as
    /// was asked for.
    #[test]
    fn every_table_is_legal_and_they_grow(
        values in proptest::collection::vec(0.0_f64..1.0, 15 * 15), low in 0.0_f64..1.0, more in 0.0_f64..1.0,
    ) {
        let (layers, heads) = (5, 3);
        let mut similarity = planted(layers, heads, 0.0, &[]);
        for a in 0..15 {
            for b in 0..a {
                let value = values[a * 15 + b];
                (similarity.mean[a * 15 + b], similarity.mean[b * 15 + a]) = (value, value);
            }
        }
        let borrowing = Borrowing::new(&plain(layers, heads), &similarity);
        let high = low + more * (1.0 - low);
        for threshold in [low, high] {
            let lent = borrowing.at(threshold);
            for ((head, _), lent) in borrowing.plan().iter().zip(&lent) {
                let Some(lent) = lent else { continue };
                let index = lent.lender.layer * heads + lent.lender.head;
                prop_assert!(lent.lender.layer < head.layer && borrowing.at(threshold)[index].is_none());
                prop_assert!(lent.similarity >= threshold);
                prop_assert_eq!(lent.similarity, similarity.between(lent.lender, head));
            }
            prop_assert_eq!(lent.iter().flatten().count(), borrowing.count(threshold));
            let advice = HeadAdvice::new(&borrowing, threshold, &Reuse::default()).unwrap();
            prop_assert_eq!(advice.replaced, borrowing.count(threshold));
        }
        let few = borrowers(&borrowing, high);
        let many = borrowers(&borrowing, low);
        prop_assert!(few.iter().all(|head| many.contains(head)));
        prop_assert_eq!(borrowing.count(0.0), (layers - 1) * heads);
    }
}
