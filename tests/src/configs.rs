//! Configs that train in a second or two. Dropout is on, so that a resumed run must find its random numbers again.

/// A decoder on built-in text, byte by byte.
pub const TINY_DECODER: &str = r#"
format = 1
name = "tiny decoder"
seed = 3
threads = 1
[data]
kind = "grammar"
words = 4000
sequence_length = 16
tokenizer = { kind = "bytes" }
[model]
kind = "decoder"
layers = 2
heads = 2
width = 16
feed_forward = 32
dropout = 0.1
[train]
steps = 60
batch = 4
learning_rate = 1e-2
schedule = { kind = "cosine", warmup_steps = 10 }
evaluate_every = 20
evaluate_batches = 2
checkpoint_every = 20
keep_checkpoints = 2
[probe]
every = 0
"#;

/// An encoder on built-in text with a trained tokenizer.
pub const TINY_ENCODER: &str = r#"
format = 1
name = "tiny encoder"
seed = 4
threads = 1
[data]
kind = "grammar"
words = 4000
sequence_length = 16
tokenizer = { kind = "word_piece", vocabulary = 300 }
[model]
kind = "encoder"
layers = 2
heads = 2
width = 16
feed_forward = 32
dropout = 0.1
norm = "post"
[train]
steps = 60
batch = 4
learning_rate = 1e-2
schedule = { kind = "linear", warmup_steps = 10 }
evaluate_every = 20
evaluate_batches = 2
checkpoint_every = 20
[probe]
every = 0
"#;

/// An encoder-decoder on built-in pairs, with heads that borrow in its cross-attention.
pub const TINY_TRANSLATION: &str = r#"
format = 1
name = "tiny translation"
seed = 5
threads = 1
[data]
kind = "number_words"
pairs = 1000
sequence_length = 40
tokenizer = { kind = "bpe", vocabulary = 320 }
[model]
kind = "encoder_decoder"
layers = 2
encoder_layers = 1
heads = 2
width = 16
feed_forward = 32
dropout = 0.1
norm = "post"
[attention.cross]
reuse = { kind = "first", layers = 1, heads = 1 }
[train]
steps = 60
batch = 4
learning_rate = 1e-2
schedule = { kind = "cosine", warmup_steps = 10 }
label_smoothing = 0.1
evaluate_every = 20
evaluate_batches = 2
checkpoint_every = 20
keep_checkpoints = 2
[probe]
every = 0
"#;

/// So many different sentences, one a line.
pub fn sentences(count: usize) -> String {
    const WHO: [&str; 7] = ["a fox", "the owl", "my neighbour", "one child", "the old ship", "a cloud", "that letter"];
    const DOES: [&str; 5] = ["sees", "follows", "forgets", "carries", "likes"];
    const WHERE: [&str; 4] = ["near the river", "at night", "without a sound", "before breakfast"];
    let pick = |list: &[&'static str], at: usize| list.get(at % list.len()).copied().unwrap_or_default();
    let sentence = |n: usize| {
        let (who, does, whom) = (pick(&WHO, n), pick(&DOES, n / 7), pick(&WHO, n / 3 + 1));
        format!("{who} {does} {whom} {}, and so on.\n", pick(&WHERE, n))
    };
    (0..count).map(sentence).collect()
}
