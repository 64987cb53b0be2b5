use std::collections::HashSet;

use proptest::prelude::*;

use super::split;
use crate::Documents;

fn many(count: usize) -> Documents {
    (0..count).map(|number| format!("Document {number} says something of its own.")).collect()
}

#[test]
fn many_documents_are_split_whole() {
    let documents = many(2000);
    let parts = split(&documents, 0.1);
    assert_eq!(parts.train.len() + parts.validation.len(), 2000);
    // Binomial(2000, 0.1): standard deviation 13.4.
    assert!((140..260).contains(&parts.validation.len()), "{}", parts.validation.len());
    let train: HashSet<&str> = parts.train.iter().collect();
    assert!(parts.validation.iter().all(|text| !train.contains(text)));
}

#[test]
fn duplicates_stay_together_and_more_documents_move_none() {
    let mut documents = many(500);
    documents.append(&many(500));
    let parts = split(&documents, 0.2);
    let train: HashSet<&str> = parts.train.iter().collect();
    assert!(parts.validation.iter().all(|text| !train.contains(text)));
    let more = split(&many(900), 0.2);
    let held_out: HashSet<&str> = more.validation.iter().collect();
    assert!(split(&many(500), 0.2).validation.iter().all(|text| held_out.contains(text)));
}

#[test]
fn one_document_is_cut_into_blocks_at_line_ends() {
    let text = (0..3000).map(|line| format!("Line {line} of a long text.")).collect::<Vec<_>>().join("\n") + "\n";
    let parts = split(&[&text].into_iter().collect(), 0.1);
    assert_eq!(parts.validation.len(), 8);
    assert!(
        parts
            .train
            .iter()
            .chain(parts.validation.iter())
            .all(|piece| piece.starts_with("Line") && piece.ends_with('\n'))
    );
    let share = parts.validation.bytes() as f64 / text.len() as f64;
    assert!((0.09..0.11).contains(&share), "{share}");
}

#[test]
fn a_small_share_of_a_short_text_cuts_no_word() {
    let text = (1..=281).map(|number| format!("w{number}ä")).collect::<Vec<_>>().join("\n") + "\n";
    let parts = split(&[&text].into_iter().collect(), 0.0097);
    let words = parts.train.iter().chain(parts.validation.iter()).flat_map(str::split_whitespace);
    assert_eq!(words.filter(|word| word.starts_with('w') && word.ends_with('ä')).count(), 281);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Whatever the text: nothing is lost, nothing is on both sides.
    #[test]
    fn every_line_is_on_one_side(
        lengths in prop::collection::vec(1_usize..400, 1..12),
        fraction in 0.001_f64..0.5,
        end in prop::sample::select(vec!["\n", " "]),
    ) {
        let mut number = 0;
        let mut document = |lines: &usize| {
            let words = (0..*lines).map(|_| { number += 1; format!("w{number}ä") });
            words.collect::<Vec<_>>().join(end) + end
        };
        let documents: Documents = lengths.iter().map(&mut document).collect();
        let parts = split(&documents, fraction);
        let words = |part: &Documents| -> Vec<String> {
            part.iter().flat_map(str::split_whitespace).map(str::to_owned).collect()
        };
        let (train, validation) = (words(&parts.train), words(&parts.validation));
        prop_assert_eq!(train.len() + validation.len(), number);
        let all: HashSet<&String> = train.iter().chain(&validation).collect();
        prop_assert_eq!(all.len(), number);
        // Whole words, not pieces of them.
        prop_assert!(all.iter().all(|word| word.starts_with('w') && word.ends_with('ä')));
    }
}
