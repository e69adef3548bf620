"""Where things are: the only reader of the environment.

Nothing here opens a policy; it only says which files to open.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from interlock.errors import InputError
from interlock.model.own_places import OwnPlaces

PROJECT_FILE = "interlock.toml"


class Places(NamedTuple):
    """Which policy files count, and where new ones belong."""

    user_file: Path
    """Where the user's policy is, or would be."""
    user: Path | None
    """The user's policy, where there is one or one was named in `INTERLOCK_POLICY`."""
    project_file: Path
    """Where the project's policy is, or would be."""
    project: tuple[Path, ...]
    """The project's policies, the outermost first: each may only tighten those before it."""


def user_name() -> str:
    """Return what the operating system calls the account of this process."""
    import getpass  # noqa: PLC0415 - most questions name nobody

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "operator"


def working_folder() -> Path:
    """Return the folder that this process is in."""
    return Path(_current_folder())


def _current_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - asked for each question: a path object takes longer
    except OSError as error:
        raise InputError(
            "the working folder is gone: go to one that exists, and ask again"
        ) from error


RUN_VARIABLE: Final = "INTERLOCK_RUN"
"""Names the run that a process works in, for whatever it starts."""


def current_run() -> str | None:
    """Return the run that this process was started in, if it was told."""
    return os.environ.get(RUN_VARIABLE) or None


def environment() -> Mapping[str, str]:
    """Return the environment of this process, for programs that are started in it."""
    return dict(os.environ)


_SHARED: Final = 16
_FOUND_BY: Final = ("INTERLOCK_POLICY", "INTERLOCK_CONFIG_HOME", "XDG_CONFIG_HOME", "HOME")


FileTrace = tuple[int, int, int] | bool
PolicyTraces = tuple[tuple[str | None, ...], tuple[FileTrace, ...]]


def policy_traces() -> PolicyTraces:
    """Return all that the current policy hangs on: while it stays the same, so does the policy."""
    looked_for_by = (_current_folder(), *map(os.environ.get, _FOUND_BY))
    user_file, project_files, marks = _looked_at(looked_for_by)
    project = [file_trace(each) for each in project_files]
    # Where a project ends matters only where a policy stands; git itself writes there all the time.
    roots = [_is_there(each) for each in marks] if any(project) else ()
    return looked_for_by, (file_trace(user_file), *project, *roots)


