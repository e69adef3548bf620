"""`interlock rules`: which rules there are, and what each one says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.options import chosen_gates, policy_options
from interlock.errors import InputError

if TYPE_CHECKING:
    from interlock.cli.text.render import Line
    from interlock.service.catalogue import CatalogueEntry


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
def rules_group(context: click.Context, *, as_json: bool) -> None:
    """List the rules of all packs, or of one PACK, with what the policy makes of them."""
    if context.invoked_subcommand is None:
        _print_listing(None, as_json=as_json)


@rules_group.command("show")
@click.argument("rule_id", metavar="ID")
@json_option
@policy_options
def show_command(*, rule_id: str, as_json: bool) -> None:
    """Show one rule: why it speaks, what to do instead, and its examples."""
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast

    entry = next((entry for entry in _entries() if entry.id == rule_id), None)
    if entry is None:
        raise InputError(f"no rule is called `{rule_id}`{_suggestion(rule_id)}")
    if as_json:
        render.print_json(entry)
    else:
        render.print_lines(_entry_lines(entry))


def _listing_of(pack: str) -> click.Command:
    listing = click.Command(
        pack, callback=partial(_print_listing, pack), help=f"List the rules of `{pack}`."
    )
    return json_option(policy_options(listing))


def _print_listing(pack: str | None, *, as_json: bool) -> None:
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast

    entries = [entry for entry in _entries() if pack in (None, entry.pack)]
    if pack is not None and not entries:
        raise InputError(f"no pack is called `{pack}`; there are {', '.join(_packs())}")
    if as_json:
        render.print_json(entries)
    else:
        render.print_lines(_listing_lines(entries))


def _entries() -> tuple[CatalogueEntry, ...]:
    from interlock.service.catalogue import catalogue  # noqa: PLC0415 - commands import late

    return catalogue(chosen_gates())


def _packs() -> list[str]:
    from interlock.service.catalogue import pack_titles  # noqa: PLC0415 - commands import late

    return [f"`{pack}`" for pack in pack_titles()]


def _suggestion(rule_id: str) -> str:
    import difflib  # noqa: PLC0415 - only when somebody mistyped

    close = difflib.get_close_matches(rule_id, [entry.id for entry in _entries()], n=1)
    return f"; did you mean `{close[0]}`?" if close else "; `interlock rules` lists them all"


def _listing_lines(entries: Sequence[CatalogueEntry]) -> Iterator[Line]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - commands import late
    from interlock.service.catalogue import pack_titles  # noqa: PLC0415 - the same

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
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late

    plain, code = render.Tone.PLAIN, render.Tone.CODE
    rows = [
        ("says", f"{entry.decision} ({entry.severity.value})", plain),
        ("why", entry.reason, plain),
        ("instead", entry.remediation, plain),
        *[("" if at else "speaks", text, code) for at, text in enumerate(entry.match)],
        *[("" if at else "silent", text, code) for at, text in enumerate(entry.not_match)],
    ]
    yield (render.Span(entry.id, render.Tone.HEADING),)
    for label, text, tone in rows:
        yield from render.labelled_lines(label, text, tone, width=render.text_width())
