"""Tests see nothing of the user who runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_environment import HOME, session_environment

THEIRS = {
    "HOME": "/home/ada",
    "XDG_CONFIG_HOME": "/home/ada/.config",
    "INTERLOCK_POLICY": "/home/ada/policy.toml",
    "INTERLOCK_TOKEN": "interlock-of-ada",
    "OPENAI_API_KEY": "made up",
    "GIT_DIR": "/home/ada/.git",
    "COLUMNS": "40",
    "PYTEST_ADDOPTS": "-x",
}


def test_this_session_has_a_home_of_its_own():
    assert Path.home() == HOME
    assert not HOME.exists()


def test_nothing_of_the_user_is_left_inside_and_everything_afterwards(
    monkeypatch: pytest.MonkeyPatch,
):
    for name, value in {**THEIRS, "INTERLOCK_SHARED": "/data"}.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)

    with session_environment():
        inside = dict(os.environ)

    assert inside["HOME"] == str(HOME)
    assert not THEIRS.keys() - {"HOME"} & inside.keys()
    assert inside["INTERLOCK_SHARED"] == "/data"
    assert dict(os.environ) == before


def test_who_writes_to_the_shared_home_is_told(tmp_path: Path):
    place = tmp_path / "home"

    with (
        pytest.raises(
            AssertionError, match=r"give the tests that wrote .*left.* a home of their own"
        ),
        session_environment(place),
    ):
        (place / "left").mkdir(parents=True)
