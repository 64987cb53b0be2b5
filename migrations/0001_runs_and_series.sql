-- Runs, what they logged, and who is running them.
-- Times are unix milliseconds. 64-bit unsigned numbers (seeds) are kept as the same bits, signed.

-- A program that has this store open for writing. Each holds an operating-system lock on a file named after its id
-- beside the store; a row whose lock can be taken belongs to a process that died.
CREATE TABLE instances (
    id         TEXT PRIMARY KEY,
    pid        INTEGER NOT NULL,
    host       TEXT NOT NULL,
    started_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    -- Counts up and is never used again: names the run's colour, and is the short key of every other table.
    number             INTEGER PRIMARY KEY AUTOINCREMENT,
    id                 TEXT NOT NULL UNIQUE,
    name               TEXT NOT NULL,
    state              TEXT NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'finished', 'stopped', 'diverged',
                                                      'failed', 'interrupted', 'cancelled')),
    state_ms           INTEGER NOT NULL,
    -- The instance that runs it; null once it has ended.
    owner              TEXT,
    seed               INTEGER NOT NULL,
    device             TEXT NOT NULL,
    threads            INTEGER NOT NULL,
    program_version    TEXT NOT NULL,
    git_commit         TEXT,
    git_dirty          INTEGER,
    data_hash          TEXT,
    machine_cpu        TEXT NOT NULL,
    machine_cores      INTEGER NOT NULL,
    machine_os         TEXT NOT NULL,
    parameters         INTEGER,
    flops_per_step     INTEGER,
    train_tokens       INTEGER,
    created_ms         INTEGER NOT NULL,
    started_ms         INTEGER,
    ended_ms           INTEGER,
    steps_done         INTEGER NOT NULL DEFAULT 0,
    steps_total        INTEGER,
    tokens             INTEGER NOT NULL DEFAULT 0,
    train_secs         REAL NOT NULL DEFAULT 0,
    failure_why        TEXT,
    failure_what_to_do TEXT,
    diverged_step      INTEGER,
    diverged_at        TEXT,
    parent_run         TEXT,
    parent_step        INTEGER,
    note               TEXT NOT NULL DEFAULT '',
    archived           INTEGER NOT NULL DEFAULT 0,
    deleted_ms         INTEGER
) STRICT;

CREATE INDEX runs_by_name ON runs (name);
CREATE INDEX runs_by_owner ON runs (owner) WHERE owner IS NOT NULL;

-- Apart from `runs`, so that listing ten thousand runs does not read ten thousand configs.
CREATE TABLE run_configs (
    run         INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    config_toml TEXT NOT NULL,
    config_json TEXT NOT NULL
) STRICT;

CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;

-- The first start of a run and each resume. Points of earlier attempts at or after `first_step` are hidden, not deleted.
CREATE TABLE attempts (
    run        INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    attempt    INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    PRIMARY KEY (run, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    direction TEXT NOT NULL CHECK (direction IN ('lower', 'higher', 'none'))
) STRICT;

-- One logged value. A null value is NaN (SQLite has none); infinities are kept as they are. No foreign key on `run`:
-- it would be looked up once a point; deleting a run deletes its points by hand.
CREATE TABLE points (
    run     INTEGER NOT NULL,
    series  INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    step    INTEGER NOT NULL,
    value   REAL,
    wall_ms INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (run, series, attempt, step)
) STRICT, WITHOUT ROWID;

-- What the visible points of a series come to, kept in the transaction that adds them.
CREATE TABLE series_summary (
    run           INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    series        INTEGER NOT NULL REFERENCES series (id),
    count         INTEGER NOT NULL,
    last_attempt  INTEGER NOT NULL,
    last_step     INTEGER NOT NULL,
    last          REAL,
    best_step     INTEGER,
    best          REAL,
    -- Grows whenever something other than adding at the end happened, so that a live reader reads everything again.
    revision      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, series)
) STRICT, WITHOUT ROWID;

-- Small tensors and text samples. `layer` and `head` are -1 where they do not apply, since nulls are never equal.
CREATE TABLE snapshots (
    id         INTEGER PRIMARY KEY,
    run        INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    attempt    INTEGER NOT NULL,
    step       INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    layer      INTEGER NOT NULL DEFAULT -1,
    head       INTEGER NOT NULL DEFAULT -1,
    dtype      TEXT NOT NULL,
    shape      TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    data       BLOB NOT NULL,
    UNIQUE (run, kind, attempt, step, layer, head)
) STRICT;

-- Paths inside the store's folder are kept relative to it, so that the folder can be moved.
CREATE TABLE checkpoints (
    run        INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('best', 'last', 'kept')),
    step       INTEGER NOT NULL,
    path       TEXT NOT NULL,
    metric     TEXT,
    value      REAL,
    bytes      INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (run, kind, step)
) STRICT, WITHOUT ROWID;
