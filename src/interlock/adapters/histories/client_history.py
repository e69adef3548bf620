"""What the readers of clients' histories share: lines of JSON, and the calls that stand in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Final, Protocol, TypeVar

import msgspec

from interlock.adapters.clients.client_event import action_of, open_todos
from interlock.adapters.histories.bounded_lines import bounded_lines
from interlock.adapters.histories.packed_json import Table, moment_of, params_from, possible_moment
from interlock.adapters.histories.turn_queue import Call, TurnQueue
from interlock.errors import InputError
from interlock.model.action import Action
from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastRun, PastStep, Unread

T = TypeVar("T")
L_contra = TypeVar("L_contra", contravariant=True)
Stamp = str | int | float | None
"""When, as it is written: in words, or in milliseconds."""
Failures: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError)
"""What reading a line may come to that is not what it should be."""
_LONE: Final = re.compile(
    rb"\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..", re.DOTALL
)
"""Halves of a character: programs that cut texts leave them behind, and nothing reads them."""
_PAIR: Final = 12


class Fold(Protocol[L_contra]):
    """Takes the lines of a run one after the other."""

    @property
    def queue(self) -> TurnQueue:
        """Where its steps come out."""
        ...

    def hear(self, number: int, line: L_contra, /) -> None:
        """Take the next line, by its number."""
        ...


class SingleFile(msgspec.Struct, frozen=True):
    """A reader to whom one file tells all of a run."""

    def beside(self, path: Path) -> Sequence[Path]:
        """Return which other files are read along with a file: none."""
        del path
        return ()


def decoded_lines(
    path: Path,
    decoder: msgspec.json.Decoder[T],
    marks: tuple[bytes, ...],
    unread: Callable[[Unread], None],
) -> Iterator[tuple[int, T]]:
    """Yield every line that holds a mark, by its number; what is no object is told."""
    for number, line in bounded_lines(path, unread):
        if line[:1] != b"{" or line[-1:] != b"}":
            line = line.strip()  # noqa: PLW2901 - blanks around it say nothing
            if not line:
                continue
            if line[:1] != b"{" or line[-1:] != b"}":
                unread(_no_object(path, number, line))
                continue
        for mark in marks:
            if mark in line:
                break
        else:
            continue
        try:
            yield number, decoded(line, decoder)
        except Failures as error:
            unread(Unread(path=str(path), reason=f"line {number}: {error}", line=number))


def decoded(text: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Return what a text says; a character that was cut in two stands for itself."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended = _LONE.sub(_whole, bytes(text))
        if mended == bytes(text):
            raise
        return decoder.decode(mended)


def _whole(found: re.Match[bytes]) -> bytes:
    return found[0] if found[0][1:2] != b"u" or len(found[0]) == _PAIR else b"\\ufffd"


def _no_object(path: Path, number: int, line: bytes) -> Unread:
    what = "is cut off" if line[:1] == b"{" else "is no JSON object"
    return Unread(path=str(path), reason=f"line {number} {what}", line=number)


def folded(
    path: Path,
    lines: Iterable[tuple[int, T]],
    fold: Fold[T],
    unread: Callable[[Unread], None],
) -> Iterator[PastStep]:
    """Yield the steps that lines come to; a line that cannot be made use of is told."""
    queue = fold.queue
    for number, line in lines:
        try:
            fold.hear(number, line)
        except Failures as error:
            unread(Unread(path=str(path), reason=f"line {number}: {error}", line=number))
        if queue.is_ready:
            yield from queue.ready()
    yield from queue.rest()


def client_run(
    client: str,
    name: str,
    steps: Iterable[PastStep],
    *,
    workspace: str | None,
    parent: str | None = None,
    model: str | None = None,
) -> PastRun:
    """Return a run of a client; those in one folder are alike, and its last part names them."""
    return PastRun(
        id=name,
        steps=steps,
        client=client,
        project=PurePath((workspace or "").replace("\\", "/")).name,
        workspace=workspace,
        parent=parent,
        model=model,
        group=workspace or "",
    )


def call_from_json(
    id_: str,
    tool: str,
    raw: bytes | msgspec.Raw | str,
    *,
    client: str,
    workspace: str | None,
    at: int | None,
    line: int | None,
    params_of: Callable[[str, Table], Table] | None = None,
) -> Call:
    """Return a call whose parameters stand there as JSON, as it would have been asked about."""
    text = raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
    given = params_from(text)
    action: Action | None = None
    if isinstance(given, str):
        action = action_of(tool, given, client, workspace) if tool else None
    elif tool:
        asked = given if params_of is None else params_of(tool, given)
        action = action_of(tool, asked, client, workspace)
    todos = open_todos(given)
    return Call(id=id_, tool=tool, action=action, arguments=text, todos=todos, at=at, line=line)


def counted(usage: Counted | None) -> TokenUsage | None:
    """Return what was used, as far as it can be true."""
    try:
        return None if usage is None else usage.counted()
    except InputError:
        return None


class Counted(Protocol):
    """What a client counted."""

    def counted(self) -> TokenUsage:
        """Return it as everybody counts."""
        ...


def micros(stamp: Stamp) -> int | None:
    """Return a moment in microseconds; None where nobody can say which it is."""
    try:
        if isinstance(stamp, str):
            return possible_moment(round(moment_of(stamp).timestamp() * 1_000_000))
        return None if stamp is None else possible_moment(round(stamp * 1_000))
    except (ValueError, OverflowError):
        return None


def unheard(unread: Unread) -> None:
    """Tell nobody: whoever reads it once more will."""
    del unread
