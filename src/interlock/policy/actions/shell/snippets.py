"""x."""
from __future__ import annotations
def follow_code(*a, **k): pass
def follow_sql(*a, **k): pass
def follow_bare_statement(*a, **k): return False
