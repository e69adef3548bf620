"""What a command line would do; knows nothing of policies."""
