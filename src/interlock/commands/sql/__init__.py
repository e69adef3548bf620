"""What a text of SQL would do."""
