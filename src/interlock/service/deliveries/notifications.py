"""Telling people that a question waits for them: by a webhook, and by a command of the user's.

Every attempt is claimed in the ledger first, and says when the next one may follow. So several
servers tell of a question once between them, a server that dies in the middle is followed by
another one, and what cannot be delivered is tried again, ever more rarely, as long as the question
is open. A webhook has the question's id: whoever gets it twice knows that it is the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from interlock.checkpoints.bounded_command import Deadline, run_bounded
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.projection import notification_key
from interlock.ledger.transaction import Transaction
from interlock.model.approval import Approval
from interlock.model.events import PersonNotified
from interlock.model.principal import SYSTEM
from interlock.model.run import LEDGER_RUN
from interlock.model.system_loop import CloudEvent
from interlock.policy.config.run_sections import Notifications
from interlock.ports import ALL
from interlock.service.deliveries.webhooks import DeliveryError, WebhookSink, retry_at
from interlock.service.records.context import SECOND, Context
from interlock.settings import environment

_MOST_SAID: Final = 4096
_HANDED_ON: Final = (
    "PATH HOME USER LOGNAME LANG LC_ALL LC_CTYPE TZ TMPDIR DISPLAY WAYLAND_DISPLAY XAUTHORITY"
    " XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS"
).split()
"""What a command may know of the server's environment: nothing that opens anything."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person, as whoever is told of it gets it."""

    approval: str
    code: str
    """What a person types for it."""
    run: str
    agent: str
    project: str
    task: str
    summary: str
    reasons: tuple[str, ...]
    opened_at: int
    expires_at: int
    link: str | None
    """Where it is decided; nobody gets in by it who has not signed in."""


class Due(NamedTuple):
    """One attempt that is to be made."""

    approval: Approval
    channel: str
    attempt: int


class Notifier:
    """Tells people of questions; any number of servers may do so at once."""

    def __init__(
        self, ledger: Ledger, context: Callable[[], Context], address: Callable[[], str | None]
    ) -> None:
        self._ledger = ledger
        self._context = context
        """The policy that counts just now, and the clock."""
        self._address = address
        """Where the console is, unless the policy says so."""
        self._told: set[tuple[str, str]] = set()

    @property
    def settings(self) -> Notifications:
        """What the policy says just now."""
        return self._context().policy.config.notifications

    @property
    def is_wanted(self) -> bool:
        """Whether the policy names anybody to tell."""
        return bool(_channels(self.settings))

    def due(self) -> tuple[Sequence[Due], int | None]:
        """Return what is to be tried now, and when something will be next."""
        channels = _channels(self.settings)
        if not channels:
            return (), None
        now = self._context().clock.now()
        waiting = self._ledger.rows.approvals(state="pending", limit=ALL)
        opened = [each for each in waiting if each.is_open_at(now)]
        self._told &= {(each.id, channel) for each in opened for channel in channels}
        due: list[Due] = []
        later: list[int] = []
        for approval in opened:
            for channel in channels:
                if (approval.id, channel) in self._told:
                    continue
                last = self._last(approval.id, channel)
                if last is None:
                    due.append(Due(approval, channel, 1))
                elif last.retry_at is None:
                    self._told.add((approval.id, channel))
                elif last.retry_at <= now:
                    due.append(Due(approval, channel, last.attempt + 1))
                else:
                    later.append(last.retry_at)
        return due, min(later, default=None)

    def tell(self, due: Due) -> bool:
        """Make one attempt, unless another server does; return whether it arrived.

        Raise DeliveryError where it did not.
        """
        clock = self._context().clock
        again = retry_at(due.approval.id, due.attempt, now=clock.now(), retry_after_s=None)
        # Not before this one is over: nobody else could know.
        again = max(again, clock.now() + 2 * self.settings.timeout_seconds * SECOND)
        if not self._note(due, again):
            return False
        question = self._question(due.approval)
        if due.channel == "webhook":
            self._post(question, due)
        else:
            self._run(question)
        self._note(due, None)
        self._told.add((due.approval.id, due.channel))
        return True

    def _last(self, approval_id: str, channel: str) -> PersonNotified | None:
        rows = self._ledger.rows
        key = rows.key(LEDGER_RUN, notification_key(approval_id, channel))
        row = None if key is None else rows.record(LEDGER_RUN, key.seq)
        event = None if row is None else decoded(row.body).event
        return event if isinstance(event, PersonNotified) else None

    def _note(self, due: Due, again: int | None) -> bool:
        """Note an attempt, or that it arrived; return False if another server was faster."""
        event = PersonNotified(
            approval=due.approval.id, channel=due.channel, attempt=due.attempt, retry_at=again
        )

        def plan(transaction: Transaction) -> bool:
            known = transaction.key(LEDGER_RUN, notification_key(due.approval.id, due.channel))
            record = None if known is None else transaction.record(LEDGER_RUN, known.seq)
            last = None if record is None else record.event
            if isinstance(last, PersonNotified) and (
                last.retry_at is None or (again is not None and last.attempt >= due.attempt)
            ):
                return False
            transaction.append(LEDGER_RUN, event, at=self._context().clock.now(), by=SYSTEM)
            return True

        return self._ledger.execute(Work(plan, locks=(f"run/{LEDGER_RUN}",)))

    def _question(self, approval: Approval) -> Question:
        run = self._ledger.rows.run(approval.run_id)
        base = self.settings.console_url or self._address()
        return Question(
            approval=approval.id,
            code=approval.code,
            run=approval.run_id,
            agent="" if run is None else run.agent,
            project="" if run is None else run.project,
            task="" if run is None else run.task,
            summary=approval.summary,
            reasons=tuple(each.message for each in approval.findings),
            opened_at=approval.opened_at,
            expires_at=approval.expires_at,
            link=None if base is None else f"{base.rstrip('/')}/inbox/{approval.id}",
        )

    def _post(self, question: Question, due: Due) -> None:
        settings = self.settings
        sink = WebhookSink(
            name="notifications",
            url=settings.webhook_url or "",
            secret_variable=settings.webhook_secret_variable,
            timeout_s=settings.timeout_seconds,
            clock=self._context().clock,
        )
        event = CloudEvent(
            id=question.approval,
            source="interlock",
            type="interlock.approval.waiting",
            time=datetime.fromtimestamp(question.opened_at / SECOND, UTC).isoformat(),
            subject=question.run,
            causationdepth=0,
            data=msgspec.to_builtins(question),
        )
        sink.deliver(event, due.attempt)

    def _run(self, question: Question) -> None:
        command, timeout_s = self.settings.command, self.settings.timeout_seconds
        known = environment()
        with tempfile.TemporaryFile() as stdin:
            stdin.write(msgspec.json.encode(question) + b"\n")
            stdin.seek(0)
            try:
                ended = run_bounded(
                    [*command, question.link or ""],
                    folder=Path("/"),
                    environment={name: known[name] for name in _HANDED_ON if name in known},
                    deadline=Deadline(timeout_s),
                    most_said=_MOST_SAID,
                    stdin=stdin,
                )
            except (OSError, ValueError) as error:
                raise DeliveryError(f"`{command[0]}` cannot be run: {error}") from error
        if ended.exit_code is None:
            raise DeliveryError(f"`{command[0]}` took longer than {timeout_s} s: it was ended")
        if ended.exit_code:
            raise DeliveryError(f"`{command[0]}` ended with {ended.exit_code}")


def _channels(settings: Notifications) -> tuple[str, ...]:
    named = (("webhook", settings.webhook_url), ("command", settings.command))
    return tuple(channel for channel, target in named if target)
