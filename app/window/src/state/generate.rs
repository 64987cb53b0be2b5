use headroom_engine::{
    config::Precision,
    generate::Search,
    protocol::{
        Event, GenerateSource, PrecisionProof, Request, Target, Ticket, TokenCost, WrittenText, commands, events,
    },
};

use super::{FollowedJob, followed_job::follows_job};

/// A text that is generated or was, or why it could not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// Job that the engine was asked for.
    pub job: FollowedJob,
    /// The model in words.
    pub name: String,
    /// How it is searched for.
    pub search: Search,
    /// The number format.
    pub precision: Precision,
    /// The text so far: of one that was generated, all of it.
    pub text: WrittenText,
    /// The most that is kept between tokens, room for tokens to come included.
    pub cache_bytes: u64,
    /// How long it takes so far.
    pub seconds: f64,
    /// The part of it in which the source was read; known at the end.
    pub reading_seconds: f64,
    /// Keys of the model's `generation_config.json` that have no effect here.
    pub unused_settings: Vec<String>,
    /// Settings of it that the search has others for.
    pub other_settings: Vec<String>,
}

/// A comparison of the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Proving {
    /// Job that the engine was asked for.
    pub job: FollowedJob,
    /// The model in words.
    pub name: String,
    /// The texts in words; known at the end.
    pub data: String,
    /// What was found.
    pub proofs: Vec<PrecisionProof>,
}

follows_job!(Generation, Proving);

/// What is to be generated.
#[derive(Clone, Debug)]
pub struct GenerationSpec {
    /// Which model.
    pub target: Target,
    /// It in words.
    pub name: String,
    /// What it reads.
    pub source: GenerateSource,
    /// How is searched.
    pub search: Search,
    /// The number format.
    pub precision: Precision,
    /// Whether attention and the tree of beams are wanted.
    pub details: bool,
}

/// What the Generate panel shows: texts side by side, and what the caches lose.
#[derive(Default)]
pub struct GenerateState {
    /// The texts, one for each setting.
    pub sides: [Option<Generation>; 2],
    /// The comparison of the caches.
    pub proving: Option<Proving>,
    /// The model that the panel is to write with next.
    pub opened: Option<Target>,
    outgoing: Vec<Request>,
}

/// A text of which nothing is there yet.
fn nothing() -> WrittenText {
    WrittenText {
        text: String::new(),
        tokens: Vec::new(),
        ending: headroom_engine::generate::Ending::Stopped,
        score: f64::NAN,
        pieces: Vec::new(),
        costs: Vec::new(),
        source: Vec::new(),
        tree: Vec::new(),
        tree_pieces: Vec::new(),
        attention: None,
        filled: None,
    }
}

impl GenerateState {
    /// Asks for texts, one a side; what the sides showed before goes.
    pub fn generate(&mut self, asked: [Option<GenerationSpec>; 2]) {
        self.stop();
        self.sides = asked.map(|asked| {
            let GenerationSpec { target, name, source, search, precision, details } = asked?;
            let request = commands::Generate {
                target,
                sources: vec![source],
                batch: 1,
                search: Box::new(search.clone()),
                precision,
                threads: None,
                details,
            };
            let job = FollowedJob::start(format!("Text of {name}"), request, &mut self.outgoing);
            Some(Generation {
                job,
                name,
                search,
                precision,
                text: nothing(),
                cache_bytes: 0,
                seconds: 0.0,
                reading_seconds: 0.0,
                unused_settings: Vec::new(),
                other_settings: Vec::new(),
            })
        });
    }

    /// Whether a text is to come.
    pub fn is_generating(&self) -> bool {
        self.sides.iter().flatten().any(|side| side.phase.is_open())
    }

    /// Stops what is generated; what there is stays.
    pub fn stop(&mut self) {
        self.sides.iter_mut().flatten().for_each(|side| side.job.cancel(&mut self.outgoing));
    }

    /// Asks for a comparison of the caches, on some examples of the held-out text or on the given texts.
    pub fn prove(
        &mut self,
        (target, name): (Target, String),
        (sources, examples): (Vec<GenerateSource>, usize),
        search: Search,
        precisions: Vec<Precision>,
    ) {
        self.stop_proving();
        let search = Box::new(search);
        let request = commands::ProveCaches { target, sources, examples, batch: 16, search, precisions, threads: None };
        let job = FollowedJob::start(format!("Proof of the caches of {name}"), request, &mut self.outgoing);
        self.proving = Some(Proving { job, name, data: String::new(), proofs: Vec::new() });
    }

