use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use candle_core::{DType, Device};
use rayon::ThreadPoolBuilder;

use crate::{
    analysis::{
        MapView, NOT_YET,
        reconstruction::{RebuiltMap, Reconstruction},
    },
    attention::HeadAt,
    checkpoint::load_model_dir,
    config::{DataConfig, Source},
    data::{DataError, PreviewImage, TextTokenizer, pair_as_read},
    jobs::{
        Refusal, STACK_BYTES,
        subject::{StoredModel, Subject, open},
    },
    model::Model,
    objective::Batch,
    protocol::{Event, MapText, Outbox, Rebuild, Target, events},
    store::{AnalysisId, Store},
};

/// Views that are kept: two runs beside each other, and what was seen before them.
const KEPT: usize = 4;

/// Examples among which [`MapText::Example`] chooses, spread evenly over the held-out text.
const EXAMPLES: usize = 16;

/// Tokens of such an example where it is not known how long those of training were: maps that can still be read.
const TOKENS: usize = 64;

/// Why a model of images does not read what is written.
const READS_IMAGES: &str = "The model reads images, no text. Choose one of its held-out images.";

/// What is said of a view that gave way to others.
const CLOSED: &str = "It is not open any more. Open it again.";

/// Open views by their tickets, the oldest first.
type Views = VecDeque<(u64, Arc<MapView>)>;

/// Computes attention maps to be shown, on threads of their own: whoever asks does not wait for a training run.
#[derive(Clone, Default)]
pub(super) struct Viewer {
    views: Arc<Mutex<Views>>,
    /// What rebuilding does not read again for every k.
    known: Arc<Mutex<Known>>,
}

/// The pairs of the analysis, and the scores of the map, that were asked for last.
#[derive(Default)]
struct Known {
    pairs: Option<(AnalysisId, Arc<Reconstruction>)>,
    scores: Option<KnownScores>,
}

struct KnownScores {
    view: u64,
    head: HeadAt,
    scores: Arc<Vec<f32>>,
}

impl Viewer {
    /// Reads an example with a model and answers with its maps, made small.
    pub(super) fn open(&self, context: ViewContext, view: u64, of: MapsOf) {
        let views = Arc::clone(&self.views);
        let outbox = context.outbox.clone();
        spawn(&outbox, move || {
            let found = show(&context, &of);
            let (shown, event) = match found {
                Ok(Seen { view: map_view, step, named, tokens, picture, examples }) => match map_view.thumbnails() {
                    Ok(thumbnails) => {
                        let (thumbnails, picture) = (Box::new(thumbnails), picture.map(Box::new));
                        (
                            Some(map_view),
                            Event::Maps(events::Maps {
                                view,
                                target: named,
                                step,
                                tokens,
                                picture,
                                examples,
                                thumbnails,
                            }),
                        )
                    }
                    Err(error) => (None, failed(&named, &error.to_string())),
                },
                Err(why) => (None, failed(&Subject::called(&context.store, &of.target), &why.to_string())),
            };
            if let Some(shown) = shown {
                let mut views = views.lock().unwrap_or_else(PoisonError::into_inner);
                views.retain(|(known, _)| *known != view);
                views.push_back((view, Arc::new(shown)));
                while views.len() > KEPT {
                    views.pop_front();
                }
            }
            event
        });
    }

    /// Answers with a map beside itself put together from some of its pairs.
    pub(super) fn rebuild(&self, context: ViewContext, view: u64, rebuild: Rebuild) {
        let (shown, known) = (self.view(view), Arc::clone(&self.known));
        let outbox = context.outbox.clone();
        spawn(&outbox, move || {
            let found = match shown {
                Some(shown) => rebuilt(&context.store, &known, (view, &shown), &rebuild),
                None => Err(CLOSED.into()),
            };
            match found {
                Ok(found) => {
                    Event::Rebuilt(events::Rebuilt { view, rebuild, rebuilt: Some(Box::new(found)), why: None })
                }
                Err(why) => Event::Rebuilt(events::Rebuilt { view, rebuild, rebuilt: None, why: Some(why.into()) }),
            }
        });
    }

