use std::path::PathBuf;

use headroom_engine::{
    data::PreviewImage,
    objective::Labels,
    protocol::{Event, FoundAnswer, Request, Target, Ticket, commands, events},
};

use super::{FollowedJob, followed_job::follows_job};

/// What a model with a task is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The model.
    pub target: Target,
    /// What the model is called.
    pub name: String,
    /// One text or two; none beside an image.
    pub texts: Vec<String>,
    /// An image, or several: a folder or a file of such; an absolute path.
    pub images: Option<PathBuf>,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// Classes or numbers.
    Outputs {
        /// What the outputs stand for.
        labels: Labels,
        /// Of each text or image the probabilities of all classes, or its number.
        outputs: Vec<Vec<f64>>,
        /// The file of each image, where each has one of its own.
        names: Vec<String>,
        /// The first of the images.
        pictures: Vec<PreviewImage>,
        /// Whether a text was longer than the model reads.
        is_cut: bool,
    },
    /// The place of the answer to a question in its paragraph.
    Span {
        /// The answer and the score of there being none.
        found: FoundAnswer,
        /// The excess of that score from which no answer is given; none where the model always gives one.
        no_answer_from: Option<f64>,
        /// Whether the question was longer than the model reads.
        is_cut: bool,
    },
}

/// The newest question and what came of it.
pub struct Answering {
    /// What was asked.
    pub question: Question,
    /// Job that the engine was asked for.
    pub job: FollowedJob,
    /// Texts or images that have an answer, of how many; none before the first.
    pub counts: Option<(usize, usize)>,
    /// The answer, or why there is none; nothing while it is to come.
    pub outcome: Option<Result<Answers, String>>,
}

follows_job!(Answering);

/// What models with a task were asked in the window: one question at a time.
#[derive(Default)]
pub struct AnswersState {
    /// The newest question.
    pub asked: Option<Answering>,
    /// Whether the last one was ended before it was answered.
    pub was_stopped: bool,
    outgoing: Vec<Request>,
}

impl AnswersState {
    /// Asks, in place of what was asked before.
    pub fn ask(&mut self, question: Question) {
        let Question { target, texts, images, .. } = question.clone();
        let rows = if images.is_some() { Vec::new() } else { vec![texts] };
        self.was_stopped = false;
        let title = format!("Answers of {}", question.name);
        let job = FollowedJob::start(title, commands::Predict { target, rows, images }, &mut self.outgoing);
        self.asked = Some(Answering { question, job, counts: None, outcome: None });
    }

    /// Ends the question that has no answer yet.
    pub fn cancel(&mut self) {
        if let Some(asked) = &mut self.asked {
            asked.job.cancel(&mut self.outgoing);
        }
    }

