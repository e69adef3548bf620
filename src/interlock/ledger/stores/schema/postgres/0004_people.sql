-- Who can prove who they are, under seals, and which process a run was started for.

-- Credentials from before are kept, and open nothing any more.
ALTER TABLE interlock_credentials RENAME TO interlock_earlier_credentials;

CREATE TABLE interlock_credentials (
    digest text COLLATE "C" PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    method text COLLATE "C" NOT NULL,
    cost text COLLATE "C",
    created_at bigint NOT NULL,
    revoked_at bigint,
    seal text COLLATE "C" NOT NULL
);

ALTER TABLE interlock_runs ADD COLUMN process text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX interlock_runs_by_process ON interlock_runs (process) WHERE process <> '';
