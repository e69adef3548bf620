"""What is wrong with the hooks of the clients here: looked at, then tried.

To most clients a hook that is missing, switched off or broken is a yes, and they say nothing
about it. So everything that could be is named.
"""

from __future__ import annotations

import enum
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from interlock import settings
from interlock.adapters.installation.canary import Canary
from interlock.adapters.installation.client_hooks import (
    CLIENTS,
    Client,
    Scope,
    found_clients,
    home_of,
    settings_file,
)
from interlock.adapters.installation.codex_trust import (
    BY_HAND,
    TRUSTED,
    found_codex,
    is_feature_off,
)
from interlock.adapters.installation.file_change import content_of, text_of
from interlock.adapters.installation.hook_settings import FoundHook, found_hooks
from interlock.adapters.installation.json_document import JsonDocument
from interlock.errors import InterlockError, MissingExtraError, PolicyError
from interlock.extras import has_extra
from interlock.service.policies.policy_files import found_policy
from interlock.views import units

_MANAGED: Final = Path("/etc/claude-code/managed-settings.json")
_CLAUDE_WITH_ON_FAILURE: Final = (2, 1, 295)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_WITHIN_S: Final = 20
_DEADLINE: Final = re.compile(r"--deadline=([0-9]{1,6})\b")
_WORDS: Final = re.compile(r'\["(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*\]')
_SWITCHES: Final = {
    "claude-code": ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"),
    "opencode": ("OPENCODE_PURE",),
}
_MILLI: Final = 1000
BROKEN_POLICY: Final = "the policy does not load"


