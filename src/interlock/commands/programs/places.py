"""What kind of place a path is: temporary, ours, the system's, a credential store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from interlock.commands.programs.globs import GlobSet, may_name
from interlock.commands.shell.provenance import (
    ENDLESS,
    NOTHING,
    REMOTE,
    SECRET,
    SYSTEM_FILE,
    TYPED,
    UNKNOWN_FILE,
    Stream,
)
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word

ROOT: Final = 1
HOME: Final = 2
SYSTEM_ROOT: Final = 4
SYSTEM: Final = 8
DEVICE: Final = 16
GIT: Final = 32
CREDENTIAL: Final = 64
HISTORY: Final = 128
PERSISTENCE: Final = 256
TEMP: Final = 512
SCRATCH: Final = 1024
PROJECT: Final = 2048
OUTSIDE: Final = 4096
UNKNOWN: Final = 8192
OWN: Final = 16384
"""Temporary, and yet in the folder that the command runs in: a project that lies in `/tmp`."""

NAMES: Final = {
    "root": ROOT,
    "home": HOME,
    "system-root": SYSTEM_ROOT,
    "system": SYSTEM,
    "device": DEVICE,
    "git": GIT,
    "credential": CREDENTIAL,
    "history": HISTORY,
    "persistence": PERSISTENCE,
    "temp": TEMP,
    "scratch": SCRATCH,
    "project": PROJECT,
    "outside": OUTSIDE,
    "unknown": UNKNOWN,
}
_ROOTS: Final = frozenset(("/", "/*", "/.*", "/.", "/**", "c:", "c:/", "c:/*", "C:", "C:/", "C:/*"))
_HOMES: Final = frozenset(("~", "~/*", "~/.*", "~/", "~/**", "$HOME"))
_HOME_PARENTS: Final = ("/home/", "/Users/", "C:/Users/")
_HOME_FOLDERS: Final = (*_HOME_PARENTS, "/root/", "/var/root/")
_HIDDEN: Final = "/."
_STARTS_OF_HOMES: Final = frozenset("~/C")
_DESCRIPTOR_FOLDERS: Final = ("/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/")
_OTHER_ROOTS: Final = ("/proc/", "/private/etc/")
_OF_A_PROCESS: Final = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?/(root|cwd)(?=/|$)")
_PASSING_NAME: Final = re.compile(
    r"\$\w{0,40}?(?:(?i:tmp|temp)(?i:_?(?:dir|file|folder|path|root))?|(?i:pid|lock|sock(?:et)?)_?(?i:file))"
    r"(?:/[^*?.$][^$]{0,400})?"
)
"""Variables that by their name lead to what soon goes, and what lies below; not all of it: they may
be empty."""
_DEVICES: Final = {
    "/dev/null": NOTHING,
    "/dev/tty": Stream(TYPED),
    **dict.fromkeys(("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"), Stream(ENDLESS)),
}
"""What comes out of devices."""
MAX_PATH: Final = 4096
"""No system takes a longer one."""
_CACHED: Final = 4096


class PlaceList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which paths are one kind of place."""

    paths: tuple[str, ...]
    unless: tuple[str, ...] = ()


