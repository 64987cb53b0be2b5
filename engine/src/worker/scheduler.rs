use std::{
    cell::RefCell,
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::{
    check,
    engine_thread::EngineThread,
    message::Message,
    models,
    transfer::Transfer,
    viewer::{MapsOf, ViewContext, Viewer},
};
use crate::{
    attention::{HeadAt, ModelPlan, estimated_vocabulary},
    config::{Problem, RunConfig, to_toml},
    data::with_image_shape,
    hub,
    jobs::{self, JobContext, JobControl, Lane, MONITOR_INTERVAL, Monitor, Place, QueuedJob, StoreList, TrainRun},
    machine,
    protocol::{Command, Event, JobLabel, JobRef, Notice, Outbox, Request, RunEdit, Ticket, Which, commands, events},
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
            outbox.send(events::Warning { run: None, message });
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
    /// Context of jobs, but for their outbox and control.
    context: JobContext,
    queue: VecDeque<Waiting>,
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

/// A job in the queue.
struct Waiting {
    job: Box<dyn QueuedJob>,
    outbox: Outbox,
}

impl Waiting {
    fn is(&self, which: &JobRef) -> bool {
        is_meant(which, &self.job.label(), self.outbox.ticket())
    }
}

/// The job in progress.
struct Current {
    label: JobLabel,
    control: Arc<JobControl>,
    /// Of the request that asked for it.
    ticket: Option<Ticket>,
    /// List that is sent again once it is done.
    adds_to: Option<StoreList>,
}

/// Returns true if a command names this job.
fn is_meant(which: &JobRef, label: &JobLabel, ticket: Option<Ticket>) -> bool {
    match which {
        JobRef::Ticket(asked) => ticket == Some(*asked),
        JobRef::Id(id) => label.id() == Some(id),
    }
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
        let monitor = Monitor::start(outbox.clone(), writer.clone(), folder, MONITOR_INTERVAL, machine::gpu_reader)?;
        let context = JobContext::new(store.clone(), writer, outbox.clone(), monitor.position(), {
            let messages = messages.clone();
            move || {
                // A scheduler that is busy hears of it with the next change.
                let _ = messages.try_send(Message::RunsChanged);
            }
        });
        let engine_thread = EngineThread::start({
            let messages = messages.clone();
            move || {
                // A scheduler that is gone needs no job any more.
                let _ = messages.send(Message::JobDone);
            }
        })?;
        let control = if is_controlled { Control::new(store.paths(), messages, &outbox) } else { Control::default() };
        Ok(Self {
            store,
            outbox,
            inbox,
            engine_thread,
            context,
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
                    let told = match done.and_then(|done| done.adds_to) {
                        Some(StoreList::Benchmarks) => self.send_benchmarks(),
                        Some(StoreList::Analyses) => self.send_analyses(),
                        None => Ok(()),
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
                self.outbox.send(events::Warning { run: None, message: warning.to_string() });
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
            Command::Enqueue(commands::Enqueue { config, base_dir }) => {
                self.enqueue(vec![*config], &base_dir, &[]).map(drop)
            }
            Command::EnqueueAll(commands::EnqueueAll { configs, base_dir, tags }) => {
                self.enqueue(configs, &base_dir, &tags).map(drop)
            }
            Command::ResumeRun(commands::ResumeRun { run }) => self.resume_run(&run),
            Command::ListQueue => {
                self.send_queue();
                Ok(())
            }
            Command::Job(command) => {
                self.start(jobs::job_of(command));
                Ok(())
            }
            Command::Cancel(commands::Cancel { job }) => {
                self.cancel(&job)?;
                self.outbox.send(Event::Done);
                Ok(())
            }
            Command::Move(commands::Move { run, position }) => {
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
            Command::DescribeModel(commands::DescribeModel { target }) => {
                models::describe(self.view_context(), target);
                Ok(())
            }
            Command::ReadPlan(commands::ReadPlan { target }) => {
                models::plan(self.view_context(), target);
                Ok(())
            }
            Command::PreviewConversion(commands::PreviewConversion { target, conversion }) => {
                models::preview(self.view_context(), target, conversion);
                Ok(())
            }
            Command::DescribeHub => {
                models::describe_hub(&self.view_context());
                Ok(())
            }
            Command::PreviewPush(commands::PreviewPush { target }) => {
                models::preview_push(self.view_context(), target);
                Ok(())
            }
            Command::Export(commands::Export { run, which, to }) => self.export(run, which, to),
            Command::ListRuns => self.send_runs(),
            Command::LoadRun(commands::LoadRun { run }) => self.send_run(&run),
            Command::LoadSeries(commands::LoadSeries { run, series, after }) => {
                self.store.series(&run, &series, after).map(|data| {
                    self.outbox.send(events::Series { run, series, whole: data.is_whole, data });
                })
            }
            Command::LoadOutcomes(commands::LoadOutcomes { run, kind }) => {
                self.store.example_outcomes(&run, kind).map(|outcomes| {
                    self.outbox.send(events::Outcomes { run, kind, outcomes: outcomes.map(Box::new) });
                })
            }
            Command::LoadSamples(commands::LoadSamples { run }) => {
                self.store.samples(&run).map(|samples| self.outbox.send(events::Samples { run, samples }))
            }
            Command::Edit(commands::Edit { run, edit }) => self.edit(&run, edit),
            Command::ListDeleted(commands::ListDeleted { before_ms }) => {
                self.store.deleted(before_ms).map(|deleted| self.outbox.send(events::Deleted { deleted }))
            }
            Command::Purge(commands::Purge { before_ms }) => self.purge(before_ms),
            Command::Check(commands::Check { config, base_dir, revision }) => {
                check::check(self.outbox.clone(), *config, base_dir, self.store.clone(), revision);
                Ok(())
            }
            Command::ReadFacts(commands::ReadFacts { config, base_dir }) => {
                check::read_facts(self.view_context(), *config, base_dir);
                Ok(())
            }
            Command::ListBenchmarks => self.send_benchmarks(),
            Command::LoadBenchmark(commands::LoadBenchmark { benchmark }) => self
                .store
                .benchmark(benchmark.as_str())
                .map(|record| self.outbox.send(events::Benchmark { record: Box::new(record) })),
            Command::DeleteBenchmark(commands::DeleteBenchmark { benchmark, deleted }) => {
                let done = self.store.set_benchmark_deleted(&benchmark, deleted);
                done.and_then(|()| self.send_benchmarks())
            }
            Command::CompareDomains(commands::CompareDomains { config, base_dir, tag, spec, analyses }) => {
                self.compare_domains(*config, &base_dir, tag, &spec, analyses)
            }
            Command::ListAnalyses => self.send_analyses(),
            Command::LoadAnalysis(commands::LoadAnalysis { analysis }) => self.store.analysis(&analysis).map(|found| {
                self.outbox.send(events::Analysed { analysis, result: Box::new(found.light()) });
            }),
            Command::DeleteAnalysis(commands::DeleteAnalysis { analysis, deleted }) => {
                let done = self.store.set_analysis_deleted(&analysis, deleted);
                done.and_then(|()| self.send_analyses())
            }
            Command::TrainAdvice(commands::TrainAdvice { config, again, base_dir, tag, advised }) => {
                self.train_advice(*config, again.map(|config| *config), &base_dir, &tag, *advised)
            }
            Command::ListAdvice => self.send_advice(),
            Command::LoadLiveAnalyses(commands::LoadLiveAnalyses { run }) => {
                self.store.live_analyses(&run).map(|steps| self.outbox.send(events::LiveAnalyses { run, steps }))
            }
            Command::LoadLiveAnalysis(commands::LoadLiveAnalysis { run, step }) => {
                self.store.live_analysis(&run, step).map(|found| {
                    self.outbox.send(events::LiveAnalysis { run, result: Box::new(found) });
                })
            }
            Command::LoadSnapshots(commands::LoadSnapshots { run, kind }) => {
                self.store.snapshots(&run, Some(&kind)).map(|snapshots| {
                    self.outbox.send(events::Snapshots { run, kind, snapshots });
                })
            }
            Command::LoadSnapshot(commands::LoadSnapshot { id }) => self.store.snapshot(id).map(|snapshot| {
                self.outbox.send(events::SnapshotData { snapshot: Box::new(snapshot) });
            }),
            Command::LoadMaps(commands::LoadMaps { view, target, data, text }) => {
                self.viewer.open(self.view_context(), view, MapsOf { target, data, text });
                Ok(())
            }
            Command::LoadMap(commands::LoadMap { view, layer, head }) => {
                self.viewer.map(self.view_context(), view, HeadAt::new(layer, head));
                Ok(())
            }
            Command::RebuildMap(commands::RebuildMap { view, rebuild }) => {
                self.viewer.rebuild(self.view_context(), view, rebuild);
                Ok(())
            }
            Command::Devices => {
                self.outbox.send(events::Devices { devices: machine::devices() });
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
        self.outbox.send(events::Failed {
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
                .send(events::Refused { why: "Nothing is running that could be paused, stopped or saved.".to_owned() }),
        }
    }

    /// All of them, or none where one cannot start. Gives their ids.
    fn enqueue(&mut self, configs: Vec<RunConfig>, base_dir: &Path, tags: &[String]) -> Result<Vec<RunId>, StoreError> {
        let configs: Vec<RunConfig> = configs.into_iter().map(|config| hub::anchored(config, base_dir)).collect();
        let located: Result<Vec<RunConfig>, (String, Box<Problem>)> = configs
            .into_iter()
            .map(|config| {
                let name = config.name.clone();
                let config = with_image_shape(config);
                let config = config.and_then(|config| jobs::initial::anchored(Some(&self.store), config, base_dir));
                config.map_err(|problem| (name, Box::new(problem)))
            })
            .collect();
        let configs = match located {
            Ok(configs) => configs,
            Err((name, problem)) => {
                self.outbox.send(events::Failed {
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
                self.outbox.send(events::Failed {
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
            let number = record.summary.number;
            self.queue_job(Box::new(TrainRun { run, number, config, numerics: record.numerics, is_continued: false }));
            self.send_runs()?;
        }
        Ok(runs)
    }

    fn view_context(&self) -> ViewContext {
        ViewContext { store: self.store.clone(), outbox: self.outbox.clone() }
    }

    /// Begins a job, or puts it into the queue.
    fn start(&mut self, mut job: Box<dyn QueuedJob>) {
        if let Some(refusal) = job.refusal() {
            self.outbox.send(refusal);
            return;
        }
        job.anchor();
        match job.lane() {
            Lane::Engine => self.queue_job(job),
            Lane::Transfer => self.transfer(job),
        }
    }

    fn queue_job(&mut self, job: Box<dyn QueuedJob>) {
        if let Some(event) = job.queued(self.queue.len() + usize::from(self.current.is_some())) {
            self.outbox.send(event);
        }
        let position = match job.place() {
            Place::First => 0,
            place @ Place::BehindAnswers => {
                self.queue.iter().take_while(|waiting| waiting.job.place() == place).count()
            }
            Place::Last => self.queue.len(),
        };
        self.queue.insert(position, Waiting { job, outbox: self.outbox.clone() });
        self.next_job();
    }

    fn resume_run(&mut self, run: &RunId) -> Result<(), StoreError> {
        let record = self.store.run(run.as_str())?;
        let state = record.summary.state;
        let refuse = |why: String, what_to_do: &str| {
            self.outbox.send(events::Failed { run: Some(run.clone()), why, what_to_do: what_to_do.to_owned() });
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
                let (run, number) = (run.clone(), record.summary.number);
                let job = TrainRun { run, number, config, numerics: record.numerics, is_continued: true };
                self.queue_job(Box::new(job));
                self.send_runs()
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

    /// Takes jobs that wait out of the queue, and stops those in progress.
    fn cancel(&mut self, which: &JobRef) -> Result<(), StoreError> {
        if let Some(current) = &self.current
            && is_meant(which, &current.label, current.ticket)
        {
            current.control.stop();
        }
        if let JobRef::Ticket(ticket) = which {
            self.transfers.iter().filter(|transfer| transfer.is_of(*ticket)).for_each(Transfer::stop);
        }
        while let Some(Waiting { job, outbox }) = self.take_waiting(which) {
            // Whoever asked for it is told.
            job.cancel(&self.context.of_job(outbox, Arc::default()))?;
        }
        self.send_runs()
    }

    /// Takes a job that waits out of the queue.
    fn take_waiting(&mut self, which: &JobRef) -> Option<Waiting> {
        let place = self.queue.iter().position(|waiting| waiting.is(which))?;
        let waiting = self.queue.remove(place);
        self.send_queue();
        waiting
    }

    fn move_to(&mut self, id: &RunId, position: usize) {
        if let Some(waiting) = self.take_waiting(&JobRef::Id(id.clone())) {
            self.queue.insert(position.min(self.queue.len()), waiting);
            self.send_queue();
        }
    }

    /// Hands over the next job when the engine thread is free.
    fn next_job(&mut self) {
        if self.current.is_none()
            && !self.is_ending
            && let Some(Waiting { job, outbox }) = self.queue.pop_front()
        {
            let (control, ticket) = (Arc::new(JobControl::default()), outbox.ticket());
            let context = self.context.of_job(outbox, Arc::clone(&control));
            self.current = Some(Current { label: job.label(), control, ticket, adds_to: job.adds_to() });
            self.engine_thread.execute(job, context);
        }
        self.monitor.set_busy(self.current.is_some());
        self.send_queue();
        if let Err(error) = self.send_runs() {
            self.fail(None, &error);
        }
    }

    fn send_queue(&self) {
        self.outbox.send(events::Queue {
            current: self.current.as_ref().map(|current| current.label.clone()),
            is_paused: self.current.as_ref().is_some_and(|current| current.control.should_pause()),
            waiting: self.queue.iter().map(|waiting| waiting.job.label()).collect(),
        });
    }

    fn send_runs(&self) -> Result<(), StoreError> {
        let filter = RunFilter { include_archived: true, include_deleted: false };
        let RunList { mut runs, damaged } = self.store.run_list(filter)?;
        runs.reverse();
        self.outbox.send(events::Runs { runs });
        // Nobody is told of damage where there was none and is none.
        if self.damaged.replace(damaged.clone()) != damaged {
            self.outbox.send(events::Damaged { runs: damaged });
        }
        Ok(())
    }

    fn purge(&mut self, before_ms: i64) -> Result<(), StoreError> {
        let report = self.store.purge_deleted(before_ms)?;
        self.outbox.send(events::Purged { report });
        self.send_advice()?;
        self.send_benchmarks()?;
        self.send_analyses()?;
        self.send_runs()
    }

    fn send_run(&self, run: &RunId) -> Result<(), StoreError> {
        let record = Box::new(self.store.run(run.as_str())?);
        let checkpoints = self.store.checkpoints(&record.summary.id)?;
        let folder = self.store.paths().run(&record.summary.id);
        self.outbox.send(events::Run { record, checkpoints, folder });
        Ok(())
    }

    fn edit(&mut self, run: &RunId, edit: RunEdit) -> Result<(), StoreError> {
        if edit == RunEdit::Delete {
            if self.current.as_ref().is_some_and(|current| current.label.run.as_ref() == Some(run)) {
                self.outbox.send(events::Failed {
                    run: Some(run.clone()),
                    why: "A run that trains cannot be deleted.".to_owned(),
                    what_to_do: "Stop it first.".to_owned(),
                });
                return Ok(());
            }
            self.cancel(&JobRef::Id(run.clone()))?;
        }
        if let RunEdit::Rename(name) = &edit {
            self.queue.iter_mut().for_each(|waiting| waiting.job.rename(run, name));
            if let Some(current) = self.current.as_mut().filter(|current| current.label.run.as_ref() == Some(run)) {
                current.label.name = Some(name.clone());
            }
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
            move || outbox.send(jobs::export(&store, run, which, precision, &checkpoints, to))
        });
        if let Err(error) = spawned {
            self.outbox.send(events::Failed {
                run: Some(run),
                why: format!("The export could not start: {error}."),
                what_to_do: "Try again.".to_owned(),
            });
        }
        Ok(())
    }

    /// Begins a transfer from or to a hub, beside whatever computes.
    fn transfer(&mut self, job: Box<dyn QueuedJob>) {
        self.transfers.retain(|transfer| !transfer.is_over());
        if self.transfers.len() >= TRANSFERS {
            let why =
                format!("{TRANSFERS} transfers from and to hubs are in progress. Wait for one to end, or end one.");
            self.outbox.send(events::Refused { why });
            return;
        }
        match Transfer::start(job, self.context.of_job(self.outbox.clone(), Arc::default())) {
            Ok(transfer) => self.transfers.push(transfer),
            Err(error) => {
                let why = format!("The transfer could not start: {error}.");
                self.outbox.send(events::Failed { run: None, why, what_to_do: "Try again.".to_owned() });
            }
        }
    }

    /// Stops what runs, leaves what waits queued no more.
    fn end(&mut self) {
        self.is_ending = true;
        for Waiting { job, outbox } in std::mem::take(&mut self.queue) {
            if let Err(error) = job.abandon(&self.context.of_job(outbox, Arc::default())) {
                self.fail(job.label().run, &error);
            }
        }
        if let Some(current) = &self.current {
            current.control.stop();
        }
    }
}
