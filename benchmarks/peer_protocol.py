"""How another tool is asked: JSON lines in, JSON lines out, and never a label among them.

A peer is any program. It reads one question a line, in an order that says nothing:

    {"id": 0, "kind": "command", "command": "rm -rf build"}
    {"id": 1, "kind": "text", "text": "..."}
    {"id": 2, "kind": "stop", "text": "...", "last_event": "tool_result", ...}
    {"id": 3, "kind": "run", "steps": [{"role": "user", "text": "..."}, ...]}

and answers one a line, in any order: `{"id": 0, "alarm": true}` for a command or a text,
`{"id": 2, "continue": false}` for a stop, `{"id": 3, "stop_at": 12}` or null for a run. Where it
has no opinion it says `{"id": 0, "unable": true}`. Before the first answer it may introduce
itself: `{"peer": "name", "version": "1.2", "kinds": ["command"], "own_sources": ["its suite"]}`,
or say that its tool is not installed: `{"peer": "name", "absent": "how to get it"}`. Each kind is
asked in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Final, cast

import msgspec

PATIENCE_S: Final = 120.0
"""So long a peer may think about one answer; a slow machine is no reason to give it up."""
ANSWERED_BY: Final = {"command": "alarm", "text": "alarm", "stop": "continue", "run": "stop_at"}

Question = Mapping[str, object]


class Peer(msgspec.Struct, frozen=True):
    """Another tool, by the command that starts it."""

    name: str
    command: str


class Introduction(msgspec.Struct, frozen=True):
    """What a peer says of itself."""

    peer: str
    version: str = ""
    kinds: tuple[str, ...] = tuple(ANSWERED_BY)
    own_sources: tuple[str, ...] = ()
    """Sources of the data that are its own test suite."""
    absent: str = ""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What came back from a peer; None where an answer is missing."""

    name: str
    introduction: Introduction
    answers: tuple[bool | int | None, ...]
    unable: int = 0
    wrong: int = 0
    """Lines that are no answer, or one to a question that was not asked or is answered."""
    missing: int = 0
    ended: str = ""
    """How it ended, where not as it should."""


def peers_from(path: Path) -> list[Peer]:
    """Return the peers of a TOML file: `[peers]`, a name and a command each.

    In a command `{python}` stands for this interpreter and `{here}` for the file's folder.
    """
    told = cast("object", tomllib.loads(path.read_text("utf-8")).get("peers", {}))
    commands = msgspec.convert(told, dict[str, str])
    places = {"{python}": shlex.quote(sys.executable), "{here}": shlex.quote(str(path.parent))}
    return [Peer(name, _placed(command, places)) for name, command in commands.items()]


def peer_from(argument: str) -> Peer:
    """Return the peer of `NAME=COMMAND`."""
    name, found, command = argument.partition("=")
    if not (found and name.strip() and command.strip()):
        raise ValueError(f"`{argument}` is not NAME=COMMAND")
    return Peer(name.strip(), command)


