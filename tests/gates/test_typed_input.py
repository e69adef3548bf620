"""What is typed later into something that a command starts is asked about when that is started."""

from __future__ import annotations

import pytest

from gates.policies import gates_with
from interlock.model.action import ToolAction
from interlock.model.verdict import Decision
from interlock.policy.gates.judgement import judge

RULE = "remote-code.run-typed"
OPENING = """\
bash
bash -i
env -i sh
timeout 60 zsh
exec dash
busybox sh
python3
python3 -
node
ssh host
psql shop
sqlite3 shop.db
redis-cli
docker exec -it web bash
tmux
gdb ./app
source /dev/stdin
read line; eval "$line"
eval "$(cat)"
bash | tee log
"""
NOT_OPENING = """\
bash -c 'ls'
bash build.sh
python3 app.py
python3 -m http.server
python3 - <<< 'print(1)'
echo ls | bash
ssh host uptime
psql shop -c 'select 1'
sqlite3 shop.db 'select 1'
tmux capture-pane -p
make test
cat
eval "$(ssh-agent)"
source <(kubectl completion bash)
sudo systemctl status nginx
"""


def _rules(command: str, **more: object) -> list[str]:
    verdict = judge(ToolAction(name="Bash", params={"command": command, **more}), gates_with(""))
    return [finding.rule for finding in verdict.findings]


@pytest.mark.parametrize("command", OPENING.splitlines())
def test_a_program_that_would_run_it_needs_a_person(command: str) -> None:
    assert RULE in _rules(command, interactive=True)
    assert RULE not in _rules(command)


@pytest.mark.parametrize(
    "command", ["sudo -s", "sudo -i", "sudo su -", "doas -s", "sudo bash", "vim -c ':!sh'"]
)
def test_a_shell_with_all_rights_or_on_the_side_needs_a_person_whoever_types(command: str) -> None:
    assert RULE in _rules(command)
    assert RULE in _rules(command, interactive=True)


@pytest.mark.parametrize("command", NOT_OPENING.splitlines())
def test_one_that_was_given_something_else_to_run_does_not(command: str) -> None:
    assert RULE not in _rules(command, interactive=True)


def test_it_is_asked_about() -> None:
    call = ToolAction(name="Bash", params={"command": "bash", "interactive": True})

    assert judge(call, gates_with("")).decision is Decision.REQUIRE_CONFIRMATION


def test_what_comes_from_the_terminal_is_typed() -> None:
    assert RULE in _rules("bash < /dev/tty")
    assert RULE not in _rules("read -r answer < /dev/tty")
