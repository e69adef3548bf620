"""Read, decide, record, answer: where policy meets the world."""
