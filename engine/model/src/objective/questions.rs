//! Questions about paragraphs, the windows in which these are read, and what a model says of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::squad_score::{SquadRules, SquadScore};

/// A text in which answers stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paragraph {
    /// The text.
    pub text: String,
    /// Where each of its tokens begins and ends, in bytes; none where it was not made into tokens yet.
    pub offsets: Vec<[u32; 2]>,
}

/// A question about a paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Its name in the file.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Which of the paragraphs.
    pub paragraph: usize,
    /// The right answers; none where the paragraph has none, or nobody knows one.
    pub answers: Vec<String>,
    /// Where the first of them stands in the paragraph, in bytes.
    pub place: Option<[u32; 2]>,
}

/// An answer as it stands in its paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerText<'a> {
    /// The text.
    pub text: &'a str,
    /// Where it begins in the paragraph, in characters.
    pub start: usize,
    /// Where it ends, in characters.
    pub end: usize,
}

/// Paragraphs and the questions about them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Questions {
    /// The texts.
    pub paragraphs: Vec<Paragraph>,
    /// The questions, those about a paragraph one after the other.
    pub all: Vec<Question>,
    /// Whether a question may have no answer in its paragraph.
    pub may_lack_answers: bool,
}

/// Without the texts of the paragraphs, which are long.
impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Questions")
            .field("paragraphs", &self.paragraphs.len())
            .field("all", &self.all)
            .field("may_lack_answers", &self.may_lack_answers)
            .finish()
    }
}

impl Questions {
    /// The paragraph of a question.
    pub fn paragraph(&self, question: usize) -> Option<&Paragraph> {
        self.paragraphs.get(self.all.get(question)?.paragraph)
    }

    /// The first and the last token of the paragraph that the answer to a question touches; none where it has no answer.
    pub fn tokens_of_answer(&self, question: usize) -> Option<[usize; 2]> {
        let [start, end] = self.all.get(question)?.place?;
        let offsets = &self.paragraph(question)?.offsets;
        let first = offsets.partition_point(|token| token[1] <= start);
        let after = offsets.partition_point(|token| token[0] < end);
        (first < after).then(|| [first, after - 1])
    }

    /// The text of a question's paragraph from one token to another, white space around it left aside.
    pub fn text_of(&self, question: usize, [first, last]: [usize; 2]) -> Option<AnswerText<'_>> {
        let Paragraph { text, offsets } = self.paragraph(question)?;
        let (start, end) = (offsets.get(first)?[0] as usize, offsets.get(last)?[1] as usize);
        // A token may be a part of a character.
        let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
        let piece = text.get(start..end)?;
        let trimmed = piece.trim();
        let start = start + (piece.len() - piece.trim_start().len());
        let before = text.get(..start)?.chars().count();
        Some(AnswerText { text: trimmed, start: before, end: before + trimmed.chars().count() })
    }

    /// The best answer to a question, whatever the doubt; none where no token of its paragraph was read.
    pub fn best_answer(&self, guess: &Guess) -> Option<AnswerText<'_>> {
        self.text_of(guess.question, guess.best?.tokens)
    }

    /// The answer that is given: the best one, or none where there may be none and the doubt is above the threshold.
    pub fn given_answer(&self, guess: &Guess, no_answer_threshold: f64) -> Option<AnswerText<'_>> {
        let is_silent = self.may_lack_answers && guess.doubt() > no_answer_threshold;
        self.best_answer(guess).filter(|_| !is_silent)
    }

    /// What an answer to a question, or none, is worth by the rules of `SQuAD`: of v2.0 where there may be none, of v1.1 otherwise.
    pub fn score(&self, question: usize, answer: Option<AnswerText<'_>>) -> Option<SquadScore> {
        let rules = if self.may_lack_answers { SquadRules::V2 } else { SquadRules::V1 };
        let right = &self.all.get(question)?.answers;
        Some(SquadScore::of(answer.map_or("", |answer| answer.text), right, rules))
    }
}

/// A row of tokens: a question, and as much of its paragraph as fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The question.
    pub question: usize,
    /// Tokens of the row before those of the paragraph.
    pub before: usize,
    /// The first token of the paragraph in the row.
    pub first: usize,
    /// How many tokens of the paragraph are in it.
    pub tokens: usize,
}

/// Windows with the questions that they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// The questions.
    pub questions: Arc<Questions>,
    /// The windows; none where they were not cut yet.
    pub windows: Vec<Window>,
}

impl Spans {
    /// The positions in its row at which the answer of each window begins and ends; the first position for both where it is not
    /// whole in the window, or there is none. `[windows]`
    pub fn targets(&self) -> Vec<[usize; 2]> {
        let target = |window: &Window| {
            let [first, last] = self.questions.tokens_of_answer(window.question)?;
            let is_in = first >= window.first && last < window.first + window.tokens;
            is_in.then(|| [first, last].map(|token| token - window.first + window.before))
        };
        self.windows.iter().map(|window| target(window).unwrap_or([0, 0])).collect()
    }
}

