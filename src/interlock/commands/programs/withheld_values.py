"""Does a reader keep the values of a file to itself, and tell only names, or a count?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final

from msgspec.structs import replace

from interlock.commands.programs.program_tables import Program, Programs
from interlock.commands.shell.command import Command, Effect, EffectKind, Invocation
from interlock.commands.shell.provenance import SECRET
from interlock.commands.shell.words import Word

_LOADERS: Final = frozenset(("export", "env"))
"""Programs that make variables of the words they are given."""
_COUNT: Final = "count"
_COUNTS: Final = ("-c", "--count", "-q", "--quiet", "--silent", "-l", "--files-with-matches")
_CONTEXT: Final = (
    "-A", "-B", "-C", "--after-context", "--before-context", "--context", "--passthru",
)  # fmt: skip
_VARIABLES: Final = re.compile(r"\.env(?:$|\.[\w.-]+$|rc$)|.+\.env$")
"""Files of one `NAME=value` in each line, by their base names."""
_CLASS: Final = (
    r"\[(?:\^=[^\]]*|(?:A-Z|a-z|A-z|0-9|[\w.]|\[:(?:alpha|alnum|upper|lower|digit):\])+)\]"
)
_NAMES_ONLY: Final = re.compile(rf"\^(?:(?:{_CLASS}|\\w|\w)(?:[*+?]|\\\+)?)+(?:=|\(\?==\))?")
"""A pattern that begins with the line and ends at the first `=`."""
_NAME: Final = rf"\^?\\?\({_CLASS}(?:[*+]|\\\+)\\?\)"
_CUTS_VALUE: Final = re.compile(r"s([/|,#@:])=\.[*+]\$?\1[^\\&]*\1[gp]*")
_KEEPS_NAME: Final = re.compile(rf"s([/|,#@:]){_NAME}=\.[*+]\$?\1\\1[^\\&]*\1[gp]*")
_KEEPS_TO_THE_FILE: Final = re.compile(
    r"(?:/(?:[^/\\]|\\.)*/|\d+|\$)?(?:[dq]|s([/|,#@:])(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1[gI\d]*)"
)
"""A change or a deletion of lines that writes nowhere else and runs nothing."""
_PUBLIC: Final = re.compile(
    r"\^\\?\(?(?:(?:(?:[A-Z0-9]+_)*(?:PORT|HOST|HOSTNAME|ENV|MODE|LEVEL|DEBUG|REGION|ZONE|VERSION|TZ|"
    r"TIMEZONE|LANG|LOCALE|TIMEOUT|ENABLED|DOMAIN|BUCKET|DRIVER|MODEL|PROVIDER|ENDPOINT)(?:\\?\||(?=\\?\)|=)))+\\?\)?="
    r"|(?:(?:NEXT|NUXT|EXPO)_PUBLIC|VITE|REACT_APP|GATSBY|PUBLIC)_\w*)[^|]*"
)
"""Names whose values are no secret: settings, and what every browser is sent."""
_SED_PICKS: Final = re.compile(
    r"(?:s([/|,#@])(?P<cut>\^\w+=)(?:\.\*)?\1[^\\&]*\1|/(?P<kept>\^\w+=)(?:\.\*)?/)p"
)
_AWK_PICKS: Final = re.compile(r"\s*/(\^[^/]+=)/\s*(\{.*\})\s*", re.DOTALL)
_AWK_READS_ON: Final = re.compile(r"\b(?:getline|system|RS|FS|ENVIRON)\b")
_AWK_RULES: Final = re.compile(r"(?:[^{};\n]*\{[^{}]*\}[\s;]*)+")
_AWK_TELLS_MORE: Final = re.compile(r"\$(?!1(?!\d))|\bprint\s*(?:[;}]|$)|\b(?:FS|getline|system)\b")


def withholds_values(invocation: Invocation, known: Program, path: str) -> bool:
    """Whether nothing that stands behind an `=` is shown of the file."""
    if not known.withholds:
        return False
    way = WITHHOLDING_WAYS[known.withholds]
    if known.withholds == _COUNT or (way is _search and invocation.has(*_COUNTS)):
        return True
    return _VARIABLES.match(path.rpartition("/")[2]) is not None and way(invocation)


def without_handed_on(
    effects: Sequence[Effect], commands: Sequence[Command], programs: Programs
) -> list[Effect]:
    """Return the effects without what the last command was handed on, where it withholds that."""
    *others, last = commands
    stages: list[Command] = []
    for stage in reversed(others):
        kept = any(redirect.takes_output for redirect in stage.redirects)
        hands_on = programs.of(stage.program).hands_on
        if kept or not hands_on or stage.frame.depth != last.frame.depth:
            break
        stages.append(stage)
        if not stage.frame.piped:
            break
    texts = {stage.text for stage in stages}
    return [
        each
        for each in effects
        if not (
            each.command in stages or (each.command.program == "<" and each.command.text in texts)
        )
        or not withholds_values(last.invocation, programs.of(last.program), each.target)
    ]


def loads_variables(program: str, argv: Sequence[Word]) -> bool:
    """Whether a word stands for the lines of a file of variables, and is not the value of one."""
    if program not in _LOADERS:
        return False
    # What stands behind the program that `env` runs is for that program.
    words = takewhile(_is_for_env, argv[1:]) if program == "env" else argv
    return any(map(_is_loaded, words))


def _is_for_env(word: Word) -> bool:
    return word.text[:1] == "-" or "=" in word.text or _is_loaded(word)


def _is_loaded(word: Word) -> bool:
    return bool(word.labels & SECRET) and "=" not in word.text.partition("$")[0]


def loaded(effects: Sequence[Effect], commands: Sequence[Command]) -> list[Effect]:
    """Return the effects where the last command reads what its words substitute."""
    *others, last = commands
    inside = takewhile(lambda each: each.frame.depth > last.frame.depth, reversed(others))
    hidden = [each for each in inside if not each.frame.printed]
    return [
        replace(each, command=last)
        if each.kind is EffectKind.READ and each.command in hidden
        else each
        for each in effects
    ]


def _search(invocation: Invocation) -> bool:
    if invocation.has("-f", "--file", "-v", "--invert-match", *_CONTEXT):
        return False
    patterns = invocation.all_values("-e", "--regexp") or invocation.operands[:1]
    only_names = invocation.has("-o", "--only-matching")
    return all(
        (only_names and _NAMES_ONLY.fullmatch(each.text)) or _PUBLIC.fullmatch(each.text)
        for each in patterns
    )


def _cut(invocation: Invocation) -> bool:
    divider = invocation.value("-d", "--delimiter")
    fields = invocation.value("-f", "--fields")
    return (
        divider is not None
        and divider.text == "="
        and fields is not None
        and fields.text in {"1", "-1", "1-1"}
        and not invocation.has("--complement")
    )


def _sed(invocation: Invocation) -> bool:
    scripts = invocation.all_values("-e", "--expression") or invocation.operands[:1]
    if invocation.has("-i", "--in-place"):
        return all(_KEEPS_TO_THE_FILE.fullmatch(each.text) for each in scripts)
    if len(scripts) != 1:
        return False
    script = scripts[0].text
    picked = _SED_PICKS.fullmatch(script)
    if picked is not None and {"-n"} <= invocation.flags <= {"-n", "-e", "-E", "-r"}:
        return _PUBLIC.fullmatch(picked["cut"] or picked["kept"]) is not None
    return any(cuts.fullmatch(script) for cuts in (_CUTS_VALUE, _KEEPS_NAME))


def _compare(invocation: Invocation) -> bool:
    return invocation.has("-q", "--brief")


def _awk(invocation: Invocation) -> bool:
    divider = invocation.value("-F", "--field-separator")
    script = invocation.operands[0].text if invocation.operands else ""
    picked = _AWK_PICKS.fullmatch(script)
    settings = [word.text for word in invocation.operands[1:] if "=" in word.text]
    if picked is not None and invocation.flags <= {"-F"} and not settings:
        pattern, action = picked.groups()
        is_one = "{" not in action[1:] and "}" not in action[:-1]
        if is_one and _PUBLIC.fullmatch(pattern) and not _AWK_READS_ON.search(action):
            return True
    return (
        divider is not None
        and divider.text in {"=", "[=]"}
        and not invocation.has("-f", "-v")
        and _AWK_RULES.fullmatch(script) is not None
        and _AWK_TELLS_MORE.search(script) is None
    )


WITHHOLDING_WAYS: Final[dict[str, Callable[[Invocation], bool]]] = {
    _COUNT: lambda _invocation: True,
    "search": _search,
    "awk": _awk,
    "stream-edit": _sed,
    "cut": _cut,
    "compare": _compare,
}
"""What an entry of a program may say under `withholds`."""
