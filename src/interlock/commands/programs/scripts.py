"""Small languages that programs are given: what a script of sed, awk, make or an editor runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

_STRING: Final = r'"(?:[^"\\\n]++|\\.)*+"'
_STRINGS: Final = rf"{_STRING}(?:\s{{0,9}}{_STRING})*"
_AWK_TERM: Final = (
    rf"(?:{_STRING}|\$\w{{1,20}}"
    r"|(?!getline\b|printf?\b)[A-Za-z_]\w{0,40}+(?:\[[^\]]{0,80}\](?!\()|(?!\(|\[[^\]]{0,80}\])))"
)
_AWK_VALUE: Final = rf"{_AWK_TERM}(?:[ \t]{{0,9}}{_AWK_TERM}){{0,64}}"
_AWK_FORMAT: Final = rf"sprintf\s{{0,9}}\(\s{{0,9}}{_STRING}"
_AWK_SYSTEM: Final = rf"\bsystem\s{{0,9}}\(\s{{0,9}}({_AWK_VALUE}(?=\s{{0,9}}\))|{_AWK_FORMAT})?"
_AWK_GETLINE: Final = (
    rf"({_AWK_VALUE})\)?\s{{0,9}}\|&?\s{{0,9}}getline(?:[ \t]{{1,9}}([A-Za-z_]\w{{0,40}}))?"
)
_AWK_PIPE: Final = (
    rf"\b(printf?)\b((?:{_STRING}|[^\"|;}}\n])*+)(?<!\|)\|&?(?!\|)\s{{0,9}}\(?({_AWK_VALUE})"
)
_AWK_SET: Final = rf"([A-Za-z_]\w{{0,40}})\s{{0,9}}(?<![=!<>~])=(?![=~])\s{{0,9}}({_AWK_VALUE})"
_AWK_FILE: Final = rf"\bprintf?\b[^;}}\n>|]*+(>>?)\s{{0,9}}({_STRINGS})"
_AWK_DIRECTIVE: Final = r"%[-+ #0-9.]{0,9}[a-zA-Z]"
_AWK_UNKNOWN: Final = "$field"
"""What stands in a line for what only the run decides."""
_AWK_RECORDS: Final = 16
_SHELLS: Final = r"\s*(?:\S*/)?(?:ba|da|z|k|a)?sh\b|\s*(?:sudo|xargs)\b"
_AWK_ESCAPE: Final = r"\\(.)"
_SED_ADDRESS: Final = (
    r"[\s;{}]*(?:(?:\d+(?:~\d+)?|\$|[+~]\d+|/(?:[^/\\\n]|\\.)*/[IM]*|\\(?P<mark>.)(?:(?!(?P=mark)).)*(?P=mark)[IM]*)"
    r"[\s,]*)*!?\s*"
)
_SED_TEXT: Final = frozenset("aicrRbtT:")
_SED_REST: Final = r"[^\n]*"
_MAKE_SHELL: Final = r"\$[({]shell\s+|!="
_EDITOR_SHELL: Final = (
    r"(?m)(?:^|[|:\s\"'])(?:sil(?:ent)?!?\s{1,9})?(?:[,%.$\d]{1,20}\s{0,9})?"
    r"(?:(?:r(?:ead)?|w(?:rite)?|t(?:e|erminal))\s{0,9})?!(.+)"
    r"|^[ \t]{0,9}t(?:e|erm|erminal)[ \t]{1,9}(\S.*)"
)
_EDITOR_WRITE: Final = re.compile(
    r"[:%,.$\d]{0,20}(?:w(?:rite|q|qa|a|all)?|wqall|W|x(?:it|a|all)?|up(?:date)?|exit|sa(?:v(?:eas)?)?)!?"
    r"(?:\s{1,9}(?:>>\s{0,9})?([^\s!>]\S{0,4096}))?"
)
_EDITOR_CALLS: Final = (
    r"(?:system|systemlist|job_start|term_start|jobstart|termopen|shell-command(?:-to-string)?"
    r"|async-shell-command|call-process-shell-command|os\.execute|compile)"
    r"[\s(]*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|[\[{]([^\]}]*)[\]}])"
)


_CALLS: Final = (
    r"(?m)\b(?:system|e?syscmd|popen)\s{0,9}\([\s`'\"]{0,9}([^`'\")\n]{1,4096})"
    r"|^[ \t]{0,9}!(?![<>=])([^\n]{1,4096})|`([^`'\n]{1,4096})`"
)
_ACTS: Final = (
    r"(?i)(?<![\w-])(?:rm|rmdir|rm_rf!?|rmtree|unlink|del_dir\w{0,9}|deltree|wipe"
    r"|(?:remove|delete|erase|trash)[-_]?(?:files?|dir|directory|directories|folder|tree|path|all"
    r"|recursive\w{0,20})\w{0,20}(?:/files)?"
    r"|(?:file|files|fs|dir|directory)[:. ] ?(?:delete|remove|rm|del)\w{0,20}!?"
    r"|system\*?|system\.(?:cmd|shell)|os:cmd|exec\w{0,3}|spawn\w{0,20}|popen\w{0,9}"
    r"|open[-_]port|open[-_]pipe\*?|call-process|shell-command|start-process|make-process"
    r"|run[-_]program|callprocess|callcommand|readprocess\w{0,20}|processbuilder|subprocess"
    r"|getruntime|shellout|qx|shell|run(?=[( ]{1,9}`)"
    r"|httpc:request|gen_tcp|url-retrieve\w{0,20}|open-network-stream|http\.(?:post|put|request)"
    r"|req\.post!?|httpoison\.\w{1,9}|sendmail|upload\w{0,9})(?![\w-])"
    r"|(?<![\w-])sh(?=[ \"(])|\.(?:execute|deletedir|deleterecursively|deleteonexit)\("
)
"""Words by which many languages delete files, run programs or send something."""


class Ran(NamedTuple):
    """What a script does beside what its program does anyway."""

    line: str = ""
    """A command line that it runs."""
    written: str = ""
    """A file that it writes."""
    appends: bool = False
    computed: bool = False
    """Whether it runs what only the run decides."""
    fed: str | None = None
    """What it gives the line to read, where it does."""


def ran_by_awk(script: str, given: Mapping[str, str], records: str | None) -> Iterator[Ran]:
    """Return what an awk script runs, pipes into or out of commands, and writes.

    `given` are the variables of its call, `records` what flows in, where that is known.
    """
    fields = (
        (records or _AWK_UNKNOWN).splitlines()[:_AWK_RECORDS]
        if re.search(r"[$|]", script)
        else [""]
    )
    for record in fields or [""]:
        values = _Values(dict(given), record if records is not None else None)
        for found in re.finditer(_AWK_SET, script):
            values.held[found[1]] = values.text(found[2])
        for found in re.finditer(_AWK_GETLINE, script):
            line = values.text(found[1])
            values.held[found[2] or "$0"] = f"$({line})"
            yield Ran(line=line)
        for found in re.finditer(_AWK_SYSTEM, script):
            yield Ran(line=values.text(found[1] or _AWK_UNKNOWN))
        for found in re.finditer(_AWK_PIPE, script):
            line, fed = values.text(found[3]), values.printed(found[2], found[1])
            unseen = _AWK_UNKNOWN in fed and re.match(_SHELLS, line) is not None
            yield Ran(line=line, fed=fed, computed=unseen or line == _AWK_UNKNOWN)
    for found in re.finditer(_AWK_FILE, script):
        yield Ran(written=_awk_text(found[2]), appends=found[1] == ">>")


class _Values(NamedTuple):
    """What an awk script's variables and the fields of one record hold, as far as it is known."""

    held: dict[str, str]
    record: str | None

    def text(self, value: str) -> str:
        """Return what terms next to each other come to."""
        return "".join([self._term(term) for term in re.findall(_AWK_TERM, value)])

    def printed(self, value: str, how: str) -> str:
        """Return what is printed: all of the record where nothing is said."""
        terms = [self.text(each) for each in re.findall(_AWK_VALUE, value)] or [self._field("0")]
        if how == "print":
            return " ".join(terms) + "\n"
        rest = iter(terms[1:])
        return re.sub(_AWK_DIRECTIVE, lambda _: next(rest, _AWK_UNKNOWN), terms[0])

    def _term(self, term: str) -> str:
        if term[0] == '"':
            return _awk_text(term)
        if term[0] == "$" and term not in self.held:
            return self._field(term[1:])
        return self.held.get(term, _AWK_UNKNOWN)

    def _field(self, number: str) -> str:
        if self.record is None or not number.isdigit():
            return _AWK_UNKNOWN
        fields = [self.record, *self.record.split()]
        return fields[int(number)] if int(number) < len(fields) else ""


