-- Where archived records stood in the order, and which runs they were of. Both are sealed.

CREATE TABLE archived_runs (
    run_id TEXT PRIMARY KEY,
    archive INTEGER NOT NULL,
    seal TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX archived_runs_by_archive ON archived_runs (archive);

CREATE TABLE gaps (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    archive INTEGER NOT NULL,
    follows TEXT NOT NULL,
    runs INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    accounts BLOB NOT NULL,
    seal TEXT NOT NULL
) STRICT;

DROP TRIGGER records_are_never_deleted;

CREATE TRIGGER records_are_never_deleted BEFORE DELETE ON records
WHEN NOT EXISTS (SELECT 1 FROM archived_runs WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;

DROP TRIGGER seals_are_never_deleted;

CREATE TRIGGER seals_are_never_deleted BEFORE DELETE ON seals
WHEN NOT EXISTS (SELECT 1 FROM archived_runs WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'seals are append-only'); END;
