use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// What the user wants of the job in progress. Set by the scheduler, read by the engine thread between steps.
#[derive(Debug, Default)]
pub(crate) struct JobControl {
    requests: Mutex<Requests>,
    changed: Condvar,
    /// The question after which a stop is requested, counted down; 0 for never.
    #[cfg(test)]
    stop_at: std::sync::atomic::AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Requests {
    stop: bool,
    pause: bool,
    checkpoint: bool,
}

impl JobControl {
    fn change(&self, change: impl FnOnce(&mut Requests)) {
        change(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.change(|requests| requests.stop = true);
    }

    /// Stops when it is asked for the `question`th time, from 1.
    #[cfg(test)]
    pub(crate) fn stop_at(question: u64) -> Self {
        Self { stop_at: question.into(), ..Self::default() }
    }

    pub(crate) fn pause(&self, pause: bool) {
        self.change(|requests| requests.pause = pause);
    }

    pub(crate) fn checkpoint(&self) {
        self.change(|requests| requests.checkpoint = true);
    }

    pub(crate) fn should_stop(&self) -> bool {
        #[cfg(test)]
        if self.stop_at.load(std::sync::atomic::Ordering::Relaxed) > 0
            && self.stop_at.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1
        {
            self.stop();
        }
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).stop
    }

    pub(crate) fn should_pause(&self) -> bool {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.pause && !requests.stop
    }

    /// Whether a checkpoint was asked for since the last question.
    pub(crate) fn take_checkpoint(&self) -> bool {
        std::mem::take(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner).checkpoint)
    }

    /// Waits while paused. Returns early when a checkpoint is asked for.
    pub(crate) fn wait_while_paused(&self) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        while requests.pause && !requests.stop && !requests.checkpoint {
            requests =
                self.changed.wait_timeout(requests, Duration::from_secs(1)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
