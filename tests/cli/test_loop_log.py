"""`loop log`, `note`, `event` and `recommendations`: what the loop was told and decided."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock, make_operator
from cli.looping import a_loop, write_policy
from cli.test_loop_commands import told
from interlock import Interlock
from interlock.model.recommendation import (
    Evidence,
    PatchOperation,
    Recommendation,
    RecommendationKind,
    Retrospective,
    SimulatedEffect,
)
from interlock.model.short_code import code_of
from interlock.service.cycles.lessons import learn
from interlock.service.cycles.loop_chain import LoopChain
from patience import LONG_ENOUGH_S

ADVICE = Recommendation(
    id="allow-push-5f1c",
    kind=RecommendationKind.ALLOW,
    title="git.push-force: asked 14 times, approved 14 times: only warn of it",
    reason="people always said yes",
    count=14,
    of=14,
    patch=(PatchOperation(path=("destructive-ops", "rules", "git.push-force"), value='"warn"'),),
    evidence=(Evidence(run="01a1e3d6-9d1d-7d66-b098-c6d5cb000000", seq=7),),
    effect=SimulatedEffect(runs=3, answers=120, changed=14, confirmations_spared=14, blocks_lost=0),
)


def recommend(place: str) -> None:
    """Let the loop learn something from a run."""
    retrospective = Retrospective(
        run="01a1e3d6-9d1d-7d66-b098-c6d5cb000000",
        project="shop",
        outcome="completed",
        went_well=True,
        actions=20,
        steps=5,
        cost_micros=0,
        tokens=0,
    )
    with Interlock.open(place) as opened:
        learn(LoopChain(opened.governor), retrospective, [ADVICE])


def test_every_decision_is_listed_the_newest_first(place: str) -> None:
    with a_loop(place) as looped:
        looped.after("ci/deploy.failed", event_id="deploy-117")
        looped.clock.passes(1)
        looped.loop.tick()
        looped.after("ci/build.failed")

    listed = interlock("loop", "log")
    page = json.loads(interlock("loop", "log", "--limit", "2", "--json").stdout)
    rest = json.loads(interlock("loop", "log", "--before", str(page["before"]), "--json").stdout)

    assert re.sub(r" +", " ", told(listed.stdout)) == snapshot("""\
