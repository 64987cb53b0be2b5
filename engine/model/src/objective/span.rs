//! Extractive question answering: where in a paragraph the answer begins and where it ends (Devlin et al. 2019, sections 4.2
//! and 4.3), scored as the scripts of `SQuAD` do.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};

use super::{
    Answers, Batch, Direction, ExampleSums, Guess, Guesses, Metric, Paragraph, Quantity, Question, Questions, Spans,
    Sums, Task, Window, recorded::VALIDATION_LOSS, text_scores::SquadScore,
};
use crate::{
    config::Span,
    model::{ForwardOptions, Loss, Model, ModelError},
    ops,
};

const fn share(
    series: &'static str,
    title: &'static str,
    phrase: &'static str,
    formula: &'static str,
    of_sums: fn(&Sums) -> f64,
) -> Metric {
    Metric {
        series,
        title,
        phrase,
        unit: "",
        quantity: Quantity::Share,
        direction: Direction::Higher,
        formula,
        of_sums: Some(of_sums),
        of_examples: None,
    }
}

const fn threshold(
    series: &'static str,
    title: &'static str,
    phrase: &'static str,
    of_sums: fn(&Sums) -> f64,
) -> Metric {
    let formula = "the least doubt of any answer that is then still given where the score is the best: answers of less doubt are given, \
                   those of more are not; below all of them where none is the best";
    Metric { quantity: Quantity::Number, direction: Direction::None, ..share(series, title, phrase, formula, of_sums) }
}

/// 0..=1.
const EXACT: Metric = share(
    "validation/exact_match",
    "Exact match",
    "{} of answers the same as a right one",
    "questions whose answer is the same as a right one, but for case, punctuation, articles and white space / questions",
    |sums| Judged::of(sums).mean(|one| one.score.exact),
);

/// 0..=1. One series with the F1 of classes, which is another number on the same scale.
const F1: Metric = share(
    "validation/f1",
    "F1",
    "F1 {}",
    "mean over the questions of the F1 of the words of the answer and of the right one that it is nearest to",
    |sums| Judged::of(sums).mean(|one| one.score.f1),
);

const HAS_ANSWER_EXACT: Metric = share(
    "validation/has_answer_exact_match",
    "Exact match where there is an answer",
    "{} of answers the same as a right one, where there is one",
    "exact match of the questions that have an answer alone",
    |sums| Judged::of(sums).mean_where(true, |one| one.score.exact),
);

const HAS_ANSWER_F1: Metric = share(
    "validation/has_answer_f1",
    "F1 where there is an answer",
    "F1 {} where there is an answer",
    "F1 of the questions that have an answer alone",
    |sums| Judged::of(sums).mean_where(true, |one| one.score.f1),
);

const NO_ANSWER: Metric = share(
    "validation/no_answer_accuracy",
    "No answer where there is none",
    "{} of questions without an answer found out",
    "questions without an answer that are given none / questions without an answer",
    |sums| Judged::of(sums).mean_where(false, |one| one.score.exact),
);

const BEST_EXACT: Metric = share(
    "validation/best_exact_match",
    "Best exact match",
    "{} with the best threshold",
    "exact match with the threshold of no answer that makes it the highest on these questions",
    |sums| Judged::of(sums).best(|score| score.exact).score,
);

const BEST_EXACT_THRESHOLD: Metric =
    threshold("validation/best_exact_match_threshold", "Threshold of the best exact match", "at {}", |sums| {
        Judged::of(sums).best(|score| score.exact).threshold
    });

const BEST_F1: Metric = share(
    "validation/best_f1",
    "Best F1",
    "F1 {} with the best threshold",
    "F1 with the threshold of no answer that makes it the highest on these questions",
    |sums| Judged::of(sums).best(|score| score.f1).score,
);

const BEST_F1_THRESHOLD: Metric =
    threshold("validation/best_f1_threshold", "Threshold of the best F1", "at {}", |sums| {
        Judged::of(sums).best(|score| score.f1).threshold
    });

/// Where every question has an answer.
const OF_ANSWERS: &[Metric] = &[VALIDATION_LOSS, F1, EXACT];

