"""A workspace with a ledger that is opened anew at every step, as another process would."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gates.policies import gates_with
from interlock import EditAnswer, FileEdit, Interlock, Run
from interlock.backtest.run_replay import replay_run
from interlock.model.events import Event
from service.ledgers import HandClock, events_of, operator_of

NOTES = "one\ntwo\nthree\n"


def an_edit(path: str, old: str, new: str, *, replace_all: bool = False) -> FileEdit:
    return FileEdit(path=path, old=old, new=new, replace_all=replace_all)


class Workbench:
    """Files below one folder, and a place where everything that is done to them is recorded."""

    def __init__(self, folder: Path, place: str) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.store = folder / "store"
        self.keys = folder / "keys"
        self.place = place
        self.policy = ""
        self.clock = HandClock()
        self.run_id = ""

    @contextmanager
    def opened(self) -> Generator[Interlock]:
        """Open the ledger, and leave it again."""
        with Interlock.open(
            self.place,
            policy=gates_with(self.policy),
            clock=self.clock,
            keys=self.keys,
            undo_store=self.store,
        ) as interlock:
            yield interlock

    @contextmanager
    def resumed(self) -> Generator[Run]:
        """Open the ledger and go on with the one run of this place."""
        with self.opened() as interlock:
            if not self.run_id:
                self.run_id = interlock.run("edit", workspace=self.root).id
            yield interlock.resume(self.run_id)

    def apply(self, *edits: FileEdit, key: str | None = None) -> EditAnswer:
        with self.resumed() as run:
            return run.apply_edits(edits, key=key)

    def approve(self, answer: EditAnswer) -> None:
        assert answer.approval_id is not None
        with self.opened() as interlock:
            interlock.approve(answer.approval_id, token=operator_of(interlock))

    def undo(self, undo_id: str | None) -> Sequence[str]:
        assert undo_id is not None
        with self.opened() as interlock:
            return interlock.undo(undo_id).paths

    def events(self, kind: type[Event] | None = None) -> list[Event]:
        """Return what happened to the run, after its chain was verified."""
        with self.opened() as interlock:
            found = events_of(interlock.ledger, self.run_id)
        return found if kind is None else [each for each in found if isinstance(each, kind)]

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def files(self) -> dict[str, bytes]:
        """Return every file of the workspace; nothing else may be there."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    def replays_identically(self) -> bool:
        with self.opened() as interlock:
            return all(each.is_same for each in replay_run(interlock.ledger.rows, self.run_id))
