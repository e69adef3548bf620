"""`interlock review`:  good enough, and by whose word."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock
from cli.ledgers import SetClock
from cli.reviewing import FAILS, a_reviewed_run, as_operator
from interlock.errors import UnfinishedError
from interlock.model.short_code import code_of


def test_a_review_tells_whoever_reviews_what_to_look_at(any_place: str, empty_place: Path) -> None:
    with a_reviewed_run(any_place, empty_place) as at:
        result = interlock(
            "review", "open", code_of(at.run.id), "merge", "tests", "style", "--subject", "the form"
        )

        assert result.exit_code == 0
        assert at.told(result.stdout) == snapshot("""\
OPENED  the work waits for its verdict  blocking, record 2

  [automatic message, not from a person] Attempt 1 of 2

  Consider these improvements:
  - every test passes
  - reads well
  - short functions
  (1 more if asked for)

  Then report the verdict: `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`, and below it,
  where gates differ, `GATE_VERDICTS:` with a line such as `[1] PASS - why` for each. The gates: [1]
  tests [2] style

  interlock review submit <short> --review merge TEXT
""")
        assert at.run.state.reviews.pending["merge"].subject == "the form"


def test_a_pass_that_a_check_contradicts_is_refused_until_it_is_mended(
    any_place: str, empty_place: Path
) -> None:
    with a_reviewed_run(any_place, empty_place) as at:
        interlock("review", "open", at.run.id, "merge", "tests", "style")
        refused = interlock("review", "submit", at.run.id, "GATE_REVIEW: PASS - all good")
        at.mend()
        said = "PASS - mended\nGATE_VERDICTS:\n[1] PASS - four\n[style] FAIL - long functions"
        passed = interlock("review", "submit", at.run.id, stdin=said)

        assert (refused.exit_code, passed.exit_code) == (4, 0)
        assert at.told(refused.stdout) == snapshot("""\
RETRY  not good enough yet: the work stays
  review   merge, record 4
  because  attempt 1 of 2: PASS: all good; the PASS of gate `tests` is refused: its check failed:
           exit code 1 (1 test failed, 3 passed)

Gates
  tests    blocking, PASS refused, check failed: exit code 1 (1 test failed, 3 passed)
  style    advisory, only the verdict

  [automatic message, not from a person] Attempt 2 of 2

  Consider these improvements:
  - every test passes
  - reads well
  - short functions
  (1 more if asked for)

  Previous feedback: PASS: all good; the PASS of gate `tests` is refused: its check failed: exit
  code 1 (1 test failed, 3 passed)

  Checks that do not pass:
  - `tests`: exit code 1 (1 test failed, 3 passed)
    | 1 failed, 3 passed in 0.10s

  Then report the verdict: `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`, and below it,
  where gates differ, `GATE_VERDICTS:` with a line such as `[1] PASS - why` for each. The gates: [1]
  tests [2] style
""")
        assert at.told(passed.stdout) == snapshot("""\
ADVANCE  the work goes on
  review   merge, record 6
  because  PASS: mended

Gates
  tests    blocking, check passed: exit code 0 (0 tests failed, 4 passed)
  style    advisory, failed: long functions; only the verdict

  Advisory gate warnings:
  - gate `style` failed: long functions
""")


def test_a_person_is_asked_once_the_attempts_are_used_up(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        interlock("review", "open", at.run.id, "merge", "tests", "style")
        interlock("review", "submit", at.run.id, "FAIL - not yet")
        asked = interlock("review", "submit", at.run.id, "looks fine")
        late = interlock("review", "submit", at.run.id, "PASS - please")

        assert (asked.exit_code, late.exit_code) == (3, 3)
        assert at.told(asked.stdout) == snapshot("""\
ASK  a person must choose how it goes on
  review   merge, record 7
  because  attempt 2 of 2: the verdict could not be read: its first line is `looks fine`: expected
           `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`; gate `tests` failed: exit code 1
           (1 test failed, 3 passed); a person must choose `retry`, `skip` or `abort`

Gates
  tests    blocking, check failed: exit code 1 (1 test failed, 3 passed)
  style    advisory, only the verdict

  Review `merge` used 2 of 2 attempts (reset 0 of 3 times); failed: `tests`
  Last: the verdict could not be read: its first line is `looks fine`: expected `GATE_REVIEW: PASS -
  why` or `GATE_REVIEW: FAIL - why`; gate `tests` failed: exit code 1 (1 test failed, 3 passed)
  A person chooses how it goes on, the agent cannot:
  - `retry`: the attempts begin anew, with your instructions if you give some
  - `skip`: the work goes on; the review is recorded as skipped, not as passed
  - `abort`: the run ends
  Consider these improvements:
  - every test passes
  - reads well
  - short functions
  (1 more if asked for)

  interlock review resolve <asked> retry|skip|abort
