"""Agent clients that have hooks: what each says to them, and how each is answered."""
