use std::{
    cell::RefCell,
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::{
    Command, Event, Notice, Request, RunEdit, Subspace, Ticket, Which, check, device,
    engine_thread::EngineThread,
    export::export,
    gpu,
    hub_job::{HubJob, Transfer},
    initial,
    job::{
        AnalyseJob, ConvertJob, EvaluateJob, GenerateJob, Job, JobLabel, MeasureJob, PredictJob, ProveJob, TrainJob,
        TranslateJob, Work,
    },
    job_control::JobControl,
    models,
    monitor::{self, Monitor},
    outbox::Outbox,
    viewer::{MapsOf, ViewContext, Viewer},
};
use crate::{
    attention::{HeadAt, ModelPlan, estimated_vocabulary},
    config::{DataConfig, Problem, RunConfig, to_toml},
    data::with_image_shape,
    hub,
    store::{
        AnalysisSummary, BenchmarkSummary, DamagedRun, NewRun, RunFilter, RunId, RunList, RunState, StateDetails,
        Store, StoreError, StorePaths, StoreWriter,
    },
};

#[cfg(unix)]
use super::control::ControlServer;

mod studies;

/// How often the scheduler looks up when nothing comes in: store warnings, dead programs' runs.
const LOOK_UP: Duration = Duration::from_millis(250);

/// How often the scheduler looks for what other programs did: runs left behind by one that died, new ones.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// Transfers from and to hubs at the same time.
const TRANSFERS: usize = 4;

/// Size and time of the database and of its log: any write changes one of them.
type Trace = [Option<(u64, SystemTime)>; 2];

fn trace(database: &Path) -> Trace {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let of = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    [of(database), of(Path::new(&log))]
}

/// What reaches the scheduler.
pub(super) enum Message {
    /// From outside.
    Request {
        /// What is asked.
        request: Box<Request>,
        /// Gets a copy of everything that follows from it.
        asker: Option<Sender<Notice>>,
    },
    /// What is written about the current run changed: its state, its best, its checkpoints.
    RunsChanged,
    /// The engine thread is done with its job.
    JobDone,
}

/// The way in for other processes, where there is one.
#[derive(Default)]
struct Control {
    #[cfg(unix)]
    server: Option<(ControlServer, Sender<Message>)>,
}

impl Control {
    /// Makes the control socket; where that fails the engine works without.
    #[cfg(unix)]
    fn new(paths: &StorePaths, messages: Sender<Message>, outbox: &Outbox) -> Self {
        let server = ControlServer::bind(paths).unwrap_or_else(|error| {
            let message = format!("{error}. `headroom queue`, `pause` and `stop` cannot reach this program.");
            outbox.send(Event::Warning { run: None, message });
            None
        });
        Self { server: server.map(|server| (server, messages)) }
    }

    /// Only Unix has it so far.
    #[cfg(not(unix))]
    fn new(_paths: &StorePaths, _messages: Sender<Message>, _outbox: &Outbox) -> Self {
        Self::default()
    }

    /// Serves whoever came since the last call; never waits.
    fn accept(&self) {
        #[cfg(unix)]
        if let Some((server, messages)) = &self.server {
            server.accept(messages);
        }
    }
}

/// Owns the queue, answers questions from the store, and hands the engine thread one job at a time. It never
/// computes, so that it answers at once while the engine thread trains.
pub(super) struct Scheduler {
    store: Store,
    outbox: Outbox,
    inbox: Receiver<Message>,
    engine_thread: EngineThread,
    control: Control,
    monitor: Monitor,
    viewer: Viewer,
    queue: VecDeque<Job>,
    current: Option<Current>,
    transfers: Vec<Transfer>,
    is_ending: bool,
    /// Whether the table of runs is to be sent again, and when it was last.
    runs_changed: bool,
    runs_sent: Instant,
    looked_after: Instant,
    /// The benchmarks as they were sent last; none where nobody asked yet.
    benchmarks_sent: Option<Vec<BenchmarkSummary>>,
    /// The analyses as they were sent last; none where nobody asked yet.
    analyses_sent: Option<Vec<AnalysisSummary>>,
    /// Size and time of the store's files when they were last checked.
    trace: Trace,
    /// The damaged runs that were told of.
    damaged: RefCell<Vec<DamagedRun>>,
}

/// The job in progress.
struct Current {
    label: JobLabel,
    control: Arc<JobControl>,
    /// Of the request that asked for it.
    ticket: Option<Ticket>,
}

impl Scheduler {
    /// Starts the engine thread and the monitor behind the scheduler. `is_controlled`: other processes may reach the queue.
    pub(super) fn new(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        inbox: Receiver<Message>,
        messages: Sender<Message>,
        is_controlled: bool,
    ) -> Result<Self, std::io::Error> {
        let folder = store.paths().database().to_owned();
        // What others write from here on is noticed.
        let trace = trace(&folder);
        let monitor = Monitor::start(outbox.clone(), writer.clone(), folder, monitor::INTERVAL, gpu::reader)?;
        let engine_thread =
            EngineThread::start(store.clone(), writer, outbox.clone(), messages.clone(), monitor.position())?;
        let control = if is_controlled { Control::new(store.paths(), messages, &outbox) } else { Control::default() };
        Ok(Self {
            store,
            outbox,
            inbox,
            engine_thread,
            control,
            monitor,
            viewer: Viewer::default(),
            queue: VecDeque::new(),
            current: None,
            transfers: Vec::new(),
            is_ending: false,
            runs_changed: false,
            runs_sent: Instant::now(),
            looked_after: Instant::now(),
            benchmarks_sent: None,
            analyses_sent: None,
            trace,
            damaged: RefCell::default(),
        })
    }

    /// Works until told to end.
    pub(super) fn work(mut self) {
        let warnings = self.store.warnings();
        loop {
            match self.inbox.recv_timeout(LOOK_UP) {
                Ok(Message::Request { request, asker }) => self.answer(*request, asker),
                Ok(Message::RunsChanged) => self.runs_changed = true,
                Ok(Message::JobDone) => {
                    let done = self.current.take();
                    let told = match done.map(|done| done.label) {
                        Some(JobLabel::Measure { .. }) => self.send_benchmarks(),
                        Some(JobLabel::Analyse { .. }) => self.send_analyses(),
                        Some(
                            JobLabel::Train { .. }
                            | JobLabel::Convert { .. }
                            | JobLabel::Evaluate { .. }
                            | JobLabel::Generate { .. },
                        )
                        | None => Ok(()),
                    };
                    if let Err(error) = told {
                        self.fail(None, &error);
                    }
                    self.next_job();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.end(),
            }
            self.control.accept();
            self.look_after_others();
            self.tell_changes();
            while let Ok(warning) = warnings.try_recv() {
                self.outbox.send(Event::Warning { run: None, message: warning.to_string() });
            }
            if self.is_ending && self.current.is_none() {
                break;
            }
        }
        for transfer in std::mem::take(&mut self.transfers) {
            transfer.stop();
            transfer.join();
        }
        self.engine_thread.end();
        self.monitor.end();
        self.outbox.send(Event::Ended);
    }

    /// Carries a request out. What is sent until the end, and by the jobs and threads that it starts, has its ticket.
    fn answer(&mut self, request: Request, asker: Option<Sender<Notice>>) {
        self.outbox = self.outbox.of(request.ticket, asker);
        if let Err(error) = self.carry_out(request.command) {
            self.fail(None, &error);
        }
        self.outbox = self.outbox.of_nobody();
    }

    fn carry_out(&mut self, command: Command) -> Result<(), StoreError> {
        match command {
            Command::Enqueue { config, base_dir } => self.enqueue(vec![*config], &base_dir, &[]).map(drop),
            Command::EnqueueAll { configs, base_dir, tags } => self.enqueue(configs, &base_dir, &tags).map(drop),
            Command::ResumeRun { run } => self.resume_run(&run),
            Command::ListQueue => {
                self.send_queue();
                Ok(())
            }
            Command::Cancel { run } => {
                self.cancel(&run)?;
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::Move { run, position } => {
                self.move_to(&run, position);
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::Pause => {
                self.steer(|control| control.pause(true));
                Ok(())
            }
            Command::Resume => {
                self.steer(|control| control.pause(false));
                Ok(())
            }
            Command::Stop => {
                self.steer(JobControl::stop);
                Ok(())
            }
            Command::Checkpoint => {
                self.steer(JobControl::checkpoint);
                Ok(())
            }
            Command::Evaluate {
                target,
                data,
                labels,
                coverage,
                tokens,
                noise,
                noise_seed,
                mistakes,
                precision,
                base_dir,
            } => {
                let data = data.map(|data| Box::new(hub::anchored_data(*data, &base_dir)));
                let labels = *labels;
                let job =
                    EvaluateJob { target, data, labels, coverage, tokens, noise, noise_seed, mistakes, precision };
                let work = Work::Evaluate(job);
                self.queue.push_front(Job { outbox: self.outbox.clone(), work });
                self.next_job();
                Ok(())
            }
            Command::Generate { target, sources, batch, search, precision, threads, details } => {
                let job = GenerateJob { target, sources, batch, search: *search, precision, threads, details };
                self.generate(Work::Generate(Box::new(job)));
                Ok(())
            }
            Command::ProveCaches { target, sources, examples, batch, search, precisions, threads } => {
                let job = ProveJob { target, sources, examples, batch, search: *search, precisions, threads };
                self.generate(Work::Prove(Box::new(job)));
                Ok(())
            }
            Command::CancelGeneration { generation } => {
                self.cancel_answer(generation, |label| matches!(label, JobLabel::Generate { .. }));
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::EvaluateTranslation {
                target,
                data,
                limit,
                batch,
                search,
                words,
                precision,
                threads,
                base_dir,
            } => {
                let data = data.map(|data| Box::new(hub::anchored_data(*data, &base_dir)));
                let job = TranslateJob { words, target, data, limit, batch, search: *search, precision, threads };
                self.queue.push_front(Job { outbox: self.outbox.clone(), work: Work::Translate(Box::new(job)) });
                self.next_job();
                Ok(())
            }
            Command::Predict { target, rows, images } => {
                let work = Work::Predict(PredictJob { target, rows, images });
                self.queue.push_front(Job { outbox: self.outbox.clone(), work });
                self.next_job();
                Ok(())
            }
            Command::CancelPrediction { prediction } => {
                self.cancel_answer(prediction, |label| matches!(label, JobLabel::Evaluate { .. }));
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::DescribeModel { target } => {
                models::describe(self.view_context(), target);
                Ok(())
            }
            Command::ReadPlan { target } => {
                models::plan(self.view_context(), target);
                Ok(())
            }
            Command::PreviewConversion { target, conversion } => {
                models::preview(self.view_context(), target, conversion);
                Ok(())
            }
            Command::Convert { target, conversion, to, data, examples, tokens, threads, base_dir } => {
                let data = data.map(|data| Box::new(hub::anchored_data(*data, &base_dir)));
                let job = ConvertJob { target, conversion, to, data, examples, tokens, threads };
                self.generate(Work::Convert(job));
                Ok(())
            }
            Command::CancelConversion { conversion } => {
                self.cancel_answer(conversion, |label| matches!(label, JobLabel::Convert { .. }));
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::DescribeHub => {
                models::describe_hub(&self.view_context());
                Ok(())
            }
            Command::Inspect { request } => {
                self.transfer(HubJob::Inspect(request));
                Ok(())
            }
            Command::Fetch { request } => {
                self.transfer(HubJob::Fetch(request));
                Ok(())
            }
            Command::Push { target, name, public } => {
                self.transfer(HubJob::Push { target, name, public });
                Ok(())
            }
            Command::PreviewPush { target } => {
                models::preview_push(self.view_context(), target);
                Ok(())
            }
            Command::CancelTransfer { transfer } => {
                self.transfers.iter().filter(|one| one.is_of(transfer)).for_each(Transfer::stop);
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::Export { run, which, to } => self.export(run, which, to),
            Command::ListRuns => self.send_runs(),
            Command::LoadRun { run } => self.send_run(&run),
            Command::LoadSeries { run, series, after } => self.store.series(&run, &series, after).map(|data| {
                self.outbox.send(Event::Series { run, series, whole: data.is_whole, data });
            }),
            Command::LoadOutcomes { run, kind } => self.store.example_outcomes(&run, kind).map(|outcomes| {
                self.outbox.send(Event::Outcomes { run, kind, outcomes: outcomes.map(Box::new) });
            }),
            Command::LoadSamples { run } => {
                self.store.samples(&run).map(|samples| self.outbox.send(Event::Samples { run, samples }))
            }
            Command::Edit { run, edit } => self.edit(&run, edit),
            Command::ListDeleted { before_ms } => {
                self.store.deleted(before_ms).map(|deleted| self.outbox.send(Event::Deleted { deleted }))
            }
            Command::Purge { before_ms } => self.purge(before_ms),
            Command::Check { config, base_dir, revision } => {
                check::check(self.outbox.clone(), *config, base_dir, self.store.clone(), revision);
                Ok(())
            }
            Command::ReadFacts { config, base_dir } => {
                check::read_facts(self.view_context(), *config, base_dir);
                Ok(())
            }
            Command::Measure { benchmark, name, spec } => {
                self.measure(MeasureJob { benchmark, name, spec: *spec });
                Ok(())
            }
            Command::CancelMeasure { benchmark } => {
                self.cancel_measure(&benchmark);
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::ListBenchmarks => self.send_benchmarks(),
            Command::LoadBenchmark { benchmark } => self
                .store
                .benchmark(benchmark.as_str())
                .map(|record| self.outbox.send(Event::Benchmark { record: Box::new(record) })),
            Command::DeleteBenchmark { benchmark, deleted } => {
                let done = self.store.set_benchmark_deleted(&benchmark, deleted);
                done.and_then(|()| self.send_benchmarks())
            }
            Command::Analyse { analysis, target, data, spec, subspaces, base_dir } => {
                let anchored =
                    |data: Option<Box<DataConfig>>| data.map(|data| Box::new(hub::anchored_data(*data, &base_dir)));
                let subspaces = subspaces
                    .into_iter()
                    .map(|other| Subspace { data: anchored(other.data), target: other.target })
                    .collect();
                self.analyse(AnalyseJob { analysis, target, data: anchored(data), spec: *spec, subspaces });
                Ok(())
            }
            Command::CompareDomains { config, base_dir, tag, spec, analyses } => {
                self.compare_domains(*config, &base_dir, tag, &spec, analyses)
            }
            Command::CancelAnalysis { analysis } => {
                self.cancel_analysis(&analysis);
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::ListAnalyses => self.send_analyses(),
            Command::LoadAnalysis { analysis } => self.store.analysis(&analysis).map(|found| {
                self.outbox.send(Event::Analysed { analysis, result: Box::new(found.light()) });
            }),
            Command::DeleteAnalysis { analysis, deleted } => {
                let done = self.store.set_analysis_deleted(&analysis, deleted);
                done.and_then(|()| self.send_analyses())
            }
            Command::TrainAdvice { config, again, base_dir, tag, advised } => {
                self.train_advice(*config, again.map(|config| *config), &base_dir, &tag, *advised)
            }
            Command::ListAdvice => self.send_advice(),
            Command::LoadLiveAnalyses { run } => {
                self.store.live_analyses(&run).map(|steps| self.outbox.send(Event::LiveAnalyses { run, steps }))
            }
            Command::LoadLiveAnalysis { run, step } => self.store.live_analysis(&run, step).map(|found| {
                self.outbox.send(Event::LiveAnalysis { run, result: Box::new(found) });
            }),
            Command::LoadSnapshots { run, kind } => self.store.snapshots(&run, Some(&kind)).map(|snapshots| {
                self.outbox.send(Event::Snapshots { run, kind, snapshots });
            }),
            Command::LoadSnapshot { id } => self.store.snapshot(id).map(|snapshot| {
                self.outbox.send(Event::SnapshotData { snapshot: Box::new(snapshot) });
            }),
            Command::LoadMaps { view, target, data, text } => {
                self.viewer.open(self.view_context(), view, MapsOf { target, data, text });
                Ok(())
            }
            Command::LoadMap { view, layer, head } => {
                self.viewer.map(self.view_context(), view, HeadAt::new(layer, head));
                Ok(())
            }
            Command::RebuildMap { view, rebuild } => {
                self.viewer.rebuild(self.view_context(), view, rebuild);
                Ok(())
            }
            Command::Devices => {
                self.outbox.send(Event::Devices { devices: device::devices() });
                Ok(())
            }
            Command::Shutdown => {
                self.end();
                Ok(())
            }
        }
    }

    /// Finds runs whose program died meanwhile, and what other programs wrote into the store.
    fn look_after_others(&mut self) {
        if self.looked_after.elapsed() >= LOOK_AFTER {
            self.looked_after = Instant::now();
            self.runs_changed |= self.store.mark_interrupted().is_ok_and(|runs| !runs.is_empty());
            let trace = trace(self.store.paths().database());
            if std::mem::replace(&mut self.trace, trace) != trace {
                self.runs_changed = true;
                self.look_after_benchmarks();
                self.look_after_analyses();
            }
        }
    }

    /// Sends the table of runs again when something in it changed, at most some four times a second.
    fn tell_changes(&mut self) {
        if self.runs_changed && self.runs_sent.elapsed() >= LOOK_UP {
            self.runs_changed = false;
            self.runs_sent = Instant::now();
            if let Err(error) = self.send_runs() {
                self.fail(None, &error);
            }
        }
    }

    fn fail(&self, run: Option<RunId>, error: &StoreError) {
        self.outbox.send(Event::Failed {
            run,
            why: error.to_string(),
            // The message says it.
            what_to_do: String::new(),
        });
    }

    fn steer(&self, change: impl FnOnce(&JobControl)) {
        match &self.current {
            Some(current) => {
                change(&current.control);
                self.send_queue();
                self.outbox.send(Event::Done);
            }
            None => self
                .outbox
                .send(Event::Refused { why: "Nothing is running that could be paused, stopped or saved.".to_owned() }),
        }
    }

    /// All of them, or none where one cannot start. Gives their ids.
    fn enqueue(&mut self, configs: Vec<RunConfig>, base_dir: &Path, tags: &[String]) -> Result<Vec<RunId>, StoreError> {
        let configs: Vec<RunConfig> = configs.into_iter().map(|config| hub::anchored(config, base_dir)).collect();
        let located: Result<Vec<RunConfig>, (String, Problem)> = configs
            .into_iter()
            .map(|config| {
                let name = config.name.clone();
                let config = with_image_shape(config);
                let config = config.and_then(|config| initial::anchored(Some(&self.store), config, base_dir));
                config.map_err(|problem| (name, problem))
            })
            .collect();
        let configs = match located {
            Ok(configs) => configs,
            Err((name, problem)) => {
                self.outbox.send(Event::Failed {
                    run: None,
                    why: format!("The run \"{name}\" cannot start. {}.", problem.to_string().trim_end_matches('.')),
                    what_to_do: "Correct this field and start again.".to_owned(),
                });
                return Ok(Vec::new());
            }
        };
        for config in &configs {
            if let Err(problems) = ModelPlan::resolve(config, estimated_vocabulary(config)) {
                let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
                self.outbox.send(Event::Failed {
                    run: None,
                    why: format!(
                        "The run \"{}\" cannot start. {}.",
                        config.name,
                        list.join("; ").trim_end_matches('.')
                    ),
                    what_to_do: "Correct these fields and start again.".to_owned(),
                });
                return Ok(Vec::new());
            }
        }
        let mut runs = Vec::with_capacity(configs.len());
        for config in configs {
            let record = self.store.create_run(NewRun {
                name: config.name.clone(),
                config_toml: to_toml(&config),
                config: serde_json::to_value(&config).unwrap_or_default(),
                seed: config.seed,
                device: config.device.to_string(),
                threads: config.threads_used() as u32,
                steps_total: config.train.steps,
                tags: tags.to_vec(),
                ..NewRun::default()
            })?;
            let run = record.summary.id.clone();
            runs.push(run.clone());
            let job = TrainJob { run, config, numerics: record.numerics, is_continued: false };
            self.push(record.summary.number, job)?;
        }
        Ok(runs)
    }

    fn view_context(&self) -> ViewContext {
        ViewContext { store: self.store.clone(), outbox: self.outbox.clone() }
    }

    fn push(&mut self, number: u64, job: TrainJob) -> Result<(), StoreError> {
        self.outbox.send(Event::Queued {
            run: job.run.clone(),
            name: job.config.name.clone(),
            number,
            position: self.queue.len() + usize::from(self.current.is_some()),
        });
        self.queue.push_back(Job { outbox: self.outbox.clone(), work: Work::Train(Box::new(job)) });
        self.next_job();
        self.send_runs()
    }

    fn resume_run(&mut self, run: &RunId) -> Result<(), StoreError> {
        let record = self.store.run(run.as_str())?;
        let state = record.summary.state;
        let refuse = |why: String, what_to_do: &str| {
            self.outbox.send(Event::Failed { run: Some(run.clone()), why, what_to_do: what_to_do.to_owned() });
        };
        if !state.can_resume() {
            let name = &record.summary.name;
            let (why, what_to_do) = match state {
                RunState::Finished => (
                    format!("The run \"{name}\" has done all its steps."),
                    "To train longer, start a new run with more steps.",
                ),
                RunState::Diverged => (
                    format!("The run \"{name}\" diverged; going on would take the same course."),
                    "Lower the learning rate or clip harder, and start a new run.",
                ),
                RunState::Cancelled => (
                    format!("The run \"{name}\" was taken out of the queue before it started."),
                    "Start a new run from its config.",
                ),
                _ => (format!("The run \"{name}\" is {state} already."), "Wait for it to end."),
            };
            refuse(why, what_to_do);
            return Ok(());
        }
        if !record.numerics.is_known() {
            refuse(
                format!(
                    "A newer version of Headroom began the run \"{}\", with an arithmetic (numerics {}) that this version does not have.",
                    record.summary.name, record.numerics.0
                ),
                "Resume it with that version, or start a new run from its config.",
            );
            return Ok(());
        }
        match record.run_config() {
            Ok(config) => {
                self.store.set_state(run, RunState::Queued, StateDetails::default())?;
                let job = TrainJob { run: run.clone(), config, numerics: record.numerics, is_continued: true };
                self.push(record.summary.number, job)
            }
            Err(error) => {
                refuse(
                    format!("The config of the run \"{}\" cannot be read. {error}", record.summary.name),
                    "Start a new run from its config.",
                );
                Ok(())
            }
        }
    }

    fn cancel(&mut self, run: &RunId) -> Result<(), StoreError> {
        if let Some(job) = self.take_waiting(|label| label.run() == Some(run)) {
            // A run that was already going before it was queued again keeps what it has.
            let has_begun = !self.store.run(run.as_str())?.attempts.is_empty();
            let state = if has_begun { RunState::Stopped } else { RunState::Cancelled };
            self.store.set_state(run, state, StateDetails::default())?;
            let summary = self.store.run(run.as_str())?.summary;
            let step = summary.steps_done;
            // Whoever queued it is told.
            job.outbox.send(Event::Finished {
                run: run.clone(),
                name: summary.name,
                state,
                step,
                loss: None,
                best_validation_loss: None,
                best_step: None,
                train_secs: summary.train_secs,
                why: None,
                unwritten: None,
            });
        }
        self.send_runs()
    }

    /// Takes a job that waits out of the queue.
    fn take_waiting(&mut self, is_meant: impl Fn(&JobLabel) -> bool) -> Option<Job> {
        let place = self.queue.iter().position(|job| is_meant(&job.label()))?;
        let job = self.queue.remove(place);
        self.send_queue();
        job
    }

    fn move_to(&mut self, id: &RunId, position: usize) {
        if let Some(job) = self.take_waiting(|label| label.id() == Some(id)) {
            self.queue.insert(position.min(self.queue.len()), job);
            self.send_queue();
        }
    }

    /// Hands over the next job when the engine thread is free.
    fn next_job(&mut self) {
        if self.current.is_none()
            && !self.is_ending
            && let Some(job) = self.queue.pop_front()
        {
            let control = Arc::new(JobControl::default());
            let ticket = job.outbox.ticket();
            self.current = Some(Current { label: job.label(), control: Arc::clone(&control), ticket });
            self.engine_thread.hand_over(job, control);
        }
        self.monitor.set_busy(self.current.is_some());
        self.send_queue();
        if let Err(error) = self.send_runs() {
            self.fail(None, &error);
        }
    }

    fn send_queue(&self) {
        self.outbox.send(Event::Queue {
            current: self.current.as_ref().map(|current| current.label.clone()),
            is_paused: self.current.as_ref().is_some_and(|current| current.control.should_pause()),
            waiting: self.queue.iter().map(Job::label).collect(),
        });
    }

    fn send_runs(&self) -> Result<(), StoreError> {
        let filter = RunFilter { include_archived: true, include_deleted: false };
        let RunList { mut runs, damaged } = self.store.run_list(filter)?;
        runs.reverse();
        self.outbox.send(Event::Runs { runs });
        // Nobody is told of damage where there was none and is none.
        if self.damaged.replace(damaged.clone()) != damaged {
            self.outbox.send(Event::Damaged { runs: damaged });
        }
        Ok(())
    }

    fn purge(&mut self, before_ms: i64) -> Result<(), StoreError> {
        let report = self.store.purge_deleted(before_ms)?;
        self.outbox.send(Event::Purged { report });
        self.send_advice()?;
        self.send_benchmarks()?;
        self.send_analyses()?;
        self.send_runs()
    }

    fn send_run(&self, run: &RunId) -> Result<(), StoreError> {
        let record = Box::new(self.store.run(run.as_str())?);
        let checkpoints = self.store.checkpoints(&record.summary.id)?;
        let folder = self.store.paths().run(&record.summary.id);
        self.outbox.send(Event::Run { record, checkpoints, folder });
        Ok(())
    }

    fn edit(&mut self, run: &RunId, edit: RunEdit) -> Result<(), StoreError> {
        if edit == RunEdit::Delete {
            if self.current.as_ref().is_some_and(|current| current.label.run() == Some(run)) {
                self.outbox.send(Event::Failed {
                    run: Some(run.clone()),
                    why: "A run that trains cannot be deleted.".to_owned(),
                    what_to_do: "Stop it first.".to_owned(),
                });
                return Ok(());
            }
            self.cancel(run)?;
        }
        if let RunEdit::Rename(name) = &edit {
            let queued = self.queue.iter_mut().filter_map(|job| match &mut job.work {
                Work::Train(job) if job.run == *run => Some(&mut job.config.name),
                _ => None,
            });
            let current = self.current.iter_mut().filter_map(|current| match &mut current.label {
                JobLabel::Train { run: id, name } if id == run => Some(name),
                _ => None,
            });
            current.chain(queued).for_each(|known| known.clone_from(name));
        }
        let changes_advice = matches!(edit, RunEdit::Delete | RunEdit::Undelete);
        self.write_edit(run, edit)?;
        if changes_advice {
            self.send_advice()?;
        }
        self.send_runs()
    }

    fn write_edit(&self, run: &RunId, edit: RunEdit) -> Result<(), StoreError> {
        match edit {
            RunEdit::Rename(name) => self.store.rename(run, &name),
            RunEdit::Note(note) => self.store.set_note(run, &note),
            RunEdit::AddTag(tag) => self.store.add_tag(run, &tag),
            RunEdit::RemoveTag(tag) => self.store.remove_tag(run, &tag),
            RunEdit::Archive(archived) => self.store.set_archived(run, archived),
            RunEdit::Delete => self.store.delete(run),
            RunEdit::Undelete => self.store.undelete(run),
        }
    }

    /// Copies on a thread of its own: a training run is not to wait for a copy, nor a copy for a run.
    fn export(&self, run: RunId, which: Which, to: PathBuf) -> Result<(), StoreError> {
        let record = self.store.run(run.as_str())?;
        let precision = record.run_config().map(|config| config.precision).unwrap_or_default();
        let run = record.summary.id;
        let checkpoints = self.store.checkpoints(&run)?;
        let outbox = self.outbox.clone();
        let spawned = std::thread::Builder::new().name("headroom-export".to_owned()).spawn({
            let (store, run) = (self.store.clone(), run.clone());
            move || outbox.send(export(&store, run, which, precision, &checkpoints, to))
        });
        if let Err(error) = spawned {
            self.outbox.send(Event::Failed {
                run: Some(run),
                why: format!("The export could not start: {error}."),
                what_to_do: "Try again.".to_owned(),
            });
        }
        Ok(())
    }

    /// Begins a transfer from or to a hub, beside whatever computes.
    fn transfer(&mut self, job: HubJob) {
        self.transfers.retain(|transfer| !transfer.is_over());
        if self.transfers.len() >= TRANSFERS {
            let why =
                format!("{TRANSFERS} transfers from and to hubs are in progress. Wait for one to end, or end one.");
            self.outbox.send(Event::Refused { why });
            return;
        }
        match Transfer::start(self.store.clone(), self.outbox.clone(), job) {
            Ok(transfer) => self.transfers.push(transfer),
            Err(error) => {
                let why = format!("The transfer could not start: {error}.");
                self.outbox.send(Event::Failed { run: None, why, what_to_do: "Try again.".to_owned() });
            }
        }
    }

    /// Stops what runs, leaves what waits queued no more. Nobody took it out of the queue: it can be resumed as after a crash.
    fn end(&mut self) {
        self.is_ending = true;
        for job in std::mem::take(&mut self.queue) {
            if let Work::Train(job) = job.work {
                let state = if job.is_continued { RunState::Stopped } else { RunState::Interrupted };
                if let Err(error) = self.store.set_state(&job.run, state, StateDetails::default()) {
                    self.fail(Some(job.run), &error);
                }
            }
        }
        if let Some(current) = &self.current {
            current.control.stop();
        }
    }
}
