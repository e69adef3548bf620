-- The end of the order of all records: how many, and the hash that follows from each of them.
-- Places in it are consecutive, and given by whoever writes.

CREATE TABLE head (
    records INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

INSERT INTO head (records, runs, hash, at) SELECT
    (SELECT count(*) FROM records),
    (SELECT count(*) FROM runs),
    (SELECT order_hash(hash ORDER BY position) FROM records),
    coalesce((SELECT at FROM records ORDER BY position DESC LIMIT 1), 0);

CREATE TRIGGER the_head_is_one BEFORE INSERT ON head
BEGIN SELECT RAISE(ABORT, 'there is one head'); END;

CREATE TRIGGER the_head_is_never_deleted BEFORE DELETE ON head
BEGIN SELECT RAISE(ABORT, 'the head is never deleted'); END;
