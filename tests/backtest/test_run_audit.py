"""What Interlock would have said to past runs, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from backtest.past_runs import HOME, a_call, a_message, a_person, a_run
from gates.policies import gates_with
from interlock.backtest.audit_sum import AuditSum
from interlock.backtest.past_simulation import simulated_past
from interlock.backtest.run_audit import AuditJudge, audited
from interlock.model.action import EditAction, ToolAction
from interlock.model.audit import Audit, Moment, MomentKind, RunAudit
from interlock.model.past_run import PastStep, Unread
from interlock.model.policy_comparison import AnswerKind
from interlock.service.policies.policy_simulation import Policies
from secret_generator import from_template

_JUDGE = AuditJudge(gates_with(""))


def audit(*steps: PastStep, **more: object) -> RunAudit:
    return audited(a_run(steps, **more), "/h/4f1c.jsonl", _JUDGE)


def moments(of: RunAudit, kind: MomentKind) -> list[Moment]:
    return [each for each in of.moments if each.kind is kind]


def test_a_call_that_would_have_been_denied_is_told_with_where_it_stands() -> None:
    found = audit(a_person("clean up"), a_call("ls"), a_call("rm -rf ~", line=12, at=5))

    [moment] = found.moments
    assert moment.kind is MomentKind.ACTION
    assert (moment.decision, moment.text, moment.line, moment.step, moment.at) == (
        "block",
        "rm -rf ~",
        12,
        2,
        5,
    )
    assert moment.rule in moment.rules
    assert (moment.run, moment.project, moment.path) == ("4f1c", "shop", "/h/4f1c.jsonl")
    assert found.decisions == {"allow": 1, "block": 1}
    assert found.rules[moment.rule] == 1


def test_a_call_that_ran_and_failed_is_told_as_such() -> None:
    found = audit(a_call("rm -rf ~", failed=True), a_call("rm -rf ~"))

    assert [each.failed for each in found.moments] == [True, False]


def test_what_did_not_run_or_is_not_known_whole_is_not_judged() -> None:
    refused = a_call("rm -rf ~", ran=False)
    cut = a_call("rm -rf ~", action=None)

    found = audit(a_person("clean up"), refused, cut)

    assert found.moments == ()
    assert (found.calls, found.judged) == (1, 0)


@pytest.mark.parametrize("odd", [10**40, "\ud800"])
def test_a_call_that_cannot_be_written_down_is_judged(odd: object) -> None:
    params = {"command": "rm -rf ~", "timeout": odd}

    found = audit(a_call("", action=ToolAction(name="Bash", params=params)))

    assert found.counts == {MomentKind.ACTION: 1}


def test_two_calls_that_cannot_be_written_down_are_judged_each_for_itself() -> None:
    lines = ("rm -rf ~", "ls")
    calls = [
        a_call("", action=ToolAction(name="Bash", params={"command": each, "timeout": 10**40}))
        for each in (*lines, *lines)
    ]

    assert audit(*calls[:2]).decisions == {"block": 1, "allow": 1}
    assert audit(*calls[1:3]).decisions == {"allow": 1, "block": 1}


@pytest.mark.parametrize("folders", [("/", f"{HOME}/build"), (f"{HOME}/build", "/")])
def test_the_same_line_is_judged_by_the_folder_it_runs_in(folders: Sequence[str]) -> None:
    lines = [{"command": "rm -rf ./*", "cwd": folder} for folder in folders]

    found = audit(*(a_call("", action=ToolAction(name="Bash", params=each)) for each in lines))

    assert found.decisions == {"block": 1, "require-confirmation": 1}


def test_the_same_moment_has_the_same_name_in_every_audit() -> None:
    steps = [a_person("clean up"), a_call("rm -rf ~", line=2), a_call("rm -rf ~", line=3)]

    first, second = audit(*steps), audit(*steps)

    assert [each.id for each in first.moments] == [each.id for each in second.moments]
    assert len({each.id for each in first.moments}) == 2


@pytest.mark.parametrize(("declined", "looped"), [(0, 1), (3, 0)])
def test_a_call_that_a_person_refused_has_not_failed(declined: int, looped: int) -> None:
    names = ("ls a", "cat b", "make c", "npm d", "go e", "uv f")
    steps = [
        a_call(name, f"no {name}", failed=True, ran=place >= 3, declined=place < declined)
        for place, name in enumerate(names)
    ]

    found = audit(a_person("go"), *steps)

    assert found.counts.get(MomentKind.LOOP, 0) == looped


def test_a_moment_without_a_time_has_the_time_of_the_one_before() -> None:
    found = audit(a_person("go", at=3), a_call("ls", at=5), a_call("rm -rf ~"))

    assert [each.at for each in found.moments] == [5]


def test_of_many_moments_the_worst_are_kept() -> None:
    pushes = [a_call(f"git push --force origin b{number}", line=number) for number in range(60)]
    steps = [*pushes[:30], a_call("rm -rf ~", line=99), *pushes[30:]]

    found = audit(*steps)

    assert found.counts == {MomentKind.ACTION: 61}
    assert len(found.moments) == 25
    assert [each.text for each in found.moments if each.decision == "block"] == ["rm -rf ~"]
    assert sorted(each.step for each in found.moments) == [each.step for each in found.moments]


def test_a_credential_in_a_command_is_told_and_never_shown() -> None:
    secret = from_template("ghp_[A-Za-z0-9]{36}", 1)
    found = audit(a_person("deploy"), a_call(f"export DEPLOY_TOKEN={secret} && ./deploy.sh"))

    [moment] = moments(found, MomentKind.SECRET)
    assert "DEPLOY_TOKEN" in moment.text
    assert secret not in str(found)


def test_a_credential_in_a_name_or_cut_in_two_is_not_shown() -> None:
    secret = from_template("ghp_[A-Za-z0-9]{36}", 7)
    tool = ToolAction(name=f"mcp__box.{secret}.x__delete", params={"a": "b"})
    tests = a_call("pytest", "=== 1 failed, 2 passed in 0.1s ===")
    closing = f"{secret}{' ' * 15_970}All done."
    steps = [
        a_call("", action=tool),
        tests,
        a_message(closing),
        a_person(f"{closing[40:]} {secret}"),
    ]

    found = audit(*steps, id=f"run {secret}", project=secret)

    assert set(found.counts) == {MomentKind.ACTION, MomentKind.FALSE_DONE}
    assert secret[20:] not in repr(found)
    assert moments(found, MomentKind.FALSE_DONE)[0].text == "All done."


def test_an_edit_is_told_by_its_file() -> None:
    secret = from_template("ghp_[A-Za-z0-9]{36}", 1)
    written = EditAction(path="config.py", content=f"TOKEN = '{secret}'")
    found = audit(a_call("", tool="Write", action=written, arguments=written.content))

    assert {each.text for each in found.moments} == {"write config.py"}


def _stuck(count: int, tokens: int = 100) -> list[PastStep]:
    failing = "E  ConnectionError: cannot reach the database"
    return [a_call("pytest -q", failing, failed=True, tokens=tokens) for _ in range(count)]


def test_a_loop_is_told_with_what_was_used_after_the_pause() -> None:
    found = audit(a_person("fix it"), *_stuck(20))

    [loop] = moments(found, MomentKind.LOOP)
    assert loop.text == "pytest -q"
    assert loop.rounds >= 3
    assert loop.tokens == (20 - loop.step) * 100 == found.burnt
    assert loop.steps == 20
    assert loop.share == loop.tokens / loop.of_tokens
    assert loop.of_tokens == found.tokens == 2_000
    assert found.counts[MomentKind.LOOP] == 1
    assert found.burnt_micro_usd == loop.micro_usd > 0


def test_a_step_has_one_number_everywhere() -> None:
    asked = (a_person("fix it"), a_person("fix it"), a_message("I will."), a_person("quick!"))
    steps = [*asked, *_stuck(12), a_message("Now let me fix it.")]

    found = audit(*steps)
    simulated = simulated_past(a_run(steps), "/h/4f1c.jsonl", Policies(None, _JUDGE.policy))

    [loop], [early] = moments(found, MomentKind.LOOP), moments(found, MomentKind.EARLY_STOP)
    assert f"{loop.step})" in loop.why, "the steps that led to it end with the one it was held at"
    assert (loop.steps, early.step, found.steps) == (14, 14, 14)
    counted = simulated.told(("a", None), ("b", None))
    assert counted.of_kind(AnswerKind.STEP) == found.steps


def test_what_comes_after_a_pause_is_counted_without_the_step_that_led_to_it() -> None:
    steps = [a_person("fix it"), *_stuck(20)]

    found = audit(*steps)
    simulated = simulated_past(a_run(steps), "/h/4f1c.jsonl", Policies(None, _JUDGE.policy))

    [*_, unknown] = simulated.told(("a", None), ("b", None)).after.held
    assert (unknown.tokens, unknown.micro_usd) == (found.burnt, found.burnt_micro_usd)


def test_what_is_used_after_a_person_spoke_is_not_burnt() -> None:
    alone = audit(a_person("fix it"), *_stuck(10))
    helped = audit(
        a_person("fix it"), *_stuck(10), a_person("start it first"), a_call("ls", tokens=900)
    )

    assert alone.burnt == helped.burnt
    assert helped.tokens == alone.tokens + 900


def test_a_turn_that_ends_with_work_announced_is_an_early_stop() -> None:
    found = audit(
        a_person("fix the parser"),
        a_call("cat parser.py", "def parse(): ..."),
        a_message("I see the problem. Now let me fix it.", line=9),
        a_person("continue"),
    )

    [early] = moments(found, MomentKind.EARLY_STOP)
    assert early.text == "I see the problem. Now let me fix it."
    assert (early.then, early.line, early.decision) == ("continue", 9, "continue")
    assert found.turns == 1


@pytest.mark.parametrize(
    "steps",
    [
        [a_message("Now let me fix it."), a_person("[Request interrupted by user]")],
        [a_message("Now let me fix it."), a_call("sed -i s/a/b/ parser.py")],
        [a_message("The parser is fixed; all tests pass.")],
    ],
    ids=["interrupted", "it goes on", "done"],
)
def test_what_is_no_early_stop(steps: Sequence[PastStep]) -> None:
    found = audit(a_person("fix the parser"), a_call("cat parser.py", "def parse()"), *steps)

    assert moments(found, MomentKind.EARLY_STOP) == []


_FAILED = "=== 2 failed, 3 passed in 0.2s ==="
_PASSED = "=== 5 passed in 0.2s ==="


@pytest.mark.parametrize(
    ("outputs", "words", "count"),
    [
        ([_FAILED], "The parser is fixed and everything works.", 1),
        ([_FAILED, _PASSED], "The parser is fixed and everything works.", 0),
        ([_FAILED], "The parser is fixed; two tests still fail for another reason.", 0),
        ([_PASSED], "The parser is fixed and everything works.", 0),
    ],
)
def test_done_while_the_last_tests_failed(outputs: Sequence[str], words: str, count: int) -> None:
    ran = [a_call("pytest -q", each) for each in outputs]
    found = audit(a_person("fix the parser"), *ran, a_message(words), a_person("thanks"))

    assert found.tested
    assert len(moments(found, MomentKind.FALSE_DONE)) == count


def test_tests_of_an_earlier_turn_say_nothing_of_this_one() -> None:
    found = audit(
        a_person("run the tests"),
        a_call("pytest -q", _FAILED),
        a_message("2 of 5 tests failed."),
        a_person("what does parse do?"),
        a_message("It reads a file."),
    )

    assert moments(found, MomentKind.FALSE_DONE) == []


def test_open_work_on_the_list_speaks_against_being_done() -> None:
    told = a_call("", tool="TodoWrite", action=None, todos=("write the tests",))
    words = a_message("Now I will continue.")
    without = audit(a_person("go"), a_call("ls"), words)
    with_list = audit(a_person("go"), told, a_call("ls"), words)

    assert len(moments(without, MomentKind.EARLY_STOP)) <= len(
        moments(with_list, MomentKind.EARLY_STOP)
    )
    assert len(moments(with_list, MomentKind.EARLY_STOP)) == 1


def test_what_is_kept_of_a_run_is_bounded_and_everything_is_counted() -> None:
    found = audit(a_person("go"), *(a_call(f"rm -rf ~/{place}") for place in range(60)))

    assert found.counts[MomentKind.ACTION] == 60
    assert len(moments(found, MomentKind.ACTION)) == 25


def test_tokens_without_a_price_are_counted_as_such() -> None:
    found = audit(a_call("ls", tokens=500, model="nobody-knows-it"))

    assert (found.tokens, found.unpriced, found.micro_usd) == (500, 500, 0)


def _sum(*runs: RunAudit, unread: Sequence[Unread] = ()) -> Audit:
    result = AuditSum()
    for run in runs:
        result.add(run)
    result.add_unread(unread)
    return result.told(identity="a", at=1, policy_hash="p", version="1", places=())


def test_runs_add_up() -> None:
    dangerous = audit(a_person("x", at=10), a_call("rm -rf ~", at=20))
    stuck = audit(a_person("fix it", at=30), *_stuck(20), id="77d0", client="codex")
    lost = Unread(path="x", reason="cut off")

    total = _sum(dangerous, stuck, unread=[lost])

    assert (total.runs, total.looped, total.calls) == (2, 1, 21)
    assert total.clients == {"claude-code": 1, "codex": 1}
    assert (total.began_at, total.ended_at) == (10, 30)
    assert total.burnt == stuck.burnt
    assert (total.unread, total.unread_count) == ((lost,), 1)
    assert [each.kind for each in total.moments] == [MomentKind.ACTION, MomentKind.LOOP]


def test_the_order_in_which_runs_come_changes_nothing() -> None:
    runs = [audit(a_call(f"rm -rf ~/{place}", at=place), id=f"r{place}") for place in range(9)]

    assert _sum(*runs).moments == _sum(*reversed(runs)).moments


def test_the_same_text_is_listed_only_a_few_times() -> None:
    runs = [audit(a_call("rm -rf ~"), id=f"r{place}") for place in range(9)]

    total = _sum(*runs)

    assert total.counts[MomentKind.ACTION] == 9
    assert len(total.moments) == 3


def test_what_is_listed_is_bounded_however_many_runs_there_are() -> None:
    kept = audit(*(a_call(f"rm -rf ~/{place}") for place in range(25)))
    result = AuditSum()
    for place in range(400):
        result.add(audited_as(kept, place))
    total = result.told(identity="a", at=1, policy_hash="p", version="1", places=())

    assert total.counts[MomentKind.ACTION] == 10_000
    assert len(total.moments) <= 100


def audited_as(run: RunAudit, place: int) -> RunAudit:
    named = [
        replace(each, id=f"{place}-{at}", text=f"{each.text}{place}")
        for at, each in enumerate(run.moments)
    ]
    return replace(run, moments=tuple(named))


def test_what_is_not_known_is_said() -> None:
    cut = audit(a_call("ls", action=None))
    unpriced = audit(a_call("ls", tokens=5, model="nobody-knows-it"))

    assert any("1 of 1 calls" in each for each in _sum(cut).unknown)
    assert any("tokens and money" in each for each in _sum(cut).unknown)
    assert any("5 of 5 tokens" in each for each in _sum(unpriced).unknown)
