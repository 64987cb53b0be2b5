use headroom_engine::{
    config::Precision,
    generate::Search,
    protocol::{
        Command, Event, GenerateSource, JobCommand, JobRef, PrecisionProof, Request, Target, Ticket, TokenCost,
        WrittenText, commands, events,
    },
};

/// A text that is generated or was, or why it could not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The request; its events have it.
    pub ticket: Ticket,
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
    /// How far it is.
    pub phase: Phase,
    /// Whether it was told to stop.
    pub is_stopping: bool,
}

/// How far something is that the engine was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits in the queue, or the model is being read.
    Waiting,
    /// It goes on.
    Going,
    /// It ended, or was stopped.
    Done {
        /// Whether it was stopped.
        stopped: bool,
    },
    /// It cannot be had, and why.
    Failed(String),
}

impl Phase {
    /// Whether more is to come.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Waiting | Self::Going)
    }
}

/// A comparison of the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Proving {
    /// The request.
    pub ticket: Ticket,
    /// The model in words.
    pub name: String,
    /// What is done, in words, and the share of the whole that is done.
    pub at: (String, f64),
    /// The texts in words; known at the end.
    pub data: String,
    /// What was found.
    pub proofs: Vec<PrecisionProof>,
    /// How far it is.
    pub phase: Phase,
    /// Whether it was told to stop.
    pub is_stopping: bool,
}

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
            let request = Request::from(Command::Job(JobCommand::Generate(commands::Generate {
                target,
                sources: vec![source],
                batch: 1,
                search: Box::new(search.clone()),
                precision,
                threads: None,
                details,
            })));
            let ticket = request.ticket;
            self.outgoing.push(request);
            Some(Generation {
                ticket,
                name,
                search,
                precision,
                text: nothing(),
                cache_bytes: 0,
                seconds: 0.0,
                reading_seconds: 0.0,
                unused_settings: Vec::new(),
                other_settings: Vec::new(),
                phase: Phase::Waiting,
                is_stopping: false,
            })
        });
    }

    /// Whether a text is to come.
    pub fn is_generating(&self) -> bool {
        self.sides.iter().flatten().any(|side| side.phase.is_open())
    }

    /// Stops what is generated; what there is stays.
    pub fn stop(&mut self) {
        for side in self.sides.iter_mut().flatten().filter(|side| side.phase.is_open() && !side.is_stopping) {
            side.is_stopping = true;
            self.outgoing.push(Command::Cancel(commands::Cancel { job: JobRef::Ticket(side.ticket) }).into());
        }
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
        let request = Request::from(Command::Job(JobCommand::ProveCaches(commands::ProveCaches {
            target,
            sources,
            examples,
            batch: 16,
            search,
            precisions,
            threads: None,
        })));
        self.proving = Some(Proving {
            ticket: request.ticket,
            name,
            at: (String::new(), 0.0),
            data: String::new(),
            proofs: Vec::new(),
            phase: Phase::Waiting,
            is_stopping: false,
        });
        self.outgoing.push(request);
    }

    /// Stops the comparison; what was compared stays.
    pub fn stop_proving(&mut self) {
        if let Some(proving) = self.proving.as_mut().filter(|known| known.phase.is_open() && !known.is_stopping) {
            proving.is_stopping = true;
            self.outgoing.push(Command::Cancel(commands::Cancel { job: JobRef::Ticket(proving.ticket) }).into());
        }
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.outgoing)
    }

    /// Takes in that a request failed; false where it is none of these. What was stopped before it began did not fail.
    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        let phase = |is_stopping| {
            if is_stopping { Phase::Done { stopped: true } } else { Phase::Failed(why.to_owned()) }
        };
        if let Some(side) = self.side(ticket) {
            side.phase = phase(side.is_stopping);
            return true;
        }
        match self.proving.as_mut().filter(|proving| proving.ticket == ticket) {
            Some(proving) => {
                proving.phase = phase(proving.is_stopping);
                true
            }
            None => false,
        }
    }

    /// Whether this request was stopped by the user, so that there is nothing to complain about.
    pub(super) fn was_stopped(&self, ticket: Ticket) -> bool {
        let sides = self.sides.iter().flatten().any(|side| side.ticket == ticket && side.is_stopping);
        sides || self.proving.as_ref().is_some_and(|proving| proving.ticket == ticket && proving.is_stopping)
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
                    side.phase = Phase::Going;
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
                    side.phase = Phase::Done { stopped };
                }
            }
            Event::ProvingCaches(events::ProvingCaches { label, fraction }) => {
                if let Some(proving) = self.proving.as_mut().filter(|proving| proving.ticket == ticket) {
                    (proving.at, proving.phase) = ((label, fraction), Phase::Going);
                }
            }
            Event::CachesProved(events::CachesProved { data, proofs, stopped, .. }) => {
                if let Some(proving) = self.proving.as_mut().filter(|proving| proving.ticket == ticket) {
                    (proving.data, proving.proofs, proving.phase) = (data, proofs, Phase::Done { stopped });
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
    use headroom_engine::protocol::Notice;

    use super::*;

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
        let mut state = crate::state::State::default();
        state.generate.generate([Some(asked()), Some(asked())]);
        let tickets: Vec<Ticket> = state.take_requests().into_iter().map(|request| request.ticket).collect();
        assert_eq!(tickets.len(), 2);
        state.apply(Notice { ticket: Some(tickets[1]), event: event("b") });
        state.apply(Notice { ticket: Some(Ticket::new()), event: event("of nobody") });
        let texts = |state: &crate::state::State| {
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
        let mut state = GenerateState::default();
        let target = (Target::Directory("model".into()), "model".to_owned());
        state.prove(target, (Vec::new(), 8), Search::default(), vec![Precision::F32]);
        let ticket = state.take_requests()[0].ticket;
        let proving = |state: &GenerateState| state.proving.clone().unwrap();
        state.apply(
            Some(ticket),
            Event::ProvingCaches(events::ProvingCaches { label: "f32".to_owned(), fraction: 0.5 }),
        );
        assert_eq!((proving(&state).at.1, proving(&state).phase), (0.5, Phase::Going));
        let (target, data) = ("model".to_owned(), "held-out text".to_owned());
        state.apply(
            Some(ticket),
            Event::CachesProved(events::CachesProved { target, data, proofs: Vec::new(), stopped: false }),
        );
        assert_eq!(
            (proving(&state).data.as_str(), proving(&state).phase),
            ("held-out text", Phase::Done { stopped: false })
        );
    }

    #[test]
    fn tokens_take_the_time_between_them() {
        let costs = [(0.25, 10), (0.5, 20), (1.0, 30)].map(|(seconds, bytes)| TokenCost { seconds, bytes });
        assert_eq!(step_costs(&costs).collect::<Vec<_>>(), [(0.25, 10), (0.25, 20), (0.5, 30)]);
    }
}
