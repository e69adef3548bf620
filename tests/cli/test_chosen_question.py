"""What a person means without an id: the only question, or one that they pick from a list."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import Result
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock, make_operator
from cli.control import a_stuck_run
from cli.ledgers import a_run
from cli.reviewing import a_reviewed_run
from interlock import Approval, Interlock, Run
from interlock.cli.call import terminal
from interlock.model.short_code import code_of
from interlock.model.system_loop import LOOP_RUN
from service.ledgers import PASSPHRASE, run_elsewhere
from terminal import interlock_at_terminal, own_terminal
from warm_python import run_python

PUSH = "git push --force origin "


def _asked(run: Run, *branches: str) -> list[str]:
    return [run.command(f"{PUSH}{name}").approval_id or "" for name in branches]


def _typed(*arguments: str, answers: Sequence[str]) -> Result:
    """Run the command line with a terminal at which these answers are typed."""
    make_operator(os.environ["INTERLOCK_LEDGER"])
    with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
        type_in(*answers)
        return interlock(*arguments)


def _without_terminal(*arguments: str) -> Result:
    make_operator(os.environ["INTERLOCK_LEDGER"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(terminal, "DEVICE", Path("/nowhere/at/all"))
        return interlock(*arguments)


@pytest.mark.parametrize("word", ["approve", "deny"])
def test_the_only_question_needs_no_name(word: str, any_place: str) -> None:
    with Interlock.open(any_place) as agent:
        [asked] = _asked(a_run(agent, "push it"), "topic")

        result = as_person(word, "--json")

    assert json.loads(result.stdout)["approval"]["id"] == asked
    assert json.loads(result.stdout)["approval"]["code"] == code_of(asked)


@pytest.mark.parametrize("length", [4, 6])
def test_a_code_is_enough(length: int, any_place: str) -> None:
    with Interlock.open(any_place) as agent:
        first, second = _asked(a_run(agent, "push it"), "a", "b")

        result = as_person("approve", code_of(second)[:length].lower())
        [left] = agent.approvals()

    assert result.exit_code == 0
    assert left.id == first


def test_what_is_decided_is_shown_before_the_passphrase_is_typed(place: str) -> None:
    with Interlock.open(place) as agent:
        run = run_elsewhere(agent, "push it")
        [asked] = _asked(run, "topic")
    make_operator(place)

    ended = interlock_at_terminal(["approve"], [PASSPHRASE], environment=dict(os.environ))

    assert ended.code == 0
    shown = ended.screen.replace(code_of(asked), "<code>").replace(code_of(run.id), "<run>")
    assert shown == snapshot("""\
<code>  git push --force origin topic
        why  git.push-force: overwrites what others see on the remote
        run  <run> (agent: push it)