def _awk_text(strings: str) -> str:
    parts = re.findall(_STRING, strings)
    return "".join([re.sub(_AWK_ESCAPE, _awk_escaped, part[1:-1]) for part in parts])


def _awk_escaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(found[1], found[1])


def ran_by_sed(script: str) -> Iterator[Ran]:
    """Return what a sed script runs (`e`, `s///e`) and writes (`w`, `s///w`)."""
    index = 0
    while index < len(script):
        address = re.compile(_SED_ADDRESS).match(script, index)
        index = address.end() if address else index
        letter = script[index : index + 1]
        index += 1
        if letter in {"s", "y"}:
            _, mark, index = _sed_part(script, "", index)
            replacement, _, index = _sed_part(script, mark, index)
            flags = re.compile(_SED_REST).match(script, index)
            text, _, rest = (flags[0] if flags else "").partition(";")
            yield from _of_substitution(letter, replacement, text)
            index += len(text) + (1 if rest else 0)
        elif letter in {"e", "w", "W"}:
            rest = re.compile(_SED_REST).match(script, index)
            text = rest[0].strip() if rest else ""
            index = len(script) if rest is None else rest.end()
            if letter == "e":
                yield Ran(line=text, computed=not text)
            else:
                yield Ran(written=text)
        elif letter in _SED_TEXT:
            rest = re.compile(_SED_REST).match(script, index)
            index = len(script) if rest is None else rest.end()
        elif letter == "#":
            index = script.find("\n", index) + 1 or len(script)


