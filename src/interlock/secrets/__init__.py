"""Which credentials stand in a text: rules as data, one scanner, one way to redact."""
