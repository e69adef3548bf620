"""May it do this? Every kind of answer, on the record before it is given."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from gates.policies import rules_of
from interlock import Decision, InputError, Interlock, Run
from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.model.events import ActionJudged
from service.ledgers import HandClock, OpenInterlock, events_of, kinds_of

_WARNING = (
    "[[rules]]\n"
    'id = "mind"\n'
    'when = \'kind == "command" && command.startsWith("make")\'\n'
    'decision = "warn"\n'
    'message = "mind the time"\n'
    'remediation = "use -j4"\n'
)


def _judged(interlock: Interlock, run: Run) -> list[ActionJudged]:
    events = events_of(interlock.ledger, run.id)
    return [event for event in events if isinstance(event, ActionJudged)]


def test_what_is_harmless_is_allowed_without_a_reason(interlock: Interlock) -> None:
    answer = interlock.run("t").command("git status")

    assert answer.decision is Decision.ALLOW
    assert answer.allowed
    assert not answer.waits_for_person
    assert answer.reasons == ()
    assert answer.approval_id is None
    assert not answer.repeated


def test_a_warning_lets_through_and_says_why(opened: OpenInterlock) -> None:
    answer = opened(_WARNING).run("t").command("make all")

    assert answer.decision is Decision.WARN
    assert answer.allowed
    assert answer.reasons == ("mind the time; use -j4",)


def test_what_needs_a_person_waits_for_one(interlock: Interlock) -> None:
    answer = interlock.run("t").command("git push --force")

    assert answer.decision is Decision.REQUIRE_CONFIRMATION
    assert not answer.allowed
    assert answer.waits_for_person
    assert answer.approval_id is not None
    assert rules_of(answer.verdict) == ["git.push-force"]


def test_what_is_dangerous_is_blocked_with_what_to_do(interlock: Interlock) -> None:
    answer = interlock.run("t").command("rm -rf /")

    assert answer.decision is Decision.BLOCK
    assert not answer.allowed
    assert not answer.waits_for_person
    assert answer.approval_id is None
    assert all("; " in reason for reason in answer.reasons)


def test_an_answer_names_its_run_its_record_and_its_policy(interlock: Interlock) -> None:
    run = interlock.run("t")
    answer = run.command("git status")

    assert answer.run_id == run.id
    assert answer.action_id == f"{run.id}:2"
    assert answer.verdict.policy_hash == interlock.governor.context.policy.hash


def test_everything_about_an_answer_is_on_record(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t", agent="claude")
    clock.forward(seconds=1)
    answer = run.command("rm -rf /", cwd="/srv")

    record = interlock.ledger.rows.record(run.id, 2)
    assert record is not None
    assert record.at == clock.at
    event = _judged(interlock, run)[0]
    assert event.action == CommandAction(command="rm -rf /", cwd="/srv")
    assert event.verdict == answer.verdict
    assert event.decision is answer.decision
    assert event.facts.asked.tool_calls == 1


def test_an_answer_is_on_disk_before_it_is_given(tmp_path: Path, clock: HandClock) -> None:
    place = tmp_path / "ledger.db"
    with Interlock.open(place, clock=clock, keys=tmp_path / "keys") as interlock:
        run = interlock.run("t")
        answer = run.command("git status")
        elsewhere = apsw.Connection(str(place), flags=apsw.SQLITE_OPEN_READONLY)
        found = elsewhere.execute(
            "SELECT CAST(body AS TEXT) FROM records WHERE run_id = ? AND seq = 2", (run.id,)
        ).fetchall()
        elsewhere.close()

    assert answer.action_id.endswith(":2")
    assert len(found) == 1
    assert '"git status"' in str(found[0][0])


@pytest.mark.parametrize(
    ("action", "rule"),
    [
        (CommandAction(command="git reset --hard"), "git.reset-hard"),
        (ToolAction(name="Bash", params={"command": "git reset --hard"}), "git.reset-hard"),
        (ToolAction(name="Bash", params='{"command": "git reset --hard"}'), "git.reset-hard"),
        (EditAction(path="interlock.toml", content="version = 1\n"), "protected-paths"),
        (ToolAction(name="Bash", params='{"command": '), "schema.not-json"),
        (ToolAction(name="Bash", params="[1]"), "schema.not-an-object"),
    ],
)
def test_every_kind_of_action_is_judged(
    interlock: Interlock, action: CommandAction | ToolAction | EditAction, rule: str
) -> None:
    answer = interlock.run("t").ask(action)

    assert any(each.startswith(rule) for each in rules_of(answer.verdict)), answer.verdict


def test_parameters_are_kept_as_text(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.tool("Read", {"file_path": "a.py", "limit": 10, "ratio": 0.1})
    run.tool("Read", '{"file_path":  "a.py"}')

    kept = [event.action for event in _judged(interlock, run)]
    assert kept == [
        ToolAction(name="Read", params='{"file_path":"a.py","limit":10,"ratio":0.1}'),
        ToolAction(name="Read", params='{"file_path":  "a.py"}'),
    ]


def test_no_parameters_at_all_are_no_mistake(interlock: Interlock) -> None:
    run = interlock.run("t")

    assert run.tool("Read", {}).allowed
    assert run.tool("Read", "").allowed


class _Thing:
    def __repr__(self) -> str:
        return "a thing"


_IN_ITSELF: list[object] = []
_IN_ITSELF.append(_IN_ITSELF)


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"a": _Thing()}, "a"),
        ({"a": [1, {"b": b"raw"}]}, r"a\[1\].b"),
        ({"a": {1, 2}}, "a"),
        ({"a": {"b": float("nan")}}, "a.b"),
        ({"a": float("inf")}, "a"),
        ({"a": -float("inf")}, "a"),
        ({"a": {1: "one"}}, "a"),
        ({"a": {None: "one"}}, "a"),
        ({1: "one"}, None),
        ({"a": 1 + 2j}, "a"),
        ({"a": _IN_ITSELF}, None),
    ],
)
@pytest.mark.parametrize("key", [None, "k1"])
def test_what_json_cannot_say_is_refused_with_its_place(
    interlock: Interlock, params: dict[str, object], place: str | None, key: str | None
) -> None:
    run = interlock.run("t")

    told = "the parameters are not JSON" if place is None else f"not JSON: `{place}` is"
    with pytest.raises(InputError, match=told):
        run.tool("Note", params, key=key)
    assert kinds_of(interlock.ledger, run.id) == ["run-started"]


def test_a_tuple_is_a_list(interlock: Interlock) -> None:
    run = interlock.run("t")

    first = run.tool("Note", {"a": (1, (2, "x")), "b": ()}, key="k")
    assert first.allowed
    assert run.tool("Note", {"a": [1, [2, "x"]], "b": []}, key="k").repeated


def test_numbers_of_any_size_are_kept_apart(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.tool("Note", {"n": 2**70})
    run.tool("Note", {"n": 2**70 + 1})

    events = _judged(interlock, run)
    assert [getattr(event.action, "params", None) for event in events] == [
        f'{{"n":{2**70}}}',
        f'{{"n":{2**70 + 1}}}',
    ]
    assert events[0].digest != events[1].digest


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(command="echo \udc80", cwd="/\udcff"),
        ToolAction(name="No\udc80te", params={"a\udc80": ["\udc80", {"b": "\ud800"}]}),
        ToolAction(name="Note", params='{"a": "\udc80"}'),
        ToolAction(name="Bash", params={"command": "rm -rf / \udc80"}),
        EditAction(path="a\udc80.py", content="\udc80", old="\ud800"),
    ],
)
def test_text_that_is_no_text_is_judged_and_kept_as_well_as_it_goes(
    interlock: Interlock, action: CommandAction | ToolAction | EditAction
) -> None:
    run = interlock.run("t")
    answer = run.ask(action, key="k")
    run.observe(answer, exit_code=0)

    assert run.ask(action, key="k").repeated
    kept = _judged(interlock, run)[0].action
    assert "?" in str(kept)
    run.finish()


def test_half_characters_that_differ_make_different_requests(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.command("echo \udc80")
    run.command("echo \udc81")
    run.command("echo ?")

    assert len({event.digest for event in _judged(interlock, run)}) == 3


def test_two_megabytes_are_answered_and_kept_in_part(interlock: Interlock) -> None:
    run = interlock.run("t")
    content = "line of text\n" * 160_000
    answer = run.may_edit("big.txt", content)

    assert not answer.allowed
    kept = _judged(interlock, run)[0].action
    assert isinstance(kept, EditAction)
    assert len(kept.content) < 1_100_000
    assert kept.content.endswith("[cut]")
    assert run.tool("Write", {"file_path": "big.txt", "content": content}).decision is not None


def test_an_unknown_run_is_named(interlock: Interlock) -> None:
    run = Run(interlock.governor, "nowhere")

    with pytest.raises(InputError, match="there is no run `nowhere`"):
        run.command("git status")


def test_what_cannot_be_asked_leaves_no_trace(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.finish()
    before = kinds_of(interlock.ledger, run.id)

    with pytest.raises(InputError, match="start another one"):
        run.command("git status")
    assert kinds_of(interlock.ledger, run.id) == before


def test_a_closed_ledger_answers_nothing(opened: OpenInterlock) -> None:
    interlock = opened()
    run = interlock.run("t")
    interlock.close()

    with pytest.raises(Exception, match="closed"):
        run.command("git status")


def test_the_same_question_twice_is_two_questions_without_a_key(interlock: Interlock) -> None:
    run = interlock.run("t")
    first, second = run.command("ls"), run.command("ls")

    assert first.action_id != second.action_id
    assert not second.repeated
