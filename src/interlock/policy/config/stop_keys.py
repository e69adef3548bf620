"""The keys about being done: what speaks for it that an agent should go on.

Most of them hold what the chosen profile says wherever no file sets them; the same ones can be
set for some models only.
"""

from __future__ import annotations

from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.shapes import Choice, Field, NamedTables, Number, TextKind, Texts
from interlock.policy.stops.settings import PROFILES

_SCORE = Number(minimum=0, maximum=1_000)
_POINTS = Number(minimum=0, maximum=100)
_PHRASES = Texts(kind=TextKind.PLAIN)


def _from_profile(
    name: str,
    shape: Number | Texts,
    meaning: str,
    tighter: Tighter,
    *,
    at_least: str | None = None,
) -> Key:
    return Key(
        path=f"stops.{name}",
        shape=shape,
        meaning=meaning,
        tighter=tighter,
        at_least=at_least,
        absent="as the profile says",
    )


def _points(name: str, meaning: str) -> Key:
    return _from_profile(f"points-{name}", _POINTS, f"Points for {meaning}.", Tighter.SMALLER)


PROFILE_KEYS = (
    _from_profile(
        "warn-at",
        _SCORE,
        "A score that reaches this, but not `continue-at`, ends the turn with a recorded warning.",
        Tighter.SMALLER,
    ),
    _from_profile(
        "continue-at",
        _SCORE,
        "A score that reaches this makes the agent go on.",
        Tighter.LARGER,
        at_least="stops.warn-at",
    ),
    _from_profile(
        "max-retries",
        Number(minimum=0, maximum=100),
        "How often in a row an agent is told to go on.",
        Tighter.SMALLER,
    ),
    _points("tool-calls", "a model that announced tool calls and gave none"),
    _points("no-finish-reason", "an answer that came without a finish reason"),
    _points("last-event", "a message right after the result of a tool"),
    _points("intent", "a message that says what it does next"),
    _points("vague-intent", "a message that says only that it goes on, and not with what"),
    _points("no-summary", "a message that neither sums up nor hands over"),
    _points("tool-ratio", "tool calls in more than half of the recent turns"),
    _points("open-todo", "to-do items that are still open"),
    _points("failing-check", "a check that failed last"),
    _points("pending-review", "a review that is still pending"),
    _points("untouched-file", "files that the plan names and nobody touched"),
    _from_profile(
        "continue-phrases",
        _PHRASES,
        "Phrases of somebody who goes on.",
        Tighter.FEWER,
    ),
    _from_profile(
        "completion-phrases",
        _PHRASES,
        "Phrases of somebody who is done.",
        Tighter.MORE,
    ),
    _from_profile(
        "summary-phrases",
        _PHRASES,
        "Phrases of somebody who sums up or hands over.",
        Tighter.MORE,
    ),
    _from_profile(
        "awaiting-phrases",
        _PHRASES,
        "Phrases of somebody who waits for a person, beside those that are always known.",
        Tighter.MORE,
    ),
)
"""What a profile has a value for."""

_MODEL_FIELDS = tuple(
    Field(name=key.name, shape=key.shape, meaning=key.meaning)
    for key in PROFILE_KEYS
    if isinstance(key.shape, Number | Texts)
)

STOP_KEYS = (
    Key(
        path="stops.profile",
        shape=Choice(values=tuple(PROFILES)),
        meaning="The values that everything below has where no file says otherwise.",
        tighter=Tighter.USER_ONLY,
    ),
    Key(
        path="stops.credit",
        shape=Number(minimum=0, maximum=1_000),
        meaning="How often a run may be told to go on before something verifiable comes of it.",
        tighter=Tighter.SMALLER,
    ),
    *PROFILE_KEYS,
    Key(
        path="stops.models",
        shape=NamedTables(fields=_MODEL_FIELDS, names="models"),
        meaning="What differs for some models.",
        tighter=Tighter.USER_ONLY,
    ),
)
