"""`interlock token` and `interlock login`, typed at a terminal, against a server that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock import Interlock
from server.served import environment_in, serving_apart
from service.ledgers import PASSPHRASE, operator_of
from terminal import Ended, interlock_at_terminal


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of a user whose ledger has an operator."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_in(tmp_path).items():
            patch.setenv(name, value)
        with Interlock.open() as interlock:
            operator_of(interlock)
    return tmp_path


def typed(home: Path, *words: str) -> Ended:
    return interlock_at_terminal(words, [PASSPHRASE], environment=environment_in(home), cwd=home)


def test_a_token_is_made_listed_and_let_go(home: Path) -> None:
    made = typed(home, "token", "create", "ci", "--role", "viewer")
    listed = typed(home, "token", "list")
    credential = re.search(r"\b[0-9a-f]{12}\b", listed.output)
    assert credential is not None
    revoked = typed(home, "token", "revoke", credential[0])

    assert made.code == listed.code == revoked.code == 0
    assert len(made.output.strip()) > 40
    assert made.output.strip() not in listed.output
    assert "ci" in listed.output
    assert "ci" not in typed(home, "token", "list").output


def test_a_token_that_decides_is_shown_at_the_terminal_only(home: Path) -> None:
    made = typed(home, "token", "create", "boss", "--role", "admin")
    as_json = typed(home, "token", "create", "boss", "--role", "admin", "--json")

    assert made.code == 0
    token = re.search(r"shown this once: (\S{40,})", made.screen)
    assert token is not None
    assert token[1] not in made.output + made.errors
    assert as_json.code == 2
    assert "terminal only" in as_json.errors


def test_a_link_into_the_console_is_shown_at_the_terminal_only(home: Path) -> None:
    with serving_apart(home) as server:
        shown = typed(home, "login")
        as_json = typed(home, "login", "--json")
        link = re.search(r"http://\S+(/enter\?code=\S+)", shown.screen)
        assert link is not None
        entered = server.ask("GET", link[1])

    assert shown.code == 0
    assert "code=" not in shown.output + shown.errors
    assert entered.status == 303
    assert as_json.code == 2


def test_without_a_server_it_says_how_to_start_one(home: Path) -> None:
    ended = typed(home, "login")

    assert ended.code == 1
    assert "interlock serve" in ended.errors
