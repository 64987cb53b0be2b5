use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;

use super::{
    messages::{Event, Retention},
    request::Notice,
    ticket::Ticket,
};

/// More waiting events than this, and those that a newer one replaces are dropped.
const CAPACITY: usize = 4096;

/// The engine's end of the event queue. A reader that is slow or gone never slows the engine: when the queue is full,
/// the oldest events that a newer one replaces anyway (progress readings) give way; answers and endings never do.
///
/// An outbox [of a request](Self::of) marks what it sends with the request's ticket; clones mark it the same.
#[derive(Clone)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
    ticket: Option<Ticket>,
    /// Gets a copy of what follows from the request.
    asker: Option<Sender<Notice>>,
}

struct Shared {
    queue: Mutex<VecDeque<Notice>>,
    arrived: Condvar,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Outbox {
    pub(crate) fn new(wake: Option<Arc<dyn Fn() + Send + Sync>>) -> Self {
        let shared = Arc::new(Shared { queue: Mutex::default(), arrived: Condvar::new(), wake });
        Self { shared, ticket: None, asker: None }
    }

    /// The same queue for what follows from a request. `asker` gets a copy, as long as there is room in its channel: one that
    /// does not read never slows the engine.
    pub(crate) fn of(&self, ticket: Ticket, asker: Option<Sender<Notice>>) -> Self {
        Self { shared: Arc::clone(&self.shared), ticket: Some(ticket), asker }
    }

    /// The same queue for what nobody asked for.
    pub(crate) fn of_nobody(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ticket: None, asker: None }
    }

    /// The request whose ticket is on what is sent.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Notice>> {
        // A panic while the lock was held cannot leave a queue of whole events half changed.
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn send(&self, event: impl Into<Event>) {
        let notice = Notice { ticket: self.ticket, event: event.into() };
        if let Some(asker) = &self.asker {
            let _ = asker.try_send(notice.clone());
        }
        {
            let mut queue = self.queue();
            if queue.len() >= CAPACITY
                && let Some(oldest) = replaceable(&queue, &notice)
            {
                queue.remove(oldest);
            }
            queue.push_back(notice);
        }
        self.shared.arrived.notify_all();
        if let Some(wake) = &self.shared.wake {
            wake();
        }
    }

    pub(crate) fn take(&self) -> Option<Notice> {
        self.queue().pop_front()
    }