    fn view(&self, view: u64) -> Option<Arc<MapView>> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.iter().find(|(known, _)| *known == view).map(|(_, view)| Arc::clone(view))
    }

    /// Answers with one of the maps of a view.
    pub(super) fn map(&self, context: ViewContext, view: u64, head: HeadAt) {
        let Some(known) = self.view(view) else {
            context.outbox.send(failed("the example", CLOSED));
            return;
        };
        spawn(&context.outbox, move || match known.map(head) {
            Ok(values) => {
                Event::Map(events::Map { view, layer: head.layer, head: head.head, values: values.unwrap_or_default() })
            }
            Err(error) => failed("the example", &error.to_string()),
        });
    }
}

/// What a view works with.
#[derive(Clone)]
pub(super) struct ViewContext {
    pub(super) store: Store,
    pub(super) outbox: Outbox,
}

fn failed(named: &str, why: &str) -> Event {
    Event::Failed(events::Failed {
        run: None,
        why: format!("The maps of {named} cannot be shown. {why}"),
        what_to_do: String::new(),
    })
}

fn no_thread(error: &dyn std::fmt::Display) -> Event {
    let what_to_do = "Close other programs, then try again.".to_owned();
    Event::Failed(events::Failed { run: None, why: format!("No thread could be started: {error}."), what_to_do })
}

/// Works on a thread of its own with one thread of a pool, and sends the answer.
pub(super) fn spawn(outbox: &Outbox, work: impl FnOnce() -> Event + Send + 'static) {
    let answer = outbox.clone();
    let spawned =
        std::thread::Builder::new().name("headroom-view".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            let pool = ThreadPoolBuilder::new()
                .num_threads(1)
                .stack_size(STACK_BYTES)
                .thread_name(|_| "headroom-view-0".to_owned())
                .build();
            answer.send(match pool {
                Ok(pool) => pool.install(work),
                Err(error) => no_thread(&error),
            });
        });
    if let Err(error) = spawned {
        outbox.send(no_thread(&error));
    }
}

/// A map of a view beside itself put together from some of its pairs. Pairs and scores are read once for all k.
fn rebuilt(
    store: &Store,
    known: &Mutex<Known>,
    (view, shown): (u64, &MapView),
    rebuild: &Rebuild,
) -> Result<RebuiltMap, Refusal> {
    let head = HeadAt::new(rebuild.layer, rebuild.head);
    let (pairs, scores) = {
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = known.pairs.as_ref().filter(|(analysis, _)| *analysis == rebuild.analysis);
        let scores = known.scores.as_ref().filter(|known| (known.view, known.head) == (view, head));
        (pairs.map(|(_, pairs)| Arc::clone(pairs)), scores.map(|known| Arc::clone(&known.scores)))
    };
    let pairs = if let Some(pairs) = pairs {
        pairs
    } else {
        let found = store.analysis(&rebuild.analysis)?;
        let pairs = Arc::new(found.reconstruction.ok_or("The analysis did not ask for reconstruction.")?);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.pairs = Some((rebuild.analysis.clone(), Arc::clone(&pairs)));
        pairs
    };
    let scores = if let Some(scores) = scores {
        scores
    } else {
        let found = shown.scores(head)?;
        let name = format!("L{}H{}", head.layer, head.head);
        let scores = Arc::new(found.ok_or(Refusal::HeadOff(name))?);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.scores = Some(KnownScores { view, head, scores: Arc::clone(&scores) });
        scores
    };
    pairs.rebuild(rebuild.scope, &scores, rebuild.k).map_err(Refusal::Rebuild)
}

/// Whose maps, on what.
pub(super) struct MapsOf {
    pub(super) target: Target,
    /// The text whose examples can be shown; none: the run's own.
    pub(super) data: Option<Box<DataConfig>>,
    pub(super) text: MapText,
}

/// A model that has read an example.
struct Seen {
    view: MapView,
    step: Option<u64>,
    /// The model in words.
    named: String,
    /// As text.
    tokens: Vec<String>,
    /// What it read, where that is an image.
    picture: Option<PreviewImage>,
    /// How many examples there are to choose from.
    examples: usize,
}

