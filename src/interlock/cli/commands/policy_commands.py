"""`interlock policy`: look at the policy that counts, and test it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import json

from interlock import settings
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.options import chosen_policy, json_option, policy_options, wants_json
from interlock.cli.text.render import escape
from interlock.policy.config.layers import MergedPolicy
from interlock.policy.config.policy_changes import policy_rows
from interlock.policy.config.reference import policy_json_schema, project_starter, user_starter
from interlock.service.policies import builtin_rules, rule_tests
from interlock.service.policies.policy_files import default_policy_text
from interlock.service.policies.rule_tests import RuleTest
from interlock.views.json_text import json_text

_ORIGIN_COLOURS: Final = {"default": None, "user": "cyan", "project": "yellow"}
_MOST_PADDING: Final = 64


@click.group("policy")
@policy_options
def policy_command() -> None:
    """Show, describe and test the policy that counts here."""


@policy_command.command("show")
@policy_options
@json_option
def show_command() -> None:
    """Print the merged policy, with where each value came from."""
    merged = chosen_policy().merged
    for line in [json_text(_shown(merged))] if wants_json() else _show_lines(merged):
        click.echo(line)


@policy_command.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of policy files, for editors."""
    schema = policy_json_schema(builtin_rules.default_lists())
    click.echo(json.format(json.encode(schema), indent=2))


@policy_command.command("test")
@policy_options
@json_option
@click.pass_context
def test_command(context: click.Context) -> None:
    """Run the examples of every rule, yours and the built-in ones."""
    gates = chosen_policy()
    tests = [
        *rule_tests.user_rule_tests(gates),
        *rule_tests.pack_tests(gates, builtin_rules.packs_with_examples()),
    ]
    failures = [test for test in tests if test.fired is not test.expected]
    report = [json_text(_tested(tests, failures))] if wants_json() else test_lines(tests, failures)
    for line in report:
        click.echo(line)
    context.exit(ExitCode.FAILED if failures else ExitCode.ALLOWED)


def test_lines(tests: Sequence[RuleTest], failures: Sequence[RuleTest]) -> Iterator[str]:
    """Yield a line per failed example, then how many there were."""
    for test in failures:
        wanted = "should fire on" if test.expected else "should not fire on"
        failed = click.style("failed", fg="red")
        yield f"{failed}  {test.rule} {wanted} `{escape(test.example)}`"
    yield f"{len(tests)} examples of {_count_of_rules(tests)} rules, {len(failures)} failed"


def _shown(merged: MergedPolicy) -> dict[str, object]:
    values = [
        {"key": path, "value": value, "origin": merged.origins[path]}
        for path, value in merged.values.items()
    ]
    return {"hash": merged.hash, "values": values}


def _show_lines(merged: MergedPolicy) -> Iterator[str]:
    rows = list(policy_rows(merged))
    width = min(_MOST_PADDING, max(len(row.path) for row in rows))
    for row in rows:
        origin = click.style(f"{row.origin:<7}", fg=_ORIGIN_COLOURS[row.origin])
        yield f"{origin}  {escape(row.path):<{width}}  {escape(row.value)}"
    yield ""
    yield f"hash {merged.hash}"


def _tested(tests: Sequence[RuleTest], failures: Sequence[RuleTest]) -> dict[str, object]:
    return {
        "rules": _count_of_rules(tests),
        "examples": len(tests),
        "failed": len(failures),
        "failures": failures,
    }


def _count_of_rules(tests: Sequence[RuleTest]) -> int:
    return len({test.rule for test in tests})


_OWNER_ONLY = 0o600


@click.command("init")
@click.option(
    "--user/--project",
    "for_user",
    default=True,
    help="Write your own policy (the default), or that of the project you stand in.",
)
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
def init_command(*, for_user: bool, force: bool) -> None:
    """Write a policy file that shows every key with its default, as comments."""
    file, text = _user_policy() if for_user else _project_policy()
    if file.exists() and not force:
        raise click.ClickException(f"`{file}` exists; pass --force to replace it")
    file.parent.mkdir(parents=True, exist_ok=True)
    if for_user:
        # The file holds the fingerprint key, which nobody else may read, not even briefly.
        file.touch(mode=_OWNER_ONLY)
        file.chmod(_OWNER_ONLY)
    file.write_text(text, encoding="utf-8")
    click.echo(f"wrote {file}")


def _user_policy() -> tuple[Path, str]:
    text = user_starter(default_policy_text(), fingerprint_key=secrets.token_hex(32))
    return settings.current_places().user_file, text


def _project_policy() -> tuple[Path, str]:
    text = project_starter(default_policy_text())
    return settings.current_places().project_file, text
