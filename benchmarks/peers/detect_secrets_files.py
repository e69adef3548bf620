"""detect-secrets as a peer: each text as a file, with its own defaults."""

from __future__ import annotations

import tempfile
from importlib import metadata
from importlib.util import find_spec

from answers import absent, serve


def main() -> None:
    """Answer for it, where it is installed."""
    if find_spec("detect_secrets") is None:
        absent("detect-secrets", "`make install` brings it")
        return
    from detect_secrets.settings import default_settings  # noqa: PLC0415 - it may not be there

    with default_settings():
        version = metadata.version("detect-secrets")
        serve("detect-secrets", version, _alarms, kind="text", at_once=1)


def _alarms(text: str) -> bool:
    from detect_secrets.core.scan import scan_file  # noqa: PLC0415 - it may not be there

    # A single line given to it as such is judged without its limits and filters; a file is not.
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return any(True for _ in scan_file(file.name))


if __name__ == "__main__":
    main()
