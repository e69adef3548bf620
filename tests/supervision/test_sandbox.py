"""What a command in a sandbox can reach: tried by a command that tries to, and as plain paths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.asking import interlock_process
from interlock import hook_entry, load_policy
from interlock.adapters.supervision.confinement import Confinement, Whereabouts, confinement
from interlock.adapters.supervision.sandbox import (
    BUBBLEWRAP,
    LANDLOCK,
    Sandbox,
    bubblewrap_words,
    landlock_rules,
    landlock_version,
    readable_around,
    sandbox_for,
)
from interlock.errors import InputError
from interlock.model.own_places import NOWHERE, OwnPlaces
from patience import LONG_ENOUGH_S

_PRISONER = """
import json, os, subprocess, sys
home, state, hook = os.environ["HOME"], os.environ["STATE"], os.environ["HOOK"]

def tried(work):
    try:
        return work() or "done"
    except OSError as error:
        return type(error).__name__

def wrote(path):
    return tried(lambda: open(path, "a").write("x") and None)

def supervisor(pid):
    if b"--sandbox" in open(f"/proc/{pid}/cmdline", "rb").read():
        return pid
    return supervisor(int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1]))

def asked(command):
    payload = {"run": os.environ["INTERLOCK_RUN"], "action": {"command": command}}
    words = [sys.executable, "-IS", hook, "interlock"]
    return subprocess.run(words, input=json.dumps(payload).encode(), capture_output=True).returncode

print(json.dumps({
    "workspace": wrote("inside"),
    "temporary": wrote(os.environ["TMPDIR"] + "/t"),
    "named": wrote(home + "/cache/c"),
    "home": wrote(home + "/outside"),
    "settings": wrote(".claude/settings.json"),
    "moved": tried(lambda: os.rename(".claude", "moved")),
    "git": wrote(".git/config"),
    "null": wrote("/dev/null"),
    "other": tried(lambda: open(home + "/readable").read()),
    "key": tried(lambda: open(home + "/.ssh/id").read()),
    "login": tried(lambda: open(home + "/.netrc").read()),
    "ledger": tried(lambda: open(state + "/ledger.db", "rb").read(4).hex()),
    "undone": tried(lambda: os.unlink(state + "/ledger.db")),
    "killed": tried(lambda: os.kill(supervisor(os.getppid()), 0)),
    "allowed": asked("ls"),
    "refused": asked("rm -rf /"),
}))
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder outside `/dev`, all of which a command in a sandbox may write."""
    with tempfile.TemporaryDirectory(prefix="ils-", dir="/tmp") as folder:
        yield Path(folder)


def _available(kind: str) -> bool:
    nothing = Confinement(writable=(), protected=(), hidden=(), shown=())
    try:
        sandbox_for(kind, nothing, folder=Path("/"))
    except InputError:
        return False
    return True


@pytest.mark.parametrize("kind", [BUBBLEWRAP, LANDLOCK])
def test_a_command_is_held_to_its_workspace(kind: str, tmp_path: Path) -> None:
    if not _available(kind):
        pytest.skip(f"this system has no {kind}")
    workspace = _a_home(tmp_path)
    home, state = tmp_path / "home", tmp_path / "home/.local/state/interlock"

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "interlock", "run", "--sandbox", kind),
            *("--write", str(home / "cache"), "--", sys.executable, "prisoner.py"),
        ],
        cwd=workspace,
        env={**_environment(tmp_path), "STATE": str(state), "HOOK": str(hook_entry.__file__)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LONG_ENOUGH_S,
        check=False,
    )

    said = ended.stderr.decode()
    assert ended.returncode == 0, said
    found = json.loads(ended.stdout)
    is_whole = kind == BUBBLEWRAP
    denied = "OSError" if is_whole else "PermissionError"
    assert {name: found[name] for name in ("workspace", "temporary", "named", "null")} == {
        "workspace": "done",
        "temporary": "done",
        "named": "done",
        "null": "done",
    }
    assert found["other"] == "may be read"
    assert found["home"] == denied
    # Only bubblewrap can take something out of a folder that may be written.
    assert found["settings"] == found["git"] == (denied if is_whole else "done")
    assert found["moved"] == ("OSError" if is_whole else "done")
    assert found["key"] == ("FileNotFoundError" if is_whole else "PermissionError")
    assert found["login"] == ("done" if is_whole else "PermissionError")
    assert found["ledger"] == ("FileNotFoundError" if is_whole else "PermissionError")
    assert found["undone"] != "done"
    if landlock_version() >= 6:
        assert found["killed"] == "PermissionError"
    assert (found["allowed"], found["refused"]) == (0, 2)
    assert f"sandbox: {kind}; writable: {workspace}" in said
    assert ("still writable" in said) is not is_whole


def test_a_home_that_is_worked_in_keeps_our_own_files_back(tmp_path: Path) -> None:
    if not _available(BUBBLEWRAP):
        pytest.skip("this system has no bubblewrap")
    _a_home(tmp_path)
    home = tmp_path / "home"
    environment = _environment(tmp_path)
    once = interlock_process("run", "--", "/bin/true", folder=home, environment=environment)
    assert once.returncode == 0
    files = [path for path in (home / ".local").rglob("*") if path.is_file()]
    files += [path for path in (home / ".config").rglob("*") if path.is_file()]
    tries = [f"cat {path}; rm -f {path}; echo x > {path}.new" for path in files]
    (home / "prisoner.sh").write_text("\n".join([*tries, "echo tried"]))

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "interlock", "run", "--sandbox", BUBBLEWRAP),
            *("--", "sh", "prisoner.sh"),
        ],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    assert ended.stdout == b"tried\n", ended.stderr
    assert {path.name for path in files} >= {"ledger.db"}
    assert all(path.exists() and not Path(f"{path}.new").exists() for path in files)


def _a_home(tmp_path: Path) -> Path:
    """Make a home folder with what is to be kept from the command; return its workspace."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    for folder in (home / ".ssh", home / "cache", tmp_path / "t", workspace / ".claude"):
        folder.mkdir(parents=True)
    (workspace / ".git").mkdir()
    (workspace / ".git/config").touch()
    (workspace / ".claude/settings.json").write_text("{}")
    (workspace / "prisoner.py").write_text(_PRISONER)
    (home / ".ssh/id").write_text("a key")
    (home / ".netrc").write_text("a login")
    (home / "readable").write_text("may be read")
    return workspace