impl Task for Span {
    fn metrics(&self) -> &'static [Metric] {
        const {
            &[
                VALIDATION_LOSS,
                F1,
                EXACT,
                HAS_ANSWER_EXACT,
                HAS_ANSWER_F1,
                NO_ANSWER,
                BEST_EXACT,
                BEST_EXACT_THRESHOLD,
                BEST_F1,
                BEST_F1_THRESHOLD,
            ]
        }
    }

    fn metrics_of(&self, sums: &Sums) -> &'static [Metric] {
        if sums.guesses.questions.may_lack_answers { self.metrics() } else { OF_ANSWERS }
    }

    fn loss_unit(&self) -> &'static str {
        "nats per example"
    }

    /// The second token of each is its paragraph, and the answer.
    fn random_answers(&self, batch: usize) -> Option<Answers> {
        let paragraph = Paragraph { text: "x".to_owned(), offsets: vec![[0, 1]] };
        let question = Question { answers: vec!["x".to_owned()], place: Some([0, 1]), ..Question::default() };
        let questions = Questions { paragraphs: vec![paragraph], all: vec![question], may_lack_answers: false };
        let windows = vec![Window { question: 0, before: 1, first: 0, tokens: 1 }; batch];
        Some(Answers::Spans(Spans { questions: Arc::new(questions), windows }))
    }

    /// The mean over the windows of half the cross-entropy of the right start plus half that of the right end. Padding takes no
    /// part, so that it does not matter how windows are put into batches.
    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError> {
        let found = model.forward(&batch.input(model)?, options)?;
        let spans = right_spans(batch)?;
        let loss = mean_loss(&found.logits, batch, spans)?;
        Ok(Loss { loss, labelled: spans.windows.len(), maps: found.maps, hidden: found.hidden })
    }

    /// The loss, and what is said of every window.
    fn evaluate(&self, model: &Model, batch: &Batch) -> Result<Sums, ModelError> {
        let logits = model.forward(&batch.input(model)?, &ForwardOptions::default())?.logits.detach();
        let spans = right_spans(batch)?;
        let found = starts_and_ends(&logits, batch, spans)
            .and_then(|(rows, labels)| ops::cross_entropy_by_row(&rows, &labels))?;
        let guesses = Guesses {
            questions: Arc::clone(&spans.questions),
            no_answer_threshold: self.no_answer_threshold,
            windows: guesses(&logits, &spans.windows, self.max_answer)?,
        };
        let labelled = spans.windows.len();
        // Half of the start and half of the end. The words of the answers are scored of all windows of a question together.
        let (both, _) = found.rows.as_chunks::<2>();
        let losses = both.iter().map(|[start, end]| f64::midpoint(*start, *end)).collect();
        let examples = ExampleSums::of_answers(losses, None);
        let loss = found.mean * labelled as f64;
        Ok(Sums { loss, labelled: labelled as u64, guesses, examples, ..Sums::default() })
    }
}

/// What logits `[b, t, 2]` say of the windows of a batch.
///
/// # Errors
/// If they have another shape.
pub fn guesses(logits: &Tensor, windows: &[Window], max_answer: usize) -> Result<Vec<Guess>, ModelError> {
    let logits = logits.to_dtype(DType::F64)?.to_vec3::<f64>()?;
    let of_row = |(window, row): (&Window, Vec<Vec<f64>>)| {
        let pairs: Vec<[f64; 2]> = row.into_iter().filter_map(|pair| <[f64; 2]>::try_from(pair).ok()).collect();
        Guess::of(window, &pairs, max_answer)
    };
    Ok(windows.iter().zip(logits).map(of_row).collect())
}

fn right_spans(batch: &Batch) -> Result<&Spans, ModelError> {
    match &batch.answers {
        Some(Answers::Spans(spans)) => Ok(spans),
        Some(Answers::Classes { .. } | Answers::Numbers(_)) | None => {
            Err(ModelError::Unsupported("examples without questions".to_owned()))
        }
    }
}

/// Logits `[b, t, 2]` against the right starts and ends.
fn mean_loss(logits: &Tensor, batch: &Batch, spans: &Spans) -> candle_core::Result<Tensor> {
    let (rows, labels) = starts_and_ends(logits, batch, spans)?;
    ops::cross_entropy(&rows, &labels)
}

