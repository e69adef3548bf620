"""Git that obeys nobody but us: the repository around a workspace, and a private view of it.

A repository's configuration can make git run commands: filters, hooks, monitors, helpers. An
agent can write that configuration. So a checkpoint is made in a git folder of our own, which
borrows nothing from the repository but its objects: no configuration of the repository, of the
user or of the system is in force there, and every file is taken byte for byte as it is.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from interlock.checkpoints.bounded_command import Deadline, run_bounded
from interlock.descriptors import opened
from interlock.errors import CheckpointError

_MOST_SAID: Final = 4096
_MOST_SHOWN: Final = 500
_WAIT_S: Final = 0.05
_PASSED_ON: Final = ("HOME", "XDG_CONFIG_HOME", "TMPDIR")
_FIXED: Final = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # Whatever is missing is not fetched: a remote's address can name a command.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
_OVERRULED: Final = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.logAllRefUpdates=false"),
    *("-c", "core.pager=cat"),
)
_AS_IT_IS: Final = "* -text !crlf !eol -ident !filter !working-tree-encoding\n"
"""Overrules every attribute that would make git keep something else than a file's own bytes."""
_OWN_FOLDER: Final = "interlock"


class Repository(NamedTuple):
    """What we need to know of a repository; found without running anything that it names."""

    top: Path
    """Where its working tree begins."""
    git_folder: Path
    """What belongs to this working tree alone."""
    users_index: Path
    objects: Path
    exclude: Path
    object_format: str
    head: str | None
    """The commit that is checked out; None where there is none yet."""
    settings: Mapping[str, str]
    """The few settings that are taken over."""

    @property
    def own_folder(self) -> Path:
        """Where Interlock keeps what makes the next checkpoint fast."""
        return self.git_folder / _OWN_FOLDER


class Git:
    """Runs git in one folder with one environment, within what is left of the time."""

    def __init__(
        self, program: str, folder: Path, environment: Mapping[str, str], deadline: Deadline
    ) -> None:
        self._program = program
        self._folder = folder
        self._environment = environment
        self.deadline = deadline

    def with_variables(self, variables: Mapping[str, str]) -> Git:
        """Return the same git with more in its environment."""
        merged = {**self._environment, **variables}
        return Git(self._program, self._folder, merged, self.deadline)

    def output(
        self, *arguments: str, stdin: bytes = b"", accepted: Collection[int] = (0,)
    ) -> bytes:
        """Run git and return what it prints; raise CheckpointError where it fails."""
        with tempfile.TemporaryFile() as printed:
            self.print_to(printed, *arguments, stdin=stdin, accepted=accepted)
            printed.seek(0)
            return printed.read()

    def print_to(
        self,
        printed: IO[bytes],
        *arguments: str,
        stdin: bytes = b"",
        accepted: Collection[int] = (0,),
    ) -> None:
        """Run git and let it print to a file; raise CheckpointError where it fails."""
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            ended = run_bounded(
                [self._program, *_OVERRULED, *arguments],
                folder=self._folder,
                environment=self._environment,
                deadline=self.deadline,
                most_said=_MOST_SAID,
                stdin=given,
                stdout=printed,
            )
        if ended.exit_code not in accepted:
            raise self._failure(arguments[0], ended.exit_code, ended.said)

    def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git and return the one line that it prints."""
        return os.fsdecode(self.output(*arguments, stdin=stdin)).removesuffix("\n")

    def _failure(self, verb: str, exit_code: int | None, said: bytes) -> CheckpointError:
        where = f"`git {verb}` in `{self._folder}`"
        if exit_code is None:
            return CheckpointError(
                f"{where} was stopped: the {self.deadline.timeout_s:g} s for a checkpoint are over"
            )
        words = " ".join(printable(said).split())
        return CheckpointError(f"{where} failed with {exit_code}: {words}")


class Bench(NamedTuple):
    """A repository, and a git folder of our own over its objects and its working tree."""

    repository: Repository
    users_git: Git
    """Sees the repository as its user does."""
    git: Git
    """Sees it without any configuration, and with an index of its own."""
    folder: Path
    """Where our git has its own things."""

    def of_users_index(self) -> Git:
        """Return a git that sees a copy of the user's index."""
        return self.git.with_variables({"GIT_INDEX_FILE": str(self.folder / "users-index")})

    def of_users_attributes(self) -> Git:
        """Return a git in which the attributes of the files count; only for looking."""
        return self.git.with_variables({"GIT_DIR": str(self.folder / "looking")})


def found_repository(
    workspace: Path, environment: Mapping[str, str], deadline: Deadline
) -> tuple[Repository, Git]:
    """Return the repository that a workspace is in, and a git that sees it as its user does."""
    top = _top_of(workspace)
    git = Git(_program(environment, top), top, _environment(environment), deadline)
    asked = ("--show-toplevel", "--absolute-git-dir", "--show-object-format")
    paths = ("index", "objects", "info/exclude")
    named = [part for path in paths for part in ("--git-path", path)]
    lines = git.line("rev-parse", *asked, *named).split("\n")
    if len(lines) != len(asked) + len(paths) or not _is_same(Path(lines[0]), top):
        raise CheckpointError(
            f"git takes `{printable(os.fsencode(lines[0]))}` for the working tree of `{top}`:"
            " unset `core.worktree` in its configuration"
        )
    git_folder = Path(lines[1])
    if git_folder == workspace or git_folder in workspace.parents:
        raise CheckpointError(
            f"`{workspace}` is inside of git's own folder: name the work's folder"
        )
    head = git.output("rev-parse", "--verify", "-q", "HEAD", accepted=(0, 1))
    repository = Repository(
        top=top,
        git_folder=git_folder,
        object_format=lines[2],
        users_index=top / lines[3],
        objects=top / lines[4],
        exclude=top / lines[5],
        head=head.decode().strip() or None,
        settings=_settings(git),
    )
    return repository, git


