"""Asked about what can be put back: copied first, then allowed, and put back on demand."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gates.policies import gates_with, rules_of
from interlock import Answer, AsyncInterlock, Budget, Decision, Interlock, Run
from interlock.backtest.run_replay import replay_run
from interlock.model.events import ActionJudged
from interlock.policy.actions.compiled_policy import CompiledPolicy
from service.ledgers import HandClock, everything_stored, kinds_of, operator_of, records_of
from undo_snapshots.workplace import POLICY, RULE, OpenInterlock, Workplace
from warm_python import run_python

LINE = "rm -rf build src/old"


def furnish(place: Workplace) -> None:
    """Fill the workplace with files, modes, links and empty folders."""
    place.write("build/out.bin", bytes(range(256)) * 40, mode=0o755)
    place.write("build/deep/er/secret.txt", "s", mode=0o400)
    (place.root / "build" / "empty").mkdir(mode=0o711)
    (place.root / "build" / "link").symlink_to("deep/er")
    (place.root / "build" / "dangling").symlink_to("/nowhere/at all")
    place.write("src/old/größe.py", "a")
    place.write("src/new/b.py", "b")
    (place.outside / "precious").write_text("p")


def asked(interlock: Interlock, place: Workplace, line: str) -> Answer:
    run = interlock.run("t", workspace=place.root)
    return run.command(line, cwd=str(place.root))


def judged(interlock: Interlock, run_id: str) -> list[ActionJudged]:
    events = [record.event for record in records_of(interlock.ledger, run_id)]
    return [event for event in events if isinstance(event, ActionJudged)]


def why_not(answer: Answer) -> str:
    """Return why it could not be put back; fails where it goes ahead."""
    assert answer.decision is Decision.REQUIRE_CONFIRMATION
    assert answer.approval_id is not None
    assert answer.undo_id is None
    [told] = [each for each in answer.verdict.findings if each.gate == "undo"]
    assert told.rule == "undo.not-possible"
    return told.message


def test_what_is_deleted_under_the_rule_comes_back(opened: OpenInterlock, place: Workplace):
    furnish(place)
    before = place.everything()

    answer = asked(opened(), place, LINE)
    assert answer.decision is Decision.WARN
    assert answer.allowed
    assert rules_of(answer.verdict) == [RULE, "mind-files", "undo.kept"]
    place.run(LINE)
    assert not (place.root / "build").exists()
    assert not (place.root / "src" / "old").exists()

    place.restore(answer.undo_id)
    assert place.everything() == before


def test_whoever_was_told_the_id_can_undo_it_and_undo_that(opened: OpenInterlock, place: Workplace):
    furnish(place)
    before = place.everything()
    interlock = opened()
    answer = asked(interlock, place, LINE)
    place.run(LINE)
    after = place.everything()

    undone = interlock.undo(answer.undo_id or "")
    assert undone.paths == ("build", "src/old")
    assert place.everything() == before

    interlock.undo(undone.undo_id or "")
    assert place.everything() == after


def test_the_answer_is_on_record_with_its_copy_and_replays(opened: OpenInterlock, place: Workplace):
    furnish(place)
    interlock = opened()
    run = interlock.run("t", workspace=place.root)
    allowed = run.command(LINE, cwd=str(place.root))
    place.run(LINE)
    run.observe(allowed, exit_code=0)
    refused = run.command("rm -rf $X", cwd=str(place.root))

    first, second = judged(interlock, run.id)
    assert first.facts.undo is not None
    assert first.facts.undo.snapshot is not None
    assert first.facts.undo.snapshot.id == allowed.undo_id
    assert first.facts.undo.snapshot.paths == ("build", "src/old")
    assert second.facts.undo is not None
    assert f"{second.facts.undo.refused}" in why_not(refused)
    assert [each.is_same for each in replay_run(interlock.ledger.rows, run.id)] == [True, True]


def test_what_was_asked_before_is_not_copied_again(opened: OpenInterlock, place: Workplace):
    furnish(place)
    run = opened().run("t", workspace=place.root)
    first = run.command(LINE, cwd=str(place.root), key="k")

    again = run.command(LINE, cwd=str(place.root), key="k")

    assert again.repeated
    assert again.undo_id == first.undo_id
    assert place.copies() == [first.undo_id]


def test_another_question_is_another_copy(opened: OpenInterlock, place: Workplace):
    furnish(place)
    run = opened().run("t", workspace=place.root)

    ids = {run.command(LINE, cwd=str(place.root)).undo_id for _ in range(3)}

    assert place.copies() == sorted(ids)  # pyright: ignore[reportArgumentType] - all were copied
    assert len(ids) == 3


def test_a_tool_that_may_be_called_twice_is_copied_twice(opened: OpenInterlock, place: Workplace):
    file = place.write("a.txt", "one")
    run = opened(POLICY + "\n[tools]\nidempotent = ['Write']\n").run("t", workspace=place.root)
    params = {"file_path": str(file), "content": "new"}
    run.tool("Write", params)
    file.write_text("two")

    again = run.tool("Write", params)

    assert not again.repeated
    file.write_text("new")
    place.restore(again.undo_id)
    assert file.read_text() == "two"


def test_a_run_below_is_in_the_same_workspace(opened: OpenInterlock, place: Workplace):
    furnish(place)
    child = opened().run("t", workspace=place.root).child("c")

    assert child.command(LINE, cwd=str(place.root)).allowed


def test_an_edit_and_a_tool_can_be_put_back(opened: OpenInterlock, place: Workplace):
    place.write("a.txt", "one", mode=0o600)
    (place.root / "link").symlink_to("a.txt")
    before = place.everything()
    run = opened().run("t", workspace=place.root)

    edit = run.may_edit("link", "two", old="one")
    place.write("a.txt", "two")
    place.restore(edit.undo_id)
    assert place.everything() == before

    tool = run.tool("Bash", {"command": f"rm {place.root}/a.txt"})
    (place.root / "a.txt").unlink()
    place.restore(tool.undo_id)
    assert place.everything() == before


@pytest.mark.parametrize(
    ("line", "because"),
    [
        ("rm -rf ../outside", "leads out of the workspace"),
        ("rm -rf build /nowhere/x", "leads out of the workspace"),
        ("rm -rf way-out/precious", "leads out of the workspace"),
        ("echo x > way-out/precious", "leads out of the workspace"),
        ("echo x > to-precious", "leads out of the workspace"),
        ("rm -rf way-out/", "leads out of the workspace"),
        ("rm -rf .", "name it itself"),
        ("rm -rf big", "the limit is 1,000,000"),
        ("rm -rf $DIR", "known only when it runs"),
        ("rm -rf $(cat names)", "known only when it runs"),
        ("rm -rf b*", "known only when it runs"),
        ("cat names | xargs rm -rf", "stands behind `xargs`"),
        ("find . -name x -exec rm -rf {} +", "stands behind `find`"),
        ("rm -rf build && make", "what `make` touches is not known"),
        ("rm -rf build; chmod 755 x", "does not undo `permit`"),
        ("cd nowhere && rm -rf build", "is no folder"),
        ("echo x > twin", "has 2 names"),
        ("rm -rf pipe", "neither a file"),
    ],
)
def test_what_cannot_be_copied_asks_and_says_why(
    opened: OpenInterlock, place: Workplace, line: str, because: str
):
    furnish(place)
    place.write("big/file", b"x" * 1_000_001)
    (place.root / "way-out").symlink_to(place.outside)
    (place.root / "to-precious").symlink_to(place.outside / "precious")
    os.link(place.root / "src" / "new" / "b.py", place.root / "twin")
    os.mkfifo(place.root / "pipe")

    answer = asked(opened(POLICY + "\n[undo]\nlimit-bytes = 1_000_000\n"), place, line)

    assert because in why_not(answer)
    assert place.copies() == []


def test_a_link_is_deleted_as_a_link(opened: OpenInterlock, place: Workplace):
    (place.root / "way-out").symlink_to(place.outside)
    before = place.everything()

    answer = asked(opened(), place, "rm -rf way-out")
    place.run("rm -rf way-out")
    place.restore(answer.undo_id)

    assert place.everything() == before


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("mv a d", ("a", "d/a")),
        ("mv a new", ("a", "new")),
        ("cp a d/b l", ("d/a", "d/b")),
        ("echo x > m", ("a", "m")),
        ("rm m", ("m",)),
        ("rm -rf l/", ("d", "l")),
        ("rm -rf d d/b", ("d",)),
        ("cd d && rm -rf b ../a", ("a", "d/b")),
        ("cd l && rm b ../a", ("a", "d/b")),
    ],
)
def test_exactly_what_is_touched_is_copied(
    tmp_path: Path, place: Workplace, line: str, paths: tuple[str, ...]
):
    place.write("a", "a")
    place.write("d/b", "b")
    (place.root / "l").symlink_to("d")
    (place.root / "m").symlink_to("a")
    gates = gates_with(POLICY)
    with Interlock.open(
        ":memory:", policy=gates, keys=tmp_path / "keys", undo_store=place.store
    ) as interlock:
        run_id = asked(interlock, place, line).run_id
        undo = judged(interlock, run_id)[0].facts.undo

    assert undo is not None
    assert undo.snapshot is not None
    assert undo.snapshot.paths == paths


def test_a_run_without_a_workspace_asks(opened: OpenInterlock, place: Workplace):
    answer = opened().run("t").command(LINE, cwd=str(place.root))

    assert "the run has no workspace" in why_not(answer)


def test_without_the_rule_a_person_is_asked_and_nothing_copied(
    opened: OpenInterlock, place: Workplace
):
    furnish(place)
    plain = "[destructive-ops]\nscratch-folders = []\ntemp-folders = []\n"

    answer = asked(opened(plain), place, LINE)

    assert answer.decision is Decision.REQUIRE_CONFIRMATION
    assert rules_of(answer.verdict) == [RULE]
    assert place.copies() == []


def test_a_project_is_guarded_also_where_it_lies_in_a_temporary_folder(
    opened: OpenInterlock, place: Workplace
):
    furnish(place)
    only_the_rule = f'[destructive-ops.rules]\n"{RULE}" = "allow-with-undo"\n'

    answer = asked(opened(only_the_rule), place, LINE)

    assert answer.decision is Decision.WARN
    assert answer.undo_id is not None
    assert place.copies() == [answer.undo_id]


def test_what_another_rule_asks_about_is_not_copied(opened: OpenInterlock, place: Workplace):
    furnish(place)

    answer = asked(opened(), place, f"{LINE}; git push --force")

    assert answer.decision is Decision.REQUIRE_CONFIRMATION
    assert "git.push-force" in rules_of(answer.verdict)
    assert place.copies() == []


def test_what_is_blocked_stays_blocked(opened: OpenInterlock, place: Workplace):
    furnish(place)
    blocking = POLICY + (
        "\n[[rules]]\nid = 'never'\nwhen = 'command.contains(\"src/old\")'\ndecision = 'block'\n"
        "message = 'never'\n"
    )

    answer = asked(opened(blocking), place, LINE)

    assert answer.decision is Decision.BLOCK
    assert place.copies() == []


def test_a_budget_and_a_halt_stay_what_they_are(opened: OpenInterlock, place: Workplace):
    furnish(place)
    interlock = opened()
    poor = interlock.run("t", workspace=place.root, budget=Budget(tool_calls=0))
    halted = interlock.run("t", workspace=place.root)
    interlock.halt(halted.id, reason="no more", token=operator_of(interlock))

    assert poor.command(LINE, cwd=str(place.root)).decision is Decision.BLOCK
    assert halted.command(LINE, cwd=str(place.root)).decision is Decision.BLOCK
    assert place.copies() == []


def ask_a_person(interlock: Interlock, place: Workplace) -> tuple[Run, str]:
    """Ask about what is too large for a copy; return the run and the question."""
    run = interlock.run("t", workspace=place.root)
    answer = run.command(LINE, cwd=str(place.root))
    assert "the limit is" in why_not(answer)
    return run, answer.approval_id or ""


SMALL = POLICY + "\n[undo]\nlimit-bytes = 1024\n"


def test_what_a_person_granted_is_not_copied(opened: OpenInterlock, place: Workplace):
    furnish(place)
    interlock = opened(SMALL)
    run, question = ask_a_person(interlock, place)
    interlock.approve(question, token=operator_of(interlock))

    answer = run.command(LINE, cwd=str(place.root))

    assert answer.allowed
    assert answer.undo_id is None
    assert answer.approval_id == question
    assert place.copies() == []


def test_what_a_person_denied_stays_denied_though_it_could_be_copied_now(
    opened: OpenInterlock, place: Workplace
):
    furnish(place)
    interlock = opened(SMALL)
    run, question = ask_a_person(interlock, place)
    interlock.deny(question, token=operator_of(interlock), note="keep it")
    (place.root / "build" / "out.bin").unlink()

    answer = run.command(LINE, cwd=str(place.root))

    assert answer.decision is Decision.BLOCK
    assert place.copies() == []


def test_what_has_become_small_enough_goes_ahead_while_a_person_is_asked(
    opened: OpenInterlock, place: Workplace
):
    furnish(place)
    run, _ = ask_a_person(opened(SMALL), place)
    (place.root / "build" / "out.bin").unlink()

    assert run.command(LINE, cwd=str(place.root)).undo_id is not None


def test_names_that_hold_a_credential_are_not_told(opened: OpenInterlock, place: Workplace):
    # Put together here, so that no file of this repository holds what looks like a credential.
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    place.write(f"build/{secret}", "x" * 2000)
    place.write("to/file", "x")
    (place.root / "to" / "file").unlink()
    (place.root / "to" / "file").symlink_to(f"../build/{secret}")
    interlock = opened(SMALL)

    answer = asked(interlock, place, "rm -rf build")
    through_link = asked(interlock, place, "echo x > to/file")

    assert "the limit is 1,024" in why_not(answer)
    assert "the limit is 1,024" in why_not(through_link)
    assert secret.encode() not in everything_stored(interlock.ledger)
    big = opened(POLICY)
    assert asked(big, place, "echo x > to/file").undo_id is not None
    assert secret.encode() not in everything_stored(big.ledger)


def test_asking_from_a_coroutine_is_the_same(
    place: Workplace, tmp_path: Path, postgres_ledger_url: str, clock: HandClock
):
    furnish(place)
    before = place.everything()
    gates: CompiledPolicy = gates_with(POLICY)

    async def story(where: str) -> None:
        async with await AsyncInterlock.open(
            where, policy=gates, clock=clock, keys=tmp_path / "keys", undo_store=place.store
        ) as interlock:
            run = await interlock.run("t", workspace=place.root)
            answers = await asyncio.gather(
                *[run.command(LINE, cwd=str(place.root)) for _ in range(5)]
            )
            refused = await run.command("rm -rf $X", cwd=str(place.root))

            assert all(answer.allowed for answer in answers)
            assert len({answer.undo_id for answer in answers}) == 5
            assert "known only when it runs" in why_not(refused)
            place.run(LINE)
            place.restore(answers[-1].undo_id)
            assert place.everything() == before

    for where in (":memory:", str(tmp_path / "ledger.db"), postgres_ledger_url):
        asyncio.run(story(where))


_DIES = """
import os, sys
from pathlib import Path
from interlock import Interlock
from interlock.model.action import CommandAction
from interlock.service.policies.policy_files import load_policy
from interlock.service.questions.action_question import ActionQuestion
from interlock.service.questions.question import Asking

