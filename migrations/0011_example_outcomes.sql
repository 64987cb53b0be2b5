-- Outcomes of the single examples of a run's best and of its last evaluation, in the order of the validation set. `loss` has a
-- little-endian 32-bit float for each example; `labels` and `correct` have an unsigned whole number each, of 1, 2 or 4 bytes, as
-- the largest of them needs; `correct` is null where an objective counts none. A row goes with its run.
CREATE TABLE example_outcomes (
    run            INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    kind           TEXT NOT NULL CHECK (kind IN ('best', 'last')),
    attempt        INTEGER NOT NULL,
    step           INTEGER NOT NULL,
    evaluated_hash TEXT NOT NULL,
    examples       INTEGER NOT NULL,
    created_ms     INTEGER NOT NULL,
    loss           BLOB NOT NULL,
    labels         BLOB NOT NULL,
    correct        BLOB,
    PRIMARY KEY (run, kind)
) STRICT;
