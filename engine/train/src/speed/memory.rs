/// The most memory of this process that was in use at one time since it started, or since [`reset_peak_memory`] where
/// the system can forget it; none where nobody tells.
pub fn peak_memory_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kibibytes * 1024)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let mut system = sysinfo::System::new().ok()?;
        let pid = sysinfo::get_current_pid().ok()?;
        let what = sysinfo::ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(sysinfo::ProcessesToUpdate::Some(&[pid]), true, what);
        system.process(pid).map(sysinfo::Process::memory)
    }
}

/// Memory of this process that is in use now; none where nobody tells.
pub fn resident_memory_bytes() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    let pid = sysinfo::get_current_pid().ok()?;
    let what = sysinfo::ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(sysinfo::ProcessesToUpdate::Some(&[pid]), true, what);
    system.process(pid).map(sysinfo::Process::memory)
}

/// Makes [`peak_memory_bytes`] start anew; true where the system can do that (Linux).
pub fn reset_peak_memory() -> bool {
    #[cfg(target_os = "linux")]
    {
        std::fs::write("/proc/self/clear_refs", "5").is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_rises_with_what_is_held() {
        let held = vec![1_u8; 64 << 20];
        let during = peak_memory_bytes().unwrap();
        // Another test may make it start anew: then from what is held.
        assert!(during >= held.len() as u64, "{during}");
    }
}
