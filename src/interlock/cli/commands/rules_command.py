"""`interlock rules`: which rules there are, and what each one says."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

import click

from interlock.cli.call.options import chosen_policy, json_option, policy_options, show
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    labelled_lines,
    text_width,
)
from interlock.errors import InputError
from interlock.service.policies.catalogue import CatalogueEntry, catalogue, pack_titles


class _PackNames(click.Group):
    """A group in which the name of any pack is a command that lists it."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of the group, or the listing of a pack."""
        return super().get_command(ctx, cmd_name) or _listing_of(cmd_name)


@click.group(
    "rules", cls=_PackNames, invoke_without_command=True, subcommand_metavar="[PACK | show ID]"
)
@json_option
@policy_options
@click.pass_context
def rules_command(context: click.Context) -> None:
    """List the rules of all packs, or of one PACK, with what the policy makes of them."""
    if context.invoked_subcommand is None:
        _print_listing(None)


@rules_command.command("show")
@click.argument("rule_id", metavar="ID")
@json_option
@policy_options
def show_command(*, rule_id: str) -> None:
    """Show one rule: why it speaks, what to do instead, and its examples."""
    entry = next((entry for entry in _entries() if entry.id == rule_id), None)
    if entry is None:
        raise InputError(f"no rule is called `{rule_id}`{_suggestion(rule_id)}")
    show(entry, _entry_lines(entry))


def _listing_of(pack: str) -> click.Command:
    listing = click.Command(
        pack, callback=partial(_print_listing, pack), help=f"List the rules of `{pack}`."
    )
    return json_option(policy_options(listing))


def _print_listing(pack: str | None) -> None:
    entries = [entry for entry in _entries() if pack in (None, entry.pack)]
    if pack is not None and not entries:
        raise InputError(f"no pack is called `{pack}`; there are {', '.join(_packs())}")
    show(entries, _listing_lines(entries))


def _entries() -> tuple[CatalogueEntry, ...]:
    return catalogue(chosen_policy())


def _packs() -> list[str]:
    return [f"`{pack}`" for pack in pack_titles()]


def _suggestion(rule_id: str) -> str:
    close = difflib.get_close_matches(rule_id, [entry.id for entry in _entries()], n=1)
    return f"; did you mean `{close[0]}`?" if close else "; `interlock rules` lists them all"


def _listing_lines(entries: Sequence[CatalogueEntry]) -> Iterator[Line]:
    titles = pack_titles()
    for number, (pack, group) in enumerate(groupby(entries, key=lambda entry: entry.pack)):
        rules = list(group)
        if number:
            yield ()
        yield (Span(pack, Tone.HEADING), Span(f"  {titles[pack]}", Tone.FAINT))
        width = max(len(entry.id) for entry in rules)
        for entry in rules:
            tone = Tone.FAINT if entry.decision == "off" else Tone.PLAIN
            answer = f"{entry.decision:<20}  {entry.severity.value:<8}"
            yield (Span(f"  {entry.id:<{width}}  {answer}  {entry.reason}", tone),)


def _entry_lines(entry: CatalogueEntry) -> Iterator[Line]:
    plain, code = Tone.PLAIN, Tone.CODE
    rows = [
        ("says", f"{entry.decision} ({entry.severity.value})", plain),
        ("why", entry.reason, plain),
        ("instead", entry.remediation, plain),
        *[("" if at else "speaks", text, code) for at, text in enumerate(entry.match)],
        *[("" if at else "silent", text, code) for at, text in enumerate(entry.not_match)],
    ]
    yield (Span(entry.id, Tone.HEADING),)
    for label, text, tone in rows:
        yield from labelled_lines(label, text, tone, width=text_width())
