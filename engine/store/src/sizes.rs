//! Sizes of what is read from a store, asked for before it is read: SQLite knows them without reading the values.

/// Bytes of all texts of a run's row, at most: its name, note, failure and so on.
pub(crate) const LONGEST_TEXTS: i64 = 1 << 20;
/// Bytes of a stored config in either form, as of a config file.
pub(crate) const LONGEST_CONFIG: i64 = 16 << 20;
/// Bytes of a label, the name of a series or of an instance.
pub(crate) const LONGEST_NAME: i64 = 4096;

/// Bytes of all texts of a row of `runs`, in SQL.
macro_rules! run_texts {
    () => {
        "(COALESCE(octet_length(id), 0) + COALESCE(octet_length(name), 0) + COALESCE(octet_length(state), 0)
          + COALESCE(octet_length(owner), 0) + COALESCE(octet_length(device), 0)
          + COALESCE(octet_length(program_version), 0) + COALESCE(octet_length(git_commit), 0)
          + COALESCE(octet_length(data_hash), 0) + COALESCE(octet_length(machine_cpu), 0)
          + COALESCE(octet_length(machine_os), 0) + COALESCE(octet_length(failure_why), 0)
          + COALESCE(octet_length(failure_what_to_do), 0) + COALESCE(octet_length(diverged_at), 0)
          + COALESCE(octet_length(parent_run), 0) + COALESCE(octet_length(note), 0)
          + COALESCE(octet_length(held_out_hash), 0) + COALESCE(octet_length(health), 0)
          + COALESCE(octet_length(evaluated_hash), 0))"
    };
}

/// Bytes of the larger form of a row of `run_configs`, in SQL.
macro_rules! config_bytes {
    () => {
        "MAX(COALESCE(octet_length(config_toml), 0), COALESCE(octet_length(config_json), 0))"
    };
}

pub(crate) use {config_bytes, run_texts};

/// Problem of a run whose texts take so many bytes; none where they may be read.
pub(crate) fn texts_problem(bytes: i64) -> Option<String> {
    (bytes > LONGEST_TEXTS).then(|| format!("its texts take {bytes} bytes, and at most {LONGEST_TEXTS} are read"))
}

/// The same of a config.
pub(crate) fn config_problem(bytes: i64) -> Option<String> {
    (bytes > LONGEST_CONFIG).then(|| format!("its config takes {bytes} bytes, and at most {LONGEST_CONFIG} are read"))
}

#[cfg(test)]
mod tests {
    use crate::{OpenMode, Store};

    #[test]
    fn every_text_of_a_run_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
        let columns: Vec<String> = store
            .read(async |connection| {
                let question = sqlx::query_scalar("SELECT name FROM pragma_table_info('runs') WHERE type = 'TEXT'");
                Ok(question.fetch_all(connection).await?)
            })
            .unwrap();
        assert!(columns.len() > 10);
        for column in columns {
            assert!(run_texts!().contains(&format!("octet_length({column})")), "{column} is read whatever its size");
        }
    }
}
