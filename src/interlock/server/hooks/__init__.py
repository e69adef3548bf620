"""The door for hooks: a line in, a ready-made reply out."""
