"""The words of a PowerShell command: parameters in any case and cut short, lists, backslashes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from interlock.commands.shell.command import Command
from interlock.commands.shell.words import Word

_WORD: Final = r"\"([^\"]*)\"|'([^']*)'|([^\s\"',]+)"
_VALUED: Final = (
    *("path", "literalpath", "filepath", "filter", "include", "exclude", "outfile", "uri", "name"),
    *("value", "encoding", "inputobject", "destination", "depth", "attributes"),
    *("erroraction", "ea", "warningaction", "wa"),
)
"""Parameters with a value; all others are taken for switches."""
_PATHS: Final = ("path", "literalpath", "filepath")
_PLACES: Final = (
    (r"(?i)^\$(?:env:userprofile|env:home|home)(?=[\\/]|$)", "~"),
    (r"(?i)^\$profile(?:\.\w{1,30})?$", "~/.config/powershell/profile.ps1"),
    (r"(?i)^\$env:(?:temp|tmp)(?=[\\/]|$)", "$TMPDIR"),
)
"""How variables of PowerShell's own are called elsewhere."""
_ELSEWHERE: Final = r"(?i)(?:env|variable|alias|function|wsman):"
"""Drives without files: what is removed there is gone with the session."""
_PARAMETER: Final = r"-[A-Za-z]{1,30}:?"
_ITEM: Final = r"\$(?:_|psitem)\b"
"""What flows in, one by one."""


_STATIC: Final = re.compile(
    r"(?i)\[(?:System\.)?(?:IO\.(?P<kind>File|Directory)|Diagnostics\.Process)\]::"
    r"(?P<name>\w{1,40})\(\s{0,9}(?P<words>[^()]{1,400})\)"
)
_ARGUMENT: Final = r"\"[^\"]*\"|'[^']*'|[^\s,\"']+"
_SAME_AS: Final = (
    ("delete", "Remove-Item {0}"),
    ("writeall", "Set-Content {0}"),
    ("appendall", "Add-Content {0}"),
    ("create", "Set-Content {0}"),
    ("openwrite", "Set-Content {0}"),
    ("readall", "cat {0}"),
    ("move", "mv {0} {1}"),
    ("copy", "cp {0} {1}"),
)
"""How methods of files and folders begin, and the commands that do the same."""


class Cmdlet(NamedTuple):
    """A command of PowerShell, taken apart; the names of parameters are in lower case."""

    switches: list[str]
    values: dict[str, list[str]]
    operands: list[str]

    def has(self, name: str) -> bool:
        """Whether a switch is given, by its name or the beginning of it."""
        return any(name.startswith(given) for given in self.switches)

    def value(self, name: str) -> str:
        """Return the value of a parameter; nothing if it is not given."""
        return " ".join(self.values.get(name, ()))

    @property
    def paths(self) -> list[Word]:
        """The files and folders that are meant, seen through the filters."""
        named = [path for name in _PATHS for path in self.values.get(name, ())]
        pattern = self.value("filter") or self.value("include")
        given = [path for path in (*named, *self.operands) if not re.match(_ELSEWHERE, path)]
        slashed = [_placed(path).replace("\\", "/") for path in given]
        if pattern:
            slashed = [f"{path.rstrip('/*')}/{pattern}" for path in slashed or ["."]]
        return [Word(path, known="$" not in path, glob="*" in path) for path in slashed]


def _placed(path: str) -> str:
    for pattern, place in _PLACES if path.startswith("$") else ():
        path = re.sub(pattern, lambda _found, place=place: place, path)
    return path


def cmdlet_of(command: Command) -> Cmdlet:
    """Take the words apart as PowerShell does, to which a backslash is a part of a path."""
    name = re.escape(command.argv[0].text)
    found = re.search(rf"(?:^|\s){name}\s(.*)", command.text, re.DOTALL)
    rest = "" if found is None else found[1].replace("\\\n", " ")
    if found is None or "{" in rest:
        # It was put together elsewhere.
        rest = " ".join([word.text for word in command.argv[1:]])
    read = Cmdlet([], {}, [])
    waiting: list[str] | None = None
    for quoted, single, plain in re.findall(_WORD, rest):
        text = quoted or single or plain
        if plain and re.fullmatch(_PARAMETER, plain):
            given = plain[1:].rstrip(":").lower()
            name = next((each for each in _VALUED if each.startswith(given)), "")
            waiting = read.values.setdefault(name, []) if name else None
            if not name:
                read.switches.append(given)
        elif waiting is None:
            read.operands.append(text)
        else:
            waiting.append(text)
            waiting = None
    return read


def is_item(word: Word) -> bool:
    """Whether a word stands for what flows in: `$_`, `$_.FullName`."""
    return re.match(_ITEM, word.text) is not None


def static_calls(line: str) -> Iterator[str]:
    """Yield lines that do what `[IO.Directory]::Delete("x", $true)` and its like do."""
    for found in _STATIC.finditer(line):
        words = re.findall(_ARGUMENT, found["words"])
        name = found["name"].lower()
        if found["kind"] is None:
            if name == "start":
                yield " ".join(words).replace('"', "").replace("'", "")
        elif found["kind"].lower() == "file" or not name.startswith("create"):
            same = next((same for start, same in _SAME_AS if name.startswith(start)), "")
            tree = words[1:] and words[1].lower() in {"$true", "1"}
            yield same.format(*words, "", "") + (" -Recurse -Force" if same and tree else "")
