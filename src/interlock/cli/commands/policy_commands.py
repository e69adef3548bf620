"""The policy that counts here, `init` of a file for one, and the `rules` that it answers by."""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import Final

import click
from msgspec import json

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import governing, note_refusal, operator_token, policy_refused
from interlock.cli.call.options import (
    chosen_policy,
    chosen_user_policy,
    json_option,
    ledger_call,
    policy_options,
    show,
)
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    escape,
    labelled_lines,
    labelled_rows,
    text_width,
)
from interlock.cli.text.summary_page import next_line, policy_lines
from interlock.errors import InputError
from interlock.policy.config.complaints import is_list, notation
from interlock.policy.config.document import MergedPolicy
from interlock.policy.config.key import OBSERVE, PRESETS, in_short
from interlock.policy.config.policy_changes import in_words, policy_changes_between
from interlock.policy.config.reference import (
    policy_json_schema,
    project_starter,
    starter,
    user_starter,
)
from interlock.service.policies import builtin_rules, rule_tests
from interlock.service.policies.catalogue import CatalogueEntry, catalogue, pack_titles
from interlock.service.policies.policy_files import default_policy_text, found_policy
from interlock.service.policies.rule_tests import RuleTest
from interlock.views.policy_summary import PolicySummary, policy_summary
from interlock.views.units import counted

_ORIGIN_TONES: Final = {"default": Tone.PLAIN, "user": Tone.CODE, "project": Tone.CAREFUL}
_OWNER_ONLY: Final = 0o600
_MOST_PADDING: Final = 64
_BELOW: Final = " " * len("default  ")
_OBSERVED: Final = "observe: what it matches goes ahead, and is told with what it would have done"


@click.group("policy", cls=Commands)
@policy_options
def policy_command() -> None:
    """Show, test and adopt the policy."""


@policy_command.command("show")
@policy_options
@json_option
def show_policy_command() -> None:
    """Print the merged policy, with where each value came from.

    Examples:
      interlock policy show
      interlock policy show --no-project --json
    """
    policy = chosen_policy()
    merged = policy.merged
    values = [
        {"key": place.path, "value": place.value, "origin": place.origin} for place in merged.places
    ]
    show({"hash": merged.hash, "values": values}, _policy_lines(merged))
    note_refusal(policy)


