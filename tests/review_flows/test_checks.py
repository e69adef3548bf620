"""Checks that Interlock runs itself: evidence beats what was said, under the same policy."""

from __future__ import annotations

import os
from threading import Thread

import pytest

from interlock import InputError
from interlock.model.review import EntryKind, ReviewOutcome, Witness
from review_flows.checking import SECRET, checked, ran, scripted
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import CHECK, FAIL, GATES, PASS, Workshop


def test_a_pass_against_a_failing_check_is_refused_by_the_gates_name(workshop: Workshop) -> None:
    workshop.review("tests", "plan")
    first = workshop.says(PASS)
    second = workshop.says(PASS)

    assert first.outcome is ReviewOutcome.RETRY
    assert first.detail.contradicted == ("tests",)
    assert "the PASS of gate `tests` is refused: its check failed: exit code 2" in first.reason
    assert [each.witness for each in first.coverage] == [Witness.AGAINST, Witness.VERDICT]
    assert second.detail.exhausted_gate_ids == ("tests",)
    kinds = [entry.kind for entry in workshop.pending.review.history]
    assert kinds == [EntryKind.CONTRADICTED] * 2
    assert [each.rule for each in workshop.inbox[0].findings] == ["review.tests"]
    assert workshop.is_sound()


def test_a_check_is_run_anew_for_each_verdict(workshop: Workshop) -> None:
    workshop.review("tests")
    refused = workshop.says(PASS)
    workshop.works("good")
    passed = workshop.says(PASS)

    assert (refused.advances, passed.advances) == (False, True)
    assert [each.result.exit_code for each in ran(workshop)] == [2, 0]
    assert [each.witness for each in passed.coverage] == [Witness.CHECK]
    assert workshop.is_sound()


def test_a_fail_is_a_fail_although_the_check_passes(workshop: Workshop) -> None:
    workshop.works("good")
    workshop.review("tests")

    assert workshop.says(FAIL).outcome is ReviewOutcome.RETRY


def test_a_verdict_that_cannot_be_read_does_not_pass_by_its_check(workshop: Workshop) -> None:
    workshop.works("good")
    workshop.review("tests")

    assert workshop.says("looks good to me").outcome is ReviewOutcome.RETRY


def test_no_check_is_run_while_a_person_has_to_choose(workshop: Workshop) -> None:
    workshop.review("tests")
    workshop.says(PASS)
    workshop.says(PASS)
    workshop.works("good")
    answer = workshop.says(PASS)

    assert answer.outcome is ReviewOutcome.REFUSED
    assert len(ran(workshop)) == 2


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["no-such-program-anywhere"], "it cannot be started"),
        (["./missing.sh"], "it cannot be started"),
        (["rm", "-rf", "/"], "the policy does not let it run"),
        (["sh", "-c", "rm -rf /"], "the policy does not let it run"),
        (["git", "push", "--force"], "the policy does not let it run"),
    ],
)
def test_a_check_that_cannot_run_leaves_its_gate_unverified_beside_a_passing_one(
    file_workshop: OpenWorkshop, argv: list[str], why: str
) -> None:
    workshop = file_workshop()
    workshop.works("good")
    gates = [checked(argv, "silent"), checked(CHECK, "sound")]
    workshop.does(lambda run: run.review("first", gates))
    answer = workshop.says(PASS)

    assert answer.outcome is ReviewOutcome.RETRY
    assert answer.detail.unverified == ("silent",)
    assert [each.witness for each in answer.coverage] == [Witness.NOTHING, Witness.CHECK]
    assert why in answer.reason
    assert why in (answer.guidance or "")
    assert [entry.kind for entry in workshop.pending.review.history] == [EntryKind.UNVERIFIED]
    assert workshop.is_sound()