""")
        assert at.told(late.stdout) == snapshot("""\
REFUSED  a person must choose first
  review   merge, record 8
  because  review `merge` used 2 of 2 attempts and takes no verdict: a person must choose `retry`,
           `skip` or `abort`

Gates
  tests    blocking, check failed: exit code 1 (1 test failed, 3 passed)
  style    advisory, only the verdict

  interlock review resolve <asked> retry|skip|abort
""")
        assert re.sub(
            r"asked \d+ s ago", "asked <now>", at.told(interlock("approvals").stdout)
        ) == (
            snapshot("""\
<asked>  asked <now>, expires in 59 min
  asks     review `merge`: failed tests
  why      review.tests: gate `tests` failed: exit code 1 (1 test failed, 3 passed)
  run      <short> (claude: mend the form)
  look     interlock review list <run>
  interlock review resolve <asked> retry  begins the attempts anew
  interlock review resolve <asked> skip   goes on without it
  interlock review resolve <asked> abort  ends the run

next  interlock setup  makes you the person who approves
""")
        )


@pytest.mark.parametrize("action", ["approve", "deny"])
def test_a_review_is_no_matter_of_yes_or_no(action: str, place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _use_up(at.run.id)
        result = as_person(action, at.question)

        assert result.exit_code == 2
        assert f"interlock review resolve {code_of(at.question)} retry" in result.stderr


def test_a_person_gives_the_attempts_once_more(any_place: str, empty_place: Path) -> None:
    with a_reviewed_run(any_place, empty_place) as at:
        as_operator(at)
        _use_up(at.run.id)
        chosen = as_person(
            "review", "resolve", at.question[:20], "retry", "--instructions", "look again"
        )
        at.mend()
        passed = interlock("review", "submit", at.run.id, "PASS - mended")

        assert (chosen.exit_code, passed.exit_code) == (0, 0)
        assert chosen.stdout.startswith("RETRY  the attempts begin anew\n")
        assert "A person who saw the failed attempts says:\n  > look again" in chosen.stdout
        assert interlock("approvals").stdout == "nothing waits for you\n"


def test_a_skipped_review_lets_the_work_go_on(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _use_up(at.run.id)
        chosen = as_person(
            "review", "resolve", "--run", code_of(at.run.id), "--review", "merge", "skip"
        )

        assert chosen.exit_code == 0
        assert at.told(chosen.stdout) == snapshot("""\
SKIPPED  the work goes on; recorded as skipped, not as passed
  review   merge
  run      <short> (mend the form)
  because  a person skipped the review
""")
        [closed] = at.run.state.reviews.closed
        assert closed.kind.value == "skipped"


def test_an_aborted_review_ends_the_run(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _use_up(at.run.id)
        chosen = as_person(
            "review", "resolve", at.question, "abort", "--instructions", "start afresh", "--yes"
        )

        assert at.told(chosen.stdout) == snapshot("""\
ABORTED  the run has ended
  review   merge
  run      <short> (mend the form)
  because  a person aborted the run: start afresh
""")
        assert at.run.state.outcome == "aborted"
        assert interlock("review", "submit", at.run.id, "PASS - so there").exit_code == 2


def test_an_agent_cannot_choose(
    place: str, empty_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        as_operator(at)
        _use_up(at.run.id)
        monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place))
        result = as_person("review", "resolve", at.question, "skip")

        assert result.exit_code == 1
        assert "merge" in at.run.state.reviews.pending


def test_a_choice_is_refused_while_attempts_remain(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        interlock("review", "open", at.run.id, "merge", "tests")
        result = as_person("review", "resolve", "--run", at.run.id, "skip")

        assert result.exit_code == 2
        assert "used 0 of 2 attempts" in result.stderr


def test_where_nothing_is_pending_that_is_told(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        assert interlock("review", "list").stdout == "no review is pending\n"
        assert json.loads(interlock("review", "list", "--json").stdout) == []
        assert at.told(interlock("review", "list", at.run.id).stdout) == (
            "<short>  mend the form\n  no review was ever opened\n"
        )


def test_reviews_tell_who_is_waited_for_and_how_others_ended(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        interlock("review", "open", at.run.id, "early", "style")
        interlock("review", "submit", at.run.id, "FAIL - long functions")
        interlock("review", "open", at.run.id, "merge", "tests", "style", "--subject", "the form")
        fresh = interlock("review", "list", at.run.id).stdout
        interlock("review", "submit", at.run.id, "FAIL - one")
        interlock("review", "submit", at.run.id, "FAIL - two")
        as_person("review", "resolve", at.question, "retry", "--instructions", "look at line 3")
        at.run.stopped("All done. Everything is finished.")
        late = interlock("review", "list", at.run.id).stdout

        assert at.told(fresh) == snapshot("""\
