//! What was predicted of runs that the adviser proposed; kept and gone with these runs.

use sqlx::sqlite::SqliteRow;

use super::clock::now_ms;
use super::edit::known_number;
use super::fields::Fields;
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
        let question = "SELECT runs.id, source, beside, step, words, advice.created_ms, prediction
             FROM advice JOIN runs ON runs.number = advice.run WHERE runs.deleted_ms IS NULL ORDER BY advice.run DESC";
        self.readable("advice", question, record)
    }
}

/// What a row says; none where it cannot be read.
fn record(row: &SqliteRow) -> Option<AdviceRecord> {
    let mut fields = Fields::new(row);
    let (run, source, beside) = (fields.id(0), fields.id(1), fields.optional_id(2));
    let (step, words, created_ms) = (fields.optional_count(3), fields.text(4), fields.time(5));
    let prediction = serde_json::from_str(&fields.text(6)).ok();
    fields.finish(()).ok()?;
    let advised = Advised { source: source?, beside, step, words, prediction: prediction? };
    Some(AdviceRecord { run: run?, created_ms, advised })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::{Adviser, Prediction, Wishes};
    use crate::analysis::{Analysis, Measure, Similarity};
    use crate::attention::ModelFacts;
    use crate::config::RunConfig;
    use crate::{NewRun, OpenMode, RunState, StateDetails};

    fn prediction() -> Prediction {
        let config = RunConfig::default();
        let (layers, heads) = (config.model.layers, config.model.heads);
        let mean = vec![0.75; (layers * heads).pow(2)];
        let similarity = vec![Similarity {
            measure: Measure::TotalVariation,
            layers,
            heads,
            examples: 2,
            mean,
            origins: Vec::new(),
        }];
        let analysis = Analysis { similarity, ..Analysis::default() };
        let adviser = Adviser::new(&config, "source", &ModelFacts::default(), &analysis, None).unwrap();
        adviser.advise(Wishes { similarity: Some(0.7), ..Wishes::default() }).prediction.unwrap()
    }

    #[test]
    fn what_was_predicted_goes_and_comes_back_with_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headroom.db");
        let advised = Advised {
            source: "0000000s0e".parse().unwrap(),
            beside: Some("000000bes1".parse().unwrap()),
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
