//! A store's schema is the one that the migrations make, or the store is refused: a view in place of a table, a trigger, a
//! default of its maker's or a virtual table would do what its maker wants whenever a run is listed or changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use sqlx::Row;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::connect::in_memory;
use crate::text::escaped_line;

/// The table in which sqlx keeps what migrations were done.
const MIGRATIONS: &str = "_sqlx_migrations";
/// Tables that SQLite itself makes when somebody has it gather statistics (`ANALYZE`): plain numbers for its planner.
const STATISTICS: [&str; 2] =
    ["CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"];
/// Characters of a name that a message shows at most.
const SHOWN: usize = 60;

/// A table, index, view or trigger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    kind: String,
    name: String,
    table: String,
    /// The statement that made it, white space made even; none for indices that come with their table.
    sql: Option<String>,
}

impl Object {
    fn of(row: &SqliteRow) -> sqlx::Result<Self> {
        let text = |place: usize| {
            let bytes = row.try_get::<Option<Vec<u8>>, _>(place)?;
            Ok::<_, sqlx::Error>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let sql = text(3)?.map(|sql| sql.split_whitespace().collect::<Vec<_>>().join(" "));
        let word = |text: Option<String>| text.unwrap_or_default();
        Ok(Self { kind: word(text(0)?), name: word(text(1)?), table: word(text(2)?), sql })
    }

    fn is_statistics(&self) -> bool {
        self.kind == "table" && self.sql.as_deref().is_some_and(|sql| STATISTICS.contains(&sql))
    }

    fn label(&self) -> String {
        let name: String = self.name.chars().take(SHOWN).collect();
        let kind: String = self.kind.chars().take(SHOWN).collect();
        format!("the {} `{}`", escaped_line(&kind), escaped_line(&name))
    }
}

/// Everything in a database's schema but SQLite's statistics.
pub(crate) async fn objects(connection: &mut SqliteConnection) -> sqlx::Result<BTreeSet<Object>> {
    let rows = sqlx::query(
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema",
    )
    .fetch_all(connection)
    .await?;
    let objects = rows.iter().map(Object::of).collect::<sqlx::Result<Vec<_>>>()?;
    Ok(objects.into_iter().filter(|object| !object.is_statistics()).collect())
}

/// The difference between a schema and the one that `migrations` up to `version` make, in words for a message; none where
/// they are equal.
pub(crate) async fn difference(
    found: &BTreeSet<Object>,
    migrations: &Migrator,
    version: i64,
) -> sqlx::Result<Option<String>> {
    let made = made(migrations, version).await?;
    let named = |objects: &BTreeSet<Object>, one: &Object| {
        objects.iter().any(|other| (&other.kind, &other.name) == (&one.kind, &one.name))
    };
    // What is in both, but other than it should be, is told first: it explains the rest.
    let changed = found.difference(&made).find(|one| named(&made, one));
    let extra = || found.difference(&made).next();
    // An index that comes with its table is missing with it.
    let missing = || made.difference(found).max_by_key(|one| one.sql.is_some());
    Ok(if let Some(one) = changed {
        Some(format!("{} is not as Headroom makes it", one.label()))
    } else if let Some(one) = extra() {
        Some(format!("it holds {}, which no Headroom makes", one.label()))
    } else {
        missing().map(|one| format!("{} is missing", one.label()))
    })
}

/// The difference of the table of migrations alone, to be asked before anything is read from it.
pub(crate) async fn migrations_difference(
    found: &BTreeSet<Object>,
    migrations: &Migrator,
) -> sqlx::Result<Option<String>> {
    let of_table = |one: &&Object| one.table == MIGRATIONS || one.name == MIGRATIONS;
    difference(&found.iter().filter(of_table).cloned().collect(), migrations, 0).await
}

/// The schema that migrations up to `version` make; made once for each version that is asked for.
async fn made(migrations: &Migrator, version: i64) -> sqlx::Result<BTreeSet<Object>> {
    static MADE: Mutex<BTreeMap<i64, BTreeSet<Object>>> = Mutex::new(BTreeMap::new());
    let known = || MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = known().get(&version) {
        return Ok(made.clone());
    }
    let done = migrations.iter().filter(|migration| migration.version <= version).cloned().collect();
    let mut connection = in_memory().await?;
    let migrated = Migrator::with_migrations(done).run(&mut connection).await;
    migrated.map_err(|error| sqlx::Error::Migrate(Box::new(error)))?;
    let made = objects(&mut connection).await?;
    known().insert(version, made.clone());
    Ok(made)
}
