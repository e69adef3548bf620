"""`interlock policy`: look at the policy that counts, and test it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from interlock.service.wiring import Gates, RuleTest

    from interlock.policy.layering import MergedPolicy

_ORIGIN_COLOURS = {"default": None, "user": "cyan", "project": "yellow"}


@click.group("policy")
def policy_group() -> None:
    """Show, describe and test the policy that counts here."""


@policy_group.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(*, as_json: bool) -> None:
    """Print the merged policy, with where each value came from."""
    merged = _load_gates().merged
    if as_json:
        click.echo(_json(_shown(merged)))
    else:
        for line in _show_lines(merged):
            click.echo(line)


@policy_group.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of policy files, for editors."""
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.policy.json_schema import policy_json_schema  # noqa: PLC0415 - the same

    click.echo(_json(policy_json_schema(settings.default_policy_text())))


@policy_group.command("test")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def test_command(context: click.Context, *, as_json: bool) -> None:
    """Run the examples of every rule, yours and the built-in ones."""
    from interlock.service import wiring  # noqa: PLC0415 - commands import late

    tests = wiring.run_rule_tests(_load_gates())
    failures = [test for test in tests if test.fired is not test.expected]
    if as_json:
        click.echo(_json(_tested(tests, failures)))
    else:
        for line in _test_lines(tests, failures):
            click.echo(line)
    context.exit(1 if failures else 0)


def _load_gates() -> Gates:
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.service import wiring  # noqa: PLC0415 - the same

    places = settings.current_places()
    return wiring.load_gates(user=places.user, project=places.project)


def _shown(merged: MergedPolicy) -> dict[str, object]:
    values = [
        {"key": path, "value": value, "origin": merged.origins[path]}
        for path, value in merged.values.items()
    ]
    return {"hash": merged.hash, "values": values}


def _show_lines(merged: MergedPolicy) -> Iterator[str]:
    width = max(len(path) for path in merged.values)
    for path, value in merged.values.items():
        origin = merged.origins[path]
        source = click.style(f"{origin:<7}", fg=_ORIGIN_COLOURS[origin])
        yield f"{source}  {path:<{width}}  {_compact_json(value)}"
    yield ""
    yield f"hash {merged.hash}"


def _tested(tests: Sequence[RuleTest], failures: Sequence[RuleTest]) -> dict[str, object]:
    return {
        "rules": len({test.rule for test in tests}),
        "examples": len(tests),
        "failures": [
            {
                "rule": test.rule,
                "example": test.example,
                "expected": test.expected,
                "fired": test.fired,
            }
            for test in failures
        ],
    }


def _test_lines(tests: Sequence[RuleTest], failures: Sequence[RuleTest]) -> Iterator[str]:
    for test in failures:
        wanted = "should fire on" if test.expected else "should not fire on"
        example = test.example if isinstance(test.example, str) else _compact_json(test.example)
        yield f"{click.style('failed', fg='red')}  {test.rule} {wanted} `{example}`"
    rules = len({test.rule for test in tests})
    yield f"{len(tests)} examples of {rules} rules, {len(failures)} failed"


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _compact_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
