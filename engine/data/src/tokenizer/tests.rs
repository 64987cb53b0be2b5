use rayon::ThreadPoolBuilder;
use serde_json::Value;

use super::{TextTokenizer, bpe, bytes, given, word_piece};
use crate::config::SpecialTokens;
use crate::objective::Objective;
use crate::{DataError, Documents, Silent, encode::Encoder, generate_grammar};

const GOLDEN_TOKENIZER: &str = include_str!("../golden/tokenizer.json");
const GOLDEN_ROWS: &str = include_str!("../golden/tokenizer_golden.json");

const TEXTS: [&str; 5] =
    ["", "The king sleeps.", "naïve café 中文 😀", "tabs\tand\nlines\n\n  two blanks", "\u{0}\u{7f}ÿ"];

fn text() -> Documents {
    generate_grammar(20_000, 1, &Silent).unwrap()
}

#[test]
fn golden_encodings_match_row_by_row() {
    let tokenizer = TextTokenizer::from_json(GOLDEN_TOKENIZER).unwrap();
    let golden: Value = serde_json::from_str(GOLDEN_ROWS).unwrap();
    let rows = golden["rows"].as_array().unwrap();
    assert!(rows.len() > 5);
    let numbers =
        |value: &Value| value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect::<Vec<_>>();
    for row in rows {
        let text = row["text"].as_str().unwrap();
        let ids = numbers(&row["ids"]);
        let encoding = if let Some(pair) = row["pair"].as_str() {
            tokenizer.library().encode((text, pair), true).unwrap()
        } else {
            // Special tokens that are written out are text, unlike in the library's own rows.
            if !text.contains("[MASK]") && !text.contains("[SEP]") {
                assert_eq!(tokenizer.encode_framed(text).unwrap(), ids, "{text}");
            }
            tokenizer.library().encode(text, true).unwrap()
        };
        assert_eq!(encoding.get_ids(), ids, "{text}");
        assert_eq!(encoding.get_type_ids(), numbers(&row["type_ids"]), "{text}");
        let tokens: Vec<&str> = row["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
        assert_eq!(encoding.get_tokens(), tokens, "{text}");
        assert_eq!(tokenizer.decode(&ids).unwrap(), row["decoded"].as_str().unwrap(), "{text}");
    }
}

#[test]
fn golden_specials_are_found() {
    let tokenizer = TextTokenizer::from_json(GOLDEN_TOKENIZER).unwrap();
    let specials = tokenizer.specials();
    assert_eq!((specials.pad, specials.unknown, specials.cls), (0, Some(1), Some(2)));
    assert_eq!((specials.sep, specials.mask, specials.end_of_text), (Some(3), Some(4), Some(3)));
    assert_eq!(tokenizer.special_ids().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(tokenizer.vocabulary_size(), 260);
}

#[test]
fn bytes_are_bytes() {
    for (specials, first) in [(SpecialTokens::GPT2, 1), (SpecialTokens::BERT, 5)] {
        let tokenizer = bytes(specials).unwrap();
        assert_eq!(tokenizer.vocabulary_size(), 256 + first as usize);
        for text in TEXTS {
            let expected: Vec<u32> = text.bytes().map(|byte| first + u32::from(byte)).collect();
            assert_eq!(tokenizer.encode_plain(text).unwrap(), expected);
            // The file that is exported says the same as the short cut.
            assert_eq!(tokenizer.library().encode(text, false).unwrap().get_ids(), expected, "{text:?}");
            assert_eq!(tokenizer.decode(&expected).unwrap(), text);
        }
        assert_eq!(tokenizer.specials().mask.is_some(), specials == SpecialTokens::BERT);
        assert!(tokenizer.decode(&[first + 0xe4]).unwrap().contains('\u{fffd}'));
    }
}

#[test]
fn trained_bpe_has_the_size_and_gives_text_back() {
    let tokenizer = bpe(&text(), 1024, SpecialTokens::GPT2, &Silent).unwrap();
    assert_eq!(tokenizer.vocabulary_size(), 1024);
    assert_eq!(tokenizer.token(0).as_deref(), Some("<|endoftext|>"));
    for text in TEXTS {
        let ids = tokenizer.encode_plain(text).unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
    assert_eq!(tokenizer.encode_plain("The king").unwrap().len(), 2, "frequent words are one token");
}

#[test]
fn trained_word_piece_is_laid_out_as_bert() {
    let tokenizer = word_piece(&text(), 600, &Silent).unwrap();
    assert_eq!(tokenizer.vocabulary_size(), 600);
    for (id, name) in (0..).zip(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]) {
        assert_eq!(tokenizer.id(name), Some(id));
    }
    assert_eq!(tokenizer.special_ids().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let ids = tokenizer.encode_framed("The KING sleeps.").unwrap();
    assert_eq!((ids[0], ids[ids.len() - 1]), (2, 3));
    assert_eq!(tokenizer.decode(&ids).unwrap(), "the king sleeps.");
    assert!(!tokenizer.encode_plain("[MASK]").unwrap().contains(&4));
    assert_eq!(tokenizer.encode_masked("[MASK] [SEP]").unwrap()[..2], [2, 4]);
    assert_eq!(tokenizer.encode_masked("[MASK] [SEP]").unwrap().iter().filter(|id| **id == 3).count(), 1);
    assert_eq!(tokenizer.encode_plain("字").unwrap(), [1]);
}

#[test]
fn training_does_not_depend_on_threads_or_chance() {
    let text = text();
    let train = || {
        let one = bpe(&text, 700, SpecialTokens::BERT, &Silent).unwrap();
        let other = word_piece(&text, 700, &Silent).unwrap();
        (one.to_json().to_owned(), other.to_json().to_owned())
    };
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let first = pool(1).install(train);
    for threads in [1, 2, 4] {
        // Each time the library's hash maps have another random order.
        assert!(pool(threads).install(train) == first, "{threads} threads");
    }
}

#[test]
fn rare_characters_are_left_to_the_unknown_token() {
    let mut text = text();
    let rare: String = ('一'..).take(200).collect();
    text.push(&rare);
    // A quarter of 300 tokens may be single characters.
    let tokenizer = word_piece(&text, 300, &Silent).unwrap();
    let unknown = tokenizer.encode_plain(&rare).unwrap().iter().filter(|id| **id == 1).count();
    assert!((100..200).contains(&unknown), "{unknown}");
    assert!(!tokenizer.encode_plain("the king").unwrap().contains(&1));
}

#[test]
fn a_vocabulary_beyond_the_text_names_the_number_reached() {
    let short: Documents = ["one two three one two three"].into_iter().collect();
    let reached = |result: Result<TextTokenizer, DataError>| match result {
        Err(DataError::VocabularyTooLarge { asked: 5000, reached }) => reached,
        other => panic!("{other:?}"),
    };
    // The number reached can be asked for.
    let number = reached(bpe(&short, 5000, SpecialTokens::GPT2, &Silent));
    assert_eq!(bpe(&short, number, SpecialTokens::GPT2, &Silent).unwrap().vocabulary_size(), number);
    let number = reached(word_piece(&text(), 5000, &Silent));
    assert_eq!(word_piece(&text(), number, &Silent).unwrap().vocabulary_size(), number);
    assert!(matches!(
        bpe(&short, 200, SpecialTokens::GPT2, &Silent),
        Err(DataError::VocabularyTooSmall { least: 257, .. })
    ));
}

#[test]
fn special_tokens_in_a_corpus_are_ordinary_text() {
    let tokenizer = bpe(&text(), 600, SpecialTokens::GPT2, &Silent).unwrap();
    let plain = tokenizer.encode_plain("<|endoftext|>").unwrap();
    assert!(plain.len() > 1 && !plain.contains(&0));
    assert_eq!(tokenizer.decode(&plain).unwrap(), "<|endoftext|>");
}

#[test]
fn a_given_file_must_serve_the_objective() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("tokenizer.json");
    std::fs::write(&path, bytes(SpecialTokens::GPT2).unwrap().to_json()).unwrap();
    assert!(given(&path, &Objective::NEXT_TOKEN).is_ok());
    let error = given(&path, &Objective::MASKED_TOKENS).unwrap_err();
    assert!(matches!(error, DataError::NoMask { .. }), "{error}");
    std::fs::write(&path, GOLDEN_TOKENIZER).unwrap();
    assert_eq!(given(&path, &Objective::MASKED_TOKENS).unwrap().vocabulary_size(), 260);
    std::fs::write(&path, &GOLDEN_TOKENIZER[..1000]).unwrap();
    let error = given(&path, &Objective::NEXT_TOKEN).unwrap_err().to_string();
    assert!(error.starts_with("The tokenizer cannot be opened") && error.ends_with("tokenizer.json"), "{error}");
    assert!(matches!(given(&folder.path().join("none.json"), &Objective::NEXT_TOKEN), Err(DataError::Missing { .. })));
}

#[test]
fn truncation_and_padding_of_a_given_file_are_switched_off() {
    let mut json: Value = serde_json::from_str(GOLDEN_TOKENIZER).unwrap();
    json["truncation"] =
        serde_json::json!({ "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0 });
    json["padding"] = serde_json::json!({
        "strategy": { "Fixed": 64 }, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "[PAD]",
    });
    let tokenizer = TextTokenizer::from_json(json.to_string()).unwrap();
    let plain = TextTokenizer::from_json(GOLDEN_TOKENIZER).unwrap();
    let long = "the first layer reuses every head";
    assert_eq!(tokenizer.encode_framed(long).unwrap(), plain.encode_framed(long).unwrap());
}

/// A word of 4 MB, for which a trainer's work without bound takes hours. Letters in no order, so that its parts differ.
#[test]
fn a_word_of_megabytes_is_learned_and_encoded() {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 33) as u8 % 4)
    };
    let word: String = (0..4 << 20).map(|_| letter()).collect();
    let blanks = " ".repeat(1 << 20);
    let documents: Documents = [word.as_str(), &format!("a few{blanks}words")].into_iter().collect();
    let tokenizer = bpe(&documents, 400, SpecialTokens::GPT2, &Silent).unwrap();
    let total = documents.bytes() as u64;
    let stream = Encoder::new(&tokenizer, None, total, &Silent).encode(&documents).unwrap();
    assert!(stream.ids.len() < documents.bytes() / 2, "{} tokens", stream.ids.len());
    assert_eq!(tokenizer.decode(&stream.ids).unwrap(), documents.iter().collect::<String>());
    // Four letters are no vocabulary of that size: it is made of longer pieces.
    let words = word_piece(&documents, 200, &Silent).unwrap();
    assert_eq!(words.vocabulary_size(), 200);
    let unknown = words.specials().unknown.unwrap();
    let stream = Encoder::new(&words, None, total, &Silent).encode(&documents).unwrap();
    assert!(stream.ids.contains(&unknown), "a word that WordPiece takes for unknown");
}

/// A tokenizer may have tokens that its model has no row for: they are refused where they occur, with their place, and never drawn.
#[test]
fn tokens_beyond_the_model_matter_where_they_occur() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/generation/one_token_more/tokenizer.json");
    let tokenizer = TextTokenizer::from_json(std::fs::read(path).unwrap()).unwrap();
    assert_eq!(tokenizer.vocabulary_size(), 301);
    assert!(tokenizer.require_known(&[5, 6, 299], 300).is_ok());
    let told = tokenizer.require_known(&[5, 300, 6], 300).unwrap_err().to_string();
    assert!(told.contains("\"<new>\" (id 300) is token 2 of the text") && told.contains("ids 0 to 299"), "{told}");
    let known = tokenizer.clone().known_to(298).vocabulary().is_special;
    assert!(!known[297] && known[298] && known[299] && !tokenizer.vocabulary().is_special[298]);
}
