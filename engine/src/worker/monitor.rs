use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

use super::{Event, outbox::Outbox};
use crate::store::{RunId, StoreWriter, series_names};

/// Time between readings.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where the current run stands, so that readings of the machine can be put on its time axis.
#[derive(Default)]
pub(super) struct Position {
    now: Mutex<Option<At>>,
}

#[derive(Clone)]
struct At {
    run: RunId,
    step: u64,
    wall_ms: u64,
    tokens: u64,
}

impl Position {
    pub(super) fn set(&self, run: &RunId, step: u64, wall_ms: u64, tokens: u64) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(At { run: run.clone(), step, wall_ms, tokens });
    }

    pub(super) fn clear(&self) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Reads the machine's load once a second, for the window and for the current run's curves.
pub(super) struct Monitor {
    position: Arc<Position>,
    ending: Arc<(AtomicBool, Mutex<()>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    pub(super) fn start(outbox: Outbox, writer: StoreWriter) -> Result<Self, std::io::Error> {
        let position = Arc::new(Position::default());
        let ending = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let thread = std::thread::Builder::new().name("headroom-monitor".to_owned()).spawn({
            let position = Arc::clone(&position);
            let ending = Arc::clone(&ending);
            move || watch(&outbox, &writer, &position, &ending)
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

fn watch(outbox: &Outbox, writer: &StoreWriter, position: &Position, ending: &(AtomicBool, Mutex<()>, Condvar)) {
    let Ok(mut system) = System::new() else { return };
    let Ok(pid) = sysinfo::get_current_pid() else { return };
    let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
    let mut next = Instant::now();
    while !ending.0.load(Ordering::Acquire) {
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, what);
        system.refresh_memory();
        if let Some(process) = system.process(pid) {
            let cpu_percent = f64::from(process.cpu_usage());
            let memory_bytes = process.memory();
            outbox.send(Event::System { cpu_percent, memory_bytes, free_bytes: system.available_memory() });
            let at = position.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(at) = at {
                for (series, value) in [
                    (series_names::SYSTEM_CPU_PERCENT, cpu_percent),
                    (series_names::SYSTEM_MEMORY_BYTES, memory_bytes as f64),
                ] {
                    writer.log(&at.run, series, at.step, value, at.wall_ms, at.tokens);
                }
            }
        }
        next += INTERVAL;
        let pause = next.saturating_duration_since(Instant::now());
        let guard = ending.1.lock().unwrap_or_else(PoisonError::into_inner);
        if !ending.0.load(Ordering::Acquire) {
            drop(ending.2.wait_timeout(guard, pause));
        }
    }
}
