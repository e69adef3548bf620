-- Where archived records stood in the order, and which runs they were of. Both are sealed.

CREATE TABLE interlock_archived_runs (
    run_id text COLLATE "C" PRIMARY KEY,
    archive bigint NOT NULL,
    seal text COLLATE "C" NOT NULL
);

CREATE INDEX interlock_archived_runs_by_archive ON interlock_archived_runs (archive);

CREATE TABLE interlock_gaps (
    first bigint PRIMARY KEY,
    last bigint NOT NULL,
    archive bigint NOT NULL,
    follows text COLLATE "C" NOT NULL,
    runs bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    accounts bytea NOT NULL,
    seal text COLLATE "C" NOT NULL
);

CREATE FUNCTION interlock_refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM interlock_archived_runs WHERE run_id = OLD.run_id) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

DROP TRIGGER records_are_never_changed ON interlock_records;
DROP TRIGGER seals_are_never_changed ON interlock_seals;

CREATE TRIGGER records_are_never_changed
    BEFORE UPDATE OR TRUNCATE ON interlock_records
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_refuse_change();

CREATE TRIGGER records_are_never_deleted
    BEFORE DELETE ON interlock_records
    FOR EACH ROW EXECUTE FUNCTION interlock_refuse_deletion();

CREATE TRIGGER seals_are_never_changed
    BEFORE UPDATE OR TRUNCATE ON interlock_seals
    FOR EACH STATEMENT EXECUTE FUNCTION interlock_refuse_change();

CREATE TRIGGER seals_are_never_deleted
    BEFORE DELETE ON interlock_seals
    FOR EACH ROW EXECUTE FUNCTION interlock_refuse_deletion();

ALTER TABLE interlock_records ENABLE ALWAYS TRIGGER records_are_never_changed;
ALTER TABLE interlock_records ENABLE ALWAYS TRIGGER records_are_never_deleted;
ALTER TABLE interlock_seals ENABLE ALWAYS TRIGGER seals_are_never_changed;
ALTER TABLE interlock_seals ENABLE ALWAYS TRIGGER seals_are_never_deleted;
