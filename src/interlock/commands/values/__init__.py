"""What is computed in a text of the shell, exactly or not at all: forms, patterns, arithmetic.

Nothing here knows of variables or commands; `allowance` counts what computing may cost.
"""
