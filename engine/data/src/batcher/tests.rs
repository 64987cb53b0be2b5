use std::collections::HashSet;

use proptest::prelude::*;

use super::{Batcher, HeldOut};
use crate::config::MaskedTokens;
use crate::objective::{Batch, IGNORED, Objective};
use crate::tokenizer::bytes;
use crate::{Corpus, DataError, Statistics, TokenStream};
use crate::{Dataset, TokenParts};

const MASKED_TOKENS: Objective = Objective::MASKED_TOKENS;
const NEXT_TOKEN: Objective = Objective::NEXT_TOKEN;

/// A corpus whose training ids count up from the first byte, so that every token tells its place (modulo 251).
fn corpus(objective: Objective, train: usize, validation: usize) -> Corpus {
    let tokenizer = bytes(objective.special_tokens()).unwrap();
    let first = tokenizer.special_ids().count() as u32;
    let stream = |length: usize| TokenStream {
        ids: (0..length).map(|place| first + (place % 251) as u32).collect(),
        ends: vec![length],
    };
    Corpus {
        dataset: Dataset::Text { tokens: TokenParts { train: stream(train), validation: stream(validation) } },
        tokenizer,
        data_hash: String::new(),
        held_out_hash: String::new(),
        statistics: Statistics::default(),
        left_out: 0,
        warnings: vec![],
    }
}

/// Tokens before they were hidden.
fn unmasked(batch: &Batch) -> Vec<u32> {
    batch.input_ids.iter().zip(&batch.labels).map(|(id, label)| u32::try_from(*label).unwrap_or(*id)).collect()
}

fn rows(batch: &Batch) -> impl Iterator<Item = &[u32]> {
    batch.input_ids.chunks(batch.sequence)
}

#[test]
fn a_decoder_predicts_the_next_token() {
    let corpus = corpus(NEXT_TOKEN, 1000, 100);
    let batch = Batcher::new(&corpus, &NEXT_TOKEN, 4, 16, 1).unwrap().train_batch(0);
    assert_eq!((batch.batch, batch.sequence, batch.input_ids.len(), batch.labels.len()), (4, 16, 64, 64));
    assert_eq!(batch.key_mask, None);
    assert_eq!(batch.targets(), 64);
    for (ids, labels) in rows(&batch).zip(batch.labels.chunks(16)) {
        let next: Vec<i64> = ids.iter().map(|id| i64::from((*id - 1 + 1) % 251 + 1)).collect();
        assert_eq!(labels, next);
    }
}

#[test]
fn an_encoder_sees_framed_windows() {
    let corpus = corpus(MASKED_TOKENS, 1000, 100);
    let specials = *corpus.tokenizer.specials();
    let batch = Batcher::new(&corpus, &MASKED_TOKENS, 4, 16, 1).unwrap().train_batch(0);
    for ids in rows(&batch) {
        assert_eq!((Some(ids[0]), Some(ids[15])), (specials.cls, specials.sep));
    }
    assert_eq!(batch.key_mask, None);
}

#[test]
fn about_fifteen_percent_are_hidden_four_fifths_of_them_by_the_mask() {
    let corpus = corpus(MASKED_TOKENS, 40_000, 100);
    let mask = corpus.tokenizer.specials().mask.unwrap();
    let special: HashSet<u32> = corpus.tokenizer.special_ids().collect();
    for wanted in [0.15, 0.4] {
        let batcher =
            Batcher::new(&corpus, &Objective::MaskedTokens(MaskedTokens { share: wanted }), 32, 34, 9).unwrap();
        let (mut all, mut hidden, mut masked, mut kept) = (0.0, 0.0, 0.0, 0.0);
        for step in 0..batcher.steps_per_epoch() {
            let batch = batcher.train_batch(step);
            for (id, label) in batch.input_ids.iter().zip(&batch.labels) {
                all += f64::from(u8::from(*label != IGNORED || !special.contains(id)));
                if *label == IGNORED {
                    assert_ne!(*id, mask);
                    continue;
                }
                assert!(!special.contains(&(*label as u32)), "a special token was hidden");
                hidden += 1.0;
                masked += f64::from(u8::from(*id == mask));
                kept += f64::from(u8::from(i64::from(*id) == *label));
            }
        }
        // Some 6,000 or more draws: three standard deviations are below 0.02.
        assert!((hidden / all - wanted).abs() < 0.01, "{}", hidden / all);
        assert!((masked / hidden - 0.8).abs() < 0.02, "{}", masked / hidden);
        assert!((kept / hidden - 0.1).abs() < 0.02, "{}", kept / hidden);
    }
}

