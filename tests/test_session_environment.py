"""Tests see none of the settings of the user who runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_environment import HOME, session_environment

USER_ENVIRONMENT = {
    "HOME": "/home/ada",
    "XDG_CONFIG_HOME": "/home/ada/.config",
    "INTERLOCK_POLICY": "/home/ada/policy.toml",
    "INTERLOCK_TOKEN": "interlock-of-ada",
    "OPENAI_API_KEY": "made up",
    "GIT_DIR": "/home/ada/.git",
    "COLUMNS": "40",
    "PYTEST_ADDOPTS": "-x",
}


def test_the_home_of_this_session_does_not_exist():
    assert Path.home() == HOME
    assert not HOME.exists()


def test_the_environment_of_the_user_is_hidden_then_restored(
    monkeypatch: pytest.MonkeyPatch,
):
    for name, value in {**USER_ENVIRONMENT, "INTERLOCK_SHARED": "/data"}.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)

    with session_environment():
        inside = dict(os.environ)

    assert inside["HOME"] == str(HOME)
    assert not USER_ENVIRONMENT.keys() - {"HOME"} & inside.keys()
    assert inside["INTERLOCK_SHARED"] == "/data"
    assert dict(os.environ) == before


def test_writing_to_the_shared_home_fails(tmp_path: Path):
    place = tmp_path / "home"

    with (
        pytest.raises(AssertionError, match=r"tests wrote .*left.* to the shared home"),
        session_environment(place),
    ):
        (place / "left").mkdir(parents=True)
