use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::Event;

/// More waiting events than this, and those that a newer one replaces are dropped.
const CAPACITY: usize = 4096;

/// The engine's end of the event queue. A reader that is slow or gone never slows the engine: when the queue is full,
/// the oldest events that a newer one replaces anyway (progress readings) give way; answers and endings never do.
#[derive(Clone)]
pub(super) struct Outbox {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<VecDeque<Event>>,
    arrived: Condvar,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Outbox {
    pub(super) fn new(wake: Option<Arc<dyn Fn() + Send + Sync>>) -> Self {
        Self { shared: Arc::new(Shared { queue: Mutex::default(), arrived: Condvar::new(), wake }) }
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Event>> {
        // A panic while the lock was held cannot leave a queue of whole events half changed.
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, event: Event) {
        {
            let mut queue = self.queue();
            if queue.len() >= CAPACITY
                && let Some(oldest) = queue.iter().position(is_replaceable)
            {
                queue.remove(oldest);
            }
            queue.push_back(event);
        }
        self.shared.arrived.notify_all();
        if let Some(wake) = &self.shared.wake {
            wake();
        }
    }

    pub(super) fn take(&self) -> Option<Event> {
        self.queue().pop_front()
    }

    pub(super) fn wait(&self, patience: Duration) -> Option<Event> {
        let deadline = Instant::now() + patience;
        let mut queue = self.queue();
        loop {
            if let Some(event) = queue.pop_front() {
                return Some(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            queue = self.shared.arrived.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Whether a newer event of the same kind says all that this one says.
fn is_replaceable(event: &Event) -> bool {
    matches!(
        event,
        Event::Step { .. }
            | Event::System { .. }
            | Event::Preparing { .. }
            | Event::Queue { .. }
            | Event::Measuring { .. }
            | Event::Analysing { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RunId;

    fn warning(n: usize) -> Event {
        Event::Warning { run: None, message: n.to_string() }
    }

    #[test]
    fn a_reader_that_sleeps_loses_readings_but_no_answers() {
        let outbox = Outbox::new(None);
        for n in 0..CAPACITY {
            outbox.send(Event::System { cpu_percent: n as f64, memory_bytes: 0, free_bytes: 0, gpus: Vec::new() });
        }
        for n in 0..10 {
            outbox.send(warning(n));
        }
        let mut warnings = 0;
        let mut events = 0;
        while let Some(event) = outbox.take() {
            events += 1;
            warnings += usize::from(matches!(event, Event::Warning { .. }));
        }
        assert_eq!((warnings, events), (10, CAPACITY));
    }

    #[test]
    fn waiting_ends_when_something_comes_or_patience_does() {
        let outbox = Outbox::new(None);
        assert!(outbox.wait(Duration::from_millis(5)).is_none());
        let sender = outbox.clone();
        let thread = std::thread::Builder::new()
            .name("sender".to_owned())
            .spawn(move || sender.send(Event::Paused { run: RunId::new(), step: 1 }))
            .unwrap();
        assert!(matches!(outbox.wait(Duration::from_secs(10)), Some(Event::Paused { step: 1, .. })));
        thread.join().unwrap();
    }
}
