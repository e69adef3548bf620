"""A policy file to start from: every key as a comment, with its default."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.policy.config.key import Tighter
from interlock.policy.config.keys import KEYS

_USER_HEADING = """\
# Your policy: it counts in all your projects, and a project's own file may only tighten it.
#
# Everything below is a comment that shows the default. Take the `#` away from what you change.
"""
_PROJECT_HEADING = """\
# This project's policy: it counts in this project only, and may only tighten the user's own.
#
# Everything below is a comment that shows the default. Take the `#` away from what you change.
"""
_USER_ONLY = {
    key.path: f"# `{key.name}` stands in the user's file only."
    for key in KEYS
    if key.tighter is Tighter.USER_ONLY
}


def user_starter(defaults: str, *, fingerprint_key: str) -> str:
    """Return the default policy as comments, with nothing set but the fingerprint key."""
    own_key = {"secrets.fingerprint-key": f'fingerprint-key = "{fingerprint_key}"'}
    return f"{_USER_HEADING}\n{_commented(defaults, own_key)}"


def project_starter(defaults: str) -> str:
    """Return the default policy as comments, without what only the user's file may hold."""
    return f"{_PROJECT_HEADING}\n{_commented(defaults, _USER_ONLY)}"


def _commented(defaults: str, instead: Mapping[str, str]) -> str:
    lines: list[str] = []
    section = ""
    for line in defaults.splitlines():
        if line.startswith("[") and not line.startswith("[["):
            section = line.strip("[]")
            lines.append(line)
            continue
        path = f"{section}.{line.partition(' = ')[0]}"
        lines.append(instead.get(path, _as_comment(line)))
    return "\n".join([*lines, ""])


def _as_comment(line: str) -> str:
    is_prose = not line.strip() or line.lstrip().startswith("#")
    return line if is_prose else f"#{line}"