here, run_id = Path(sys.argv[1]), sys.argv[2]
gates = load_policy(user=here / "policy.toml")
interlock = Interlock.open(
    str(here / "ledger.db"), policy=gates, keys=here / "keys", undo_store=here / "here" / "undo"
)
action = CommandAction(command=sys.argv[3], cwd=str(here / "here" / "work"))
question = ActionQuestion(run_id=run_id, action=action, key="k")
work = question.prepare(Asking(interlock.governor, None))
preparation = interlock.ledger.execute(work)
preparation.perform()
os._exit(9)
"""
"""Does what a question does up to the moment between the copy and the answer, then dies."""


def test_who_dies_before_the_answer_leaves_an_unused_copy_and_nothing_else(
    tmp_path: Path, place: Workplace
):
    furnish(place)
    before = place.everything()
    (tmp_path / "policy.toml").write_text(POLICY)
    ledger, keys, gates = str(tmp_path / "ledger.db"), tmp_path / "keys", gates_with(POLICY)
    with Interlock.open(ledger, policy=gates, keys=keys, undo_store=place.store) as interlock:
        run_id = interlock.run("t", workspace=place.root).id

    died = run_python("-c", _DIES, str(tmp_path), run_id, LINE)

    assert died.returncode == 9
    [unused] = place.copies()
    assert place.everything() == before
    with Interlock.open(ledger, policy=gates, keys=keys, undo_store=place.store) as interlock:
        assert kinds_of(interlock.ledger, run_id) == ["run-started"]
        answer = interlock.resume(run_id).command(LINE, cwd=str(place.root), key="k")
        assert answer.undo_id not in (None, unused)
        assert not answer.repeated
        place.run(LINE)
        place.restore(answer.undo_id)
    assert place.everything() == before
