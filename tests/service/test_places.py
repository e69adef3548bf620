"""A ledger is opened where it can be, or it is said what is missing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import InputError, Interlock


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has nothing yet."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("INTERLOCK_LEDGER", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "INTERLOCK_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    return home


def test_a_folder_that_is_missing_is_named_and_not_made(home: Path) -> None:
    with pytest.raises(InputError) as told:
        Interlock.open("no such/ledger.db")

    assert str(told.value) == (
        "the folder `no such` of the ledger `ledger.db` does not exist: create it with"
        " `mkdir -p 'no such'`, or name no ledger: then it is"
        f" {home}/.local/state/interlock/ledger.db"
    )
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("name", ["folder", "folder/", "new/"])
def test_a_folder_is_no_ledger(home: Path, name: str) -> None:
    (home / "folder").mkdir()

    with pytest.raises(
        InputError, match=f"`{name}` is a folder: .* `{name.rstrip('/')}/ledger.db`"
    ):
        Interlock.open(name)
    assert not (home / "new").exists()


def test_the_folder_of_the_ledger_that_counts_is_made(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Interlock.open():
        assert (home / ".local/state/interlock/ledger.db").exists()
    monkeypatch.setenv("INTERLOCK_LEDGER", str(home / "srv" / "ledger.db"))
    with Interlock.open():
        assert (home / "srv" / "ledger.db").exists()


def test_no_password_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_LEDGER", "postgresql://ada:hidden@db/ledger")

    with pytest.raises(InputError, match="then it is that of `INTERLOCK_LEDGER`") as told:
        Interlock.open("no/ledger.db")
    assert "hidden" not in str(told.value)
