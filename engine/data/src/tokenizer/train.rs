use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use rayon::ThreadPoolBuilder;
use serde_json::{Map, Value, json};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::{AddedToken, Tokenizer};

use super::byte_level::alphabet;
use super::library::failure;
use super::words::count_words;
use super::{TextTokenizer, json};
use crate::config::SpecialTokens;
use crate::progress::advance;
use crate::{DataError, Documents, Progress, Stage};

/// A pair of pieces is merged only when it occurs at least this often.
const MIN_FREQUENCY: u64 = 2;

/// A WordPiece vocabulary spells at most this many different characters; rarer ones become `[UNK]`.
const MOST_CHARACTERS: usize = 1000;

/// How often the trainer's end and a wish to stop are looked for.
const LOOK_UP: Duration = Duration::from_millis(20);

/// What marks a piece that continues a word.
const CONTINUING: &str = "##";

/// Byte-level byte-pair encoding (Sennrich et al. 2016; bytes as in GPT-2) of exactly `vocabulary` tokens: special
/// tokens, the 256 bytes, then merges by falling frequency.
pub(crate) fn bpe(
    documents: &Documents,
    vocabulary: usize,
    specials: SpecialTokens,
    progress: &dyn Progress,
) -> Result<TextTokenizer, DataError> {
    let specials = specials.names;
    let least = specials.len() + 256;
    if vocabulary < least {
        return Err(DataError::VocabularyTooSmall { asked: vocabulary, least });
    }
    let empty = json!({ "type": "BPE", "vocab": {}, "merges": [] });
    let splitter = open(&json::byte_level(&[], empty))?;
    let words = count_words(documents, &splitter, progress)?;
    let trainer = BpeTrainer::builder()
        .vocab_size(vocabulary)
        .min_frequency(MIN_FREQUENCY)
        .show_progress(false)
        .special_tokens(specials.iter().map(|name| AddedToken::from(*name, true)).collect())
        .initial_alphabet(alphabet().collect::<HashSet<char>>())
        .build();
    let model = learn(trainer, words, progress)?;
    let model = serde_json::to_value(&model).map_err(|error| failure(error.into()))?;
    finish(&json::byte_level(specials, model), vocabulary, progress)
}

/// WordPiece as BERT has it: lower-cased, accents stripped, `##` before pieces that continue a word; merges are
/// learned as for byte-pair encoding. `[PAD] [UNK] [CLS] [SEP] [MASK]` stand at ids 0..=4.
pub(crate) fn word_piece(
    documents: &Documents,
    vocabulary: usize,
    progress: &dyn Progress,
) -> Result<TextTokenizer, DataError> {
    let specials = SpecialTokens::BERT.names;
    // Half of the vocabulary is kept free for pieces longer than a character.
    let most = MOST_CHARACTERS.min(vocabulary.saturating_sub(specials.len()) / 4);
    if most == 0 {
        return Err(DataError::VocabularyTooSmall { asked: vocabulary, least: specials.len() + 4 });
    }
    let empty = word_piece_model(Map::new());
    let splitter = open(&json::word_piece(specials, empty))?;
    let mut words = count_words(documents, &splitter, progress)?;
    let kept = frequent_characters(&words, most);
    words.retain(|word, _| word.chars().all(|character| kept.contains(&character)));
    // The trainer numbers `##x` in the order in which it meets the words, which hangs on a random hash seed, and
    // breaks ties by number. Naming every single-character piece beforehand fixes the numbers.
    let starting: BTreeSet<String> = words.keys().flat_map(|word| word.chars()).map(String::from).collect();
    let continuing: BTreeSet<String> = words
        .keys()
        .flat_map(|word| word.chars().skip(1))
        .map(|character| format!("{CONTINUING}{character}"))
        .collect();
    let first_pieces = specials.iter().map(|name| (*name).to_owned()).chain(starting).chain(continuing);
    let trainer = BpeTrainer::builder()
        .vocab_size(vocabulary)
        .min_frequency(MIN_FREQUENCY)
        .show_progress(false)
        .special_tokens(first_pieces.map(|piece| AddedToken::from(piece, true)).collect())
        .continuing_subword_prefix(CONTINUING.to_owned())
        .build();
    let model = learn(trainer, words, progress)?;
    let pieces: Map<String, Value> = model.get_vocab().into_iter().map(|(piece, id)| (piece, json!(id))).collect();
    finish(&json::word_piece(specials, word_piece_model(pieces)), vocabulary, progress)
}

