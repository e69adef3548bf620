-- The chains, the policies they name, and the seals on them: what is never changed.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta VALUES ('id', lower(hex(randomblob(16))));
INSERT INTO meta VALUES ('digest-key', lower(hex(randomblob(32))));

CREATE TABLE records (
    position INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (run_id, seq)
) STRICT;

CREATE TABLE policies (
    hash TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE seals (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    seal TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    seal TEXT NOT NULL,
    key_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    project TEXT NOT NULL,
    parent TEXT,
    task TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_activity ON runs (updated_at);
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;

CREATE TABLE snapshots (
    run_id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER records_are_never_changed BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;

CREATE TRIGGER records_are_never_deleted BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;

CREATE TRIGGER policies_are_never_changed BEFORE UPDATE ON policies
BEGIN SELECT RAISE(ABORT, 'policies are append-only'); END;

CREATE TRIGGER policies_are_never_deleted BEFORE DELETE ON policies
BEGIN SELECT RAISE(ABORT, 'policies are append-only'); END;

CREATE TRIGGER seals_are_never_changed BEFORE UPDATE ON seals
BEGIN SELECT RAISE(ABORT, 'seals are append-only'); END;

CREATE TRIGGER seals_are_never_deleted BEFORE DELETE ON seals
BEGIN SELECT RAISE(ABORT, 'seals are append-only'); END;
