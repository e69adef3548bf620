"""Was it good enough? Reviews opened, checked, judged and decided, on the record."""
