"""Which program really runs: behind wrappers, functions, aliases and odd spellings."""

from __future__ import annotations

import pytest

from commands.lines import command_in, commands_in, effects_in, followed, reasons_in
from interlock import evaluate_command


@pytest.mark.parametrize(
    "line",
    [
        "sudo rm x",
        "sudo -u root A=b rm x",
        "sudo -nu root rm x",
        "sudo -uroot rm x",
        "sudo -- rm x",
        "env A=b rm x",
        "env -i -u B rm x",
        "env -S 'rm x'",
        "env -S'rm x'",
        "env --split-string='rm x'",
        "timeout -k 5 10 rm x",
        "nice -n 5 nohup setsid rm x",
        "command rm x",
        "builtin command rm x",
        "exec rm x",
        "eval rm x",
        "eval 'rm' x",
        "watch rm x",
        "watch -n 1 'rm x'",
        "watch -x rm x",
        "flock /tmp/l rm x",
        "flock /tmp/l -c 'rm x'",
        "su -c 'rm x' root",
        "su root -c 'rm x'",
        "su --command='rm x'",
        "script -qc 'rm x' /dev/null",
        "coproc rm x",
        "coproc N { rm x; }",
        "busybox rm x",
        "uv run rm x",
        "perf stat rm x",
        "bwrap --ro-bind / / -- rm x",
        "bwrap --ro-bind / / rm x",
        "tini rm x",
        "sem 'rm x'",
        "entr -s 'rm x'",
        "sg root 'rm x'",
        "script -q /dev/null rm x",
        "crictl exec c rm x",
        "hyperfine --prepare 'rm x' ls",
        "nosuchtool run rm x",
        "nosuchtool -v exec box rm x",
        "nosuchtool -- rm x",
        "nosuchtool -c 'rm x'",
        "nosuchtool --command='rm x'",
        "nosuchtool -c 'ls; othertool -e \"rm x\"'",
        "nosuchrun -n 1 rm x",
        "su root -- -c 'rm x'",
        "doppler run --command='rm x'",
        "doppler run -- rm x",
        "mise exec -c 'rm x'",
        "infisical run --command='rm x'",
        "nix develop -c rm x",
        "npx -c 'rm x'",
        "ssh -p 1 h rm x",
        "docker exec -it c rm x",
        "docker compose exec -T web rm x",
        "kubectl exec p -- rm x",
        "tmux new -d 'rm x'",
        "/bin/rm x",
        "'C:\\bin\\RM.EXE' x",
        "/bin/r? x",
        r"\rm x",
        "r\\\nm x",
        "rm \\\n x",
        "cat <<'E'\na\\\nE\nrm x",
        "'r'm x",
        "A=b rm x",
        "A=b B=c rm x > log",
        "cat y | rm x > log",
        "cat y |& rm x > log",
        "! rm x",
        "time rm x",
        "echo a # b\\\nrm x",
    ],
)
def test_the_program_inside_is_found(line: str):
    assert any(" ".join(shown.split()[1:]) == "x" for shown in _as("rm", line))


@pytest.mark.parametrize(
    "line",
    [
        "sudo",
        "sudo -l",
        "env",
        "env A=b",
        "command -v rm",
        "docker ps",
        "docker",
        "docker -D",
        "kubectl exec p",
        "kubectl exec p --",
        "doppler run",
        "mise exec ''",
        "watch",
        "uv add rm",
        "tini x",
        "nosuchtool rm x",
        "nosuchtool run x",
        "nosuchtool run eval x",
        "nosuchtool -c x",
        "nosuchtool -x=y",
    ],
)
def test_a_wrapper_without_a_command_is_a_command(line: str):
    assert [command.program for command in followed(line).commands] == [line.split(maxsplit=1)[0]]


