"""Past runs: decided again from what was recorded."""
