//! Benchmarks: written as they are measured, so that nothing is lost when a program dies.

use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::clock::now_ms;
use super::fault::Fault;
use super::fields::Fields;
use super::find::numbered;
use super::{BenchmarkId, BenchmarkRecord, BenchmarkSummary, Machine, MeasuredDevice, Store, StoreError};
use crate::speed::{SweepResult, SweepSpec};

macro_rules! columns {
    () => {
        "number, id, name, created_ms, ended_ms, program_version, git_commit, git_dirty, machine_cpu, machine_cores,
         machine_os, device, device_name, driver, threads, precision, points, points_total"
    };
}

impl Store {
    /// Puts a benchmark in the store, with nothing measured yet. The id must be new.
    pub fn create_benchmark(
        &self,
        id: &BenchmarkId,
        name: &str,
        spec: &SweepSpec,
        device: MeasuredDevice,
    ) -> Result<(), StoreError> {
        let (id, name, spec) = (id.clone(), name.to_owned(), spec.clone());
        let machine = Machine::current();
        self.change(async move |connection| {
            sqlx::query(
                "INSERT INTO benchmarks (id, name, created_ms, program_version, git_commit, git_dirty, machine_cpu,
                 machine_cores, machine_os, device, device_name, driver, threads, precision, points_total, spec,
                 results) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(id.as_str())
            .bind(name)
            .bind(now_ms())
            .bind(env!("CARGO_PKG_VERSION"))
            .bind(crate::GIT_COMMIT)
            .bind(crate::GIT_DIRTY)
            .bind(machine.cpu)
            .bind(machine.cores)
            .bind(machine.os)
            .bind(spec.base.device.to_string())
            .bind(device.name)
            .bind(device.driver)
            .bind(spec.base.threads_used() as u32)
            .bind(spec.base.precision.name())
            .bind(spec.point_count() as i64)
            .bind(serde_json::to_string(&spec).unwrap_or_default())
            .bind(serde_json::to_string(&SweepResult::default()).unwrap_or_default())
            .execute(connection)
            .await?;
            Ok(())
        })
    }

    /// Writes down what was measured so far. `is_ended`: nothing more will come.
    pub fn update_benchmark(&self, id: &BenchmarkId, result: &SweepResult, is_ended: bool) -> Result<(), StoreError> {
        let id = id.clone();
        let points = result.points.len() as i64;
        let limits = result.limits.and_then(|limits| serde_json::to_string(&limits).ok());
        let results = serde_json::to_string(result).unwrap_or_default();
        self.change(async move |connection| {
            sqlx::query(
                "UPDATE benchmarks SET results = ?2, points = ?3, limits = ?4, ended_ms = CASE WHEN ?5 THEN ?6 END
                 WHERE id = ?1",
            )
            .bind(id.as_str())
            .bind(results)
            .bind(points)
            .bind(limits)
            .bind(is_ended)
            .bind(now_ms())
            .execute(connection)
            .await?;
            Ok(())
        })
    }

    /// Takes a benchmark of which nothing was measured out of the store.
    pub fn discard_benchmark(&self, id: &BenchmarkId) -> Result<(), StoreError> {
        let id = id.clone();
        self.change(async move |connection| {
            sqlx::query("DELETE FROM benchmarks WHERE id = ? AND points = 0")
                .bind(id.as_str())
                .execute(connection)
                .await?;
            Ok(())
        })
    }

    /// Every benchmark, newest first, deleted ones left out.
    pub fn benchmarks(&self) -> Result<Vec<BenchmarkSummary>, StoreError> {
        let question = concat!("SELECT ", columns!(), " FROM benchmarks WHERE deleted_ms IS NULL ORDER BY number DESC");
        self.readable("benchmarks", question, summary)
    }

    /// A benchmark by its id, its number as `3` or `#3`, its name (the newest of that name), or the beginning of an id that
    /// fits only one.
    pub fn benchmark(&self, query: &str) -> Result<BenchmarkRecord, StoreError> {
        let id = find(&self.benchmarks()?, query.trim())?;
        self.read(async |connection| record(connection, &id).await)
    }

    /// A deleted benchmark that can still be brought back, found in the same ways.
    pub fn deleted_benchmark(&self, query: &str) -> Result<BenchmarkSummary, StoreError> {
        let question =
            concat!("SELECT ", columns!(), " FROM benchmarks WHERE deleted_ms IS NOT NULL ORDER BY number DESC");
        let all = self.readable("benchmarks", question, summary)?;
        let id = find(&all, query.trim())?;
        let known = all.into_iter().find(|known| known.id == id);
        known.ok_or_else(|| StoreError::NoSuchBenchmark { query: query.to_owned(), newest: Vec::new() })
    }

    /// Deletes a benchmark so that it can be brought back, or brings it back.
    pub fn set_benchmark_deleted(&self, id: &BenchmarkId, deleted: bool) -> Result<(), StoreError> {
        self.set_deleted("UPDATE benchmarks SET deleted_ms = ?2 WHERE id = ?1", id.as_str(), deleted)
    }
}

