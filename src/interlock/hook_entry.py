"""The entry of a hook, which clients run: `python -I -S hook_entry.py DIALECT [ARGS]`.

Python compiles the file that it runs each time, and what that imports only once: so all there is to
do stands in `hook_asker`.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    import hook_asker  # pyright: ignore[reportMissingImports] - beside this file

    hook_asker.end(sys.argv[1:])
