"""The page of the loop: how it stands, what it decided, and what people say to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.run_scenes import HOSTILE, Scene, a_run_in_a_loop, quietly, scene
from interlock.loop.control_loop import ControlLoop
from interlock.model.recommendation import (
    Evidence,
    PatchOperation,
    Recommendation,
    RecommendationKind,
    RecommendationState,
    Retrospective,
    SimulatedEffect,
)
from interlock.server.console import loop_status_page
from interlock.service.cycles.lessons import learn
from interlock.service.cycles.loop_chain import LoopChain
from interlock.views.loop_page_view import LoopPage
from interlock.views.loop_view import loop_state

PARTS = ("head", "cycle", "log", "recommendations", "snapshot", "rails")


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A desk over a real ledger, under the policy that everybody has."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)
    with scene(tmp_path, "") as made:
        yield made


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Scene]:
    """The same, with a loop that only watches."""
    with scene(tmp_path, '[loop]\nmode = "shadow"\n') as made:
        yield made


def view_of(told: Scene, **query: str) -> LoopPage:
    view = told.page(loop_status_page.loop_page_of, {}, **query).values["view"]
    assert isinstance(view, LoopPage)
    return view


def html_of(told: Scene, **query: str) -> str:
    return told.html(told.page(loop_status_page.loop_page_of, {}, **query))


def tick(told: Scene, tmp_path: Path) -> None:
    ControlLoop(told.desk.governor, folder=tmp_path / "loop").tick()


def recommend(told: Scene) -> Recommendation:
    """Have a finished run teach something."""
    run = a_run_in_a_loop(told)
    taught = Recommendation(
        id="abc123",
        kind=RecommendationKind.ALLOW,
        title="asked 14 times, approved 14 times: `git.push-protected-branch`",
        reason=f"people always say yes {HOSTILE}",
        count=14,
        of=14,
        patch=(
            PatchOperation(
                path=("destructive-ops", "rules", "git.push-protected-branch"), value='"warn"'
            ),
        ),
        evidence=tuple(Evidence(run=run.id, seq=seq) for seq in range(2, 12)),
        effect=SimulatedEffect(
            runs=8, answers=200, changed=14, confirmations_spared=14, blocks_lost=0
        ),
    )
    about = Retrospective(
        run=run.id,
        project="shop",
        outcome="completed",
        went_well=True,
        actions=1,
        steps=1,
        cost_micros=1,
        tokens=1,
    )
    learn(LoopChain(told.desk.governor), about, (taught,))
    return taught


def test_an_unused_loop_teaches(told: Scene) -> None:
    html = html_of(told)

    assert "No cycle yet" in html
    assert "interlock loop tick" in html
    assert view_of(told).stages == ()


def test_the_last_cycle_stands_in_five_stages(watching: Scene, tmp_path: Path) -> None:
    watching.act(loop_status_page.note_act, {}, note="look at the importer")
    tick(watching, tmp_path)

    view = view_of(watching)

    assert [each.name for each in view.stages] == ["SENSE", "ORIENT", "DECIDE", "ACT", "LEARN"]
    assert view.stages[0].text == "5 sources, all answered"
    assert view.stages[2].text == "process_notes"
    assert view.stages[3].text == "nothing: shadow"


def test_decisions_are_listed_with_their_reasons(watching: Scene, tmp_path: Path) -> None:
    tick(watching, tmp_path)
    watching.act(loop_status_page.note_act, {}, note="look at the importer")
    tick(watching, tmp_path)

    every, acts, rails = (view_of(watching, show=each).lines for each in ("all", "acts", "rails"))

    assert [each.action for each in every] == ["process_notes", "do_nothing"]
    assert [each.action for each in acts] == ["process_notes"]
    assert [each.rails for each in rails] == [("mode: `loop.mode` is shadow",)]
    assert all(each.reasoning for each in every)


def test_a_note_carries_who_left_it_and_is_inert(told: Scene) -> None:
    told.act(loop_status_page.note_act, {}, note=f"read this {HOSTILE}")

    (note,) = loop_state(told.desk.ledger).notes.values()
    html = html_of(told)
    assert note.source == "ada"
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "expected 1 to" in quietly(loop_status_page.note_act, told.visit({}), {"note": " "})


def test_freezing_takes_a_reason_and_is_taken_back_with_one(told: Scene) -> None:
    told.act(loop_status_page.freeze_act, {}, reason="something is odd")

    frozen = loop_state(told.desk.ledger).frozen
    assert frozen is not None
    assert frozen.reason == "something is odd"
    assert "The loop is frozen" in html_of(told)
    told.act(loop_status_page.thaw_act, {}, reason="it was nothing")
    assert loop_state(told.desk.ledger).frozen is None
    assert "the reason is empty" in quietly(loop_status_page.freeze_act, told.visit({}), {})


def test_a_recommendation_shows_its_evidence_patch_and_effect(told: Scene) -> None:
    recommend(told)

    html = html_of(told)

    assert "destructive-ops.rules.git.push-protected-branch" in html
    assert "200 answers of 8 past runs" in html
    assert "and 4 more" in html
    assert "<script>alert" not in html


def test_a_recommendation_is_applied_and_undone(told: Scene, tmp_path: Path) -> None:
    recommend(told)
    file = tmp_path / "config" / "interlock" / "policy.toml"
    where = {"recommendation": "abc123"}

    told.act(loop_status_page.recommendation_act, where, do="apply")

    assert "git.push-protected-branch" in file.read_text()
    (applied,) = view_of(told).recommendations
    assert applied.state is RecommendationState.APPLIED
    told.act(loop_status_page.recommendation_act, where, do="undo")
    assert "git.push-protected-branch" not in file.read_text()


def test_a_recommendation_is_dismissed(told: Scene) -> None:
    recommend(told)
    where = {"recommendation": "abc123"}

    told.act(loop_status_page.recommendation_act, where, do="dismiss", note="we like to be asked")

    (dismissed,) = view_of(told).recommendations
    assert dismissed.state is RecommendationState.DISMISSED
    assert "expected `apply`" in quietly(
        loop_status_page.recommendation_act, told.visit(where), {"do": "sing"}
    )


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_fetched_alone(told: Scene, tmp_path: Path, part: str) -> None:
    recommend(told)
    tick(told, tmp_path)
    page = told.page(loop_status_page.loop_page_of, {})

    assert told.html(page, part).strip() in told.html(page)
