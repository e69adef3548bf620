"""Ways to write a line otherwise, and what each of them may do to the decision.

Every way returns None for lines of which it would change the meaning, and says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, TypeAlias

from interlock.commands.shell.syntax import parse

Rewrite: TypeAlias = Callable[[str], str | None]

_BUILTINS: Final = frozenset(
    (
        ". : [ alias bg break builtin caller cd command compgen complete compopt continue coproc"
        " declare dirs disown echo enable eval exec exit export false fc fg getopts hash help"
        " history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly"
        " return select set shift shopt source suspend test time times trap true type typeset"
        " ulimit umask unalias unset wait !"
    ).split()
)
"""What a shell runs itself: behind a wrapper it is another program, or none."""
_STATEMENT: Final = re.compile(
    r"(?i)\s*(?:drop|delete|truncate|alter|create|update|insert|grant|revoke|select|with|copy)\s+\w"
    r"|\s*\w+(?:\.\w+)*\("
)
"""A line of SQL or of another language: it is known as one only while it stands alone."""
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:@%+,-]+")
_OWN_NAME: Final = re.compile(r"(?:^|[;&|(\n]|\bdo |\bthen |\bfor )\s*([a-z][a-z0-9_]*)(?:=| in )")
"""Names in small letters are the line's own; others may mean something to programs."""


@cache
def is_complete(line: str) -> bool:
    """Whether a shell takes the line as it is, so that more may stand around it."""
    tree = parse(line)
    runs_something = any(child.type != "comment" for child in tree.root.named_children)
    is_whole = not tree.broken and not line.rstrip(" ").endswith("\\")
    return runs_something and is_whole and _STATEMENT.match(line) is None


@cache
def is_simple(line: str) -> bool:
    """Whether the line is one program and its words, with redirections at most."""
    if not is_complete(line) or "<<" in line:
        return False
    tree = parse(line)
    node = tree.root.named_children[0]
    if len(tree.root.children) > 1 or tree.text(tree.root).strip() != line.strip():
        return False
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        if body is None or node.children[0] != body:
            return False
        node = body
    name = node.named_children[0] if node.type == "command" else node
    text = tree.text(name)
    return name.type == "command_name" and text not in _BUILTINS and "=" not in text


def _around(template: str) -> Rewrite:
    """Put something around any line; where it needs lines of its own, the template says so."""
    return lambda line: template.replace("LINE", line) if is_complete(line) else None


def _wrapped(template: str) -> Rewrite:
    """Put something around one program: what a shell does itself has no wrapper."""
    return lambda line: template.replace("LINE", line) if is_simple(line) else None


def _quoted(template: str) -> Rewrite:
    """Hand the line over as one quoted word."""

    def rewritten(line: str) -> str | None:
        word = "'" + line.replace("'", "'\\''") + "'"
        return template.replace("WORD", word) if is_complete(line) else None

    return rewritten


def _in_function(line: str) -> str | None:
    """Arguments of the line are not those of a function."""
    if not is_complete(line) or re.search(r"\$\{?[0-9@*#]", line):
        return None
    return f"work() {{\n{line}\n}}\nwork"


def _in_double_quotes(line: str) -> str | None:
    word = re.sub(r'([\\"$`])', r"\\\1", line)
    return f'sh -c "{word}"' if is_complete(line) else None


def _each_word(change: Callable[[str], str], gap: str = " ") -> Rewrite:
    """Write every word otherwise: where all are plain, quotes mean nothing."""

    def rewritten(line: str) -> str | None:
        words = line.split(" ")
        if not is_simple(line) or not all(map(_PLAIN_WORD.fullmatch, words)):
            return None
        return gap.join(map(change, words))

    return rewritten


def _renamed(line: str) -> str | None:
    """Rename the line's own variables, where every place of their names is one of theirs."""
    renamed = line
    for name in dict.fromkeys(_OWN_NAME.findall(line)):
        places = (
            rf"(?<=\$){name}\b|(?<=\$\{{){name}(?=[}}:%#/,^\[-])"
            rf"|(?<![\w$-]){name}(?==(?!=))|(?<=\bfor ){name}(?= in )"
        )
        if len(re.findall(places, line)) != len(re.findall(rf"\b{name}\b", line)):
            return None
        if not re.search(rf"\$\{{?{name}\b", line):
            # Whoever does not use a name sets it for a program, which knows it.
            return None
        renamed = re.sub(places, f"other_{name}", renamed)
    return None if renamed == line or "<<" in line else renamed


def _named(make: Callable[[str], Rewrite], *templates: str) -> dict[str, Rewrite]:
    return {template: make(template) for template in templates}


