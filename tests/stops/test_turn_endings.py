"""Ends of turns that no row of any log holds: made by grammar, in eighteen languages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import rounds
from interlock.model.stop import EvidenceKind, LastEvent, StopDecision, StopOutcome, StopVeto
from interlock.policy.config.stop_section import DEFAULT
from stops.contexts import a_stop, decided, goes_on, some_evidence
from stops.turn_endings import Ending, Kind, endings, written

ENDINGS = tuple(dict.fromkeys(endings()))


def kind_of(decision: StopDecision) -> Kind:
    """Return what a decision takes an end for."""
    if decision.goes_on:
        return Kind.UNFINISHED
    if decision.outcome is StopOutcome.WAITS:
        return Kind.RUNS
    return Kind.ASKS if decision.veto is StopVeto.AWAITING_USER else Kind.FINISHED


def is_right(ending: Ending) -> bool:
    """Tell whether an end is taken for what it is; what is the person's to do may be a request."""
    found = kind_of(decided(ending.text))
    return found is ending.kind or (found, ending.kind) == (Kind.ASKS, Kind.FINISHED)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("language", sorted({ending.language for ending in ENDINGS}))
def test_every_end_that_the_grammar_makes_is_taken_for_what_it_is(
    language: str, kind: Kind
) -> None:
    mine = [each for each in ENDINGS if (each.language, each.kind) == (language, kind)]

    assert mine
    assert [ending.text for ending in mine if not is_right(ending)] == []


def test_the_grammar_makes_enough_of_them_in_every_language() -> None:
    assert len(ENDINGS) >= 1_000
    assert len({ending.language for ending in ENDINGS}) == 18


def test_questions_and_offers_are_never_sent_on_before_any_tool_was_used() -> None:
    sent = [
        ending.text
        for ending in ENDINGS
        if ending.kind is not Kind.UNFINISHED
        and goes_on(ending.text, last_event=LastEvent.USER_MESSAGE, tool_ratio=0.0)
    ]

    assert sent == []


IN_ANY_CHAT = pytest.mark.parametrize("event", [LastEvent.TOOL_RESULT, LastEvent.USER_MESSAGE])


@IN_ANY_CHAT
@pytest.mark.parametrize("kind", [Kind.FINISHED, Kind.ASKS, Kind.RUNS])
def test_every_end_that_was_written_down_is_taken_for_what_it_is(
    kind: Kind, event: LastEvent
) -> None:
    # What is the person's to do may be taken for a request.
    right = {kind, Kind.ASKS} if kind is Kind.FINISHED else {kind}

    assert [
        text
        for text in written(kind.value)
        if kind_of(decided(text, last_event=event)) not in right
    ] == []


def test_every_unfinished_end_that_was_written_down_is_sent_on() -> None:
    assert [text for text in written("unfinished") if not goes_on(text)] == []


@IN_ANY_CHAT
def test_every_error_of_a_provider_that_was_written_down_is_one(event: LastEvent) -> None:
    passing = [decided(text, last_event=event) for text in written("passing")]
    stays = [decided(text, last_event=event) for text in written("stays")]

    assert {each.outcome for each in passing} == {StopOutcome.WAITS}
    assert {each.veto for each in stays} == {StopVeto.AWAITING_USER}
    assert all("the provider" in each.reason for each in (*passing, *stays))


def test_the_written_ends_are_many_and_none_is_there_twice() -> None:
    kinds = ("finished", "asks", "runs", "unfinished", "passing", "stays")
    texts = [text for kind in kinds for text in written(kind)]

    assert len(texts) == len(set(texts)) >= 500


