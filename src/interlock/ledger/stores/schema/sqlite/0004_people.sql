-- Who can prove who they are, under seals, and which process a run was started for.

-- Credentials from before are kept, and open nothing any more.
ALTER TABLE credentials RENAME TO earlier_credentials;

CREATE TABLE credentials (
    digest TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    method TEXT NOT NULL,
    cost TEXT,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    seal TEXT NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN process TEXT NOT NULL DEFAULT '';

CREATE INDEX runs_by_process ON runs (process) WHERE process <> '';
