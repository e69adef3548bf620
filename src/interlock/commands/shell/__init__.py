"""The language of the shell: words, syntax, statements, what a shell knows while it runs.

`syntax` parses, `plain_lines` reads what needs no grammar, `statements` follows what was read and
`expansion` makes words of it, read by `word_reader`. What the programs do is not known here.
"""