fn word_piece_model(pieces: Map<String, Value>) -> Value {
    json!({
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": CONTINUING,
        "max_input_chars_per_word": 100, "vocab": pieces,
    })
}

/// The `most` most frequent characters; of equally frequent ones the smaller code point.
fn frequent_characters(words: &BTreeMap<String, u64>, most: usize) -> HashSet<char> {
    let mut counts: BTreeMap<char, u64> = BTreeMap::new();
    for (word, count) in words {
        for character in word.chars() {
            *counts.entry(character).or_default() += count;
        }
    }
    let mut ranked: Vec<(char, u64)> = counts.into_iter().collect();
    // Stable: ties stay in code point order.
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ranked.into_iter().take(most).map(|(character, _)| character).collect()
}

fn open(json: &Value) -> Result<Tokenizer, DataError> {
    Tokenizer::from_bytes(json.to_string()).map_err(failure)
}

/// Learns the merges on threads of their own, as many as it is called on, so that it can be stopped: the trainer asks
/// nobody. What it has begun goes on unseen until it is done, and is dropped then.
fn learn(trainer: BpeTrainer, words: BTreeMap<String, u64>, progress: &dyn Progress) -> Result<BPE, DataError> {
    if progress.is_stopped() {
        return Err(DataError::Stopped);
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .thread_name(|index| format!("headroom-tokenizer-{index}"))
        .build()
        .map_err(|error| failure(error.into()))?;
    let (answer, answers) = sync_channel(1);
    pool.spawn(move || {
        let mut model = BPE::default();
        let words = words.into_iter().map(|(word, count)| (word.into(), count)).collect();
        let outcome = trainer.do_train(&words, &mut model).map(|_| model);
        // Nobody waits any more for what was stopped.
        let _ = answer.send(outcome);
    });
    loop {
        match answers.recv_timeout(LOOK_UP) {
            Ok(outcome) => return outcome.map_err(failure),
            Err(RecvTimeoutError::Timeout) if progress.is_stopped() => return Err(DataError::Stopped),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(failure("the trainer met a fault of its own".into())),
        }
    }
}

/// Checks that the vocabulary has the size asked for.
fn finish(json: &Value, asked: usize, progress: &dyn Progress) -> Result<TextTokenizer, DataError> {
    let tokenizer = TextTokenizer::from_json(json.to_string())?;
    let reached = tokenizer.vocabulary_size();
    if reached < asked {
        return Err(DataError::VocabularyTooLarge { asked, reached });
    }
    advance(progress, Stage::TrainingTokenizer, 1, 1)?;
    Ok(tokenizer)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Stops at the second question: the first comes before anything is learned.
    #[derive(Default)]
    struct Impatient {
        questions: AtomicUsize,
    }

    impl Progress for Impatient {
        fn report(&self, _: Stage, _: f32) {}

        fn is_stopped(&self) -> bool {
            self.questions.fetch_add(1, Ordering::Relaxed) > 0
        }
    }

    #[test]
    fn learning_can_be_stopped_while_it_goes_on() {
        // Words of ten letters in no order: learning them takes a second or more.
        let mut state = 1_u64;
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (state >> 33) as u8 % 26)
        };
        let words = (0..40_000).map(|_| ((0..10).map(|_| letter()).collect(), 2)).collect();
        let trainer = BpeTrainer::builder().vocab_size(30_000).min_frequency(2).show_progress(false).build();
        let outcome = learn(trainer, words, &Impatient::default());
        assert!(matches!(outcome, Err(DataError::Stopped)), "{:?}", outcome.err());
    }
}
