"""May a check run, and what may it see? What the policy names, and never a credential.

The gates that judge an agent's commands judge the policy's own as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from interlock.model.verdict import Decision, Finding, Verdict
from interlock.policy.actions.name_patterns import listing

_CREDENTIAL_WORDS: Final = frozenset(("AUTH", "COOKIE", "KEY", "KEYS", "PASS", "PAT", "PWD"))
_CREDENTIAL_ENDINGS: Final = (
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
)
_FOLDERS: Final = frozenset(("PWD", "OLDPWD"))


def environment_of_checks(environment: Mapping[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """Return the variables that a check may see, by the list of the policy."""
    return {
        name: value
        for name, value in environment.items()
        if listing(name, allowed) is not None and not is_credential(name)
    }


def is_credential(name: str) -> bool:
    """Tell whether a variable, or a glob of them, is named as credentials are."""
    words = name.upper().replace("*", "_").split("_")
    return name not in _FOLDERS and any(
        word in _CREDENTIAL_WORDS or word.endswith(_CREDENTIAL_ENDINGS) for word in words
    )


def refusing(verdict: Verdict) -> tuple[Finding, ...]:
    """Return why a check may not run, if it may not: nobody is there to confirm it."""
    least = Decision.REQUIRE_CONFIRMATION.rank
    return tuple(each for each in verdict.findings if each.decision.rank >= least)
