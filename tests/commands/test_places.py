"""What kind of place a path is, and how a path is made plain."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interlock.commands.programs.places import NAMES, OWN, PROJECT, SCRATCH, TEMP, as_project
from interlock.commands.shell.scope import normal_path
from interlock.service.policies.policy_files import default_policy

_PARTS = st.sampled_from(["a", "b", ".", "..", "", "~", "$X", "c:", ".env", "*"])
_PATHS = st.lists(_PARTS, min_size=1, max_size=6).map("/".join)
_FOLDERS = st.one_of(st.none(), st.sampled_from(["/srv/app", "/", "~", "$X", "sub", ".."]))


def _places(path: str, project: str | None = None) -> str:
    bits = default_policy().places.of(path, project)
    return "+".join(name for name, bit in NAMES.items() if bits & bit)


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/", "root"),
        ("/*", "root"),
        ("/et?", "root"),
        ("C:/*", "root"),
        ("~", "home"),
        ("~/.*", "home"),
        ("~root", "home"),
        ("/home/me", "home"),
        ("/home/me/x", "outside"),
        ("/home/*", "system-root+outside"),
        ("/Users/me/.ssh/id_rsa", "credential+outside"),
        ("/root/x", "outside"),
        ("/var/root/.ssh/id_rsa", "credential+outside"),
        ("/var/root/x", "outside"),
        ("/tmp/x", "temp"),
        ("$BATS_TMPDIR", "temp"),
        ("$tmp/x", "temp"),
        ("$tmp/", "unknown"),
        ("$TEMPLATE_DIR", "unknown"),
        ("/tmp", "outside"),
        ("/tmp/*", "outside"),
        ("/tmpfiles", "outside"),
        ("/tmp/a/../../etc", "outside"),
        ("/tmp/a/..", "outside"),
        ("$TMPDIR", "temp"),
        ("$TMPDIR/x", "temp"),
        ("$X", "unknown"),
        ("$X/build", "scratch+unknown"),
        ("$X/../build", "unknown"),
        ("/etc", "system-root+outside"),
        ("/etc/*", "system-root+system+outside"),
        ("/etc/app.conf", "system+outside"),
        ("/dev/sda", "device+outside"),
        ("src/app.py", "project"),
        ("build/x", "scratch+project"),
        ("build/.env", "credential+project"),
        (".env.example", "project"),
        ("../other", "outside"),
        ("D:/data", "outside"),
        ("dir\\.env", "credential+project"),
        (".git/config", "git+project"),
        ("~/.bashrc", "persistence+outside"),
        ("~/.bash_history", "credential+history+outside"),
    ],
)
def test_a_path_is_known_by_where_it_stands(path: str, where: str):
    assert _places(path) == where


@pytest.mark.parametrize(
    ("path", "project", "where"),
    [
        ("/srv/app/x", "/srv/app", "project"),
        ("/srv/app/build", "/srv/app/", "scratch+project"),
        ("/srv/app", "/srv/app", "outside"),
        ("/srv/apple", "/srv/app", "outside"),
        ("/home/me/app/x", "/home/me/app", "project"),
        ("x", "/", "project"),
        ("/tmp/x/a", "/tmp/x", "temp"),
        ("/tmp/x/build", "/tmp/x", "temp+scratch"),
        ("/tmp/y", "/tmp/x", "temp"),
    ],
)
def test_what_lies_below_the_project_is_the_projects(path: str, project: str, where: str):
    assert _places(path, project) == where


@pytest.mark.parametrize(
    ("path", "project", "where"),
    [
        ("/tmp/x/a", "/tmp/x", PROJECT | OWN),
        ("/tmp/x/build/a", "/tmp/x", PROJECT | SCRATCH | OWN),
        ("/tmp/y", "/tmp/x", TEMP),
        ("/tmp/a", "/tmp", TEMP),
        ("/srv/app/x", "/srv/app", PROJECT),
    ],
)
def test_a_project_can_be_seen_as_one_although_it_lies_in_a_temporary_folder(
    path: str, project: str, where: int
):
    assert as_project(default_policy().places.of(path, project)) == where


def test_a_credential_is_known_wherever_it_lies():
    places = default_policy().places

    assert places.is_credential("/home/me/.aws/credentials")
    assert not places.is_credential("/home/me/.aws/config")
    # To some file systems capitals are no difference.
    assert places.is_credential("~/.SSH/ID_RSA")
    assert not places.is_credential("~/.config/Notes")


@pytest.mark.parametrize(
    ("text", "cwd", "plain"),
    [
        ("a/../b", None, "b"),
        ("../b", None, "../b"),
        ("../../b", "a", "../b"),
        ("/../etc", None, "/etc"),
        ("./a//b/", None, "a/b"),
        (".", None, "."),
        ("", "/etc", "/etc"),
        ("x", "/etc", "/etc/x"),
        ("/x", "/etc", "/x"),
        ("~/..", None, "~/.."),
        ("$X/../y", None, "$X/../y"),
        ("$HOME/x", "/etc", "~/x"),
        ("${HOME}", None, "~"),
        ("$HOMES/x", None, "$HOMES/x"),
        ("${USERPROFILE}/x", None, "~/x"),
        ("C:\\x", "/etc", "C:\\x"),
        ("C:/a/../b", "/etc", "C:/b"),
        ("/dev/fd/../environ", None, "/proc/self/environ"),
    ],
)
def test_a_path_is_made_plain(text: str, cwd: str | None, plain: str):
    assert normal_path(text, cwd) == plain


@given(_PATHS, _FOLDERS)
def test_a_plain_path_stays_as_it_is(text: str, cwd: str | None):
    plain = normal_path(text, cwd)

    assert normal_path(plain, None) == plain


@given(_PATHS, _FOLDERS)
def test_an_absolute_path_never_leaves_its_root(text: str, cwd: str | None):
    plain = normal_path(f"/{text}", cwd)

    assert plain.startswith("/")
    assert ".." not in plain.split("/")


@given(_PATHS)
def test_the_folder_counts_only_for_relative_paths(text: str):
    assume(not text.startswith(("/", "~", "$")) and text[1:3] != ":/")

    assert normal_path(text, "/srv") == normal_path(f"/srv/{text}", None)


@given(st.text(max_size=30), st.one_of(st.none(), st.text(max_size=10)))
def test_any_text_is_some_place(path: str, project: str | None):
    assert _places(path, project)


def test_a_path_beyond_all_measure_is_judged_by_its_beginning():
    assert _places("/etc/" + "a/" * 600_000) == "system+outside"