passphrase of anna: \n\
""")


def test_several_questions_are_picked_from_a_list(place: str) -> None:
    with Interlock.open(place) as agent:
        asked = _asked(run_elsewhere(agent, "push it"), "a", "b")
    make_operator(place)

    ended = interlock_at_terminal(
        ["approve", "--json"], ["2", PASSPHRASE], environment=dict(os.environ)
    )

    assert json.loads(ended.output)["approval"]["id"] == asked[1]
    shown = ended.screen.replace(code_of(asked[0]), "<one>").replace(code_of(asked[1]), "<two>")
    assert shown.splitlines()[:4] == snapshot(
        [
            "   1  <one>  git push --force origin a",
            "   2  <two>  git push --force origin b",
            "which question, by number or code: 2",
            "<two>  git push --force origin b",
        ]
    )


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("1", "a"), ("CODE", "b"), ("1 CODE", "ab"), ("2 2", "b")],
    ids=["a number", "a code", "two", "one twice"],
)
def test_a_pick_is_a_number_or_a_code(typed: str, chosen: str, place: str) -> None:
    with Interlock.open(place) as agent:
        asked = _asked(a_run(agent, "push it"), "a", "b")
        answer = typed.replace("CODE", code_of(asked[1])[:4])
        result = _typed("deny", answers=[answer, PASSPHRASE])
        left = {each.summary for each in agent.approvals()}

    assert result.exit_code == 0
    assert left == {f"{PUSH}{name}" for name in "ab" if name not in chosen}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "nothing was chosen: nothing was changed"),
        ("0", "there is no number 0: choose from 1 to 2"),
        ("3", "there is no number 3: choose from 1 to 2"),
        ("KKKK", "there is no question `KKKK`: look at `interlock approvals`"),
    ],
)
def test_a_pick_that_names_nothing_decides_nothing(typed: str, told: str, place: str) -> None:
    with Interlock.open(place) as agent:
        _asked(a_run(agent, "push it"), "a", "b")
        result = _typed("approve", answers=[typed, PASSPHRASE])

        assert len(agent.approvals()) == 2

    assert (result.exit_code, result.stderr) == (2, f"Error: {told}\n")


def test_a_long_list_is_cut(place: str) -> None:
    with Interlock.open(place) as agent:
        asked = _asked(run_elsewhere(agent, "push it"), *[f"b{number}" for number in range(22)])
    make_operator(place)

    ended = interlock_at_terminal(
        ["approve", "--json"], [code_of(asked[21]), PASSPHRASE], environment=dict(os.environ)
    )

    assert "and 2 more: interlock approvals\n" in ended.screen
    assert json.loads(ended.output)["approval"]["id"] == asked[21]


def test_where_nothing_waits_that_is_told(place: str) -> None:
    Interlock.open(place).close()

    result = as_person("approve")

    assert (result.exit_code, result.stderr) == snapshot(
        (
            2,
            "Error: no question waits for an answer: `interlock approvals --all` lists what was"
            " answered\n",
        )
    )


def test_without_a_terminal_several_are_named_in_the_error(place: str) -> None:
    with Interlock.open(place) as agent:
        asked = _asked(a_run(agent, "push it"), "a", "b")
        result = _without_terminal("approve")

    assert result.exit_code == 2
    assert result.stderr == (
        "Error: 2 questions wait: name one, `interlock approve CODE`:"
        f" `{code_of(asked[0])}` ({PUSH}a), `{code_of(asked[1])}` ({PUSH}b)\n"
    )


def test_an_agent_is_shown_no_list(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Interlock.open(place) as agent:
        _asked(a_run(agent, "push it"), "a", "b")
    make_operator(place)
    monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place))

    result = _typed("approve", answers=["1", PASSPHRASE])

    assert result.exit_code == 1
    assert "`INTERLOCK_TOKEN` is set, so an agent calls this" in result.stderr


def test_what_was_decided_is_no_candidate(place: str) -> None:
    with Interlock.open(place) as agent:
        first, second = _asked(a_run(agent, "push it"), "a", "b")
        shared = first[: next(i for i in range(36) if first[i] != second[i])]
        both = as_person("approve", shared)
        as_person("deny", first)

        one = as_person("approve", shared)
        again = as_person("approve", code_of(first))
        at_all = as_person("approve", shared)

    assert both.exit_code == 2
    assert f"`{code_of(first)}` (`{first}`), `{code_of(second)}` (`{second}`)" in both.stderr
    assert one.exit_code == 0
    assert (again.exit_code, again.stderr) == (
        1,
        f"Error: approval `{first}` was denied already, by anna\n",
    )
    assert at_all.exit_code == 2


def test_the_only_run_that_is_held_needs_no_name(place: str) -> None:
    with a_stuck_run(place) as stuck:
        lifted = as_person("resume", "--reason", "look again", "--json")
        none = as_person("resume", "--reason", "once more")

    assert json.loads(lifted.stdout)["id"] == stuck.run.id
    assert json.loads(lifted.stdout)["code"] == code_of(stuck.run.id)
    assert (none.exit_code, none.stderr) == snapshot(
        (2, "Error: no run is held: `interlock runs` lists those at work\n")
    )


@pytest.mark.parametrize(("typed", "code"), [("2", 0), ("1 2", 2)])
def test_of_several_held_runs_one_is_picked(typed: str, code: int, place: str) -> None:
    with Interlock.open(place) as agent:
        runs = [a_run(agent, name) for name in ("first", "second")]
        for run in runs:
            as_person("halt", run.id, "--reason", "wait")
        result = _typed("resume", "--reason", "go on", answers=[typed, PASSPHRASE])
        held = [run.id for run in runs if run.state.control.hold is not None]

    assert result.exit_code == code
    assert len(held) == (1 if code == 0 else 2)


def _use_up(run: str) -> None:
    interlock("review", "open", run, "merge", "tests")
    for _ in range(2):
        interlock("review", "submit", run, "GATE_REVIEW: FAIL - not yet")


def test_the_only_review_needs_no_name(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _use_up(at.run.id)
        question = as_person("approve")
        chosen = as_person("review", "resolve", "skip", "--json")
        none = as_person("review", "resolve", "skip")

    assert "no question waits for an answer" in question.stderr
    assert json.loads(chosen.stdout)["decision"] == "advance"
    assert "no review waits for an answer" in none.stderr


@pytest.mark.parametrize("named", [True, False], ids=["by its run", "by its question"])
def test_a_run_is_aborted_only_once_that_is_confirmed(
    named: bool, place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _use_up(at.run.id)
        which = ["--run", code_of(at.run.id)] if named else []
        refused = _typed("review", "resolve", *which, "abort", answers=["no", PASSPHRASE])
        before = at.run.state.status
        done = _typed("review", "resolve", *which, "abort", answers=["abort", PASSPHRASE])
        after = at.run.state.status

    assert (refused.exit_code, refused.stderr) == (
        2,
        "Error: it was not confirmed: the run goes on as before\n",
    )
    assert (before.value, done.exit_code, after.value) == ("running", 0, "finished")


def test_one_review_is_chosen_at_a_time(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        other = a_run(at.interlock, "another")
        for run in (at.run.id, other.id):
            _use_up(run)
        waiting: Sequence[Approval] = at.interlock.approvals()
        result = _typed("review", "resolve", "skip", answers=["1 2", PASSPHRASE])

        assert len(waiting) == len(at.interlock.approvals()) == 2
    assert result.stderr == "Error: choose for one review at a time: nothing was changed\n"


@pytest.mark.parametrize("word", ["show", "watch"])
def test_the_latest_run_at_work_needs_no_name(word: str, any_place: str) -> None:
    with Interlock.open(any_place) as agent:
        none = interlock(word)
        first, second, done = [a_run(agent, name) for name in ("first", "second", "done")]
        done.finish()
        first.command("ls")
        latest = interlock(word)
        for run in (first, second):
            run.finish()
        last = interlock(word)

    assert none.exit_code == 2
    assert "there is no run yet" in none.stderr
    assert "first" in latest.stdout
    assert "(it is at work); `interlock runs` lists the others" in latest.stderr
    assert last.exit_code == 0
    assert LOOP_RUN not in last.stdout.splitlines()[0]


def test_a_run_that_died_is_not_taken_for_one_at_work(place: str) -> None:
    died = "import interlock; interlock.Interlock.open().run('dead').command('ls')"
    assert run_python("-c", died).returncode == 0
    with Interlock.open(place) as agent:
        done = a_run(agent, "done")
        done.finish()
        latest = interlock("show")
        unknown = run_elsewhere(agent, "somewhere")
        somewhere = interlock("show")
        unknown.finish()
        asks = a_run(agent, "asks")
        asks.command("git push --force")
        a_run(agent, "newer").command("ls")
        waits = interlock("show")

    assert latest.stdout.startswith("done\n")
    assert somewhere.stdout.startswith("somewhere\n")
    assert waits.stdout.startswith("asks\n")
    assert "(it waits for a person)" in waits.stderr


def test_runs_are_named_by_their_codes(any_place: str) -> None:
    with Interlock.open(any_place) as agent:
        ended = a_run(agent, "the ended one")
        ended.finish()
        at_work = a_run(agent, "the one at work")
        listed = interlock("runs", "--json")
        shown = [interlock("show", code_of(each.id).lower()) for each in (ended, at_work)]
        unknown = interlock("show", "KKKKKK")

    assert {(each["id"], each["code"]) for each in json.loads(listed.stdout)} == {
        (each.id, code_of(each.id)) for each in (ended, at_work)
    }
    assert "the ended one" in shown[0].stdout
    assert "the one at work" in shown[1].stdout
    assert unknown.exit_code == 2
