"""Files, changed without damage: planned against what is there, applied as one, put back."""
