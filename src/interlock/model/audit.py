"""What Interlock would have said to past runs: moments worth looking at, and what they add up to.

No text here holds a credential: whatever comes from a transcript was redacted before.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from interlock.model.past_run import Unread


class MomentKind(enum.StrEnum):
    """What happened."""

    ACTION = "action"
    """A call ran that would have been denied or asked about."""
    SECRET = "secret"  # noqa: S105 - the word for one
    """A credential stood in a call that ran."""
    LOOP = "loop"
    """The run went on after it would have been paused or stopped."""
    EARLY_STOP = "early-stop"
    """The agent ended its turn with work announced and not done."""
    FALSE_DONE = "false-done"
    """The agent ended its turn with failing tests and did not say so."""


class Mark(enum.StrEnum):
    """What a person thinks of a moment."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"
    """An earlier mark is taken back."""


class Moment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A moment of a past run that somebody should know about."""

    id: str
    """Follows from where it is and what it is: the same moment keeps its id in every audit."""
    kind: MomentKind
    decision: str
    """What Interlock would have answered: block, require-confirmation, pause, stop, continue."""
    rule: str
    """The rule, the sign of the continue gate, or the signal of the stop gate, that said most."""
    rules: tuple[str, ...] = ()
    """Every rule that led to the answer."""
    weight: int
    """How worrying it is: the higher the worse."""
    text: str
    """The command, the call, or the agent's words."""
    why: str
    instead: str = ""
    client: str
    run: str
    project: str = ""
    path: str
    line: int | None = None
    """Where it stands in the transcript."""
    failed: bool = False
    """Whether the call ran and failed."""
    step: int
    """Which of the agent's steps it was, from 1 on."""
    at: int | None = None
    rounds: int = 0
    """How often it went round, for a loop."""
    steps: int = 0
    """How many steps the agent had taken when a person spoke or the run ended, for a loop."""
    tokens: int = 0
    """What was used after this moment, for a loop."""
    micro_usd: int = 0
    of_tokens: int = 0
    """What the run used in all, for a loop."""
    then: str = ""
    """What a person said next, for an early stop, as far as it fits into a line."""

    @property
    def share(self) -> float:
        """Which part of the run's tokens was used after this moment."""
        return self.tokens / self.of_tokens if self.of_tokens else 0.0


class AuditCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is counted of one run, and of all of them."""

    began_at: int | None = None
    ended_at: int | None = None
    steps: int = 0
    calls: int = 0
    """Calls of tools that ran."""
    judged: int = 0
    """Those that were known well enough to be judged."""
    turns: int = 0
    """Ends of turns."""
    tokens: int = 0
    unpriced: int = 0
    """Those of the tokens whose price nobody knows."""
    micro_usd: int = 0
    decisions: Mapping[str, int] = {}
    """How often each answer would have been given to a call."""
    rules: Mapping[str, int] = {}
    """How many calls each rule would have had asked about or denied."""
    counts: Mapping[MomentKind, int] = {}
    """How many moments of each kind, also where not all are listed."""
    burnt: int = 0
    """Tokens after the moment at which a run would have been paused or stopped."""
    burnt_micro_usd: int = 0
    moments: tuple[Moment, ...] = ()
    """Of all runs the worst of each kind, the worst first."""


class RunAudit(AuditCounts, frozen=True, kw_only=True, omit_defaults=True):
    """What one past run comes to."""

    client: str
    tested: bool = False
    """Whether tests ran."""


class AuditedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A history that was read."""

    client: str
    path: str
    files: int
    size: int


class Audit(AuditCounts, frozen=True, kw_only=True, omit_defaults=True):
    """What all of them come to; it is kept as a file, and shown from there."""

    id: str
    at: int
    policy_hash: str
    version: str
    """Of Interlock."""
    places: tuple[AuditedPlace, ...] = ()
    files: int = 0
    size: int = 0
    runs: int = 0
    clients: Mapping[str, int] = {}
    """How many runs of each client."""
    looped: int = 0
    """Runs that would have been paused or stopped."""
    early: int = 0
    """Runs with an early stop."""
    tested: int = 0
    """Runs in which tests ran."""
    false_done: int = 0
    """Of those, the ones with a turn that ended with failing tests and did not say so."""
    unknown: tuple[str, ...] = ()
    """What is not known, in sentences."""
    unread: tuple[Unread, ...] = ()
    """The first of what could not be read."""
    unread_count: int = 0


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    """What a person thought of a moment; the last word on it counts."""

    moment: Moment
    mark: Mark
    by: str
    at: int
