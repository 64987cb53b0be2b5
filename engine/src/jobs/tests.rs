//! Properties of every job.

use std::{path::Path, time::Duration};

use tempfile::TempDir;

use super::{
    JobContext, Lane, Monitor, QueuedJob, TrainRun,
    error::JobError,
    job::{Job, Place, Threads},
};
use crate::{
    machine::GpuReader,
    protocol::{Event, JobCommand, JobLabel, Notice, Outbox, Ticket, WorkKind, commands, events, for_each_job},
    store::{OpenMode, Store},
};

macro_rules! examples {
    ($($job:ident),*) => {
        /// One of each job that a command asks for.
        pub(crate) fn examples(folder: &Path) -> Vec<JobCommand> {
            vec![$(JobCommand::$job(<commands::$job as Job>::example(folder))),*]
        }

        /// Last events of jobs that a fault ended, each with the entry of the queue.
        fn faulted(folder: &Path, context: &JobContext) -> Vec<(JobLabel, Option<Event>)> {
            let train = TrainRun::example(folder);
            let of_run = (Job::label(&train), train.faulted(context, "why"));
            vec![of_run, $({
                let job = <commands::$job as Job>::example(folder);
                (Job::label(&job), job.faulted(context, "why"))
            }),*]
        }
    };
}

for_each_job!(examples);

/// Context of a job on a store of its own, and the events that it sends.
fn surroundings(folder: &Path) -> (JobContext, Outbox) {
    let store = Store::open(&folder.join("headroom.db"), OpenMode::ReadWrite).unwrap();
    let (writer, outbox) = (store.writer().unwrap(), Outbox::new(None));
    let none = || Box::new(Vec::<Box<dyn GpuReader>>::new()) as Box<dyn GpuReader>;
    let mut monitor =
        Monitor::start(outbox.clone(), writer.clone(), folder.to_owned(), Duration::from_mins(1), none).unwrap();
    let context = JobContext::new(store, writer, outbox.of(Ticket::new(), None), monitor.position(), || ());
    monitor.end();
    (context, outbox)
}

fn is_last(event: &Event) -> bool {
    matches!(event, Event::Refused(_) | Event::Failed(_) | Event::AnalyseEnded(_) | Event::MeasureEnded(_))
}

#[test]
fn a_job_that_comes_to_nothing_says_so_once_with_its_ticket() {
    let folder = TempDir::new().unwrap();
    let (context, outbox) = surroundings(folder.path());
    for command in examples(folder.path()) {
        let words = format!("{command:?}");
        let job = super::job_of(command);
        // What asks a network is tested beside a hub.
        if job.lane() == Lane::Transfer && job.label().target.as_deref() == Some("org/absent") {
            continue;
        }
        job.execute(&context);
        let told: Vec<Notice> = std::iter::from_fn(|| outbox.take()).filter(|notice| notice.ticket.is_some()).collect();
        assert_eq!(told.iter().filter(|notice| is_last(&notice.event)).count(), 1, "{words}: {told:?}");
        assert!(told.last().is_some_and(|last| is_last(&last.event)), "{words}: {told:?}");
        assert!(told.iter().all(|notice| notice.ticket == context.outbox.ticket()), "{words}");
    }
}

#[test]
fn a_job_that_is_taken_out_of_the_queue_says_so_once() {
    let folder = TempDir::new().unwrap();
    let (context, outbox) = surroundings(folder.path());
    for command in examples(folder.path()) {
        let words = format!("{command:?}");
        super::job_of(command).cancel(&context).unwrap();
        let told: Vec<Notice> = std::iter::from_fn(|| outbox.take()).filter(|notice| notice.ticket.is_some()).collect();
        assert!(matches!(&told[..], [only] if is_last(&only.event)), "{words}: {told:?}");
    }
}

#[test]
fn jobs_with_an_id_end_with_it_after_a_fault() {
    let folder = TempDir::new().unwrap();
    let (context, _) = surroundings(folder.path());
    let all = faulted(folder.path(), &context);
    assert!(all.len() > 10);
    for (label, last) in all {
        match label.id() {
            Some(id) => {
                let told = serde_json::to_string(&last.unwrap()).unwrap();
                assert!(told.contains(id.as_str()) && told.contains("why"), "{label:?}: {told}");
            }
            // The report of the fault is the answer.
            None => assert!(last.is_none(), "{label:?}"),
        }
    }
}

/// A job with a fault.
struct Faulty;

impl Job for Faulty {
    type Output = events::Warning;

    const NAME: &'static str = "faulty";
    const PLACE: Place = Place::First;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Evaluate, "model")
    }

    fn threads(&self) -> Threads {
        Threads::Pool(Some(1))
    }

    fn run(&self, _context: &JobContext) -> Result<Self::Output, JobError> {
        panic!("the premise does not hold")
    }

    fn failure(&self, _context: &JobContext) -> String {
        String::new()
    }

    fn example(_folder: &Path) -> Self {
        Self
    }
}

#[test]
fn a_fault_is_caught_and_told() {
    let folder = TempDir::new().unwrap();
    let (context, outbox) = surroundings(folder.path());
    Faulty::example(folder.path()).execute(&context);
    let told: Vec<Event> = std::iter::from_fn(|| outbox.take())
        .filter(|notice| notice.ticket.is_some())
        .map(|notice| notice.event)
        .collect();
    let [Event::Failed(events::Failed { run: None, why, what_to_do })] = &told[..] else { panic!("{told:?}") };
    assert!(why.contains("the premise does not hold") && what_to_do.contains("report"), "{why} {what_to_do}");
}
