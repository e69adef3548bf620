"""The words of the client are those of `Interlock`: whoever moves to a server changes one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

import pytest

from interlock import AsyncInterlock, AsyncRun, Interlock, NotPermittedError, Run
from interlock.client import AsyncClient, AsyncClientRun, Client, ClientRun, connect

AT_HOME = {"open", "governor", "ledger", "start", "begin", "resumed", "ask"}
"""How a ledger is opened, and what is behind the words."""
ONLY_THERE = {
    *("adopt", "set_up", "unlock", "operators", "add_operator", "change_passphrase"),
    *("recover_operator", "revoke_operator", "sign_in", "sign_out", "checkpoint_store"),
}
"""What stays where the ledger is: passphrases, policies and files."""
PAIRS = [
    (Interlock, Client),
    (Run, ClientRun),
    (AsyncInterlock, AsyncClient),
    (AsyncRun, AsyncClientRun),
]
OTHERWISE = {"Run": "ClientRun", "AsyncRun": "AsyncClientRun"}


def words(kind: type) -> dict[str, Callable[..., object]]:
    return {
        name: word for name, word in inspect.getmembers(kind, callable) if not name.startswith("_")
    }


def shape(word: Callable[..., object]) -> tuple[Sequence[tuple[object, ...]], str]:
    signature = inspect.signature(word)
    own = [
        (each.name, each.kind, each.default, each.annotation)
        for each in signature.parameters.values()
    ]
    answer = str(signature.return_annotation)
    return own[1:], OTHERWISE.get(answer, answer)


@pytest.mark.parametrize(("here", "afar"), PAIRS)
def test_every_word_is_there_with_its_signature(here: type, afar: type) -> None:
    known, asked = words(afar), words(here)
    there = asked.keys() - (AT_HOME if "Interlock" in here.__name__ else {"at_stop", "before_step"})

    assert there - known.keys() == set()
    differing = {name for name in there - ONLY_THERE if shape(known[name]) != shape(asked[name])}
    assert differing - {"start_below"} == set()


@pytest.mark.parametrize("word", sorted(ONLY_THERE))
def test_what_stays_where_the_ledger_is_says_so(word: str) -> None:
    with pytest.raises(NotPermittedError, match=f"`{word}` is not for those who ask from afar"):
        getattr(connect("/nowhere"), word)("a", "b")


def test_properties_are_the_same() -> None:
    for name in ("id", "history", "state", "ledger"):
        assert hasattr(ClientRun, name) or name in ("id", "history")
