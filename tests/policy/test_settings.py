"""Where policy files are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlock
from interlock import PolicyError, load_policy, settings
from interlock.settings import own_places, places


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

    assert places({}, home=tmp_path, cwd=tmp_path).project == (tmp_path / "interlock.toml",)


def test_the_projects_policy_is_found_upwards_to_the_repositorys_root(tmp_path: Path):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    file = a_file(tmp_path / "repository" / "interlock.toml")
    below = tmp_path / "repository" / "src" / "deep"
    below.mkdir(parents=True)

    assert places({}, home=tmp_path, cwd=below).project == (file,)


def test_every_policy_on_the_way_up_counts_the_outermost_first(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    outer = a_file(tmp_path / "interlock.toml")
    nearer = a_file(tmp_path / "package" / "interlock.toml")

    found = places({}, home=tmp_path, cwd=tmp_path / "package")
    assert found.project == (outer, nearer)
    assert found.project_file == nearer


@pytest.mark.parametrize("kind", ["folder", "file", "link that leads nowhere"])
def test_a_repository_inside_of_another_one_hides_nothing(tmp_path: Path, kind: str):
    (tmp_path / ".git").mkdir()
    outer = a_file(tmp_path / "interlock.toml")
    below = tmp_path / "sub" / "deeper"
    below.mkdir(parents=True)
    match kind:
        case "folder":
            (tmp_path / "sub" / ".git").mkdir()
        case "file":
            a_file(tmp_path / "sub" / ".git")
        case _:
            (tmp_path / "sub" / ".git").symlink_to("gone")

    found = places({}, home=tmp_path, cwd=below)
    assert found.project == (outer,)


def test_a_new_policy_belongs_to_the_nearest_repository(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub" / ".git").mkdir(parents=True)

    found = places({}, home=tmp_path, cwd=tmp_path / "sub")
    assert found.project_file == tmp_path / "sub" / "interlock.toml"


def test_nothing_above_the_repositorys_root_counts(tmp_path: Path):
    a_file(tmp_path / "interlock.toml")
    root = tmp_path / "repository"
    a_file(root / ".git")

    found = places({}, home=tmp_path, cwd=root)
    assert found.project == ()
    assert found.project_file == root / "interlock.toml"


def test_outside_of_a_repository_only_the_folder_itself_counts(tmp_path: Path):
    a_file(tmp_path / "interlock.toml")
    below = tmp_path / "below"
    below.mkdir()

    assert places({}, home=tmp_path, cwd=below).project == ()
    assert places({}, home=tmp_path, cwd=tmp_path).project == (tmp_path / "interlock.toml",)


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


def test_a_nearer_policy_of_a_project_tightens_and_cannot_loosen(tmp_path: Path):
    outer = tmp_path / "interlock.toml"
    outer.write_text("[diff-size]\nenabled = true\nthreshold = 50\n")
    nearer = tmp_path / "nearer.toml"
    nearer.write_text("[diff-size]\nthreshold = 40\n")
    looser = tmp_path / "looser.toml"
    looser.write_text("[diff-size]\nthreshold = 60\n")

    assert load_policy(project=(outer, nearer)).config.diff_size.threshold == 40
    with pytest.raises(PolicyError, match=r"looser\.toml"):
        load_policy(project=(outer, looser))


def test_interlock_is_where_the_environment_and_the_caller_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("INTERLOCK_LEDGER", "postgresql://ada:pass@db.example:5432/ledger?x=1")
    monkeypatch.setenv("INTERLOCK_POLICY", str(tmp_path / "mine.toml"))

    found = settings.current_own_places(
        ledgers=(str(tmp_path / "other.db"), ":memory:"), keys=tmp_path / "k", undo=tmp_path / "u"
    )

    assert {"~/mine.toml", "~/state/interlock", "~/other.db", "~/u"} <= {*found.data}
    assert {"~/config", "~/k"} <= {*found.secrets}
    assert found.readable == (str(tmp_path / "mine.toml"), "~/mine.toml")
    assert found.databases == ("db.example/ledger",)
    assert str(Path(interlock.__file__).resolve().parent) in found.code
    assert "pass" not in str(found)


def test_a_place_behind_a_link_has_both_names(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    found = own_places(
        home=tmp_path / "home",
        user_file=tmp_path / "link" / "policy.toml",
        ledgers=(),
        secrets=(),
        state=(),
    )

    assert {*found.data} == {str(tmp_path / each / "policy.toml") for each in ("link", "real")}


def test_what_python_runs_first_is_named_where_the_package_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    site = tmp_path / "site-packages"
    monkeypatch.setattr(settings, "__file__", str(site / "interlock" / "settings.py"))

    found = settings.current_own_places().code

    assert {str(site / name) for name in ("interlock", "sitecustomize.py", "*.pth")} <= {*found}
