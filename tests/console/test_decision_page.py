"""The page of one record: every kind of it, hostile ones too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.run_scenes import Scene, a_hostile_run, a_run_in_a_loop, quietly, scene
from interlock.backtest.run_replay import replay_result
from interlock.errors import UnknownError
from interlock.model.verdict import Decision
from interlock.server.console import decision_page
from interlock.server.console.page import Done
from interlock.views.check_results import AnswerDifference, ReplayResult
from interlock.views.decision_view import DecisionPage

COMMAND = "cd service && sudo -u deploy bash -c 'git push --force origin main && rm -rf dist build'"


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Scene]:
    """A desk over a real ledger."""
    with scene(tmp_path) as made:
        yield made


def seq_of(told: Scene, run_id: str, kind: str) -> int:
    rows = told.desk.ledger.rows.records(run_id)
    return next(row.seq for row in reversed(rows) if row.kind == kind)


def view_of(told: Scene, run_id: str, seq: int, **query: str) -> DecisionPage:
    where = {"run": run_id, "seq": str(seq)}
    view = told.page(decision_page.decision_page_of, where, **query).values["view"]
    assert isinstance(view, DecisionPage)
    return view


def html_of(told: Scene, run_id: str, seq: int, **query: str) -> str:
    where = {"run": run_id, "seq": str(seq)}
    return told.html(told.page(decision_page.decision_page_of, where, **query))


def asked(told: Scene, line: str) -> tuple[str, int]:
    run = told.interlock.run("release it", agent="release-bot")
    run.command(line, cwd="/srv/release")
    return run.id, seq_of(told, run.id, "action-judged")


def test_the_answer_is_the_heading_and_every_gate_is_named(told: Scene) -> None:
    view = view_of(told, *asked(told, COMMAND))

    assert (view.word, view.heading) == ("require-confirmation", "A person must approve first")
    spoke = {gate.name: gate.decision for gate in view.gates}
    assert spoke["destructive-ops"] is Decision.REQUIRE_CONFIRMATION
    assert {"protected-paths", "secrets", "rules", "budget", "privilege", "continue"} <= set(spoke)
    assert all(gate.silence for gate in view.gates if not gate.findings)


def test_what_speaks_is_marked_in_the_exact_text(told: Scene) -> None:
    html = html_of(told, *asked(told, COMMAND))

    assert '<mark class="ask">git push --force origin main</mark>' in html
    assert "its history is replaced" in html
    assert "is scratch" in html


def test_the_record_stands_between_its_neighbours(told: Scene) -> None:
    run_id, seq = asked(told, "git status")
    told.interlock.resume(run_id).step()

    view = view_of(told, run_id, seq)

    assert [each.seq for each in view.chain] == [seq - 1, seq, seq + 1]
    assert [each.is_here for each in view.chain] == [False, True, False]
    assert view.chain[0].hash in view.json
    assert f"record {seq} · action judged" in html_of(told, run_id, seq)


def test_says_what_it_was_judged_on(told: Scene) -> None:
    facts = dict(view_of(told, *asked(told, COMMAND)).facts)

    used = "0 of 1,000,000,000 tokens; 0 of 150 tool calls; $0.00 of $3.00 cost used"
    assert facts["run"] == used
    assert facts["asked for"] == "tool calls 1"
    assert facts["approval"] == "none yet: one was opened"


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("deny", '"git.push-force" = "block"'),
        ("ask", '"git.push-force" = "require-confirmation"'),
        ("warn", '"git.push-force" = "warn"'),
        ("off", '"git.push-force" = "off"'),
        ("nonsense", '"git.push-force" = "block"'),
    ],
)
def test_writes_the_rule_that_would_answer_otherwise(told: Scene, answer: str, line: str) -> None:
    rule = view_of(told, *asked(told, COMMAND), rule=answer).rule

    assert rule is not None
    assert line in rule.text


def test_tries_a_rule_on_past_runs_only_when_asked_to(told: Scene) -> None:
    run_id, seq = asked(told, COMMAND)

    untried, tried = view_of(told, run_id, seq).rule, view_of(told, run_id, seq, past="1").rule

    assert untried is not None
    assert untried.effect is None
    assert tried is not None
    assert tried.effect is not None
    assert tried.effect.changed == 1
    assert "1 of 1 answer would change" in html_of(told, run_id, seq, past="1")


def test_a_step_shows_every_check_and_what_was_said(told: Scene) -> None:
    run = a_run_in_a_loop(told)
    seq = seq_of(told, run.id, "step-judged")

    view = view_of(told, run.id, seq)

    assert view.heading == "A person must decide"
    assert {"coherence", "budget", "rework", "slope"} <= {check.code for check in view.checks}
    assert any("went round" in reason for reason in view.reasons)
    assert "Let me run the test again." in html_of(told, run.id, seq)


def test_every_kind_of_record_has_a_page_and_hostile_text_is_inert(told: Scene) -> None:
    runs = [a_hostile_run(told), a_run_in_a_loop(told)]

    for run in runs:
        for row in told.desk.ledger.rows.records(run.id):
            html = html_of(told, run.id, row.seq, past="1")
            assert "<script>alert" not in html
            assert not re.search("[\u202e\u2028\x1b\x00]", html)


def test_a_missing_record_is_named(told: Scene) -> None:
    run = told.interlock.run("short")

    with pytest.raises(UnknownError, match="has no record 99: its last one is 1"):
        view_of(told, run.id, 99)
    for text in ("x", "-1", "9" * 40, "\N{ARABIC-INDIC DIGIT ONE}"):
        visit = told.visit({"run": run.id, "seq": text})
        with pytest.raises(UnknownError, match="records are numbered"):
            decision_page.decision_page_of(visit)


def test_one_answer_is_replayed_where_it_is_looked_at(tmp_path: Path) -> None:
    results: list[ReplayResult] = []

    def replay(run_id: str) -> ReplayResult:
        results.append(replay_result(told.desk.ledger.rows, run_id, told.desk.now()))
        return results[-1]

    with scene(tmp_path, replay=replay) as told:
        run_id, seq = asked(told, COMMAND)
        where = {"run": run_id, "seq": str(seq)}
        assert "not replayed since the server started" in html_of(told, run_id, seq)

        done = told.act(decision_page.replay_record_act, where)

        assert done == Done(f"/runs/{run_id}/records/{seq}#record")
        assert "same answer" in html_of(told, run_id, seq)
        differs = AnswerDifference(field="decision", recorded='"ask"', now='"block"')
        told.desk.checks.note_replay(
            ReplayResult(run=run_id, at=1, records=seq, answers=1, differences={seq: (differs,)})
        )
        assert "different answer" in html_of(told, run_id, seq)


def test_where_nothing_replays_it_is_said(told: Scene) -> None:
    run_id, seq = asked(told, COMMAND)
    visit = told.visit({"run": run_id, "seq": str(seq)})

    assert "interlock replay" in quietly(decision_page.replay_record_act, visit, {})
