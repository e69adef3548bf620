"""`interlock event send`: tell the loop that something happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import governing
from interlock.cli.call.options import ledger_call, ledger_option, show
from interlock.cli.call.standard_input import given_text
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_rows
from interlock.model.short_code import code_of
from interlock.model.system_loop import MOST_BYTES
from interlock.service.cycles.event_input import event_from
from interlock.service.cycles.loop_chain import LoopChain, Received

_ABOUT: Final = "Send an event to the loop."
_ABOUT_SEND: Final = """\
Send an event; it starts a cycle of the loop.

NAME is one that the loop knows (whatever ends in `.failed` or `/failed`, the end of a run, a
note) or one of `loop.events` in the policy. JSON is an object with what happened, or a whole
CloudEvent; `-` reads it from standard input. The same id is taken once, however often it is sent.

Examples:
  interlock event send ci/build.failed '{"branch": "main", "log": "https://ci.example/7"}'
  interlock event send deploy/done.failed --id deploy-117 --scope shop
  interlock event send ci/build.failed - < event.json
"""


@click.group("event", cls=Commands, help=_ABOUT)
@ledger_option
def event_command() -> None:
    """Hold the commands about events."""


@ledger_call("send", group=event_command, help=_ABOUT_SEND)
@click.argument("name", metavar="NAME")
@click.argument("data", metavar="[JSON|-]", required=False)
@click.option("--id", "event_id", metavar="ID", help="What names the event.")
@click.option("--scope", metavar="NAME", help="What it is decided together with.")
def send_command(*, name: str, data: str | None, event_id: str | None, scope: str | None) -> None:
    """Send an event."""
    raw = None if data is None else given_text(data, most=MOST_BYTES, what="the event is")
    with governing(creates=True) as interlock:
        chain = LoopChain(interlock.governor)
        event = event_from(
            name,
            raw,
            now=interlock.governor.clock.now(),
            known=chain.settings.events,
            id=event_id,
            scope=scope,
            cause=settings.current_cause().decision,
        )
        received = chain.receive(event.trigger)
    value = {
        "trigger": received.trigger,
        "new": received.is_new,
        "answered_by": received.answered_by,
    }
    show(value, _received_lines(received))


def _received_lines(received: Received) -> Iterator[Line]:
    answered = received.answered_by
    if received.is_new:
        yield badge_line("TAKEN", Tone.ALLOW, "a cycle of the loop answers it")
    elif answered is None:
        yield badge_line("KNOWN", Tone.WARN, "it was sent before, and waits for its cycle")
    else:
        yield badge_line("KNOWN", Tone.WARN, "it was sent before, and is answered")
    trigger = received.trigger
    depth = f"caused by the loop, {trigger.depth} deep" if trigger.depth else ""
    yield from labelled_rows(
        ("event", trigger.name), ("id", trigger.id, Tone.CODE), ("cause", depth)
    )
    if answered is not None:
        yield (Span(f"  interlock loop log --decision {code_of(answered)}", Tone.CODE),)
