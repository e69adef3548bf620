-- The chains, the policies they name, and the seals on them: what is never changed.
-- Texts are compared byte by byte, as the other stores do, whatever the database's language.

CREATE TABLE interlock_meta (
    name text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
);

INSERT INTO interlock_meta VALUES
    ('id', replace(gen_random_uuid()::text, '-', '')),
    ('digest-key', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

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
