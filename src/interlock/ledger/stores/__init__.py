"""Where records are stored: in memory, in SQLite, in Postgres."""
