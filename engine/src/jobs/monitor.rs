use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

use crate::{
    config::DeviceChoice,
    machine::GpuReader,
    protocol::{Outbox, events},
    store::{RunFacts, RunId, StoreWriter, series_names},
    train::{Activity, Health, Window},
};

/// Usual time between readings while a job is done.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// Time between readings while nothing is done. The first comes after the usual time: what the last job took is over then.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);

/// Time between two looks at the disk: every mount is asked.
const DISK_INTERVAL: Duration = Duration::from_secs(10);

/// While nothing is done, a reading is told if use of the processor changed by so many percent, or memory by one part in so
/// many: less is not seen.
const TOLD_PERCENT: f64 = 10.0;
const TOLD_PART: u64 = 16;

/// Without a sign of life for this long, and for so many times the median step, a run is stalled.
const PATIENCE: Duration = Duration::from_mins(1);
const PATIENT_STEPS: f64 = 20.0;

/// The same before the first step is done, which may have much to prepare.
const FIRST_PATIENCE: Duration = Duration::from_mins(10);

/// Where the monitor itself rested for longer, the whole program was held: nothing stalled.
const HELD: Duration = Duration::from_secs(10);

/// Where the current run stands, so that readings of the machine can be put on its time axis.
#[derive(Default)]
pub(crate) struct Position {
    now: Mutex<Option<At>>,
    life: Mutex<Life>,
}

/// The signs of life of the current run.
#[derive(Default)]
struct Life {
    /// The last one; none where nobody watches.
    sign: Option<Instant>,
    activity: Activity,
    /// Seconds of the newest steps.
    steps: Window,
    is_resting: bool,
    /// It was told that the run is stalled.
    is_told: bool,
}

impl Life {
    /// Time without a sign of life, where that is too long.
    fn stalled(&self, now: Instant) -> Option<Duration> {
        let silent = now.saturating_duration_since(self.sign?);
        let typical = self.steps.median();
        let patience = if typical.is_nan() {
            FIRST_PATIENCE
        } else {
            PATIENCE.max(Duration::try_from_secs_f64(PATIENT_STEPS * typical).unwrap_or(FIRST_PATIENCE))
        };
        (!self.is_resting && silent > patience).then_some(silent)
    }
}

#[derive(Clone)]
struct At {
    run: RunId,
    device: DeviceChoice,
    step: u64,
    wall_ms: u64,
    tokens: u64,
}

impl Position {
    /// The run stands there. Only for a run whose attempt has begun: what is logged belongs to the newest one.
    pub(crate) fn set(&self, run: &RunId, device: DeviceChoice, step: u64, wall_ms: u64, tokens: u64) {
        let at = At { run: run.clone(), device, step, wall_ms, tokens };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    pub(crate) fn clear(&self) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.life() = Life::default();
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins, whose signs of life are watched or not.
    pub(crate) fn watch(&self, is_watched: bool) {
        *self.life() = Life { sign: is_watched.then(Instant::now), ..Life::default() };
    }

    /// The run goes on with this.
    pub(crate) fn busy_with(&self, activity: Activity) {
        self.life().activity = activity;
        self.beat();
    }

    /// The run shows that it goes on.
    pub(crate) fn beat(&self) {
        let mut life = self.life();
        life.sign = life.sign.map(|_| Instant::now());
    }

    /// A step was done.
    pub(crate) fn stepped(&self, secs: f64) {
        self.life().steps.add(secs);
        self.beat();
    }

    /// The run is paused, or goes on.
    pub(crate) fn rest(&self, is_resting: bool) {
        self.life().is_resting = is_resting;
        self.beat();
    }

    /// Whether it was told that the run is stalled, since the last question.
    pub(crate) fn take_told(&self) -> bool {
        std::mem::take(&mut self.life().is_told)
    }

    /// That the run is stalled, once.
    fn newly_stalled(&self, now: Instant) -> Option<(RunId, u64, Health)> {
        let at = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let mut life = self.life();
        let silent = life.stalled(now)?;
        if std::mem::replace(&mut life.is_told, true) {
            return None;
        }
        let health = Health::Stalled { after_step: at.step, secs: silent.as_secs_f64(), during: life.activity };
        Some((at.run, at.step, health))
    }
}

/// Reads the load of the machine and its GPUs at an interval, for the window and for the current run's curves.
pub(crate) struct Monitor {
    position: Arc<Position>,
    requests: Arc<Requests>,
    thread: Option<JoinHandle<()>>,
}

/// What the scheduler wants of the monitor.
#[derive(Default)]
struct Requests {
    is_ending: AtomicBool,
    is_busy: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Requests {
    fn set(&self, request: &AtomicBool, value: bool) {
        // Under the lock, so that a monitor that is about to wait hears of it.
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if request.swap(value, Ordering::AcqRel) != value {
            self.changed.notify_all();
        }
    }

    /// Waits for the next reading, or until the requests are others than those that the pause was meant for.
    fn wait(&self, pause: Duration, was_busy: bool) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |(): &mut ()| !self.is_ending.load(Ordering::Acquire) && self.is_busy.load(Ordering::Acquire) == was_busy;
        drop(self.changed.wait_timeout_while(guard, pause, same));
    }
}

impl Monitor {
    /// Starts the thread; `reader` is made on it, since a driver can take its time. `folder` is on the disk that holds the store.
    pub(crate) fn start(
        outbox: Outbox,
        writer: StoreWriter,
        folder: PathBuf,
        interval: Duration,
        reader: impl FnOnce() -> Box<dyn GpuReader> + Send + 'static,
    ) -> Result<Self, std::io::Error> {
        let position = Arc::new(Position::default());
        let requests = Arc::new(Requests::default());
        let thread = std::thread::Builder::new().name("headroom-monitor".to_owned()).spawn({
            let position = Arc::clone(&position);
            let requests = Arc::clone(&requests);
            move || watch(&outbox, &writer, &folder, interval, reader, &position, &requests)
        })?;
        Ok(Self { position, requests, thread: Some(thread) })
    }

