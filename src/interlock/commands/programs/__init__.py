"""What is known of programs: how they read their words, what they do, and to which places."""
