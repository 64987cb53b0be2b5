use super::{
    context::JobContext,
    error::JobError,
    job::{Job, Lane, Threads},
};
use crate::{
    hub::{self, HubError, HubSettings},
    protocol::{JobLabel, WorkKind, commands, events},
};

/// Says what a hub knows of a repository.
impl Job for commands::Inspect {
    type Output = events::Inspected;

    const NAME: &'static str = "inspect";
    const LANE: Lane = Lane::Transfer;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Transfer, self.request.name.to_string())
    }

    fn threads(&self) -> Threads {
        Threads::Own
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        inspect(context, self)
    }

    fn failure(&self, _context: &JobContext) -> String {
        format!("Nothing could be learnt of {}.", self.request.name)
    }

    #[cfg(test)]
    fn example(_folder: &std::path::Path) -> Self {
        Self { request: hub::FetchRequest::of("org/absent".parse().unwrap()) }
    }
}

fn inspect(context: &JobContext, job: &commands::Inspect) -> Result<events::Inspected, JobError> {
    let settings = HubSettings::from_environment()?;
    if settings.is_offline {
        return Err(HubError::OfflineMode { doing: "asking about a repository".to_owned() }.into());
    }
    let facts = hub::inspect(&settings, &job.request, &|| context.control.should_stop())?;
    Ok(events::Inspected { facts: Box::new(facts) })
}
