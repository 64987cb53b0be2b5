use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

use super::{Event, gpu::GpuReader, outbox::Outbox};
use crate::{
    config::DeviceChoice,
    store::{RunId, StoreWriter, series_names},
};

/// Usual time between readings.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// Where the current run stands, so that readings of the machine can be put on its time axis.
#[derive(Default)]
pub(super) struct Position {
    now: Mutex<Option<At>>,
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
    pub(super) fn set(&self, run: &RunId, device: DeviceChoice, step: u64, wall_ms: u64, tokens: u64) {
        let at = At { run: run.clone(), device, step, wall_ms, tokens };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    pub(super) fn clear(&self) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Reads the load of the machine and its GPUs at an interval, for the window and for the current run's curves.
pub(super) struct Monitor {
    position: Arc<Position>,
    ending: Arc<(AtomicBool, Mutex<()>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts the thread; `reader` is made on it, since a driver can take its time.
    pub(super) fn start(
        outbox: Outbox,
        writer: StoreWriter,
        interval: Duration,
        reader: impl FnOnce() -> Box<dyn GpuReader> + Send + 'static,
    ) -> Result<Self, std::io::Error> {
        let position = Arc::new(Position::default());
        let ending = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let thread = std::thread::Builder::new().name("headroom-monitor".to_owned()).spawn({
            let position = Arc::clone(&position);
            let ending = Arc::clone(&ending);
            move || watch(&outbox, &writer, interval, reader, &position, &ending)
        })?;
        Ok(Self { position, ending, thread: Some(thread) })
    }

    pub(super) fn position(&self) -> Arc<Position> {
        Arc::clone(&self.position)
    }

    pub(super) fn end(&mut self) {
        self.ending.0.store(true, Ordering::Release);
        self.ending.2.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(
    outbox: &Outbox,
    writer: &StoreWriter,
    interval: Duration,
    reader: impl FnOnce() -> Box<dyn GpuReader>,
    position: &Position,
    ending: &(AtomicBool, Mutex<()>, Condvar),
) {
    let Ok(mut system) = System::new() else { return };
    let Ok(pid) = sysinfo::get_current_pid() else { return };
    let mut reader = reader();
    let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
    let mut next = Instant::now();
    while !ending.0.load(Ordering::Acquire) {
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
            outbox.send(Event::System { cpu_percent, memory_bytes, free_bytes: system.available_memory(), gpus });
        }
        next += interval;
        let pause = next.saturating_duration_since(Instant::now());
        let guard = ending.1.lock().unwrap_or_else(PoisonError::into_inner);
        if !ending.0.load(Ordering::Acquire) {
            drop(ending.2.wait_timeout(guard, pause));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::{NewRun, OpenMode, Store},
        worker::GpuReading,
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
        let mut monitor = Monitor::start(outbox.clone(), writer.clone(), INTERVAL, move || {
            let _ = wait.recv();
            Box::new(MadeUp)
        })
        .unwrap();
        monitor.position().set(&run, device, 7, 1000, 64);
        go.send(()).unwrap();
        let told = outbox.wait(Duration::from_mins(1));
        let Some(Event::System { gpus, .. }) = told else { panic!("{told:?}") };
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
