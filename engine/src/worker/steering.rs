use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// What the user wants of the job in progress. Set by the desk, read by the engine thread between steps.
#[derive(Debug, Default)]
pub(super) struct Steering {
    wishes: Mutex<Wishes>,
    changed: Condvar,
    /// The question after which a stop is wished, counted down; 0 for never.
    #[cfg(test)]
    stop_at: std::sync::atomic::AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wishes {
    stop: bool,
    pause: bool,
    checkpoint: bool,
}

impl Steering {
    fn change(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.wishes.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.change(|wishes| wishes.stop = true);
    }

    /// Stops when it is asked for the `question`th time, from 1.
    #[cfg(test)]
    pub(super) fn stop_at(question: u64) -> Self {
        Self { stop_at: question.into(), ..Self::default() }
    }

    pub(super) fn pause(&self, pause: bool) {
        self.change(|wishes| wishes.pause = pause);
    }

    pub(super) fn checkpoint(&self) {
        self.change(|wishes| wishes.checkpoint = true);
    }

    pub(super) fn should_stop(&self) -> bool {
        #[cfg(test)]
        if self.stop_at.load(std::sync::atomic::Ordering::Relaxed) > 0
            && self.stop_at.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1
        {
            self.stop();
        }
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).stop
    }

    pub(super) fn should_pause(&self) -> bool {
        let wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.pause && !wishes.stop
    }

    /// Whether a checkpoint was asked for since the last question.
    pub(super) fn take_checkpoint(&self) -> bool {
        std::mem::take(&mut self.wishes.lock().unwrap_or_else(PoisonError::into_inner).checkpoint)
    }

    /// Waits while paused. Returns early when a checkpoint is asked for.
    pub(super) fn wait_while_paused(&self) {
        let mut wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        while wishes.pause && !wishes.stop && !wishes.checkpoint {
            wishes =
                self.changed.wait_timeout(wishes, Duration::from_secs(1)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
