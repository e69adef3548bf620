"""Edits, governed: planned, judged, applied and put back, all of it on the record."""