class Places:
    """Recognises places by the lists of `places.toml` and the policy's own folders."""

    __slots__ = ("_any", "_credentials", "_lists", "_scratch", "_temp", "credential_like", "of")

    def __init__(
        self, lists: Mapping[str, PlaceList], *, scratch: Sequence[str], temp: Sequence[str]
    ) -> None:
        self._any = GlobSet([path for entry in lists.values() for path in entry.paths])
        self._lists = [
            (NAMES[name], GlobSet(entry.paths), GlobSet(entry.unless))
            for name, entry in lists.items()
        ]
        self._scratch = GlobSet(scratch)
        self._temp = tuple(folder.rstrip("/") for folder in temp)
        # Agents name the same few paths all the time.
        self.of = lru_cache(maxsize=_CACHED)(self._of)
        self._credentials = lists["credential"].paths
        self.credential_like = lru_cache(maxsize=_CACHED)(self._credential_like)

    def _of(self, path: str, project: str | None = None) -> int:
        """Return the bits of every kind of place that `path`, normalised, is."""
        path = canonical_path(path[:MAX_PATH])
        bits = self._where(path, project) | self._listed(path)
        if path.endswith(("/*", "/.*")):
            # All that lies in a folder is as much as the folder.
            bits |= self._listed(path.rpartition("/")[0]) & SYSTEM_ROOT
        return bits & ~SCRATCH if bits & (CREDENTIAL | GIT | SYSTEM_ROOT | PERSISTENCE) else bits

    def at(self, text: str, scope: Scope) -> int:
        """Return the same for a path as it is written in a command, or for what it leads to."""
        path = scope.path(text)
        if text[:1] == "$" and text.find("/") == len(text) - 1:
            # `$tmp/` is everything where the variable is empty.
            path += "/"
        return self.of(scope.followed(path) if scope.links else path, scope.project)

    def stream(self, target: Word, scope: Scope) -> Stream:
        """Return what lies in a file: what this line wrote there, or what the place tells."""
        name = target.text
        # `/dev/fd/3` is descriptor 3.
        descriptor = name.rpartition("/")[2] if name.startswith(_DESCRIPTOR_FOLDERS) else name
        opened = scope.defined.descriptors.get(descriptor)
        if opened is not None:
            return opened
        path = scope.path(name)
        written = scope.held(path)
        if written is not None:
            return Stream(written.labels | target.labels, written.text)
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            return Stream(REMOTE)
        if path in _DEVICES:
            return _DEVICES[path]
        bits = self.of(path, scope.project)
        labels = target.labels | (SECRET if bits & CREDENTIAL else 0)
        if bits & (SYSTEM | SYSTEM_ROOT | HISTORY):
            labels |= SYSTEM_FILE
        return Stream(labels if target.known else labels | UNKNOWN_FILE)

    def is_credential(self, path: str) -> bool:
        """Whether a login or key lies there."""
        return bool(self._listed(canonical_path(path[:MAX_PATH])) & CREDENTIAL)

    def _credential_like(self, pattern: str) -> str | None:
        """Return the place of a login or key that a pattern may stand for."""
        for parent in _HOME_PARENTS:
            # Everybody's home is somebody's.
            if pattern.startswith(f"{parent}*/"):
                pattern = "~" + pattern[len(parent) + 1 :]
        pattern = canonical_path(pattern[:MAX_PATH])
        path = pattern if self.is_credential(pattern) else may_name(pattern, self._credentials)
        return path if path is not None and self.is_credential(path) else None

    def _listed(self, path: str) -> int:
        if not self._any.matches(path):
            # There are file systems to which `~/.SSH/ID_RSA` is the same file.
            lowered = path.lower() if _HIDDEN in path or path[:1] == "." else path
            return self._listed(lowered) & CREDENTIAL if lowered != path else 0
        bits = 0
        for bit, listed, unless in self._lists:
            if listed.matches(path) and not unless.matches(path):
                bits |= bit
        return bits

    def _where(self, path: str, project: str | None) -> int:
        """Return where the path stands: exactly one of root, home, temp, project, outside..."""
        if path in _ROOTS or _is_root_glob(path):
            return ROOT
        if path in _HOMES:
            return HOME
        if self._is_temp(path):
            return TEMP | self._own(path, project)
        return self._elsewhere(path, project)

    def _own(self, path: str, project: str | None) -> int:
        folder = None if project is None else canonical_path(project)
        if folder is None or not self._is_temp(folder):
            return 0
        inside = _below(path, folder)
        return 0 if inside is None else OWN | self._scratch_bit(inside)

    def _elsewhere(self, path: str, project: str | None) -> int:
        inside = _below(path, canonical_path(project)) if project else None
        if inside is not None:
            return PROJECT | self._scratch_bit(inside)
        if path.startswith("$"):
            if _PASSING_NAME.fullmatch(path):
                return TEMP
            return UNKNOWN | (0 if "/.." in path else self._scratch_bit(path))
        if path.startswith(("/", "~", "..")) or path[1:2] == ":":
            return OUTSIDE
        return PROJECT | self._scratch_bit(path)

    def is_scratch(self, path: str) -> bool:
        """Whether a path leads through a folder of things that were made, from where one stands."""
        return path[:1] != "/" and bool(self._scratch_bit(path))

    def _scratch_bit(self, path: str) -> int:
        """Whether one of the folders on the way is scratch."""
        return SCRATCH if any(map(self._scratch.matches, path.split("/"))) else 0

    def _is_temp(self, path: str) -> bool:
        """Below a temporary folder; the shared folder itself is everybody's."""
        for folder in self._temp:
            if path.startswith(folder):
                rest = path[len(folder) :]
                if rest[:1] == "/":
                    return (
                        rest not in {"/", "/*", "/.*"}
                        and "/../" not in rest
                        and not rest.endswith("/..")
                    )
                if not rest and folder.startswith("$"):
                    return True
        return False


def as_project(bits: int) -> int:
    """Return the place as it is where a project counts as one wherever it lies."""
    return bits & ~TEMP | PROJECT if bits & OWN else bits


def canonical_path(path: str) -> str:
    """Write every home folder as `~` and every backslash as a slash."""
    if "\\" in path:
        path = path.replace("\\", "/")
    if path.startswith(_OTHER_ROOTS):
        path = _seen_from_the_root(path)
    if path[:1] not in _STARTS_OF_HOMES:
        return path
    if path.startswith("~") and path[1:2] not in {"", "/"}:
        return "~" + path.partition("/")[1] + path.partition("/")[2]
    if not path.startswith(_HOME_FOLDERS):
        return path
    for parent in _HOME_PARENTS:
        if path.startswith(parent):
            name, slash, rest = path[len(parent) :].partition("/")
            return f"~{slash}{rest}" if name and name != "*" else parent[:-1]
    return "~/" + path.partition("root/")[2]


def _seen_from_the_root(path: str) -> str:
    """`/proc/self/root/etc` is `/etc`, and `/proc/self/cwd/a` is `a`, however often it is said."""
    while (found := _OF_A_PROCESS.match(path)) is not None:
        rest = path[found.end() :].lstrip("/")
        path = rest or "." if found[1] == "cwd" else f"/{rest}"
    return path.removeprefix("/private") if path.startswith("/private/etc/") else path


def _is_root_glob(path: str) -> bool:
    """`/et?` and `/u*` name system folders in disguise."""
    return path.startswith("/") and "/" not in path[1:] and any(char in path for char in "*?[")


def _below(path: str, folder: str) -> str | None:
    """Return `path` relative to `folder` if it lies strictly below it."""
    folder = folder.rstrip("/")
    return path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else None
