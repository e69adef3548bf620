"""`interlock status`: what is governed, by which policy, and what waits for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from interlock import settings
from interlock.cli.call.ledger_access import (
    current_time,
    is_local,
    policy_refused,
    reading_ledger,
)
from interlock.cli.call.options import chosen_place, ledger_call, show
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_rows
from interlock.cli.text.run_page import all_halted_lines
from interlock.cli.text.statistics_text import matches_text
from interlock.cli.text.summary_page import never_seen, next_line, policy_lines, program_of
from interlock.cli.text.tables import bar_lines
from interlock.service.policies.policy_files import found_policy
from interlock.service.whereabouts import Listening, running_server
from interlock.views import units
from interlock.views.policy_summary import PolicySummary, policy_summary
from interlock.views.run_view import ABANDONED, account_value, would_have_text
from interlock.views.status_view import Standing, standing

if TYPE_CHECKING:
    from interlock.adapters.installation.examination import ClientHooks


class _Status(NamedTuple):
    """Everything that is told."""

    clients: Sequence[ClientHooks]
    policy: PolicySummary
    server: Listening | None
    place: str
    ledger: Standing | None
    """None where there is no ledger yet."""
    refused: str | None
    """Why the ledger has not taken the policy over."""
    now: int


@ledger_call("status")
def status_command() -> None:
    """Say what is governed, by which policy, and what waits.

    Examples:
      interlock status
      interlock status --json
    """
    from interlock.adapters.installation.examination import hooks_here  # noqa: PLC0415 - only here

    place, now = chosen_place(), current_time()
    policy = found_policy()
    status = _Status(
        clients=hooks_here(),
        policy=policy_summary(policy, settings.current_places()),
        server=running_server(settings.current_server_places(place)),
        place=place,
        ledger=_standing(place, now),
        refused=policy_refused(policy),
        now=now,
    )
    show(_value(status), _lines(status))


def _standing(place: str, now: int) -> Standing | None:
    if is_local(place) and not Path(place).expanduser().exists():
        return None
    with reading_ledger() as ledger:
        return standing(ledger, now)


def _value(status: _Status) -> object:
    found = status.ledger
    return msgspec.to_builtins(
        {
            "clients": [each._asdict() for each in status.clients],
            "policy": status.policy,
            "policy_refused": status.refused,
            "server": status.server,
            "ledger": status.place,
            "all_halted": None if found is None else found.all_halted,
            "clients_seen": sorted(_seen(status)),
            "running": 0 if found is None else sum(found.words.values()),
            "abandoned": 0 if found is None else found.words.get(ABANDONED, 0),
            "runs": {} if found is None else found.words,
            "records": 0 if found is None else found.records,
            "waiting": () if found is None else found.waiting,
            "accounts": () if found is None else [account_value(each) for each in found.balances],
            "would_have": {} if found is None else found.would_have,
            "observed_rules": {} if found is None else found.observed_rules,
            "next": _next(status)[0],
        }
    )


def _lines(status: _Status) -> Iterator[Line]:
    yield from _governed(status)
    yield from policy_lines(status.policy, status.refused)
    yield from _server(status)
    if status.ledger is not None:
        yield from _ledger(status.ledger, status)
    yield next_line(*_next(status))


def _governed(status: _Status) -> Iterator[Line]:
    if not status.clients:
        yield badge_line("NONE", Tone.CAREFUL, "no agent client is found on this machine")
    for each in status.clients:
        if each.problems:
            yield badge_line("BROKEN", Tone.BLOCK, f"{each.client}: {each.problems[0]}")
        elif not each.scopes:
            told = f"{each.client}: no hooks, it acts unasked"
            yield badge_line("OPEN", Tone.CAREFUL, told)
        else:
            told = f"{each.client}: asks before it acts ({', '.join(each.scopes)})"
            yield badge_line("GOVERNED", Tone.ALLOW, told)
            if each.client not in _seen(status):
                yield from labelled_rows(("sessions", never_seen(each.client), Tone.CAREFUL))


def _seen(status: _Status) -> frozenset[str]:
    return frozenset() if status.ledger is None else status.ledger.clients


def _server(status: _Status) -> Iterator[Line]:
    server = status.server
    if server is None:
        told = (
            "no server runs; hooks start one when they need it, `interlock serve` for the console"
        )
        yield from labelled_rows(("server", told))
    else:
        since = f"process {server.pid}, for {units.span(status.now - server.since)}"
        yield from labelled_rows(
            ("server", f"serving ({since})"),
            ("console", server.url or "none"),
            ("socket", server.socket),
        )
    missing = "" if status.ledger is not None else ": no ledger yet, the first question makes it"
    told = "" if status.ledger is None else f", {units.counted(status.ledger.records, 'record')}"
    yield from labelled_rows(("ledger", f"{status.place}{told}{missing}"))


def _ledger(found: Standing, status: _Status) -> Iterator[Line]:
    yield from all_halted_lines(found.all_halted)
    yield from labelled_rows(
        ("runs", _open_runs(found.words)),
        ("observed", would_have_text(found.would_have)),
        ("by rule", matches_text(found.observed_rules, found.would_have)),
        ("waiting", units.counted(len(found.waiting), "question")),
    )
    for each in found.waiting:
        age = units.span(status.now - each.opened_at)
        yield (Span(f"  {each.code}  ", Tone.CODE), Span(f"{each.summary}  ({age})"))
    for balance in found.balances:
        yield (Span(balance.scope, Tone.STRONG),)
        yield from bar_lines([balance], named=False)


def _open_runs(words: Mapping[str, int]) -> str:
    if not words:
        return "none is open"
    told = {ABANDONED: f"{ABANDONED} (its process has ended)"}
    return ", ".join(f"{count:,} {told.get(word, word)}" for word, count in words.items())


def _next(status: _Status) -> tuple[str, str]:
    """Return the most useful next command, and why."""
    return next(_useful(status))


def _useful(status: _Status) -> Iterator[tuple[str, str]]:
    """Yield commands that would be of use, the most useful first."""
    found, clients = status.ledger, status.clients
    if found is not None and found.all_halted is not None:
        yield "interlock resume --all --reason TEXT", "lets runs go on and begin again"
    if status.refused is not None:
        yield "interlock policy adopt", "has the ledger take your policy over"
    if found is not None and found.waiting and found.has_operator:
        yield found.waiting[0].command, "a question waits for you"
    if found is not None and found.waiting:
        yield "interlock setup", "makes you the one who answers what waits"
    for each in clients:
        if each.problems:
            yield "interlock doctor", f"the hooks of {each.client} are broken"
    governed = [each.client for each in clients if each.scopes]
    if clients and not governed:
        yield f"interlock install {clients[0].client}", "has it ask before it acts"
    if found is None or not found.has_operator:
        yield "interlock setup", "makes you the one who approves"
    if governed and _seen(status).isdisjoint(governed):
        yield program_of(governed[0]), "starts a session, which `interlock runs` lists then"
    yield "interlock runs", "shows what agents did"