STATEMENTS = [
    "With this approach we will have full control over the cache.",
    "The function first reads the file, then it will parse each line.",
    "Now the button will be disabled while the request is in flight.",
    "First, install the dependencies. Then run the build.",
    "Next steps: add tests for the edge cases and update the docs.",
    "The next step would be to add pagination.",
    "A good next step is to add integration tests.",
    "I'd recommend adding an index on `user_id`.",
    "I can also add a dark mode toggle.",
    "I can now see why it failed: the token had expired.",
    "I am assuming that the API returns JSON.",
    "I should note that this only works on Linux.",
    "Let's break down how this works.",
    "Let's say you have two users; the second one wins.",
    "Let me break it down: the first loop builds the index, the second one uses it.",
    "I'll use this format from now on.",
    "I'll make sure to run the linter before each commit going forward.",
    "Running `npm test` will now execute the whole suite.",
    "Adding the index speeds this up; removing it would need a migration.",
    "Fixing this properly needs a schema change.",
    "To test it, open the page and click the button.",
    "Next time the job runs it will pick up the new setting.",
    "If the error persists, check the firewall.",
    "This will let us ship on Friday.",
    "We'll see in the next release.",
    "I need to stress that this is destructive.",
    "I have to say, the code is in good shape.",
    "We will cover error handling in the next chapter.",
    "Let us consider the case where n is even; then the sum is zero.",
    "I'll walk you through it: the hook fires first.",
    "Need to restart the server for this to take effect.",
    "Time to celebrate!",
    "Also check out the docs on hooks.",
    "Task 4: Done.",
    "Phase 2: Rollout to all users in March.",
    "We need to pass `name` to the config if we want it to change.",
    "## Next steps",
    "Refactoring zosta\u0142 wykonany.",
    "All is set.\n\nThe service runs. TERMINATE",
]


@pytest.mark.parametrize("text", STATEMENTS)
@pytest.mark.parametrize("event", [LastEvent.TOOL_RESULT, LastEvent.USER_MESSAGE])
def test_what_is_said_of_the_work_is_no_announcement_of_an_act(text: str, event: LastEvent) -> None:
    assert not goes_on(text, last_event=event)


SAID_TO_ANYBODY = [
    "Now run `npm start` and open http://localhost:3000.",
    "Next, run the tests with `pytest -q`.",
    "Finally, deploy the app with `fly deploy`.",
    "We need to keep both versions for now.",
    "I'm proposing three changes: rename, split and test.",
    "Let's install it:\n```bash\nnpm install\n```",
]


@pytest.mark.parametrize("text", SAID_TO_ANYBODY)
def test_what_anybody_may_do_is_the_writers_own_only_in_the_middle_of_tool_work(text: str) -> None:
    answer = decided(text, last_event=LastEvent.USER_MESSAGE, tool_ratio=0.0)

    assert not answer.goes_on
    assert decided(text).score > answer.score


ACTS = [
    "Let's look at the file.\n```\nopen src/app.py\n```",
    "Thought: I need to find the user.\nAction: search\nAction Input: user 12",
    "<execute_command>\n<command>npm test</command>\n</execute_command>",
    "I still have to update the changelog.",
    "Let me see which test failed.",
    "Before I finish, I'll run the linter.",
    "I'm tightening the types before the next run.",
    '{"response": "Let me look that up for you."}',
    '```json\n{"reply": "One moment.", "next": ["Let me look that up."]}\n```',
    '{"id": "x", "reply": "Let me run the tests.", }',
    "Now let me move the pages: [object Object]",
    "I'll mark the routes as done and start the page. After that, the tests can run.",
]


@pytest.mark.parametrize("text", ACTS)
def test_an_act_is_known_in_whatever_form_it_is_written(text: str) -> None:
    assert goes_on(text)


HANDED_IN = [
    "<function=submit>\n</function>",
    '{"name": "finish", "arguments": {"message": "done"}}',
    "The fix works.\n```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```",
    "```\nsubmit\n```",
    "<attempt_completion>\n<result>Fixed.</result>\n</attempt_completion>",
    "I need to submit the solution now.",
    "Now I'll submit the solution:",
]


@pytest.mark.parametrize("text", HANDED_IN)
def test_to_hand_the_work_in_is_the_end_of_it(text: str) -> None:
    decision = decided(text)

    assert decision.outcome is StopOutcome.FINISHED
    assert decision.signals[5].because == "it announces to hand in, to conclude or to sum up"