/// An answer with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The logit of its first token to begin an answer, and of its last one to end it.
    pub score: f64,
    /// Its first and its last token in the paragraph.
    pub tokens: [usize; 2],
}

/// What a model says of a window, or of all windows of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// The question.
    pub question: usize,
    /// The score of there being no answer: both logits of the first position. Of several windows the lowest.
    pub no_answer: f64,
    /// The best answer; none where no token of the paragraph was read.
    pub best: Option<Found>,
}

impl Guess {
    /// What the logits of a row say of a window, `[start, end]` of each position: the best answer of `max_answer` tokens at
    /// most, of equal ones the first.
    pub fn of(window: &Window, logits: &[[f64; 2]], max_answer: usize) -> Self {
        let read = &logits[window.before..window.before + window.tokens];
        let mut best: Option<Found> = None;
        for (first, [start, _]) in read.iter().enumerate() {
            for (last, [_, end]) in read.iter().enumerate().skip(first).take(max_answer) {
                if best.is_none_or(|best| start + end > best.score) {
                    best = Some(Found { score: start + end, tokens: [first, last].map(|token| token + window.first) });
                }
            }
        }
        let no_answer = logits.first().map_or(f64::NAN, |[start, end]| start + end);
        Self { question: window.question, no_answer, best }
    }

    /// How much better no answer is than the best one; infinite where there is none.
    pub fn doubt(&self) -> f64 {
        self.best.map_or(f64::INFINITY, |best| self.no_answer - best.score)
    }

    /// What is said of each question in all of its windows together, by question.
    pub fn by_question(windows: &[Self]) -> Vec<Self> {
        let mut all: BTreeMap<usize, Self> = BTreeMap::new();
        for guess in windows {
            let known = all.entry(guess.question).or_insert(*guess);
            known.no_answer = known.no_answer.min(guess.no_answer);
            let (before, here) = (known.best.map(|best| best.score), guess.best.map(|best| best.score));
            if here > before {
                known.best = guess.best;
            }
        }
        all.into_values().collect()
    }
}

/// What an evaluation heard of questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guesses {
    /// The questions; none before the first batch.
    pub questions: Arc<Questions>,
    /// See [`crate::config::SpanTask::no_answer_threshold`].
    pub no_answer_threshold: f64,
    /// Window by window.
    pub windows: Vec<Guess>,
}

impl Guesses {
    /// Of how many questions something was heard, and how many of these have an answer; none where of none.
    pub fn counts(&self) -> Option<[u64; 2]> {
        let heard: BTreeSet<usize> = self.windows.iter().map(|window| window.question).collect();
        let has_answer =
            |question: &&usize| self.questions.all.get(**question).is_some_and(|own| !own.answers.is_empty());
        let answered = heard.iter().filter(has_answer).count();
        (!heard.is_empty()).then_some([heard.len() as u64, answered as u64])
    }

    /// Adds those of another batch.
    pub(super) fn add(&mut self, other: &Self) {
        if self.windows.is_empty() {
            self.questions = Arc::clone(&other.questions);
            self.no_answer_threshold = other.no_answer_threshold;
        }
        self.windows.extend_from_slice(&other.windows);
    }
}

