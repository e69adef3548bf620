"""What a person who says "always" may write into the policy; nothing here writes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from interlock.model.verdict import Finding

_TABLES: Final = {"destructive-ops": "destructive-ops.rules", "secrets": "secrets.rules"}
_BEFORE_THE_PATH: Final = "protected-paths."


def recommendation(findings: Iterable[Finding]) -> str:
    """Return the lines of a policy under which a person would not be asked about this again.

    Each finding is answered by its own rule, as narrowly as the policy can say it.
    """
    asking = [each for each in findings if each.decision.value == "require-confirmation"]
    tables: dict[str, list[str]] = {}
    blocks: list[str] = []
    for finding in asking:
        table = _TABLES.get(finding.gate)
        if table is not None and _is_listed(finding):
            rule = finding.rule.removeprefix("secrets.")
            line = f'{_quoted(rule)} = "warn"  # {_one_line(finding.message)}'
            tables.setdefault(table, []).append(line)
        else:
            blocks.append(_block(finding))
    named = [f"[{table}]\n" + "\n".join(dict.fromkeys(lines)) for table, lines in tables.items()]
    return "\n\n".join((*named, *dict.fromkeys(blocks))) + "\n"


def _is_listed(finding: Finding) -> bool:
    """Whether the rule has a name that the policy's tables know."""
    return "." in finding.rule and finding.rule != "secrets.oversize-content"


def _block(finding: Finding) -> str:
    match finding.gate:
        case "protected-paths":
            path = finding.rule.removeprefix(_BEFORE_THE_PATH)
            return f'[[protected-paths.entries]]\npath = {_quoted(path)}\ndecision = "warn"'
        case "diff-size":
            return '[diff-size]\ndecision = "warn"'
        case "rules":
            return f'# in [[rules]] {_quoted(finding.rule)}, which is yours: decision = "warn"'
        case "budget":
            return '[budgets]\nunpriced = "warn"'
        case _:
            return f"# no key of the policy silences `{finding.rule}` alone: see `docs/policy.md`"


def _quoted(text: str) -> str:
    import json  # noqa: PLC0415 - a JSON string is a TOML string as well

    return json.dumps(text)


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
