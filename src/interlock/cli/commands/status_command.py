"""`interlock status`: is a server running, over which ledger, and what waits there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock import settings
from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import chosen_place, ledger_call, show
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_rows
from interlock.cli.text.tables import bar_lines
from interlock.service.whereabouts import Listening, running_server
from interlock.views import units
from interlock.views.run_view import account_value
from interlock.views.status_view import Standing, standing


@ledger_call("status")
def status_command() -> None:
    """Say whether a server runs, and what waits for a person.

    Examples:
      interlock status
      interlock status --json
    """
    place, now = chosen_place(), current_time()
    server = running_server(settings.current_server_places(place))
    with reading_ledger() as ledger:
        name, found = ledger.store.name, standing(ledger, now)
    value = {
        "server": server,
        "ledger": name,
        "running": found.running,
        "records": found.records,
        "waiting": found.waiting,
        "accounts": [account_value(each) for each in found.balances],
    }
    show(msgspec.to_builtins(value), _lines(server, name, found, now))


def _lines(server: Listening | None, name: str, found: Standing, now: int) -> Iterator[Line]:
    if server is None:
        yield badge_line("OFF", Tone.CAREFUL, "no server runs; `interlock serve` starts one")
    else:
        told = f"for {units.span(now - server.since)}, process {server.pid}"
        yield badge_line("SERVING", Tone.ALLOW, told)
        yield from labelled_rows(("console", server.url or "none"), ("socket", server.socket))
    yield from labelled_rows(
        ("ledger", f"{name}, {units.counted(found.records, 'record')}"),
        ("at work", units.counted(found.running, "run")),
        ("waiting", units.counted(len(found.waiting), "question")),
    )
    for each in found.waiting:
        age = units.span(now - each.opened_at)
        yield (Span(f"  {each.approval[:13]}  ", Tone.CODE), Span(f"{each.summary}  ({age})"))
    for balance in found.balances:
        yield (Span(balance.scope, Tone.STRONG),)
        yield from bar_lines([balance], named=False)