#[cfg(test)]
impl Guesses {
    /// Of one question with an answer, and of one without.
    pub(super) fn example() -> Self {
        let paragraphs = vec![Paragraph { text: "x".to_owned(), offsets: vec![[0, 1]] }];
        let answers = [vec!["x".to_owned()], Vec::new()];
        let all = answers.map(|answers| Question { answers, ..Question::default() }).to_vec();
        let best = Some(Found { score: 1.0, tokens: [0, 0] });
        let windows = vec![Guess { question: 0, no_answer: 0.5, best }, Guess { question: 1, no_answer: 2.0, best }];
        let questions = Arc::new(Questions { paragraphs, all, may_lack_answers: true });
        Self { questions, no_answer_threshold: 0.0, windows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "aé b c" by characters, and the question's answer "b c".
    fn questions() -> Questions {
        let paragraph = Paragraph { text: "a\u{e9} b c".to_owned(), offsets: vec![[0, 1], [1, 3], [3, 5], [6, 7]] };
        let question = Question { answers: vec!["b c".to_owned()], place: Some([4, 7]), ..Question::default() };
        Questions { paragraphs: vec![paragraph], all: vec![question], may_lack_answers: false }
    }

    #[test]
    fn answers_are_found_by_bytes_and_told_by_characters() {
        let questions = questions();
        // The third token begins with a blank.
        assert_eq!(questions.tokens_of_answer(0), Some([2, 3]));
        assert_eq!(questions.text_of(0, [2, 3]), Some(AnswerText { text: "b c", start: 3, end: 6 }));
        assert_eq!(questions.text_of(0, [1, 1]), Some(AnswerText { text: "\u{e9}", start: 1, end: 2 }));
        assert_eq!(questions.text_of(0, [3, 4]), None);
        let mut cut = questions;
        // Tokens that are single bytes.
        cut.paragraphs[0].offsets = (0..7).map(|byte| [byte, byte + 1]).collect();
        assert_eq!(cut.text_of(0, [2, 2]).map(|answer| answer.text), Some("\u{e9}"));
        assert_eq!(cut.tokens_of_answer(0), Some([4, 6]));
    }

    #[test]
    fn an_answer_is_given_unless_there_may_be_none_and_the_doubt_is_above_the_threshold() {
        let best = Some(Found { score: 1.0, tokens: [2, 3] });
        let guess = Guess { question: 0, no_answer: 3.0, best };
        let given = |questions: &Questions, threshold| {
            let answer = questions.given_answer(&guess, threshold);
            (answer.map(|answer| answer.text.to_owned()), questions.score(0, answer).unwrap().exact)
        };
        let mut questions = questions();
        assert_eq!(given(&questions, -9.0), (Some("b c".to_owned()), 1.0), "there is one");
        questions.may_lack_answers = true;
        assert_eq!(given(&questions, 2.0), (Some("b c".to_owned()), 1.0));
        assert_eq!(given(&questions, 1.9), (None, 0.0));
        questions.all[0].answers.clear();
        assert_eq!(given(&questions, 2.0), (Some("b c".to_owned()), 0.0));
        assert_eq!(given(&questions, 1.9), (None, 1.0));
        let unread = Guess { best: None, ..guess };
        assert_eq!((questions.best_answer(&unread), questions.given_answer(&unread, 99.0)), (None, None));
    }

    #[test]
    fn windows_without_the_whole_answer_point_at_the_first_position() {
        let window = |first, tokens| Window { question: 0, before: 5, first, tokens };
        let windows = vec![window(0, 4), window(2, 2), window(0, 3), window(3, 1)];
        let spans = Spans { questions: Arc::new(questions()), windows };
        assert_eq!(spans.targets(), [[7, 8], [5, 6], [0, 0], [0, 0]]);
    }

    /// Every pair of positions, one after the other.
    fn slowly(logits: &[[f64; 2]], before: usize, tokens: usize, most: usize) -> Option<(f64, [usize; 2])> {
        let mut best: Option<(f64, [usize; 2])> = None;
        for first in before..before + tokens {
            for last in before..before + tokens {
                let score = logits[first][0] + logits[last][1];
                if last >= first && last - first < most && best.is_none_or(|(known, _)| score > known) {
                    best = Some((score, [first - before, last - before]));
                }
            }
        }
        best
    }

    #[test]
    fn the_best_answer_is_that_of_all_that_are_allowed() {
        let mut stream = crate::ops::random::Stream::new(1, crate::ops::random::Purpose::Test, 0);
        for (before, tokens, most) in [(3, 6, 2), (1, 9, 9), (4, 1, 3), (2, 0, 3), (2, 7, 1)] {
            let logits: Vec<[f64; 2]> = (0..12).map(|_| [stream.uniform(), stream.uniform()]).collect();
            let window = Window { question: 0, before, first: 10, tokens };
            let found = Guess::of(&window, &logits, most);
            let wanted = slowly(&logits, before, tokens, most);
            let found_best = found.best.map(|best| (best.score, best.tokens.map(|token| token - 10)));
            assert_eq!(found_best, wanted);
            assert_eq!(found.no_answer, logits[0][0] + logits[0][1]);
            assert_eq!(found.doubt().is_finite(), tokens > 0);
        }
    }

    #[test]
    fn questions_are_counted_whatever_windows_they_were_read_in() {
        let mut guesses = Guesses::example();
        guesses.windows.push(guesses.windows[0]);
        assert_eq!(guesses.counts(), Some([2, 1]));
        assert_eq!(Guesses::default().counts(), None);
    }

    #[test]
    fn a_question_takes_the_best_of_its_windows() {
        let guess = |question, no_answer, score: f64, token| Guess {
            question,
            no_answer,
            best: Some(Found { score, tokens: [token, token] }),
        };
        let windows = [guess(1, 2.0, 1.0, 4), guess(0, 5.0, 0.5, 1), guess(1, 1.0, 3.0, 9), guess(1, 3.0, 3.0, 11)];
        assert_eq!(Guess::by_question(&windows), [guess(0, 5.0, 0.5, 1), guess(1, 1.0, 3.0, 9)]);
    }
}
