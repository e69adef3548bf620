"""A command line → what it would run, and what that would do.

`syntax` parses, `walk` follows statements, `expand` makes words of them, `run` resolves each
simple command through wrappers and nested interpreters, and `effects` says what it would do.
"""
