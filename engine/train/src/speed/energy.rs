//! Energy of the processor, as Linux tells it.

use std::path::{Path, PathBuf};

/// Where Linux keeps its meters of power.
const POWER_METERS: &str = "/sys/class/powercap";

/// Counts the energy that the processors of this machine use (RAPL): all of their packages, whoever makes them work.
#[derive(Debug, Default)]
pub struct CpuEnergy {
    packages: Vec<Package>,
}

/// One processor's counter.
#[derive(Debug)]
struct Package {
    counter: PathBuf,
    /// Microjoules at which it begins anew.
    range: u64,
    /// What it said last.
    last: u64,
    /// Microjoules since it was found.
    used: u64,
}

impl CpuEnergy {
    /// Finds the meters that this program may read; none on other systems, in most virtual machines, and where only the
    /// administrator may read them.
    pub fn new() -> Self {
        Self::among(Path::new(POWER_METERS))
    }

    fn among(folder: &Path) -> Self {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut packages: Vec<Package> = entries.filter_map(|entry| Package::open(&entry.path())).collect();
        packages.sort_by(|one, other| one.counter.cmp(&other.counter));
        Self { packages }
    }

    /// Energy since the meters were found, in joules; none where there are none or one does not answer. Ask at least once
    /// a minute while it counts, since the counters begin anew after some minutes of work.
    pub fn joules(&mut self) -> Option<f64> {
        if self.packages.is_empty() {
            return None;
        }
        let mut microjoules = 0;
        for package in &mut self.packages {
            microjoules += package.read()?;
        }
        Some(microjoules as f64 / 1e6)
    }
}

impl Package {
    /// A whole package (`intel-rapl:0`), not a part of one (`intel-rapl:0:1`), nor the same again (`intel-rapl-mmio:0`).
    fn open(folder: &Path) -> Option<Self> {
        let name = folder.file_name()?.to_str()?;
        name.strip_prefix("intel-rapl:")?.parse::<u32>().ok()?;
        if !std::fs::read_to_string(folder.join("name")).ok()?.starts_with("package") {
            return None;
        }
        let counter = folder.join("energy_uj");
        let last = number(&counter)?;
        let range = number(&folder.join("max_energy_range_uj")).unwrap_or(u64::MAX);
        Some(Self { counter, range, last, used: 0 })
    }

    fn read(&mut self) -> Option<u64> {
        let now = number(&self.counter)?;
        self.used += if now >= self.last { now - self.last } else { self.range.saturating_sub(self.last) + now };
        self.last = now;
        Some(self.used)
    }
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(folder: &Path, name: &str, kind: &str, microjoules: u64) {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("name"), format!("{kind}\n")).unwrap();
        std::fs::write(folder.join("energy_uj"), format!("{microjoules}\n")).unwrap();
        std::fs::write(folder.join("max_energy_range_uj"), "10000000\n").unwrap();
    }

    #[test]
    fn packages_are_summed_parts_left_out_and_a_counter_may_begin_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        meter(path, "intel-rapl:0", "package-0", 9_000_000);
        meter(path, "intel-rapl:1", "package-1", 100);
        meter(path, "intel-rapl:0:0", "core", 5);
        meter(path, "intel-rapl:2", "psys", 5);
        meter(path, "intel-rapl-mmio:0", "package-0", 5);
        let mut energy = CpuEnergy::among(path);
        assert_eq!(energy.joules(), Some(0.0));
        meter(path, "intel-rapl:0", "package-0", 9_500_000);
        meter(path, "intel-rapl:1", "package-1", 1_000_100);
        assert_eq!(energy.joules(), Some(1.5));
        meter(path, "intel-rapl:0", "package-0", 250_000);
        assert_eq!(energy.joules(), Some(2.25), "it began anew at its range");
        std::fs::remove_file(path.join("intel-rapl:1/energy_uj")).unwrap();
        assert_eq!(energy.joules(), None);
    }

    #[test]
    fn without_meters_nothing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(CpuEnergy::among(folder.path()).joules(), None);
        assert_eq!(CpuEnergy::among(&folder.path().join("nowhere")).joules(), None);
    }
}