    /// Whether an answer is to come.
    pub fn is_waiting(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.outcome.is_none())
    }

    /// Whether the panel says itself what became of this question.
    pub(super) fn says(&self, ticket: Ticket) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.ticket == ticket)
    }

    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        // What the user ended has nothing to say.
        if self.asked.as_ref().is_some_and(|asked| asked.ticket == ticket && asked.is_stopping) {
            self.asked = None;
            self.was_stopped = true;
            return true;
        }
        let asked = self.asked.as_mut().filter(|asked| asked.ticket == ticket && asked.outcome.is_none());
        asked.map(|asked| asked.outcome = Some(Err(why.to_owned()))).is_some()
    }

    /// Takes in an answer. One to a question that was replaced is let go.
    pub(super) fn apply(&mut self, ticket: Option<Ticket>, event: Event) -> Option<Event> {
        let Some(asked) = self.asked.as_mut().filter(|asked| Some(asked.ticket) == ticket) else { return Some(event) };
        let answers = match event {
            Event::Predicting(events::Predicting { done, count }) => {
                asked.counts = Some((done, count));
                return None;
            }
            Event::Predicted(events::Predicted { labels, outputs, cut_rows, names, pictures, .. }) => {
                Ok(Answers::Outputs { labels, outputs, names, pictures, is_cut: cut_rows > 0 })
            }
            Event::AnswersFound(events::AnswersFound {
                may_lack_answers,
                no_answer_threshold,
                answers,
                cut_questions,
                ..
            }) => answers
                .into_iter()
                .next()
                .map(|found| Answers::Span {
                    found,
                    no_answer_from: may_lack_answers.then_some(no_answer_threshold),
                    is_cut: cut_questions > 0,
                })
                .ok_or_else(|| "The engine gave no answer.".to_owned()),
            other => return Some(other),
        };
        asked.outcome = Some(answers);
        asked.job.end(false);
        None
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.outgoing)
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::protocol::{Command, JobCommand, JobRef, Notice};

    use super::*;
    use crate::state::State;

    fn asked(state: &mut State, text: &str) -> Ticket {
        state.answers.ask(Question {
            target: Target::Directory("m".into()),
            name: "m".to_owned(),
            texts: vec![text.to_owned()],
            images: None,
        });
        let requests = state.take_requests();
        let [request] = requests.as_slice() else { panic!("{} requests", requests.len()) };
        assert!(
            matches!(&request.command, Command::Job(JobCommand::Predict(commands::Predict { rows, .. })) if *rows == [[text]])
        );
        request.ticket
    }

    fn predicted(share: f64) -> Event {
        Event::Predicted(events::Predicted {
            target: "m".to_owned(),
            labels: Labels::Classes(vec!["no".to_owned(), "yes".to_owned()]),
            outputs: vec![vec![1.0 - share, share]],
            cut_rows: 0,
            names: Vec::new(),
            pictures: Vec::new(),
        })
    }

    #[test]
    fn the_answer_to_the_newest_question_is_the_one_that_is_kept() {
        let mut state = State::default();
        let (first, second) = (asked(&mut state, "one"), asked(&mut state, "two"));
        assert!(state.answers.is_waiting());
        state.apply(Notice { ticket: Some(first), event: predicted(0.25) });
        assert!(state.answers.is_waiting(), "that was another question");
        state.apply(Notice { ticket: Some(second), event: predicted(0.75) });
        let outcome = state.answers.asked.as_ref().unwrap().outcome.clone().unwrap().unwrap();
        assert!(matches!(outcome, Answers::Outputs { outputs, .. } if outputs == [[0.25, 0.75]]));
    }

    #[test]
    fn what_goes_on_is_told_and_can_be_ended() {
        let mut state = State::default();
        let ticket = asked(&mut state, "one");
        state
            .apply(Notice { ticket: Some(ticket), event: Event::Predicting(events::Predicting { done: 3, count: 9 }) });
        assert_eq!(state.answers.asked.as_ref().unwrap().counts, Some((3, 9)));
        state.answers.cancel();
        state.answers.cancel();
        let sent: Vec<Command> = state.take_requests().into_iter().map(|request| request.command).collect();
        assert!(
            matches!(&sent[..], [Command::Cancel(commands::Cancel { job: JobRef::Ticket(prediction) })] if *prediction == ticket)
        );
        let messages = state.messages.len();
        state.apply(Notice {
            ticket: Some(ticket),
            event: Event::Refused(events::Refused { why: "It was stopped.".to_owned() }),
        });
        assert!(state.answers.was_stopped);
        assert!(state.answers.asked.is_none() && state.messages.len() == messages, "it is what was wanted");
    }

    #[test]
    fn a_failure_is_told_where_it_was_asked_and_nowhere_else() {
        let mut state = State::default();
        let ticket = asked(&mut state, "one");
        let messages = state.messages.len();
        let why = "The model directory has no tokenizer.json.".to_owned();
        state.apply(Notice { ticket: Some(ticket), event: Event::Refused(events::Refused { why: why.clone() }) });
        assert_eq!(state.answers.asked.as_ref().unwrap().outcome, Some(Err(why)));
        assert_eq!(state.messages.len(), messages);
    }
}
