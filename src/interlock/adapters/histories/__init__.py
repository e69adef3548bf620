"""What clients and benchmarks wrote down of past runs, read into the words of all."""
