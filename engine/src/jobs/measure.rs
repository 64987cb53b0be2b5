use super::{
    context::JobContext,
    control::JobControl,
    error::JobError,
    job::{Ending, Job, StoreList, Threads},
    pace::Pace,
};
use crate::{
    config::DeviceChoice,
    machine::{GpuReader, gpu_reader, measured_device},
    protocol::{Event, JobLabel, commands, events},
    speed::{CpuEnergy, SweepProgress, SweepResult, SweepWatch, measure},
    store::StoreError,
};

/// Measures training steps or generation and keeps what was measured, point by point; nothing where no point was.
impl Job for commands::Measure {
    type Output = events::MeasureEnded;

    const NAME: &'static str = "measure";
    const ADDS_TO: Option<StoreList> = Some(StoreList::Benchmarks);

    fn label(&self) -> JobLabel {
        JobLabel::measure(self.benchmark.clone(), self.name.as_str())
    }

    fn threads(&self) -> Threads {
        Threads::Own
    }

    fn queued(&self, position: usize) -> Option<Event> {
        Some(events::MeasureQueued { benchmark: self.benchmark.clone(), name: self.name.clone(), position }.into())
    }

    fn refusal(&self) -> Option<Event> {
        self.spec.points().err().map(|error| end(self, false, Some(error.to_string())).into())
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        let device = measured_device(self.spec.base.device);
        if let Err(error) = context.store.create_benchmark(&self.benchmark, &self.name, &self.spec, device) {
            return Ok(end(self, false, Some(error.to_string())));
        }
        let energy = Energy { cpu: CpuEnergy::new(), gpus: gpu_reader() };
        let (control, benchmark) = (&*context.control, &self.benchmark);
        let mut watch = Watch { context, benchmark, control, energy, pace: Pace::default(), points: 0 };
        let outcome = measure(&self.spec, &mut watch);
        let written = match &outcome {
            // There is nothing to be kept.
            _ if watch.points == 0 => context.store.discard_benchmark(&self.benchmark),
            Ok(result) => context.store.update_benchmark(&self.benchmark, result, true),
            Err(_) => Ok(()),
        };
        if let Err(error) = written {
            context.outbox.send(events::Warning { run: None, message: error.to_string() });
        }
        Ok(match outcome {
            Ok(result) => end(self, result.is_complete, None),
            Err(error) => end(self, false, Some(error.to_string())),
        })
    }

    fn failure(&self, _context: &JobContext) -> String {
        format!("\"{}\" could not be measured.", self.name)
    }

    fn ended(&self, _context: &JobContext, ending: Ending) -> Result<Event, StoreError> {
        let why = match ending {
            Ending::Failed(error) => Some(error.why),
            Ending::Cancelled => None,
        };
        Ok(end(self, false, why).into())
    }

    fn faulted(&self, _context: &JobContext, why: &str) -> Option<Event> {
        Some(end(self, false, Some(why.to_owned())).into())
    }

    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self {
        Self {
            benchmark: crate::store::BenchmarkId::new(),
            name: folder.display().to_string(),
            // A field that no config has.
            spec: Box::new(crate::speed::SweepSpec {
                axes: vec![crate::speed::Axis { field: "model.absent".to_owned(), values: vec!["1".to_owned()] }],
                ..crate::speed::SweepSpec::default()
            }),
        }
    }
}

fn end(job: &commands::Measure, complete: bool, why: Option<String>) -> events::MeasureEnded {
    events::MeasureEnded { benchmark: job.benchmark.clone(), name: job.name.clone(), complete, why }
}

/// The meters of this machine.
struct Energy {
    cpu: CpuEnergy,
    gpus: Box<dyn GpuReader>,
}

struct Watch<'a> {
    context: &'a JobContext,
    benchmark: &'a crate::store::BenchmarkId,
    control: &'a JobControl,
    energy: Energy,
    pace: Pace,
    points: usize,
}

impl SweepWatch for Watch<'_> {
    fn is_stopped(&self) -> bool {
        self.control.wait_while_paused();
        self.control.should_stop()
    }

    fn joules(&mut self, device: DeviceChoice) -> Option<f64> {
        match device {
            DeviceChoice::Cpu => self.energy.cpu.joules(),
            gpu => self.energy.gpus.joules(gpu),
        }
    }

    fn progress(&mut self, progress: &SweepProgress) {
        if self.pace.is_due() {
            self.context.outbox.send(events::Measuring {
                benchmark: self.benchmark.clone(),
                point: progress.point + 1,
                points: progress.points,
                label: progress.label.clone(),
                fraction: progress.fraction(),
            });
        }
    }

    fn measured(&mut self, result: &SweepResult) {
        if let Err(error) = self.context.store.update_benchmark(self.benchmark, result, false) {
            self.context.outbox.send(events::Warning { run: None, message: error.to_string() });
        }
        let point = result.points.get(self.points).cloned().map(Box::new);
        self.points = result.points.len();
        self.context.outbox.send(events::MeasuredPoint {
            benchmark: self.benchmark.clone(),
            limits: result.limits,
            point,
        });
    }
}
