use sqlx::sqlite::SqliteRow;

use super::clock::now_ms;
use super::fields::Fields;
use super::list::record;
use super::sizes::{LONGEST_TEXTS, run_texts};
use super::{RunRecord, Store, StoreError};
use crate::config::counted;

/// Names that are offered when nothing fits.
const OFFERED: usize = 3;
/// Likeness (Jaro-Winkler, 1 = equal) from which a name is offered.
const LIKE: f64 = 0.7;

impl Store {
    /// A run by its id, its name, its number as `12` or `#12`, or the beginning of an id or name that fits only one run. The
    /// first of these ways that fits any run decides; deleted runs are found by id only.
    ///
    /// Runs of one name are told apart by what follows it: `NAME@seed=3`, `NAME@newest`, `NAME@oldest`, also together;
    /// `@newest` alone is the newest of all.
    pub fn run(&self, query: &str) -> Result<RunRecord, StoreError> {
        self.read(async |connection| {
            let known = known(connection).await?;
            record(connection, find(&known, query.trim())?, self.paths()).await
        })
    }

    /// A deleted run that can still be brought back, found in the same ways.
    pub fn deleted_run(&self, query: &str) -> Result<RunRecord, StoreError> {
        self.read(async |connection| {
            let mut deleted = known(connection).await?;
            deleted.retain(|run| run.is_deleted);
            for run in &mut deleted {
                run.is_deleted = false;
            }
            record(connection, find(&deleted, query.trim())?, self.paths()).await
        })
    }
}

/// What a run is found by.
#[derive(Clone)]
struct Known {
    number: i64,
    id: String,
    name: String,
    seed: i64,
    created_ms: i64,
    is_deleted: bool,
}

/// All runs, newest first.
async fn known(connection: &mut sqlx::SqliteConnection) -> sqlx::Result<Vec<Known>> {
    // A run with longer texts is found by its number.
    let rows = sqlx::query(concat!(
        "SELECT number, IIF(bytes <= ?1, id, '') AS id, IIF(bytes <= ?1, name, '') AS name, seed, created_ms, deleted_ms IS NOT NULL
         FROM (SELECT *, ",
        run_texts!(),
        " AS bytes FROM runs) ORDER BY number DESC"
    ))
    .bind(LONGEST_TEXTS)
    .fetch_all(connection)
    .await?;
    let known = |row: &SqliteRow| {
        let mut fields = Fields::new(row);
        // A damaged run is found by what of it can be read.
        let mut text = |place| String::from_utf8_lossy(&fields.optional_bytes(place).unwrap_or_default()).into_owned();
        let (id, name) = (text(1), text(2));
        Known {
            number: fields.whole(0),
            id,
            name,
            seed: fields.whole(3),
            created_ms: fields.time(4),
            is_deleted: fields.flag(5),
        }
    };
    Ok(rows.iter().map(known).collect())
}

/// What stands behind an `@`.
#[derive(Clone, Copy)]
enum Narrowed {
    Seed(i64),
    Newest,
    Oldest,
}

impl Narrowed {
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "newest" => Some(Self::Newest),
            "oldest" => Some(Self::Oldest),
            other => other.strip_prefix("seed=").and_then(|seed| seed.parse().ok()).map(Self::Seed),
        }
    }

    fn apply(self, runs: &mut Vec<&Known>) {
        match self {
            Self::Seed(seed) => runs.retain(|run| run.seed == seed),
            Self::Newest | Self::Oldest => {
                let numbers = || runs.iter().map(|run| run.number);
                let chosen = if matches!(self, Self::Newest) { numbers().max() } else { numbers().min() };
                runs.retain(|run| Some(run.number) == chosen);
            }
        }
    }
}

