-- What follows from the records: accounts, promises, and which request has which answer.

CREATE TABLE accounts (
    scope TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    PRIMARY KEY (lease_until, run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