def test_to_submit_something_of_somebodys_is_an_act() -> None:
    assert goes_on("I'll submit the return request now.")
    assert goes_on("Let me close the database connection first.")


OUTPUT = [
    "",
    " \n",
    "---",
    "[object Object]",
    "```diff\n-a = 1\n+a = 2\n```",
    "```python\nprint(1)\nprint(2)\n```",
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
    "Tool call errored or timed out",
    "No response requested.",
    "Traceback (most recent call last):\n" + '  File "a.py", line 1\n' * 20,
    "def f(self):\n    return self.g(\n        1,\n    )",
]


@pytest.mark.parametrize("text", OUTPUT)
def test_nothing_but_output_after_a_tool_result_is_unfinished(text: str) -> None:
    decision = decided(text)

    assert decision.goes_on
    assert [goes_on(text, retries=count) for count in range(5)] == [True] * 3 + [False] * 2
    assert not goes_on(text, last_event=LastEvent.USER_MESSAGE)
    assert decision.nudge is not None
    assert "Your turn ended without an act or an answer: " in decision.nudge


@pytest.mark.parametrize(
    "text",
    [
        None,
        '```json\n{"headline": "All four gates pass now", "open": []}\n```',
        '{"verdict": "pass", "score": 3}',
        "Tool call results are cached for an hour. " * 8,
        "- Replaced the check\n- Removed the import",
        "Here it is.\n```python\nprint(1)\nprint(2)\n```",
        "Now both use it:\n    a = b\n    c = d\nThe rest of the code is as it was before.",
        "x = 1",
        "\n\nx = 1",
    ],
)
def test_an_answer_in_code_or_data_and_what_is_not_known_are_finished(text: str | None) -> None:
    assert not goes_on(text)


PASSING = {
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}': 15_000,
    "Error: 429 Too Many Requests. Please try again in 20 seconds.": 20_000,
    "Rate limit exceeded, retry after 2 minutes": 120_000,
    "Request timed out.": 15_000,
    "Connection error.": 15_000,
    "ECONNRESET": 15_000,
    "503 Service Unavailable": 15_000,
    "Overloaded": 15_000,
    "API Error: the server is overloaded, retry in 250 ms": 1_000,
    "You've hit your usage limit, it resets in 9 hours": 32_400_000,
    "You've hit your usage limit. Try again in 3 days 2 hours.": 266_400_000,
    "Rate limit reached for requests. Please try again in 1m30.5s.": 90_500,
    "Usage limit exceeded: your limit resets in 90 days": 604_800_000,
    "Claude usage limit reached. Your limit will reset at 3pm (Europe/Zurich).": 3_600_000,
}


@pytest.mark.parametrize(("text", "delay_ms"), PASSING.items(), ids=PASSING)
def test_an_error_of_the_provider_that_passes_is_tried_again_later(
    text: str, delay_ms: int
) -> None:
    decision = decided(text)

    assert decision.outcome is StopOutcome.WAITS
    assert decision.delay_ms == delay_ms
    assert not decision.goes_on
    assert decision.nudge is None


def test_each_time_it_is_tried_again_later_and_not_for_ever() -> None:
    tries = [decided("Connection error.", retries=count) for count in range(4)]

    assert [each.delay_ms for each in tries] == [15_000, 30_000, 60_000, None]
    assert tries[-1].veto is StopVeto.RETRIES_EXHAUSTED


@pytest.mark.parametrize(
    "text",
    [
        "Invalid API key \u00b7 Please run /login",
        "API Error: 401 authentication_error: OAuth token has expired",
        "Your credit balance is too low to access the API.",
        "Error: 403 permission_error",
        "You exceeded your current quota, please check your plan and billing details.",
    ],
)
def test_an_error_of_the_provider_that_stays_is_a_persons_to_settle(text: str) -> None:
    decision = decided(text)

    assert decision.veto is StopVeto.AWAITING_USER
    assert "until a person settles it" in decision.reason


