-- Questions to people, and who may answer them.

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_subject ON approvals (run_id, digest, opened_at);
CREATE INDEX approvals_by_state ON approvals (state, opened_at);

CREATE TABLE credentials (
    digest TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('operator', 'agent')),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