def test_what_the_policy_does_not_let_a_check_do_is_on_record_with_its_rules(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop()
    victim = workshop.folder / "victim"
    victim.mkdir()
    gate = checked(["rm", "-rf", "../workspace", "/"])
    workshop.does(lambda run: run.review("first", [gate]))
    workshop.says(PASS)

    assert victim.is_dir()
    (event,) = ran(workshop)
    assert event.command == "rm -rf ../workspace /"
    assert event.findings
    assert not event.result.ran


def test_what_may_be_done_with_undo_is_not_done_by_a_check(file_workshop: OpenWorkshop) -> None:
    everywhere = "[destructive-ops]\nscratch-folders = []\ntemp-folders = []\n"
    rule = '[destructive-ops.rules]\n"filesystem.delete-recursive-forced" = "allow-with-undo"\n'
    workshop = file_workshop(policy=everywhere + rule + GATES)
    kept = workshop.folder / "build"
    kept.mkdir()
    workshop.does(lambda run: run.review("first", [checked(["rm", "-rf", "build"])]))
    answer = workshop.says(PASS)

    assert kept.is_dir()
    assert answer.detail.unverified == ("checked",)


def test_a_run_without_a_workspace_has_its_gates_unverified(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop(workspace=None)
    workshop.does(lambda run: run.review("first", [checked(["true"])]))
    answer = workshop.says(PASS)

    assert answer.detail.unverified == ("checked",)
    assert "the run has no workspace: start it with one" in answer.reason


def test_a_workspace_that_is_gone_leaves_the_gate_unverified(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    workshop.does(lambda run: run.review("first", [checked(["true"])]))
    workshop.folder.rmdir()
    answer = workshop.says(PASS)

    assert answer.detail.unverified == ("checked",)
    assert "it cannot be started" in answer.reason


def test_an_advisory_gate_with_a_failing_check_warns(workshop: Workshop) -> None:
    gate = checked(["false"], severity="high")
    workshop.does(lambda run: run.review("first", [gate]))
    answer = workshop.says(PASS)

    assert answer.advances
    assert "the PASS of gate `checked` is refused: its check failed" in answer.footer


# Who may have one run.


def test_a_check_with_a_secret_among_its_words_is_refused(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    records = workshop.kinds
    for argv in (
        ["curl", SECRET],
        ["env", f"TOKEN={SECRET}", "true"],
        ["deploy", "--token", SECRET],
        ["curl", "-H", f"Authorization: Bearer {SECRET}"],
    ):
        with pytest.raises(InputError, match="holds a secret"):
            workshop.does(lambda run, argv=argv: run.review("first", [checked(argv)]))

    assert workshop.kinds == records


def test_no_check_is_run_in_a_run_that_a_person_has_halted(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    mark = workshop.folder / "mark"
    gate = checked(["mkdir", "-p", "mark"])
    workshop.does(lambda run: run.review("first", [gate]))
    workshop.uses(
        lambda interlock: interlock.halt(
            workshop.run_id, token=workshop.operator, reason="look at this"
        )
    )
    with pytest.raises(InputError, match="is held: look at this"):
        workshop.says(PASS)

    assert not mark.exists()
    assert workshop.pending.review.attempt_count == 0
    workshop.uses(
        lambda interlock: interlock.lift(workshop.run_id, token=workshop.operator, reason="seen")
    )
    assert workshop.says(PASS).advances
    assert mark.exists()


class _Meanwhile:
    """A verdict that is being given, and whose check goes on when it is told to."""

    def __init__(self, workshop: Workshop, verdict: str) -> None:
        self.workshop = workshop
        for name in ("started", "go"):
            os.mkfifo(workshop.folder / name)
        self._verdict = verdict
        self._outcome: object = None
        self._thread = Thread(target=self._give)
        self._thread.start()
        assert (workshop.folder / "started").read_text() == "started\n"

    def _give(self) -> None:
        try:
            with self.workshop.opened() as interlock:
                run = interlock.resume(self.workshop.run_id)
                self._outcome = run.verdict(self._verdict)
        except InputError as error:
            self._outcome = error

    def ended(self) -> object:
        """Let the check go on; return what came of the verdict."""
        (self.workshop.folder / "go").write_text("go\n")
        self._thread.join()
        return self._outcome


SLOW = "echo started > started; read line < go\n"


def test_a_verdict_whose_review_is_gone_when_its_check_ends_counts_for_no_other(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop()
    gate = scripted(workshop, SLOW, mode="advisory")
    workshop.does(lambda run: run.review("first", [gate]))
    giving = _Meanwhile(workshop, FAIL)
    (workshop.folder / "check.sh").write_text("exit 0\n")
    assert workshop.says(PASS).advances
    workshop.review("plan", review_id="second")
    outcome = giving.ended()

    assert isinstance(outcome, InputError)
    assert "no review `first` is pending" in str(outcome)
    assert workshop.pending.review.attempt_count == 0
    assert workshop.is_sound()


def test_a_verdict_is_refused_once_another_has_used_up_the_attempts_meanwhile(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop()
    gate = scripted(workshop, SLOW, max_attempts=1)
    workshop.does(lambda run: run.review("first", [gate]))
    giving = _Meanwhile(workshop, PASS)
    (workshop.folder / "check.sh").write_text("exit 0\n")
    assert workshop.says(FAIL).outcome is ReviewOutcome.ASK
    outcome = giving.ended()

    assert getattr(outcome, "outcome", None) is ReviewOutcome.REFUSED
    assert workshop.pending.review.attempt_count == 1
    assert len(workshop.inbox) == 1


def test_a_verdict_whose_run_has_ended_meanwhile_is_refused(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    gate = scripted(workshop, SLOW)
    workshop.does(lambda run: run.review("first", [gate]))
    giving = _Meanwhile(workshop, PASS)
    workshop.does(lambda run: run.finish("failed"))
    outcome = giving.ended()

    assert isinstance(outcome, InputError)
    assert ran(workshop) == []
    assert workshop.is_sound()
