"""What every page and every endpoint works with, and how the event loop stays free."""