    /// Stops the comparison; what was compared stays.
    pub fn stop_proving(&mut self) {
        if let Some(proving) = &mut self.proving {
            proving.job.cancel(&mut self.outgoing);
        }
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.outgoing)
    }

    fn side(&mut self, ticket: Ticket) -> Option<&mut Generation> {
        self.sides.iter_mut().flatten().find(|side| side.ticket == ticket)
    }

    /// Takes an event of a request in; others are none of its business.
    pub(super) fn apply(&mut self, ticket: Option<Ticket>, event: Event) -> Option<Event> {
        let Some(ticket) = ticket else { return Some(event) };
        match event {
            Event::Generating(events::Generating { text, seconds, cache_bytes, tokens, pieces, costs, .. }) => {
                if let Some(side) = self.side(ticket) {
                    (side.text.text, side.text.tokens, side.text.pieces) = (text, tokens, pieces);
                    (side.text.costs, side.seconds, side.cache_bytes) = (costs, seconds, cache_bytes);
                }
            }
            Event::Generated(events::Generated {
                texts,
                seconds,
                reading_seconds,
                cache_bytes,
                stopped,
                unused_settings,
                other_settings,
                ..
            }) => {
                if let Some(side) = self.side(ticket) {
                    if let Some(text) = texts.into_iter().next() {
                        side.text = text;
                    }
                    (side.seconds, side.reading_seconds, side.cache_bytes) = (seconds, reading_seconds, cache_bytes);
                    (side.unused_settings, side.other_settings) = (unused_settings, other_settings);
                    side.job.end(stopped);
                }
            }
            Event::CachesProved(events::CachesProved { data, proofs, stopped, .. }) => {
                if let Some(proving) = self.proving.as_mut().filter(|proving| proving.ticket == ticket) {
                    (proving.data, proving.proofs) = (data, proofs);
                    proving.job.end(stopped);
                }
            }
            other => return Some(other),
        }
        None
    }
}

/// The time that each token took, in seconds, and what was kept after it: of `costs`, which tell when each was chosen.
pub fn step_costs(costs: &[TokenCost]) -> impl Iterator<Item = (f64, u64)> {
    let before = std::iter::once(0.0).chain(costs.iter().map(|cost| cost.seconds));
    costs.iter().zip(before).map(|(cost, before)| (cost.seconds - before, cost.bytes))
}

#[cfg(test)]
mod tests {
    use headroom_engine::protocol::{Command, JobRef, Notice};

    use super::*;
    use crate::state::{Phase, State};

    fn asked() -> GenerationSpec {
        GenerationSpec {
            target: Target::Directory("model".into()),
            name: "model".to_owned(),
            source: GenerateSource::Text("the".to_owned()),
            search: Search::default(),
            precision: Precision::F32,
            details: false,
        }
    }

    fn event(text: &str) -> Event {
        Event::Generating(events::Generating {
            source: 0,
            step: 1,
            text: text.to_owned(),
            seconds: 0.5,
            cache_bytes: 8,
            tokens: vec![1],
            pieces: vec![text.to_owned()],
            costs: vec![TokenCost { seconds: 0.5, bytes: 4 }],
        })
    }

    #[test]
    fn every_side_gets_what_its_request_brought() {
        let mut state = State::default();
        state.generate.generate([Some(asked()), Some(asked())]);
        let tickets: Vec<Ticket> = state.take_requests().into_iter().map(|request| request.ticket).collect();
        assert_eq!(tickets.len(), 2);
        state.apply(Notice { ticket: Some(tickets[1]), event: event("b") });
        state.apply(Notice { ticket: Some(Ticket::new()), event: event("of nobody") });
        let texts = |state: &State| {
            [0, 1].map(|side| state.generate.sides[side].as_ref().map(|side| side.text.text.clone()).unwrap())
        };
        assert_eq!(texts(&state), ["", "b"]);
        assert_eq!(state.generate.sides[0].as_ref().unwrap().phase, Phase::Waiting);
        state.apply(Notice {
            ticket: Some(tickets[0]),
            event: Event::Refused(events::Refused { why: "No decoder.".to_owned() }),
        });
        assert_eq!(state.generate.sides[0].as_ref().unwrap().phase, Phase::Failed("No decoder.".to_owned()));
        assert!(state.generate.is_generating());
        state.generate.stop();
        state.generate.stop();
        let sent: Vec<Command> = state.take_requests().into_iter().map(|request| request.command).collect();
        assert!(
            matches!(&sent[..], [Command::Cancel(commands::Cancel { job: JobRef::Ticket(generation) })] if *generation == tickets[1])
        );
        // It was taken out of the queue: nothing went wrong.
        let before = state.messages.len();
        state.apply(Notice {
            ticket: Some(tickets[1]),
            event: Event::Refused(events::Refused { why: "It was taken out.".to_owned() }),
        });
        assert_eq!(state.generate.sides[1].as_ref().unwrap().phase, Phase::Done { stopped: true });
        assert_eq!(state.messages.len(), before);
        assert!(!state.generate.is_generating());
    }

    #[test]
    fn a_comparison_is_followed_to_its_end() {
        let mut state = State::default();
        let target = (Target::Directory("model".into()), "model".to_owned());
        state.generate.prove(target, (Vec::new(), 8), Search::default(), vec![Precision::F32]);
        let ticket = state.take_requests()[0].ticket;
        let proving = |state: &State| state.generate.proving.clone().unwrap();
        let notice = |event: Event| Notice { ticket: Some(ticket), event };
        state.apply(notice(events::ProvingCaches { label: "f32".to_owned(), fraction: 0.5 }.into()));
        assert_eq!((proving(&state).progress(), &proving(&state).phase), (("f32", 0.5), &Phase::Going));
        let (target, data) = ("model".to_owned(), "held-out text".to_owned());
        state.apply(notice(events::CachesProved { target, data, proofs: Vec::new(), stopped: false }.into()));
        assert_eq!(
            (proving(&state).data.as_str(), &proving(&state).phase),
            ("held-out text", &Phase::Done { stopped: false })
        );
    }

    #[test]
    fn tokens_take_the_time_between_them() {
        let costs = [(0.25, 10), (0.5, 20), (1.0, 30)].map(|(seconds, bytes)| TokenCost { seconds, bytes });
        assert_eq!(step_costs(&costs).collect::<Vec<_>>(), [(0.25, 10), (0.25, 20), (0.5, 30)]);
    }
}
