"""What names hold: assignments in every form, arrays, attributes, builtins that set names."""

from __future__ import annotations

import pytest

from commands.lines import command_in, commands_in, reasons_in


def _words(line: str) -> list[str]:
    """Return the words of the last `rm` on the line; `?` marks what only the run decides."""
    words = command_in(line, "rm").argv[1:]
    return [word.text if word.known else f"?{word.text}" for word in words]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A=x; A+=y; rm $A", ["xy"]),
        ("A+=y; rm $A", ["?$Ay"]),
        ("A=(x y); A[1]=z; rm ${A[@]}", ["x", "z"]),
        ("A=(x y); A[1]+=z; rm ${A[1]}", ["yz"]),
        ("A=([-1]=x); rm ${A[@]}", ["?$A"]),
        ("A=(x y); B=(0); rm ${A[B[0]]}", ["x"]),
        ("A[0]+=z; rm ${A[0]}", ["?$A"]),
        ("A=x; A[1]=y; rm ${A[@]}", ["x", "y"]),
        ("A=(x y); A[-1]=z; rm ${A[@]}", ["x", "z"]),
        ("A=(x); A[7]=y; rm ${A[@]}", ["?$A"]),
        ("A=(x y); A=z; rm ${A[@]}", ["z", "y"]),
        ("A=(x); A+=(y z); rm ${A[@]}", ["x", "y", "z"]),
        ("A=x; A+=(y); rm ${A[@]}", ["x", "y"]),
        ("A+=(y); rm ${A[@]}", ["y"]),
        ("A=([1]=y [0]=x); rm ${A[@]}", ["x", "y"]),
        ("A=([7]=y [0]=x); rm ${A[@]}", ["?$A"]),
        ("A=(x); A[7]=y; A[0]=z; rm ${A[@]}", ["?$A"]),
        ("A=(x $B y); A[0]=z; A[2]=w; rm ${A[@]}", ["?$A"]),
        ("A=([0]=x [1]=y); rm ${A[@]}", ["x", "y"]),
        ("A=([0]=$B); rm ${A[0]}", ["?$A"]),
        ("A=([0]=x y); rm ${A[@]}", ["?$A"]),
        ("A=($(date) y); rm ${A[1]}", ["?$A"]),
        ("A=(x); unset 'A[0]'; rm ${A[@]}", ["?$A"]),
        ("A=x; unset A; rm $A", ["?$A"]),
    ],
)
def test_arrays(line: str, words: list[str]):
    assert _words(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("declare -A H=([k]=x ['l']=y); rm ${H[k]} ${H[l]}", ["x", "y"]),
        ("declare -A H; H[k]=x; rm ${H[k]} a${H[m]}", ["x", "a"]),
        ("declare -A H; H[k]=x; H+=([l]=y); j=l; rm ${H[k]} ${H[$j]}", ["x", "y"]),
        ("declare -A H; H[k]=x; H=([l]=y); rm a${H[k]}", ["a"]),
        ("declare -A H; H[k]=x; H[$j]=y; rm ${H[k]}", ["?$H"]),
        ("declare -A H; H[k]=x; rm ${H[$j]}", ["?$H"]),
        ("declare -A H; H[k]=x; f() { H[k]=y; }; f; rm ${H[k]}", ["y"]),
        ("declare -A H; H[k]=x; f() { unset H; }; f; H[0]=z; rm ${H[0]}", ["z"]),
        ("declare -A H; H[k]=x; while a; do H[k]=y; done; rm ${H[k]}", ["?${H…}"]),
    ],
)
def test_associative_arrays(line: str, words: list[str]):
    assert _words(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("declare 'A=x'; rm $A", ["x"]),
        ("A=x; declare 'A+=y'; rm $A", ["xy"]),
        ("A=(x); declare 'A[0]=y'; rm ${A[0]}", ["?$A"]),
        ("declare -u A; A=x; rm $A", ["?${A…}"]),
        ("declare -u A=x; rm $A", ["?${A…}"]),
        ("declare -n R=A; A=x; rm $R", ["x"]),
        ("declare -n R=A; R=x; rm $A", ["x"]),
        ("declare -n R=$B; R=x; rm $R", ["x"]),
        ("A=x; readonly A; A=y; rm $A", ["x"]),
        ("A=(x); readonly A; A[0]=y; rm ${A[0]}", ["x"]),
        ("f() { local A=y; B=z; }; A=x; f; rm $A $B", ["x", "z"]),
        ("f() { declare -g A=y; }; A=x; f; rm $A", ["y"]),
        ("f() { unset A; }; A=x; f; rm $A", ["?$A"]),
        ("f() { L=(y); }; L=(x); f; rm ${L[0]}", ["y"]),
        ("f() { unset L; }; L=(x); f; rm ${L[0]}", ["?$L"]),
        ("f() { g() { rm y; }; }; f; g", ["y"]),
        ("L=(x); while a; do L+=(y); done; rm ${L[0]}", ["?$L"]),
    ],
)
def test_attributes_and_functions(line: str, words: list[str]):
    assert _words(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("read -r A B <<< 'x y z'; rm $A $B", ["x", "y", "z"]),
        ("read -r A <<< 'x  y'; rm \"$A\"", ["x  y"]),
        ("read -ra A <<< 'x y'; rm ${A[1]}", ["y"]),
        ("read -ra A < list; rm ${A[1]}", ["?$A"]),
        ("read A <<< 'x\\y'; rm $A", ["?$A"]),
        ("read -r A <<< ''; rm a$A", ["a"]),
        ("read -r A < /dev/null; rm a$A", ["a"]),
        ("find x -name y | while read -r A; do rm $A; done", ["?x/y"]),
        ("find x y -name z | while read -r A; do rm $A; done", ["?$A"]),
        ("read -n 1 A <<< xy; rm $A", ["?$A"]),
        ("IFS=,; read -r A <<< x,y; rm $A", ["x", "y"]),
        ("IFS=,; read -r A <<< xy; rm $A", ["xy"]),
        ("IFS=; read -r A <<< ' x'; rm \"$A\"", [" x"]),
        ("printf '' | { read -r A; rm a$A; }", ["a"]),
        ("read 'A[0]' <<< x; rm ${A[0]}", ["?$A"]),
        ("mapfile -t A <<< $'x\\ny'; rm ${A[1]}", ["y"]),
        ("mapfile -s 1 A <<< $'x\\ny'; rm ${A[0]}", ["?$A"]),
        ("let A=1+2; rm $A", ["3"]),
        ("while getopts a:b o; do rm $o; done", ["?$o"]),
        ("printf -v A %s x; rm $A", ["x"]),
        ("set a b; rm $1", ["a"]),
        ("set -e a b; rm $1", ["a"]),
        ("set -o errexit; rm $1", ["?$1"]),
        ("set -- a; set -; rm $1", ["a"]),
        ("set -- a; set - b; rm $1", ["b"]),
        ("set -- a b c; shift 2; rm $1", ["c"]),
        ("set -- a; shift 3; rm $1", ["a"]),
        ("set -- a b; shift $n; rm $1", ["?$@"]),
        ("shift; rm $1", ["?$1"]),
    ],
)
def test_builtins_that_set_names(line: str, words: list[str]):
    assert _words(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A=(/); if a; then A=(x); fi; rm ${A[0]}", ["?$A"]),
        ("A=(/); a && A[0]=x; rm ${A[0]}", ["?$A"]),
        ("if a; then A=(x); else A=(y); fi; rm ${A[@]}", ["?${A…}"]),
        ("A=(x y); a && A+=(z); rm ${A[@]}", ["x", "y", "?${A…}"]),
        ("A=/; a && mapfile -t A <<< x; rm $A", ["?${A…}"]),
        ("declare -A H G; H[k]=x; G[k]=y; a && H[k]=z; rm ${G[k]}", ["y"]),
        ("declare -A H; H[k]=/; H[l]=y; a && H[k]=x; rm ${H[k]} ${H[l]}", ["?${H…}", "y"]),
        ("set -- /; a && set -- x; rm $1", ["?${@…}"]),
        ("set -- /; case $x in a) set -- y;; esac; rm $1", ["?${@…}"]),
        ("set -- x /; a && shift; rm $1", ["?${@…}"]),
        ("A=(/); printf x | A=(x); rm ${A[0]}", ["?$A"]),
        ("A=/; a && unset A; rm ${A:-x}", ["?$A"]),
        ("f() { unset A; }; A=/; a && f; rm ${A:-x}", ["?$A"]),
        ("A=/; a && A=x; A+=etc; rm $A", ["?$Aetc"]),
        ('A=/; a && A=x; B=("$A"); rm ${B[0]}', ["?$B"]),
    ],
)
def test_what_may_not_have_happened_leaves_arrays_and_names_in_doubt(line: str, words: list[str]):
    assert _words(line) == words