def _placed(command: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        command = command.replace(name, place)
    return command


def ask(
    peer: Peer, kind: str, questions: Sequence[Question], patience_s: float = PATIENCE_S
) -> Asked:
    """Put questions of one kind to a peer, whatever it does with them."""
    order = sorted(range(len(questions)), key=lambda place: _digest(questions[place]))
    lines = [
        line_of({"id": number, "kind": kind, **questions[place]})
        for number, place in enumerate(order)
    ]
    heard = _Heard(kind, [questions[place] for place in order])
    ended = _conversation(peer, lines, heard.hear, patience_s)
    answers: list[bool | int | None] = [None] * len(questions)
    for number, place in enumerate(order):
        answers[place] = heard.answers.get(number)
    left = len(questions) - len(heard.answers) - len(heard.unable)
    return Asked(
        name=peer.name,
        introduction=heard.introduction or Introduction(peer=peer.name),
        answers=tuple(answers),
        unable=len(heard.unable),
        wrong=heard.wrong,
        missing=0 if heard.is_over else left,
        ended="" if heard.is_over else ended,
    )


def _digest(question: Question) -> bytes:
    return hashlib.sha256(line_of(question)).digest()


def line_of(question: Question) -> bytes:
    """Return a question as it is told."""
    # Escaped, so that a text that was cut in the middle of a character can be told as well.
    return json.dumps(question).encode("ascii")


class _Heard:
    """What was heard so far."""

    def __init__(self, kind: str, questions: Sequence[Question]) -> None:
        self._kind, self._questions = kind, questions
        self.introduction: Introduction | None = None
        self.answers: dict[int, bool | int | None] = {}
        self.unable: set[int] = set()
        self.wrong = 0

    @property
    def is_over(self) -> bool:
        """Whether the peer has said that there is nothing to wait for."""
        told = self.introduction
        return told is not None and (bool(told.absent) or self._kind not in told.kinds)

    def hear(self, line: bytes) -> bool:
        """Take in a line; whether to listen on."""
        if not line.strip():
            return True
        try:
            said = msgspec.json.decode(line, type=dict[str, object])
            if "peer" in said and self.introduction is None:
                self.introduction = msgspec.convert(said, Introduction)
            else:
                self._answer(said)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
            self.wrong += 1
        return not self.is_over

    def _answer(self, said: Mapping[str, object]) -> None:
        number = msgspec.convert(said.get("id"), int)
        if number in self.answers or number in self.unable:
            raise ValueError("it is answered already")
        question = self._questions[number] if 0 <= number < len(self._questions) else None
        if question is None:
            raise ValueError("nobody asked that")
        if said.get("unable") is True:
            self.unable.add(number)
        else:
            self.answers[number] = _value(said, ANSWERED_BY[self._kind], question)


def _value(said: Mapping[str, object], field: str, question: Question) -> bool | int | None:
    if field not in said:
        raise ValueError(f"`{field}` is missing")
    value = said[field]
    if field != "stop_at":
        return msgspec.convert(value, bool)
    steps = cast("Sequence[object]", question["steps"])
    if isinstance(value, bool) or (isinstance(value, int) and not 0 <= value < len(steps)):
        raise ValueError("there is no such step")
    return msgspec.convert(value, int | None)


def _conversation(
    peer: Peer, lines: Sequence[bytes], hear: Callable[[bytes], bool], patience_s: float
) -> str:
    """Tell a program everything, hear what it says, and return how it ended if not well."""
    try:
        process = subprocess.Popen(
            shlex.split(peer.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"it could not be started: {error.strerror if isinstance(error, OSError) else error}"
    assert process.stdin is not None
    assert process.stdout is not None
    said: SimpleQueue[bytes | None] = SimpleQueue()
    threads = (
        Thread(target=_tell, args=(process.stdin, lines), daemon=True),
        Thread(target=_listen, args=(process.stdout, said), daemon=True),
    )
    for thread in threads:
        thread.start()
    try:
        for line in _heard(said, patience_s):
            if not hear(line):
                return ""
        status = process.wait(patience_s)
    except (Empty, subprocess.TimeoutExpired):
        return f"it was silent for {patience_s:g} s and given up"
    finally:
        _end(process)
        for thread in threads:
            thread.join(patience_s)
    return "" if status == 0 else f"it ended with status {status}"


def _tell(pipe: IO[bytes], lines: Sequence[bytes]) -> None:
    """Write the questions; whoever does not read them to the end has heard enough."""
    try:
        with pipe:
            pipe.writelines(line + b"\n" for line in lines)
    except OSError:
        return


def _listen(pipe: IO[bytes], said: SimpleQueue[bytes | None]) -> None:
    with pipe:
        for line in pipe:
            said.put(line)
    said.put(None)


def _heard(said: SimpleQueue[bytes | None], patience_s: float) -> Iterator[bytes]:
    while (line := said.get(timeout=patience_s)) is not None:
        yield line


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program with everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