#[test]
fn every_example_has_something_to_predict() {
    let corpus = corpus(MASKED_TOKENS, 1000, 100);
    let batcher = Batcher::new(&corpus, &Objective::MaskedTokens(MaskedTokens { share: 0.01 }), 8, 4, 3).unwrap();
    for step in 0..50 {
        let batch = batcher.train_batch(step);
        assert!(batch.labels.chunks(4).all(|labels| labels.iter().any(|label| *label != IGNORED)));
    }
}

#[test]
fn too_little_text_is_refused_with_the_numbers() {
    let check = |objective, train, validation, batch, sequence| {
        Batcher::new(&corpus(objective, train, validation), &objective, batch, sequence, 0).map(|_| ()).unwrap_err()
    };
    let error = check(NEXT_TOKEN, 100, 100, 8, 16);
    assert!(matches!(error, DataError::TooFewExamples { windows: 6, batch: 8, sequence: 16 }), "{error}");
    assert!(error.to_string().contains("Lower train.batch to 6 or less"), "{error}");
    assert!(matches!(check(NEXT_TOKEN, 16, 100, 1, 16), DataError::TooShort { tokens: 16, needed: 17, .. }));
    assert!(matches!(check(MASKED_TOKENS, 13, 100, 1, 16), DataError::TooShort { tokens: 13, needed: 14, .. }));
    assert!(matches!(
        check(NEXT_TOKEN, 100, 1, 1, 16),
        DataError::TooShort { part: "validation", tokens: 1, needed: 2 }
    ));
    assert!(matches!(check(MASKED_TOKENS, 100, 0, 1, 16), DataError::TooShort { part: "validation", needed: 1, .. }));
    assert!(matches!(check(MASKED_TOKENS, 100, 100, 1, 2), DataError::BadShape { least: 3, .. }));
    assert!(matches!(check(NEXT_TOKEN, 100, 100, 0, 16), DataError::BadShape { .. }));
    // Exactly enough is enough.
    assert!(Batcher::new(&corpus(NEXT_TOKEN, 17, 2), &NEXT_TOKEN, 1, 16, 0).is_ok());
    assert!(Batcher::new(&corpus(MASKED_TOKENS, 14, 1), &MASKED_TOKENS, 1, 16, 0).is_ok());
}

#[test]
fn padding_is_marked_and_unlabelled() {
    let batches: Vec<Batch> =
        HeldOut::new(&corpus(MASKED_TOKENS, 0, 20), &MASKED_TOKENS, 4, 16).unwrap().batches(0).collect();
    let [batch] = &batches[..] else { panic!("{batches:?}") };
    let mut expected = vec![1; 16];
    expected.extend([1; 8]);
    expected.extend([0; 8]);
    assert_eq!(batch.key_mask.as_deref(), Some(&expected[..]));
    assert_eq!(batch.batch, 2);
    assert!(batch.labels[24..].iter().all(|label| *label == IGNORED));
    let batches: Vec<Batch> =
        HeldOut::new(&corpus(NEXT_TOKEN, 0, 20), &NEXT_TOKEN, 4, 16).unwrap().batches(0).collect();
    let [batch] = &batches[..] else { panic!("{batches:?}") };
    assert_eq!((batch.targets(), batch.tokens_of(0), batch.tokens_of(1)), (19, 16, 3));
    assert_eq!(batch.key_mask.as_deref(), Some(&[vec![1; 19], vec![0; 13]].concat()[..]));
    assert!(batch.labels[19..].iter().all(|label| *label == IGNORED));
}

