use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::jobs::{JobContext, QueuedJob, STACK_BYTES};

/// A job and what it works with.
type Work = (Box<dyn QueuedJob>, JobContext);

/// The scheduler's end of the engine thread, which does one job at a time.
pub(super) struct EngineThread {
    jobs: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl EngineThread {
    /// `done` is called after each job.
    pub(super) fn start(done: impl Fn() + Send + 'static) -> Result<Self, std::io::Error> {
        let (jobs, inbox) = bounded(1);
        let thread = std::thread::Builder::new()
            .name("headroom-engine".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&inbox, done))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn execute(&self, job: Box<dyn QueuedJob>, context: JobContext) {
        if let Some(jobs) = &self.jobs {
            // The engine thread outlives this sender, and the scheduler hands over only when it is free.
            let _ = jobs.send((job, context));
        }
    }

    /// Waits for the engine thread to end; it has no job any more.
    pub(super) fn end(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(inbox: &Receiver<Work>, done: impl Fn()) {
    for (job, context) in inbox {
        job.execute(&context);
        context.position.clear();
        done();
    }
}
