"""One file per gate: each answers one question about an action and yields findings."""