when decision outcome action because of decider
<time> ago <id> approval required start_loop fix-the-build event:ci/build.failed rules
<time> ago <id> nothing do_nothing manual nobody
<time> ago <id> emitted emit_alert ci/deploy.failed event:ci/deploy.failed rules
""")
    assert [each["decision"]["outcome"] for each in page["entries"]] == [
        "approval_required",
        "nothing",
    ]
    assert [each["decision"]["outcome"] for each in rest["entries"]] == ["emitted"]
    assert rest["before"] is None


def test_a_decision_is_found_by_whatever_names_it(place: str) -> None:
    with a_loop(place) as looped:
        first = looped.after("ci/deploy.failed", event_id="deploy-117")
        looped.clock.passes(1)
        looped.loop.tick()
    assert first.emitted is not None

    names = [
        *(first.decision_id, first.decision_id[:20], first.emitted.id, "deploy-117", "deploy-"),
        *(code_of(first.decision_id), code_of(first.emitted.id)[:5].lower()),
    ]
    found = [interlock("loop", "log", "--decision", name, "--json").stdout for name in names]

    assert len(set(found)) == 1
    view = json.loads(found[0])
    assert view["entry"]["decision"]["decision_id"] == first.decision_id
    assert view["attempts"][0]["sink"] == "interlock"


def test_what_could_be_several_is_told(place: str) -> None:
    with a_loop(place) as looped:
        looped.after("ci/deploy.failed", event_id="deploy-1")
        looped.after("ci/deploy.failed", event_id="deploy-2")

    several = interlock("loop", "log", "--decision", "deploy-")
    none = interlock("loop", "log", "--decision", "nobody")

    assert (several.exit_code, none.exit_code) == (2, 2)
    assert "`deploy-` could be more than one decision: `deploy-1`, `deploy-2`" in several.stderr
    assert "there is no decision `nobody`: `interlock loop log` lists them" in none.stderr


def test_a_long_slog_is_read_from_its_end(place: str) -> None:
    with a_loop(place) as looped:
        for _ in range(230):
            looped.loop.tick()

    page = json.loads(interlock("loop", "log", "--limit", "225", "--json").stdout)

    sequence = [each["seq"] for each in page["entries"]]
    named = code_of(page["entries"][-1]["decision"]["decision_id"])
    found = json.loads(interlock("loop", "log", "--decision", named, "--json").stdout)
    assert found["entry"] == page["entries"][-1]
    assert len(sequence) == 225
    assert sequence == sorted(sequence, reverse=True)


def test_nothing_that_was_said_draws_on_the_terminal(place: str) -> None:
    write_policy()
    with Interlock.open(place):
        pass
    interlock("note", "add", "\x1b[2Jlook", "--source", "\x1b]0;x\x07")
    interlock("event", "send", "ci/deploy.failed", '{"a": "\\u001b[2J"}', "--id", "\x1be1")
    interlock("loop", "tick")

    for words in (["note", "list"], ["loop", "log"], ["loop", "status"], ["show", "loop"]):
        assert "\x1b" not in interlock(*words).stdout


def test_a_note_is_left_with_its_words(place: str) -> None:
    said = interlock("note", "add", "-", "--tag", "ops", "--tag", "tls", "--source", "pager",
                     "--scope", "shop", "--json", stdin="the certificate ends")  # fmt: skip

    note = json.loads(said.stdout)
    assert (note["text"], note["tags"], note["source"], note["scope"]) == (
        "the certificate ends",
        ["ops", "tls"],
        "pager",
        "shop",
    )
    assert "the certificate ends #ops #tls  pager  shop" in interlock("note", "list").stdout
    assert Path(place).exists()


@pytest.mark.parametrize(
    ("words", "stdin", "complaint"),
    [
        (["note", "add", " "], "", "the note has 1 characters, expected 1 to 4000"),
        (["note", "add", "-"], "x" * 4_001, "the note has 4001 characters"),
        (["note", "add", "-"], "x" * 16_001, "the note is longer than 16000 bytes"),
        (["note", "add", "-"], b"\xff", "the note is not UTF-8"),
        (["note", "add", "x", "--scope", ""], "", "a tag or scope"),
        (["event", "send", "nonsense"], "", "no event is called `nonsense`"),
        (["event", "send", "ci/failed", "{"], "", "the event's data is not JSON"),
        (["event", "send", "ci/failed", "[1]"], "", "expected"),
        (["event", "send", "ci/failed", "-"], "x" * 65_537, "the event is longer than 65536"),
        (["loop", "log", "--limit", "0"], "", "'--limit'"),
        (["recommendations", "apply", "x"], "", "there is no recommendation `x`"),
    ],
)
def test_what_cannot_be_read_is_told(
    words: list[str], stdin: str | bytes, complaint: str, place: str
) -> None:
    with Interlock.open(place):
        pass

    result = interlock(*words, stdin=stdin)

    assert result.exit_code == 2
    assert complaint in result.stderr


def test_an_event_is_taken_once(place: str) -> None:
    write_policy()
    sent = interlock("event", "send", "ci/deploy.failed", '{"a": 1}', "--id", "deploy-117")
    again = interlock("event", "send", "ci/deploy.failed", '{"a": 1}', "--id", "deploy-117")
    interlock("loop", "tick")
    late = interlock("event", "send", "ci/deploy.failed", "--id", "deploy-117")

    assert sent.stdout == snapshot("""\
TAKEN  a cycle of the loop answers it
  event    ci/deploy.failed
  id       deploy-117