    pub(crate) fn position(&self) -> Arc<Position> {
        Arc::clone(&self.position)
    }

    /// Whether a job is done: then the machine is read at the usual interval and every reading is told, else seldom, and
    /// only what changed.
    pub(crate) fn set_busy(&self, is_busy: bool) {
        self.requests.set(&self.requests.is_busy, is_busy);
    }

    pub(crate) fn end(&mut self) {
        self.requests.set(&self.requests.is_ending, true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(
    outbox: &Outbox,
    writer: &StoreWriter,
    folder: &Path,
    interval: Duration,
    reader: impl FnOnce() -> Box<dyn GpuReader>,
    position: &Position,
    requests: &Requests,
) {
    let Ok(mut system) = System::new() else { return };
    let Ok(pid) = sysinfo::get_current_pid() else { return };
    let mut reader = reader();
    let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
    let mut next = Instant::now();
    let mut told: Option<Told> = None;
    let mut idle_readings = 0_u32;
    let mut disk: Option<(Instant, Option<u64>)> = None;
    while !requests.is_ending.load(Ordering::Acquire) {
        let is_busy = requests.is_busy.load(Ordering::Acquire);
        idle_readings = if is_busy { 0 } else { idle_readings.saturating_add(1) };
        let now = Instant::now();
        if now.saturating_duration_since(next) > HELD {
            position.beat();
            next = now;
        }
        if let Some((run, step, health)) = position.newly_stalled(now) {
            writer.set_facts(&run, RunFacts { health: Some(health), ..RunFacts::default() });
            outbox.send(events::Health::new(&run, step, health));
        }
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, what);
        system.refresh_memory();
        if let Some(process) = system.process(pid) {
            let cpu_percent = f64::from(process.cpu_usage());
            let memory_bytes = process.memory();
            let gpus = reader.read();
            let at = position.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(at) = at {
                let device = at.device.to_string();
                let gpu = gpus.iter().find(|gpu| gpu.device == device);
                for (series, value) in [
                    (series_names::SYSTEM_CPU_PERCENT, Some(cpu_percent)),
                    (series_names::SYSTEM_MEMORY_BYTES, Some(memory_bytes as f64)),
                    (series_names::SYSTEM_GPU_PERCENT, gpu.and_then(|gpu| gpu.percent)),
                    (series_names::SYSTEM_GPU_MEMORY_BYTES, gpu.map(|gpu| gpu.memory_bytes as f64)),
                ] {
                    if let Some(value) = value {
                        writer.log(&at.run, series, at.step, value, at.wall_ms, at.tokens);
                    }
                }
            }
            let free_bytes = system.available_memory();
            if disk.is_none_or(|(at, _)| at.elapsed() >= DISK_INTERVAL) {
                disk = Some((Instant::now(), crate::checkpoint::free_bytes(folder)));
            }
            let disk_free_bytes = disk.and_then(|(_, free)| free);
            let reading = Told { cpu_percent, memory_bytes, free_bytes, disk_free_bytes };
            if is_busy || told.is_none_or(|told| told.differs_from(reading)) {
                told = Some(reading);
                outbox.send(events::System { cpu_percent, memory_bytes, free_bytes, disk_free_bytes, gpus });
            }
        }
        next += if idle_readings > 1 { IDLE_INTERVAL.max(interval) } else { interval };
        requests.wait(next.saturating_duration_since(Instant::now()), is_busy);
        if requests.is_busy.load(Ordering::Acquire) != is_busy {
            next = Instant::now();
        }
    }
}

/// What was told last.
#[derive(Clone, Copy)]
struct Told {
    cpu_percent: f64,
    memory_bytes: u64,
    free_bytes: u64,
    disk_free_bytes: Option<u64>,
}

impl Told {
    /// Whether somebody who looks would see the difference.
    fn differs_from(self, now: Self) -> bool {
        let is_other = |a: u64, b: u64| a.abs_diff(b) > a / TOLD_PART;
        (self.cpu_percent - now.cpu_percent).abs() > TOLD_PERCENT
            || is_other(self.memory_bytes, now.memory_bytes)
            || is_other(self.free_bytes, now.free_bytes)
            || self.disk_free_bytes.zip(now.disk_free_bytes).is_some_and(|(was, is)| is_other(was, is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::GpuReading,
        protocol::Event,
        store::{NewRun, OpenMode, Store},
    };

    /// Two GPUs, the second of which says nothing of its use.
    struct MadeUp;

    impl GpuReader for MadeUp {
        fn read(&mut self) -> Vec<GpuReading> {
            let gpu = |device: &str, gibibytes: u64, percent| GpuReading {
                device: device.to_owned(),
                memory_bytes: gibibytes << 30,
                total_bytes: Some(80 << 30),
                percent,
            };
            vec![gpu("cuda:0", 1, Some(10.0)), gpu("cuda:1", 2, Some(95.0)), gpu("metal", 3, None)]
        }
    }

    /// The readings of a run on `device` as series, and what the event said.
    fn readings(device: DeviceChoice) -> (Vec<f64>, Vec<f64>, Vec<GpuReading>) {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
        let run = store.create_run(NewRun { name: "run".to_owned(), ..NewRun::default() }).unwrap().summary.id;
        store.begin_attempt(&run, 1).unwrap();
        let writer = store.writer().unwrap();
        let outbox = Outbox::new(None);
        let (go, wait) = crossbeam_channel::bounded::<()>(1);
        let mut monitor =
            Monitor::start(outbox.clone(), writer.clone(), folder.path().to_owned(), INTERVAL, move || {
                let _ = wait.recv();
                Box::new(MadeUp)
            })
            .unwrap();
        monitor.position().set(&run, device, 7, 1000, 64);
        go.send(()).unwrap();
        let told = outbox.wait(Duration::from_mins(1)).map(|notice| notice.event);
        let Some(Event::System(events::System { gpus, disk_free_bytes, .. })) = told else { panic!("{told:?}") };
        assert!(disk_free_bytes.is_some(), "the disk that holds the store");
        monitor.end();
        writer.flush().unwrap();
        let series = |name: &str| {
            let data = store.series(&run, name, None).unwrap();
            assert!(data.steps.iter().all(|step| *step == 7));
            data.values
        };
        (series(series_names::SYSTEM_GPU_MEMORY_BYTES), series(series_names::SYSTEM_GPU_PERCENT), gpus)
    }

    #[test]
    fn a_run_without_a_sign_of_life_is_stalled_once() {
        let position = Position::default();
        let run = RunId::new();
        let start = Instant::now();
        let after = |secs: u64| start + Duration::from_secs(secs);
        position.set(&run, DeviceChoice::Cpu, 7, 1000, 64);
        assert!(position.newly_stalled(after(100_000)).is_none(), "nobody watches");
        position.watch(true);
        assert!(position.newly_stalled(after(590)).is_none(), "the first step takes its time");
        for _ in 0..9 {
            position.stepped(0.5);
        }
        position.busy_with(Activity::Evaluation);
        assert!(position.newly_stalled(after(55)).is_none());
        position.rest(true);
        assert!(position.newly_stalled(after(70)).is_none(), "it is paused");
        position.rest(false);
        let (told, step, health) = position.newly_stalled(after(70)).unwrap();
        assert_eq!((told, step), (run.clone(), 7));
        let Health::Stalled { after_step: 7, during: Activity::Evaluation, secs } = health else {
            panic!("{health:?}")
        };
        assert!((60.0..=70.0).contains(&secs), "{secs}");
        assert!(position.newly_stalled(after(80)).is_none(), "once");
        assert!(position.take_told() && !position.take_told());
        // Slow steps are given twenty times their time.
        position.watch(true);
        position.stepped(10.0);
        assert!(position.newly_stalled(after(190)).is_none() && position.newly_stalled(after(210)).is_some());
        position.clear();
        assert!(position.newly_stalled(after(100_000)).is_none());
    }

    #[test]
    fn that_a_run_is_stalled_is_told_and_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
        let run = store.create_run(NewRun { name: "run".to_owned(), ..NewRun::default() }).unwrap().summary.id;
        store.begin_attempt(&run, 1).unwrap();
        let (outbox, writer) = (Outbox::new(None), store.writer().unwrap());
        let none = || Box::new(Vec::<Box<dyn GpuReader>>::new()) as Box<dyn GpuReader>;
        let mut monitor =
            Monitor::start(outbox.clone(), writer.clone(), folder.path().to_owned(), Duration::from_millis(10), none)
                .unwrap();
        let position = monitor.position();
        position.set(&run, DeviceChoice::Cpu, 7, 1000, 64);
        position.watch(true);
        position.stepped(0.01);
        position.life().sign = Instant::now().checked_sub(Duration::from_secs(61));
        monitor.set_busy(true);
        let told = std::iter::from_fn(|| outbox.wait(Duration::from_mins(1))).find_map(|notice| {
            if let Event::Health(events::Health { step, health, message, .. }) = notice.event {
                Some((step, health, message))
            } else {
                None
            }
        });
        let (step, health, message) = told.unwrap();
        assert!(
            step == 7 && message.contains("After step 7, the step has shown no progress for 61 seconds"),
            "{message}"
        );
        monitor.end();
        writer.flush().unwrap();
        assert_eq!(store.run(run.as_str()).unwrap().summary.health, Some(health));
        assert_eq!(store.run(run.as_str()).unwrap().summary.state_words(), "running, stalled");
    }

    #[test]
    fn a_monitor_with_nothing_to_watch_is_silent_until_there_is() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
        let outbox = Outbox::new(None);
        let none = || Box::new(Vec::<Box<dyn GpuReader>>::new()) as Box<dyn GpuReader>;
        let often = Duration::from_millis(10);
        let mut monitor =
            Monitor::start(outbox.clone(), store.writer().unwrap(), folder.path().to_owned(), often, none).unwrap();
        let next = || outbox.wait(Duration::from_mins(1)).map(|notice| notice.event);
        assert!(matches!(next(), Some(Event::System(_))), "how things are");
        std::thread::sleep(Duration::from_millis(300));
        let told = std::iter::from_fn(|| outbox.take()).count();
        assert!(told <= 2, "{told} readings of nothing");
        monitor.set_busy(true);
        for _ in 0..5 {
            assert!(matches!(next(), Some(Event::System(_))));
        }
        monitor.set_busy(false);
        std::thread::sleep(Duration::from_millis(200));
        let _ = std::iter::from_fn(|| outbox.take()).count();
        std::thread::sleep(Duration::from_millis(300));
        let told = std::iter::from_fn(|| outbox.take()).count();
        assert!(told <= 1, "{told} readings of nothing");
        monitor.end();
    }

    #[test]
    fn the_gpu_of_the_run_is_logged_and_all_are_told() {
        let (memory, percent, told) = readings(DeviceChoice::Cuda(1));
        assert_eq!((memory, percent), (vec![(2_u64 << 30) as f64], vec![95.0]));
        assert_eq!(told, MadeUp.read());
        let (memory, percent, _) = readings(DeviceChoice::Metal(0));
        assert_eq!((memory.len(), percent.len()), (1, 0), "what is not known is not logged");
        let (memory, percent, told) = readings(DeviceChoice::Cpu);
        assert_eq!((memory.len(), percent.len(), told.len()), (0, 0, 3));
    }
}