@contextmanager
def private_bench(repository: Repository, git: Git) -> Generator[Bench]:
    """Make a git folder of our own; it is gone afterwards, the objects stay."""
    with tempfile.TemporaryDirectory(prefix="interlock-git-") as name:
        folder = Path(name)
        _furnish(folder, repository, attributes=_AS_IT_IS)
        _furnish(folder / "looking", repository, attributes="")
        _copy_users_index(repository, folder)
        private = git.with_variables(
            {
                "GIT_DIR": str(folder),
                "GIT_WORK_TREE": str(repository.top),
                "GIT_OBJECT_DIRECTORY": str(repository.objects),
                "GIT_INDEX_FILE": str(folder / "index"),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
            }
        )
        yield Bench(repository, git, private, folder)


@contextmanager
def only_one(repository: Repository, deadline: Deadline) -> Generator[None]:
    """Let nobody else take or restore a checkpoint of the same working tree meanwhile."""
    _make_own_folder(repository)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(repository.own_folder / "lock", flags) as lock:
        while not _locked(lock):
            if not deadline.left_s():
                raise CheckpointError(
                    f"another checkpoint of `{repository.top}` is being taken or restored for more"
                    f" than {deadline.timeout_s:g} s: wait for it, or end it"
                )
            time.sleep(_WAIT_S)
        yield


def printable(text: bytes) -> str:
    """Return bytes as they can be shown and stored, at most so many."""
    return text[-_MOST_SHOWN:].decode("utf-8", "backslashreplace").strip()


class NoRepositoryError(CheckpointError):
    """There is no git repository where one was looked for."""


def _top_of(workspace: Path) -> Path:
    """Return the nearest folder with a `.git`; what `core.worktree` says does not count."""
    for folder in (workspace, *workspace.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    if all((workspace / name).exists() for name in ("HEAD", "objects", "refs")):
        raise CheckpointError(f"`{workspace}` is a bare repository: there are no files to keep")
    raise NoRepositoryError(
        f"`{workspace}` is not in a git repository: run `git init` there, or set"
        ' `steps.checkpoint-command` to a command of your own or to "none"'
    )


def _program(environment: Mapping[str, str], top: Path) -> str:
    """Return git's path; one that lies in the working tree was perhaps put there by the agent."""
    folders = [
        folder
        for folder in environment.get("PATH", os.defpath).split(os.pathsep)
        if Path(folder).is_absolute() and not Path(folder).resolve().is_relative_to(top)
    ]
    program = shutil.which("git", path=os.pathsep.join(folders))
    if program is None:
        raise CheckpointError(
            "git is not installed, or not in the PATH: install it, or set"
            ' `steps.checkpoint-command` to a command of your own or to "none"'
        )
    return program


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    passed = {name: environment[name] for name in _PASSED_ON if name in environment}
    return {"PATH": os.defpath, **passed, **_FIXED}


def _settings(git: Git) -> dict[str, str]:
    wanted = "^core\\.(excludesfile|sharedrepository)$"
    printed = git.output("config", "-z", "--type=path", "--get-regexp", wanted, accepted=(0, 1))
    pairs = [entry.partition("\n") for entry in os.fsdecode(printed).split("\0") if entry]
    return {name: value for name, _, value in pairs}


def _furnish(folder: Path, repository: Repository, *, attributes: str) -> None:
    """Write everything by which git knows its own folder."""
    (folder / "refs").mkdir(parents=True)
    (folder / "info").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "info/attributes").write_text(attributes)
    with suppress(FileNotFoundError):
        shutil.copyfile(repository.exclude, folder / "info/exclude")
    lines = [
        "[core]",
        "repositoryFormatVersion = 1",
        "bare = false",
        # A name that is odd on another system is still a file of this one.
        "protectHFS = false",
        "protectNTFS = false",
        # What is on record must be there after a power cut as well.
        "fsync = committed",
        "fsyncMethod = batch",
        *_taken_over(repository),
        "[extensions]",
        f"objectFormat = {repository.object_format}",
    ]
    (folder / "config").write_bytes(os.fsencode("\n".join(lines) + "\n"))


def _taken_over(repository: Repository) -> Generator[str]:
    for name, value in repository.settings.items():
        # A relative path is meant from where the user stands: the top of the working tree.
        is_path = name == "core.excludesfile" and value
        meant = str(repository.top / value) if is_path else value
        escaped = meant.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        yield f'{name.partition(".")[2]} = "{escaped}"'


def _copy_users_index(repository: Repository, folder: Path) -> None:
    """Copy the index with its time, by which git knows which of its entries to trust."""
    with suppress(FileNotFoundError):
        shutil.copy2(repository.users_index, folder / "users-index")
    for shared in repository.users_index.parent.glob("sharedindex.*"):
        with suppress(FileNotFoundError):
            shutil.copy2(shared, folder / shared.name)


def _make_own_folder(repository: Repository) -> None:
    folder = repository.own_folder
    if folder.is_symlink():
        raise CheckpointError(f"`{folder}` is a symbolic link: remove it")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"cannot write to `{repository.git_folder}`: {error.strerror}: make it writable"
        ) from error


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return False
