"""Statements are followed in their order, every branch counts, and nothing runs for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commands.lines import commands_in, described, effects_in, followed, reasons_in
from interlock.commands.analysis import CommandAnalysis, analyze
from interlock.commands.shell.command import Command, Frame
from interlock.commands.values.allowance import Budget
from interlock.service.policies.policy_files import default_policy

_PIECES = st.sampled_from(
    (
        "rm -rf / ~ $X ${X:-y} $(ls) `ls` \"a b\" 'c' $'\\x72' a=b > >> 2>&1 < << <<< EOF | || & "
        "&& ; ;; ( ) { } [[ ]] if then else fi for in do done while case esac function f() sudo "
        "env xargs find . -exec {} + \\; bash -c eval echo sh curl http://h {a,b} * ? [ ] ! # \\ ' "
        '" ` \n \t \0 \ud800 é — cd .. set -- $@ <( >( $(( )) python3 psql DROP'
    ).split(" ")
)
_LINES = st.lists(_PIECES, max_size=16).map(" ".join)
_PLAIN_PIECES = st.sampled_from(
    (
        "ls rm -rf /etc a b.txt 'c d' \"e f\" --x=y -n1 | && || ; > >> 2> 2>&1 >&2 < f.log 2 1 "
        "~/x ~ *.py a? 'a'* "
        "cat sudo env cd .. echo A=b '' \"\" in if time xargs find -exec x'y'z a\"b\"c git push -f"
    ).split(" ")
)
_PLAIN_LINES = st.lists(
    st.tuples(_PLAIN_PIECES, st.sampled_from([" ", "", "  ", "\t"])), max_size=12
).map(lambda parts: "".join(piece + gap for piece, gap in parts))


def _lowered(line: str, *, shortcut: bool, cwd: str | None = None) -> CommandAnalysis:
    gates = default_policy()
    return analyze(
        line,
        cwd=cwd,
        programs=gates.programs,
        places=gates.places,
        nesting=gates.config.limits.nesting,
        longest=gates.config.limits.command_bytes,
        budget=Budget(),
        shortcut=shortcut,
    )


def _plainly(found: CommandAnalysis) -> list[object]:
    """Return everything that a lowered line says, in a form that can be compared."""
    return [
        *[(_command(command), _surroundings(command.frame)) for command in found.commands],
        *[(described(effect), _command(effect.command)) for effect in found.effects],
        *found.unresolved,
    ]


def _command(command: Command) -> list[object]:
    invocation = command.invocation
    taken = (sorted(invocation.flags), invocation.values, invocation.operands)
    return [
        *[command.program, command.argv, command.assignments, command.redirects],
        *[taken, command.cwd, command.text],
    ]


def _surroundings(frame: Frame) -> list[object]:
    return [frame.stdin, frame.printed, frame.depth, frame.via, frame.background]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a; b & c\nd", ["a", "b", "c", "d"]),
        ("a && b || c", ["a", "b", "c"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("! a", ["a"]),
        ("(a; b); { c; }", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done", ["a", "b"]),
        ("until a; do b; done", ["a", "b"]),
        ("case $x in a) b;; *) c;; esac", ["b", "c"]),
        ("for f in a b; do c $f; done", ["c a", "c b"]),
        ("for f in *.py; do c $f; done", ["c ?*.py"]),
        ("for f; do c $f; done", ["c ?$f"]),
        ("set -- a b; for f; do c $f; done", ["set -- a b", "c a", "c b"]),
        ("select f in a; do c $f; done", ["c a"]),
        ("for ((i=0;i<2;i++)); do c; done", ["c", "c"]),
        ("[[ -f x ]] && a", ["a"]),
        ("a # b", ["a"]),
        ("< f", []),
        ("", []),
        (" \n ", []),
        ("#", []),
        ("A=1", []),
        ("A=1 B=2", []),
        ("cat <<E && a\nx\nE", ["cat", "a"]),
        ("cat <<E | a\nx\nE", ["cat", "a"]),
        ("cat <<E | a | b\nx\nE", ["cat", "a", "b"]),
        ("unset A", ["unset A"]),
        ("unset -f A", ["unset -f A"]),
        ("export A=1", ["export A=1"]),
        ("export A", ["export A"]),
    ],
)
def test_every_statement_counts_in_its_order(line: str, commands: list[str]):
    assert commands_in(line) == commands


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("echo 'rm x", ["rm x"]),
        ('rm "x', ["rm x"]),
        ("rm x; if", ["rm x"]),
        ("rm x )", ["rm x"]),
        ("{ rm x", ["rm x"]),
        ("( rm x", ["rm x"]),
        ("if true; then rm x", ["rm x"]),
        ("while true; do rm x", ["rm x"]),
        ("echo `rm x", ["rm x"]),
        ("echo $(rm x", ["rm x"]),
        ("{rm,x}", ["rm x"]),
        ("cat <<E\nx\n; rm x", ["rm x"]),
        ("f( ; rm x", ["rm x"]),
        ("for ; rm x; done", ["rm x"]),
        ("function { rm x", ["rm x"]),
    ],
)
def test_a_broken_line_hides_nothing(line: str, commands: list[str]):
    found = commands_in(line)

    assert reasons_in(line)
    assert set(commands) & set(found) or commands[0] in " ".join(found)


def test_a_broken_line_with_too_many_parts_is_judged_by_its_beginning():
    found = followed("rm x; " + "a;" * 3000 + "'")

    assert any(part.too_much for part in found.unresolved)
    assert any(command.program == "rm" for command in found.commands)


@pytest.mark.parametrize(
    "line",
    [
        "(" * 60 + "rm x" + ")" * 60,
        "echo " + "$(echo " * 60 + "x" + ")" * 60,
        "{ " * 60 + "rm x; " + "}; " * 60,
        "if a; then " * 60 + "b; " + "fi; " * 60,
        "a=x; " + "eval 'eval " * 1 + "a'; " + "eval " + "eval " * 60 + "a",
        "[[ -n " + "$(echo " * 60 + "x" + ")" * 60 + " ]]",
    ],
    ids=["subshells", "substitutions", "groups", "branches", "evals", "tests"],
)
def test_what_is_nested_too_deeply_is_given_up(line: str):
    assert reasons_in(line)


def test_a_line_that_never_ends_is_given_up_once():
    loops = "".join(f"for {name} in {' '.join('abcdefghij')}; do " for name in "abcd")

    found = followed(f"{loops} x; {'done; ' * 4}").unresolved

    assert [part.reason for part in found] == ["it is too complex to be followed to its end"]
    assert found[0].too_much


def test_a_line_that_is_too_long_is_not_read_at_all():
    found = followed("rm x; " * 3000)

    assert found.commands == ()
    assert [part.too_much for part in found.unresolved] == [True]


_BODY = "rm -rf /\n" * 2000


@pytest.mark.parametrize(
    "line",
    [
        f"cat > f <<'E'\n{_BODY}E\nrm x",
        f'cat > f <<"E"\n{_BODY}E\nrm x',
        f"cat > f <<\\E\n{_BODY}E\nrm x",
        f"cat > f <<-'E'\n{_BODY}\t\tE\nrm x",
        f"cat > f <<'E' && rm x\n{_BODY}E\n",
        f"cat > f <<'E'\n{_BODY}E\ncat > g <<'E'\n{_BODY}E\nrm x",
    ],
    ids=["single", "double", "escaped", "indented", "behind", "two"],
)
def test_a_long_quoted_heredoc_is_data_of_any_length(line: str):
    found = followed(line)

    assert found.unresolved == ()
    assert [effect.target for effect in found.effects if effect.kind.value == "delete"] == ["x"]


@pytest.mark.parametrize(
    "line",
    [
        f"echo \"<<'E'\"\n{'rm x; ' * 60}\nE",
        f"echo '<<\\E'\n{'rm x; ' * 60}\nE",
        f"# <<'E'\n{'rm x; ' * 60}\nE",
        f"sh <<'E'\n{'rm x; ' * 60}\nE",
        f"cat <<'E'\nshort\nE\n{'rm x; ' * 200}",
        f"cat <<'E'\n{'a' * 2000}\nE\nrm x",
        f"cat <<'E'\n{'a ' * 100}<<'F'\n{'a' * 2000}\nE\nrm x",
        f"echo {'a' * 1100} <<'E' ; rm x",
    ],
    ids=["quoted", "quoted twice", "comment", "run", "short", "behind", "inside", "open"],
)
def test_only_a_heredoc_is_set_aside(line: str):
    assert "rm x" in commands_in(line + " " * 1100)


def test_what_was_set_aside_is_still_what_flows_in():
    assert "rm x" in commands_in("sh <<'E'\n" + ": a\n" * 300 + "rm x\nE")


@pytest.mark.large
@pytest.mark.parametrize(
    "line",
    ["a && " * 1500 + "b", "a | " * 1500 + "b", "a; " * 2500, "x" * 8000, "'" * 7999, "$(" * 3000],
    ids=["list", "pipeline", "sequence", "word", "quotes", "substitutions"],
)
def test_a_long_line_is_read_in_good_time(line: str):
    started = time.process_time()
    followed(line)

    assert time.process_time() - started < 5


@given(_LINES, st.sampled_from([None, "/srv/app", "", "~"]))
@example("\0", None)
@example("\ud800", None)
@example("<<", None)
@example("f()", None)
@example("for", None)
@example("a=(", None)
@example("${", None)
def test_any_line_is_read_and_always_the_same_way(line: str, cwd: str | None):
    assert _plainly(followed(line, cwd)) == _plainly(followed(line, cwd))


@given(_PLAIN_LINES, st.sampled_from([None, "/srv/app"]))
@example("echo a 2>f", None)
@example("a ;", None)
@example("ls 2 > f", None)
@example("echo a>b", None)
@example("in x", None)
@example("rm -rf ~/* a?b '*'", None)
@example("a* b", None)
@example("ls 12>f", None)
@example("a |", None)
@example("  ", None)
def test_the_shortcut_for_plain_lines_changes_no_answer(line: str, cwd: str | None):
    short = _lowered(line, shortcut=True, cwd=cwd)
    long = _lowered(line, shortcut=False, cwd=cwd)

    assert _plainly(short) == _plainly(long)


@given(_LINES)
def test_a_line_in_a_group_or_behind_a_statement_runs_the_same_commands(line: str):
    if followed(line).unresolved or "#" in line or "\\" in line or "<<" in line:
        return
    alone = [command.argv for command in followed(line).commands]

    assert [command.argv for command in followed(f":; {line}").commands[1:]] == alone


def test_the_answer_is_the_same_in_another_process():
    line = "curl -fsSL -o a http://h | tee b; rm -rf a b $X; git push -uf origin main"
    script = f"from commands.lines import effects_in, followed; print(effects_in({line!r}));"
    script += (
        f"print([(c.argv, c.redirects, c.invocation.values) for c in followed({line!r}).commands])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        check=True,
        text=True,
    )

    here = [
        (command.argv, command.redirects, command.invocation.values)
        for command in followed(line).commands
    ]
    assert done.stdout == f"{effects_in(line)}\n{here}\n"


def test_what_was_lowered_can_be_told_apart_by_kind():
    effects = effects_in("rm a; echo b > c; echo d >> e; mv f g; chmod 777 h")

    assert [effect.split()[0] for effect in effects] == (
        "delete overwrite append move overwrite permit".split()
    )


def test_a_redirection_in_a_pipe_does_not_hide_what_stands_in_front():
    line = 'cd a && ls "$X" 2>&1 | tail -1'

    assert [command.program for command in followed(line).commands] == ["cd", "ls", "tail"]


@pytest.mark.parametrize(
    "line",
    [
        "time (rm x)",
        "time -p (rm x)",
        "cd a; time { rm x; }",
        "true && time ! rm x",
        "time for i in 1; do rm x; done",
        "if true; then time (rm x); fi",
        "coproc (rm x)",
        "coproc NAME (rm x)",
        "! { rm x; }",
        "! rm > log x",
        "while ! rm > log x; do ls; done",
        "true\n\\rm x",
        "eval '{ ls; rm x; }'",
    ],
)
def test_what_a_keyword_stands_in_front_of_is_followed(line: str):
    assert "rm x" in commands_in(line)
    assert reasons_in(line) == []


@pytest.mark.parametrize("shell", ["bash -c", "eval", "bash <<<"])
def test_a_fork_bomb_is_known_in_another_shell_too(shell: str):
    assert any(each.startswith("fork ") for each in effects_in(f"{shell} ':(){{ :|:& }};:'"))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("env | cat", True),
        ("ls; env | sort | tee x", True),
        ("{ env; } | cat", True),
        ("env | grep A | cat", False),
        ("env | cat > x", False),
        ("X=$(env | cat)", False),
    ],
)
def test_what_programs_only_show_is_seen(line: str, shown: bool):
    (command,) = [each for each in followed(line).commands if each.program == "env"]

    assert command.frame.printed is shown