@pytest.mark.parametrize(
    "line",
    [
        "A=/; a && A=x; rm $A",
        "A=/; a && A=x; rm ${A[0]}",
        "A=/; a && A=x; B=$A; rm $B",
        "A=/; a && A=x; export B=$A; rm $B",
        "A=/; a && A=x; for f in $A; do rm $f; done",
        "A=/; a && A=x; for f in x $A; do rm $f; done",
        "A=(x /); n=1; a && n=0; rm ${A[n]}",
    ],
)
def test_a_name_is_followed_with_each_value_that_it_may_have(line: str):
    assert {each for each in commands_in(line) if each.startswith("rm")} == {"rm /", "rm x"}


def test_a_value_that_is_the_same_either_way_is_in_no_doubt():
    assert commands_in("A=/; a && A=x; B=${A:+y}; rm $B") == ["a", "rm y"]


def test_what_may_have_been_set_is_followed_with_each_value_and_beyond_some_with_none():
    branches = "; ".join(f"if a; then A={value}; fi" for value in "uvwxyz")

    followed = commands_in(f"A=x; {branches}; rm $A")

    assert "rm ?$A" in followed
    assert "rm z" in followed


def test_a_value_that_comes_back_is_held_in_doubt_once():
    followed = commands_in("A=x; if a; then A=y; fi; if b; then A=x; fi; if c; then A=y; fi; rm $A")

    assert sorted({each for each in followed if each.startswith("rm")}) == ["rm x", "rm y"]


