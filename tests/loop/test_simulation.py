"""The laws of the loop hold in random histories, and a rail that is broken is found by them.

A history that fails names its seed: `History(SEED)` plays it again.
"""

from __future__ import annotations
import __future__

import inspect
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from effort import rounds
from interlock.loop.cycle import Cycle
from interlock.loop.deciders import (
    Deciders,
    _Conversation,  # pyright: ignore[reportPrivateUsage] - it is broken here
)
from interlock.loop.outbox import Outbox
from interlock.model import loop_state
from interlock.model.loop_state import LoopState
from interlock.policy.loop import model_answer, rails
from interlock.service.cycles import cycle_decision, model_money
from interlock.service.cycles.loop_chain import LoopChain
from loop.loop_invariants import violations
from loop.simulation import History

_HISTORIES: Final = rounds(short=15, soak=10_000)
_PARTS: Final = 5
_IN_FILES: Final = rounds(short=6, soak=300)
_MOST: Final = 120
"""Within so many histories a broken rail is found."""


def _played(seed: int, folder: Path | None = None, *, real_jobs: bool = False) -> list[str]:
    """Play a history; return what it violates."""
    history = History(seed, folder, real_jobs=real_jobs)
    try:
        history.play()
        return list(violations(history))
    finally:
        history.close()


@pytest.mark.parametrize("part", range(_PARTS))
def test_every_law_of_the_loop_holds_in_random_histories(part: int) -> None:
    found = {seed: broken for seed in range(part, _HISTORIES, _PARTS) if (broken := _played(seed))}

    assert found == {}


@pytest.mark.parametrize("part", range(2))
def test_they_hold_where_the_ledger_is_a_file_that_is_opened_again(
    part: int, tmp_path: Path
) -> None:
    found: dict[int, list[str]] = {}
    for seed in range(part, _IN_FILES, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if broken := _played(seed, folder):
            found[seed] = broken

    assert found == {}


def test_they_hold_where_jobs_are_real_commands() -> None:
    found = {
        seed: broken
        for seed in range(rounds(short=6, soak=100))
        if (broken := _played(seed, real_jobs=True))
    }

    assert found == {}


def test_a_history_is_its_seed() -> None:
    told = [_told(7), _told(7), _told(8)]

    assert told[0] == told[1]
    assert told[0] != told[2]


def _told(seed: int) -> list[str]:
    history = History(seed)
    history.play()
    rows = history.loop.chain.governor.ledger.rows.records("loop", limit=10_000)
    history.close()
    return [f"{row.at} {row.kind}" for row in rows]


class Break(NamedTuple):
    """A place of the program, and what stands there instead."""

    owner: Any
    name: str
    old: str
    new: str


class Broken(NamedTuple):
    """A rail that is gone, and the laws that find it out."""

    breaks: Sequence[Break]
    laws: Sequence[str]
    likely: int
    """A history that has found it; it is played before the others."""


_BROKEN: Final = {
    "rate ignored": Broken(
        [Break(LoopState, "acted_within_hour", "at > now - HOUR", "at > now")], ["rate"], 11
    ),
    "depth not counted": Broken(
        [Break(LoopChain, "_depth_after", "record.event.depth + 1", "1")], ["cascade"], 11
    ),
    "depth ignored": Broken(
        [
            Break(Cycle, "think", "settings.max_depth", "settings.max_depth + 99"),
            Break(rails, "_hits_of_cycle", "depth > settings.max_depth", "False"),
        ],
        ["cascade"],
        11,
    ),
    "approval ignored": Broken(
        [Break(rails, "_outcome", 'settings.may(choice.action) == "allow"', "True")],
        ["approval"],
        0,
    ),
    "approval of anything": Broken(
        [Break(cycle_decision, "_bound_to", "scope, encoded, digest", '"", "", ""')],
        ["approval"],
        12,
    ),
    "approval used again": Broken(
        [Break(cycle_decision, "_after", "event.facts.granted is not None", "False")],
        ["approval"],
        5,
    ),
    "approval never runs out": Broken(
        [
            Break(
                cycle_decision,
                "_facts",
                "approval.is_usable_at(now)",
                "approval.decided_by and approval.uses_left",
            )
        ],
        ["approval"],
        12,
    ),
    "frozen ignored": Broken(
        [
            Break(cycle_decision, "_facts", "moment.run.standstill", "None"),
            Break(Deciders, "unasked", "self._chain.standstill is None", "True"),
        ],
        ["frozen"],
        4,
    ),
    "frozen ignored at the outbox": Broken(
        [Break(Outbox, "deliver", "self._chain.standstill is not None", "False")], ["frozen"], 5
    ),
    "cost of the day ignored": Broken(
        [Break(model_money, "_unpaid", "today + micros > day", "False")], ["cost"], 8
    ),
    "cost of the cycle ignored": Broken(
        [Break(model_money, "_unpaid", "spent + micros > cycle", "False")], ["cost"], 1
    ),
    "promises forgotten": Broken(
        [Break(loop_state, "_after_question", "+ event.reserved_micros", "")], ["cost"], 8
    ),
    "usage believed": Broken(
        [Break(_Conversation, "_cost", "min(cost, most)", "cost")], ["cost"], 1
    ),
    "validation ignored": Broken(
        [
            Break(model_answer, "_hold", "named not in known", "False"),
            Break(cycle_decision, "_unknown", "match choice:", "match None:"),
        ],
        ["closed set"],
        6,
    ),
    "mode ignored": Broken(
        [Break(rails, "_outcome", "settings.mode == LoopMode.SHADOW", "False")], ["closed set"], 3
    ),
    "duplicates taken": Broken(
        [Break(LoopChain, "take", "earlier is not None", "False")], ["answered once"], 0
    ),
    "answers given twice": Broken(
        [
            Break(
                cycle_decision,
                "_decided",
                "waiting[each] for each in findings.triggers if each in waiting",
                "waiting.get(each) or Trigger(id=each, name='x', occurred_at=0, due_at=0)"
                " for each in findings.triggers",
            )
        ],
        ["answered once"],
        7,
    ),
    "a new id at every attempt": Broken(
        [
            Break(
                Outbox,
                "_handed",
                "decided.emitted, attempt",
                "type(decided.emitted)(**{f: getattr(decided.emitted, f) for f in"
                " decided.emitted.__struct_fields__ if f != 'id'}, id=f'e{attempt}'), attempt",
            )
        ],
        ["one event"],
        0,
    ),
    "failures taken for deliveries": Broken(
        [Break(Outbox, "_put_off", "next_at=next_at)", "next_at=None)")], ["delivered"], 1
    ),
}


@pytest.mark.parametrize("broken", _BROKEN.values(), ids=_BROKEN.keys())
def test_a_broken_rail_is_found(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in broken.breaks:
        monkeypatch.setattr(each.owner, each.name, _mutated(each))

    likely_first = sorted(range(_MOST), key=lambda seed: seed != broken.likely)
    assert any(
        problem.partition(":")[0] in broken.laws
        for seed in likely_first
        for problem in _played(seed)
    )


def _mutated(broken: Break) -> object:
    """Return a function with something else in it."""
    function = getattr(broken.owner, broken.name)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(broken.old) == 1, "the program has changed: break it elsewhere"
    code = compile(
        source.replace(broken.old, broken.new),
        "mutant",
        "exec",
        flags=__future__.annotations.compiler_flag,
    )
    names = dict(vars(sys.modules[function.__module__]))
    exec(code, names)
    return names[broken.name]
