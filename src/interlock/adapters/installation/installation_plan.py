"""What an installation would change: a plan, for a person to agree to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from interlock import settings
from interlock.adapters.installation.client_hooks import (
    Client,
    Launch,
    Scope,
    plugin_text,
    settings_file,
    wanted_hooks,
)
from interlock.adapters.installation.codex_trust import trust_taken_back
from interlock.adapters.installation.file_change import (
    FileChange,
    content_of,
    kept_beside,
    text_of,
)
from interlock.adapters.installation.hook_settings import found_hooks, with_hooks, without_hooks
from interlock.adapters.installation.json_document import JsonDocument
from interlock.errors import InputError


class Plan(NamedTuple):
    """What is to change for one client."""

    client: Client
    scope: Scope
    changes: tuple[FileChange, ...]
    """In the order in which they are made; what needs no change is not among them."""
    notes: tuple[str, ...] = ()
    """What a person has to know besides."""


def install_plan(client: Client, scope: Scope, launch: Launch) -> Plan:
    """Return what puts the hooks of a client in; InputError where its settings cannot be read."""
    if launch.url is not None and client.name != "claude-code":
        raise InputError(
            f"`--transport http` is for `claude-code` only: {client.name} runs commands, or lets"
            " everything through where a server does not answer; leave it away"
        )
    path = _place(client, scope)
    before = content_of(path)
    if client.is_plugin:
        _check_plugin(path, before)
        change = FileChange(path, before, plugin_text(client, launch).encode())
    else:
        change = _settings_change(client, path, before, launch)
    return Plan(client, scope, _needed(change), _notes(client, scope, launch))


def uninstall_plan(client: Client, scope: Scope) -> Plan:
    """Return what takes the hooks of a client out again."""
    path = _place(client, scope)
    before = content_of(path)
    if before is None:
        return Plan(client, scope, ())
    if client.is_plugin:
        after = None if _is_our_plugin(before) else before
        return Plan(client, scope, _needed(FileChange(path, before, after, is_last=True)))
    text, kept = text_of(before, path), kept_beside(path)
    left = without_hooks(
        text, str(path), None if kept is None else text_of(kept, path), client.bare
    )
    after = kept if left is None else left.encode()
    changes = _needed(FileChange(path, before, after, is_last=True))
    if client.name == "codex" and changes:
        found = found_hooks(JsonDocument(text, str(path)))
        changes = (*_needed(trust_taken_back(path, found)), *changes)
    return Plan(client, scope, changes)


def _place(client: Client, scope: Scope) -> Path:
    """Return the file to change; InputError where a project's leads out of the project.

    Whoever wrote the project would have it changed for everything else as well.
    """
    path = settings_file(client, scope)
    real, folder = os.path.realpath(path), os.path.realpath(settings.working_folder())
    if scope is Scope.PROJECT and not Path(real).is_relative_to(folder):
        raise InputError(f"`{path}` leads out of the project, to `{real}`: nothing was changed")
    return path


def _settings_change(
    client: Client, path: Path, before: bytes | None, launch: Launch
) -> FileChange:
    text = "" if before is None else text_of(before, path)
    if not text.strip("\ufeff \t\r\n"):
        after = with_hooks(_new_text(client), str(path), wanted_hooks(client, launch))
        return FileChange(path, before, after.encode(), is_first=True)
    document = JsonDocument(text, str(path))
    # Most clients say nothing about settings that they cannot read, and run without hooks.
    document.check_is_read(client.name, comments=client.reads_comments, mark=client.reads_mark)
    is_first = not found_hooks(document)
    after = with_hooks(text, str(path), wanted_hooks(client, launch))
    return FileChange(path, before, after.encode(), is_first=is_first)


def _new_text(client: Client) -> str:
    members = ",".join(f'\n  "{name}": {value}' for name, value in client.bare.items())
    return f"{{{members}\n}}\n"


def _needed(change: FileChange) -> tuple[FileChange, ...]:
    return (change,) if change.changes else ()


def _is_our_plugin(content: bytes) -> bool:
    return b"hook_entry.py" in content and b"interlock" in content


def _check_plugin(path: Path, before: bytes | None) -> None:
    if before is not None and not _is_our_plugin(before):
        raise InputError(f"`{path}` is a plugin of somebody else: rename it, then try again")


def _notes(client: Client, scope: Scope, launch: Launch) -> tuple[str, ...]:
    notes = [client.project_needs] if scope is Scope.PROJECT else []
    if launch.url is not None:
        notes.append(
            f"the server has to run at {launch.url} (`interlock serve`), and INTERLOCK_TOKEN has to"
            " be set where Claude Code is started: a person makes a token with `interlock token`"
        )
    return tuple(notes)