async fn record(connection: &mut SqliteConnection, id: &BenchmarkId) -> Result<BenchmarkRecord, Fault> {
    let row = sqlx::query(concat!("SELECT ", columns!(), ", spec, results FROM benchmarks WHERE id = ?"))
        .bind(id.as_str())
        .fetch_one(connection)
        .await?;
    let unreadable = |what: &str, reason: String| StoreError::BenchmarkUnreadable {
        id: id.clone(),
        reason: format!("{what}: {reason}"),
    };
    let summary = summary(&row).ok_or_else(|| unreadable("its record", "it is damaged".to_owned()))?;
    let mut fields = Fields::new(&row);
    let (spec, results) = (fields.text(18), fields.text(19));
    fields.finish(()).map_err(|problems| unreadable("its record", problems.join("; ")))?;
    let told = |what: &'static str| move |error: serde_json::Error| unreadable(what, error.to_string());
    Ok(BenchmarkRecord {
        spec: serde_json::from_str(&spec).map_err(told("what was to be measured"))?,
        results: serde_json::from_str(&results).map_err(told("what was measured"))?,
        summary,
    })
}

/// What a row says; none where it cannot be read.
fn summary(row: &SqliteRow) -> Option<BenchmarkSummary> {
    let mut fields = Fields::new(row);
    let id = fields.id(1);
    let summary = BenchmarkSummary {
        number: fields.count(0),
        name: fields.text(2),
        created_ms: fields.time(3),
        ended_ms: fields.optional_time(4),
        program_version: fields.text(5),
        git_commit: fields.optional_text(6),
        git_dirty: fields.optional_whole(7).map(|dirty| dirty != 0),
        machine: Machine { cpu: fields.text(8), cores: fields.small(9), os: fields.text(10) },
        device: fields.text(11),
        device_name: fields.optional_text(12),
        driver: fields.optional_text(13),
        threads: fields.small(14),
        precision: fields.text(15),
        points: fields.count(16),
        points_total: fields.count(17),
        id: id?,
    };
    fields.finish(summary).ok()
}

/// The benchmark that `query` means; `all` is newest first.
fn find(all: &[BenchmarkSummary], query: &str) -> Result<BenchmarkId, StoreError> {
    let number = numbered(query);
    let ways: [&dyn Fn(&BenchmarkSummary) -> bool; 3] =
        [&|known| known.id.as_str() == query, &|known| known.name == query, &|known| {
            Some(known.number as i64) == number
        }];
    if let Some(known) = ways.iter().find_map(|way| all.iter().find(|known| way(known))) {
        return Ok(known.id.clone());
    }
    let lower = query.to_lowercase();
    let fitting: Vec<&BenchmarkSummary> =
        all.iter().filter(|known| !query.is_empty() && known.id.as_str().starts_with(&lower)).collect();
    match fitting.as_slice() {
        [known] => Ok(known.id.clone()),
        _ => Err(StoreError::NoSuchBenchmark {
            query: query.to_owned(),
            newest: all.iter().take(3).map(|known| format!("{} \"{}\"", known.id, known.name)).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenMode;
    use crate::speed::MachineLimits;

    #[test]
    fn what_is_measured_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headroom.db");
        let spec = SweepSpec { axes: vec!["train.batch=1,2".parse().unwrap()], ..SweepSpec::default() };
        let id = BenchmarkId::new();
        let limits = MachineLimits { product_flops_per_sec: 2e11, copy_bytes_per_sec: 1e10, threads: 2 };
        let result = SweepResult { limits: Some(limits), ..SweepResult::default() };
        {
            let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
            let device = MeasuredDevice { name: Some("a GPU".to_owned()), driver: Some("595.1".to_owned()) };
            store.create_benchmark(&id, "batches", &spec, device).unwrap();
            assert_eq!(store.benchmarks().unwrap()[0].ended_ms, None);
            store.update_benchmark(&id, &result, true).unwrap();
        }
        let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
        for query in [id.as_str(), "batches", "#1", "1", &id.as_str()[..9]] {
            let found = store.benchmark(query).unwrap();
            assert_eq!((&found.spec, &found.results), (&spec, &result), "{query}");
            assert_eq!((found.summary.points, found.summary.points_total), (0, 2));
            let words = found.summary.device_words();
            assert!(words.starts_with("cpu, a GPU, driver 595.1, ") && words.ends_with(" threads, f32"), "{words}");
            assert!(!found.summary.is_complete() && found.summary.ended_ms.is_some());
        }
        store.set_benchmark_deleted(&id, true).unwrap();
        let error = store.benchmark("batches").unwrap_err();
        assert!(matches!(error, StoreError::NoSuchBenchmark { .. }), "{error}");
        store.set_benchmark_deleted(&id, false).unwrap();
        assert_eq!(store.benchmarks().unwrap().len(), 1);
        store.set_benchmark_deleted(&id, true).unwrap();
        assert_eq!(store.purge_deleted(i64::MAX).unwrap().purged.len(), 1);
        store.set_benchmark_deleted(&id, false).unwrap();
        assert_eq!(store.benchmarks().unwrap(), []);
    }
}
