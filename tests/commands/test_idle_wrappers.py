"""Wrappers without a command start a shell, and a shell runs what flows in."""

import pytest

from commands.lines import commands_in


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sudo -s <<< 'rm -rf x'", id="letter"),
        pytest.param("sudo -iu me <<< 'rm -rf x'", id="bundled"),
        pytest.param("sudo --login <<< 'rm -rf x'", id="long"),
        pytest.param("echo 'rm -rf x' | sudo su -", id="nested"),
        pytest.param("su - me <<< 'rm -rf x'", id="always"),
        pytest.param("chroot /mnt <<< 'rm -rf x'", id="operand"),
    ],
)
def test_what_flows_in_is_run(line: str):
    assert "rm -rf x" in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sudo -l <<< 'rm -rf x'", id="other-letter"),
        pytest.param("sudo --list <<< 'rm -rf x'", id="other-option"),
        pytest.param("sudo <<< 'rm -rf x'", id="nothing"),
        pytest.param("sudo -s ls <<< 'rm -rf x'", id="command"),
        pytest.param("su -c ls <<< 'rm -rf x'", id="line"),
        pytest.param("nice <<< 'rm -rf x'", id="another-wrapper"),
    ],
)
def test_it_is_not_where_no_shell_is_started(line: str):
    assert "rm -rf x" not in commands_in(line)
