"""The system loop on the record: what came in, what was decided, what went out."""