<short>  mend the form
  merge  blocking, attempt 1 of 2, waits for a verdict
    subject  the form
    tests    blocking, not checked yet
    style    advisory, only the verdict
  early  failed  <time>: FAIL: long functions
  warned  gate `style` failed: long functions
""")
        assert at.told(late) == snapshot("""\
<short>  mend the form
  merge  blocking, attempt 1 of 2, reset 1 time, waits for a verdict
    subject  the form
    history  failed <time>, failed <time>, reset <time>
    last     FAIL: two; gate `tests` failed: two; its check failed: exit code 1 (1 test failed, 3
             passed)
    person   look at line 3
    tests    blocking, check failed: exit code 1 (1 test failed, 3 passed)
    style    advisory, only the verdict
  completion  blocking, attempt 2 of 2, checked again when the agent says that it is done
    history  contradicted <time>
    last     PASS: the agent ended its turn; the PASS of gate `tests` is refused: its check failed:
             exit code 1 (1 test failed, 3 passed)
    tests    blocking, check failed: exit code 1 (1 test failed, 3 passed)
  early  failed  <time>: FAIL: long functions
  warned  gate `style` failed: long functions
  warned  gate `style` failed: one
  warned  gate `style` failed: two
  to finish  the checks of the policy have yet to pass
""")


def test_a_question_that_ran_out_leaves_a_way_to_choose(place: str, empty_place: Path) -> None:
    yesterday = SetClock(ago_s=24 * 60 * 60)
    with a_reviewed_run(place, empty_place, clock=yesterday) as at:
        at.run.review("merge", [{"id": "style", "criteria": ["reads well"], "max_attempts": 1}])
        assert at.run.verdict("FAIL - no").approval_id is not None
        shown = at.told(interlock("review", "list").stdout)

        assert "interlock review resolve --run <short> --review merge skip" in shown
        assert as_person("review", "resolve", "--run", at.run.id, "skip").exit_code == 0


def test_resets_that_are_used_up_are_not_offered(place: str, empty_place: Path) -> None:
    policy = (
        "[reviews]\nmax-resets = 0\n"
        '[[reviews.gates]]\nid = "style"\ncriteria = ["reads well"]\nmax-attempts = 1\n'
    )
    with a_reviewed_run(place, empty_place, policy=policy) as at:
        interlock("review", "open", at.run.id, "merge", "style")
        interlock("review", "submit", at.run.id, "FAIL - no")

        shown = interlock("approvals").stdout
        assert ("retry" in shown.partition("look")[2], " skip " in shown) == (False, True)
        assert as_person("review", "resolve", at.question, "retry").exit_code == 2


def test_a_check_that_does_not_run_leaves_its_gate_unverified(
    place: str, empty_place: Path
) -> None:
    gates = '[{"id": "gone", "check": {"argv": ["no-such-program-anywhere"]}}]'
    with a_reviewed_run(place, empty_place) as at:
        interlock("review", "open", at.run.id, "merge", "--gates-json", "-", stdin=gates)
        before = interlock("review", "list").stdout
        result = interlock("review", "submit", at.run.id, "PASS - trust me")

        assert "gone     blocking, not checked yet" in before
        assert result.exit_code == 4
        assert "gone     blocking, unverified: its check did not run" in result.stdout
        assert "no check  gone" in interlock("show", at.run.id, "--all").stdout


def test_a_run_that_may_not_finish_says_which_command_shows_why(
    place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        with pytest.raises(UnfinishedError):
            at.run.finish()
        shown = interlock("review", "list").stdout

        assert "completion  blocking, attempt 2 of 2" in shown
        assert (at.folder / "check.sh").read_text() == FAILS


def _use_up(run_id: str) -> None:
    """Open the review `merge` and fail it until a person is asked."""
    interlock("review", "open", run_id, "merge", "tests", "style")
    interlock("review", "submit", run_id, "FAIL - once", "--review", "merge")
    assert interlock("review", "submit", run_id, "FAIL - twice", "--review", "merge").exit_code == 3
