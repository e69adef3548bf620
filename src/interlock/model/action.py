"""What an agent is about to do."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class CommandAction(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="command"):
    """A shell command line and the folder it would run in."""

    command: str
    cwd: str | None = None


class ToolAction(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="tool"):
    """A tool call: parameters as parsed JSON, or as the raw text a model wrote."""

    name: str
    params: Mapping[str, object] | str


class EditAction(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="edit"):
    """A file about to be written.

    `old` is the text that `content` replaces where it is known; then the size of the
    change is computed and `diff_lines`, the caller's own figure, is not trusted.
    """

    path: str
    content: str
    old: str | None = None
    diff_lines: int | None = None


Action = CommandAction | ToolAction | EditAction
