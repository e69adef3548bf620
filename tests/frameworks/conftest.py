"""What the tests of the frameworks share: a scripted model and a ledger."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from gates.policies import gates_with
from interlock import Interlock, Run
from scripted_model import ScriptedModel, scripted_model
from service.ledgers import operator_of

_POLICY = """
[[rules]]
id = "releases-are-for-people"
when = 'commands.exists(c, c.program == "touch" && "released" in c.args)'
decision = "require-confirmation"
message = "a person releases"
"""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Generator[ScriptedModel]:
    """A model that every provider's library finds by the environment."""
    with scripted_model() as model:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        monkeypatch.setenv("MODEL", "scripted")
        for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
            monkeypatch.delenv(name)
        yield model


@pytest.fixture
def interlock(tmp_path: Path) -> Generator[Interlock]:
    """A ledger in a file, under a policy by which a person releases."""
    place, keys = tmp_path / "ledger" / "ledger.db", tmp_path / "ledger" / "keys"
    place.parent.mkdir()
    with Interlock.open(place, policy=gates_with(_POLICY), keys=keys) as interlock:
        yield interlock


@pytest.fixture
def operator(interlock: Interlock) -> str:
    """The token of the ledger's operator."""
    return operator_of(interlock)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that an agent works in."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def run(interlock: Interlock, folder: Path) -> Run:
    """A run of the ledger."""
    return interlock.run("try", workspace=folder)
