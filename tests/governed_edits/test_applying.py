"""Edits are planned, judged by what they would really change, applied as one, and recorded."""

from __future__ import annotations

import pytest

from gates.policies import rules_of
from governed_edits.workbench import NOTES, Workbench, an_edit
from interlock import Budget, Decision, EditAnswer, InputError, ToolAction
from interlock.errors import EditError, KeyConflictError
from interlock.model.events import ActionJudged, ActionObserved, EditsApplied, Outcome
from interlock.values import EditSet, Layer
from service.ledgers import kinds_of

_FUZZY = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n"
_SIMILAR = _FUZZY.replace("result += item.price", "result += item.prize")
_ASKS_FROM_TWO_LINES = '[diff-size]\nthreshold = 1\ndecision = "require-confirmation"\n'


def rules(answer: EditAnswer) -> list[str]:
    assert answer.answer is not None
    return rules_of(answer.answer.verdict)


def test_a_set_is_applied_and_recorded_with_the_figures_of_its_plan(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    bench.write("b.txt", b"x = 1\r\ny = 2\r\n")

    told = bench.apply(
        an_edit("a.txt", "two", "2\n2 and a half"),
        an_edit("b.txt", "y = 2", "y = 3"),
        an_edit("new/c.txt", "", "made\n"),
    )

    assert told.allowed
    assert not told.repeated
    assert told.plan is not None
    assert (told.plan.added, told.plan.removed) == (4, 2)
    assert bench.files() == {
        "a.txt": b"one\n2\n2 and a half\nthree\n",
        "b.txt": b"x = 1\r\ny = 3\r\n",
        "new/c.txt": b"made\n",
    }
    [judged], [applied] = bench.events(ActionJudged), bench.events(EditsApplied)
    [observed] = bench.events(ActionObserved)
    assert isinstance(judged, ActionJudged)
    assert isinstance(applied, EditsApplied)
    assert isinstance(observed, ActionObserved)
    assert isinstance(judged.action, ToolAction)
    assert judged.action.name == "interlock_edit"
    assert judged.facts.asked.diff_lines == 6
    assert applied.of == observed.of
    assert applied.applied == told.applied
    assert applied.applied.id == told.undo_id
    assert applied.layers == (Layer.CREATED, Layer.EXACT)
    assert observed.outcome is Outcome.OK
    assert [(each.path, each.added, each.removed) for each in observed.changes] == [
        ("a.txt", 2, 1),
        ("b.txt", 1, 1),
        ("new/c.txt", 1, 0),
    ]
    assert observed.spent.diff_lines == 6
    assert observed.spent.storage_bytes == len("2\n2 and a half\ny = 3\r\nmade\n")
    assert bench.replays_identically()


def test_a_dry_run_tells_and_does_nothing(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)

    with bench.resumed() as run:
        told = run.apply_edits(EditSet(edits=(an_edit("a.txt", "two", "2"),)), dry_run=True)

    assert told.answer is None
    assert not told.allowed
    assert told.undo_id is None
    assert told.approval_id is None
    assert "-two\n+2\n" in told.diff
    assert bench.files() == {"a.txt": NOTES.encode()}
    assert len(bench.events()) == 1
    assert not bench.store.exists()


def test_a_large_change_asks_a_person_and_is_planned_anew_once_granted(bench: Workbench) -> None:
    bench.policy = _ASKS_FROM_TWO_LINES
    bench.write("a.txt", NOTES)

    asked = bench.apply(an_edit("a.txt", "two", "2"))
    assert asked.answer is not None
    assert asked.answer.waits_for_person
    assert rules(asked) == ["diff-size.threshold"]
    assert bench.files() == {"a.txt": NOTES.encode()}

    bench.approve(asked)
    # Something else in the file has changed: what is replaced is still what was asked about.
    bench.write("a.txt", "zero\n" + NOTES)
    done = bench.apply(an_edit("a.txt", "two", "2"))

    assert done.allowed
    assert bench.text("a.txt") == "zero\none\n2\nthree\n"
    assert bench.replays_identically()
    # It was granted once.
    assert not bench.apply(an_edit("a.txt", "three", "3")).allowed


def test_what_was_granted_is_not_what_the_file_holds_by_now(bench: Workbench) -> None:
    bench.policy = _ASKS_FROM_TWO_LINES
    bench.write("a.txt", NOTES)
    asked = bench.apply(an_edit("a.txt", "t", "T", replace_all=True), key="once")
    bench.approve(asked)
    bench.write("a.txt", NOTES + "ten\n")

    again = bench.apply(an_edit("a.txt", "t", "T", replace_all=True))
    with pytest.raises(KeyConflictError, match="where the files have changed since"):
        bench.apply(an_edit("a.txt", "t", "T", replace_all=True), key="once")

    assert again.answer is not None
    assert again.answer.waits_for_person
    assert again.approval_id != asked.approval_id
    assert bench.text("a.txt") == NOTES + "ten\n"


def test_a_protected_path_is_refused_whatever_it_is_called(bench: Workbench) -> None:
    bench.write("plain.txt", NOTES)
    bench.write(".claude/settings.json", "{}\n")
    (bench.root / "innocent").symlink_to(".claude/settings.json")
    (bench.root / ".mcp.json").symlink_to("plain.txt")
    before = bench.files()

    for path, old in (
        (".claude/settings.json", "{}"),
        ("innocent", "{}"),
        (".mcp.json", "two"),
        (str(bench.root / ".mcp.json"), "two"),
        ("interlock.toml", ""),
    ):
        told = bench.apply(an_edit("plain.txt", "one", "1"), an_edit(path, old, "x"))
        assert told.answer is not None
        assert told.answer.decision is Decision.BLOCK
        assert any(rule.startswith("protected-paths.") for rule in rules(told))
        assert told.applied is None
        assert told.plan is not None

    assert bench.files() == before
    assert bench.events(EditsApplied) == []


def test_a_path_counts_from_the_root_of_the_disk_as_well(small_bench: Workbench) -> None:
    entry = f"path = '{small_bench.root}/**', decision = 'block', reason = 'it is ours'"
    small_bench.policy = f"[protected-paths]\nentries = [{{ {entry} }}]\n"
    small_bench.write("a.txt", NOTES)

    told = small_bench.apply(an_edit("a.txt", "two", "2"))

    assert rules(told) == [f"protected-paths.{small_bench.root}/**"]
    assert small_bench.text("a.txt") == NOTES


@pytest.mark.parametrize("decision", ["warn", "require-confirmation", "block"])
def test_the_policy_answers_a_text_that_was_found_by_likeness(
    small_bench: Workbench, decision: str
) -> None:
    small_bench.policy = f'[edits]\nfuzzy-matches = "{decision}"\n'
    small_bench.write("a.py", "import sys\n\n" + _FUZZY)
    small_bench.write("b.py", "exact\n")

    told = small_bench.apply(
        an_edit("b.py", "exact", "found"), an_edit("a.py", _SIMILAR, "total = sum\n")
    )

    assert told.answer is not None
    assert told.answer.decision is Decision(decision)
    [finding] = told.answer.verdict.findings
    assert (finding.gate, finding.rule) == ("edits", "edits.fuzzy-match")
    assert "`a.py`" in finding.message
    assert told.allowed == (decision == "warn")
    assert (small_bench.text("b.py") == "found\n") == (decision == "warn")
    assert small_bench.replays_identically()


def test_a_text_that_was_found_by_likeness_is_replaced_by_default(small_bench: Workbench) -> None:
    small_bench.write("a.py", "import sys\n\n" + _FUZZY)

    told = small_bench.apply(an_edit("a.py", _SIMILAR, "total = sum\n"))

    assert told.allowed
    assert small_bench.text("a.py") == "import sys\n\ntotal = sum\n"
    [applied] = small_bench.events(EditsApplied)
    assert isinstance(applied, EditsApplied)
    assert applied.layers == (Layer.FUZZY,)


def test_a_budget_refuses_what_the_plan_would_use_up(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    with bench.opened() as interlock:
        budget = Budget(diff_lines=3, storage_bytes=100)
        bench.run_id = interlock.run("edit", workspace=bench.root, budget=budget).id

    assert bench.apply(an_edit("a.txt", "two", "2")).allowed
    refused = bench.apply(an_edit("a.txt", "three", "3"))
    with bench.opened() as interlock:
        roomy = interlock.run("edit", workspace=bench.root, budget=Budget(storage_bytes=10))
        too_much = roomy.apply_edits([an_edit("b.txt", "", "more than ten bytes\n")])

    assert rules(refused) == ["budget.run.diff-lines"]
    assert rules(too_much) == ["budget.run.storage-bytes"]
    assert bench.files() == {"a.txt": b"one\n2\nthree\n"}


def test_a_rule_of_the_users_own_sees_the_path_and_the_lines(small_bench: Workbench) -> None:
    small_bench.policy = """\
[[rules]]
id = "no-prints"
when = 'path.startsWith("src/") && content.contains("print(")'
decision = "block"
severity = "low"
message = "no printing"
remediation = "log it"
"""
    small_bench.write("src/a.py", "x = 1\n")

    refused = small_bench.apply(an_edit("src/a.py", "x = 1", "print(1)"))
    fine = small_bench.apply(an_edit("other.py", "", "print(1)\n"))

    assert rules(refused) == ["no-prints"]
    assert fine.allowed


def test_what_fails_while_it_is_applied_is_reported_and_changes_nothing(
    small_bench: Workbench,
) -> None:
    small_bench.write("a.txt", NOTES)
    small_bench.write("b.txt", NOTES)
    small_bench.apply(an_edit("a.txt", "two", "2"))
    small_bench.store.chmod(0o700)
    (small_bench.store / "kept").rename(small_bench.store / "elsewhere")
    (small_bench.store / "kept").write_text("in the way")

    with pytest.raises(EditError):
        small_bench.apply(an_edit("b.txt", "two", "2"), key="b")
    with pytest.raises(EditError):
        small_bench.apply(an_edit("b.txt", "two", "2"), key="b")

    assert small_bench.text("b.txt") == NOTES
    (small_bench.store / "kept").unlink()
    (small_bench.store / "elsewhere").rename(small_bench.store / "kept")
    observed = small_bench.events(ActionObserved)
    assert [each.outcome for each in observed if isinstance(each, ActionObserved)] == [
        Outcome.OK,
        Outcome.FAILED,
    ]
    with pytest.raises(EditError, match="use a new key to try again"):
        small_bench.apply(an_edit("b.txt", "two", "2"), key="b")
    assert small_bench.apply(an_edit("b.txt", "two", "2"), key="c").allowed


def test_a_run_without_a_workspace_is_told_how_to_get_one(small_bench: Workbench) -> None:
    with small_bench.opened() as interlock:
        run = interlock.run("nowhere")
        for dry_run in (True, False):
            with pytest.raises(InputError, match="start it with `workspace=`"):
                run.apply_edits([an_edit("a", "", "b")], dry_run=dry_run)
        assert kinds_of(interlock.ledger, run.id) == ["run-started"]


def test_a_finished_run_edits_nothing(small_bench: Workbench) -> None:
    small_bench.write("a.txt", NOTES)
    with small_bench.resumed() as run:
        run.finish()
        with pytest.raises(InputError, match="is finished"):
            run.apply_edits([an_edit("a.txt", "two", "2")])

    assert small_bench.text("a.txt") == NOTES


def test_a_person_is_waited_for(small_bench: Workbench) -> None:
    small_bench.policy = _ASKS_FROM_TWO_LINES
    small_bench.write("a.txt", NOTES)

    with small_bench.resumed() as run:
        waited = run.apply_edits([an_edit("a.txt", "two", "2")], wait_s=0)

    assert waited.answer is not None
    assert waited.answer.waits_for_person
    small_bench.approve(waited)
    with small_bench.resumed() as run:
        assert run.apply_edits([an_edit("a.txt", "two", "2")], wait_s=0).allowed


def test_rework_is_counted_by_what_the_run_itself_had_written(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)

    bench.apply(an_edit("a.txt", "two", "first try\nsecond line\nthird line"))
    bench.apply(an_edit("a.txt", "first try\nsecond line", "second try\nsecond line"))
    bench.apply(an_edit("./a.txt", "one", "1"))

    observed = [each for each in bench.events(ActionObserved) if isinstance(each, ActionObserved)]
    assert [each.changes[0].rework for each in observed] == [0, 1, 0]
    with bench.resumed() as run:
        assert run.state.rework_lines == 1


def test_a_later_set_can_be_planned_while_an_earlier_one_is_half_done(
    small_bench: Workbench,
) -> None:
    small_bench.write("a.txt", NOTES)
    small_bench.apply(an_edit("a.txt", "two", "2"))
    # A set that died before it wrote down what it wanted has changed nothing.
    (small_bench.store / "pending" / "died").mkdir()

    assert small_bench.apply(an_edit("a.txt", "three", "3")).allowed
    assert list((small_bench.store / "pending").iterdir()) == []


def test_opening_finishes_what_died_half_way(small_bench: Workbench) -> None:
    (small_bench.store / "pending" / "died").mkdir(parents=True)

    with small_bench.opened():
        assert list((small_bench.store / "pending").iterdir()) == []


def test_a_set_that_cannot_be_finished_is_told_to_whoever_edits(small_bench: Workbench) -> None:
    small_bench.write("a.txt", NOTES)
    journal = small_bench.store / "pending" / "died" / "journal.json"
    journal.parent.mkdir(parents=True)
    journal.write_text("no journal")

    with pytest.raises(EditError, match="the set `died` is still half done"):
        small_bench.apply(an_edit("a.txt", "two", "2"))
    assert len(small_bench.events()) == 1


def test_one_edit_alone_is_a_set_of_one(bench: Workbench) -> None:
    bench.write("a.txt", b"one\n")
    one = {"path": "a.txt", "old": "one", "new": "two"}

    with bench.resumed() as run:
        told = run.apply_edits(one)
        again = run.apply_edits(an_edit("a.txt", "two", "three"))
        last = run.apply_edits({"edits": [{**one, "old": "three"}]})
        with pytest.raises(InputError, match="`edits` takes no `content`: expected `new`, `old`"):
            run.apply_edits({"path": "a.txt", "content": "x"})

    assert [each.decision for each in (told, again, last)] == ["allow"] * 3
    assert bench.files()["a.txt"] == b"two\n"
