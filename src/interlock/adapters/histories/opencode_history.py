"""opencode's own record of its sessions: a database, or a folder of small files by older versions.

A database is never opened where it lies while something waits to be written into it: SQLite would
write beside it. It is read from a copy then.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from interlock.adapters.clients.client_event import is_our_own
from interlock.adapters.clients.model_usage import OpencodeTokens
from interlock.adapters.histories.bounded_lines import MOST_HELD, bounded_whole
from interlock.adapters.histories.client_history import (
    Failures,
    Stamp,
    call_from_json,
    client_run,
    counted,
    decoded,
    folded,
    micros,
)
from interlock.adapters.histories.turn_queue import Turn, TurnQueue
from interlock.errors import InputError
from interlock.model.past_run import PastRun, Unread

_NAME: Final = "opencode"
_DATABASE: Final = b"SQLite format 3\0"
_SESSIONS: Final = "SELECT id, parent_id, directory FROM session ORDER BY time_created, id"
_PARTS: Final = """
SELECT message.id, message.data, part.id,
       CASE WHEN length(part.data) <= :most THEN part.data END
FROM message LEFT JOIN part ON part.message_id = message.id
WHERE message.session_id = :session
ORDER BY message.time_created, message.id, part.id
"""
_REFUSED: Final = re.compile(
    r"(?:Error: )?(?:[Ii]nterlock: |The user rejected permission"
    r"|The user has specified a rule which prevents)"
)
_ANSWERED: Final = ("completed", "error")


class _Time(msgspec.Struct, frozen=True):
    created: Stamp = None
    start: Stamp = None


class _Path(msgspec.Struct, frozen=True):
    cwd: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: str = ""
    model_id: str | None = msgspec.field(default=None, name="modelID")
    tokens: OpencodeTokens | None = None
    finish: str | None = None
    time: _Time = _Time()
    path: _Path = _Path()
    summary: object = None


class _Metadata(msgspec.Struct):
    exit: object = None


class _State(msgspec.Struct):
    status: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    output: str = ""
    error: str = ""
    metadata: _Metadata | None = None
    time: _Time = _Time()


class _Part(msgspec.Struct):
    type: str = ""
    text: str = ""
    synthetic: bool = False
    ignored: bool = False
    tool: str = ""
    state: _State | None = None


class _Session(msgspec.Struct):
    id: str
    directory: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentID")


_MESSAGE: Final = msgspec.json.Decoder(_Message)
_PART: Final = msgspec.json.Decoder(_Part)
_SESSION: Final = msgspec.json.Decoder(_Session)


class _Row(msgspec.Struct):
    """A part of a message, with the message; what is not text was too long."""

    message_id: str
    message: object
    id: str | None
    part: object


class OpencodeHistory(msgspec.Struct, frozen=True):
    """Reads the storage of opencode."""

    name: str = _NAME
    version: int = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where it keeps it."""
        return [Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"]

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is its database, or what an older version says of a session."""
        if path.suffix == ".db":
            return path.name.startswith("opencode") and beginning.startswith(_DATABASE)
        is_session = path.name.startswith("ses_") and path.suffix == ".json"
        return is_session and "session" in path.parts

    def beside(self, path: Path) -> Sequence[Path]:
        """Return what waits to be written into a database, or the messages of a session."""
        if path.suffix == ".db":
            return (_log(path),)
        if (storage := _storage(path)) is None:
            return ()
        messages = [*(storage / "message" / path.stem).glob("*.json")]
        parts = ((storage / "part" / each.stem).glob("*.json") for each in messages)
        return [*messages, *chain.from_iterable(parts)]

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield every session of a database, or the one that a file is about."""
        if path.suffix == ".db":
            yield from _in_database(path, unread)
            return
        if (content := bounded_whole(path, unread)) is None:
            return
        try:
            session = decoded(content, _SESSION)
        except Failures as error:
            unread(Unread(path=str(path), reason=f"is no session that can be read: {error}"))
            return
        if (storage := _storage(path)) is None:
            reason = "is linked from its storage: name that of which it is a part"
            unread(Unread(path=str(path), reason=reason))
            return
        yield _run(path, session, _rows_in_files(storage, session.id, unread), unread)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _storage(path: Path) -> Path | None:
    return next((each.parent for each in path.parents if each.name == "session"), None)


def _in_database(path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
    with ExitStack() as until_the_end:
        try:
            database = _opened(path, until_the_end)
            for id_, parent, directory in database.execute(_SESSIONS).fetchall():
                session = _Session(str(id_), _words(directory), _words(parent))
                yield _run(path, session, _rows_in(database, path, session.id, unread), unread)
        except sqlite3.Error as error:
            unread(Unread(path=str(path), reason=f"is no database that can be read: {error}"))


def _opened(path: Path, until_the_end: ExitStack) -> sqlite3.Connection:
    """Open a database so that nothing is written beside it."""
    options = "mode=ro&immutable=1"
    log = _log(path)
    if log.exists() and log.stat().st_size:
        folder = Path(until_the_end.enter_context(TemporaryDirectory(prefix="interlock-")))
        for each in (path, log):
            shutil.copyfile(each, folder / each.name)
        path, options = folder / path.name, "mode=rw"
    database = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True)
    until_the_end.callback(database.close)
    database.text_factory = _text
    return database


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _words(stored: object) -> str | None:
    return stored if isinstance(stored, str) else None


def _rows_in(
    database: sqlite3.Connection, path: Path, session: str, unread: Callable[[Unread], None]
) -> Iterator[tuple[int, _Row]]:
    try:
        rows = database.execute(_PARTS, {"session": session, "most": MOST_HELD})
        for place, row in enumerate(rows, start=1):
            yield place, _Row(*row)
    except sqlite3.Error as error:
        unread(Unread(path=str(path), reason=f"session {session}: {error}; the rest is not read"))


def _rows_in_files(
    storage: Path, session: str, unread: Callable[[Unread], None]
) -> Iterator[tuple[int, _Row]]:
    """Yield the parts that older versions wrote into a file each; their names are in order."""
    place = 0
    for message in sorted((storage / "message" / session).glob("*.json")):
        if (said := _file(message, unread)) is None:
            continue
        parts = sorted((storage / "part" / message.stem).glob("*.json"))
        if not parts:
            place += 1
            yield place, _Row(message.stem, said, None, None)
        for part in parts:
            place += 1
            if (content := _file(part, unread)) is not None:
                yield place, _Row(message.stem, said, part.stem, content)


def _file(path: Path, unread: Callable[[Unread], None]) -> bytes | None:
    try:
        return bounded_whole(path, unread)
    except OSError as error:
        unread(Unread(path=str(path), reason=f"cannot be read: {error.strerror}"))
        return None


def _run(
    path: Path,
    session: _Session,
    rows: Iterator[tuple[int, _Row]],
    unread: Callable[[Unread], None],
) -> PastRun:
    return client_run(
        _NAME,
        session.id,
        folded(path, rows, _Fold(session), unread),
        workspace=session.directory,
        parent=session.parent,
    )


class _Fold:
    """Takes the parts of a session."""

    def __init__(self, session: _Session) -> None:
        self.queue = TurnQueue()
        self._workspace = session.directory
        self._is_sub_agent = session.parent is not None
        self._message_id = ""
        self._message: _Message | None = None

    def hear(self, number: int, row: _Row) -> None:
        if row.message_id != self._message_id:
            self._message_id, self._message = row.message_id, None
            self._message = decoded(_content(row.message), _MESSAGE)
        message = self._message
        if message is None or row.id is None:
            return
        part = decoded(_content(row.part), _PART)
        if message.role == "user":
            self._heard(message, part, number)
        elif message.summary is not True:
            # What was said before, in short, is nothing that the agent says now.
            self._said(self._turn(message, number), part, number)
        else:
            self._turn(message, number)

    def _heard(self, message: _Message, part: _Part, number: int) -> None:
        is_typed = part.type == "text" and not part.synthetic and not part.ignored
        if is_typed and not self._is_sub_agent and part.text.strip() and not is_our_own(part.text):
            self.queue.person(part.text, at=micros(message.time.created), line=number)

    def _turn(self, message: _Message, number: int) -> Turn:
        at = micros(message.time.created)
        turn = self.queue.turn(self._message_id, at=at, line=number)
        turn.model = message.model_id
        turn.finish_reason = message.finish
        if (usage := counted(message.tokens)) is not None:
            turn.counts(usage)
        return turn

    def _said(self, turn: Turn, part: _Part, number: int) -> None:
        if part.type == "text" and not part.synthetic:
            turn.texts.append(part.text)
        elif part.type == "tool" and part.state is not None:
            self._called(turn, part, part.state, number)

    def _called(self, turn: Turn, part: _Part, state: _State, number: int) -> None:
        message = self._message
        call = call_from_json(
            f"part-{number}",  # the name that its model gave it may be that of others as well
            part.tool,
            state.input,
            client=_NAME,
            workspace=(message.path.cwd if message is not None else None) or self._workspace,
            at=micros(state.time.start) or turn.at,
            line=number,
        )
        self.queue.call(turn, call)
        if state.status not in _ANSWERED:
            return
        code = None if state.metadata is None else state.metadata.exit
        failed = state.status == "error" or (isinstance(code, int) and code != 0)
        ran = state.status != "error" or _REFUSED.match(state.error) is None
        result = state.error if state.status == "error" else state.output
        self.queue.answered(call.id, result, failed=failed, ran=ran)


def _content(given: object) -> bytes:
    match given:
        case str():
            return given.encode("utf-8", "replace")
        case bytes():
            return given
        case _:
            raise InputError("nothing stands there that can be read, or it is too long")
