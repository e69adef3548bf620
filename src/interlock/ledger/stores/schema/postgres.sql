-- The schema as a whole, for reading: what all migrations together make (a test holds it to that).

-- The chains, the policies they name, and the seals on them: what is never changed.
-- Texts are compared byte by byte, as the other stores do, whatever the database's language.

CREATE TABLE interlock_meta (
    name text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
);


CREATE TABLE interlock_records (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    hash text COLLATE "C" NOT NULL,
    UNIQUE (run_id, seq)
);

CREATE TABLE interlock_policies (
    hash text COLLATE "C" PRIMARY KEY,
    body bytea NOT NULL
);

CREATE TABLE interlock_seals (
    run_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    seal text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- What changes with every group leaves room in its pages: a new version then stays near the old.
CREATE TABLE interlock_runs (
    id text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    seal text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    project text COLLATE "C" NOT NULL,
    parent text COLLATE "C",
    task text COLLATE "C" NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX interlock_runs_by_activity ON interlock_runs (updated_at DESC, id);
CREATE INDEX interlock_runs_by_parent ON interlock_runs (parent) WHERE parent IS NOT NULL;

CREATE TABLE interlock_snapshots (
    run_id text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    body bytea NOT NULL
);

CREATE FUNCTION interlock_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER records_are_never_changed
    BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock_records
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_refuse_change();

CREATE TRIGGER policies_are_never_changed
    BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock_policies
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_refuse_change();

CREATE TRIGGER seals_are_never_changed
    BEFORE UPDATE OR DELETE OR TRUNCATE ON interlock_seals
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_refuse_change();

-- Also where a session says that it only replays what another server has checked.
ALTER TABLE interlock_records ENABLE ALWAYS TRIGGER records_are_never_changed;
ALTER TABLE interlock_policies ENABLE ALWAYS TRIGGER policies_are_never_changed;
ALTER TABLE interlock_seals ENABLE ALWAYS TRIGGER seals_are_never_changed;

-- Takes the locks one after the other, in the order given, and holds them until the transaction
-- ends. The answer tells which transactions were under way or over once all of them were held:
-- each statement of a function like this one sees what was committed before it.
CREATE FUNCTION interlock_lock(locks bigint[]) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lock bigint;
    snapshot text;
BEGIN
    FOREACH lock IN ARRAY locks LOOP
        PERFORM pg_advisory_xact_lock(lock);
    END LOOP;
    SELECT pg_current_snapshot()::text INTO snapshot;
    RETURN snapshot;
END
$$;

-- What follows from the records: accounts, promises, and which request has which answer.

CREATE TABLE interlock_accounts (
    scope text COLLATE "C" PRIMARY KEY,
    body bytea NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE interlock_reservations (
    run_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    lease_until bigint NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE INDEX interlock_reservations_by_lease
    ON interlock_reservations (lease_until, run_id, seq);

CREATE TABLE interlock_keys (
    run_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    digest text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, key)
);

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
