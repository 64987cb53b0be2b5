//! What was found out about attention: while runs trained, kept as snapshots, and on demand.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::clock::now_ms;
use super::fault::Fault;
use super::fields::Fields;
use super::{AnalysisId, AnalysisSummary, RunId, Store, StoreError, snapshot_kinds};
use crate::analysis::{Analysis, AnalysisSpec};

macro_rules! columns {
    () => {
        "number, id, run, target, step, text, examples, tokens, created_ms, \
         CASE WHEN json_valid(spec) THEN json_extract(spec, '$.shuffled') END AS shuffled, \
         CASE WHEN json_valid(spec) THEN json_extract(spec, '$.reconstruction') IS NOT NULL ELSE 0 END AS reconstructs"
    };
}

impl Store {
    /// The steps at which a run's attention was looked at while it trained.
    pub fn live_analyses(&self, run: &RunId) -> Result<Vec<u64>, StoreError> {
        let records = self.snapshots(run, Some(snapshot_kinds::ANALYSIS_FACTS))?;
        Ok(records.iter().map(|record| record.step).collect())
    }

    /// What a look at a run's attention at that step found.
    pub fn live_analysis(&self, run: &RunId, step: u64) -> Result<Analysis, StoreError> {
        let part = |kind: &str| {
            let records = self.snapshots(run, Some(kind))?;
            let record = records.iter().find(|record| record.step == step);
            let record = record.ok_or_else(|| StoreError::NoSuchAnalysis {
                query: format!("step {step} of the run {run}"),
                newest: Vec::new(),
            })?;
            self.snapshot(record.id)
        };
        let facts = part(snapshot_kinds::ANALYSIS_FACTS)?;
        let values = part(snapshot_kinds::ANALYSIS_VALUES)?;
        let unreadable = |reason: String| StoreError::AnalysisUnreadable { id: format!("step {step}"), reason };
        let values = values.to_f32().ok_or_else(|| unreadable("its numbers are of another type".to_owned()))?;
        Analysis::unpack(&String::from_utf8_lossy(&facts.data), &values).map_err(unreadable)
    }