/// The number of the run that `query` means.
fn find(known: &[Known], query: &str) -> Result<i64, StoreError> {
    let missing = || StoreError::NoSuchRun { query: query.to_owned(), nearest: nearest(known, &query.to_lowercase()) };
    if query.is_empty() {
        return Err(missing());
    }
    let mut fitting = named(known, query);
    // A name that holds an `@` is a name first.
    if fitting.is_empty() {
        let (mut name, mut narrowed) = (query, Vec::new());
        while let Some((before, last)) = name.rsplit_once('@')
            && let Some(by) = Narrowed::parse(last)
        {
            narrowed.push(by);
            name = before;
        }
        if narrowed.is_empty() {
            return Err(missing());
        }
        fitting = match name.trim() {
            "" => known.iter().filter(|run| !run.is_deleted).collect(),
            name => named(known, name),
        };
        if fitting.is_empty() {
            return Err(StoreError::NoSuchRun {
                query: query.to_owned(),
                nearest: nearest(known, &name.to_lowercase()),
            });
        }
        let all = fitting.clone();
        for by in narrowed.into_iter().rev() {
            by.apply(&mut fitting);
        }
        if fitting.is_empty() {
            return Err(StoreError::NoSuchRun {
                query: query.to_owned(),
                nearest: all.iter().map(|run| candidate(run)).collect(),
            });
        }
    }
    match fitting.as_slice() {
        [run] => Ok(run.number),
        several => Err(StoreError::Ambiguous {
            query: query.to_owned(),
            candidates: several.iter().map(|run| candidate(run)).collect(),
        }),
    }
}

/// All runs that a name, an id or a number fits, by the first way that fits any.
fn named<'a>(known: &'a [Known], query: &str) -> Vec<&'a Known> {
    let lower = query.to_lowercase();
    let number = numbered(query);
    let ways: [&dyn Fn(&Known) -> bool; 5] = [
        &|run| run.id == query,
        &|run| !run.is_deleted && run.name == query,
        &|run| !run.is_deleted && Some(run.number) == number,
        &|run| !run.is_deleted && run.id.starts_with(&lower),
        &|run| !run.is_deleted && run.name.to_lowercase().starts_with(&lower),
    ];
    let fitting = |way: &&dyn Fn(&Known) -> bool| known.iter().filter(|run| way(run)).collect::<Vec<_>>();
    ways.iter().map(fitting).find(|fitting| !fitting.is_empty()).unwrap_or_default()
}

/// A run among others of its name: number, id, name, seed, age.
fn candidate(run: &Known) -> String {
    let age = age(now_ms().saturating_sub(run.created_ms));
    format!("#{} {} {}, seed {}, {age}", run.number, run.id, run.name, run.seed)
}

/// How long ago something was, in the largest unit that fits.
fn age(milliseconds: i64) -> String {
    let minutes = milliseconds.max(0) / 60_000;
    let (count, unit) = match minutes {
        0 => return "just now".to_owned(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{} ago", counted(count as u64, unit))
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
        let run = |number, id: &str, name: &str, is_deleted| Known {
            number,
            id: id.into(),
            name: name.into(),
            seed: number,
            created_ms: 0,
            is_deleted,
        };
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
        named[0] =
            Known { number: 5, id: "0ccc000005".into(), name: "2".into(), is_deleted: false, ..named[0].clone() };
        assert_eq!((find(&named, "2").ok(), find(&named, "#2").ok()), (Some(5), Some(2)), "a name comes first");
        assert_eq!(found("0bbb"), Some(3), "a deleted run is not in the way");
        assert_eq!(found("WIDE"), Some(3));
        assert_eq!(found("0bbb000004"), Some(4), "a deleted run is found by its id");
        assert_eq!(found("Wide encoder"), None);
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_seed_and_age() {
        let found = |query| find(&known(), query).ok();
        assert_eq!((found("baseline@newest"), found("baseline@oldest")), (Some(2), Some(1)));
        assert_eq!((found("baseline@seed=1"), found("base@seed=2")), (Some(1), Some(2)));
        assert_eq!((found("@newest"), found("@oldest")), (Some(3), Some(1)), "deleted runs are not among them");
        assert_eq!((found("#2@newest"), found("wide@seed=9"), found("baseline@tallest")), (Some(2), None, None));
        let mut twice = known();
        twice[1].name = "baseline".into();
        twice[1].seed = 2;
        assert_eq!(find(&twice, "baseline@seed=2@oldest").ok(), Some(2));
        let error = find(&twice, "baseline@seed=2").unwrap_err().to_string();
        assert!(error.contains("#3") && error.contains("#2") && !error.contains("#1 "), "{error}");
        assert!(error.contains("baseline@seed=2@newest or") && !error.contains("@seed=N"), "{error}");
        twice[1].name = "a@newest".into();
        assert_eq!(find(&twice, "a@newest").ok(), Some(3), "a name first");
        let error = find(&known(), "baseline").unwrap_err().to_string();
        for word in ["#1", "#2", "seed 1", "seed 2", "days ago", "baseline@newest"] {
            assert!(error.contains(word), "{word} in {error}");
        }
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
