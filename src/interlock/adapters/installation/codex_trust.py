"""Codex runs only hooks that a person trusts, and says nothing about the others.

Which hooks it sees, and what their hashes are, Codex itself says; a person's yes is written to its
config.toml as text, and taken out of it again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

import msgspec

from interlock import settings
from interlock.adapters.installation.client_hooks import CLIENTS, home_of
from interlock.adapters.installation.file_change import (
    FileChange,
    content_of,
    kept_beside,
    text_of,
)
from interlock.adapters.installation.hook_settings import FoundHook
from interlock.errors import InputError, UnavailableError

TRUSTED: Final = frozenset(("trusted", "managed"))
"""What Codex calls a hook that it runs."""
BY_HAND: Final = (
    "Codex skips hooks that are not trusted, silently: start `codex`, type `/hooks`, and"
    " trust those of Interlock"
)
_WITHIN_S: Final = 30
_LISTING: Final = 2
_TABLE: Final = re.compile(
    r"^\[hooks\.state\.(?P<key>\"[^\"\r\n]*\"|'[^'\r\n]*')\][ \t]*(?:\r?\n|\Z)"
    r"(?:[a-z_]+[ \t]*=[^\r\n]*(?:\r?\n|\Z))*",
    re.MULTILINE,
)
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class TrustedHook(msgspec.Struct, frozen=True, rename="camel"):
    """A hook as Codex sees it."""

    key: str
    current_hash: str
    trust_status: str
    source_path: str = ""
    command: str | None = None
    enabled: bool = True


class _Listed(msgspec.Struct, frozen=True):
    hooks: tuple[TrustedHook, ...] = ()


class _Result(msgspec.Struct, frozen=True):
    data: tuple[_Listed, ...] = ()


class _Message(msgspec.Struct, frozen=True):
    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: object = None


class Codex(NamedTuple):
    """The program, where it is on this machine."""

    program: str

    def hooks(self, path: Path) -> list[TrustedHook]:
        """Return the hooks of ours in a file as Codex sees them."""
        places = {str(path), os.path.realpath(path)}
        return [
            each
            for each in self._listed(settings.working_folder())
            if each.source_path in places and "hook_entry.py" in (each.command or "")
        ]

    def _listed(self, folder: Path) -> tuple[TrustedHook, ...]:
        told = {"clientInfo": {"name": "interlock", "title": "Interlock", "version": "1"}}
        messages = (
            {"id": 1, "method": "initialize", "params": told},
            {"method": "initialized"},
            {"id": _LISTING, "method": "hooks/list", "params": {"cwds": [str(folder)]}},
        )
        with subprocess.Popen(  # noqa: S603 - the program that the person named
            [self.program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # What one that has ended did not take is not written once more when all is closed.
            bufsize=0,
        ) as process:
            late = threading.Timer(_WITHIN_S, process.kill)
            late.start()
            try:
                return _asked(process, messages)
            finally:
                late.cancel()
                process.kill()


def found_codex() -> Codex | None:
    """Return Codex, if it is on the path."""
    program = shutil.which("codex", path=settings.environment().get("PATH"))
    return None if program is None else Codex(program)


def trust_given(hooks: Sequence[TrustedHook]) -> FileChange:
    """Return the change that has Codex run these hooks."""
    path = _config_file()
    before = content_of(path)
    text = "" if before is None else text_of(before, path)
    # An entry for an earlier form of the hook would be the same table twice.
    keys = {each.key: each.current_hash for each in hooks if each.trust_status not in TRUSTED}
    bare = _without_tables(text, keys)
    tables = "".join(_table(key, value) for key, value in keys.items())
    if bare and not bare.endswith("\n"):
        tables = "\n" + tables.removesuffix("\n")
    after = bare + tables
    _check(after, path)
    is_first = _without_tables(text, [each.key for each in hooks]) == text
    return FileChange(path, before, after.encode(), is_first=is_first)


def trust_taken_back(path: Path, found: Sequence[FoundHook]) -> FileChange:
    """Return the change that takes the trust in these hooks of a file out again."""
    config = _config_file()
    before = content_of(config)
    if before is None:
        return FileChange(config, None, None)
    names = {str(path), os.path.realpath(path)}
    keys = {
        f"{name}:{_HUMP.sub('_', each.event).lower()}:{each.group}:{each.number}"
        for name in names
        for each in found
    }
    left = _without_tables(text_of(before, config), keys).encode()
    after = None if not left.strip() and kept_beside(config) is None else left
    return FileChange(config, before, after, is_last=True)


def is_feature_off() -> bool:
    """Whether Codex is told to run no hooks at all."""
    content = content_of(_config_file())
    if content is None:
        return False
    features = tomllib.loads(content.decode()).get("features", {})
    return cast("dict[str, object]", features).get("hooks") is False


def _config_file() -> Path:
    return home_of(CLIENTS["codex"]) / "config.toml"


def _asked(process: subprocess.Popen[bytes], messages: Sequence[object]) -> tuple[TrustedHook, ...]:
    if process.stdin is None or process.stdout is None:
        raise AssertionError
    try:
        # It answers in order, and what is asked too early waits.
        process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
        answer = _answer(process.stdout, _LISTING)
    except (OSError, msgspec.DecodeError) as error:
        raise UnavailableError(f"`codex app-server` gave no answer: {error}; {BY_HAND}") from error
    listed = msgspec.convert(msgspec.json.decode(answer), _Result)
    return tuple(hook for each in listed.data for hook in each.hooks)


def _answer(lines: Iterable[bytes], number: int) -> msgspec.Raw:
    for line in lines:
        message = msgspec.json.decode(line, type=_Message)
        if message.id == number and message.error is None:
            return message.result
        if message.id == number:
            raise UnavailableError(f"`codex app-server` refused to list hooks; {BY_HAND}")
    raise UnavailableError(f"`codex app-server` ended without an answer; {BY_HAND}")


def _table(key: str, value: str) -> str:
    return (
        f"[hooks.state.{json.dumps(key, ensure_ascii=False)}]\ntrusted_hash = {json.dumps(value)}\n"
    )


def _without_tables(text: str, keys: Iterable[str]) -> str:
    for found in reversed(list(_named_tables(text, frozenset(keys)))):
        start, end = found.span()
        # The last line had no end: neither has what is left of it.
        if start and end >= len(text) and not text.endswith("\n"):
            start -= 2 if text[start - 2 : start] == "\r\n" else 1
        text = text[:start] + text[end:]
    return text


def _named_tables(text: str, keys: frozenset[str]) -> Iterator[re.Match[str]]:
    for found in _TABLE.finditer(text):
        try:
            named = tomllib.loads(f"key = {found['key']}")["key"]
        except tomllib.TOMLDecodeError:
            continue
        if named in keys:
            yield found


def _check(text: str, path: Path) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"`{path}`: the trust cannot be written there: {error}; nothing was changed. {BY_HAND}"
        ) from None