/// Has a model read an example.
fn show(context: &ViewContext, MapsOf { target, data, text }: &MapsOf) -> Result<Seen, Refusal> {
    match text {
        MapText::Written(text) => show_written(context, target, text),
        MapText::Example(number) => {
            let subject = with_text(context, target, data.as_deref())?;
            let longest = if subject.has_text { subject.tokens() } else { subject.tokens().min(TOKENS) };
            let held_out = subject.held_out(1, longest)?.without_labels();
            let count = held_out.spread_count(EXAMPLES).max(1);
            let example = held_out.spread(EXAMPLES, 1).nth(number % count);
            show_example(subject, example, count)
        }
        MapText::HeldOut { number, tokens, examples } => {
            let subject = with_text(context, target, data.as_deref())?;
            subject.require_positions(*tokens)?;
            let held_out = subject.held_out(1, *tokens)?.without_labels();
            // Every second one, as the analysis counts.
            let count = (held_out.spread_count(*examples) / 2).max(1);
            let example = held_out.spread(*examples, 1).skip(1).step_by(2).nth(number % count);
            show_example(subject, example, 0)
        }
        MapText::Image(number) => {
            let subject = with_text(context, target, data.as_deref())?;
            if subject.corpus.images().is_none() {
                return Err("The model reads no images.".into());
            }
            let held_out = subject.held_out(1, subject.tokens())?.without_labels();
            let (examples, count) = (held_out.spread_count(EXAMPLES).max(1), held_out.windows());
            let example = held_out.one(*number).ok_or(Refusal::NoImage { number: number + 1, count })?;
            show_example(subject, Some(example), examples)
        }
    }
}

/// A model with the text whose examples can be shown.
fn with_text(context: &ViewContext, target: &Target, data: Option<&DataConfig>) -> Result<Subject, Refusal> {
    let tell = |message| context.outbox.send(Event::Warning(events::Warning { run: None, message }));
    let subject = Subject::load_on_processor(&context.store, target, data, &tell)?;
    subject.require_analysable()?;
    if data.is_none() && !subject.has_text {
        return Err("A model directory from elsewhere holds no text. Name one, or write some.".into());
    }
    Ok(subject)
}

/// Has a model read what somebody wrote. That takes its weights and its tokenizer, not what it learnt from, which may be long or gone.
fn show_written(context: &ViewContext, target: &Target, text: &str) -> Result<Seen, Refusal> {
    let (directory, stored) = open(&context.store, target)?;
    let loaded = load_model_dir(&directory, DType::F32, &Device::Cpu)?;
    if !loaded.plan.is_analysable() {
        return Err(NOT_YET.into());
    }
    if loaded.plan.image_shape().is_some() {
        return Err(READS_IMAGES.into());
    }
    let json = loaded.tokenizer_json.ok_or("The model directory has no tokenizer.json.")?;
    let tokenizer = TextTokenizer::from_json(json)?;
    let model = Model::frozen(&loaded.plan, &loaded.parameters)?;
    let named = stored.as_ref().map_or_else(|| Subject::name(target), StoredModel::named);
    let step = stored.as_ref().map(|stored| stored.step);
    let config = stored.map(|stored| stored.config).or(loaded.config);
    let reads_pairs = config.is_none_or(|config| has_two_texts(&config.data.source));
    let is_pair = !model.plan().stack.is_causal && reads_pairs;
    let read = written(&model, &tokenizer, text, is_pair)?;
    for message in loaded.notes.into_iter().chain(unknown_warning(&tokenizer, &read.ids)) {
        context.outbox.send(events::Warning { run: None, message });
    }
    of_tokens((named, step), model, &tokenizer, read)
}

/// Has a model read a held-out example, of `examples` to choose from.
fn show_example(subject: Subject, example: Option<Batch>, examples: usize) -> Result<Seen, Refusal> {
    if subject.corpus.images().is_some() {
        let example = example.ok_or("There is no held-out image.")?;
        return of_image(subject, &example).map(|seen| Seen { examples, ..seen });
    }
    let read = example.map(tokens_of).ok_or("There is no held-out example.")?;
    let Subject { named, step, model, corpus, .. } = subject;
    of_tokens((named, step), model, &corpus.tokenizer, read).map(|seen| Seen { examples, ..seen })
}

/// Has a model read tokens.
fn of_tokens(
    (named, step): (String, Option<u64>),
    model: Model,
    tokenizer: &TextTokenizer,
    Read { ids, types }: Read,
) -> Result<Seen, Refusal> {
    tokenizer.require_known(&ids, model.plan().vocabulary())?;
    let most = model.plan().stack.longest();
    if ids.len() > most {
        return Err(Refusal::TextTooLong { tokens: ids.len(), most });
    }
    if ids.is_empty() {
        return Err("The text has no token. Write some words.".into());
    }
    let tokens = tokenizer.pieces(&ids);
    let view = MapView::new(model, &ids, types.as_deref(), &Device::Cpu)?;
    Ok(Seen { view, step, named, tokens, picture: None, examples: 0 })
}

