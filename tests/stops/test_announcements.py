from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.model.stop import LastEvent, StopOutcome
from interlock.policy.config.stop_section import DEFAULT
from stops.contexts import decided, goes_on

MID_RUN = [
    "Now let me run the tests.",
    "All green. Now lint.",
    "I see the problem. I'll fix the import.",
    "I need to read the config first.",
    "Found it:",
    "The fix goes here\uff1a",
    "Let me continue with the migration. This adds the missing column.",
    "I'm checking the last CI run so I can see what changed.",
    "Running the linter now.",
    "Need to add two imports.",
    "Also update the changelog.",
    "Next, we need to wire it in.",
    "The next step is to add the column.",
    "Next up: fix the tests.",
    "Step 2: Wire the parser into the door",
    "I have both pieces.\n\n### Step 3: Verify",
    "I should check whether the folder exists\nbefore running the command.",
    "Please hold on while I look that up.",
    "I will look up your order. Please hold on.",
    "<thinking>\nThe file is there, so the call can be made.\n</thinking>",
    "I'll list them.\n\n```\n<function=list_files>{}</function>\n```",
    '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>',
    '{"name": "search", "arguments": {"query": "x"}}',
    "Let me run it:\n```bash\npytest -q\n```",
    "Ich werde jetzt die Tests ausf\u00fchren.",
    "Je vais lancer les tests.",
    "Voy a ejecutar las pruebas.",
    "Vou executar os testes.",
    "\u63a5\u4e0b\u6765\u8fd0\u884c\u6d4b\u8bd5\u3002",
    "\u73b0\u5728\u8ba9\u6211\u8fd0\u884c\u6d4b\u8bd5\u3002",
    "\u6b21\u306b\u30c6\u30b9\u30c8\u3092\u5b9f\u884c\u3057\u307e\u3059\u3002",
    "\u0421\u0435\u0439\u0447\u0430\u0441 \u044f \u0437\u0430\u043f\u0443\u0449\u0443.",
]
FINAL = [
    "Fixed. All 12 tests pass.",
    "Committed and pushed.",
    "Done. Removed the flag; the output is now cleaner.",
    "I have added two activities to the file. The file has been updated.",
    "Now the agent type is saved with the session.",
    "Now it will show:\n\n```\nready\n```",
    "Let me explain. The hook runs first.",
    "I'll stop here.",
    "I will now end the interaction.",
    "Since everything works, I'll finish the task.",
    "I'll be happy with either.",
    "I won't touch the generated files.",
    "I don't need to change anything else.",
    "There are no remaining steps.",
    "I'll remember that for the future.",
    "I'll check for this on every pull request.",
    "When the build is green, I'll merge it.",
    "If not, I'll look at the other orders.",
    "We should not let both formats live on.",
    "What changed:\n- Running the tests\n- Adding a flag",
    "Working tree is clean.",
    "Running it is safe.",
    "I'm leaning toward the second option.",
    "You can let the cache expire.",
    "Here is the code to do it; I'll write it down:\n```python\nprint(1)\n```",
    "The library already uses the tool_calls field.",
    "Ich habe alles erledigt.",
    "\u5df2\u5b8c\u6210\u3002",
]


@pytest.mark.parametrize("text", MID_RUN)
def test_an_end_that_announces_the_next_act_goes_on(text: str) -> None:
    assert goes_on(text)


@pytest.mark.parametrize("text", FINAL)
def test_an_end_that_reports_finishes(text: str) -> None:
    decision = decided(text)

    assert not decision.goes_on
    assert decision.veto is None


def test_only_the_end_of_a_message_decides() -> None:
    assert not goes_on("Let me run the tests.\n\nAll 12 tests pass and the fix is pushed.")
    assert goes_on("The task is complete for the parser. Now let me do the printer.")


def test_an_act_is_announced_even_before_any_tool_was_used() -> None:
    fresh: dict[str, Any] = {"last_event": LastEvent.USER_MESSAGE, "tool_ratio": 0.0}

    assert goes_on("Let me start by reading the tests.", **fresh)
    assert not goes_on("Let me continue.", **fresh)


def test_merely_going_on_counts_less_than_an_act() -> None:
    act, vague = decided("Let me run the tests."), decided("Let me continue with this.")

    assert act.score - vague.score == DEFAULT.points_intent - DEFAULT.points_vague_intent


def test_a_call_in_the_middle_of_an_answer_is_no_call_at_its_end() -> None:
    told = "The format is:\n\n<tool_call>x</tool_call>\n\nIt was added in version 2."

    assert not goes_on(told)
    assert not goes_on("<tool_call>x</tool_call> " + "It was added in version two. " * 40)


def test_a_long_message_is_read_at_its_end_alone() -> None:
    assert goes_on("All is well. " * 100_000 + "Now let me run the tests.")
    assert not goes_on("Now let me run the tests. " + "All is well. " * 100_000)


def test_code_at_the_beginning_of_what_is_read_is_still_code() -> None:
    long_block = "```python\n" + "x = 1  # should I?\n" * 400 + "```\n\nNow let me run it."
    later_block = "word " * 900 + "\n```python\nlet me\n```\nAll done here."
    open_block = "word " * 900 + "\n```python\nlet me run"

    assert goes_on(long_block)
    assert not goes_on(later_block)
    assert not goes_on(open_block)


def test_a_list_comes_with_the_sentence_that_introduces_it() -> None:
    items = "\n".join(f"- item {number}" for number in range(40))

    assert decided(f"Which of these shall I take?\n{items[:70]}").veto is not None
    assert decided(f"What I did.\n{items}").veto is None


def test_phrases_of_the_policy_count_in_the_last_sentence() -> None:
    settings = replace(DEFAULT, continue_phrases=("onwards",))

    assert goes_on("Onwards!", settings)
    assert not goes_on("Onwards! All done.", settings)
    assert not goes_on("Onwards: the task is complete.", settings)
    assert not goes_on("Onwards, in summary.", settings)
    assert not goes_on("There is no onwards.", settings)
    assert not goes_on(None, settings)


def test_half_a_character_is_read_like_any_other() -> None:
    assert goes_on("\ud83d Now let me run the tests.")
    assert decided("ok \ud83d").outcome is StopOutcome.FINISHED


RUN_ON = [
    "First, let's look for a key: Looks like there is none. Let's create one:",
    "Let me move the pages: Now let me move the tables: Now let me move the logs:",
    "I'll create the list page: I see that it exists already. Let me update the plan:",
]
SHOWN = [
    "There is no key. Let's create one:",
    "I moved the pages and the tables. Now let me move the logs:",
    "Let me write the fourth part: Rules by owner. Now let me add its tests:",
    "I'll do two things: first the page, then its test. Let me update the plan:",
]


@pytest.mark.parametrize("text", RUN_ON)
def test_a_text_that_leaves_its_calls_out_does_not_tell_whether_the_last_was_made(
    text: str,
) -> None:
    in_a_chat = decided(text, last_event=LastEvent.USER_MESSAGE)
    at_work = decided(text, last_event=LastEvent.TOOL_RESULT)

    assert in_a_chat.outcome is StopOutcome.FINISHED
    assert at_work.goes_on
    assert any("leaves out the calls" in each.because for each in at_work.signals)


@pytest.mark.parametrize("text", SHOWN)
def test_a_text_that_breaks_off_before_its_call_is_not_done(text: str) -> None:
    assert decided(text, last_event=LastEvent.USER_MESSAGE).goes_on
