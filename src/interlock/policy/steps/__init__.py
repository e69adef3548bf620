"""Should the run go on? What is decided before each step, and what it is decided from."""