/// Logits of starts and ends by rows, `[2 b, t]`, with the right position of each.
fn starts_and_ends(logits: &Tensor, batch: &Batch, spans: &Spans) -> candle_core::Result<(Tensor, Tensor)> {
    const NEVER: f64 = -1e9;
    let wide = ops::at_least_f32(logits)?;
    let wide = match &batch.key_mask {
        Some(keys) => {
            let hidden: Vec<f32> = keys.iter().map(|key| if *key == 0 { NEVER as f32 } else { 0.0 }).collect();
            let hidden = Tensor::from_vec(hidden, (batch.batch, batch.sequence, 1), wide.device())?;
            wide.broadcast_add(&hidden.to_dtype(wide.dtype())?)?
        }
        None => wide,
    };
    // All starts and ends of the first row, then those of the second.
    let rows = wide.transpose(1, 2)?.contiguous()?.reshape((2 * batch.batch, batch.sequence))?; // [2 b, t]
    let labels: Vec<i64> = spans.targets().into_iter().flatten().map(|position| position as i64).collect();
    Ok((rows, Tensor::new(labels.as_slice(), &Device::Cpu)?))
}

/// A question with the score of its answer.
struct JudgedOne {
    has_answer: bool,
    /// Of what is said with the threshold of the config: an answer, or that there is none.
    score: SquadScore,
    /// Of the best answer, whatever the threshold.
    score_of_best: SquadScore,
    /// See [`Guess::doubt`].
    doubt: f64,
}

/// Every question with what its answer is worth.
struct Judged(Vec<JudgedOne>);

/// The best score of any threshold, and the threshold.
struct Best {
    score: f64,
    threshold: f64,
}

impl Judged {
    fn of(sums: &Sums) -> Self {
        let Guesses { questions, no_answer_threshold, windows } = &sums.guesses;
        let judged = |guess: Guess| {
            let has_answer = !questions.all.get(guess.question)?.answers.is_empty();
            let score = questions.score(guess.question, questions.given_answer(&guess, *no_answer_threshold))?;
            let score_of_best = questions.score(guess.question, questions.best_answer(&guess))?;
            Some(JudgedOne { has_answer, score, score_of_best, doubt: guess.doubt() })
        };
        Self(Guess::by_question(windows).into_iter().filter_map(judged).collect())
    }

    fn mean(&self, of: impl Fn(&JudgedOne) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len() as f64
    }

    fn mean_where(&self, has_answer: bool, of: impl Fn(&JudgedOne) -> f64) -> f64 {
        let count = self.0.iter().filter(|one| one.has_answer == has_answer).count();
        self.0.iter().filter(|one| one.has_answer == has_answer).map(of).sum::<f64>() / count as f64
    }