@lru_cache(_SHARED)
def _looked_at(
    looked_for_by: Sequence[str | None],
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the user's file, and in each folder upwards the project's and what marks its root."""
    cwd = Path(looked_for_by[0] or "")
    folders = (cwd, *cwd.parents)
    return (
        str(current_user_file()),
        tuple(str(each / PROJECT_FILE) for each in folders),
        tuple(str(each / ".git") for each in folders),
    )


def file_trace(file: str) -> FileTrace:
    """Return what changes with a file; where nothing can be seen, whether anything stands there."""
    if not _is_there(file):
        return False
    try:
        found = os.stat(file)  # noqa: PTH116 - asked for each question: a path object takes longer
    except OSError:
        return True
    return found.st_ino, found.st_mtime_ns, found.st_size


def _is_there(path: str) -> bool:
    """Whether anything stands there, a link to nowhere too; asked often, mostly in vain."""
    return os.access(path, os.F_OK, follow_symlinks=False)


def current_places() -> Places:
    """Return the places as this process finds them."""
    return places(os.environ, home=Path.home(), cwd=working_folder())


def places(environment: Mapping[str, str], *, home: Path, cwd: Path) -> Places:
    """Return the places as an environment and a working folder make them."""
    named = environment.get("INTERLOCK_POLICY")
    user_file = _user_file(environment, home)
    folders, root = _project_folders(cwd)
    found = [file for folder in folders if _stands(file := folder / PROJECT_FILE)]
    return Places(
        user_file=user_file,
        # A file that was named must be read: falling back to the defaults would loosen unasked.
        user=user_file if named or _stands(user_file) else None,
        project_file=found[0] if found else root / PROJECT_FILE,
        project=tuple(reversed(found)),
    )


class LedgerPlaces(NamedTuple):
    """Where the ledger and what belongs to it are."""

    ledger: str
    """The path of a file, or a database's URL."""
    keys: Path
    """The folder of the keys that seal ledgers."""
    undo: Path
    """The folder of what can be put back: files as they were before they were changed."""
    token: str | None
    """The agent's token that this process was given, if any."""


def current_ledger_places() -> LedgerPlaces:
    """Return the ledger's places as this process finds them."""
    home = Path.home()
    config, state = _config_folder(os.environ, home), _state_folder(os.environ, home)
    return LedgerPlaces(
        ledger=os.environ.get("INTERLOCK_LEDGER") or str(state / "ledger.db"),
        keys=config / "keys",
        undo=state / "undo",
        token=os.environ.get("INTERLOCK_TOKEN") or None,
    )


class MovedKeys(NamedTuple):
    """Which variable says where keys are, and where they would be without it."""

    variable: str
    usual: Path


def moved_keys() -> MovedKeys | None:
    """Return by which variable the folder of keys is another than usual, if it is."""
    usual = _config_folder({}, Path.home()) / "keys"
    for variable in ("INTERLOCK_CONFIG_HOME", "XDG_CONFIG_HOME"):
        if os.environ.get(variable) and current_ledger_places().keys != usual:
            return MovedKeys(variable, usual)
    return None


class Cause(NamedTuple):
    """What the loop told a job about itself, and so whatever the job starts."""

    decision: str | None
    """The decision of the loop that led to it."""
    run: str | None
    """The run that it is."""


def current_cause() -> Cause:
    """Return what led to this process, where the loop did."""
    return Cause(
        decision=os.environ.get("INTERLOCK_CAUSE") or None,
        run=os.environ.get("INTERLOCK_RUN") or None,
    )


class LoopPlaces(NamedTuple):
    """Where the loop keeps what is not in the ledger."""

    engine: str
    """The path of the engine's file, or a database's URL."""
    folder: Path
    """Where it writes alerts, and notes that it took from the queue."""


def current_loop_places(ledger: str) -> LoopPlaces:
    """Return the places of the loop over a ledger, as this process finds them."""
    named = os.environ.get("INTERLOCK_ENGINE")
    if "://" in ledger:
        return LoopPlaces(named or ledger, _state_folder(os.environ, Path.home()) / "loop")
    # By whatever name the ledger is called, its loop is one.
    engine, folder = _beside(Path(ledger).expanduser().resolve())
    return LoopPlaces(named or str(engine), folder)


def _beside(ledger: Path) -> tuple[Path, Path]:
    return ledger.with_name(f"{ledger.name}.loop.db"), ledger.with_name(f"{ledger.name}.loop")


def server_url() -> str | None:
    """Return where programs ask, where `INTERLOCK_SERVER` names a server elsewhere."""
    return os.environ.get("INTERLOCK_SERVER") or None


SERVER_PORT: Final = 7420
"""Where a server listens that was told nothing else."""


class ServerPlaces(NamedTuple):
    """Where the server of a ledger is found on this machine."""

    folder: Path
    """Nobody but its user may look into it."""
    socket: Path
    """Where it speaks HTTP."""
    hooks: Path
    """Where hooks ask, a line each."""
    lock: Path
    """Held by the server that runs."""
    note: Path
    """What the server says about itself: no secrets."""


def current_server_places(ledger: str) -> ServerPlaces:
    """Return the places of the server over a ledger, as this process finds them."""
    shared = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    state = _state_folder(os.environ, Path.home())
    folder = shared / "interlock" if shared.is_absolute() and shared.is_dir() else state / "run"
    name = "server" if ledger == str(state / "ledger.db") else _server_name(ledger)
    if len(os.fsencode(folder / f"{name}.hooks")) > _LONGEST_SOCKET:
        # Made for this user alone; ledgers of several homes meet there.
        folder, name = Path(f"/tmp/interlock-{os.getuid()}"), _server_name(ledger)  # noqa: S108 - see above
    return ServerPlaces(
        folder=folder,
        socket=folder / f"{name}.http",
        hooks=folder / f"{name}.hooks",
        lock=folder / f"{name}.lock",
        note=folder / f"{name}.json",
    )


def current_pin_file() -> Path:
    """Return where it is noted what the tools of MCP servers were when they were first seen."""
    return _state_folder(os.environ, Path.home()) / "mcp-pins.json"


def current_audit_folder() -> Path:
    """Return the folder of audits: what past runs came to, and what people thought of it."""
    return _state_folder(os.environ, Path.home()) / "audits"


def current_demo_folder() -> Path:
    """Return where the demo keeps its own ledger: nothing of the user's is in it."""
    return _state_folder(os.environ, Path.home()) / "demo"


_LONGEST_SOCKET: Final = 100
"""So many bytes every system takes as the name of a socket."""


def _server_name(ledger: str) -> str:
    import hashlib  # noqa: PLC0415 - only for ledgers elsewhere

    named = ledger if "://" in ledger else os.path.realpath(os.path.expanduser(ledger))  # noqa: PTH111 - as a text
    return hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def current_own_places(
    *, ledgers: Sequence[str] = (), keys: Path | None = None, undo: Path | None = None
) -> OwnPlaces:
    """Return where Interlock itself is, with what `Interlock.open` was told besides."""
    places = current_ledger_places()
    return own_places(
        home=Path.home(),
        user_file=current_user_file(),
        ledgers=(places.ledger, *ledgers),
        secrets=(_config_folder(os.environ, Path.home()), places.keys, *_given(keys)),
        state=(
            _state_folder(os.environ, Path.home()),
            places.undo,
            *_given(undo),
            *_moved_settings(os.environ),
        ),
    )


_MOVED_BY: Final = {
    "CLAUDE_CONFIG_DIR": ("settings.json", "settings.local.json"),
    "CODEX_HOME": ("config.toml", "hooks.json", "rules"),
    "COPILOT_HOME": ("config.json", "hooks", "settings.json"),
    "XDG_CONFIG_HOME": ("opencode",),
}
"""Variables that move the settings of agents' clients, with what hooks hang on there."""


def _moved_settings(environment: Mapping[str, str]) -> list[Path]:
    """Return the settings of clients that are not where the policy knows them."""
    return [
        Path(folder, name)
        for variable, names in _MOVED_BY.items()
        if (folder := environment.get(variable))
        for name in names
    ]


def own_places(
    *,
    home: Path,
    user_file: Path,
    ledgers: Sequence[str],
    secrets: Sequence[Path],
    state: Sequence[Path],
) -> OwnPlaces:
    """Return the places in every form that a command may name them by."""
    files = [
        Path(each).expanduser() for each in ledgers if "://" not in each and each != ":memory:"
    ]
    files += [place for each in files for place in _beside(each)]
    code, packages, environment = _installed(home, __file__, msgspec.__file__, sys.prefix)
    launchers = [folder / "interlock" for folder in (Path(sys.prefix, "bin"), home / ".local/bin")]
    return OwnPlaces(
        data=_named((*state, user_file, *files), home),
        secrets=_named(secrets, home),
        readable=_named((user_file,), home),
        code=(*code, *_named(launchers, home)),
        packages=packages,
        environment=environment,
        databases=tuple(filter(None, map(_database, ledgers))),
    )


@lru_cache(_SHARED)
def _installed(
    home: Path, module: str, dependency: str, prefix: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the places of this process's code, of all packages and of their environment.

    They are where this process was started from, whatever changes afterwards.
    """
    package = Path(module).resolve().parent
    # What Interlock needs lies among packages, wherever the package itself is.
    packages = (package.parent, Path(dependency).parent.parent)
    sites = filter(_is_site, dict.fromkeys(packages))
    starting = [site / name for site in sites for name in _STARTS_WITH_PYTHON]
    return (
        _named((package, *starting), home),
        _named(packages, home),
        _named((Path(prefix),), home),
    )


_STARTS_WITH_PYTHON: Final = (
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "interlock-*.dist-info",
)
"""What Python runs or reads before Interlock's own code, beside the package."""


def _is_site(folder: Path) -> bool:
    return folder.name in {"site-packages", "dist-packages"}


def _given(path: Path | None) -> tuple[Path, ...]:
    return () if path is None else (path,)


def _named(paths: Iterable[Path], home: Path) -> tuple[str, ...]:
    """Return each path as it is, where links lead to, and from the home folder."""
    wholes: list[str] = []
    for path in map(os.path.abspath, map(os.path.expanduser, paths)):
        # What lies in one of the others goes without saying.
        if not path.startswith(tuple(f"{each}{os.sep}" for each in wholes)):
            wholes.append(path)
    start = f"{home}{os.sep}"
    names: dict[str, None] = {}
    for path in (form for each in wholes for form in (each, os.path.realpath(each))):
        names[path] = None
        if path.startswith(start):
            names[f"~/{path.removeprefix(start)}"] = None
    return tuple(names)


def _database(url: str) -> str | None:
    """Return host and name of a ledger in a database: never with the password."""
    if "://" not in url:
        return None
    address = url.partition("://")[2].partition("?")[0].rpartition("@")[2]
    host, _, name = address.partition("/")
    return f"{host.partition(':')[0]}/{name}"


def current_user_file() -> Path:
    """Return where the user's policy is, or would be, as this process finds it."""
    return _user_file(os.environ, Path.home())


def _user_file(environment: Mapping[str, str], home: Path) -> Path:
    named = environment.get("INTERLOCK_POLICY")
    return Path(named) if named else _config_folder(environment, home) / "policy.toml"


def _config_folder(environment: Mapping[str, str], home: Path) -> Path:
    if own := environment.get("INTERLOCK_CONFIG_HOME"):
        return Path(own)
    shared = Path(environment.get("XDG_CONFIG_HOME", ""))
    # A relative path there is invalid by the XDG specification.
    return (shared if shared.is_absolute() else home / ".config") / "interlock"


def _state_folder(environment: Mapping[str, str], home: Path) -> Path:
    shared = Path(environment.get("XDG_STATE_HOME", ""))
    return (shared if shared.is_absolute() else home / ".local" / "state") / "interlock"


def _project_folders(cwd: Path) -> tuple[list[Path], Path]:
    """Return the folders from here up to the outermost repository, and the nearest one's root.

    A repository inside of another one hides nothing: whoever works in it may have made it.
    Outside of any, only this folder counts.
    """
    upwards = [cwd, *cwd.parents]
    roots = [depth for depth, folder in enumerate(upwards) if _stands(folder / ".git")]
    return (upwards[: roots[-1] + 1], upwards[roots[0]]) if roots else ([cwd], cwd)


def _stands(file: Path) -> bool:
    """Tell whether anything has this name: what cannot be read must fail, not be overlooked."""
    return file.is_symlink() or file.exists()
