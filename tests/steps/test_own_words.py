"""What a run says of itself: setbacks in its own words, and the same call with the same words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from interlock.model.progress_meter import MOST_SAID, Meter, Observation
from interlock.model.review import TestCounts
from interlock.model.step import StepDecision
from interlock.policy.config.run_sections import Loops
from interlock.policy.steps.loop_detector import evidence_of, signs_of, stuck_score
from interlock.policy.steps.own_words import owns_up, tells_of_setback
from steps.contexts import a_call, after

SETTINGS = Loops()
PERSON = Observation.of_person()
NEXT = "Now let us run the reproduction script:"


def points(meter: Meter) -> dict[str, float]:
    return {each.name: each.points for each in evidence_of(meter, SETTINGS)}


def told(meter: Meter) -> dict[str, StepDecision]:
    return {sign.name: sign.decision for sign in signs_of(meter, SETTINGS)}


def setbacks(times: int) -> list[Observation]:
    """Return calls with words of their own for the same: that the one before did not work."""
    words = ("That didn't work.", "The form is still not valid.", "Let me try it with quotes.")
    return [a_call(f"try {n}", text=f"{words[n % 3]} Attempt {n}.") for n in range(times)]


def runs_of_a_script(times: int, text: str = NEXT) -> list[Observation]:
    """Return changes, each with the same script run behind it; it says something else each time."""
    return [
        each
        for n in range(times)
        for each in (
            a_call(f"edit {n}", changed=True, place=f"{n}.py", text=f"Part {n} has to be first."),
            a_call("script", result=f"output {n}", text=text),
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "That did not work. I'll look at the log.",
        "The tests still fail with a KeyError.",
        "It\u2019s still not valid; let me look at the schema.",
        "Let me try a smaller batch.",
        "Let's retry with a longer timeout.",
        "I'll now try the other index.",
        "Trying again with the full path.",
        "I need a different approach for this parser.",
        "There must be an alternative way to reach it.",
        "The same error again.",
        "The problem persists after the restart.",
        "It failed again at the same line.",
        "The build keeps failing in CI.",
        "I couldn't find the setting anywhere.",
        "We were unable to reach the server.",
        "I was not able to reproduce this.",
        "The search did not yield anything.",
        "It seems there was an issue with the payment.",
        "It appears that there is still something wrong.",
        "No luck with that one.",
        "It looks like there has been a timeout.",
        "It seems there are no files of that name.",
        "It appears there is an open problem with the login.",
        "There seems to be a temporary issue with the order.",
        "I encountered an error while fetching the list.",
        "I'm experiencing some issues with the search.",
        "We ran into a problem here.",
        "I'll make one more attempt.",
        "We're having trouble to find the file.",
        "I am still having some difficulties with the login.",
        "Here is another try after the repeated errors.",
        "I am sorry for the continued confusion.",
        "The second search did not contain the class either.",
        "The answer didn't include what the form needs.",
        "It looks like the helper wasn't defined.",
        "The package was not yet installed on the runner.",
        "I apologize for the confusion. Since we can't change the caller, the class has to do it.",
        "Sorry for my earlier mistake: that method does not exist.",
        "We are encountering an error here.",
    ],
)
def test_words_that_tell_of_a_setback(text: str) -> None:
    assert tells_of_setback(text)


@pytest.mark.parametrize(
    "text",
    [
        "All 20 tests pass.",
        "The function doesn't work with bytes; I will read its code first.",
        "The check did not find any errors.",
        "The linter didn't return an error.",
        "The upgrade did not change any further warnings.",
        "It is not set, so the default holds.",
        "I'll try_lock the mutex in the worker.",
        "The entry still holds the old value.",
        "Users may choose another method of payment.",
        "There was a folder of fixtures here.",
        "It seems there is a folder for that; it appears in the list.",
        "The error is raised when a task runs into the limit.",
        "Experience shows that errors are rare.",
        "Next I add the same option to the parser.",
        "I remain in this folder and keep the file.",
        "Good way to go; again the strategy pays.",
        "Users have trouble with the login; I read its code.",
        "The difficult part is the parser, continued below.",
        "I apologize for the long list.",
        "I apologize for the confusion. Let's remove the file first.",
        "I apologize for the long list, it is not sorted.",
        "The run did not include any errors.",
        "The user is experiencing an issue with the login.",
        "Users are encountering an error on the page.",
        "The flag is not available on Windows, so the default holds.",
        "",
    ],
)
def test_words_that_do_not(text: str) -> None:
    assert not tells_of_setback(text)


@pytest.mark.parametrize(
    ("times", "expected"),
    [(1, None), (2, 0.25), (3, 1.0), (9, 1.0)],
)
def test_the_third_setback_pauses_a_run(times: int, expected: float | None) -> None:
    assert points(after(*setbacks(times))).get("setbacks") == expected


def test_a_run_that_is_paused_for_its_words_is_told_so() -> None:
    (sign,) = signs_of(after(*setbacks(3)), SETTINGS)

    assert sign.decision is StepDecision.PAUSE
    assert sign.message == (
        "by its own words something did not work or has to be tried again: 3 times"
        " (steps 1, 2, 3); 3 pause a run"
    )


def test_messages_count_like_words_with_a_call() -> None:
    said = [Observation.of_message(f"That did not work either, case {n}.") for n in range(3)]

    assert points(after(*said))["setbacks"] == 1.0


def test_a_person_wipes_setbacks_out() -> None:
    meter = after(*setbacks(2), PERSON, *setbacks(2))

    assert points(meter)["setbacks"] == 0.25


@pytest.mark.parametrize(
    "check",
    [
        a_call("check", tests=TestCounts(passed=9, failed=0), failing=0),
        a_call("check", tests=TestCounts(passed=8, failed=1), failing=1),
    ],
)
def test_a_check_that_finds_nothing_wrong_or_less_than_ever_wipes_setbacks_out(
    check: Observation,
) -> None:
    assert "setbacks" not in points(after(*setbacks(2), check, *setbacks(1)))


def test_a_check_that_finds_as_much_wrong_does_not() -> None:
    check = a_call("check", tests=TestCounts(passed=8, failed=1), failing=1)
    meter = after(check, *setbacks(2), check, *setbacks(1))

    assert points(meter)["setbacks"] == 1.0


def test_setbacks_long_ago_are_forgotten() -> None:
    quiet = [a_call(f"look {n}", text=f"Part {n} is next.") for n in range(MOST_SAID - 1)]

    assert "setbacks" not in points(after(*setbacks(2), *quiet, *setbacks(1)))


def test_calls_of_one_step_share_their_words() -> None:
    text = "The file is still missing. Let me look elsewhere."
    beside = [a_call(f"look {n}", text=text, turn=4, asked=1, told=1) for n in range(5)]

    assert "setbacks" not in points(after(*beside))


def test_words_that_repeat_a_setback_count_once() -> None:
    words = "let me try that once more now"
    meter = after(a_call("A", text=words), a_call("A", text=words))

    assert points(meter) == {"loop": 0.7, "echo": 0.25, "setbacks": 0.25}
    assert stuck_score(meter, SETTINGS) == pytest.approx(0.7 + 0.25, abs=0.05)


WRONG = "The search did not return anything. I will look for the name."


def test_telling_what_went_wrong_and_doing_the_very_same_pauses_a_run() -> None:
    meter = after(a_call("A", text="Let me look for it."), a_call("A", text=WRONG))

    assert points(meter) == {"loop": 0.7, "done-again": 0.35}
    (_, stuck) = signs_of(meter, SETTINGS)
    assert stuck.decision is StepDecision.PAUSE
    assert "went wrong, and it made the very same call again" in stuck.message


@pytest.mark.parametrize(
    "words",
    [
        "I apologize, that was the wrong line.",
        "Sorry, the path is another one.",
        "My mistake: the name has to be given.",
        "It still fails. Let me try again.",
        "Let me take a different approach here.",
        "It seems that no such words were found.",
        "Nothing was returned for that name.",
        "The call gives an empty result.",
    ],
)
def test_words_for_what_went_wrong(words: str) -> None:
    assert owns_up(words)


@pytest.mark.parametrize(
    "words",
    [
        "Let me try that once more.",
        "One more attempt at it.",
        "No errors were found.",
        "No new warnings were printed.",
        "Next I empty the list.",
        "",
    ],
)
def test_whoever_only_tries_again_does_what_was_said(words: str) -> None:
    meter = after(a_call("A", text="Let me look for it."), a_call("A", text=words))

    assert "done-again" not in points(meter)


def test_words_right_before_the_call_count_like_those_with_it() -> None:
    said = Observation.of_message(WRONG)

    assert "done-again" in points(after(a_call("A"), said, a_call("A")))
    assert "done-again" not in points(after(a_call("A"), said, a_call("B"), a_call("A")))


@pytest.mark.parametrize(
    "last",
    [
        a_call("B", text=WRONG),
        a_call("A", text=WRONG, result="another answer"),
        a_call("A", text=WRONG, changed=True, rewritten=3),
    ],
)
def test_what_is_not_the_very_same_call_may_mend_it(last: Observation) -> None:
    assert "done-again" not in points(after(a_call("A"), last))


def test_a_trouble_that_passes_by_itself_may_be_met_with_patience() -> None:
    trouble = a_call("A", text=WRONG, error="503 unavailable", silent=True)

    assert "done-again" not in points(after(trouble, trouble))
    assert "done-again" in points(after(*[replace(trouble, silent=False)] * 2))


def test_whoever_spoke_since_has_heard_of_it() -> None:
    paid = a_call("pay", changed=True, silent=True)
    meter = after(paid, Observation.of_message(WRONG), PERSON, paid)

    assert "done-again" not in points(meter)


@pytest.mark.parametrize(("times", "expected"), [(3, None), (4, 0.25), (5, 0.5), (6, 1.0)])
def test_the_same_call_with_the_same_words_climbs_whatever_comes_of_it(
    times: int, expected: float | None
) -> None:
    assert points(after(*runs_of_a_script(times))).get("refrain") == expected


def test_the_same_words_with_other_calls_are_work_on_a_list() -> None:
    text = "This one has two rooms. The next one follows."
    meter = after(*[a_call(f"look {n}", text=text) for n in range(12)])

    assert points(meter) == {}


def test_the_same_call_with_other_words_is_not_meant() -> None:
    calls = [each for n in range(6) for each in runs_of_a_script(1, f"Case {n} of the plan is up.")]

    assert "refrain" not in points(after(*calls))


def test_few_words_may_be_said_often() -> None:
    assert "refrain" not in points(after(*runs_of_a_script(8, "Run it again:")))


def test_only_what_was_said_last_is_a_refrain() -> None:
    meter = after(*runs_of_a_script(6), a_call("a look"))

    assert "refrain" not in points(meter)


def test_a_script_that_ends_well_is_no_refrain() -> None:
    well = a_call("script", result="fine", tests=TestCounts(passed=3, failed=0), failing=0)

    assert "refrain" not in points(after(*runs_of_a_script(4), well, *runs_of_a_script(3)))
