//! What was predicted of runs that the adviser proposed; kept and gone with these runs.

use sqlx::Row;

use super::clock::now_ms;
use super::edit::known_number;
use super::fault::Fault;
use super::{AdviceRecord, Advised, RunId, Store, StoreError};

impl Store {
    /// Keeps what was predicted of a run; once for each.
    pub fn record_advice(&self, run: &RunId, advised: &Advised) -> Result<(), StoreError> {
        let prediction = serde_json::to_string(&advised.prediction)
            .map_err(|error| StoreError::AdviceUnreadable { run: run.clone(), reason: error.to_string() })?;
        let (run, advised) = (run.clone(), advised.clone());
        self.change(async move |connection| {
            let number = known_number(connection, &run).await?;
            sqlx::query(
                "INSERT INTO advice (run, source, beside, step, words, created_ms, prediction)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(number)
            .bind(advised.source.as_str())
            .bind(advised.beside.as_ref().map(RunId::as_str))
            .bind(advised.step.map(|step| step as i64))
            .bind(advised.words)
            .bind(now_ms())
            .bind(prediction)
            .execute(connection)
            .await?;
            Ok(())
        })
    }

    /// Every advised run that is not deleted, newest first.
    pub fn advice(&self) -> Result<Vec<AdviceRecord>, StoreError> {
        self.read(async |connection| {
            let rows = sqlx::query(
                "SELECT runs.id, source, beside, step, words, advice.created_ms, prediction
                 FROM advice JOIN runs ON runs.number = advice.run WHERE runs.deleted_ms IS NULL
                 ORDER BY advice.run DESC",
            )
            .fetch_all(connection)
            .await?;
            let record = |row: &sqlx::sqlite::SqliteRow| -> Result<AdviceRecord, Fault> {
                let (run, source): (String, String) = (row.try_get(0)?, row.try_get(1)?);
                let run = RunId::from(run);
                let prediction: String = row.try_get(6)?;
                let prediction = serde_json::from_str(&prediction).map_err(|error| {
                    Fault::Store(StoreError::AdviceUnreadable { run: run.clone(), reason: error.to_string() })
                })?;
                let advised = Advised {
                    source: source.into(),
                    beside: row.try_get::<Option<String>, _>(2)?.map(RunId::from),
                    step: row.try_get::<Option<i64>, _>(3)?.map(|step| step as u64),
                    words: row.try_get(4)?,
                    prediction,
                };
                Ok(AdviceRecord { run, created_ms: row.try_get(5)?, advised })
            };
            rows.iter().map(record).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::{Adviser, Prediction, Wishes};
    use crate::analysis::{Analysis, Measure, Similarity};
    use crate::config::RunConfig;
    use crate::store::{NewRun, OpenMode, RunState, StateDetails};

    fn prediction() -> Prediction {
        let config = RunConfig::default();
        let (layers, heads) = (config.model.layers, config.model.heads);
        let mean = vec![0.75; (layers * heads).pow(2)];
        let similarity = vec![Similarity { measure: Measure::TotalVariation, layers, heads, examples: 2, mean }];
        let analysis = Analysis { similarity, ..Analysis::default() };
        let adviser = Adviser::new(&config, "source", None, &analysis, None).unwrap();
        adviser.advise(Wishes { similarity: Some(0.7), ..Wishes::default() }).prediction.unwrap()
    }

    #[test]
    fn what_was_predicted_goes_and_comes_back_with_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headroom.db");
        let advised = Advised {
            source: RunId::from("source"),
            beside: Some(RunId::from("beside")),
            step: Some(40),
            words: "step 40, 16 examples".to_owned(),
            prediction: prediction(),
        };
        let run = {
            let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
            let run = store.create_run(NewRun { name: "advised".to_owned(), ..NewRun::default() }).unwrap().summary.id;
            store.record_advice(&run, &advised).unwrap();
            store.set_state(&run, RunState::Cancelled, StateDetails::default()).unwrap();
            run
        };
        let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
        let kept = store.advice().unwrap();
        assert_eq!((kept.len(), &kept[0].run, &kept[0].advised), (1, &run, &advised));
        store.delete(&run).unwrap();
        assert_eq!(store.advice().unwrap(), []);
        store.undelete(&run).unwrap();
        assert_eq!(store.advice().unwrap(), kept);
        store.purge(&run).unwrap();
        assert_eq!(store.advice().unwrap(), []);
        assert!(matches!(store.record_advice(&run, &advised), Err(StoreError::NoSuchRun { .. })));
    }
}
