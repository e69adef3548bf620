"""The five questions, each in the same shape: prepare, decide, record, answer."""