""")
    assert again.stdout.startswith("KNOWN  it was sent before, and waits for its cycle\n")
    assert late.stdout.startswith("KNOWN  it was sent before, and is answered\n")
    assert "  interlock loop log --decision " in late.stdout


def test_what_a_job_sends_counts_as_caused_by_the_loop(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_loop(place) as looped:
        decided = looped.after("ci/deploy.failed")
    monkeypatch.setenv("INTERLOCK_CAUSE", decided.decision_id)
    monkeypatch.setenv("INTERLOCK_RUN", "01a1")

    sent = json.loads(interlock("event", "send", "ci/deploy.failed", "--json").stdout)
    interlock("note", "add", "mended")

    assert (sent["trigger"]["cause"], sent["trigger"]["depth"]) == (decided.decision_id, 1)
    status = json.loads(interlock("loop", "status", "--json").stdout)
    assert {trigger["depth"] for trigger in status["triggers"]} == {1}
    assert status["notes"][0]["source"] == "run/01a1"


def test_a_recommendation_is_looked_at_applied_and_undone(place: str) -> None:
    policy = write_policy("# mine\n[diff-size]\nthreshold = 200  # small is good\n")
    recommend(place)

    listed = interlock("recommendations")
    shown = interlock("recommendations", "show", "allow")
    applied = as_person("recommendations", "apply", "allow-push")
    changed = policy.read_text()
    undone = as_person("recommendations", "undo", "allow")

    assert listed.stdout == snapshot("""\
K9CPCP  pending    git.push-force: asked 14 times, approved 14 times: only warn of it

interlock recommendations show K9CPCP shows its evidence and what would change
""")
    assert shown.stdout == snapshot("""\
git.push-force: asked 14 times, approved 14 times: only warn of it  pending
  id       allow-push-5f1c
  why      people always said yes
  counted  14 of 14
  loosens  a rule of severity low
  change   destructive-ops.rules.git.push-force: the default -> "warn"
  past     120 answers of 3 runs decided again: 14 change, 14 confirmations spared, 0 blocks lost
  rests on MPK4JG 7

interlock recommendations apply K9CPCP   interlock recommendations dismiss K9CPCP
""")
    assert applied.exit_code == 0, applied.stderr
    assert applied.stdout.startswith("APPLIED  the policy says so from now on\n")
    assert "# small is good" in changed
    assert '"git.push-force" = "warn"' in changed
    assert undone.stdout.startswith("UNDONE  the policy says what it said before\n")
    assert "git.push-force" not in policy.read_text()
    assert interlock("recommendations").stdout.startswith("nothing is recommended")
    assert "undone" in interlock("recommendations", "--all").stdout


def test_a_recommendation_is_dismissed(place: str) -> None:
    write_policy()
    recommend(place)

    dismissed = as_person("recommendations", "dismiss", "allow", "--reason", "no", "--json")
    again = as_person("recommendations", "apply", "allow")

    assert json.loads(dismissed.stdout)["state"] == "dismissed"
    assert again.exit_code == 2
    assert "is dismissed already" in again.stderr


@pytest.mark.parametrize("word", ["apply", "dismiss", "undo"])
def test_only_an_operator_settles_one(
    word: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommend(place)
    make_operator(place)
    monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place, "coder"))

    result = as_person("recommendations", word, "allow")

    assert result.exit_code == 1
    assert "`INTERLOCK_TOKEN` is set, so an agent calls this" in result.stderr


@pytest.mark.parametrize(
    "words",
    [["note", "add", "x"], ["event", "send", "ci/failed"], ["loop", "tick"], ["loop", "log"]],
    ids=" ".join,
)
def test_what_has_to_be_quick_loads_nothing_heavy(words: list[str], place: str) -> None:
    with Interlock.open(place):
        pass

    timed = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "interlock", *words],
        capture_output=True,
        check=False,
        timeout=LONG_ENOUGH_S,
    )

    assert timed.returncode == 0
    loaded = {line.rpartition(b"|")[2].strip() for line in timed.stderr.splitlines()}
    heavy = {b"dbos", b"pydantic", b"sqlalchemy", b"openai", b"httpx", b"tomlkit", b"rich"}
    assert loaded & heavy == set()
