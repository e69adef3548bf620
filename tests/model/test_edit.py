"""What a plan of edits adds up to, and what whoever asked for them is told."""

from __future__ import annotations

from interlock import Answer, Decision, Verdict
from interlock.model.answers import EditAnswer
from interlock.model.edit import Applied, EditPlan, Encoding, FilePlan, PlannedChange
from interlock.model.facts import Layer


def _a_file(name: str, added: int, removed: int, layer: Layer) -> FilePlan:
    change = PlannedChange(edit=1, start=4, end=9, line=2, column=3, layer=layer)
    return FilePlan(
        path=name,
        target=name,
        before=None,
        after="digest",
        added=added,
        removed=removed,
        changes=(change,),
        encoding=Encoding.UTF_8,
        mode=None,
    )


def test_a_plan_adds_up_its_files() -> None:
    files = (_a_file("a", 3, 1, Layer.EXACT), _a_file("b", 2, 0, Layer.FUZZY))
    plan = EditPlan(workspace="/w", files=files)

    assert [file.changed_lines for file in files] == [4, 2]
    assert (plan.added, plan.removed, plan.changed_lines) == (5, 1, 6)
    assert plan.layers == {Layer.EXACT, Layer.FUZZY}
    assert files[0].changes[0].place == "2:3"


def test_what_was_only_looked_at_is_neither_allowed_nor_undone() -> None:
    told = EditAnswer()

    assert (told.allowed, told.approval_id, told.undo_id) == (False, None, None)
    assert told.decision is None
    assert told.reasons == ()


def test_an_answer_tells_its_question_and_what_puts_it_back() -> None:
    verdict = Verdict(decision=Decision.ALLOW, findings=(), policy_hash="p")
    answer = Answer(
        run_id="r", action_id="r:1", decision=Decision.ALLOW, verdict=verdict, approval_id="q"
    )
    told = EditAnswer(answer=answer, applied=Applied(id="u", workspace="/w", files=()))

    assert (told.allowed, told.approval_id, told.undo_id) == (True, "q", "u")
    assert told.decision == "allow"
