use std::time::Instant;

use super::{
    context::JobContext,
    error::JobError,
    job::{Job, Lane, Threads},
    transfer_speed::TransferSpeed,
};
use crate::{
    hub::{self, HubSettings},
    protocol::{JobLabel, WorkKind, commands, events},
};

/// Brings a model or a data set of a hub here.
impl Job for commands::Fetch {
    type Output = events::Fetched;

    const NAME: &'static str = "fetch";
    const LANE: Lane = Lane::Transfer;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Transfer, self.request.name.to_string())
    }

    fn threads(&self) -> Threads {
        Threads::Own
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        fetch(context, self)
    }

    fn failure(&self, _context: &JobContext) -> String {
        format!("{} could not be fetched.", self.request.name)
    }

    #[cfg(test)]
    fn example(_folder: &std::path::Path) -> Self {
        Self { request: hub::FetchRequest::of("org/absent".parse().unwrap()) }
    }
}

fn fetch(context: &JobContext, job: &commands::Fetch) -> Result<events::Fetched, JobError> {
    let request = &job.request;
    let settings = HubSettings::from_environment()?;
    let begun = Instant::now();
    let mut pace = TransferSpeed::default();
    let fetched = hub::fetch(
        &settings,
        request,
        &mut |progress| {
            if let Some(transfer) = pace.told(progress) {
                context.outbox.send(events::Fetching { name: request.name.clone(), transfer });
            }
        },
        &|| context.control.should_stop(),
    )?;
    Ok(events::Fetched {
        bytes: fetched.bytes(),
        downloaded: fetched.downloaded(),
        fetched: Box::new(fetched),
        seconds: begun.elapsed().as_secs_f64(),
    })
}
