"""Where policy files are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import settings
from interlock.settings import places


def a_file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "home/.config/interlock/policy.toml"),
        ({"XDG_CONFIG_HOME": "{root}/xdg"}, "xdg/interlock/policy.toml"),
        ({"XDG_CONFIG_HOME": "relative"}, "home/.config/interlock/policy.toml"),
        ({"XDG_CONFIG_HOME": ""}, "home/.config/interlock/policy.toml"),
        (
            {"INTERLOCK_CONFIG_HOME": "{root}/own", "XDG_CONFIG_HOME": "{root}/xdg"},
            "own/policy.toml",
        ),
        ({"INTERLOCK_CONFIG_HOME": ""}, "home/.config/interlock/policy.toml"),
        ({"INTERLOCK_POLICY": "{root}/mine.toml"}, "mine.toml"),
    ],
    ids=["home", "xdg", "xdg relative", "xdg empty", "own folder", "own empty", "own file"],
)
def test_the_users_policy_is_where_the_environment_says(
    tmp_path: Path, environment: dict[str, str], expected: str
):
    filled = {name: value.format(root=tmp_path) for name, value in environment.items()}
    found = places(filled, home=tmp_path / "home", cwd=tmp_path)

    assert found.user_file == tmp_path / expected


def test_without_a_file_there_is_no_users_policy(tmp_path: Path):
    assert places({}, home=tmp_path, cwd=tmp_path).user is None


def test_the_users_policy_counts_where_it_is_found(tmp_path: Path):
    file = a_file(tmp_path / ".config" / "interlock" / "policy.toml")

    assert places({}, home=tmp_path, cwd=tmp_path).user == file


def test_a_named_policy_counts_even_where_there_is_none(tmp_path: Path):
    file = tmp_path / "missing.toml"

    assert places({"INTERLOCK_POLICY": str(file)}, home=tmp_path, cwd=tmp_path).user == file


def test_a_link_that_leads_nowhere_is_not_overlooked(tmp_path: Path):
    (tmp_path / "interlock.toml").symlink_to(tmp_path / "gone.toml")

    assert places({}, home=tmp_path, cwd=tmp_path).project == tmp_path / "interlock.toml"


def test_the_projects_policy_is_found_upwards_to_the_repositorys_root(tmp_path: Path):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    file = a_file(tmp_path / "repository" / "interlock.toml")
    below = tmp_path / "repository" / "src" / "deep"
    below.mkdir(parents=True)

    assert places({}, home=tmp_path, cwd=below).project == file


def test_the_nearest_of_several_projects_policies_counts(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    a_file(tmp_path / "interlock.toml")
    nearer = a_file(tmp_path / "package" / "interlock.toml")

    assert places({}, home=tmp_path, cwd=tmp_path / "package").project == nearer


def test_nothing_above_the_repositorys_root_counts(tmp_path: Path):
    a_file(tmp_path / "interlock.toml")
    root = tmp_path / "repository"
    a_file(root / ".git")

    found = places({}, home=tmp_path, cwd=root)
    assert found.project is None
    assert found.project_file == root / "interlock.toml"


def test_outside_of_a_repository_only_the_folder_itself_counts(tmp_path: Path):
    a_file(tmp_path / "interlock.toml")
    below = tmp_path / "below"
    below.mkdir()

    assert places({}, home=tmp_path, cwd=below).project is None
    assert places({}, home=tmp_path, cwd=tmp_path).project == tmp_path / "interlock.toml"


def test_a_new_projects_policy_belongs_to_the_repositorys_root(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    below = tmp_path / "below"
    below.mkdir()

    assert places({}, home=tmp_path, cwd=below).project_file == tmp_path / "interlock.toml"


def test_this_process_has_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)

    assert settings.current_places() == places(
        {"INTERLOCK_CONFIG_HOME": str(tmp_path)}, home=Path.home(), cwd=tmp_path
    )
