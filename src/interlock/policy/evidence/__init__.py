"""How did the run go? What its actions changed, and what the evaluators say at its end."""
