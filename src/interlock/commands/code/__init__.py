"""What a snippet of code would call, and what those calls would do."""
