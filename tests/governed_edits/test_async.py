"""The same from a coroutine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gates.policies import gates_with
from governed_edits.workbench import NOTES, Workbench, an_edit
from interlock import AsyncInterlock, InputError
from interlock.errors import EditError


async def _opened(bench: Workbench) -> AsyncInterlock:
    return await AsyncInterlock.open(
        bench.place,
        policy=gates_with(bench.policy),
        clock=bench.clock,
        keys=bench.keys,
        undo_store=bench.store,
    )


def test_edits_are_made_and_put_back_without_blocking(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)

    async def work() -> None:
        async with await _opened(bench) as interlock:
            run = await interlock.run("edit", workspace=bench.root)
            looked_at = await run.apply_edits([an_edit("a.txt", "two", "2")], dry_run=True)
            assert looked_at.applied is None
            assert bench.text("a.txt") == NOTES
            told, again = await asyncio.gather(
                run.apply_edits([an_edit("a.txt", "two", "2")], key="once"),
                run.apply_edits([an_edit("a.txt", "two", "2")], key="once"),
            )
            assert sorted((told.repeated, again.repeated)) == [False, True]
            assert bench.text("a.txt") == "one\n2\nthree\n"
            assert told.undo_id is not None
            undone = await interlock.undo(told.undo_id)
            assert undone.paths == ("a.txt",)
            with pytest.raises(EditError, match="does not exist"):
                await run.apply_edits([an_edit("b.txt", "two", "2")])
            with pytest.raises(InputError, match="nothing on record"):
                await interlock.undo("nonsense")

    asyncio.run(work())
    assert bench.text("a.txt") == NOTES


def test_a_person_is_waited_for_in_a_coroutine(small_bench: Workbench, tmp_path: Path) -> None:
    small_bench.policy = '[diff-size]\nthreshold = 1\ndecision = "require-confirmation"\n'
    small_bench.write("a.txt", NOTES)

    async def ask(run_id: str) -> bool:
        async with await _opened(small_bench) as interlock:
            run = await interlock.resume(run_id)
            told = await run.apply_edits([an_edit("a.txt", "two", "2")], wait_s=0)
            return told.allowed

    with small_bench.resumed():
        pass
    assert not asyncio.run(ask(small_bench.run_id))
    small_bench.approve(small_bench.apply(an_edit("a.txt", "two", "2")))
    assert asyncio.run(ask(small_bench.run_id))
    assert small_bench.text("a.txt") == "one\n2\nthree\n"
    assert small_bench.root.parent == tmp_path
