"""The door for programs and browsers: HTTP, live events, the console."""
