"""What two policies would have said to a run that nobody governed."""

from __future__ import annotations

from typing import Any

from gates.policies import gates_with
from interlock import CommandAction, TokenUsage
from interlock.backtest.past_simulation import simulated_past
from interlock.model.past_run import PastRun, PastStep
from interlock.model.policy_comparison import AnswerKind, Simulation, Went
from interlock.service.policies.policy_simulation import Policies
from secret_generator import from_template

PATH = "/h/a.jsonl"
FORCE = "git push --force origin topic"
BLOCKING = '[destructive-ops.rules]\n"git.push-force" = "block"\n'
PRICED = """
[[budgets.prices]]
model = "own"
input-usd = 1
output-usd = 10
"""
NAMES = (("one", None), ("other", None))


def call(command: str, **also: Any) -> PastStep:
    action = CommandAction(command=command)
    return PastStep(tool="Bash", action=action, arguments=command, result="ok", **also)


def simulated(
    *steps: PastStep,
    before: str | None = "",
    after: str = BLOCKING,
    since: int = 0,
    success: bool | None = None,
) -> Simulation:
    run = PastRun(id="a1", steps=steps, success=success, model="own")
    policies = Policies(
        None if before is None else gates_with(before), gates_with(after), since=since
    )
    return simulated_past(run, PATH, policies).told(*NAMES)


def test_a_call_is_judged_by_both_and_named_by_its_place() -> None:
    told = simulated(call("ls"), call(FORCE, line=7))

    assert (told.of_kind(AnswerKind.ACTION), told.changed, told.stricter) == (2, 1, 1)
    [example] = told.examples
    assert (example.before, example.after) == ("require-confirmation", "block")
    assert (example.path, example.line, example.run, example.seq) == (PATH, 7, "a1", None)
    assert (example.text, example.rules) == (FORCE, ("git.push-force",))


def test_a_step_without_a_line_is_named_by_its_place_in_the_run() -> None:
    [example] = simulated(call("ls"), call(FORCE)).examples

    assert example.line == 2


def test_beside_one_policy_stands_what_happened() -> None:
    told = simulated(call(FORCE), PastStep(text="Now let me run the tests:"), before=None)

    pairs = {(each.kind.value, each.before, each.after) for each in told.counts}
    assert pairs == {
        ("action", "allow", "block"),
        ("step", "continue", "continue"),
        ("stop", "finish-unchecked", "continue"),
    }
    assert (told.stricter, told.looser) == (2, 0)


def test_a_gate_that_only_observes_lets_turns_end_as_they_did() -> None:
    steps = PastStep(text="Now let me run the tests:"), PastStep(role="user", text="thanks")
    observing = "[stops]\nmode = 'observe'\n"

    alone = simulated(*steps, before=None, after=observing)
    enforced = simulated(*steps, before=observing, after="")

    assert alone.changed == 0
    assert [(each.before, each.after, each.stricter) for each in enforced.changes] == [
        ("finish-unchecked", "continue", True)
    ]


def test_a_call_that_was_refused_or_is_known_in_part_is_not_judged() -> None:
    refused = call(FORCE, ran=False)
    partly = PastStep(tool="Bash", arguments="git pu…", result="ok")

    assert simulated(refused, partly).of_kind(AnswerKind.ACTION) == 0


def test_an_end_of_a_turn_is_decided_by_both() -> None:
    said = PastStep(text="Now let me run the tests:", line=3)
    told = simulated(call("ls"), said, after="[stops]\nauto-continue = false\n")

    [change] = told.changes
    assert (change.kind, change.before, change.after) == (AnswerKind.STOP, "continue", "finish")
    assert told.examples[0].text == "Now let me run the tests:"


def test_what_is_used_after_a_pause_is_told_with_its_price() -> None:
    used = TokenUsage(input_tokens=1_000, output_tokens=10)
    steps = [call("make", usage=used) for _ in range(12)]
    told = simulated(*steps, after=f"[loops]\npause-repeats = 2\n{PRICED}", success=True)

    before, after = told.before, told.after
    assert before.runs_held(Went.WELL) == after.runs_held(Went.WELL) == 1
    assert told.interrupted == 0
    assert after.held[0].tokens > before.held[0].tokens > 0
    assert after.held[0].micro_usd == after.held[0].tokens // 1_010 * 1_100
    assert after.held[0].unpriced_tokens == 0


def test_tokens_without_a_model_have_no_price() -> None:
    steps = [call("make", usage=TokenUsage(input_tokens=1_000)) for _ in range(12)]
    told = simulated(*steps, after="[loops]\npause-repeats = 2\n", success=False)

    [_, bad, _] = told.after.held
    assert bad.tokens == bad.unpriced_tokens > 0
    assert (bad.micro_usd, told.badly) == (0, 1)


def test_what_is_older_is_watched_and_not_counted() -> None:
    told = simulated(call(FORCE, at=5), call(FORCE, at=20), call(FORCE), since=10)

    assert told.of_kind(AnswerKind.ACTION) == told.of_kind(AnswerKind.STEP) == 2


def test_no_example_shows_a_credential() -> None:
    secret = from_template("ghp_[A-Za-z0-9]{36}", 7)
    off = "[secrets]\nenabled = false\n"
    told = simulated(
        call(f"{FORCE} https://x:{secret}@github.com/a/b"),
        PastStep(text=f"Now let me use {secret}:"),
        before=off,
        after=f"{off}{BLOCKING}[stops]\nauto-continue = false\n",
    )

    assert len(told.examples) == 2
    assert secret not in repr(told)