    /// As the script of v2.0 looks for it: from no answers at all, answers are given in the order of their doubt. Where giving
    /// none is the best, the threshold is 0, as the script has it, whatever the doubts.
    fn best(&self, of: impl Fn(&SquadScore) -> f64) -> Best {
        let mut sorted: Vec<&JudgedOne> = self.0.iter().collect();
        sorted.sort_by(|a, b| a.doubt.total_cmp(&b.doubt));
        let mut sum = sorted.iter().filter(|one| !one.has_answer).count() as f64;
        let (mut best, mut threshold) = (sum, 0.0);
        #[expect(clippy::float_cmp, reason = "no threshold parts the same doubts")]
        for equal in sorted.chunk_by(|a, b| a.doubt == b.doubt) {
            for one in equal {
                sum += if one.has_answer { of(&one.score_of_best) } else { of(&one.score_of_best) - 1.0 };
            }
            if let Some(one) = equal.first().filter(|_| sum > best) {
                (best, threshold) = (sum, one.doubt);
            }
        }
        Best { score: best / sorted.len() as f64, threshold }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Found;

    /// Questions about the words of one paragraph: the answers' words, and of each the token that is guessed with its doubt.
    fn sums(questions: &[(&[&str], usize, f64)], may_lack_answers: bool) -> Sums {
        let text = "red green blue black";
        let offsets = vec![[0, 3], [4, 9], [10, 14], [15, 20]];
        let all = questions.iter().map(|(answers, ..)| Question {
            answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
            ..Question::default()
        });
        let paragraphs = vec![Paragraph { text: text.to_owned(), offsets }];
        let questions_of = Questions { paragraphs, all: all.collect(), may_lack_answers };
        let windows = questions.iter().enumerate().map(|(question, (_, token, doubt))| Guess {
            question,
            no_answer: 1.0 + doubt,
            best: Some(Found { score: 1.0, tokens: [*token, *token] }),
        });
        let guesses =
            Guesses { questions: Arc::new(questions_of), no_answer_threshold: 0.0, windows: windows.collect() };
        Sums { labelled: questions.len() as u64, guesses, ..Sums::default() }
    }

    fn values(sums: &Sums) -> Vec<(&'static str, f64)> {
        let task = Span { doc_stride: 1, max_answer: 1, no_answer_threshold: 0.0 };
        let metrics = &task.metrics_of(sums)[1..];
        metrics.iter().map(|metric| (metric.field(), metric.value(sums).unwrap())).collect()
    }

    #[test]
    fn where_all_have_answers_there_is_no_doubt() {
        let sums = sums(&[(&["the Red"], 0, 5.0), (&["green blue", "x"], 1, -1.0)], false);
        let found = values(&sums);
        assert_eq!(found, [("f1", f64::midpoint(1.0, 2.0 / 3.0)), ("exact_match", 0.5)]);
    }

    #[test]
    fn questions_without_an_answer_are_judged_with_the_threshold_and_with_the_best_one() {
        let none: &[&str] = &[];
        let sums = sums(&[(&["red"], 0, 0.5), (&["green"], 1, -2.0), (none, 2, 1.0), (none, 3, -3.0)], true);
        let found = values(&sums);
        let wanted = [
            // The first is not answered, the last one is.
            ("f1", 0.5),
            ("exact_match", 0.5),
            ("has_answer_exact_match", 0.5),
            ("has_answer_f1", 0.5),
            ("no_answer_accuracy", 0.5),
            // With doubts up to 0.5 three are right.
            ("best_exact_match", 0.75),
            ("best_exact_match_threshold", 0.5),
            ("best_f1", 0.75),
            ("best_f1_threshold", 0.5),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn where_no_answer_is_the_best_the_threshold_is_that_of_the_official_script() {
        let none: &[&str] = &[];
        let found = values(&sums(&[(&["red"], 1, 0.5), (none, 2, -1.0)], true));
        // `find_best_thresh` begins with 0 and keeps it.
        assert_eq!(found[5..7], [("best_exact_match", 0.5), ("best_exact_match_threshold", 0.0)]);
    }

    /// The best threshold is that of trying every one.
    #[test]
    fn the_best_threshold_is_the_best_of_all() {
        let mut stream = ops::random::Stream::new(2, ops::random::Purpose::Test, 0);
        for _ in 0..50 {
            let none: &[&str] = &[];
            let right: [&[&str]; 4] = [&["red"], &["green blue"], none, &["black"]];
            let of = |_| (right[stream.below(4) as usize], stream.below(4) as usize, stream.below(7) as f64 - 3.0);
            let questions: Vec<(&[&str], usize, f64)> = (0..9).map(of).collect();
            let mut sums = sums(&questions, true);
            let mut tried = Vec::new();
            for threshold in -5..5 {
                sums.guesses.no_answer_threshold = f64::from(threshold);
                tried.push((EXACT.value(&sums).unwrap(), F1.value(&sums).unwrap()));
            }
            for (best, threshold, of, tried) in [
                (BEST_EXACT, BEST_EXACT_THRESHOLD, EXACT, tried.iter().map(|both| both.0).collect::<Vec<_>>()),
                (BEST_F1, BEST_F1_THRESHOLD, F1, tried.iter().map(|both| both.1).collect()),
            ] {
                let wanted = tried.iter().copied().fold(0.0, f64::max);
                assert!((best.value(&sums).unwrap() - wanted).abs() < 1e-12);
                // No answer to any question; its threshold says nothing.
                if (wanted - tried[0]).abs() < 1e-12 {
                    assert!(threshold.value(&sums).unwrap().abs() < 1e-12);
                    continue;
                }
                let mut there = sums.clone();
                there.guesses.no_answer_threshold = threshold.value(&sums).unwrap();
                assert!((of.value(&there).unwrap() - wanted).abs() < 1e-12);
            }
        }
    }
}
