"""What a person can type."""
