"""The words of a PowerShell command: parameters in any case and cut short, lists, backslashes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from interlock.commands.shell.command import Command
from interlock.commands.shell.words import Word

_WORD: Final = r"(,?)\s{0,99}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"',]+))"
_VALUED: Final = (
    *("path", "literalpath", "filepath", "filter", "include", "exclude", "outfile", "uri", "name"),
    *("value", "encoding", "inputobject", "destination", "depth", "attributes"),
    *("erroraction", "ea", "warningaction", "wa", "argumentlist", "workingdirectory"),
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
_STARTS: Final = frozenset(("start-process", "saps"))
_MOVES: Final = frozenset(("move-item", "mi"))
_ROBOCOPY_OPTION: Final = r"/[A-Za-z]{1,20}(?::\S{0,99})?"
_ITEM: Final = r"\$(?:_|psitem)\b"
"""What flows in, one by one."""


_STATIC: Final = re.compile(
    r"(?i)\[(?:System\.)?(?:IO\.(?P<kind>File|Directory)|Diagnostics\.Process)\]::"
    r"(?P<name>\w{1,40})\(\s{0,9}(?P<words>[^()]{1,400})\)"
)
_OBJECT: Final = re.compile(
    r"(?i)\[(?:System\.)?IO\.(?:File|Directory)Info\]::new\(\s{0,9}(?P<words>[^()]{1,400})\)\)?"
    r"\.(?P<name>\w{1,40})"
)
_VARIABLES: Final = re.compile(
    r"(?i)\[(?:System\.)?Environment\]::(?P<name>GetEnvironmentVariables\(\s{0,9}\)"
    r"|SetEnvironmentVariable\((?P<words>[^()]{1,400})\))"
)
_ARGUMENT: Final = r"\"[^\"]*\"|'[^']*'|[^\s,\"']+"
_SAME_AS: Final = (
    ("delete", "Remove-Item {0}"),
    ("writeall", "Set-Content {0}"),
    ("appendall", "Add-Content {0}"),
    ("create", "Set-Content {0}"),
    ("openwrite", "Set-Content {0}"),
    ("encrypt", "Set-Content {0}"),
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
        patterns = self.values.get("filter") or self.values.get("include") or []
        given = [path for path in (*named, *self.operands) if not re.match(_ELSEWHERE, path)]
        slashed = [_placed(path).replace("\\", "/") for path in given]
        if patterns:
            roots = [path.rstrip("/*") for path in slashed or ["."]]
            slashed = [f"{root}/{pattern}" for root in roots for pattern in patterns]
        found = bool(patterns)
        return [Word(path, known="$" not in path, glob=found or "*" in path) for path in slashed]


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
    filled = read.operands
    for comma, quoted, single, plain in re.findall(_WORD, rest):
        text = quoted or single or plain
        if comma:
            # A list is one value.
            filled.append(text)
        elif plain and re.fullmatch(_PARAMETER, plain):
            given = plain[1:].rstrip(":").lower()
            name = next((each for each in _VALUED if each.startswith(given)), "")
            waiting = read.values.setdefault(name, []) if name else None
            if not name:
                read.switches.append(given)
        else:
            filled = read.operands if waiting is None else waiting
            filled.append(text)
            waiting = None
    return read


def same_words(command: Command) -> list[Word]:
    """Return the words of another program that does the same; none where nothing is done."""
    if command.program == "robocopy":
        return _mirrored([word.text.replace("\\", "/") for word in command.argv[1:]])
    given = cmdlet_of(command)
    paths = given.paths
    if given.has("whatif") or not paths:
        return []
    if command.program in _STARTS:
        return [paths[0], *map(Word, given.value("argumentlist").split()), *paths[1:]]
    told = given.value("destination")
    moved = [Word(_placed(told).replace("\\", "/"), known="$" not in told)] if told else []
    return [Word("mv" if command.program in _MOVES else "cp"), *paths, *moved]


def _mirrored(words: list[str]) -> list[Word]:
    """`robocopy source target /MIR` deletes what the source does not have; `/L` only lists."""
    options = {word.lower() for word in words if re.fullmatch(_ROBOCOPY_OPTION, word)}
    folders = [word for word in words if not re.fullmatch(_ROBOCOPY_OPTION, word)][:2]
    if len(folders) < 2 or "/l" in options or options.isdisjoint(("/mir", "/purge")):
        return []
    return [*map(Word, ("rsync", "-r", "--delete")), *[Word(f"{folder}/") for folder in folders]]


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
    for found in _OBJECT.finditer(line):
        words = re.findall(_ARGUMENT, found["words"])
        name = found["name"].lower()
        yield next((same for start, same in _SAME_AS if name.startswith(start)), "").format(
            *words, "elsewhere", ""
        )
    for found in _VARIABLES.finditer(line):
        lasting = found["words"] and re.search(r"(?i)machine|user", found["words"])
        name = re.findall(_ARGUMENT, found["words"] or "")[:1]
        yield f"setx {name[0]} x" if lasting and name else "printenv" if not found["words"] else ""