/// Has a model read an image: its positions are the class token and the squares, by row and column.
fn of_image(subject: Subject, batch: &Batch) -> Result<Seen, Refusal> {
    let Subject { named, step, model, corpus, .. } = subject;
    let at = batch.pixels.as_ref().and_then(|pixels| pixels.images.first().copied());
    let picture = corpus.images().zip(at).and_then(|(images, at)| {
        let numbers = images.shape.numbers();
        let pixels = images.validation.get(at * numbers..(at + 1) * numbers)?;
        let class = corpus.answers().and_then(|own| own.validation.class(at).map(|class| (own, class)));
        let label = class.and_then(|(own, class)| own.labels.name(class)).unwrap_or_default().to_owned();
        Some(PreviewImage::new(label, images.shape, pixels))
    });
    let view = MapView::of_image(model, batch)?;
    // What stands before the squares: the class token, and in some models one more.
    let side = view.tokens().isqrt();
    let before = view.tokens() - side * side;
    let square = |place: usize| format!("{},{}", place / side.max(1), place % side.max(1));
    let names = ["[CLS]", "[DISTIL]"].into_iter().map(str::to_owned);
    let tokens = names.take(before).chain((0..side * side).map(square)).collect();
    Ok(Seen { view, step, named, tokens, picture, examples: 0 })
}

/// A warning about a text of which the tokenizer knows nothing.
fn unknown_warning(tokenizer: &TextTokenizer, ids: &[u32]) -> Option<String> {
    let unknown = tokenizer.specials().unknown?;
    let is_frame = |id: u32| id != unknown && tokenizer.special_ids().any(|special| special == id);
    let mut of_text = ids.iter().copied().filter(|id| !is_frame(*id)).peekable();
    let _ = of_text.peek()?;
    of_text.all(|id| id == unknown).then(|| {
        format!(
            "The tokenizer knows nothing of the text: every token is {}, so that the maps say nothing about it. Write it in the \
             language of the model.",
            tokenizer.token(unknown).unwrap_or_else(|| "unknown".to_owned())
        )
    })
}

/// Tokens, and to which of two texts each belongs; none where there is one text.
#[derive(Debug, PartialEq)]
struct Read {
    ids: Vec<u32>,
    types: Option<Vec<u32>>,
}

/// The tokens of a batch of one row, without the padding behind them.
fn tokens_of(batch: Batch) -> Read {
    let padding = batch.key_mask.iter().flatten().filter(|key| **key == 0).count();
    let (mut ids, mut types) = (batch.input_ids, batch.token_types);
    let kept = ids.len() - padding.min(ids.len());
    ids.truncate(kept);
    if let Some(types) = &mut types {
        types.truncate(kept);
    }
    Read { ids, types }
}

/// Whether each of its examples has two texts, which a model reads as a pair.
fn has_two_texts(source: &Source) -> bool {
    source.settings().texts().is_some_and(|texts| texts > 1)
}

/// A text that somebody wrote in the model's frame: of a model that reads pairs, two with a tab between as a pair, cut off as its rows are;
/// of any other one a tab is text.
fn written(model: &Model, tokenizer: &TextTokenizer, text: &str, is_pair: bool) -> Result<Read, DataError> {
    match text.split_once('\t').filter(|_| is_pair) {
        Some((first, second)) => {
            let (ids, types) = pair_as_read(tokenizer, [first, second], model.plan().stack.longest())?;
            Ok(Read { ids, types: Some(types) })
        }
        None => Ok(Read { ids: tokenizer.encode_framed(text)?, types: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Column, FileSource, SquadSource, TableSource};

    #[test]
    fn pairs_are_read_by_models_that_learnt_from_two_texts_each() {
        let table = |columns: &[&str]| {
            let text = columns.iter().map(|&name| Column::named(name)).collect();
            Source::Table(TableSource { text, ..TableSource::default() })
        };
        assert!(has_two_texts(&table(&["question", "sentence"])));
        assert!(has_two_texts(&Source::Squad(SquadSource::default())));
        assert!(!has_two_texts(&table(&["sentence"])) && !has_two_texts(&Source::File(FileSource::default())));
    }
}