class Level(enum.Enum):
    """How bad it is."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Observation(NamedTuple):
    """One thing that was seen."""

    level: Level
    client: str
    scope: str
    text: str


class ClientHooks(NamedTuple):
    """How a client stands by its settings alone: nothing is run."""

    client: str
    scopes: tuple[str, ...]
    """Where it has hooks; nowhere, and it acts unasked."""
    problems: tuple[str, ...]


class _Installed(NamedTuple):
    """What stands in one file."""

    client: Client
    scope: Scope
    path: Path
    hooks: Mapping[str, Mapping[str, object]]
    """By event."""


def examined() -> Iterator[Observation]:
    """Look at every client of this machine, and try what is installed."""
    yield from _broken_policy()
    installed: list[_Installed] = []
    clients = found_clients()
    for client in clients:
        own = list[_Installed]()
        # In the home folder, the user's settings and the project's may be the same.
        places = {settings_file(client, each): each for each in reversed(Scope)}
        for scope in [each for path, each in reversed(places.items()) if path.exists()]:
            try:
                own.append(_read(client, scope))
            except InterlockError as error:
                yield Observation(Level.PROBLEM, client.name, scope.value, str(error))
        hooked = [each for each in own if each.hooks]
        installed.extend(hooked)
        if not hooked:
            yield _missing(client)
        for each in hooked:
            yield from _looked_at(each)
    yield from _twice(installed)
    if installed and not has_extra("server"):
        text = "the server, with the console and answers to hooks within milliseconds,"
        yield Observation(Level.NOTE, "", "", str(MissingExtraError(text, "server")))
    if not installed:
        text = "nothing is installed: agents act unasked; `interlock install` puts hooks in"
        yield Observation(Level.NOTE, "", "", text)


def _broken_policy() -> Iterator[Observation]:
    try:
        found_policy()
    except PolicyError as error:
        first, *more = error.complaints
        others = f"; and {units.counted(len(more), 'more complaint')}" if more else ""
        yield Observation(
            Level.PROBLEM, "", "", f"{BROKEN_POLICY}: {first}{others}: `interlock policy show`"
        )


def hooks_here() -> list[ClientHooks]:
    """Return how every client of this machine stands, from a look at its settings."""
    return [_hooks_of(client) for client in found_clients()]


def _hooks_of(client: Client) -> ClientHooks:
    scopes, problems = list[str](), list[str]()
    places = {settings_file(client, each): each for each in reversed(Scope)}
    for scope in [each for path, each in reversed(places.items()) if path.exists()]:
        try:
            found = _read(client, scope)
        except InterlockError as error:
            problems.append(str(error))
            continue
        if found.hooks:
            scopes.append(scope.value)
            problems += [text for check in (_events, _words, _switches) for text in check(found)]
    return ClientHooks(client.name, tuple(scopes), tuple(problems))


def _missing(client: Client) -> Observation:
    text = f"no hooks: it acts unasked; `interlock install {client.name}` puts them in"
    return Observation(Level.NOTE, client.name, Scope.USER.value, text)


def _read(client: Client, scope: Scope) -> _Installed:
    path = settings_file(client, scope)
    text = text_of(content_of(path) or b"", path)
    if client.is_plugin:
        found = next((each for each in _WORDS.findall(text) if "hook_entry.py" in each), None)
        words = None if found is None else cast("list[str]", json.loads(found))
        hooks = {} if words is None else {"call": {"command": words[0], "args": words[1:]}}
        return _Installed(client, scope, path, hooks)
    ours: Sequence[FoundHook] = ()
    if text.strip("\ufeff \t\r\n"):
        document = JsonDocument(text, str(path))
        document.check_is_read(client.name, comments=client.reads_comments, mark=client.reads_mark)
        ours = found_hooks(document)
    return _Installed(client, scope, path, {each.event: each.hook for each in ours})


def _looked_at(each: _Installed) -> Iterator[Observation]:
    """Yield what is wrong with one file; that all is well, where nothing is."""
    checks = (_events, _words, _switches, _trust, _version)
    problems = [text for check in checks for text in check(each)]
    tried = Canary(each.client, each.hooks).tried()
    problems.extend(f"canary: {text}" for text in tried.problems)
    for text in problems:
        yield Observation(Level.PROBLEM, each.client.name, each.scope.value, text)
    if not problems:
        count = units.counted(len(each.hooks), "hook")
        text = (
            f"{count}; a dangerous test line was denied, a harmless one allowed, in"
            f" {tried.took_ms} ms at most"
        )
        yield Observation(Level.OK, each.client.name, each.scope.value, text)
    for text in _needs(each):
        yield Observation(Level.NOTE, each.client.name, each.scope.value, text)


def _events(each: _Installed) -> Iterator[str]:
    again = f"`interlock install {each.client.name}` puts it right"
    if each.client.is_plugin:
        return
    for event in each.client.events:
        if event not in each.hooks:
            yield f"no hook for `{event}` in `{each.path}`: {again}"
    for event in each.hooks.keys() - set(each.client.events):
        yield f"a hook for `{event}`, which is no event of this client: {again}"


def _words(each: _Installed) -> Iterator[str]:
    again = f"`interlock install {each.client.name}` puts it right"
    for path in sorted({path for hook in each.hooks.values() for path in _paths(hook)}):
        if not Path(path).exists():
            yield f"`{path}` is gone: {again}"
    for event, hook in each.hooks.items():
        timeout, deadline = _timeout_s(each.client, hook), _deadline_s(hook)
        if timeout is not None and deadline is not None and timeout <= deadline:
            yield (
                f"`{event}`: the client waits {timeout:g} s and the hook takes up to {deadline} s,"
                f" so silence would be a yes: {again}"
            )


def _paths(hook: Mapping[str, object]) -> list[str]:
    """Return the interpreter and the entry that a hook runs."""
    args = hook.get("args")
    if isinstance(args, list):
        words = [str(hook.get("command")), *map(str, cast("list[object]", args))]
    else:
        words = _split(str(hook.get("bash") or hook.get("command") or ""))
    return [*words[:1], *[each for each in words if each.endswith("hook_entry.py")]]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        # The canary shows what a shell makes of it.
        return []


def _timeout_s(client: Client, hook: Mapping[str, object]) -> float | None:
    timeout = hook.get("timeoutSec", hook.get("timeout"))
    if not isinstance(timeout, int):
        return None
    return timeout / _MILLI if client.name == "gemini" else timeout


def _deadline_s(hook: Mapping[str, object]) -> int | None:
    found = _DEADLINE.search(json.dumps(hook))
    return None if found is None else int(found[1])


def _switches(each: _Installed) -> Iterator[str]:
    environment = settings.environment()
    for name in _SWITCHES.get(each.client.name, ()):
        if environment.get(name):
            yield f"{name} is set: it turns every hook off"
    for path in _settings_read(each):
        yield from _switched_off(path)


def _settings_read(each: _Installed) -> list[Path]:
    """Return the files with switches that count as well."""
    if each.client.name == "claude-code":
        folders = [home_of(each.client), settings.working_folder() / ".claude"]
        files = [folder / name for folder in folders for name in _CLAUDE_FILES]
        return [*files, _MANAGED]
    if each.client.name == "gemini":
        return [settings_file(each.client, scope) for scope in Scope]
    return []


_CLAUDE_FILES: Final = ("settings.json", "settings.local.json")


def _switched_off(path: Path) -> Iterator[str]:
    try:
        content = content_of(path)
        document = None if not content else JsonDocument(text_of(content, path), str(path))
    except (InterlockError, OSError):
        # Its own examination says so; others of its kind do not count.
        return
    told = None if document is None else document.value(document.root)
    if not isinstance(told, dict):
        return
    value = cast("dict[str, object]", told)
    for name in ("disableAllHooks", "allowManagedHooksOnly"):
        if value.get(name) is True:
            yield f"`{path}` has `{name}`: hooks are turned off"
    switched = value.get("hooksConfig")
    hooks = cast("dict[str, object]", switched) if isinstance(switched, dict) else {}
    if hooks.get("enabled") is False:
        yield f"`{path}` has `hooksConfig.enabled = false`: hooks are turned off"
    if "interlock" in cast("Iterable[object]", hooks.get("disabled") or ()):
        yield f"`{path}` has `interlock` in `hooksConfig.disabled`: it is turned off"


def _trust(each: _Installed) -> Iterator[str]:
    """Say which hooks Codex would skip: it does not say so itself."""
    if each.client.name != "codex":
        return
    try:
        if is_feature_off():
            yield "config.toml has `hooks = false` below `[features]`: hooks are turned off"
        codex = found_codex()
        seen = [] if codex is None else codex.hooks(each.path)
    except tomllib.TOMLDecodeError as error:
        yield f"Codex cannot read its config.toml: {error}"
        return
    except InterlockError as error:
        yield str(error)
        return
    if codex is None:
        return
    if len(seen) < len(each.hooks):
        yield f"Codex sees {len(seen)} of {len(each.hooks)} hooks here: is the project trusted?"
    if skipped := [one for one in seen if one.trust_status not in TRUSTED or not one.enabled]:
        yield f"{len(skipped)} hooks are not trusted, or turned off. {BY_HAND}"


def _version(each: _Installed) -> Iterator[str]:
    program = each.client.program
    if each.client.name != "claude-code":
        return
    try:
        done = subprocess.run(  # noqa: S603 - the client itself
            [program, "--version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_WITHIN_S,
            env=dict(settings.environment()),
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    found = _VERSION.search(done.stdout)
    version = tuple(map(int, found.groups())) if found else _CLAUDE_WITH_ON_FAILURE
    if version < _CLAUDE_WITH_ON_FAILURE:
        needed = ".".join(map(str, _CLAUDE_WITH_ON_FAILURE))
        yield (
            f"version {found[0] if found else ''} takes a hook that fails for a yes: update to"
            f" {needed} or later"
        )


def _needs(each: _Installed) -> Iterator[str]:
    if each.scope is Scope.PROJECT:
        yield each.client.project_needs
    if each.client.name == "codex" and found_codex() is None:
        yield f"whether Codex trusts these hooks is not known: it is not on the path. {BY_HAND}"


def _twice(installed: Sequence[_Installed]) -> Iterator[Observation]:
    """Name hooks that fire twice for one call."""
    names = {(each.client.name, each.scope) for each in installed}
    for name in CLIENTS:
        if {(name, Scope.USER), (name, Scope.PROJECT)} <= names:
            text = "installed for the user and for this project: each call may be asked about twice"
            yield Observation(Level.NOTE, name, Scope.PROJECT.value, text)
    has_copilot = any(client == "copilot" for client, _ in names)
    if has_copilot and ("claude-code", Scope.PROJECT) in names:
        text = "Copilot runs the hooks of this project's .claude/settings.json as well: twice"
        yield Observation(Level.NOTE, "copilot", Scope.PROJECT.value, text)
