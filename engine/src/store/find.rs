use sqlx::sqlite::SqliteRow;

use super::fields::Fields;
use super::list::record;
use super::{RunRecord, Store, StoreError};

/// Names that are offered when nothing fits.
const OFFERED: usize = 3;
/// Likeness (Jaro-Winkler, 1 = equal) from which a name is offered.
const LIKE: f64 = 0.7;

impl Store {
    /// A run by its id, its name, its number as `12` or `#12`, or the beginning of an id or name that fits only one run. The
    /// first of these ways that fits any run decides; deleted runs are found by id only.
    pub fn run(&self, query: &str) -> Result<RunRecord, StoreError> {
        self.read(async |connection| {
            let rows = sqlx::query("SELECT number, id, name, deleted_ms IS NOT NULL FROM runs ORDER BY number DESC")
                .fetch_all(&mut *connection)
                .await?;
            let known = |row: &SqliteRow| {
                let mut fields = Fields::new(row);
                // A damaged run is found by what of it can be read.
                let mut text =
                    |place| String::from_utf8_lossy(&fields.optional_bytes(place).unwrap_or_default()).into_owned();
                let (id, name) = (text(1), text(2));
                Known { number: fields.whole(0), id, name, is_deleted: fields.flag(3) }
            };
            let known: Vec<Known> = rows.iter().map(known).collect();
            record(connection, find(&known, query.trim())?, self.paths()).await
        })
    }
}

struct Known {
    number: i64,
    id: String,
    name: String,
    is_deleted: bool,
}

/// The number of the run that `query` means.
fn find(known: &[Known], query: &str) -> Result<i64, StoreError> {
    let lower = query.to_lowercase();
    let number = numbered(query);
    let ways: [&dyn Fn(&Known) -> bool; 5] = [
        &|run| run.id == query,
        &|run| !run.is_deleted && run.name == query,
        &|run| !run.is_deleted && Some(run.number) == number,
        &|run| !run.is_deleted && run.id.starts_with(&lower),
        &|run| !run.is_deleted && run.name.to_lowercase().starts_with(&lower),
    ];
    if !query.is_empty() {
        for way in ways {
            let fitting: Vec<&Known> = known.iter().filter(|run| way(run)).collect();
            match fitting.as_slice() {
                [] => {}
                [run] => return Ok(run.number),
                several => {
                    let candidates = several.iter().map(|run| format!("{} {}", run.id, run.name)).collect();
                    return Err(StoreError::Ambiguous { query: query.to_owned(), candidates });
                }
            }
        }
    }
    Err(StoreError::NoSuchRun { query: query.to_owned(), nearest: nearest(known, &lower) })
}

/// The number in `12` or `#12`; none where digits are the beginning of an id, such as `0012`.
pub(super) fn numbered(query: &str) -> Option<i64> {
    let digits = query.strip_prefix('#').unwrap_or(query);
    digits.parse().ok().filter(|number: &i64| number.to_string() == digits)
}

/// Names that look like the one asked for, nearest first.
fn nearest(known: &[Known], query: &str) -> Vec<String> {
    let mut likeness: Vec<(f64, &str)> = known
        .iter()
        .filter(|run| !run.is_deleted)
        .map(|run| (strsim::jaro_winkler(&run.name.to_lowercase(), query), run.name.as_str()))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .collect();
    likeness.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    likeness.dedup_by_key(|(_, name)| *name);
    likeness.into_iter().take(OFFERED).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Known> {
        let run =
            |number, id: &str, name: &str, is_deleted| Known { number, id: id.into(), name: name.into(), is_deleted };
        vec![
            run(4, "0bbb000004", "Wide encoder", true),
            run(3, "0bbb000003", "wide decoder", false),
            run(2, "0aaa000002", "baseline", false),
            run(1, "0aaa000001", "baseline", false),
        ]
    }

    #[test]
    fn a_run_is_found_in_each_way() {
        let found = |query| find(&known(), query).ok();
        assert_eq!(found("0aaa000001"), Some(1));
        assert_eq!(found("wide decoder"), Some(3));
        assert_eq!((found("#2"), found("2")), (Some(2), Some(2)));
        assert_eq!(found("02"), None, "the beginning of an id");
        assert_eq!(found("4"), None, "a deleted run");
        let mut named = known();
        named[0] = Known { number: 5, id: "0ccc000005".into(), name: "2".into(), is_deleted: false };
        assert_eq!((find(&named, "2").ok(), find(&named, "#2").ok()), (Some(5), Some(2)), "a name comes first");
        assert_eq!(found("0bbb"), Some(3), "a deleted run is not in the way");
        assert_eq!(found("WIDE"), Some(3));
        assert_eq!(found("0bbb000004"), Some(4), "a deleted run is found by its id");
        assert_eq!(found("Wide encoder"), None);
    }

    #[test]
    fn what_fits_several_or_none_says_so() {
        let error = find(&known(), "baseline").unwrap_err();
        assert!(matches!(&error, StoreError::Ambiguous { candidates, .. } if candidates.len() == 2), "{error}");
        let error = find(&known(), "basline").unwrap_err();
        assert!(matches!(&error, StoreError::NoSuchRun { nearest, .. } if nearest == &["baseline"]), "{error}");
        assert!(matches!(find(&known(), ""), Err(StoreError::NoSuchRun { .. })));
        assert!(matches!(find(&known(), "#9"), Err(StoreError::NoSuchRun { nearest, .. }) if nearest.is_empty()));
    }
}
