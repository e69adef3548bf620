"""The page of one run, over real ledgers: long, hostile and empty ones too."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.run_scenes import (
    HOSTILE,
    Scene,
    a_hostile_run,
    a_run_in_a_loop,
    command,
    quietly,
    scene,
    told_step,
)
from interlock.backtest.run_replay import replay_result
from interlock.errors import InputError, UnknownError
from interlock.model.budget import Dimension
from interlock.model.review import TestCounts
from interlock.ports import Rows
from interlock.server.console import run_detail_page
from interlock.server.console.page import Done
from interlock.views.run_page_view import RunPage
from interlock.views.run_timeline import Fold, RunTimeline, StepBlock

PARTS = ("head", "needs", "charts", "timeline", "budget", "figures", "tree")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Scene]:
    """A desk over a real ledger."""
    with scene(tmp_path) as made:
        yield made


def view_of(told: Scene, run_id: str, **query: str) -> RunPage:
    view = told.page(run_detail_page.run_page_of, {"run": run_id}, **query).values["run"]
    assert isinstance(view, RunPage)
    return view


def html_of(told: Scene, run_id: str, **query: str) -> str:
    return told.html(told.page(run_detail_page.run_page_of, {"run": run_id}, **query))


def steps_of(timeline: RunTimeline) -> Iterator[StepBlock]:
    for block in timeline.blocks:
        yield from block.blocks if isinstance(block, Fold) else (block,)


def test_says_first_what_a_person_is_needed_for(told: Scene) -> None:
    run = a_run_in_a_loop(told)

    view = view_of(told, run.id)

    assert view.standing.word == "paused"
    paused, asked = view.needs
    assert paused.heading.startswith("Paused at step")
    assert "the same call with the same results" in paused.reason
    assert asked.reason == "git push --force origin main"
    assert html_of(told, run.id).count("Answer in the inbox") == 2


def test_shows_the_newest_step_first_and_folds_the_quiet_ones(told: Scene) -> None:
    run = a_run_in_a_loop(told)

    timeline = view_of(told, run.id).timeline

    numbers = [each.step for each in steps_of(timeline)]
    assert numbers == sorted(numbers, key=lambda step: -(step or 0))
    folds = [each for each in timeline.blocks if isinstance(each, Fold)]
    assert [(each.first.step, each.last.step, each.actions) for each in folds] == [(0, 10, 11)]
    assert timeline.started is not None
    assert timeline.before is None


def test_a_fold_hides_nothing_that_was_not_just_allowed(told: Scene) -> None:
    run = told.interlock.run("ask, and ask again")
    for number in range(9):
        told_step(told, run, 2_000)
        command(told, run, f"cat part{number}")
        if number == 4:
            command(told, run, "git push --force origin main")

    blocks = view_of(told, run.id).timeline.blocks

    shapes = [len(each.blocks) if isinstance(each, Fold) else each.step for each in blocks]
    assert shapes == [4, 4, 4]
    hidden = [
        row
        for fold in blocks
        if isinstance(fold, Fold)
        for each in fold.blocks
        for row in each.rows
    ]
    assert {row.word for row in hidden} == {"allow"}


def test_brackets_a_loop_under_one_line_that_names_it(told: Scene) -> None:
    run = a_run_in_a_loop(told)

    blocks = list(steps_of(view_of(told, run.id).timeline))

    looping = [each for each in blocks if each.loop]
    assert [each.begins_loop for each in looping] == [True, *[False] * (len(looping) - 1)]
    assert "went round 2 times (steps 13, 14)" in looping[0].loop
    assert html_of(told, run.id).count("looping-head") == 1


def test_one_row_tells_what_was_asked_answered_and_what_came_of_it(told: Scene) -> None:
    run = told.interlock.run("test it")
    told_step(told, run, 900)
    command(told, run, "pytest -q", TestCounts(failed=2, passed=7), exit_code=1, took=7_400)

    (block,) = steps_of(view_of(told, run.id).timeline)

    (row,) = block.rows
    assert row.deed is not None
    assert (row.word, row.deed.text) == ("allow", "pytest -q")
    assert [each.text for each in row.come] == ["exit 1", "7.4 s", "2 failed", "7 passed"]


def test_a_report_that_comes_steps_later_stands_where_it_was_asked(told: Scene) -> None:
    run = told.interlock.run("slowly")
    run.step()
    answer = run.command("make all")
    run.step()
    run.observe(answer, exit_code=0, duration_ms=90_000)

    first = list(steps_of(view_of(told, run.id).timeline))[-1]

    assert [each.text for each in first.rows[0].come] == ["exit 0", "1 min"]


def test_a_question_says_what_a_person_made_of_it(told: Scene) -> None:
    run = told.interlock.run("ask")
    answer = run.command("git push --force origin main")
    assert answer.approval_id is not None
    told.interlock.deny(answer.approval_id, token=told.token, note="not on Fridays")

    (block,) = steps_of(view_of(told, run.id, show="people").timeline)

    assert [(row.word, [each.text for each in row.come]) for row in block.rows] == [
        ("require-confirmation", ["denied"]),
        ("denied", ["by ada"]),
    ]


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ("refused", {"require-confirmation", "block"}),
        ("failed", {"allow", "75 %"}),
        ("people", {"require-confirmation"}),
        ("edits", set[str]()),
    ],
)
def test_a_filter_shows_one_kind_alone(told: Scene, show: str, words: set[str]) -> None:
    run = a_run_in_a_loop(told)

    rows = [
        row for each in steps_of(view_of(told, run.id, show=show).timeline) for row in each.rows
    ]

    assert {row.word for row in rows} == words


def test_pages_are_cut_between_steps_and_lose_nothing(told: Scene) -> None:
    run = told.interlock.run("long")
    for number in range(150):
        run.step()
        run.command(f"cat part{number}")
    seen: list[int] = []
    before: str | None = ""

    while before is not None:
        view = view_of(told, run.id, **({"before": before} if before else {}))
        blocks = steps_of(view.timeline)
        seen += [row.seq for each in blocks for row in each.rows if row.is_decision]
        before = None if view.timeline.before is None else str(view.timeline.before)

    judged = [
        row.seq for row in told.desk.ledger.rows.records(run.id) if row.kind == "action-judged"
    ]
    assert sorted(seen) == judged
    assert "Older records" in html_of(told, run.id)


def test_an_empty_run_teaches(told: Scene) -> None:
    run = told.interlock.run("nothing yet")

    html = html_of(told, run.id)

    assert "no steps yet" in html
    assert "no test results yet" in html
    assert "No record yet." in html
    assert "None yet. The first is due at step 20." in html


def test_hostile_text_is_inert(told: Scene) -> None:
    run = a_hostile_run(told)

    html = html_of(told, run.id)

    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "\x00" not in html
    assert '<span class="odd">U+202E</span>' in html
    assert not re.search(r"\sstyle=", html)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_fetched_alone(told: Scene, part: str) -> None:
    run = a_run_in_a_loop(told)
    page = told.page(run_detail_page.run_page_of, {"run": run.id})

    alone, whole = told.html(page, part), told.html(page)

    assert "<!doctype" not in alone
    assert part == "tree" or alone.strip() in whole


def test_any_unique_beginning_of_an_id_is_enough(told: Scene) -> None:
    run = told.interlock.run("one")

    assert view_of(told, run.id[:20]).figures.id == run.id
    with pytest.raises(UnknownError, match="no run"):
        view_of(told, "ffff")


def test_children_stand_below_and_parents_above(told: Scene) -> None:
    above = told.interlock.run("above", agent="lead")
    below = told.interlock.run(HOSTILE, agent="tester", parent=above.id)

    assert [each.id for each in view_of(told, above.id).below] == [below.id]
    assert [each.id for each in view_of(told, below.id).above] == [above.id]
    assert "<script>alert" not in html_of(told, above.id)


def test_an_operator_stops_a_run_and_lets_it_go_on(told: Scene) -> None:
    run = told.interlock.run("go")
    where = {"run": run.id}

    done = told.act(run_detail_page.halt_act, where, reason="wrong branch")

    assert done == Done(f"/runs/{run.id}")
    assert view_of(told, run.id).standing.word == "halted"
    assert "wrong branch" in html_of(told, run.id)
    told.act(run_detail_page.lift_act, where, reason="it was the right one")
    assert view_of(told, run.id).standing.word == "at work"
    assert "say why" in quietly(run_detail_page.halt_act, told.visit(where), {"reason": " "})


def test_an_operator_changes_a_limit(told: Scene) -> None:
    run = told.interlock.run("go")
    where = {"run": run.id}

    told.act(
        run_detail_page.budget_act, where, dimension="cost-usd", limit="$7.50", note="a long one"
    )

    line = next(each for each in view_of(told, run.id).budgets if each.dimension is Dimension.COST)
    assert line.limit == "$7.50"
    visit = told.visit(where)
    for limit in ("much", "-1", "1e99999", "0.0000001", "NaN", "inf"):
        told_off = quietly(
            run_detail_page.budget_act, visit, {"dimension": "cost-usd", "limit": limit}
        )
        assert "expected a number of USD" in told_off
    assert "expected `tokens`" in quietly(run_detail_page.budget_act, visit, {"limit": "1"})


def test_files_are_brought_back_to_a_checkpoint(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for words in (["init", "-q"], ["config", "user.email", "a@b"], ["config", "user.name", "a"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    (work / "kept.txt").write_text("one\n")
    with scene(tmp_path, "[steps]\ncheckpoint-interval = 1\n") as told:
        run = told.interlock.run("save it", workspace=str(work))
        run.step()
        run.step()
        (work / "kept.txt").write_text("two\n")
        saved = next(each for each in view_of(told, run.id).checkpoints if each.checkpoint.commit)

        where = {"run": run.id, "checkpoint": saved.checkpoint.id}
        done = told.act(run_detail_page.restore_act, where)

        assert done == Done(f"/runs/{run.id}#checkpoints")
        assert (work / "kept.txt").read_text() == "one\n"
        assert len(view_of(told, run.id).checkpoints) > 1
        assert "Restore" in html_of(told, run.id)


def test_edits_are_put_back_by_whoever_asks_for_it(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    with scene(tmp_path) as told:
        run = told.interlock.run("edit", workspace=str(work))
        run.apply_edits({"path": "a.txt", "old": "one", "new": "two"})
        (undoable,) = view_of(told, run.id).undoable
        assert "Can be undone" in html_of(told, run.id)

        told.act(run_detail_page.undo_act, {"run": run.id, "undo": undoable.id})

        assert (work / "a.txt").read_text() == "one\n"
        last = told.desk.ledger.rows.records(run.id)[-1]
        assert b'"name":"ada"' in last.body


def test_a_replay_is_remembered_and_shown(tmp_path: Path) -> None:
    with scene(tmp_path, replay=lambda run_id: replay_result(rows(), run_id, 1)) as told:

        def rows() -> Rows:
            return told.desk.ledger.rows

        run = a_run_in_a_loop(told)
        assert "not replayed since the server started" in html_of(told, run.id)

        told.act(run_detail_page.replay_act, {"run": run.id})

        assert re.search(r"(\d+) of \1 answers the same", html_of(told, run.id))


def test_a_server_that_cannot_replay_says_so(told: Scene) -> None:
    run = told.interlock.run("go")

    why = quietly(run_detail_page.replay_act, told.visit({"run": run.id}), {})

    assert "interlock replay" in why


def test_a_limit_without_a_dimension_is_refused_before_anything_is_asked(told: Scene) -> None:
    run = told.interlock.run("go")

    with pytest.raises(InputError, match="`dimension` is `weight`"):
        told.act(run_detail_page.budget_act, {"run": run.id}, dimension="weight", limit="1")


def test_the_chain_of_a_run_is_checked_and_that_is_remembered(told: Scene) -> None:
    run = a_run_in_a_loop(told)
    assert "not verified since the server started" in html_of(told, run.id)

    told.act(run_detail_page.verify_act, {"run": run.id})

    assert '<span class="c-allow">intact</span>' in html_of(told, run.id)
    checked = told.desk.checks.check_of(run.id)
    assert checked is not None
    assert (checked.faults, checked.at) == ((), told.desk.now())