@pytest.mark.parametrize(
    "text",
    [
        "Error handling for timeouts now retries the connection.",
        "Rate limit handling is in place: 429 is retried after a second.",
        "The API returned 529 twice; the third call went through.",
        "Error: the schema is wrong.",
        "401 is what the old client got; the new one signs its calls.",
        "API Error: 500 " + "and so on " * 100,
    ],
)
def test_what_is_said_about_errors_is_none(text: str) -> None:
    assert decided(text).outcome is StopOutcome.FINISHED


def test_what_runs_by_itself_is_looked_at_again_after_a_while() -> None:
    decision = decided("The build is still running.")

    assert decision.outcome is StopOutcome.WAITS
    assert decision.delay_ms == 60_000
    assert decided("The build is still running.", retries=1).delay_ms == 120_000
    assert decided("The build is still running. Let me read the log.").goes_on
    assert decided("The build is still running. It takes a while.").outcome is StopOutcome.WAITS
    told = decided("The build is still running. It is green on main. The fix is in.")
    assert told.outcome is StopOutcome.FINISHED
    assert decided("Should I go on? The tests are still running.").veto is not None
    assert decided("The build is still running.", replace(DEFAULT, mode="observe")).warned
    assert not decided("It still runs.", replace(DEFAULT, auto_continue=False)).delay_ms


def test_a_choice_that_was_offered_stays_open_whatever_is_said_of_it() -> None:
    offered = (
        "Shall I:\n1. Retry it?\n2. Something else?\n\nThe core works, we just need to decide."
    )

    assert decided(offered).veto is StopVeto.AWAITING_USER


texts = st.sampled_from([ending.text for ending in ENDINGS])


@given(texts, st.integers(min_value=1, max_value=8))
def test_the_more_it_looks_like_a_report_the_less_it_is_sent_on(text: str, lines: int) -> None:
    listed = "What changed:\n" + "\n".join([f"- item {number}" for number in range(lines)])

    def score(count: int) -> int:
        head = "\n".join(listed.split("\n")[: count + 1])
        return decided(f"{head}\n\n\n{'word ' * 20}. {text}").score

    assert score(lines) <= score(lines - 1)


@given(texts, st.sampled_from(EvidenceKind))
def test_each_piece_of_evidence_only_adds_to_the_score(text: str, kind: EvidenceKind) -> None:
    alone = decided(text, last_event=LastEvent.USER_MESSAGE, tool_ratio=0.2)

    for more in (
        decided(text, last_event=LastEvent.USER_MESSAGE, tool_ratio=0.9),
        decided(text, tool_ratio=0.2),
        decided(
            text,
            last_event=LastEvent.USER_MESSAGE,
            tool_ratio=0.2,
            evidence=some_evidence("x", kind=kind),
        ),
    ):
        assert more.score >= alone.score


@given(texts, st.integers(min_value=0, max_value=5))
def test_a_veto_takes_away_more_than_everything_else_gives(text: str, retries: int) -> None:
    decision = decided(text, retries=retries)

    assert (decision.score < 0) is (decision.veto is not None)
    assert (decision.score >= DEFAULT.continue_at) >= decision.goes_on


def scores() -> Iterator[int]:
    """Yield the score of many ends, as it stands and at the end of a longer report."""
    ends = [ending.text for ending in ENDINGS[:: rounds(short=3, soak=1)]]
    for text in (*ends, *SAID_TO_ANYBODY, "Let me continue."):
        for before in (
            "",
            "- one\n- two\n\n",
            "# Title\n" + "- point\n" * 5 + "word " * 200 + "\n",
        ):
            for event in (LastEvent.TOOL_RESULT, LastEvent.USER_MESSAGE):
                yield decided(before + text, last_event=event).score


def test_the_score_is_a_matter_of_degree() -> None:
    found = sorted(set(scores()))
    told = [score for score in found if score >= 0]

    assert len(told) >= 25
    assert max(after - before for before, after in pairwise(told)) <= 20


def test_an_end_is_decided_alike_however_it_was_made() -> None:
    context = a_stop("Now let me run the tests.")

    assert decided("Now let me run the tests.") == decided(context.text)