SAME: Final[Mapping[str, Rewrite]] = {
    **_named(
        _wrapped,
        "env LINE",
        "env A_B=c LINE",
        "nohup LINE",
        "time LINE",
        "timeout 60 LINE",
        "timeout -s KILL 60 LINE",
        "nice LINE",
        "nice -n 5 LINE",
        "ionice -c 3 LINE",
        "stdbuf -oL LINE",
        "setsid LINE",
        "command LINE",
        "exec LINE",
        "A_B=c LINE",
        "! LINE",
        "LINE # as it was",
    ),
    **_named(
        _around,
        "(\nLINE\n)",
        "{\nLINE\n}",
        "if true; then\nLINE\nfi",
        "time (\nLINE\n)",
        "! {\nLINE\n}",
        "# what comes next\nLINE",
        "LINE\n# what that was",
    ),
    **_named(_quoted, "bash -c WORD", "sh -ec WORD", "eval WORD"),
    'sh -c "LINE"': _in_double_quotes,
    "'word'": _each_word(lambda word: f"'{word}'"),
    '"word"': _each_word(lambda word: f'"{word}"'),
    "w''ord": _each_word(lambda word: f"{word[:1]}''{word[1:]}"),
    'w"ord"': _each_word(lambda word: f'{word[:1]}"{word[1:]}"'),
    "\\word": _each_word(lambda word: f"\\{word}"),
    "$'word'": _each_word(lambda word: f"$'{word}'"),
    "one word in each line": _each_word(str, gap=" \\\n  "),
    "other names of variables": _renamed,
}
"""Rewrites after which the decision has to be the same."""

LONGER: Final[Mapping[str, Rewrite]] = {
    **_named(
        _around,
        "LINE\ntrue",
        "LINE\necho done",
        "true\nLINE",
        "echo start\nLINE",
        "set -e\nLINE",
        "cd .\nLINE",
        "umask 022\nLINE",
        "cat <<'NOTE'\nnothing\nNOTE\nLINE",
        "for once in 1; do\nLINE\ndone",
        "while true; do\nLINE\nbreak\ndone",
        "case x in x)\nLINE\n;; esac",
        "{\nLINE\n} 2>&1",
        "{\nLINE\n} &",
        "ls | {\nLINE\n}",
        "bash <<'THE_END'\nLINE\nTHE_END",
        "cat <<'THE_END' | sh\nLINE\nTHE_END",
        "cat > x.sh <<'THE_END'\nLINE\nTHE_END\nbash x.sh",
    ),
    "work() { LINE }": _in_function,
    **_named(
        _wrapped,
        "LINE; true",
        "LINE && echo done",
        "LINE || true",
        "LINE 2>&1",
        "LINE 2>/dev/null",
        "LINE | cat",
        "LINE | tee log.txt",
        "LINE &",
        "true && LINE",
        "false || LINE",
        "ls; LINE",
        # Rights may make more of a line, never less.
        "sudo LINE",
        "sudo -n -u root LINE",
        "doas LINE",
    ),
    **_named(
        _quoted,
        "bash <<< WORD",
        "echo WORD | sh",
        "trap WORD EXIT",
        "su -c WORD",
        "sudo sh -c WORD",
        'x=WORD; eval "$x"',
        'x=WORD; bash -c "$x"',
    ),
}
"""Rewrites after which the decision may not be weaker."""

_TELLS: Final = frozenset(
    (
        "rm rmdir mv cp dd shred truncate chmod chown chgrp ln install rsync mkfs.ext4 wipefs"
        " parted git docker podman kubectl helm terraform gcloud az gh npm pnpm yarn pip cargo"
        " twine gem apt-get dnf systemctl useradd usermod userdel groupdel passwd crontab dropdb"
        " vault consul heroku flyctl doctl argocd velero restic borg nomad pulumi"
    ).split()
)
"""Programs that only tell of themselves with `--help` in front of their words.

Behind the first operand some systems take it for a file.
"""
_DRY_RUNS: Final = {
    "git clean": "-n",
    "git push": "--dry-run",
    "git rm": "-n",
    "git add": "-n",
    "git commit": "--dry-run",
    "rsync": "--dry-run",
    "make": "-n",
    "kubectl delete": "--dry-run=client",
    "kubectl apply": "--dry-run=server",
    "helm uninstall": "--dry-run",
    "helm upgrade": "--dry-run",
    "npm publish": "--dry-run",
    "cargo publish": "--dry-run",
    "apt-get": "--dry-run",
    "aws s3": "--dryrun",
    "aws ec2": "--dry-run",
    "zfs destroy": "-n",
    "restic forget": "--dry-run",
}
"""Programs with a dry run, by their first words, and its option."""
_STAYS: Final = re.compile(
    r"[<>`$&]|['\"].* .*['\"]| --(?: |$)|--rsh|-v /:|\b(?:foreach|run|exec)\b|interlock|[ /]~/?$"
)
"""What is what it is all the same: redirections, substitutions, commands among the words, words
behind `--`, and Interlock's own folders, of which the whole home is one that holds them."""


def _with_help(line: str) -> str | None:
    program, _, words = line.partition(" ")
    is_told = program in _TELLS and is_simple(line) and not _STAYS.search(line)
    return f"{program} --help {words}" if is_told else None


def _as_dry_run(line: str) -> str | None:
    words = line.split()
    option = _DRY_RUNS.get(" ".join(words[:2])) or _DRY_RUNS.get("".join(words[:1]))
    is_dry = option is not None and is_simple(line) and not _STAYS.search(line)
    return f"{line} {option}" if is_dry else None


WEAKER: Final[Mapping[str, Rewrite]] = {"--help": _with_help, "a dry run": _as_dry_run}
"""Rewrites after which nobody is asked."""