#[test]
fn a_limit_spreads_the_examples_over_the_text() {
    let corpus = corpus(NEXT_TOKEN, 0, 1601);
    let held_out = HeldOut::new(&corpus, &NEXT_TOKEN, 5, 16).unwrap();
    assert_eq!(held_out.windows(), 100);
    let batches: Vec<Batch> = held_out.batches(10).collect();
    assert_eq!(batches.len(), 2);
    let all: Vec<Batch> = held_out.batches(0).collect();
    assert_eq!(all.len(), 20);
    let rows_of = |batches: &[Batch]| {
        batches.iter().flat_map(|batch| rows(batch).map(<[u32]>::to_vec).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let (some, every) = (rows_of(&batches), rows_of(&all));
    assert!(some.iter().enumerate().all(|(index, row)| *row == every[index * 10]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// However batches and windows fall: each epoch shows every window once, whole, and in an order of its own.
    #[test]
    fn an_epoch_covers_the_text_exactly_once(
        tokens in 60_usize..900, batch in 1_usize..7, sequence in 4_usize..9, seed in any::<u64>(), encoder in any::<bool>(),
    ) {
        let objective = if encoder { MASKED_TOKENS } else { NEXT_TOKEN };
        let corpus = corpus(objective, tokens, 100);
        let batcher = Batcher::new(&corpus, &objective, batch, sequence, seed).unwrap();
        let windows = batcher.windows();
        prop_assert_eq!(batcher.steps_per_epoch(), windows.div_ceil(batch) as u64);
        prop_assert_eq!(batcher.tokens_per_batch(), batch * sequence);
        let content = if encoder { sequence - 2 } else { sequence };
        let examples: Vec<Vec<u32>> = (0..(2 * windows).div_ceil(batch) as u64).flat_map(|step| {
            let batch = batcher.train_batch(step);
                let ids = if encoder { unmasked(&batch) } else { batch.input_ids };
            ids.chunks(sequence).map(|row| if encoder { row[1..sequence - 1].to_vec() } else { row.to_vec() }).collect::<Vec<_>>()
        }).collect();
        let mut expected: Vec<&[u32]> = corpus.dataset.tokens().unwrap().train.ids.chunks_exact(content).take(windows).collect();
        expected.sort_unstable();
        for epoch in examples.chunks(windows).take(2) {
            let mut seen: Vec<&[u32]> = epoch.iter().map(Vec::as_slice).collect();
            seen.sort_unstable();
            prop_assert_eq!(&seen, &expected);
        }
        // Less than a window is left over.
        prop_assert!(tokens - windows * content <= content);
        if windows > 12 {
            prop_assert_ne!(&examples[..windows], &examples[windows..2 * windows]);
        }
    }

    /// A batch depends on the seed and the step alone, in whatever order batches are asked for.
    #[test]
    fn batches_are_a_pure_function(seed in any::<u64>(), steps in prop::collection::vec(0_u64..5000, 1..12), encoder in any::<bool>()) {
        let objective = if encoder { MASKED_TOKENS } else { NEXT_TOKEN };
        let corpus = corpus(objective, 2000, 100);
        let batcher = Batcher::new(&corpus, &objective, 3, 16, seed).unwrap();
        let forwards: Vec<Batch> = steps.iter().map(|step| batcher.train_batch(*step)).collect();
        for (step, batch) in steps.iter().zip(&forwards).rev() {
            let fresh = Batcher::new(&corpus, &objective, 3, 16, seed).unwrap();
            prop_assert_eq!(batch, &fresh.train_batch(*step));
            prop_assert_eq!(batch, &batcher.train_batch(*step));
        }
        let other = Batcher::new(&corpus, &objective, 3, 16, seed.wrapping_add(1)).unwrap();
        prop_assert_ne!((0..20).map(|step| batcher.train_batch(step)).collect::<Vec<_>>(), (0..20).map(|step| other.train_batch(step)).collect::<Vec<_>>());
        // Held-out batches do not depend on the seed.
        prop_assert_eq!(batcher.validation_batches(0).collect::<Vec<_>>(), other.validation_batches(0).collect::<Vec<_>>());
    }

    /// Held-out text is covered to its last token.
    #[test]
    fn held_out_text_is_covered_exactly_once(
        tokens in 2_usize..500, batch in 1_usize..7, sequence in 4_usize..12, encoder in any::<bool>(),
    ) {
        let objective = if encoder { MASKED_TOKENS } else { NEXT_TOKEN };
        let corpus = corpus(objective, 0, tokens);
        let special: HashSet<u32> = corpus.tokenizer.special_ids().collect();
        let mut seen = vec![];
        for batch in HeldOut::new(&corpus, &objective, batch, sequence).unwrap().batches(0) {
            if encoder {
                seen.extend(unmasked(&batch).into_iter().filter(|id| !special.contains(id)));
            } else {
                seen.extend(batch.labels.iter().filter_map(|label| u32::try_from(*label).ok()));
            }
        }
        let skipped = usize::from(!encoder);
        prop_assert_eq!(&seen[..], &corpus.dataset.tokens().unwrap().validation.ids[skipped..]);
    }
}
