"""What a command line would do; knows nothing of policies.

`analysis.analyze` is the way in: a line becomes the commands that it would run, their effects,
and what could not be followed. `simulation` runs each simple command without running anything:
through wrappers, functions and aliases, into `shell_programs`, `subcommands` and `snippets`. What
is known about programs stands in `programs/programs.toml`.
"""