@pytest.mark.parametrize("line", ["su root", "su -c", "su"])
def test_su_without_a_command_starts_a_shell(line: str):
    assert [command.program for command in followed(line).commands] == ["su", "sh"]


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("python3.11 x.py", "python"),
        ("/usr/bin/Python3 x.py", "python"),
        ("perl5.36 x", "perl"),
        ("md5 x", "md5"),
        ("base64 x", "base64"),
        ("PSQL.exe x", "psql"),
        ("./build.sh", "build.sh"),
        ("$HOME/bin/tool x", "tool"),
        ("/opt/$X", ""),
        ("/bin/zz? x", ""),
    ],
)
def test_a_program_is_known_by_its_plain_name(line: str, program: str):
    assert followed(line).commands[0].program == program


@pytest.mark.parametrize(
    ("line", "via"),
    [
        ("rm x", ()),
        ("sudo rm x", ("sudo",)),
        ("sudo env A=b rm x", ("sudo", "env")),
        ("sh -c 'rm x'", ("sh -c",)),
        ("echo x | xargs rm", ("xargs",)),
        ("docker exec c rm x", ("docker",)),
    ],
)
def test_what_a_command_stands_behind_is_noted(line: str, via: tuple[str, ...]):
    assert command_in(line, "rm").frame.via == via


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("ssh h rm /srv/app/x", ["delete /srv/app/x in outside"]),
        ("env -C /etc rm x", ["delete x in system+outside"]),
        ("env --chdir /etc A=b rm x", ["delete x in system+outside"]),
        ("env D=/ sh -c 'rm $D'", ["delete / in root"]),
        ("D=/ sh -c 'rm $D'", ["delete / in root"]),
        ("cd /etc; ssh h 'rm x'", ["delete x in outside"]),
    ],
)
def test_a_wrapper_changes_the_surroundings(line: str, effects: list[str]):
    assert effects_in(line) == effects


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("f() { rm x; }; f", ["rm x"]),
        ("f() { rm $1 $2; }; f a b", ["rm a b"]),
        ('f() { rm "$@"; }; f a "b c"', ["rm a 'b c'"]),
        ("f() { g; }; g() { rm x; }; f", ["rm x"]),
        ("f() (rm x); f", ["rm x"]),
        ("function f { rm x; }; f", ["rm x"]),
        ("f() { rm x; }", []),
        ("f() { f; }; f", []),
        ("f() { rm x; }; bash -c f", []),
    ],
)
def test_functions_are_called(line: str, commands: list[str]):
    assert [shown for shown in commands_in(line) if shown.startswith("rm")] == commands


def test_functions_that_call_each_other_without_end_are_given_up():
    bodies = "; ".join(f"f{index}() {{ f{index + 1}; }}" for index in range(40))

    assert reasons_in(f"{bodies}; f0") == ["it is nested deeper than 24 levels"]


@pytest.mark.parametrize("wrapper", ["time", "coproc", "env", "command", "nohup"])
def test_wrappers_behind_wrappers_come_to_an_end(wrapper: str):
    assert reasons_in(f"{wrapper} " * 24 + "rm a") == []
    assert reasons_in(f"{wrapper} " * 25 + "rm a") == ["it is nested deeper than 24 levels"]


@pytest.mark.parametrize(
    "line",
    [
        "rm() { :; }; command rm x",
        "rm() { :; }; sudo rm x",
        "rm() { :; }; rm x",
        "rm() { :; }; bash -c 'rm x'",
        "rm() { :; }; echo x | xargs rm",
        "if false; then rm() { :; }; fi; rm x",
        "alias rm=echo; rm x",
    ],
)
def test_a_definition_hides_no_program(line: str):
    assert effects_in(line) == ["delete x in project"]


def test_what_a_program_may_run_says_nothing_about_what_it_prints():
    assert commands_in("rm $(nosuchtool run cp x)")[-1] == "rm ?$(…)"


def test_guesses_that_build_on_guesses_are_asked_about():
    line = "nosuchtool run env " * 9 + "rm x"

    assert "it may run programs in programs in programs" in reasons_in(line)
    assert not reasons_in("nosuchtool run env " * 3 + "othertool")


