"""Logs of Inspect: one document (`.json`), or an archive with a document per sample (`.eval`).

What a call of a model used stands in the events, beside much else that is not looked at.
"""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

import msgspec

from interlock.adapters.histories.bounded_lines import MOST_HELD
from interlock.adapters.histories.packed_json import (
    Table,
    entries,
    fields,
    microseconds,
    table,
    text,
    value,
    words,
)
from interlock.adapters.histories.run_files import (
    RunDocument,
    Source,
    has_all,
    is_json,
)
from interlock.adapters.public_runs.chat_messages import (
    TOOL,
    Message,
    calls_in,
    content_text,
    steps_from_messages,
    usage_from,
)
from interlock.descriptors import READING, check_is_regular, opened
from interlock.errors import InputError
from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastRun, Unread

_ZIP: Final = b"PK"
_HEADS: Final = ("header.json", "_journal/start.json", "start.json")
_PACKINGS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)
_SCORES: Final = {"c": True, "yes": True, "true": True}
_REFUSED: Final = "approval"
_ATTACHED: Final = "attachment://"


class InspectLogs(RunDocument):
    """Reads the logs of Inspect."""

    name: str = "inspect"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        if path.name.endswith(".eval"):
            return beginning.startswith((_ZIP, b"{"))
        is_table = is_json(path) and beginning.startswith(b"{")
        return is_table and has_all(beginning, "version", "status", "eval")

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield every sample of a log."""
        with opened(path, READING) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
            check_is_regular(descriptor, most=sys.maxsize)
            if file.read(len(_ZIP)) == _ZIP:
                file.seek(0)
                yield from self._packed_runs(path, file, unread)
                return
        yield from super().runs(path, unread)

    def _packed_runs(
        self, path: Path, file: BinaryIO, unread: Callable[[Unread], None]
    ) -> Iterator[PastRun]:
        try:
            archive = zipfile.ZipFile(cast("BinaryIO", _Careful(file)))
            names = dict.fromkeys(archive.namelist())
            head = next((_member(archive, name) for name in _HEADS if name in names), b"{}")
            spec = fields(fields(head).get("eval"))
        except (*_BROKEN, InputError) as error:
            unread(Unread(path=str(path), reason=f"its archive cannot be read: {error}"))
            return
        samples = [each for each in names if each.startswith("samples/") and each.endswith(".json")]
        for place, name in enumerate(samples, 1):
            source = Source(path=path, place=place, unread=unread)
            try:
                run = self._run(fields(_member(archive, name)), spec, source)
            except (*_BROKEN, InputError) as error:
                source.tell(f"`{name}`: {error}")
                continue
            yield run

    def _taken_apart(self, content: bytes) -> tuple[Table, Iterable[object]]:
        log = fields(content)
        return fields(log.get("eval")), entries(log.get("samples"))

    def _run(self, row: Table, head: Table, source: Source) -> PastRun:
        if "messages" not in row:
            raise InputError("no sample of Inspect: expected `id`, `messages` and `scores`")
        task, sample = text(head.get("task")), text(row.get("id"))
        return PastRun(
            id=words(row.get("uuid")) or f"{source.name}:{sample}:{text(row.get('epoch'))}",
            steps=source.guarded(steps_from_messages(_messages(row, source), self.name)),
            client=self.name,
            project=task,
            model=words(head.get("model")),
            group=f"{task}:{sample}",
            success=_success(row),
        )


class _Careful:
    """A file of which nobody takes more at once than may be held: how much is the file's word."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > MOST_HELD:
            raise zipfile.BadZipFile(f"it asks for {size:,} bytes at once")
        return self._file.read(size)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a document of an archive; raise InputError where it is too large or packed oddly."""
    member = archive.getinfo(name)
    if member.compress_type not in _PACKINGS:
        raise InputError(f"packed in a way that is not read here (method {member.compress_type})")
    with archive.open(member) as file:
        content = file.read(MOST_HELD + 1)
    if len(content) > MOST_HELD:
        raise InputError(f"longer than {MOST_HELD:,} bytes")
    return content


def _success(row: Table) -> bool | None:
    """Return what the first scorer says; partly right is not right."""
    scores = list(fields(row.get("scores")).values()) or [row.get("score")]
    found = value(fields(scores[0]).get("value"))
    if isinstance(found, str):
        return _SCORES.get(found.lower(), False)
    return found >= 1 if isinstance(found, int | float) else None


class _Used(msgspec.Struct, frozen=True):
    """What is known of the call of a model that made a message."""

    usage: TokenUsage | None
    finish_reason: str | None
    at: int | None


def _messages(row: Table, source: Source) -> Iterator[Message]:
    used = dict(_uses(row))
    attached = fields(row.get("attachments"))
    for place, item in source.tables(row.get("messages"), "messages"):
        said = content_text(item.get("content"))
        if said.startswith(_ATTACHED):
            said = words(attached.get(said.removeprefix(_ATTACHED))) or said
        role = text(item.get("role")) or "assistant"
        error = table(item.get("error"))
        use = used.get(text(item.get("id")), _Used(None, None, None))
        is_tool = role == TOOL
        yield Message(
            place=place,
            role=role,
            text=said or text(error.get("message")),
            calls=calls_in(item),
            answers=text(item.get("tool_call_id")) if is_tool else "",
            failed=bool(error) if is_tool else None,
            ran=error.get("type") != _REFUSED,
            usage=use.usage,
            model=words(item.get("model")),
            finish_reason=use.finish_reason,
            at=use.at,
        )


def _uses(row: Table) -> Iterator[tuple[str, _Used]]:
    for part in entries(row.get("events")):
        event = fields(part)
        if value(event.get("event")) != "model":
            continue
        output = fields(event.get("output"))
        for choice in map(fields, entries(output.get("choices"))[:1]):
            name = text(fields(choice.get("message")).get("id"))
            if not name:
                # Older logs do not say which message it made.
                continue
            at = microseconds(event.get("timestamp"))
            reason = words(choice.get("stop_reason"))
            yield name, _Used(usage_from(output.get("usage")), reason, at)
