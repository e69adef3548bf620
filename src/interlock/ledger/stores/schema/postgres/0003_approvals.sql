-- Questions to people, and who may answer them.

CREATE TABLE interlock_approvals (
    id text COLLATE "C" PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    opened_at bigint NOT NULL,
    body bytea NOT NULL
);

CREATE INDEX interlock_approvals_by_subject
    ON interlock_approvals (run_id, digest, opened_at);
CREATE INDEX interlock_approvals_by_state ON interlock_approvals (state, opened_at);

CREATE TABLE interlock_credentials (
    digest text COLLATE "C" PRIMARY KEY,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('operator', 'agent')),
    name text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL
);
