use std::time::Instant;

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Looks at what other programs make the processor do while something is measured.
pub(super) struct Others {
    system: System,
    since: Instant,
    own_ms: u64,
}

/// The processor's load is renewed so often at most: over less it is not known.
const LEAST_SECS: f64 = 0.3;

impl Others {
    /// From now on; none where the system does not tell.
    pub fn watch() -> Option<Self> {
        let mut system = System::new().ok()?;
        system.refresh_cpu_usage();
        let own_ms = own_ms(&mut system)?;
        Some(Self { system, since: Instant::now(), own_ms })
    }

    /// What other programs used since then; none where too little time went by, or the system does not tell.
    pub fn spent(mut self) -> Option<Spent> {
        let secs = self.since.elapsed().as_secs_f64();
        if secs < LEAST_SECS {
            return None;
        }
        self.system.refresh_cpu_usage();
        let busy = f64::from(self.system.global_cpu_usage()) / 100.0 * self.system.cpus().len() as f64;
        let own_secs = own_ms(&mut self.system)?.saturating_sub(self.own_ms) as f64 / 1000.0;
        let core_secs = (busy * secs - own_secs).max(0.0);
        core_secs.is_finite().then_some(Spent { core_secs, secs })
    }
}

/// Time of processor cores over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    core_secs: f64,
    secs: f64,
}

impl Spent {
    /// Both together.
    pub fn and(self, more: Self) -> Self {
        Self { core_secs: self.core_secs + more.core_secs, secs: self.secs + more.secs }
    }

    /// Cores on average.
    pub fn cores(self) -> f64 {
        self.core_secs / self.secs
    }
}

/// Processor time of this program, over all its threads, in milliseconds.
fn own_ms(system: &mut System) -> Option<u64> {
    let pid = sysinfo::get_current_pid().ok()?;
    let kind = ProcessRefreshKind::nothing().with_cpu();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
    system.process(pid).map(sysinfo::Process::accumulated_cpu_time)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::{
        process::{Command, Stdio},
        time::Duration,
    };

    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_another_program_uses_is_seen() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().unwrap();
        let others = Others::watch().unwrap();
        std::thread::sleep(Duration::from_millis(600));
        let spent = others.spent();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(spent.unwrap().cores() > 0.3, "{spent:?}");
    }

    #[test]
    fn over_a_moment_nothing_is_known() {
        assert_eq!(Others::watch().unwrap().spent(), None);
    }
}
