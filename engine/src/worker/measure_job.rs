use std::time::{Duration, Instant};

use super::{
    Event,
    device::measured_device,
    gpu::{self, GpuReader},
    job::MeasureJob,
    job_context::JobContext,
    job_control::JobControl,
};
use crate::{
    config::DeviceChoice,
    speed::{CpuEnergy, SweepProgress, SweepResult, SweepWatch, measure},
};

/// Between two readings of progress.
const APART: Duration = Duration::from_millis(33);

/// Measures training steps and keeps what was measured, point by point; nothing where no point was.
pub(super) fn measure_job(context: &JobContext, job: MeasureJob, control: &JobControl) {
    let MeasureJob { benchmark, name, spec } = job;
    let end = |complete, why| {
        context.outbox.send(Event::MeasureEnded { benchmark: benchmark.clone(), name: name.clone(), complete, why });
    };
    let device = measured_device(spec.base.device);
    if let Err(error) = context.store.create_benchmark(&benchmark, &name, &spec, device) {
        return end(false, Some(error.to_string()));
    }
    let energy = Energy { cpu: CpuEnergy::new(), gpus: gpu::reader() };
    let mut watch = Watch { context, benchmark: &benchmark, control, energy, told: None, points: 0 };
    let outcome = measure(&spec, &mut watch);
    let written = match &outcome {
        // There is nothing to be kept.
        _ if watch.points == 0 => context.store.discard_benchmark(&benchmark),
        Ok(result) => context.store.update_benchmark(&benchmark, result, true),
        Err(_) => Ok(()),
    };
    if let Err(error) = written {
        context.outbox.send(Event::Warning { run: None, message: error.to_string() });
    }
    match outcome {
        Ok(result) => end(result.is_complete, None),
        Err(error) => end(false, Some(error.to_string())),
    }
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
    told: Option<Instant>,
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
        if self.told.is_none_or(|told| told.elapsed() >= APART) {
            self.told = Some(Instant::now());
            self.context.outbox.send(Event::Measuring {
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
            self.context.outbox.send(Event::Warning { run: None, message: error.to_string() });
        }
        let point = result.points.get(self.points).cloned().map(Box::new);
        self.points = result.points.len();
        self.context.outbox.send(Event::MeasuredPoint {
            benchmark: self.benchmark.clone(),
            limits: result.limits,
            point,
        });
    }
}
