"""Remembering: an append-only, chained record, and the accounts that follow from it."""
