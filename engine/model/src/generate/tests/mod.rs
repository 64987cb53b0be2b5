//! Search over small models, against a search that looks at every text there is.

use std::ops::ControlFlow;

use candle_core::{DType, Device};

use super::*;
use crate::{
    attention::ModelPlan,
    config::{Cache, ModelKind, NumberWordsSource, RunConfig, Source},
    model::{ForwardOptions, Model, ModelInput, ParameterSet},
};

const VOCABULARY: usize = 7;
const END: u32 = 6;

/// A decoder whose predictions are sharp, and differ from place to place.
fn model(kind: ModelKind) -> Model {
    let (plan, parameters) = weights(kind);
    Model::frozen(&plan, &parameters).unwrap()
}

fn weights(kind: ModelKind) -> (ModelPlan, ParameterSet) {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.layers, config.model.heads) = (kind, 2, 2);
    (config.model.width, config.model.feed_forward, config.data.sequence_length) = (8, 8, 12);
    if kind == ModelKind::EncoderDecoder {
        config.data.source = Source::NumberWords(NumberWordsSource::default());
    }
    let plan = ModelPlan::resolve(&config, VOCABULARY).unwrap();
    let parameters = ParameterSet::init(&plan, 3, DType::F32, &Device::Cpu).unwrap();
    for (_, variable) in parameters.iter().filter(|(_, variable)| variable.rank() == 2) {
        variable.set(&variable.affine(20.0, 0.0).unwrap().detach()).unwrap();
    }
    (plan, parameters)
}

fn marks() -> Marks {
    Marks { end: vec![END], ..Marks::default() }
}

