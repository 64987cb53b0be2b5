//! What a model would come to that knew nothing but how often tokens follow one another: the plateau that training has to
//! leave.
//!
//! ```text
//! cargo run --release -p headroom-tools --bin frequencies -- --preset text-decoder --data train.txt.gz --held-out valid.txt
//! ```
//!
//! Losses are of the held-out examples that a run evaluates, nats per labelled token. One token: frequencies of the training
//! text, one added to each. Two tokens: after the token before, by Witten and Bell (of a hidden token before, one token); so
//! for a hidden token, too, of which an encoder sees what follows besides.
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{collections::HashMap, path::Path};

use headroom_engine::{
    config::{RunConfig, Source, preset},
    data::{Corpus, HeldOut, Silent},
};
use headroom_tests::text;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Counts of the training text.
struct Counts {
    tokens: Vec<f64>,
    all: f64,
    /// By the token before: how often each follows.
    pairs: HashMap<u32, HashMap<u32, f64>>,
}

impl Counts {
    fn of(ids: &[u32], vocabulary: usize) -> Self {
        let mut tokens = vec![1.0; vocabulary];
        let mut pairs: HashMap<u32, HashMap<u32, f64>> = HashMap::new();
        for id in ids {
            tokens[*id as usize] += 1.0;
        }
        for (before, id) in ids.iter().zip(ids.iter().skip(1)) {
            *pairs.entry(*before).or_default().entry(*id).or_default() += 1.0;
        }
        Self { all: tokens.iter().sum(), tokens, pairs }
    }

    fn one(&self, id: u32) -> f64 {
        self.tokens[id as usize] / self.all
    }

    fn two(&self, before: u32, id: u32) -> f64 {
        let Some(following) = self.pairs.get(&before) else { return self.one(id) };
        let (all, distinct) = (following.values().sum::<f64>(), following.len() as f64);
        (following.get(&id).copied().unwrap_or(0.0) + distinct * self.one(id)) / (all + distinct)
    }
}

fn config() -> RunConfig {
    let name = text("--preset").unwrap_or_else(|| "grammar-decoder".to_owned());
    let mut config = preset(&name).unwrap().config().unwrap();
    if let Source::File(file) = &mut config.data.source {
        file.path = text("--data").unwrap_or_default().into();
        file.validation_path = text("--held-out").map(Into::into);
    }
    config
}

fn main() {
    let config = config();
    let objective = config.objective();
    let cache = tempfile::TempDir::new().unwrap();
    let corpus = Corpus::load(&config.data, &objective, Path::new(""), cache.path(), &Silent).unwrap();
    let train = &corpus.dataset.tokens().unwrap().train;
    let counts = Counts::of(&train.ids, corpus.tokenizer.vocabulary_size());
    let mask = corpus.tokenizer.specials().mask;
    let most = (0..).zip(&counts.tokens).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(id, _): (i64, _)| id);
    let held_out = HeldOut::new(&corpus, &objective, config.train.batch, config.data.sequence_length).unwrap();
    let (mut one, mut two, mut labelled, mut frequent) = (0.0, 0.0, 0_u64, 0_u64);
    let is_causal = mask.is_none()
        || held_out.batches(config.train.batch).all(|batch| !batch.input_ids.contains(&mask.unwrap_or(0)));
    for batch in held_out.batches(config.evaluation_size()) {
        for (at, label) in batch.labels.iter().enumerate() {
            let Ok(id) = u32::try_from(*label) else { continue };
            // The token before one that follows is the one that is read.
            let before = if is_causal { Some(at) } else { at.checked_sub(1) };
            let before = before.map(|at| batch.input_ids[at]).filter(|before| Some(*before) != mask);
            one -= counts.one(id).ln();
            two -= before.map_or(counts.one(id), |before| counts.two(before, id)).ln();
            labelled += 1;
            frequent += u64::from(*label == most);
        }
    }
    let labels = labelled as f64;
    println!("vocabulary {}, {} tokens of training text", corpus.tokenizer.vocabulary_size(), train.ids.len());
    println!("{labelled} labelled tokens of the held-out text");
    println!(
        "one token:  {:.3} nats, {:.1} % are the most frequent one",
        one / labels,
        100.0 * frequent as f64 / labels
    );
    println!("two tokens: {:.3} nats", two / labels);
}
