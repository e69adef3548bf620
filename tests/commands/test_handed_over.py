"""Functions that code hands over, and texts that it writes to shells: what comes of them."""

from __future__ import annotations

from shlex import quote

import pytest

from commands.lines import commands_in, followed, reasons_in


def _effects(line: str) -> list[str]:
    return [f"{effect.kind.value} {effect.target}" for effect in followed(line).effects]


@pytest.mark.parametrize(
    "code",
    [
        'import os; os.spawnlp(os.P_WAIT, "rm", "rm", "x")',
        'import os; os.spawnvp(os.P_WAIT, "rm", ["rm", "x"])',
        'import os; os.posix_spawnp("rm", ["rm", "x"], {})',
        'import os; os.\\\nsystem("rm x")',
        'import os; (os. # here\n  system)("rm x")',
        r'import os; os.system("\N{LATIN SMALL LETTER R}m x")',
        r'import os; os.system(f"\N{LATIN SMALL LETTER R}m x")',
        r'import os; os.system("\162\155 x")',
        'import subprocess; subprocess.run(["bash"], input=b"rm x")',
        'import subprocess; subprocess.Popen(["sh", "-s"], stdin=-1).communicate(b"rm x")',
        'import os; os.popen("bash", "w").write("rm x")',
        'import subprocess; subprocess.run(["a", "x"], executable="rm")',
        'import ctypes; ctypes.CDLL(None).system(b"rm x")',
        'import functools, os; functools.partial(os.system, "rm x")()',
        'import threading, os; threading.Timer(0, os.system, ["rm x"]).start()',
        'import operator, os; operator.methodcaller("system", "rm x")(os)',
        "import cProfile; cProfile.run('import os; os.system(\"rm x\")')",
        'import timeit; timeit.timeit(\'os.system("rm x")\', "import os")',
        "import code; code.InteractiveConsole({}).push('import os; os.system(\"rm x\")')",
        'import sys; sys.modules["os"].system("rm x")',
    ],
)
def test_the_command_that_code_runs_is_found(code: str):
    assert "rm x" in commands_in(f"python3 -c {quote(code)}")


@pytest.mark.parametrize(
    "code",
    [
        'import threading, shutil; threading.Thread(target=shutil.rmtree, args=("x",)).start()',
        'from threading import Thread; from shutil import rmtree as r; Thread(target=r, args="x")',
        'import shutil; [f("x") for f in [shutil.rmtree]]',
        'import shutil; [shutil.rmtree][0]("x")',
        'import shutil; vars(shutil)["rmtree"]("x")',
        'import shutil; shutil.__dict__["rmtree"]("x")',
        '__import__("shutil").__dict__["rmtree"]("x")',
        '__import__("shutil").__dict__.rmtree("x")',
        'import operator, shutil; operator.methodcaller("rmtree", "x")(shutil)',
    ],
)
def test_a_function_that_is_handed_over_does_what_it_does(code: str):
    assert _effects(f"python3 -c {quote(code)}") == ["delete x"]


@pytest.mark.parametrize(
    "code",
    [
        "import operator; operator.methodcaller()",
        'import operator; list(map(operator.methodcaller("upper"), ["rm x"]))',
        "import timeit; timeit.timeit(work, number=3)",
        'import subprocess; subprocess.run(["bash", "-c", "ls"]); print("rm x")',
        'import subprocess; subprocess.run(["bash"], input=script)',
        'import subprocess; subprocess.run(["bash"]); open("f").write(text)',
        r'import os; os.system("\N{NO SUCH LETTER}")',
        r'import os; os.system("\999")',
        "import ctypes; ctypes.CDLL(None).getpid()",
        "vars(); vars(1)",
        'print(("a",)[0])',
        'x.__dict__["a"]("rm x")',
    ],
)
def test_code_that_hands_over_nothing_of_the_kind_deletes_nothing(code: str):
    analysis = followed(f"python3 -c {quote(code)}")

    assert not [each for each in analysis.commands if each.program == "rm"]
    assert not [effect for effect in analysis.effects if effect.kind.value == "delete"]


def test_a_program_that_only_the_run_names_is_not_taken_for_the_first_word():
    code = 'import subprocess; subprocess.run(["ls", "x"], executable=tool)'

    assert reasons_in(f"python3 -c {quote(code)}") == ["its program is known only at run time"]


def test_an_argument_that_only_the_run_decides_stays_one():
    code = 'import os; os.execl("/bin/rm", "rm", "-rf", folder)'

    assert "/bin/rm -rf ?$argument" in commands_in(f"python3 -c {quote(code)}")