def _environment(tmp_path: Path) -> dict[str, str]:
    ours = ("INTERLOCK_", "XDG_")
    known = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    return {**known, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "t")}


def test_what_cannot_be_had_is_not_gone_without(tmp_path: Path) -> None:
    """Nothing is started, and the sentence says why."""
    workspace = _a_home(tmp_path)

    ended = interlock_process(
        *("run", "--sandbox", "bubblewrap", "--", "/bin/true"),
        folder=workspace,
        environment={**_environment(tmp_path), "PATH": str(tmp_path / "empty")},
    )

    assert ended.returncode == 2
    assert b"nothing was started: `bwrap` is not installed" in ended.stderr


def test_the_policy_says_what_is_kept_from_a_command(tmp_path: Path) -> None:
    workspace, home = _a_home(tmp_path), tmp_path / "home"
    own = OwnPlaces(data=(str(home / "cache"), "~/cache"), secrets=(str(home / "nothing"),))
    whereabouts = Whereabouts(
        workspace=workspace,
        home=home,
        temporary=(tmp_path / "t",),
        writes=(),
        server=home / "cache",
    )

    allowed = confinement(load_policy(user=None, project=None), own, whereabouts)

    assert allowed.writable == (workspace, tmp_path / "t")
    assert allowed.protected == (workspace / ".claude/settings.json", workspace / ".git/config")
    assert {home / ".ssh", home / ".netrc", home / "cache"} <= set(allowed.hidden)
    assert allowed.shown == (home / "cache",)


def test_a_home_to_work_in_keeps_its_credentials_back(tmp_path: Path) -> None:
    _a_home(tmp_path)
    home = tmp_path / "home"
    whereabouts = Whereabouts(
        workspace=home, home=home, temporary=(), writes=(), server=tmp_path / "none"
    )

    allowed = confinement(load_policy(user=None, project=None), NOWHERE, whereabouts)

    words = list(bubblewrap_words(allowed))
    assert words.index(str(home)) < words.index(str(home / ".ssh"))
    if landlock_version() >= 1:
        with pytest.raises(InputError, match=r"Landlock cannot keep `.*` back"):
            sandbox_for(LANDLOCK, allowed, folder=home)


def test_folders_of_what_is_protected_cannot_be_moved_away(tmp_path: Path) -> None:
    allowed = Confinement(
        writable=(tmp_path,), protected=(tmp_path / "a/b/settings.json",), hidden=(), shown=()
    )

    assert list(bubblewrap_words(allowed)) == [
        *("--bind", str(tmp_path), str(tmp_path)),
        *("--bind", str(tmp_path / "a"), str(tmp_path / "a")),
        *("--bind", str(tmp_path / "a/b"), str(tmp_path / "a/b")),
        *("--ro-bind", str(tmp_path / "a/b/settings.json"), str(tmp_path / "a/b/settings.json")),
    ]


def test_everything_around_what_is_hidden_can_be_read(tmp_path: Path) -> None:
    for name in ("a/secret", "a/open", "b"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/secret")

    readable = set(readable_around([tmp_path / "a/secret"], tmp_path))

    assert readable == {tmp_path / "a/open", tmp_path / "b"}


@pytest.mark.parametrize(
    ("version", "handled", "scoped"),
    [(1, 0x1FFF, 0), (2, 0x3FFF, 0), (3, 0x7FFF, 0), (6, 0x7FFF, 2)],
)
def test_no_kernel_is_asked_for_what_it_does_not_know(
    version: int, handled: int, scoped: int
) -> None:
    nothing = Confinement(writable=(), protected=(), hidden=(), shown=())

    rules = landlock_rules(version, nothing)

    assert (rules["handled"], rules["scoped"]) == (handled, scoped)
    assert all(rights | handled == handled for _, rights in rules["rules"])


def test_the_better_one_is_taken_where_both_are_there() -> None:
    nothing = Confinement(writable=(), protected=(), hidden=(), shown=())
    there = [kind for kind in (BUBBLEWRAP, LANDLOCK) if _available(kind)]
    if not there:
        pytest.skip("this system has no sandbox")

    found: Sandbox = sandbox_for("auto", nothing, folder=Path("/"))

    assert found.name == there[0]
