"""Fills the pages that are made from the program itself: rules, policy keys, command line.

A page holds the line `<!-- generated: NAME -->`; what stands there is written while the page is
read, so that it can never be out of date and nothing generated is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import click
from sphinx.application import Sphinx

from interlock.cli.command_group import cli
from interlock.cli.text.render import plain_text
from interlock.cli.tour.tour_stories import run_story
from interlock.policy.config.reference import policy_reference_markdown
from interlock.service.policies.builtin_rules import default_lists
from interlock.service.policies.catalogue import SECRETS, CatalogueEntry, catalogue, pack_titles
from interlock.service.policies.policy_files import default_policy

_LONGEST_EXAMPLE = 80
_WIDTH = 92
_BEFORE_THE_THEME = 400


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call us with every page that it reads."""
    app.connect("source-read", fill)
    app.connect("html-page-context", name_pages_only, priority=_BEFORE_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put what is generated where a page asks for it."""
    for name, generate in _GENERATORS.items():
        mark = f"<!-- generated: {name} -->"
        if mark in source[0]:
            source[0] = source[0].replace(mark, generate())


def name_pages_only(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Let the navigation of a page copy the names of all pages, not every section of each."""
    tree = context["toctree"]

    def names(**options: object) -> str:
        return tree(**{**options, "maxdepth": 1})

    context["toctree"] = names


def policy_reference() -> str:
    """Return every key of the policy, without the page's own heading."""
    text = policy_reference_markdown(default_lists())
    return text.partition("\n")[2]


def rule_catalogue() -> str:
    """Return a table of rules per pack."""
    return "\n".join(_catalogue_lines())


def command_line() -> str:
    """Return the help of every command."""
    context = click.Context(cli, info_name="interlock", **cli.context_settings)
    return "\n".join(_help_lines(cli, context))


def sample_run() -> str:
    """Return a run as `interlock show` prints it, without what is different every time."""
    os.environ["COLUMNS"] = str(_WIDTH)
    text = "\n".join(map(plain_text, run_story()))
    return f"```text\n{text[text.index('Figures') :]}\n```"


def _catalogue_lines() -> Iterator[str]:
    titles = pack_titles()
    for pack, group in groupby(catalogue(default_policy()), key=lambda entry: entry.pack):
        title, _, about = titles[pack].partition(". ")
        entries = list(group)
        yield f"\n## `{pack}`: {title}\n\n{about} {len(entries)} rules.\n"
        yield from _secret_table(entries) if pack == SECRETS else _rule_list(entries)


def _rule_list(entries: list[CatalogueEntry]) -> Iterator[str]:
    """One definition per rule: a table with five columns of prose cannot be read."""
    for entry in entries:
        yield f"`{entry.id}` ({entry.decision}, {entry.severity.value})"
        yield f": {entry.reason}. *Instead:* {entry.remediation}.\n"
        matching, other = _examples(entry.match), _examples(entry.not_match)
        yield f"  Matches {matching}" + (f"; does not match {other}.\n" if other else ".\n")


def _secret_table(entries: list[CatalogueEntry]) -> Iterator[str]:
    yield "| rule | kind of credential | severity |"
    yield "|---|---|---|"
    for entry in entries:
        yield f"| `{entry.id}` | {_cell(entry.reason)} | {entry.severity.value} |"


def _examples(lines: tuple[str, ...]) -> str:
    return ", ".join([_code(line) for line in lines[:2]])


def _code(text: str) -> str:
    """Return a code span; one that holds backticks gets a longer fence."""
    line = " ".join(text.split())
    if len(line) > _LONGEST_EXAMPLE:
        line = line[: _LONGEST_EXAMPLE - 1] + "…"
    fence = "``" if "`" in line else "`"
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _help_lines(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"\n## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _help_lines(child, click.Context(child, info_name=name, parent=context))


_GENERATORS: dict[str, Callable[[], str]] = {
    "policy reference": policy_reference,
    "rule catalogue": rule_catalogue,
    "command line": command_line,
    "sample run": sample_run,
}
