"""Who may decide, and how they prove it."""