@policy_command.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of policy files, for editors.

    Examples:
      interlock policy schema > policy.schema.json
    """
    schema = policy_json_schema(builtin_rules.default_lists())
    click.echo(json.format(json.encode(schema), indent=2))


@policy_command.command("test")
@policy_options
@json_option
@click.pass_context
def test_command(context: click.Context) -> None:
    """Run the examples of every rule, yours and the built-in ones.

    Exit code: 0 when every example holds, 1 when one does not.

    Examples:
      interlock policy test
      interlock policy test --policy policy.toml --json
    """
    policy = chosen_policy()
    own = list(rule_tests.user_rule_tests(policy))
    tests = [*own, *rule_tests.pack_tests(policy, builtin_rules.packs_with_examples())]
    failures = [test for test in tests if not test.holds]
    value = {
        "rules": _count_of_rules(tests),
        "examples": len(tests),
        "own": {"rules": len(policy.user_rules), "examples": len(own)},
        "failed": len(failures),
        "failures": failures,
    }
    yours = f"yours: {counted(len(policy.user_rules), 'rule')}, {counted(len(own), 'example')}"
    show(value, [(Span(yours),), *test_lines(tests, failures)])
    note_refusal(policy)
    context.exit(ExitCode.FAILED if failures else ExitCode.ALLOWED)


@ledger_call("adopt", group=policy_command, decides=True)
@policy_options
def adopt_command() -> None:
    """Put your policy in force in the ledger, also where it is looser.

    A policy that is only tighter is in force by itself, as soon as a ledger is opened with it.

    Examples:
      interlock policy adopt
      interlock policy adopt --policy policy.toml
    """
    policy = chosen_user_policy()
    with governing() as interlock:
        before = interlock.governor.context.policy.config
        changes = policy_changes_between(before, policy.config)
        for line in changes:
            click.echo(escape(line), err=True)
        token = operator_token(interlock, "adopt a policy")
        is_new = interlock.adopt(policy, token=token)
    said = "it counts from now on" if is_new else "it counted already"
    value = {"hash": policy.hash, "changes": changes, "adopted": is_new}
    show(value, [badge_line("ADOPTED", Tone.ALLOW, said)])


def test_lines(tests: Sequence[RuleTest], failures: Sequence[RuleTest]) -> Iterator[Line]:
    """Yield a line per failed example, then how many there were."""
    for test in failures:
        wanted = "should match" if test.expected else "should not match"
        why = f": {test.problem}" if test.error else ""
        failed = f"  {test.rule} {wanted} `{test.example}`{why}"
        yield (Span("failed", Tone.BAD), Span(failed))
    count = f"{len(tests)} examples of {_count_of_rules(tests)} rules, {len(failures)} failed"
    yield (Span(count),)


def _policy_lines(merged: MergedPolicy) -> Iterator[Line]:
    width = min(_MOST_PADDING, max(len(place.path) for place in merged.places))
    for place in merged.places:
        value, *below = _folded(place.value, text_width() - len(_BELOW) - width)
        line = f"  {place.path:<{width}}  {value}"
        yield (Span(f"{place.origin:<7}", _ORIGIN_TONES[place.origin]), Span(line))
        yield from ((Span(each),) for each in below)
    yield from ((), (Span(f"hash {merged.hash}"),))


def _folded(value: object, room: int) -> Iterator[str]:
    """Yield a value in words; a list of texts with no room for it goes on below, as TOML."""
    words = in_words(value)
    texts = [each for each in value if isinstance(each, str)] if is_list(value) else []
    if not texts or len(words) <= room:
        yield words
        return
    yield "["
    line = _BELOW
    for item in map(notation, texts):
        if line != _BELOW and len(line) + len(item) + len(" ,") > text_width():
            yield line
            line = _BELOW
        line += f" {item},"
    yield from (line, f"{_BELOW}]")


def _count_of_rules(tests: Sequence[RuleTest]) -> int:
    return len({test.rule for test in tests})


@click.command("init")
@click.option(
    "--user/--project",
    "for_user",
    default=True,
    help="Write your own policy (the default), or that of the project you stand in.",
)
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    help="What holds where no file says otherwise; without it, what is in force stays.",
)
@click.option("--full", is_flag=True, help="Write every key with its default, as comments.")
@click.option("--force", is_flag=True, help="Replace the file; the old one is kept as FILE.1.")
@json_option
def init_command(*, for_user: bool, preset: str | None, full: bool, force: bool) -> None:
    """Write a policy file with the settings that people change.

    The preset `balanced` is the default; `observe` tells, but stops only what is critical; `strict`
    is for runs that nobody watches.

    Examples:
      interlock init
      interlock init --preset observe
      interlock init --project
    """
    places = settings.current_places()
    file = places.user_file if for_user else places.project_file
    if file.exists() and not force:
        raise click.ClickException(f"`{file}` exists; pass --force to replace it")
    text = _starter(preset, for_user=for_user, full=full)
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = _kept_beside(file) if file.exists() else None
    if for_user:
        # The file holds the fingerprint key, which nobody else may read, not even briefly.
        file.touch(mode=_OWNER_ONLY)
        file.chmod(_OWNER_ONLY)
    file.write_text(text, encoding="utf-8")
    policy, places = found_policy(), settings.current_places()
    standing, refused = policy_summary(policy, places), policy_refused(policy)
    next_one = "interlock status" if refused is None else "interlock policy adopt"
    value = {
        "wrote": str(file),
        "kept": kept and str(kept),
        "policy": standing,
        "policy_refused": refused,
        "next": next_one,
    }
    lines = list(_init_lines(str(file), standing, refused, next_one))
    if kept is not None:
        lines[1:1] = labelled_rows(("kept", f"what stood there before: {kept}"))
    show(value, lines)


def _kept_beside(file: Path) -> Path:
    """Keep what a file holds beside it, under the first name that is free."""
    names = (file.with_name(f"{file.name}.{number}") for number in count(1))
    beside = next(name for name in names if not name.exists())
    # It may hold a fingerprint key as well.
    beside.touch(mode=_OWNER_ONLY)
    beside.write_bytes(file.read_bytes())
    return beside


def _starter(preset: str | None, *, for_user: bool, full: bool) -> str:
    key = secrets.token_hex(32) if for_user else None
    in_force = "balanced" if for_user else chosen_user_policy().config.preset
    if not for_user and preset and PRESETS.index(preset) < PRESETS.index(in_force):
        raise InputError(
            f"`{preset}` is milder than `{in_force}`, which your own policy has: a project may only"
            f" tighten; `interlock init --preset {preset}` writes your own"
        )
    if not full:
        limits = builtin_rules.preset_limits(preset or in_force)
        return starter(preset, in_force, limits, fingerprint_key=key)
    default = default_policy_text()
    if key is None:
        return project_starter(default, preset=preset)
    return user_starter(default, preset=preset, fingerprint_key=key)


def _init_lines(
    file: str, standing: PolicySummary, refused: str | None, next_one: str
) -> Iterator[Line]:
    yield badge_line("WROTE", Tone.ALLOW, file)
    yield from policy_lines(standing, refused)
    why = "has the ledger take it over" if refused else "says what is governed, and what is next"
    yield next_line(next_one, why)


class _PackNames(Commands):
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
    """List the rules, and what the policy makes of each.

    PACK lists the rules of one pack only.

    Examples:
      interlock rules
      interlock rules git --json
      interlock rules show git.push-force
    """
    if context.invoked_subcommand is None:
        _print_listing(None)


@rules_command.command("show")
@click.argument("rule_id", metavar="ID")
@json_option
@policy_options
def show_rule_command(*, rule_id: str) -> None:
    """Show one rule: why it matches, what to do instead, and its examples.

    Examples:
      interlock rules show git.push-force
    """
    policy = chosen_policy()
    entries = {entry.id: entry for entry in catalogue(policy)}
    if rule_id not in entries:
        close = difflib.get_close_matches(rule_id, entries, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "`interlock rules` lists them all"
        raise InputError(f"no rule is called `{rule_id}`; {hint}")
    show(entries[rule_id], _entry_lines(entries[rule_id]))
    note_refusal(policy)


def _listing_of(pack: str) -> click.Command:
    listing = click.Command(
        pack, callback=partial(_print_listing, pack), help=f"List the rules of `{pack}`."
    )
    return json_option(policy_options(listing))


def _print_listing(pack: str | None) -> None:
    entries = [entry for entry in catalogue(chosen_policy()) if pack in (None, entry.pack)]
    if pack is not None and not entries:
        known = ", ".join(f"`{each}`" for each in pack_titles())
        raise InputError(f"no pack is called `{pack}`; there are {known}")
    show(entries, _listing_lines(entries))


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
            answer = f"{in_short(entry.decision):<5}  {entry.severity.value:<8}"
            yield (Span(f"  {entry.id:<{width}}  {answer}  {entry.reason}", tone),)


def _entry_lines(entry: CatalogueEntry) -> Iterator[Line]:
    plain, code = Tone.PLAIN, Tone.CODE
    rows = (
        ("decision", f"{in_short(entry.decision)} ({entry.severity.value})", plain),
        *([("mode", _OBSERVED, Tone.CAREFUL)] if entry.mode == OBSERVE else ()),
        ("why", entry.reason, plain),
        *([("instead", entry.remediation, plain)] if entry.remediation else ()),
        *([("when", entry.when, code)] if entry.when else ()),
        *[("" if at else "matches", text, code) for at, text in enumerate(entry.match)],
        *[("" if at else "ignores", text, code) for at, text in enumerate(entry.not_match)],
    )
    yield (Span(entry.id, Tone.HEADING),)
    for row in rows:
        yield from labelled_lines(*row)
