//! Outcomes of single validation examples, of a run's best and last evaluation; kept and gone with the run.

use sqlx::sqlite::SqliteConnection;

use super::edit::known_number;
use super::fault::Fault;
use super::fields::Fields;
use super::outcome_blobs::{Lengths, floats, whole};
use super::windows::windows;
use super::{ExampleOutcomes, OutcomeKind, RunId, Store, StoreError};

impl Store {
    /// Returns the outcomes of the single examples of a run's best or last evaluation; none where they were not recorded, or
    /// belong to steps that a later attempt did again.
    ///
    /// # Errors
    /// There is no such run, or its record says something that no program of ours writes.
    pub fn example_outcomes(&self, run: &RunId, kind: OutcomeKind) -> Result<Option<ExampleOutcomes>, StoreError> {
        self.read(async |connection| {
            let number = known_number(connection, run).await?;
            read(connection, number, kind).await?.transpose().map_err(|reason| {
                Fault::Store(StoreError::OutcomesUnreadable { run: run.clone(), kind: kind.as_str(), reason })
            })
        })
    }
}

/// Reads a row in two parts, so that no blob is loaded before its length is known to fit the number of examples.
async fn read(
    connection: &mut SqliteConnection,
    run: i64,
    kind: OutcomeKind,
) -> Result<Option<Result<ExampleOutcomes, String>>, Fault> {
    let head = sqlx::query(
        "SELECT step, attempt, SUBSTR(evaluated_hash, 1, 128), examples, LENGTH(loss), LENGTH(labels), LENGTH(correct)
         FROM example_outcomes WHERE run = ? AND kind = ?",
    )
    .bind(run)
    .bind(kind.as_str())
    .fetch_optional(&mut *connection)
    .await?;
    let Some(head) = head else { return Ok(None) };
    let mut fields = Fields::new(&head);
    let (step, attempt, evaluated_hash) = (fields.count(0), fields.whole(1), fields.text(2));
    let (examples, loss, labels, correct) =
        (fields.count(3), fields.count(4), fields.count(5), fields.optional_count(6));
    if let Err(problems) = fields.finish(()) {
        return Ok(Some(Err(problems.join("; "))));
    }
    let is_visible = windows(connection, run).await?.iter().any(|window| window.shows(attempt, step as i64));
    if !is_visible {
        return Ok(None);
    }
    let lengths = Lengths { examples, loss, labels, correct };
    let widths = match lengths.widths() {
        Ok(widths) => widths,
        Err(reason) => return Ok(Some(Err(reason))),
    };
    let body = sqlx::query("SELECT loss, labels, correct FROM example_outcomes WHERE run = ? AND kind = ?")
        .bind(run)
        .bind(kind.as_str())
        .fetch_one(&mut *connection)
        .await?;
    let mut fields = Fields::new(&body);
    let mut blob = |place| fields.optional_bytes(place).unwrap_or_default();
    let (loss, labels, correct) = (floats(&blob(0)), whole(&blob(1), widths.labels), blob(2));
    let correct = widths.correct.map(|width| whole(&correct, width));
    let outcomes = ExampleOutcomes { step, evaluated_hash, loss, labels, correct };
    Ok(Some(if outcomes.is_complete() { Ok(outcomes) } else { Err("its lists differ in length".to_owned()) }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{NewRun, OpenMode, RunState, StateDetails, StoreWriter};

    fn open(path: &Path) -> Store {
        Store::open(path, OpenMode::ReadWrite).unwrap()
    }

    fn outcomes(step: u64, examples: usize) -> ExampleOutcomes {
        ExampleOutcomes {
            step,
            evaluated_hash: "abc".to_owned(),
            loss: (0..examples).map(|place| place as f32 / 7.0 + step as f32).collect(),
            labels: (0..examples).map(|place| 1 + place as u32 % 200).collect(),
            correct: Some((0..examples).map(|place| place as u32 % 3).collect()),
        }
    }

    fn evaluate(writer: &StoreWriter, run: &RunId, outcomes: &ExampleOutcomes, is_best: bool) {
        writer.example_outcomes(run, outcomes.clone(), is_best);
        writer.flush().unwrap();
    }

    struct Case {
        _folder: tempfile::TempDir,
        store: Store,
        run: RunId,
        writer: StoreWriter,
    }

    impl Case {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = open(&folder.path().join("headroom.db"));
            let run = store.create_run(NewRun { name: "run".to_owned(), ..NewRun::default() }).unwrap().summary.id;
            store.begin_attempt(&run, 1).unwrap();
            let writer = store.writer().unwrap();
            Self { _folder: folder, store, run, writer }
        }

        fn of(&self, kind: OutcomeKind) -> Option<ExampleOutcomes> {
            self.store.example_outcomes(&self.run, kind).unwrap()
        }

        fn tamper(&self, sql: &'static str) {
            let tampered = self.store.change(async move |connection| {
                sqlx::query("PRAGMA ignore_check_constraints = ON").execute(&mut *connection).await?;
                sqlx::query(sql).execute(connection).await?;
                Ok(())
            });
            tampered.unwrap();
        }
    }

    #[test]
    fn the_best_and_the_last_outcomes_come_back_and_are_replaced_by_newer_ones() {
        let case = Case::new();
        assert_eq!(case.of(OutcomeKind::Best), None);
        let (first, second, third) = (outcomes(10, 5), outcomes(20, 5), outcomes(30, 5));
        evaluate(&case.writer, &case.run, &first, true);
        assert_eq!((case.of(OutcomeKind::Best), case.of(OutcomeKind::Last)), (Some(first.clone()), Some(first)));
        evaluate(&case.writer, &case.run, &second, true);
        evaluate(&case.writer, &case.run, &third, false);
        assert_eq!((case.of(OutcomeKind::Best), case.of(OutcomeKind::Last)), (Some(second), Some(third)));
    }

    #[test]
    fn numbers_of_any_width_and_losses_that_are_not_finite_come_back() {
        let case = Case::new();
        for largest in [0, 1, 255, 256, 65_535, 65_536, u32::MAX] {
            let mut odd = outcomes(1, 4);
            odd.labels = vec![largest, 0, 1, largest / 2];
            odd.correct = (largest % 2 == 0).then(|| vec![largest, 0, 0, 2]);
            odd.loss = vec![f32::INFINITY, f32::MIN_POSITIVE, -0.0, f32::MAX];
            evaluate(&case.writer, &case.run, &odd, false);
            assert_eq!(case.of(OutcomeKind::Last), Some(odd));
        }
        let mut odd = outcomes(2, 3);
        odd.loss[1] = f32::NAN;
        evaluate(&case.writer, &case.run, &odd, false);
        let bits = |found: &ExampleOutcomes| found.loss.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&case.of(OutcomeKind::Last).unwrap()), bits(&odd));
        // On the wire and in a spill file too.
        let json = serde_json::to_string(&odd).unwrap();
        assert_eq!(bits(&serde_json::from_str(&json).unwrap()), bits(&odd));
    }

    #[test]
    fn incomplete_outcomes_are_not_written() {
        let case = Case::new();
        let mut short = outcomes(1, 4);
        short.labels.pop();
        for wrong in [short, ExampleOutcomes { step: 1, ..ExampleOutcomes::default() }] {
            evaluate(&case.writer, &case.run, &wrong, true);
            assert_eq!((case.of(OutcomeKind::Best), case.of(OutcomeKind::Last)), (None, None));
        }
    }

    #[test]
    fn outcomes_of_steps_that_are_done_again_are_hidden() {
        let case = Case::new();
        evaluate(&case.writer, &case.run, &outcomes(100, 3), true);
        evaluate(&case.writer, &case.run, &outcomes(200, 3), false);
        case.store.begin_attempt(&case.run, 151).unwrap();
        assert_eq!(case.of(OutcomeKind::Best), Some(outcomes(100, 3)));
        assert_eq!(case.of(OutcomeKind::Last), None, "step 200 is still to come");
        // An evaluation that a stop cut short belongs to the step before the first one.
        evaluate(&case.writer, &case.run, &outcomes(150, 3), false);
        assert_eq!(case.of(OutcomeKind::Last), Some(outcomes(150, 3)));
        evaluate(&case.writer, &case.run, &outcomes(200, 3), false);
        assert_eq!(case.of(OutcomeKind::Last), Some(outcomes(200, 3)));
    }

    #[test]
    fn outcomes_go_with_their_run_and_stay_while_it_is_only_deleted() {
        let case = Case::new();
        evaluate(&case.writer, &case.run, &outcomes(1, 3), true);
        case.store.set_state(&case.run, RunState::Finished, StateDetails::default()).unwrap();
        case.store.delete(&case.run).unwrap();
        assert_eq!(case.of(OutcomeKind::Best), Some(outcomes(1, 3)));
        case.store.purge(&case.run).unwrap();
        let left = case.store.change(async |connection| {
            Ok(sqlx::query_scalar::<_, i64>("SELECT COUNT(*) FROM example_outcomes").fetch_one(connection).await?)
        });
        assert_eq!(left.unwrap(), 0);
        let error = case.store.example_outcomes(&case.run, OutcomeKind::Best).unwrap_err();
        assert!(matches!(error, StoreError::NoSuchRun { .. }), "{error}");
    }

    #[test]
    fn blobs_of_wrong_lengths_are_refused_before_they_are_read() {
        for (sql, told) in [
            ("UPDATE example_outcomes SET loss = zeroblob(15)", "the losses of 4 examples take 16 bytes, not 15"),
            ("UPDATE example_outcomes SET loss = zeroblob(5000000)", "not 5000000"),
            ("UPDATE example_outcomes SET labels = zeroblob(5)", "labels of 4 examples do not take 5 bytes"),
            ("UPDATE example_outcomes SET correct = zeroblob(12)", "correct labels of 4 examples do not take 12 bytes"),
            ("UPDATE example_outcomes SET correct = x''", "correct labels of 4 examples do not take 0 bytes"),
            ("UPDATE example_outcomes SET examples = 0", "it has 0 examples"),
            ("UPDATE example_outcomes SET examples = -1", "negative"),
            ("UPDATE example_outcomes SET examples = 4611686018427387904", "too large"),
            ("UPDATE example_outcomes SET examples = 4194305, loss = zeroblob(16777220)", "it has 4194305 examples"),
            ("UPDATE example_outcomes SET step = -9", "negative"),
            ("UPDATE example_outcomes SET evaluated_hash = CAST(x'ff' AS TEXT)", "is no UTF-8 text"),
        ] {
            let case = Case::new();
            evaluate(&case.writer, &case.run, &outcomes(1, 4), false);
            case.tamper(sql);
            let error = case.store.example_outcomes(&case.run, OutcomeKind::Last).unwrap_err().to_string();
            assert!(error.contains(told), "{sql}: {error}");
        }
    }
}