def test_wrappers_without_end_are_given_up_quietly():
    line = "nohup " * 40 + "rm x"

    assert set(commands_in(line)[0].split()) == {"nohup", "rm", "x"}


@pytest.mark.parametrize(
    "line",
    ["$X -rf /", '"$X" a', "$(date) a", "${X}y a", "'' a"],
)
def test_a_program_that_only_the_run_knows_is_unresolved(line: str):
    assert reasons_in(line) == ["its program is known only at run time"]


@pytest.mark.parametrize("line", ["find . -exec", "find . -exec \\;"])
def test_no_words_run_nothing(line: str):
    assert [command.program for command in followed(line).commands] == ["find"]


def test_nothing_is_run_where_a_substitution_prints_nothing():
    assert commands_in("$(true)") == ["true"]


def test_what_is_said_of_a_long_part_is_short():
    verdict = evaluate_command("$A " + "x" * 5000)

    assert [len(finding.excerpt or "") for finding in verdict.findings] == [120]


def test_a_command_is_told_as_a_line():
    assert command_in("sudo rm 'a b' c", "rm").line == "rm a b c"


@pytest.mark.parametrize(
    ("line", "background"),
    [
        ("rm x &", True),
        ("rm x & ls", True),
        ("rm x; ls &", False),
        ("if true; then rm x & fi", True),
    ],
)
def test_a_job_that_nobody_waits_for_is_noted(line: str, background: bool):
    assert command_in(line, "rm").frame.background is background


def _as(program: str, line: str) -> list[str]:
    found = [command for command in followed(line).commands if command.program == program]
    return [" ".join(word.text for word in command.argv) for command in found]


@pytest.mark.parametrize(
    "line",
    [
        "INTERLOCK_X=1 make",
        "INTERLOCK_X=1; make",
        "INTERLOCK_X=1 > f",
        "export INTERLOCK_X=1",
        "echo INTERLOCK_X=1 > .env",
        "printf 'environment:\\n  - INTERLOCK_X=1' | tee compose.yaml > /dev/null",
        "python -c \"import os; os.environ['INTERLOCK_X'] = 'y'\"",
        "HOME=1 interlock runs",
        "export HOME=1; python -m interlock runs",
    ],
)
def test_a_variable_of_interlock_is_heard_of_wherever_it_is_set(line: str):
    noted = [shown for shown in commands_in(line) if shown.startswith("export ")]

    assert any("INTERLOCK_X=" in shown or "interlock:HOME=1" in shown for shown in noted)


def test_other_variables_are_nobodys_business():
    assert commands_in("A=1; HOME=1 make; echo B=1 > .env; INTERLOCKED=1 ls") == [
        "make",
        "echo B=1",
        "ls",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "for f in .venv/bin/*; do $f approve 01a1; done",
        "find .venv/bin -name 'interl*' -exec {} approve 01a1 \\;",
        "~/.local/bin/inter* deny 01a1",
        "python .venv/bin/inter* approve 01a1",
        "cat .venv/bin/interlock | python - approve 01a1",
        "for f in $(ls .venv/bin); do .venv/bin/$f approve 01a1; done",
    ],
)
def test_a_program_that_may_be_interlock_does_not_decide(line: str):
    assert evaluate_command(line).decision.value in {"block", "require-confirmation"}


@pytest.mark.parametrize(
    "line",
    [
        "for f in bin/*; do $f --version; done",
        "for f in bin/*.sh; do $f approve 01a1; done",
        "cat tool.py | python - build",
        "python tools/inter* build",
        "find . -exec {} \\;",
        "find . -exec",
    ],
)
def test_other_programs_that_a_glob_names_are_free(line: str):
    assert evaluate_command(line).decision.value in {"allow", "warn"}


def test_a_program_made_of_a_text_on_the_line_is_asked_about():
    assert evaluate_command("$(rev <<< mr) -rf /").decision.value == "require-confirmation"