    pub(crate) fn wait(&self, patience: Duration) -> Option<Notice> {
        let deadline = Instant::now() + patience;
        let mut queue = self.queue();
        loop {
            if let Some(notice) = queue.pop_front() {
                return Some(notice);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            queue = self.shared.arrived.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Time that a notice waits for a reader that sleeps: an answer to a request waits until it is taken.
fn retention(notice: &Notice) -> Retention {
    match notice.event.retention() {
        Retention::UntilNewer if notice.ticket.is_some() => Retention::Always,
        retention => retention,
    }
}

/// The place of the oldest event that gives way to others, among them one that is about to be queued.
fn replaceable(queue: &VecDeque<Notice>, coming: &Notice) -> Option<usize> {
    let mut newer = vec![std::mem::discriminant(&coming.event)];
    let mut oldest = None;
    for (place, notice) in queue.iter().enumerate().rev() {
        let kind = std::mem::discriminant(&notice.event);
        match retention(notice) {
            Retention::Always => {}
            Retention::Reading => oldest = Some(place),
            Retention::UntilNewer if newer.contains(&kind) => oldest = Some(place),
            Retention::UntilNewer => newer.push(kind),
        }
    }
    oldest
}

#[cfg(test)]
mod tests {
    use super::super::events;
    use super::*;
    use crate::store::RunId;

    fn warning(n: usize) -> Event {
        Event::Warning(events::Warning { run: None, message: n.to_string() })
    }

    #[test]
    fn a_reader_that_sleeps_loses_readings_but_no_answers() {
        let outbox = Outbox::new(None);
        for n in 0..CAPACITY {
            outbox.send(events::System {
                cpu_percent: n as f64,
                memory_bytes: 0,
                free_bytes: 0,
                disk_free_bytes: None,
                gpus: Vec::new(),
            });
        }
        for n in 0..10 {
            outbox.send(warning(n));
        }
        let mut warnings = 0;
        let mut events = 0;
        while let Some(Notice { event, .. }) = outbox.take() {
            events += 1;
            warnings += usize::from(matches!(event, Event::Warning(_)));
        }
        assert_eq!((warnings, events), (10, CAPACITY));
    }

    #[test]
    fn progress_of_every_job_gives_way() {
        let readings = || {
            [
                Event::Converting(events::Converting {
                    attention: String::new(),
                    number: 0,
                    count: 1,
                    start: 0,
                    sweep: 1,
                    relative_error: 0.5,
                }),
                Event::Predicting(events::Predicting { done: 1, count: 2 }),
                Event::Translating(events::Translating { done: 1, pairs: 2 }),
            ]
        };
        for (kind, reading) in readings().into_iter().enumerate() {
            let outbox = Outbox::new(None).of(Ticket::new(), None);
            for _ in 0..CAPACITY {
                outbox.send(reading.clone());
            }
            outbox.send(warning(0));
            outbox.send(Event::Done);
            let waiting: Vec<Event> = std::iter::from_fn(|| outbox.take()).map(|notice| notice.event).collect();
            assert_eq!(waiting.len(), CAPACITY, "reading {kind}");
            assert!(waiting.iter().any(|event| matches!(event, Event::Done)));
        }
    }

    #[test]
    fn of_tables_that_nobody_asked_for_the_newest_stays() {
        let outbox = Outbox::new(None);
        let table = |is_paused: bool| Event::Queue(events::Queue { current: None, is_paused, waiting: Vec::new() });
        outbox.send(table(false));
        outbox.send(events::Runs { runs: Vec::new() });
        for n in 0..CAPACITY {
            outbox.send(warning(n));
        }
        let queue = outbox.queue().iter().filter(|notice| retention(notice) == Retention::UntilNewer).count();
        assert_eq!(queue, 2, "nothing newer came");
        outbox.send(table(true));
        let waiting: Vec<Event> = std::iter::from_fn(|| outbox.take()).map(|notice| notice.event).collect();
        let pauses: Vec<bool> = waiting
            .iter()
            .filter_map(
                |event| if let Event::Queue(events::Queue { is_paused, .. }) = event { Some(*is_paused) } else { None },
            )
            .collect();
        assert_eq!(pauses, [true], "the older one gave way");
        assert!(waiting.iter().any(|event| matches!(event, Event::Runs(_))));
        assert_eq!(waiting.len(), CAPACITY + 2);
    }

    #[test]
    fn waiting_ends_when_something_comes_or_patience_does() {
        let outbox = Outbox::new(None);
        assert!(outbox.wait(Duration::from_millis(5)).is_none());
        let sender = outbox.clone();
        let thread = std::thread::Builder::new()
            .name("sender".to_owned())
            .spawn(move || sender.send(Event::Paused(events::Paused { run: RunId::new(), step: 1 })))
            .unwrap();
        let told = outbox.wait(Duration::from_secs(10)).map(|notice| notice.event);
        assert!(matches!(told, Some(Event::Paused(events::Paused { step: 1, .. }))));
        thread.join().unwrap();
    }

    #[test]
    fn what_follows_from_a_request_has_its_ticket_and_an_asker_that_does_not_read_slows_nobody() {
        let outbox = Outbox::new(None);
        let (asker, answers) = crossbeam_channel::bounded(2);
        let ticket = Ticket::new();
        let of_request = outbox.of(ticket, Some(asker));
        for n in 0..5 {
            of_request.clone().send(warning(n));
        }
        of_request.of_nobody().send(warning(5));
        let tickets: Vec<_> = std::iter::from_fn(|| outbox.take()).map(|notice| notice.ticket).collect();
        assert_eq!(tickets, [vec![Some(ticket); 5], vec![None]].concat());
        assert_eq!(answers.try_iter().filter(|notice| notice.ticket == Some(ticket)).count(), 2);
    }
}
