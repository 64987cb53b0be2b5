-- What was found out about attention on demand. Arrays stand one after the other in `data`, as little-endian 32-bit floats;
-- `facts` is everything else as JSON, with the length of each. `run` is the id of the run whose checkpoint was looked at.
CREATE TABLE analyses (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    run        TEXT,
    target     TEXT NOT NULL,
    step       INTEGER,
    text       TEXT NOT NULL,
    examples   INTEGER NOT NULL,
    tokens     INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    spec       TEXT NOT NULL,
    facts      TEXT NOT NULL,
    data       BLOB NOT NULL,
    deleted_ms INTEGER
) STRICT;
