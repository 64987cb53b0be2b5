use std::sync::Arc;

use headroom_engine::{
    config::{RunConfig, counted},
    protocol::{Command, Event, Request, Ticket, commands, events},
    speed::{MachineLimits, PointResult, SweepSpec},
    store::{BenchmarkId, BenchmarkRecord, BenchmarkSummary},
};

use super::{FollowedJob, Phase, followed_job::follows_job, request_cache::RequestCache};
use crate::messages::Messages;

/// A measurement that was started here and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Measuring {
    /// Its job, whose id is the measurement's.
    pub job: FollowedJob,
    /// Its id.
    pub benchmark: BenchmarkId,
    /// Its name.
    pub name: String,
    /// What is measured.
    pub spec: SweepSpec,
    /// The limits of the machine, once they are known.
    pub limits: Option<MachineLimits>,
    /// What came of the points so far.
    pub points: Vec<PointResult>,
}
follows_job!(Measuring);

/// What the Speed panel shows.
#[derive(Default)]
pub struct SpeedState {
    /// All benchmarks, newest first.
    pub benchmarks: Vec<BenchmarkSummary>,
    /// Whether the list has come.
    pub loaded: bool,
    /// Measurements that wait or go on, in their order.
    pub measuring: Vec<Arc<Measuring>>,
    /// The config in the Configure panel, while the Speed panel is open.
    pub draft: Option<RunConfig>,
    /// The measurement that ended last: it is to be opened.
    pub ended: Option<BenchmarkId>,
    /// Benchmarks that were deleted and can be brought back, newest last.
    deleted: Vec<(BenchmarkId, String)>,
    /// Whole benchmarks that were asked for.
    records: RequestCache<BenchmarkId, Arc<BenchmarkRecord>>,
    list: RequestCache<()>,
    outgoing: Vec<Request>,
}

impl SpeedState {
    /// Asks for the list, once.
    pub fn want_list(&mut self) {
        self.list.get(&(), || Command::ListBenchmarks);
    }

    /// A whole benchmark; asked for, once, while it is not there.
    pub fn record(&mut self, benchmark: &BenchmarkId) -> Option<Arc<BenchmarkRecord>> {
        self.records.get(benchmark, || commands::LoadBenchmark { benchmark: benchmark.clone() }).cloned()
    }

    /// Puts a measurement into the engine's queue.
    pub fn start(&mut self, name: String, spec: SweepSpec) -> BenchmarkId {
        let benchmark = BenchmarkId::new();
        let command =
            commands::Measure { benchmark: benchmark.clone(), name: name.clone(), spec: Box::new(spec.clone()) };
        let title = format!("Measurement \"{name}\"");
        let job = FollowedJob::start_as(&benchmark, title, command, &mut self.outgoing);
        let (limits, points) = (None, Vec::new());
        self.measuring.push(Arc::new(Measuring { job, benchmark: benchmark.clone(), name, spec, limits, points }));
        benchmark
    }

    /// The measurement that goes on now.
    pub fn now(&self) -> Option<&Arc<Measuring>> {
        self.measuring.iter().find(|measuring| measuring.phase == Phase::Going)
    }

    /// Ends a measurement; what was measured is kept.
    pub fn cancel(&mut self, benchmark: &BenchmarkId) {
        let mut requests = Vec::new();
        if let Some(measuring) = self.of(benchmark) {
            measuring.job.cancel(&mut requests);
        }
        self.outgoing.extend(requests);
    }

    /// Deletes a benchmark so that Undo brings it back.
    pub fn delete(&mut self, benchmark: &BenchmarkId, messages: &mut Messages) {
        let named = self.benchmarks.iter().find(|known| known.id == *benchmark);
        let name = named.map_or_else(|| benchmark.to_string(), |known| known.name.clone());
        messages.push_info(format!("Deleted the benchmark \"{name}\". Undo brings it back."));
        self.deleted.push((benchmark.clone(), name));
        self.outgoing.push(commands::DeleteBenchmark { benchmark: benchmark.clone(), deleted: true }.into());
    }

    /// Whether there is a deleted benchmark that Undo brings back.
    pub fn can_undo_delete(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Brings the benchmark that was deleted last back. False if there is none.
    pub fn undo_delete(&mut self, messages: &mut Messages) -> bool {
        let Some((benchmark, name)) = self.deleted.pop() else { return false };
        messages.push_info(format!("Brought the benchmark \"{name}\" back."));
        self.outgoing.push(commands::DeleteBenchmark { benchmark, deleted: false }.into());
        true
    }

    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        self.records.fail(ticket, why) || self.list.fail(ticket, why)
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let mut requests = std::mem::take(&mut self.outgoing);
        requests.extend(self.records.take_requests());
        requests.extend(self.list.take_requests());
        requests
    }

    /// Takes an event of a measurement in; others are none of its business.
    pub(super) fn apply(&mut self, event: Event, messages: &mut Messages) -> Option<Event> {
        match event {
            Event::MeasuredPoint(events::MeasuredPoint { benchmark, limits, point }) => {
                if let Some(measuring) = self.of(&benchmark) {
                    measuring.limits = limits;
                    measuring.points.extend(point.map(|point| *point));
                    measuring.job.phase = Phase::Going;
                }
            }
            Event::MeasureEnded(events::MeasureEnded { benchmark, name, complete, why }) => {
                let known = self.of(&benchmark).map(|measuring| (measuring.name.clone(), measuring.points.len()));
                let (name, points) = known.unwrap_or((name, 0));
                let told = counted(points, "point");
                match why {
                    Some(why) => messages.push_error(format!("\"{name}\" could not be measured. {why}"), ""),
                    None if complete => messages.push_info(format!("Measured \"{name}\": {told}.")),
                    None if points == 0 => {
                        messages.push_info(format!(
                            "The measurement \"{name}\" was ended before a point was measured; nothing is kept."
                        ));
                    }
                    None => messages.push_info(format!("The measurement \"{name}\" was ended after {told}.")),
                }
                self.measuring.retain(|measuring| measuring.benchmark != benchmark);
                if points > 0 {
                    self.ended = Some(benchmark);
                }
                self.list.refresh(&(), || Command::ListBenchmarks);
            }
            Event::Benchmarks(events::Benchmarks { benchmarks }) => {
                self.records.retain(|id, record| {
                    let known = benchmarks.iter().find(|known| known.id == *id);
                    known.is_some_and(|known| record.is_none_or(|record| record.summary == *known))
                });
                self.list.answer((), ());
                self.benchmarks = benchmarks;
                self.loaded = true;
            }
            Event::Benchmark(events::Benchmark { record }) => {
                self.records.answer(record.summary.id.clone(), Arc::from(record));
            }
            other => return Some(other),
        }
        None
    }

    fn of(&mut self, benchmark: &BenchmarkId) -> Option<&mut Measuring> {
        self.measuring.iter_mut().find(|measuring| measuring.benchmark == *benchmark).map(Arc::make_mut)
    }
}
