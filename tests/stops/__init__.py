"""A package, so that it is not taken for the benchmark of the same name."""
