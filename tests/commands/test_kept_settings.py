"""Settings that git keeps: those that everybody has, and those that run something."""

import pytest

from commands.lines import commands_in, followed


@pytest.mark.parametrize(
    "line",
    [
        "git config alias.st 'status -sb'",
        "git config set --global core.pager cat",
        "git config --global core.pager 'less -FRX'",
        "git config core.editor 'code --wait'",
        "git config core.fsmonitor FALSE",
    ],
)
def test_a_usual_value_is_marked(line: str):
    assert followed(line).commands[0].invocation.harmless


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("git config alias.st '!ls'", id="program"),
        pytest.param('git config alias.st "$X"', id="run-time"),
        pytest.param("git config core.pager ./x cat", id="third-word"),
        pytest.param("git config core.pager 'less;x'", id="line"),
        pytest.param("git config core.hooksPath true", id="other-setting"),
        pytest.param("git config core.pager", id="asked-for"),
    ],
)
def test_another_value_is_not(line: str):
    assert not followed(line).commands[0].invocation.harmless


def test_an_alias_is_judged_by_its_words():
    assert "git reset --hard" in commands_in("git config --global alias.x 'reset --hard'")


def test_an_alias_may_begin_with_options():
    assert "rm -rf x" in commands_in("git config alias.x '-c core.pager=\"rm -rf x\" log'")
    assert commands_in("git config user.name -c") == ["git config user.name -c"]
    assert commands_in("git config --list") == ["git config --list"]
