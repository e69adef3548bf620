"""Past runs, read from JSON and judged step by step."""

from __future__ import annotations

import gzip
import json
import os
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import rounds
from interlock.adapters.histories.own_rows import run_from_json
from interlock.backtest.hindsight import batches, judged, observations
from interlock.errors import InputError
from interlock.model.past_run import PastStep
from interlock.model.progress_meter import Kind, Observation
from interlock.model.step import StepDecision
from interlock.policy.config.run_sections import Loops, Steps
from steps.step_rows import Row, a_call, a_message, a_person, judge

words = st.sampled_from(["look at the log of the server now", "again", "", "done, all pass"])
steps = st.lists(
    st.builds(a_person, words)
    | st.builds(a_message, words)
    | st.builds(
        a_call,
        st.sampled_from(["Read", "Bash", "Write"]),
        st.sampled_from(["a", "b", "rm c"]),
        st.sampled_from(["", "x" * 50, "Error: no such file", "2 failed, 1 passed in 1.0s"]),
        text=words,
    ),
    max_size=30,
)


def seen(*rows: Row) -> list[Observation | None]:
    run = run_from_json(json.dumps({"run_id": 1, "steps": [*rows]}).encode())
    return [*observations(run.steps, Loops())]


def kinds(*rows: Row) -> list[Kind | None]:
    return [None if each is None else each.kind for each in seen(*rows)]


@given(steps, steps)
def test_an_answer_depends_on_nothing_later(before: list[Row], later: list[Row]) -> None:
    short, long = judge(before), judge(before + later)

    assert long.scores[: len(before)] == short.scores
    if short.stop_at is not None:
        assert (long.stop_at, long.decision, long.reasons) == (
            short.stop_at,
            short.decision,
            short.reasons,
        )
    elif long.stop_at is not None:
        assert long.stop_at >= len(before)


def test_a_loop_is_seen_wherever_in_a_long_run_it_begins() -> None:
    looks = [a_call("Read", f"a{number}.py", f"class A{number}: ...") for number in range(300)]
    round_and_round = [a_call("Bash", "make", "Error: no rule to make target") for _ in range(12)]
    alone = judge(round_and_round).stop_at
    assert alone is not None

    for before in (100, 120, 127, 128, 129, 250, 256):
        rows = [*looks[:before], a_person(f"now build it {before}"), *round_and_round]
        assert judge(rows).stop_at == before + 1 + alone
        assert judge(rows[:before]).scores == judge(rows).scores[:before]


def test_few_steps_are_held_at_once_where_they_are_long() -> None:
    short, long = (
        PastStep(text="a"),
        PastStep(tool="Bash", arguments="cat a", result="x" * 3 * 10**6),
    )

    assert [len(each) for each in batches([short] * 300)] == [128, 128, 44]
    assert [len(each) for each in batches([long, *[short] * 300, long])] == [128, 128, 46]
    assert [len(each) for each in batches([long] * 5)] == [2, 2, 1]


@given(steps)
def test_every_step_has_a_score_and_only_steps_of_the_agent_hold_a_run(rows: list[Row]) -> None:
    answer = judge(rows)

    assert len(answer.scores) == len(rows)
    if answer.stop_at is not None:
        assert rows[answer.stop_at]["role"] == "assistant"


def test_a_run_of_no_steps_goes_on() -> None:
    assert judge([]).decision is StepDecision.CONTINUE


def test_tells_who_did_what() -> None:
    rows = [a_person("fix it"), a_message("Let me look."), a_call("Read", {"path": "a"}, "text")]

    assert kinds(*rows) == [Kind.PERSON, Kind.MESSAGE, Kind.CALL]


def test_a_prompt_that_is_repeated_is_no_person() -> None:
    assert kinds(a_person("go on"), a_person("stop"), a_person("go on")) == [
        Kind.PERSON,
        Kind.PERSON,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("exitcode: 1 (execution failed)\nCode output: KeyError: 'a'", "keyerror: ''"),
        ("exitcode: 0 (execution succeeded)\nCode output: 5", None),
        ("<returncode>2</returncode>\n<output>\nfatal: no", "fatal: no"),
        ("Observation: 5 files", None),
    ],
)
def test_output_that_is_told_as_if_by_a_person_is_the_result_of_a_call(
    text: str, error: str | None
) -> None:
    (call,) = seen(a_person(text))

    assert call is not None
    assert (call.kind, call.error) == (Kind.CALL, error)


def test_agents_that_talk_to_each_other_are_no_people() -> None:
    output = a_person("exitcode: 0 (execution succeeded)\nCode output: 5")
    answer, plan = a_person("That is too few."), a_person("Run this:\n```python\nprint(5)\n```")

    assert kinds(plan, output, answer, a_person("Go on."), plan) == [
        Kind.PERSON,
        Kind.CALL,
        Kind.MESSAGE,
        Kind.PERSON,
        Kind.MESSAGE,
    ]
    assert kinds(output, a_message("Five."), answer) == [Kind.CALL, Kind.MESSAGE, Kind.PERSON]


