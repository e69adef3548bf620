"""What a shell offers behind Tab where a code is expected: what is open, with its words as help.

INVARIANT: nothing is written, nothing is said, and no more is read than a person waits for. Where
the ledger cannot be read so, as one in Postgres cannot, there is nothing to offer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw
import click
from click.shell_completion import CompletionItem

from interlock import settings
from interlock.cli.call.options import chosen_place
from interlock.cli.text.tables import cut
from interlock.ledger.abbreviations import found_run
from interlock.ledger.chain import records_of
from interlock.ledger.key_file import KeyFile
from interlock.ledger.stores.sqlite import SqliteRows
from interlock.ledger.transaction import caught_up, chain_from_snapshot
from interlock.model.approval import Approval, Subject
from interlock.model.recommendation import RecommendationState
from interlock.model.review import GateAction
from interlock.model.rows import RecordRow, RunRow
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.short_code import codes_of
from interlock.model.system_loop import LOOP_RUN
from interlock.ports import Rows
from interlock.service.records.context import SystemClock
from interlock.service.records.undo_records import undoable_among
from interlock.views.run_view import checkpoints_among

_MOST: Final = 50
_MOST_READ: Final = 5
"""The records of so many runs are looked through."""
_LAST_RECORDS: Final = 2000
_WIDEST: Final = 70
_PATIENCE_MS: Final = 200

Known = Iterable[tuple[str, str]]
"""Ids, each with what a person knows it by."""
Find = Callable[[Rows, click.Context], Known]


class Code(click.ParamType[str]):
    """A code, or the id that it stands for, as a shell completes it."""

    name = "code"

    def __init__(self, find: Find, words: Sequence[str] = ()) -> None:
        self._find = find
        self._words = words
        """What may stand there as well."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        """Return what is found that begins like this; nothing where anything goes wrong."""
        try:
            with ctx.scope(cleanup=False), _only_read(Path(chosen_place()).expanduser()) as rows:
                known = dict(islice(self._find(rows, ctx), _MOST))
        except Exception:  # noqa: BLE001 - whoever presses Tab is in the middle of a line
            known = {}
        codes, typed = codes_of(known), ctx.params.get(param.name or "") or ()
        return [
            *[
                CompletionItem(whole, help=_help(text))
                for each, text in known.items()
                if codes[each] not in typed
                if (whole := _begun(incomplete, codes[each], each)) is not None
            ],
            *[CompletionItem(each) for each in self._words if each.startswith(incomplete)],
        ]


def with_codes(command: click.Command, path: str) -> click.Command:
    """Return a command whose parameters know the codes that can be meant, and those below it."""
    for each in command.params:
        kind = _KINDS.get(f"{path} {each.name}")
        if kind is not None:
            each.type = kind
        elif each.name in ("run", "run_id"):
            each.type = Code(_running if path.split(maxsplit=1)[0] in _AT_WORK_ONLY else _runs)
        elif each.name == "recommendation":
            each.type = Code(_recommended)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            with_codes(inner, f"{path} {name}")
    return command


@contextmanager
def _only_read(path: Path) -> Generator[Rows]:
    """Open a ledger's rows as they are, unchecked: no file is made, changed or brought up to date.

    It is for what is shown, never for a decision.
    """
    file = path.resolve()
    # While nobody has it open there is no such file, and to look must not make one.
    is_open = file.with_name(f"{file.name}-wal").exists()
    address = f"file:{quote(str(file))}?{'mode=ro' if is_open else 'immutable=1'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(address, flags=flags)) as connection:
        connection.set_busy_timeout(_PATIENCE_MS)
        yield SqliteRows(connection)


def _begun(incomplete: str, code: str, thing_id: str) -> str | None:
    """Return how a word goes on: what stands there already stays, also in small letters."""
    if code.upper().startswith(incomplete.upper()):
        return incomplete + code[len(incomplete) :]
    return thing_id if thing_id.startswith(incomplete) else None


def _help(text: str) -> str:
    return cut(" ".join(text.split()), _WIDEST)


def _asked(rows: Rows, *, about_reviews: bool) -> Iterator[Approval]:
    now = SystemClock().now()
    for each in rows.approvals(state="pending", limit=10 * _MOST):
        if each.is_open_at(now) and (each.subject is Subject.REVIEW) is about_reviews:
            yield each


def _questions(rows: Rows, _ctx: click.Context) -> Known:
    return ((each.id, each.summary) for each in _asked(rows, about_reviews=False))


def _reviews(rows: Rows, ctx: click.Context) -> Known:
    if ctx.params.get("words") or ctx.params.get("run"):
        return ()
    return ((each.id, each.summary) for each in _asked(rows, about_reviews=True))


def _own(row: RunRow) -> bool:
    return row.id in (LEDGER_RUN, LOOP_RUN)


def _at_work(rows: Rows) -> list[RunRow]:
    found = rows.runs(limit=_MOST + 2, status=RunStatus.RUNNING.value)
    return [row for row in found if not _own(row)]


def _running(rows: Rows, _ctx: click.Context) -> Known:
    return ((row.id, f"{row.agent}: {row.task}") for row in _at_work(rows))


def _runs(rows: Rows, ctx: click.Context) -> Known:
    yield from _running(rows, ctx)
    for row in rows.runs(limit=_MOST + 2):
        if not _own(row) and row.status != RunStatus.RUNNING.value:
            yield row.id, f"{row.agent}: {row.task} ({row.status})"


def _held(rows: Rows, _ctx: click.Context) -> Known:
    for row in _at_work(rows):
        control = _state(rows, row).control
        if control.hold is not None:
            yield row.id, f"{row.agent}: {row.task}"


def _state(rows: Rows, row: RunRow) -> RunState:
    """Return a run's state, from its last snapshot on."""
    key = KeyFile(settings.current_ledger_places().keys, rows.meta("id") or "").key()
    return caught_up(rows, chain_from_snapshot(rows, row.id, key), row).state


