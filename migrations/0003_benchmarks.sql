-- Sweeps of measured training steps. What was swept and what was found are kept as JSON: they are read whole and never
-- searched. `points` of `points_total` are in `results`; `ended_ms` is null while it is measured, and stays so when its
-- program died.
CREATE TABLE benchmarks (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    name            TEXT NOT NULL,
    created_ms      INTEGER NOT NULL,
    ended_ms        INTEGER,
    program_version TEXT NOT NULL,
    git_commit      TEXT,
    git_dirty       INTEGER,
    machine_cpu     TEXT NOT NULL,
    machine_cores   INTEGER NOT NULL,
    machine_os      TEXT NOT NULL,
    device          TEXT NOT NULL,
    threads         INTEGER NOT NULL,
    precision       TEXT NOT NULL,
    points          INTEGER NOT NULL DEFAULT 0,
    points_total    INTEGER NOT NULL,
    spec            TEXT NOT NULL,
    results         TEXT NOT NULL,
    limits          TEXT,
    deleted_ms      INTEGER
) STRICT;
