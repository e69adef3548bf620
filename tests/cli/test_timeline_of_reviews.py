"""Reviews where people look: `show`, `tail`, `watch` and `explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from inline_snapshot import snapshot

from cli.asking import as_person, interlock, make_operator
from cli.reviewing import Reviewed, a_reviewed_run, as_operator
from cli.test_ledger_tail import a_follower
from interlock.model.short_code import code_of

DONE = "All done. Everything is finished."
_TOOK = r", [\d.]+ (ms|s|min)$"
"""How long a check took, which is another time on every machine."""


def test_every_record_of_a_review_has_its_line(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _reviewed_to_its_end(at)
        shown = at.told(interlock("show", at.run.id, "--all").stdout)

    assert _timeline(shown) == snapshot("""\
started   mend the form  claude (claude-code)
review    merge: the form  blocking, 2 attempts
                  gates: tests, style
check bad tests  exit code 1 (1 test failed, 3 passed)
                  $ sh check.sh
retry     merge, 1 of 2: PASS - fine
                  the PASS of gate `tests` is refused: its check failed: exit code 1 (1 test fail...
check bad tests  exit code 1 (1 test failed, 3 passed)
                  $ sh check.sh
waits     approval <asked>: how does the review go on?  until <time>
asks      merge, 2 of 2: a verdict that could not be read  approval <asked>
                  its first line is `looks good`: expected `GATE_REVIEW: PASS - why` or `GATE_REV...
                  gate `tests` failed: exit code 1 (1 test failed, 3 passed)
approved  approval <asked>  by ME
                  retry: look at line 3
retry     review merge  by ME
                  a person asked for another try: look at line 3 (reset 1 of 3)
check ok  tests  exit code 0 (0 tests failed, 4 passed)
                  $ sh check.sh
advance   merge: PASS - mended
                  warned: gate `style` failed: long
review    gone  blocking, 1 attempt
                  gates: gone
no check  gone
                  $ no-such-program
                  its check did not run: it cannot be started: [Errno 2] No such file or director...
waits     approval <asked>: how does the review go on?  until <time>
asks      gone, 1 of 1: PASS - trust me  approval <asked>
                  gate `gone` is unverified: its check did not run: it cannot be started: [Errno ...
approved  approval <asked>  by ME
                  skip
skip      review gone  by ME
                  a person skipped the review
review    completion: may the run finish?  blocking, 2 attempts
                  gates: tests
check ok  tests  exit code 0 (0 tests failed, 4 passed)
                  $ sh check.sh
advance   completion: PASS - the agent finished as `completed`
finished  completed  every evaluator passes\
""")


def test_the_page_of_a_run_tells_what_its_reviews_came_to(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        _reviewed_to_its_end(at)
        shown = at.told(interlock("show", at.run.id, "--limit", "0").stdout)

    page = shown[shown.index("Was it good enough?") : shown.index("Timeline")]
    assert page == snapshot("""\
Was it good enough?
  merge  passed  <time>: PASS: mended
  gone  skipped  <time>: a person skipped the review
  completion  passed  <time>: PASS: the agent finished as 'completed'
  warned  gate `style` failed: long
  to finish  the checks of the policy passed

""")


def test_tail_tells_reviews_in_one_line_each(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        at.run.review("merge", ["tests"])
        at.run.verdict("PASS - fine")
        with a_follower(at.run.id, "--since-start") as follower:
            lines = follower.reads_until("retry")

    told = [re.sub(rf"^\d\d:\d\d:\d\d  |{_TOOK}", "", line.rstrip()) for line in lines]
    assert told == snapshot(
        [
            "started   mend the form  claude (claude-code)",
            "review    merge  blocking, 2 attempts",
            "check bad tests  exit code 1 (1 test failed, 3 passed)",
            "retry     merge, 1 of 2: PASS - fine  tests",
        ]
    )


def test_watch_shows_what_is_pending_and_what_a_person_types(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        at.run.review("merge", ["tests", "style"])
        before = at.told(interlock("watch", at.run.id, "--once").stdout)
        at.run.verdict("PASS - fine")
        at.run.verdict("PASS - really")
        after = at.told(interlock("watch", at.run.id, "--once").stdout)
        frame = json.loads(interlock("watch", at.run.id, "--once", "--json").stdout)

    assert before[before.index("Was it good enough?") : before.index("Lately")] == snapshot("""\
Was it good enough?
  merge        blocking, attempt 1 of 2, waits for a verdict
    tests    blocking, not checked yet
    style    advisory, only the verdict

Budget
  run  tokens         ░░░░░░░░░░░░░░░░░░░░    0 %  0 of 1,000,000,000
       tool-calls     ░░░░░░░░░░░░░░░░░░░░    0 %  0 of 5,000

""")
    assert "interlock review resolve <asked> retry|skip|abort\n" in after
    assert after[after.index("Was it good enough?") : after.index("Lately")] == snapshot("""\
Was it good enough?
  merge        blocking, 2 of 2 attempts used, waits for a person's choice
    tests    blocking, check failed: exit code 1 (1 test failed, 3 passed)
    style    advisory, only the verdict

Budget
  run  tokens         ░░░░░░░░░░░░░░░░░░░░    0 %  0 of 1,000,000,000
       tool-calls     ░░░░░░░░░░░░░░░░░░░░    0 %  0 of 5,000

""")
    assert [each["answer"] for each in frame["latest"]] == ["review", "retry", "asks"]
    assert frame["reviews"]["pending"][0]["waits_for"] == "choice"


def test_explain_tells_which_checks_keep_a_run_from_being_done(
    place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        at.run.stopped(DONE)
        shown = at.told(interlock("explain", at.run.id, "--stop").stdout)
        value = json.loads(interlock("explain", at.run.id, "--stop", "--json").stdout)

    text = " ".join(shown.split())
    assert "by the checks of the policy that must pass before a run may finish" in text
    assert "completion retry: attempt 1 of 2" in text
    assert "it is told [automatic message, not from a person] Attempt 2 of 2 Consider" in text
    assert "with the checks of `tests` passed: finish" in text
    assert "reviews `completion` is pending, 1 of 2 attempts used" in text
    assert value["stop"]["completion"]["outcome"] == "retry"


def test_explain_of_a_turn_that_may_end_shows_the_checks_that_passed(
    place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        at.mend()
        assert not at.run.stopped(DONE).goes_on
        shown = interlock("explain", at.run.id, "--stop").stdout
        page = interlock("review", "list", at.run.id).stdout

    assert "completion       advance: PASS: the agent ended its turn" in shown
    assert "to finish  the checks of the policy passed" in page


def test_a_reviewed_run_is_decided_again_from_its_record(any_place: str, empty_place: Path) -> None:
    with a_reviewed_run(any_place, empty_place) as at:
        as_operator(at)
        _reviewed_to_its_end(at)
        replayed = interlock("replay", at.run.id)
        verified = interlock("verify")

    assert (replayed.exit_code, verified.exit_code) == (0, 0)


def test_what_waits_for_a_choice_stands_beside_what_waits_for_a_yes(
    place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        at.run.review("merge", [{"id": "style", "criteria": ["short"], "max_attempts": 1}])
        at.run.verdict("FAIL - long")
        asked = at.run.command("git push --force origin topic").approval_id
        assert asked is not None
        make_operator(place)
        shown = interlock("approvals").stdout

    *_, last = shown.splitlines()
    assert last == (
        f"interlock approve {code_of(asked)} lets it happen once,"
        f" interlock deny {code_of(asked)} refuses"
    )
    assert shown.count("interlock review resolve ") == 3


def _reviewed_to_its_end(at: Reviewed) -> None:
    """Fail a review until a person chooses, mend what was wrong, and finish."""
    run = at.run
    run.review("merge", ["tests", "style"], subject="the form")
    run.verdict("PASS - fine")
    run.verdict("looks good")
    as_person("review", "resolve", at.question, "retry", "--instructions", "look at line 3")
    at.mend()
    run.verdict("PASS - mended\nGATE_VERDICTS:\n[1] PASS - four\n[2] FAIL - long")
    run.review("gone", [{"id": "gone", "check": {"argv": ["no-such-program"]}, "max_attempts": 1}])
    run.verdict("PASS - trust me")
    as_person("review", "resolve", at.question, "skip")
    run.finish()


def _timeline(shown: str) -> str:
    timeline = shown[shown.index("Timeline") : shown.index("\n\nReport")]
    lines = [re.sub(r"^ +\d+:\d\d  ", "", line) for line in timeline.splitlines()[1:]]
    text = re.sub(r"until \d\d:\d\d:\d\d", "until <time>", "\n".join(lines))
    text = re.sub(_TOOK, "", text, flags=re.MULTILINE)
    return re.sub(r"by (?!ada)\w+$", "by ME", text, flags=re.MULTILINE)
