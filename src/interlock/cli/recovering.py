"""`interlock ledger recover`: what was saved of a damaged file, and what was not."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import apsw

from interlock.cli import measures
from interlock.cli.progress import progress
from interlock.cli.render import Line, Span, Tone
from interlock.ledger.chain import SealKey
from interlock.ledger.recovery import Recovered, recover
from interlock.settings import current_ledger_places

if TYPE_CHECKING:
    from interlock.ledger.recovery import RunRecovered

_ID: Final = "SELECT value FROM meta WHERE name = 'id'"
_KEY_BYTES: Final = 32


def recovered(source: Path, target: Path) -> Recovered:
    """Save what can be read of a damaged file."""
    with progress("looking at pages") as advance:
        return recover(source, target, _seal_key(source), advance)


def recovered_value(outcome: Recovered, target: Path) -> dict[str, object]:
    """Return what was saved, for programs."""
    return {
        "target": str(target),
        "records": outcome.records,
        "runs": outcome.runs,
        "losses": outcome.losses,
        "lost_policies": outcome.lost_policies,
        "credentials": outcome.credentials,
        "has_same_id": outcome.has_same_id,
        "has_same_digests": outcome.has_same_digests,
    }


def recovered_lines(outcome: Recovered, target: Path) -> Iterator[Line]:
    """Yield what was saved, then everything that was not."""
    saved = f"{measures.counted(outcome.records, 'record')} of"
    yield (
        Span("saved", Tone.GOOD if not outcome.losses else Tone.CAREFUL),
        Span(f"  {saved} {measures.counted(len(outcome.runs), 'chain')} in {target}"),
    )
    for run in outcome.losses:
        yield _loss_line(run)
    yield from _warning_lines(outcome)
    yield (Span(f"look at it with `interlock verify --ledger {target}`", Tone.FAINT),)


def _loss_line(run: RunRecovered) -> Line:
    lost = measures.counted(run.written - run.kept, "record")
    return (Span("lost   ", Tone.BAD), Span(f"{lost} at the end of run {run.run_id}"))


def _warning_lines(outcome: Recovered) -> Iterator[Line]:
    warnings = [
        (
            bool(outcome.lost_policies),
            f"{measures.counted(len(outcome.lost_policies), 'policy text')} could not be read:"
            " what was decided under them cannot be replayed",
        ),
        (outcome.credentials is None, "credentials could not be read: make new ones"),
        (not outcome.has_same_id, "the ledger's id could not be read: it has a new one"),
        (not outcome.has_same_digests, "open approvals cannot be used any more: ask again"),
    ]
    for is_so, warning in warnings:
        if is_so:
            yield (Span(warning, Tone.CAREFUL),)


def _seal_key(source: Path) -> SealKey:
    """Return the local key of the damaged ledger, or a new one where it cannot be told."""
    ledger_id = _ledger_id(source)
    file = current_ledger_places().keys / f"{ledger_id}.key"
    if ledger_id is None or not file.exists():
        return SealKey(secrets.token_bytes(_KEY_BYTES))
    return SealKey(bytes.fromhex(file.read_text("utf-8").strip()))


def _ledger_id(source: Path) -> str | None:
    """Return the ledger's id, if the damage left it readable.

    It is read from a copy: SQLite would write beside the damaged file.
    """
    if not source.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(source, copy)
        with contextlib.closing(apsw.Connection(str(copy))) as connection:
            try:
                row = connection.execute(_ID).fetchone()
            except apsw.Error:
                return None
    return None if row is None else str(row[0])