fn go(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn texts(model: &Model, sources: &[Vec<u32>], search: &Search) -> Vec<GeneratedText> {
    let by_cache = Cache::ALL.map(|cache| {
        let search = Search { cache, ..search.clone() };
        generate(model, sources, &marks(), &search, None, go).unwrap().texts
    });
    for other in &by_cache[1..] {
        for (a, b) in by_cache[0].iter().zip(other) {
            assert_eq!((&a.tokens, a.ending), (&b.tokens, b.ending), "{search:?}");
            assert!((a.score - b.score).abs() < 1e-4);
        }
    }
    by_cache[0].clone()
}

/// Log-probabilities of what follows a text.
fn log_probabilities(model: &Model, text: &[u32]) -> Vec<f64> {
    let input = ModelInput::new(text, None, 1, text.len(), &Device::Cpu).unwrap();
    let logits = model.forward(&input, &ForwardOptions::default()).unwrap().logits.to_vec3::<f32>().unwrap();
    let last = logits[0].last().unwrap();
    let sum: f64 = last.iter().map(|x| f64::from(*x).exp()).sum();
    last.iter().map(|x| f64::from(*x) - sum.ln()).collect()
}

/// The best text of at most `most` tokens by its score, found by looking at all of them.
fn best_of_all(model: &Model, prompt: &[u32], most: usize, length_penalty: f64) -> (Vec<u32>, f64) {
    let mut open = vec![(Vec::new(), 0.0)];
    let mut best = (Vec::new(), f64::NEG_INFINITY);
    for length in 1..=most {
        let mut next = Vec::new();
        for (tokens, sum) in &open {
            let text: Vec<u32> = prompt.iter().chain(tokens).copied().collect();
            for (token, logp) in log_probabilities(model, &text).into_iter().enumerate() {
                let mut tokens: Vec<u32> = tokens.clone();
                tokens.push(token as u32);
                let sum: f64 = sum + logp;
                if token as u32 == END || length == most {
                    let score = sum / (length as f64).powf(length_penalty);
                    if score > best.1 {
                        best = (tokens, score);
                    }
                } else {
                    next.push((tokens, sum));
                }
            }
        }
        open = next;
    }
    best
}

#[test]
fn beams_enough_find_the_best_text_there_is() {
    let model = model(ModelKind::Decoder);
    for length_penalty in [0.0, 1.0, 2.0] {
        for prompt in [vec![1], vec![2, 3], vec![0, 4, 5]] {
            // As many beams as there are texts of three tokens: nothing is lost on the way.
            let search = Search { beams: 343, max_new_tokens: 4, length_penalty, ..Search::default() };
            let found = &texts(&model, std::slice::from_ref(&prompt), &search)[0];
            let (tokens, score) = best_of_all(&model, &prompt, 4, length_penalty);
            assert_eq!(found.tokens, tokens, "{prompt:?}, {length_penalty}");
            assert!((found.score - score).abs() < 1e-4);
        }
    }
}

#[test]
fn one_beam_takes_the_most_probable_token_each_time() {
    let model = model(ModelKind::Decoder);
    let sources = [vec![1, 2], vec![3], vec![4, 5, 0, 1]];
    let search = Search { max_new_tokens: 6, ..Search::default() };
    for (source, found) in sources.iter().zip(texts(&model, &sources, &search)) {
        let mut text = source.clone();
        for token in &found.tokens {
            let logp = log_probabilities(&model, &text);
            assert!(logp.iter().all(|x| *x <= logp[*token as usize] + 1e-5));
            text.push(*token);
        }
        let ended = found.tokens.last() == Some(&END);
        assert!(!found.tokens[..found.tokens.len() - 1].contains(&END));
        assert_eq!(found.ending, if ended { Ending::EndToken } else { Ending::Length });
        assert!(ended || found.tokens.len() == 6);
    }
}

/// Rows of a batch do not hear of each other, and those that end make room.
#[test]
fn a_batch_gives_what_its_rows_give_alone() {
    let model = model(ModelKind::Decoder);
    let sources = [vec![1, 2], vec![3], vec![4, 5, 0, 1], vec![2]];
    for search in [
        Search { max_new_tokens: 5, beams: 3, ..Search::default() },
        Search { max_new_tokens: 5, beams: 3, early_stopping: true, ..Search::default() },
        Search { max_new_tokens: 5, beams: 4, groups: 2, diversity: 0.7, ..Search::default() },
        Search { max_new_tokens: 5, ..Search::default() },
    ] {
        let together = texts(&model, &sources, &search);
        for (source, found) in sources.iter().zip(&together) {
            assert_eq!(texts(&model, std::slice::from_ref(source), &search)[0].tokens, found.tokens, "{search:?}");
        }
    }
}

#[test]
fn lengths_and_repetitions_are_kept_to() {
    let model = model(ModelKind::Decoder);
    for beams in [1, 3] {
        for source in 0..6 {
            let search = Search { beams, max_new_tokens: 8, min_new_tokens: 7, no_repeat: 2, ..Search::default() };
            let found = &texts(&model, &[vec![source, 1]], &search)[0];
            assert!(found.tokens.len() >= 7, "{found:?}");
            assert!(!found.tokens[..7].contains(&END), "{found:?}");
            let text: Vec<u32> = [source, 1].into_iter().chain(found.tokens.iter().copied()).collect();
            let pairs: Vec<&[u32]> = text.windows(2).collect();
            assert!((0..pairs.len()).all(|i| !pairs[..i].contains(&pairs[i])), "{text:?}");
        }
    }
    let forced = Marks { forced_first: Some(4), forced_last: vec![END], ..marks() };
    for beams in [1, 2] {
        let search = Search { beams, max_new_tokens: 3, min_new_tokens: 2, ..Search::default() };
        let found = generate(&model, &[vec![1]], &forced, &search, None, go).unwrap().texts.remove(0);
        assert_eq!((found.tokens[0], found.tokens.last()), (4, Some(&END)));
    }
}

/// Groups without a penalty are one group each of fewer beams; a large one makes their first tokens different.
#[test]
fn groups_avoid_what_others_chose() {
    let model = model(ModelKind::Decoder);
    let of = |beams, groups, diversity| {
        texts(&model, &[vec![1, 2]], &Search { beams, groups, diversity, max_new_tokens: 4, ..Search::default() })
    };
    assert_eq!(of(4, 4, 0.0)[0].tokens, of(1, 1, 0.0)[0].tokens);
    assert_eq!(of(4, 2, 0.0)[0].tokens, of(2, 1, 0.0)[0].tokens);
    // The first group is penalised by nobody, so that its text is there whatever the strength.
    assert!(of(4, 4, 50.0)[0].score >= of(1, 1, 0.0)[0].score - 1e-5);
}

#[test]
fn the_seed_decides_what_is_drawn() {
    let model = model(ModelKind::Decoder);
    let of = |seed, top_k, top_p| {
        let search = Search { temperature: 3.0, seed, top_k, top_p, max_new_tokens: 6, ..Search::default() };
        texts(&model, &[vec![1], vec![1]], &search).into_iter().map(|text| text.tokens).collect::<Vec<_>>()
    };
    assert_eq!(of(1, None, None), of(1, None, None));
    assert!((2..8).any(|seed| of(1, None, None) != of(seed, None, None)));
    // The two rows draw differently.
    assert!((1..8).any(|seed| of(seed, None, None)[0] != of(seed, None, None)[1]));
    let greedy = texts(&model, &[vec![1]], &Search { max_new_tokens: 6, ..Search::default() })[0].tokens.clone();
    assert_eq!(of(5, Some(1), None)[0], greedy);
    assert_eq!(of(5, None, Some(1e-9))[0], greedy);
}

/// Shares of 20,000 draws: four deviations of the largest are 0.015.
#[test]
fn draws_follow_top_k_and_top_p() {
    use super::choice::Choice;
    use crate::ops::random::{Purpose, Stream};
    let shares = |search: Search| {
        let mut stream = Stream::new(1, Purpose::Test, 0);
        let mut counts = [0.0; 4];
        for _ in 0..20_000 {
            let mut logits = [0.5_f32, 0.2, 0.25, 0.05].map(f32::ln);
            let drawn = Choice::new(&mut logits).unwrap().draw(&search, &LogitsProcessors::default(), &mut stream);
            counts[drawn.unwrap() as usize] += 1.0 / 20_000.0;
        }
        counts
    };
    let near = |measured: [f64; 4], expected: [f64; 4]| {
        assert!(measured.iter().zip(expected).all(|(m, e)| (m - e).abs() < 0.015), "{measured:?}");
    };
    let warm = Search { temperature: 1.0, ..Search::default() };
    near(shares(warm.clone()), [0.5, 0.2, 0.25, 0.05]);
    near(shares(Search { top_k: Some(2), ..warm.clone() }), [0.5 / 0.75, 0.0, 0.25 / 0.75, 0.0]);
    near(shares(Search { top_p: Some(0.8), ..warm.clone() }), [0.5 / 0.95, 0.2 / 0.95, 0.25 / 0.95, 0.0]);
    near(shares(Search { top_p: Some(0.75), ..warm.clone() }), [0.5 / 0.75, 0.0, 0.25 / 0.75, 0.0]);
    let square: f64 = 0.25 + 0.04 + 0.0625 + 0.0025;
    near(shares(Search { temperature: 0.5, ..warm }), [0.25, 0.04, 0.0625, 0.0025].map(|x| x / square));
}

/// Whoever listens hears every step, and what there is when they stop is the result.
#[test]
fn what_was_generated_is_kept_when_it_is_stopped() {
    let model = model(ModelKind::Decoder);
    for beams in [1, 3] {
        let search = Search { beams, max_new_tokens: 6, min_new_tokens: 6, ..Search::default() };
        let mut heard = Vec::new();
        let found = generate(&model, &[vec![1, 2]], &marks(), &search, None, |progress| {
            heard.push((progress.step, progress.tokens.to_vec()));
            if progress.step == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(
            heard.iter().map(|(step, tokens)| (*step, tokens.len())).collect::<Vec<_>>(),
            [(1, 1), (2, 2), (3, 3)]
        );
        assert_eq!((found.texts[0].tokens.len(), found.texts[0].ending), (3, Ending::Stopped));
        assert_eq!(found.texts[0].tokens, heard[2].1);
    }
}

/// A text ends where positions end.
#[test]
fn text_ends_with_the_positions() {
    let model = model(ModelKind::Decoder);
    for beams in [1, 2] {
        let search = Search { beams, max_new_tokens: 40, min_new_tokens: 40, ..Search::default() };
        let found = &texts(&model, &[vec![1; 10]], &search)[0];
        // The last token is written and not read.
        assert_eq!((found.tokens.len(), found.ending), (3, Ending::Positions));
    }
}

type Change = fn(&mut Search);

#[test]
fn wrong_requests_are_refused() {
    let decoder = model(ModelKind::Decoder);
    let ask = |sources: &[Vec<u32>], search: Search, free| {
        generate(&decoder, sources, &marks(), &search, free, go).unwrap_err().to_string()
    };
    let told = |found: String, wanted: &str| assert!(found.contains(wanted), "{found}");
    told(ask(&[vec![]], Search::default(), None), "The prompt has no tokens");
    told(ask(&[vec![1; 13]], Search::default(), None), "has 13 tokens, but the model reads at most 12");
    told(ask(&[vec![7]], Search::default(), None), "the token 7, but the model knows 7 tokens");
    let beams = Search { beams: 512, ..Search::default() };
    told(ask(&[vec![1; 4]], beams, Some(1000)), "Not enough memory for 1 text of 512 beams");
    let settings: [(Change, &str); 13] = [
        (|s| s.beams = 0, "0 beams cannot be followed"),
        (|s| s.beams = 5000, "5,000 beams cannot be followed"),
        (|s| (s.beams, s.groups) = (4, 3), "4 beams cannot be put into 3 equal groups"),
        (|s| s.groups = 2, "1 beam cannot be put into 2 equal groups"),
        (|s| s.diversity = 1.0, "needs several groups"),
        (|s| s.diversity = f64::NAN, "strength of diversity"),
        (|s| s.length_penalty = f64::INFINITY, "length penalty"),
        (|s| (s.beams, s.temperature) = (2, 1.0), "nothing is drawn"),
        (|s| s.temperature = -1.0, "A temperature of -1"),
        (|s| s.top_p = Some(0.5), "give a temperature"),
        (|s| (s.temperature, s.top_p) = (1.0, Some(0.0)), "above 0 and at most 1"),
        (|s| s.max_new_tokens = 0, "largest number of new tokens"),
        (|s| s.min_new_tokens = 100, "At least 100 new tokens and at most 64"),
    ];
    for (change, wanted) in settings {
        let mut search = Search::default();
        change(&mut search);
        told(ask(&[vec![1]], search, None), wanted);
    }
    let encoder = model(ModelKind::Encoder);
    let found = generate(&encoder, &[vec![1]], &marks(), &Search::default(), None, go).unwrap_err();
    assert_eq!(found, GenerateError::NoDecoder);
}

/// A proof finds the same tokens, and compares logits on the way; texts of another model are told apart.
#[test]
fn caches_are_proved_to_lose_nothing() {
    let model = model(ModelKind::Decoder);
    let sources = [vec![1, 2], vec![3], vec![4, 5, 0, 1], vec![2], vec![5, 5, 5]];
    for search in
        [Search { max_new_tokens: 6, ..Search::default() }, Search { max_new_tokens: 5, beams: 3, ..Search::default() }]
    {
        let plain = Search { cache: Cache::default(), ..search.clone() };
        let expected = generate(&model, &sources, &marks(), &plain, None, go).unwrap();
        let expected: Vec<Vec<u32>> = expected.texts.into_iter().map(|text| text.tokens).collect();
        let mut other = expected.clone();
        other[1].push(0);
        let mut done = Vec::new();
        let (proof, texts) = prove_caches(&model, &sources, &marks(), &search, (2, None), Some(&other), &mut |count| {
            done.push(count);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(texts, expected);
        assert!(proof.is_lossless() && !proof.stopped, "{proof:?}");
        assert_eq!((proof.texts, proof.tokens), (5, expected.iter().map(Vec::len).sum()));
        assert_eq!((done.last(), done.is_sorted()), (Some(&5), true));
        for (row, cache) in proof.caches.iter().zip(Cache::ALL) {
            assert_eq!((&row.cache, row.identical, row.as_reference), (&cache, 5, Some(4)));
            assert_eq!(row.cache_bytes == 0, cache.is_none());
            assert!(row.seconds > 0.0 && row.why.is_none());
            // The sums of a few rounded numbers times twenty; without a cache it is the same computation.
            assert!(row.largest_difference < 1e-3, "{row:?}");
            assert!(cache.is_none() == (row.largest_difference == 0.0), "{row:?}");
        }
    }
}

#[test]
fn a_proof_that_is_stopped_keeps_the_batches_that_are_done() {
    let model = model(ModelKind::Decoder);
    let sources = vec![vec![1, 2]; 5];
    let search = Search { max_new_tokens: 4, ..Search::default() };
    let stop = |done| if done >= 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let (proof, texts) = prove_caches(&model, &sources, &marks(), &search, (2, None), None, &mut { stop }).unwrap();
    assert_eq!((proof.texts, texts.len(), proof.stopped), (2, 2, true));
    assert!(proof.caches.iter().all(|row| row.identical == 2 && row.as_reference.is_none()));
}

/// Every beam of every step is there, each text that ended with its score, and the result among them.
#[test]
fn the_tree_of_beams_holds_what_was_followed() {
    let model = model(ModelKind::Decoder);
    for search in [
        Search { max_new_tokens: 5, beams: 3, ..Search::default() },
        Search { max_new_tokens: 5, beams: 4, groups: 2, diversity: 0.7, ..Search::default() },
    ] {
        let without = generate(&model, &[vec![1, 2]], &marks(), &search, None, go).unwrap();
        assert!(without.texts[0].tree.is_empty());
        let search = Search { keep_tree: true, ..search };
        let found = generate(&model, &[vec![1, 2]], &marks(), &search, None, go).unwrap().texts.remove(0);
        assert_eq!(found.tokens, without.texts[0].tokens);
        let text = |mut node: usize| {
            let mut tokens = Vec::new();
            loop {
                tokens.insert(0, found.tree[node].token);
                match found.tree[node].parent {
                    Some(parent) if parent < node => node = parent,
                    Some(parent) => panic!("{parent} is not before {node}"),
                    None => return tokens,
                }
            }
        };
        let ended: Vec<usize> = (0..found.tree.len()).filter(|node| found.tree[*node].score.is_some()).collect();
        let best = ended.iter().max_by(|a, b| found.tree[**a].score.partial_cmp(&found.tree[**b].score).unwrap());
        assert_eq!(text(*best.unwrap()), found.tokens);
        assert_eq!(found.tree[*best.unwrap()].score, Some(found.score));
        for node in &ended {
            assert!(found.tree.iter().all(|other| other.parent != Some(*node)), "nothing follows an end");
        }
        let width = search.beams / search.groups;
        for group in 0..search.groups {
            let of_group = found.tree.iter().filter(|node| node.group == group);
            assert_eq!(of_group.filter(|node| node.parent.is_none() && node.score.is_none()).count(), width);
        }
        // What was stopped is still running.
        let stopped = generate(&model, &[vec![1, 2]], &marks(), &search, None, |_| ControlFlow::Break(())).unwrap();
        let running = stopped.texts[0].tree.iter().filter(|node| node.is_running).count();
        assert_eq!(running, search.beams);
    }
}

/// Rows are probabilities of the prompt, the mean of what the maps of the whole text say; nothing is left over at the first
/// token.
#[test]
fn attention_on_the_prompt_is_that_of_the_maps() {
    let model = model(ModelKind::Decoder);
    let (prompt, generated) = (vec![1, 2, 4], vec![3, 0, 5]);
    let found = attention_on_source(&model, &prompt, &generated, None).unwrap().unwrap();
    assert_eq!((found.layers, found.tokens, found.source, found.values.len()), (2, 3, 3, 18));
    let text = [1, 2, 4, 3, 0];
    let input = ModelInput::new(&text, None, 1, 5, &Device::Cpu).unwrap();
    let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
    let maps = model.forward(&input, &options).unwrap().maps;
    for (map, values) in maps.iter().zip(found.values.chunks(9)) {
        let map = map.mean(1).unwrap().squeeze(0).unwrap().to_vec2::<f32>().unwrap();
        for (query, row) in map[2..].iter().zip(values.chunks(3)) {
            assert!(query.iter().zip(row).all(|(whole, found)| (whole - found).abs() < 1e-6));
        }
        let first: f32 = values[..3].iter().sum();
        assert!((first - 1.0).abs() < 1e-5, "the first token saw the prompt alone: {first}");
    }
    assert_eq!(attention_on_source(&model, &prompt, &[], None).unwrap(), None);
}

/// What is filled grows by the same for each token, up to what was made room for.
#[test]
fn what_is_kept_grows_by_token() {
    let model = model(ModelKind::Decoder);
    for cache in Cache::ALL {
        let search = Search { cache: cache.clone(), max_new_tokens: 6, min_new_tokens: 6, ..Search::default() };
        let mut filled = Vec::new();
        let found = generate(&model, &[vec![1, 2]], &marks(), &search, None, |progress| {
            filled.push(progress.filled_bytes);
            ControlFlow::Continue(())
        })
        .unwrap();
        let steps: Vec<u64> = filled.windows(2).map(|two| two[1] - two[0]).collect();
        // Keys and values of two layers of eight numbers.
        let of_token = if cache.is_none() { 0 } else { 2 * 2 * 8 * 4 };
        assert_eq!(steps, [of_token; 5], "{}", cache.word());
        assert_eq!((filled.iter().max(), found.filled_bytes <= found.cache_bytes), (Some(&found.filled_bytes), true));
    }
}

/// Room for tokens to come and places that fill shorter sources up are not counted, wherever the model computes.
#[test]
fn what_is_kept_in_half_the_bytes_is_half_as_much() {
    for kind in [ModelKind::Decoder, ModelKind::EncoderDecoder] {
        let (plan, parameters) = weights(kind);
        let whole = Model::frozen(&plan, &parameters).unwrap();
        let half = Model::frozen_in(&plan, &parameters, DType::BF16).unwrap();
        let sources = [vec![1, 2], vec![3], vec![4, 5, 0, 1]];
        let marks = Marks { start: plan.encoder.is_some().then_some(0), ..Marks::default() };
        for cache in Cache::ALL.into_iter().filter(|cache| !cache.is_none()) {
            // No token ends a text, so that both write as many.
            let search = Search { cache, max_new_tokens: 5, ..Search::default() };
            let kept = |model: &Model| generate(model, &sources, &marks, &search, None, go).unwrap().filled_bytes;
            assert_eq!((kept(&whole), kept(&half) > 0), (2 * kept(&half), true), "{kind:?} {}", search.cache.word());
            let proved = |model: &Model| {
                let all = |_| ControlFlow::Continue(());
                let (proof, _) = prove_caches(model, &sources, &marks, &search, (3, None), None, &mut { all }).unwrap();
                proof.caches.iter().find(|row| row.cache == search.cache).unwrap().cache_bytes
            };
            assert_eq!(proved(&whole), 2 * proved(&half));
        }
    }
}
