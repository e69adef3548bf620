"""Thresholds that keep a promise: what past runs with known outcomes say about them."""
