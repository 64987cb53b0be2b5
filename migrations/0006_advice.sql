-- Runs that were advised: `run` is the advised one, `source` the id of the run whose measurements advised it, `beside` that of
-- the same run trained again beside it. `step` and `words` say which analysis it was, `prediction` is what was expected, as JSON
-- with the thresholds. A row goes with its run.
CREATE TABLE advice (
    run        INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    source     TEXT NOT NULL,
    beside     TEXT,
    step       INTEGER,
    words      TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    prediction TEXT NOT NULL
) STRICT;