    /// Keeps what was found out on demand. The id must be new; `run`: whose checkpoint was looked at, if a run's.
    pub fn record_analysis(
        &self,
        id: &AnalysisId,
        run: Option<&RunId>,
        spec: &AnalysisSpec,
        analysis: &Analysis,
    ) -> Result<(), StoreError> {
        let unreadable =
            |error: serde_json::Error| StoreError::AnalysisUnreadable { id: id.to_string(), reason: error.to_string() };
        let packed = analysis.pack().map_err(unreadable)?;
        let spec = serde_json::to_string(spec).map_err(unreadable)?;
        let values: Vec<u8> = packed.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let (id, run) = (id.clone(), run.cloned());
        let (target, data) = (analysis.target.clone(), analysis.data.clone());
        let (step, examples, tokens) = (analysis.step, analysis.examples, analysis.tokens);
        self.change(async move |connection| {
            sqlx::query(
                "INSERT INTO analyses (id, run, target, step, text, examples, tokens, created_ms, spec, facts, data)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(id.as_str())
            .bind(run.as_ref().map(RunId::as_str))
            .bind(target)
            .bind(step.map(|step| step as i64))
            .bind(data)
            .bind(examples as i64)
            .bind(tokens as i64)
            .bind(now_ms())
            .bind(spec)
            .bind(packed.facts)
            .bind(values)
            .execute(connection)
            .await?;
            Ok(())
        })
    }

    /// Everything that was found out on demand, newest first, deleted ones left out.
    pub fn analyses(&self) -> Result<Vec<AnalysisSummary>, StoreError> {
        let question = concat!("SELECT ", columns!(), " FROM analyses WHERE deleted_ms IS NULL ORDER BY number DESC");
        self.readable("analyses", question, summary)
    }

    /// Those that were deleted and can still be brought back, newest first.
    pub fn deleted_analyses(&self) -> Result<Vec<AnalysisSummary>, StoreError> {
        let question =
            concat!("SELECT ", columns!(), " FROM analyses WHERE deleted_ms IS NOT NULL ORDER BY number DESC");
        self.readable("analyses", question, summary)
    }

    /// One of them.
    pub fn analysis(&self, id: &AnalysisId) -> Result<Analysis, StoreError> {
        self.read(async |connection| {
            let row = sqlx::query("SELECT facts, data FROM analyses WHERE id = ?")
                .bind(id.as_str())
                .fetch_optional(connection)
                .await?;
            let missing = || Fault::Store(StoreError::NoSuchAnalysis { query: id.to_string(), newest: Vec::new() });
            let row = row.ok_or_else(missing)?;
            let unreadable = |reason| Fault::Store(StoreError::AnalysisUnreadable { id: id.to_string(), reason });
            let mut fields = Fields::new(&row);
            let read = (fields.text(0), fields.optional_bytes(1).unwrap_or_default());
            let (facts, data) = fields.finish(read).map_err(|problems| unreadable(problems.join("; ")))?;
            let (words, _) = data.as_chunks::<4>();
            let values: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
            Analysis::unpack(&facts, &values).map_err(unreadable)
        })
    }

    /// Deletes what was found out so that it can be brought back, or brings it back.
    pub fn set_analysis_deleted(&self, id: &AnalysisId, deleted: bool) -> Result<(), StoreError> {
        self.set_deleted("UPDATE analyses SET deleted_ms = ?2 WHERE id = ?1", id.as_str(), deleted)
    }
}

/// What a row says; none where it cannot be read.
fn summary(row: &SqliteRow) -> Option<AnalysisSummary> {
    let mut fields = Fields::new(row);
    let (id, run) = (fields.id(1), fields.optional_id(2));
    let summary = AnalysisSummary {
        number: fields.count(0),
        run,
        target: fields.text(3),
        step: fields.optional_count(4),
        data: fields.text(5),
        examples: fields.count(6),
        tokens: fields.count(7),
        created_ms: fields.time(8),
        // The spec of another version may hold anything.
        shuffled: row.try_get::<Option<i64>, _>(9).ok().flatten().map(|shuffled| shuffled != 0),
        reconstructs: fields.flag(10),
        id: id?,
    };
    fields.finish(summary).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{CapturedVariance, LayerEnergies, Measure, ReconstructionSpec, Similarity};
    use crate::{NewRun, NewSnapshot, OpenMode};

    fn example() -> Analysis {
        let mean = vec![1.0, 0.5, 0.5, 1.0];
        let similarity =
            Similarity { measure: Measure::Cosine, layers: 2, heads: 1, examples: 3, mean, origins: Vec::new() };
        let layer = LayerEnergies { heads: vec![0], query: vec![vec![0.25, 1.0]], ..LayerEnergies::default() };
        Analysis {
            target: "a run".to_owned(),
            step: Some(7),
            similarity: vec![similarity],
            captured: Some(CapturedVariance { layers: vec![layer] }),
            notes: vec!["a note".to_owned()],
            ..Analysis::default()
        }
    }

    #[test]
    fn looks_of_a_run_are_kept_from_before_its_first_step_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
        let run = store.create_run(NewRun { name: "a".to_owned(), ..NewRun::default() }).unwrap().summary.id;
        store.begin_attempt(&run, 1).unwrap();
        for step in [0, 7] {
            for snapshot in NewSnapshot::analysis(step, example().pack().unwrap()) {
                store.record_snapshot(&run, snapshot).unwrap();
            }
        }
        assert_eq!(store.live_analyses(&run).unwrap(), [0, 7]);
        assert_eq!(store.live_analysis(&run, 7).unwrap(), example());
        assert!(matches!(store.live_analysis(&run, 3), Err(StoreError::NoSuchAnalysis { .. })));
    }

    #[test]
    fn what_was_found_on_demand_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headroom.db");
        let (id, run) = (AnalysisId::new(), RunId::new());
        {
            let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
            let spec = AnalysisSpec { shuffled: Some(true), ..AnalysisSpec::default() };
            store.record_analysis(&id, Some(&run), &spec, &example()).unwrap();
        }
        let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
        let [summary] = &store.analyses().unwrap()[..] else { panic!("one") };
        assert_eq!((&summary.id, &summary.run, summary.step), (&id, &Some(run), Some(7)));
        assert!(!summary.reconstructs);
        assert_eq!(summary.shuffled, Some(true));
        assert_eq!(store.analysis(&id).unwrap(), example());
        let reconstruction = Some(ReconstructionSpec::default());
        let spec = AnalysisSpec { reconstruction, ..AnalysisSpec::default() };
        let other = "0000000the".parse::<AnalysisId>().unwrap();
        store.record_analysis(&other, None, &spec, &example()).unwrap();
        assert!(store.analyses().unwrap().iter().any(|found| found.reconstructs && found.id == other));
        store.set_analysis_deleted(&other, true).unwrap();
        store.set_analysis_deleted(&id, true).unwrap();
        assert!(store.analyses().unwrap().is_empty());
        assert!(matches!(store.analysis(&AnalysisId::new()), Err(StoreError::NoSuchAnalysis { .. })));
    }
}
