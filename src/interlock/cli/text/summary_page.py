"""Which policy is in force, as text, and the line that says what comes next."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.adapters.installation.client_hooks import CLIENTS
from interlock.cli.text.render import Line, Span, Tone, labelled_rows
from interlock.views.policy_summary import PolicySummary


def policy_lines(policy: PolicySummary, refused: str | None) -> Iterator[Line]:
    """Yield which policy is in force and its limits; `refused` is why the ledger has another."""
    chosen = "the default" if policy.origin == "default" else f"from the {policy.origin}'s file"
    observed = ", ".join(policy.observed_rules)
    yield from labelled_rows(
        ("policy", f"preset {policy.preset} ({chosen}), {policy.rules_text}"),
        ("files", ", ".join(policy.files) or "none: the built-in policy"),
        ("limits", f"a run may use {policy.limits_text}; change them under [budgets.run]"),
        ("observes", f"{observed}; a rule that warns warns all the same" if observed else ""),
        ("not yet", refused or "", Tone.CAREFUL),
    )


def program_of(client: str) -> str:
    """Return what a person types to start a client."""
    return CLIENTS[client].program


def never_seen(client: str) -> str:
    """Return that only tests went through a client's hooks so far, and how to change that."""
    return (
        f"no session seen yet: start `{program_of(client)}` and ask it to list the files here; then"
        " `interlock runs` lists it"
    )


def next_line(command: str, why: str) -> Line:
    """Return the last line of whatever comes first: the command that comes next, and why."""
    return Span("next  ", Tone.LABEL), Span(command, Tone.CODE), Span(f"  {why}")
