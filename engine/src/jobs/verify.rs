use std::ops::ControlFlow;

use candle_core::Device;

use super::{
    context::JobContext,
    error::JobError,
    job::{Job, Place, Threads},
    pace::Pace,
    subject::Subject,
    text_model::TextModel,
};
use crate::{
    config::counted,
    generate::prove_caches,
    protocol::{JobLabel, PrecisionProof, WorkKind, commands, events},
    train::free_memory,
};

impl Job for commands::ProveCaches {
    type Output = events::CachesProved;

    const NAME: &'static str = "prove";
    const PLACE: Place = Place::BehindAnswers;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Generate, Subject::name(&self.target))
    }

    fn threads(&self) -> Threads {
        Threads::Pool(self.threads)
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        run(context, self)
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("The caches of {} could not be compared.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self {
        Self {
            target: crate::protocol::Target::Directory(folder.join("absent")),
            sources: Vec::new(),
            examples: 1,
            batch: 1,
            search: Box::default(),
            precisions: Vec::new(),
            threads: Some(1),
        }
    }
}

fn run(context: &JobContext, job: &commands::ProveCaches) -> Result<events::CachesProved, JobError> {
    let control = &*context.control;
    let text_model = TextModel::open(context, &job.target)?;
    let (sources, data) = if job.sources.is_empty() {
        TextModel::held_out(&context.store, &job.target, job.examples.max(1))?
    } else {
        let sources = text_model.read_all(&context.store, &job.target, &job.sources)?;
        let data = counted(sources.len() as u64, "given text");
        (sources, data)
    };
    let mut proofs: Vec<PrecisionProof> = Vec::new();
    // Texts without a cache in the first number format: those of the others are compared with them too.
    let mut reference: Option<Vec<Vec<u32>>> = None;
    let mut stopped = false;
    for (number, precision) in job.precisions.iter().enumerate() {
        let model = text_model.model(*precision)?;
        let mut pace = Pace::default();
        let mut each = |done: usize| {
            if pace.is_due() {
                let of_all = number as f64 + done as f64 / sources.len().max(1) as f64;
                let label = format!("{}: {done} of {}", precision.name(), counted(sources.len() as u64, "text"));
                let fraction = of_all / job.precisions.len() as f64;
                context.outbox.send(events::ProvingCaches { label, fraction });
            }
            stopped |= control.should_stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let room = (job.batch, free_memory(&Device::Cpu));
        let found =
            prove_caches(&model, &sources, &text_model.marks, &job.search, room, reference.as_deref(), &mut each);
        let (proof, texts) = found?;
        let is_cut = proof.stopped;
        proofs.push(PrecisionProof { precision: *precision, proof });
        reference.get_or_insert(texts);
        if is_cut || stopped {
            stopped = true;
            break;
        }
    }
    let stopped = stopped && (proofs.len() < job.precisions.len() || proofs.iter().any(|found| found.proof.stopped));
    Ok(events::CachesProved { target: Subject::name(&job.target), data, proofs, stopped })
}