def test_numbers_in_texts_are_decimal_in_lua():
    code = r'os.execute("\114\109 x")'

    assert "rm x" in commands_in(f"lua -e {quote(code)}")


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("zsh -c '=rm x'", ["delete x"]),
        ("_=a rm x", ["delete x"]),
        ("_+=a =2 b-c=d rm x", ["delete x"]),
        ("_=a", []),
        ("A=x rm $A", ["delete x", "delete $A"]),
        ("A=x sh -c 'rm $A'", ["delete x"]),
        ("A=x; A=y rm $A", ["delete x"]),
        ("env a-b=c rm x", ["delete x"]),
        ("find a -name b -print0 | xargs -0 rm", ["delete a/b"]),
        ("find a -name b -printf '%p\\n' | xargs rm", ["delete a/b"]),
        ("find a -name b -printf '%h\\n' | xargs rm", ["delete $stdin"]),
        (
            "find a -name b -fprintf /dev/stdout c | xargs rm",
            ["overwrite /dev/stdout", "delete $stdin"],
        ),
        ("find a -name b -exec dirname {} \\; | xargs rm", ["delete $stdin"]),
        ("find a -name b -ls -exec rm c \\;", ["delete c"]),
        ("find a -name b -ls | xargs rm", ["delete $stdin"]),
        ("find a -name b -exec echo c \\; | xargs rm", ["delete c"]),
        ("find a -name b -exec echo c \\; -print | xargs rm", ["delete c", "delete a/b"]),
        ("declare -A h=(a b k x); rm ${h[k]}", ["delete x"]),
        ("declare -A h=(k); rm x${h[k]}", ["delete x"]),
        ("declare -A h=($a x); rm ${h[k]}", ["delete $h"]),
        ('Rscript -e \'system2("rm", c("x", "y"))\'', ["delete x", "delete y"]),
        ("printf 'a b\\0c\\0' | xargs -0 rm", ["delete a b", "delete c"]),
        ("cd /etc && tar xf x", ["overwrite /etc", "overwrite /etc/…"]),
        ("cd a && tar xf x", ["overwrite .", "overwrite ./…"]),
        ("tar xPf x", ["overwrite /", "overwrite /…"]),
        ("tar xf x", []),
        ("patch -d /etc < x", ["read x", "overwrite /etc", "overwrite /etc/…"]),
        ("cd /etc && patch -i x", ["overwrite /etc", "overwrite /etc/…"]),
        ("patch -i x", []),
        ("patch f x.diff", ["overwrite f"]),
        ("patch -d /etc f x.diff", ["overwrite /etc/f"]),
        ("patch -d /etc /srv/f x.diff", ["overwrite /srv/f"]),
        ("patch -o g f x.diff", ["overwrite g"]),
        ("git apply --directory=/etc x", ["overwrite /etc", "overwrite /etc/…"]),
        ("git apply --directory /etc x", ["overwrite /etc", "overwrite /etc/…"]),
        ("git -C /etc apply x", ["overwrite /etc", "overwrite /etc/…"]),
        ("git -C /etc am --directory=a x", ["overwrite /etc/a", "overwrite /etc/a/…"]),
        ("cd /etc && git am x", ["overwrite /etc", "overwrite /etc/…"]),
        ("git apply x", []),
        ("git apply --check --directory=/etc x", []),
        ("git apply --stat --apply --directory=a x", ["overwrite a", "overwrite a/…"]),
        ("patch --dry-run -d /etc", []),
        ("python3 -m zipfile -e x /etc", ["overwrite /etc", "overwrite /etc/…"]),
        ("python3 -m zipfile -l x", []),
    ],
)
def test_the_same_effect_in_another_spelling(line: str, effects: list[str]):
    assert _effects(line) == effects


@pytest.mark.parametrize(
    "line",
    [
        "start-stop-daemon -S -x",
        "start-stop-daemon -K -p f",
        "dotenv run",
        "gdb -batch -ex bt ./a.out",
        "less +G f",
        "less f",
        "arch",
        "ruby -rjson -e 'puts 1'",
        "perl -pe 's/rm x/y/' f",
    ],
)
def test_what_runs_nothing_else_stands_alone(line: str):
    assert [command.program for command in followed(line).commands] == [line.partition(" ")[0]]


def test_a_daemon_without_a_divider_takes_the_words_behind_its_program():
    assert "rm x" in commands_in("start-stop-daemon -S --exec rm x")
    assert "rm x" in commands_in("start-stop-daemon -S -- rm x")


def test_what_a_variable_makes_python_call_is_noted():
    noted = commands_in("PYTHONBREAKPOINT=os.system python3 a.py")

    assert "loaded-code PYTHONBREAKPOINT=os.system" in noted
    assert len(commands_in("PYTHONBREAKPOINT=ipdb.set_trace python3 a.py")) == 1
