"""What people look at: a run, its timeline, an explanation, the inbox; values, not text."""
