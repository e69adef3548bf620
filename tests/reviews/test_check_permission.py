"""What a check sees of the environment: what the policy names, and never a credential."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.reviews.gate_faults import environment_of_checks
from interlock.secrets.credential_rules import names_credential

CREDENTIALS: tuple[str, ...] = (
    "GITHUB_TOKEN",
    "GITHUBTOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "PGPASSWORD",
    "DB_PASS",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "OPENAI_APIKEY",
    "npm_config__auth",
    "SSH_AUTH_SOCK",
    "DB_PWD",
)
PLAIN: tuple[str, ...] = (
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "LC_ALL",
    "TOKENIZERS_PARALLELISM",
    "KEYBOARD",
    "PASSAGE",
)


@pytest.mark.parametrize("name", [*CREDENTIALS, "*_TOKEN", "MY*SECRET*"])
def test_knows_a_credential_by_its_name(name: str) -> None:
    assert names_credential(name)


@pytest.mark.parametrize("name", [*PLAIN, "*", "LC_*"])
def test_takes_nothing_else_for_a_credential(name: str) -> None:
    assert not names_credential(name)


def test_a_check_sees_what_is_named_and_nothing_else() -> None:
    environment = {"PATH": "/bin", "LC_ALL": "C", "LC_TIME": "C", "CI": "1", "path": "x"}

    assert environment_of_checks(environment, ("PATH", "LC_*")) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "LC_TIME": "C",
    }


def test_a_check_sees_no_credential_whatever_is_named() -> None:
    environment = dict.fromkeys((*CREDENTIALS, *PLAIN), "x")

    assert environment_of_checks(environment, ("*",)) == dict.fromkeys(PLAIN, "x")


@given(st.dictionaries(st.text(), st.text()), st.lists(st.text()))
def test_what_a_check_sees_is_part_of_the_environment(
    environment: dict[str, str], allowed: list[str]
) -> None:
    assert environment_of_checks(environment, allowed).items() <= environment.items()
