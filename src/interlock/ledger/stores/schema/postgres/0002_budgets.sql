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
