"""What a person can type: one file for each command, or for those that belong together."""
