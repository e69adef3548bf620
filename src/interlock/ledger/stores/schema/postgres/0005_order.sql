-- The end of the order of all records: how many, and the hash that follows from each of them.
-- Places in it are consecutive, in the order of commits.

ALTER TABLE interlock_records ALTER COLUMN position DROP IDENTITY;
ALTER TABLE interlock_records DISABLE TRIGGER records_are_never_changed;

-- In two steps: no two records may have one place, not even meanwhile.
UPDATE interlock_records AS record SET position = -numbered.place
FROM (
    SELECT position, row_number() OVER (ORDER BY position) AS place FROM interlock_records
) AS numbered
WHERE record.position = numbered.position;
UPDATE interlock_records SET position = -position;

ALTER TABLE interlock_records ENABLE ALWAYS TRIGGER records_are_never_changed;

CREATE TABLE interlock_head (
    records bigint NOT NULL,
    runs bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    at bigint NOT NULL
) WITH (fillfactor = 10);

CREATE UNIQUE INDEX interlock_one_head ON interlock_head ((true));

DO $$
DECLARE
    record interlock_records;
    head interlock_head;
BEGIN
    SELECT 0, count(*), '', 0 INTO head FROM interlock_runs;
    FOR record IN SELECT * FROM interlock_records ORDER BY position LOOP
        head.records := record.position;
        head.hash := encode(sha256(convert_to(head.hash || record.hash, 'UTF8')), 'hex');
        head.at := record.at;
    END LOOP;
    INSERT INTO interlock_head SELECT (head).*;
END
$$;

-- Gives records their places and adds them. Whoever calls this commits next: until then every
-- other writer waits here.
CREATE FUNCTION interlock_append(
    run_ids text[], seqs bigint[], ats bigint[], kinds text[], bodies bytea[], hashes text[]
) RETURNS SETOF interlock_head LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    head interlock_head;
    hash text;
BEGIN
    SELECT * INTO STRICT head FROM interlock_head FOR UPDATE;
    INSERT INTO interlock_records (position, run_id, seq, at, kind, body, hash)
    SELECT head.records + place, added.run_id, added.seq, added.at, added.kind, added.body, added.hash
    FROM unnest(run_ids, seqs, ats, kinds, bodies, hashes) WITH ORDINALITY
        AS added (run_id, seq, at, kind, body, hash, place);
    FOREACH hash IN ARRAY hashes LOOP
        head.hash := encode(sha256(convert_to(head.hash || hash, 'UTF8')), 'hex');
    END LOOP;
    head.records := head.records + cardinality(hashes);
    head.runs := head.runs + (SELECT count(*) FROM unnest(seqs) AS started (seq) WHERE seq = 1);
    head.at := ats[cardinality(ats)];
    UPDATE interlock_head AS kept
    SET records = head.records, runs = head.runs, hash = head.hash, at = head.at;
    RETURN NEXT head;
END
$$;
