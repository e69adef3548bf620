"""Work on a tree that lies in a temporary folder is marked: nobody's work is lost there."""

from __future__ import annotations

import pytest

from commands.lines import command_in, commands_in, followed
from interlock.commands.programs.places import TEMP


def _is_marked(line: str, cwd: str | None = None) -> bool:
    last = [each for each in followed(line, cwd).commands if each.program == "git"][-1]
    return last.invocation.harmless != ""


@pytest.mark.parametrize(
    "line",
    [
        "cd /tmp/x && git reset --hard",
        "git -C /tmp/x clean -fdx",
        "git -C /tmp -C x clean -fdx",
        'cd "$(mktemp -d)" && git checkout -- .',
        "git init /tmp/x && cd /tmp/x && git branch -D a",
        "cd /tmp/x && git init && git stash clear",
        "cd /tmp/x && git clone /srv/a.git && git -C a tag -d v1",
        "git clone /srv/a.git /tmp/b && git -C /tmp/b tag -d v1",
    ],
)
def test_work_on_a_passing_tree_is_marked(line: str):
    assert _is_marked(line, "/home/dev/app")


@pytest.mark.parametrize(
    ("line", "cwd"),
    [
        ("git reset --hard", "/home/dev/app"),
        ("git -C ~/x reset --hard", "/home/dev/app"),
        ("cd /tmp && git reset --hard", "/home/dev/app"),
        ("git reset --hard", "/tmp/app"),
        ("cd /tmp/x && git branch -D a", "/home/dev/app"),
        ("git init && git stash clear", "/home/dev/app"),
        ("git worktree add /tmp/w && cd /tmp/w && git stash clear", "/home/dev/app"),
        ("cd /tmp/x && GIT_DIR=~/a/.git git reset --hard", "/home/dev/app"),
        ("cd /tmp/x && export GIT_DIR=~/a/.git && git reset --hard", "/home/dev/app"),
        ("cd /tmp/x && git --git-dir ~/a/.git reset --hard", "/home/dev/app"),
        ("ln -s ~/work /tmp/w && cd /tmp/w && git reset --hard", "/home/dev/app"),
        ("cd /tmp/x && git", "/home/dev/app"),
        ("git init", None),
        ("cd /tmp && git clone", None),
        ("git init /tmp/x && cd /tmp/x && git push --force", "/home/dev/app"),
    ],
)
def test_work_that_others_share_is_not_marked(line: str, cwd: str | None):
    assert not _is_marked(line, cwd)


def test_where_nobody_said_where_the_project_lies_the_option_tells():
    assert _is_marked("git -C /tmp/x reset --hard")
    assert _is_marked("git init /tmp/x && git -C /tmp/x branch -D a")


def test_all_below_a_variable_may_be_all_there_is():
    [deleted] = followed('rm -rf "$tmp/"').effects
    [spared] = followed('rm -rf "$tmp"').effects

    assert not deleted.places & TEMP
    assert spared.places & TEMP


def test_what_git_knows_is_gits_under_the_name_of_hub_too():
    assert command_in("hub push --force", "git").line == "git push --force"
    assert commands_in("hub pull-request -m push") == ["hub pull-request -m push"]