@pytest.mark.parametrize(
    "line",
    [
        "A[$(rm x)]=1",
        "A[$(rm x)]=1 ls",
        "read 'A[$(rm x)]' <<< y",
        "A='a[$(rm x)]'; let A",
        "A='a[$(rm x)]'; [[ $A -eq 1 ]]",
        "A='a[`rm x`]'; [[ $A -eq 1 ]]",
        "mapfile -C 'rm x;' -c 1 A <<< y",
        "readarray -C 'rm x;' -c 1 A <<< y",
        "PS4='$(rm x)' bash -x script.sh",
        "A=1 B=2\nC=3\nrm x",
        "alias z='ls; rm x'; z",
        "git clone 'ext::rm x'",
        "git clone 'ext::sh -c rm% x'",
        "make SHELL='rm x'",
        "make 'A=$(shell rm x)'",
        "make 'A=${shell rm x'",
        "make --eval='all: ; rm x'",
        "flatpak run --command=rm org.example.App x",
        "vim -c 'call system(\"rm x\")'",
        "awk 'BEGIN { \"rm x\" | getline }'",
        "awk '{ print | \"rm x\" }' f",
        "awk '{ print | \"rm x\" substr($1, 2) }' f",
        "sed '1e rm x' f",
        "sed '# say\n1e rm x' f",
        "sed 'y/a/b/;1e rm x' f",
        "A=(x) rm x",
        'echo "$((rm x); ls)"',
        "PS4='$((rm x); ls)' bash -x script.sh",
        "echo $((rm x) | cat)",
        """PS4='\\"$(rm x)' bash -x script.sh""",
        'awk \'{ print > "f"; print | "rm x" }\' f',
        "sed 's/a/rm x/e' f",
        "echo a$IFS$(rm x)$IFS/",
        "for i in {1..300}; do rm x; done",
        "ssh -o ProxyCommand='rm x' -o ProxyCommand=none -o ProxyCommand host",
        "python3 -c 'import os; os.\uff53ystem(\"rm x\")'",
        'node -e \'require("child_process").\\u0065xecSync("rm x")\'',
        "git config alias.z '!rm x'",
    ],
)
def test_commands_that_run_while_something_is_set_or_told_are_followed(line: str):
    assert "rm x" in commands_in(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("enable -f ./x.so x", "it loads code from `./x.so`"),
        ("awk '{ print | $1 }' f", "its script runs a command that only the run decides"),
        ("git clone 'ext::x %S'", "git is to start a program as a transport"),
        ("rm -rf a) b", "it is not a complete shell command, and it deletes or overwrites"),
        ("ssh -o PKCS11Provider=./x.so host", "it loads code from `./x.so`"),
    ],
)
def test_what_is_out_of_sight_is_told(line: str, reason: str):
    assert reason in reasons_in(line)
