"""Ends of turns by grammar, in each language: what is announced, done, asked, waited for or over.

Each language gives a few acts in the forms that tell those apart. The endings differ in one form
only, so that each is a pair with the next: "I will now run the tests", "I have run the tests",
"should I run the tests?", "you can run the tests".
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec


class Kind(enum.StrEnum):
    """What becomes of such an end."""

    UNFINISHED = "unfinished"
    FINISHED = "finished"
    ASKS = "asks"
    RUNS = "runs"


class Ending(NamedTuple):
    """The end of a turn and what it is."""

    language: str
    kind: Kind
    text: str


class Forms(NamedTuple):
    """One act in the forms of a language; the object stands where the language has it."""

    will: str
    did: str
    asks: str
    you_can: str


class Grammar(msgspec.Struct, frozen=True):
    """What a language makes of acts, and what else it says at the end of a turn."""

    acts: tuple[Forms, ...]
    leads: tuple[str, ...]
    """What may stand before any end, and changes nothing."""
    submits: tuple[str, ...]
    runs: tuple[str, ...]
    waits: tuple[str, ...]
    reports: tuple[str, ...]


def _english() -> Grammar:
    acts = {
        "run the tests": "run the tests",
        "fix the import in `app.py`": "fixed the import in `app.py`",
        "update the migration": "updated the migration",
        "check the logs of the worker": "checked the logs of the worker",
        "rename the column": "renamed the column",
    }
    announced = (
        "I'll {}.", "Now let me {}.", "Next, I'll {}.", "I will now {}.", "I need to {}.",
        "Let me {}:", "I'm going to {} now.", "First, I'll {}.",
    )  # fmt: skip
    reported = (
        "I have now {}.", "I {}.", "I've {}, as you wanted.", "Done: I {}.", "I just {}.",
        "As planned, I {}.", "I also {}.", "You asked for it, so I {}.",
    )  # fmt: skip
    asked = (
        "Should I {}?", "Do you want me to {}?", "Shall I {} next?", "Would you like me to {}?",
        "Let me know if I should {}.", "Once you confirm, I'll {}.",
        "If you like, I can {}.", "Tell me whether to {}.",
    )  # fmt: skip
    offered = (
        "You can now {}.", "To finish, you could {}.", "You may want to {}.",
        "Next steps for you: {}.", "If anything breaks, {} on your side.", "Users can {} later.",
        "The script lets you {}.", "You'll have to {} once in production.",
    )  # fmt: skip
    forms = tuple(
        Forms(will.format(act), did.format(past), ask.format(act), offer.format(act))
        for (act, past), (will, did, ask, offer) in product(
            acts.items(), zip(announced, reported, asked, offered, strict=True)
        )
    )
    return Grammar(
        forms,
        ("", "The parser is in better shape than it looked. ", "Found it. "),
        (
            "I'll submit now.", "Let me finalise the answer.", "Now I'll submit the solution.",
            "Let's submit the changes.", "I will now conclude the task.",
            "We can now submit the patch.", "Let me wrap up.", "I'll mark the task as complete.",
            "I'll call the `submit` tool.", "Let me hand in my final answer.",
            "Let me provide the final answer:", "I'll finish here.", "Time to submit.",
            "I am now going to submit my work.", "Finally, I'll submit the fix.",
            "Let's submit:\n```\nsubmit\n```",
        ),
        (
            "It runs in the background.", "The build is still running.",
            "The tests are running in the background now.", "I'll wait for the build to finish.",
            "I started the training in the background; it takes an hour.",
            "Waiting for the test suite to complete.", "The deploy is still in progress.",
            "I'll check back when the job is done.",
        ),
        (
            "I'll wait, let me know.", "I'll wait for your reply.", "Standing by.",
            "I'll wait here until you decide.", "I'm waiting for your go-ahead.",
            "Ready when you are.", "Share the key and I'll apply it.",
            "Send me the log and I will look at it.",
        ),
        (
            "All 12 tests pass.", "The fix is in place.", "Everything is committed and pushed.",
            "Fixed. The cache is now cleared on logout.", "The answer is 42.",
            "There is nothing left to do.", "No changes were needed.",
            "The server is running on port 3000.", "### Result: everything works",
            "Here is the function:\n```python\ndef f():\n    return 1\n```",
            "- Added a flag\n- Removed the old path",
            '{"response": "The order was cancelled."}',
        ),
    )  # fmt: skip


def _grammars() -> Mapping[str, Grammar]:
    """Return every grammar: English is made from its acts, the others are written down."""
    text = Path(__file__).with_suffix(".toml").read_text()
    return {"English": _english(), **msgspec.toml.decode(text, type=dict[str, Grammar])}


def written(kind: str) -> tuple[str, ...]:
    """Return the ends that were written down one by one, of one kind."""
    text = Path(__file__).with_name("turn_texts.toml").read_text()
    return msgspec.toml.decode(text, type=dict[str, tuple[str, ...]])[kind]


def endings() -> Iterator[Ending]:
    """Yield every end of a turn."""
    for language, grammar in _grammars().items():
        for lead, forms in product(grammar.leads, grammar.acts):
            yield Ending(language, Kind.UNFINISHED, lead + forms.will)
            yield Ending(language, Kind.FINISHED, lead + forms.did)
            yield Ending(language, Kind.ASKS, lead + forms.asks)
            yield Ending(language, Kind.FINISHED, lead + forms.you_can)
        for kind, texts in (
            (Kind.FINISHED, grammar.submits),
            (Kind.RUNS, grammar.runs),
            (Kind.ASKS, grammar.waits),
            (Kind.FINISHED, grammar.reports),
        ):
            for lead, text in product(grammar.leads, texts):
                yield Ending(language, kind, text if text[:1] in "{-#" else lead + text)