def _sed_part(script: str, mark: str, start: int) -> tuple[str, str, int]:
    """Read up to the mark that divides; the first character is the mark if none is known."""
    if not mark:
        mark, start = script[start : start + 1], start + 1
    index = start
    while index < len(script) and script[index] != mark:
        index += 2 if script[index] == "\\" else 1
    return script[start:index], mark, index + 1


def _of_substitution(letter: str, replacement: str, flags: str) -> Iterator[Ran]:
    if letter != "s":
        return
    before, wrote, target = flags.partition("w")
    if wrote:
        yield Ran(written=target.strip())
    if "e" in before:
        yield Ran(line=re.sub(r"\\(.)", r"\1", replacement), computed=True)


def recipes_in(makefile: str, *, indent: str = "\t") -> Iterator[str]:
    """Return the command lines of a makefile: its recipes, and what `$(shell ...)` runs."""
    for line in makefile.splitlines():
        if line[:1] and line[0] in indent:
            yield line.strip().lstrip("@-+")
        else:
            _, mark, recipe = line.partition(";")
            if mark and ":" in line[: line.index(";")]:
                yield recipe.strip().lstrip("@-+")
        for found in re.finditer(_MAKE_SHELL, line):
            yield _up_to_its_end(line[found.end() :])


def _up_to_its_end(text: str) -> str:
    depth = 0
    for index, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            return text[:index]
    return text


def acts_in(code: str) -> str:
    """Return the first word of code in whatever language that deletes, sends or runs something."""
    found = re.search(_ACTS, code)
    return found[0] if found else ""


def ran_by_editor(script: str) -> Iterator[str]:
    """Return the command lines that commands of an editor run: `:!ls`, `system("ls")`."""
    for found in re.finditer(_EDITOR_SHELL, script):
        yield found[1] or found[2]
    for found in re.finditer(_EDITOR_CALLS, script):
        if found[3]:
            # A list of words: `{"rm", "-rf", "x"}`.
            yield re.sub(r"[\"',]+", " ", found[3])
        else:
            yield (found[1] or found[2] or "").replace('\\"', '"')


def written_by_editor(script: str) -> list[str]:
    """Return the files that commands of an editor write; empty is the one that is open."""
    commands = (each.strip() for each in re.split(r"[|\n]", script))
    return [found[1] or "" for found in map(_EDITOR_WRITE.fullmatch, commands) if found]


def without_calls(code: str) -> str:
    """Return an editor's code without the calls whose lines are followed anyway."""
    return re.sub(_EDITOR_CALLS, "", code)


def ran_by_call(script: str) -> Iterator[str]:
    """Return the command lines that scripts of dc, gnuplot or m4 run: `!ls`, `system("ls")`."""
    for found in re.finditer(_CALLS, script):
        yield found[found.lastindex or 0]


_SILENT: Final = r"-[a-zA-LN-Z0-9]{0,9}n[a-zA-Z0-9]{0,9}|--quiet|--silent"
_PRINTING: Final = r"-[a-zA-LN-Z0-9]{0,9}p[a-zA-Z0-9]{0,9}"
_SAYS: Final = r"[pPw=]|say|(?:^|[\s;{}\d$/])[aic](?:\\|\s)"
_LEAVES_NOTHING: Final = re.compile(
    r"(?:[01],\$|/(?:\^|\$|\^?\.[*+]?\$?)/)?\s{0,9}d"
    r"|s(\W)\^?\.[*+]\$?\1\1[gimsI]{0,9}"
    r"|\$_\s{0,9}=\s{0,9}(?:\"\"|''|undef|nil)|undef\s{1,9}\$_|0|\{\s{0,9}(?:next)?\s{0,9}\}"
)


def leaves_nothing(options: Iterable[str], script: str) -> bool:
    """Whether an edit in place takes all that a file holds, and keeps no copy of it."""
    given = list(options)
    if any("i" in option and ("." in option or "~" in option) for option in given):
        return False
    script = script.strip("; \t\n")
    prints = any(re.fullmatch(_PRINTING, option) for option in given)
    if not prints and any(re.fullmatch(_SILENT, option) for option in given):
        return re.search(_SAYS, script) is None
    return _LEAVES_NOTHING.fullmatch(script) is not None