def test_reads_what_each_step_tells() -> None:
    row = a_call(
        "Read", {"path": "a"}, "first lines…[+900]", result_h="r", result_len=910, err=False, ts=2
    )
    (call,) = seen(row)

    assert call is not None
    assert (call.result, call.brief, call.at) == ("r", False, 2_000_000)


def test_a_digest_stands_for_arguments_that_were_cut() -> None:
    whole = [a_call("Read", "a", "x", args_h=digest) for digest in ("1", "2")]
    cut = [a_call("Read", "a…[+9]", "x", args_h=digest) for digest in ("1", "2")]
    left_out = [a_call("Read", None, "x", args_h=digest) for digest in ("1", "2")]

    assert len({each.call for each in seen(*whole) if each}) == 1
    assert len({each.call for each in seen(*cut) if each}) == 2
    assert len({each.call for each in seen(*left_out) if each}) == 2


def test_a_result_that_nobody_saw_is_not_an_empty_one() -> None:
    unseen, empty = seen(a_call("Read", "a", None), a_call("Read", "a", None, result_len=0))

    assert unseen is not None
    assert empty is not None
    assert unseen.result is None
    assert empty.silent


@pytest.mark.parametrize(
    ("told", "at"),
    [
        ("1970-01-01T00:00:01+00:00", 1_000_000),
        (1.5, 1_500_000),
        ("yesterday", None),
        (float("inf"), None),
        (None, None),
        ([], None),
    ],
)
def test_reads_the_time_however_it_is_told(told: object, at: int | None) -> None:
    (step,) = seen(a_message("x", ts=told))

    assert step is not None
    assert step.at == at


@pytest.mark.parametrize(
    ("tokens", "total"),
    [({"in": 5, "out": 2}, 7), ({"in": 5}, 5), ({"in": "5"}, None), (7, None), (None, None)],
)
def test_reads_the_tokens_that_are_told(tokens: object, total: int | None) -> None:
    run = run_from_json(json.dumps({"steps": [{"tokens": tokens}]}).encode())

    assert run.steps[0].tokens == total


def test_odd_values_are_read_as_far_as_they_go() -> None:
    row: Row = {
        "role": None,
        "text": ["a"],
        "tool": 5,
        "args": {"a": 1},
        "err": "no",
        "result_len": -1,
    }
    (call,) = seen(row)

    assert call is not None
    assert (call.tool, call.error, call.text) == ("5", None, '["a"]')


def test_half_a_character_in_a_step_is_told_as_one_that_is_not_known() -> None:
    run = run_from_json(b'{"run_id": "a", "steps": [{"text": "\\ud83d"}]}')

    assert run.steps[0].text == "\ufffd"
    assert judged(run, Steps(), Loops()).stop_at is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "not JSON: "),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "not read: nested too deeply"),
        (b"[]", "a run is not an object"),
        (b"{}", "`steps` is not a list"),
        (b'{"steps": 5}', "`steps` is not a list"),
        (b'{"steps": [{}, 5]}', r"steps\[1\] is not an object"),
    ],
)
def test_says_what_is_wrong_with_a_line(line: bytes, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        run_from_json(line)


def test_spending_that_grows_only_slows_a_run_down() -> None:
    rows = [a_message(f"step {n}: something else", tokens={"in": 100 * 2**n}) for n in range(12)]

    assert judge(rows).stop_at is None


def test_half_of_the_work_done_over_again_holds_a_long_run() -> None:
    rows = [a_call("Read", f"{n}", f"{n} " * 30) for n in range(4)] * 2
    changes = [a_call("Write", f"{n}", "written") for n in range(2)]

    assert judge((rows + changes) * 6).stop_at is not None


@pytest.mark.large
@pytest.mark.skipif("INTERLOCK_SHARED" not in os.environ, reason="INTERLOCK_SHARED is not set")
def test_hardly_ever_holds_a_run_that_succeeded_and_often_one_that_failed() -> None:
    path = Path(os.environ["INTERLOCK_SHARED"]) / "data" / "trajectories.dev.jsonl.gz"
    held: dict[bool, list[bool]] = {True: [], False: []}
    with gzip.open(path) as lines:
        for line in islice(lines, 0, None, rounds(short=4, soak=1)):
            success = json.loads(line)["success"]
            if success is not None:
                answer = judged(run_from_json(line), Steps(), Loops())
                held[success].append(answer.stop_at is not None)

    assert sum(held[True]) / len(held[True]) <= 0.01
    assert sum(held[False]) / len(held[False]) >= 0.15