def _last_records(rows: Rows, ctx: click.Context) -> Iterator[list[RecordRow]]:
    """Yield the latest records of the run that the call names, or of those that were active."""
    named = ctx.params.get("run")
    found = rows.runs(limit=_MOST_READ + 2) if named is None else [found_run(rows, named)]
    for row in found:
        if not _own(row):
            yield list(records_of(rows, row.id, after=max(0, row.seq - _LAST_RECORDS)))


def _undos(rows: Rows, ctx: click.Context) -> Known:
    store = settings.current_ledger_places().undo
    for records in _last_records(rows, ctx):
        for each in undoable_among(records, store):
            yield each.id, f"{each.kind.value}: {', '.join(each.paths) or each.workspace}"


def _checkpoints(rows: Rows, ctx: click.Context) -> Known:
    for records in _last_records(rows, ctx):
        for each in reversed(list(checkpoints_among(records))):
            yield each.checkpoint.id, f"step {each.checkpoint.step} of {each.checkpoint.workspace}"


def _recommended(rows: Rows, _ctx: click.Context) -> Known:
    row = rows.run(LOOP_RUN)
    known = () if row is None else _state(rows, row).loop.recommendations.values()
    waits = RecommendationState.PENDING
    return [(each.id, each.title) for each in known if each.state is waits]


_AT_WORK_ONLY: Final = ("check", "edit", "halt", "mcp", "run")
_KINDS: Final = {
    "approve asked": Code(_questions),
    "deny asked": Code(_questions),
    "review resolve words": Code(_reviews, [each.value for each in GateAction]),
    "resume run": Code(_held),
    "run observe named": Code(_running),
    "undo undo": Code(_undos),
    "checkpoint restore checkpoint": Code(_checkpoints),
}
"""By the command and the name of its parameter; whatever is called `run` is a run."""
