"""Which files and folders would a command line delete or overwrite, exactly?

Asked before they are copied away, so that they can be put back. What is not surely known is not
said: a copy that misses something is worse than a question to a person. So only a few programs
with a few of their options are known here, and of a line that holds anything else nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

import msgspec

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.programs.places import CREDENTIAL
from interlock.commands.programs.program_tables import AffectedPathsRule, Programs
from interlock.commands.programs.read_only import SINKS, is_what_it_says, only_reads, sed_is_plain
from interlock.commands.shell.command import Command, EffectKind
from interlock.commands.shell.words import Word


class AffectedPath(msgspec.Struct, frozen=True, kw_only=True):
    """One place that loses what it holds."""

    path: str
    """Absolute, or seen from the workspace; `..` is not resolved."""
    follows_links: bool = False
    """Whether not a link is changed, but what it leads to."""
    receives: tuple[str, ...] = ()
    """The names that come to stand inside of it where it is a folder, instead of in its place."""


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """Why it cannot be said what is touched."""

    reason: str


class AffectedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is touched."""

    places: tuple[AffectedPath, ...]
    folders: tuple[str, ...] = ()
    """Where the commands run; if one is not there, something else is touched."""


_AT_RUN_TIME: Final = frozenset("$`")
_BLANKS: Final = {ord("\n"): " ", ord("\t"): " "}
_PATTERNS: Final = frozenset("*?[{(")
_ARROWS: Final = frozenset((">", ">>", ">|", "&>", "&>>", ">&"))
_UNDONE_BY_A_COPY: Final = frozenset(
    (EffectKind.DELETE, EffectKind.OVERWRITE, EffectKind.APPEND, EffectKind.MOVE)
)

Found = Iterator[AffectedPath | Unknown]


def affected_paths_of(
    line: str, found: CommandAnalysis, programs: Programs
) -> AffectedPaths | Unknown:
    """Return what a command line touches, or why that is not known."""
    places: list[AffectedPath] = []
    for each in chain(_unreadable(line), _touched(line, found, programs)):
        if isinstance(each, Unknown):
            return each
        places.append(each)
    commands = (*found.commands, *(effect.command for effect in found.effects))
    folders = dict.fromkeys(each.cwd for each in commands if each.cwd is not None)
    return AffectedPaths(places=tuple(places), folders=tuple(folders))


def _unreadable(line: str) -> Iterator[Unknown]:
    """Say what stands in a line that only the shell can tell the meaning of."""
    if not line.translate(_BLANKS).isprintable():
        yield Unknown(reason="the line holds characters that cannot be shown")
    if not _AT_RUN_TIME.isdisjoint(line):
        yield Unknown(
            reason="the line holds `$` or a backtick: what that stands for is known only when it"
            " runs"
        )
    if "<>" in line:
        yield Unknown(reason="what is written through `<>` is not known")


def _touched(line: str, found: CommandAnalysis, programs: Programs) -> Found:
    yield from _what_a_copy_does_not_undo(found, programs)
    acting = [command for command in found.commands if _rule_of(command, programs) is not None]
    written = [
        effect
        for effect in found.effects
        if effect.command.program in _ARROWS and effect.target not in SINKS
    ]
    if len(acting) + len(written) > 1 and any(command.program == "mv" for command in acting):
        yield Unknown(
            reason="`mv` changes what the other names in the line stand for: move in a command by"
            " itself"
        )
    following = (*found.commands[1:], None)
    for at, (command, next_one) in enumerate(zip(found.commands, following, strict=False)):
        rule = _rule_of(command, programs)
        if rule is not None:
            yield from _doubts(command, rule)
            yield from AFFECTING_WAYS[rule.how](command)
        elif command.program == "cd":
            yield from _doubts_of_folder(line, at, command)
        elif programs.of(command.program).changes_what_follows or not only_reads(
            command, next_one, programs
        ):
            yield Unknown(reason=f"what `{command.program}` touches is not known")
    for effect in written:
        yield from _target(effect.target, effect.command, known=effect.known, follows_links=True)


def _what_a_copy_does_not_undo(found: CommandAnalysis, programs: Programs) -> Found:
    for each in found.unresolved:
        yield Unknown(reason=f"a part of the line cannot be followed: {each.reason}")
    for effect in found.effects:
        if effect.kind is EffectKind.READ and not effect.places & CREDENTIAL:
            continue
        if effect.kind not in _UNDONE_BY_A_COPY:
            yield Unknown(
                reason=f"a copy of files does not undo `{effect.kind.value}`, which"
                f" `{effect.command.program}` does"
            )
        elif _rule_of(effect.command, programs) is None and effect.command.program not in _ARROWS:
            yield Unknown(reason=f"what `{effect.command.program}` touches is not known")


def _doubts(command: Command, rule: AffectedPathsRule) -> Iterator[Unknown]:
    """Say why a command may do something else than it looks like."""
    if not is_what_it_says(command) or command.argv[0].text.split("/")[-1] != command.program:
        yield Unknown(reason=f"`{command.program}` may be another program than its name says")
    if command.frame.via:
        yield Unknown(
            reason=f"`{command.program}` stands behind `{command.frame.via[-1]}`: run it by itself"
        )
    is_literal = all(word.known and not word.glob for word in command.argv)
    if not is_literal or not _PATTERNS.isdisjoint(command.text):
        yield _pattern(command.text)
    invocation = command.invocation
    known = [*invocation.operands, *invocation.all_values(*invocation.values)]
    strange = [
        word.text
        for word in command.argv[1:]
        if not word.text.startswith("-") and word not in known
    ]
    if strange:
        yield Unknown(reason=f"`{strange[0]}` looks like an option, and is none")
    options = invocation.flags - rule.options
    if options:
        yield Unknown(reason=f"what `{command.program}` does with `{min(options)}` is not known")


def _doubts_of_folder(line: str, at: int, command: Command) -> Iterator[Unknown]:
    """Say why a `cd` may leave the commands behind it in another folder than it looks like."""
    # Elsewhere it may not run, or run in a shell of its own, or fail because of what ran before.
    comes_first = at == 0 and line.lstrip().startswith("cd ") and not command.frame.background
    operands = command.invocation.operands
    is_plain = len(operands) == 1 and not command.invocation.flags and not command.redirects
    if not comes_first or not is_plain:
        yield Unknown(
            reason="where `cd` leads to is not known: write `cd FOLDER &&` at the start of the"
            " line, once"
        )
    elif operands[0].text in {"", "-"} or operands[0].text.startswith("~"):
        yield Unknown(reason=f"where `cd {operands[0].text}` leads to is known only when it runs")
    elif not _PATTERNS.isdisjoint(command.text):
        yield _pattern(command.text)


def _pattern(text: str) -> Unknown:
    return Unknown(
        reason=f"`{text}` holds a pattern: which names it stands for is known only when it runs"
    )


def _target(text: str, command: Command, *, known: bool = True, follows_links: bool) -> Found:
    """Yield the one place that a word names."""
    place = _place(text, command.cwd) if known else None
    if place is None:
        yield _unclear(text)
    else:
        yield AffectedPath(path=place, follows_links=follows_links)


def _place(text: str, cwd: str | None) -> str | None:
    """Return the path that a word stands for; None where that is not known."""
    if not text or text.startswith("~") or not _PATTERNS.isdisjoint(text):
        return None
    if text.startswith("/"):
        return text
    return f"{cwd}/{text}" if cwd is not None and cwd.startswith("/") else None


def _unclear(text: str) -> Unknown:
    return Unknown(
        reason=f"which file `{text}` is, is not known: name it by its whole path, or tell the"
        " folder that the command runs in"
    )


def _targets(words: Sequence[Word], command: Command, *, follows_links: bool) -> Found:
    for word in words:
        yield from _target(word.text, command, follows_links=follows_links)


def _operands(command: Command, *, follows_links: bool) -> Found:
    return _targets(command.invocation.operands, command, follows_links=follows_links)


def _edits_in_place(command: Command) -> Found:
    """`sed -i` writes a new file, with a copy of the old one beside it where an ending is given."""
    clusters = [word.text for word in command.argv[1:] if word.text.startswith("-")]
    if any(_names_a_copy(text) for text in clusters) or not sed_is_plain(command.invocation):
        yield Unknown(reason="what this script of `sed` touches is not known")
    scripts = command.invocation.all_values("-e", "--expression")
    files = command.invocation.operands if scripts else command.invocation.operands[1:]
    yield from _targets(files, command, follows_links=True)


def _names_a_copy(option: str) -> bool:
    """Whether `-i` has the ending of a copy behind it: `-i.bak`, also `-ie`."""
    if option.startswith("--"):
        return "=" in option
    return not option.startswith("-e") and "i" in option[:-1]


def _moves(command: Command) -> Found:
    yield from _targets(command.invocation.operands[:-1], command, follows_links=False)
    yield from _puts(command, follows_links=False)


def _puts(command: Command, *, follows_links: bool) -> Found:
    """Yield where the last word is, which may be a folder that the others come into."""
    *sources, last = [word.text for word in command.invocation.operands] or [""]
    names = tuple(source.rstrip("/").rpartition("/")[2] for source in sources)
    place = _place(last, command.cwd)
    if place is None or not names or not {"", ".", ".."}.isdisjoint(names):
        yield _unclear(last)
    else:
        yield AffectedPath(path=place, follows_links=follows_links, receives=names)


AFFECTING_WAYS: Final[dict[str, Callable[[Command], Found]]] = {
    "remove": lambda command: _operands(command, follows_links=False),
    "rewrite": lambda command: _operands(command, follows_links=True),
    "make-folders": lambda _command: iter(()),
    "edit-in-place": _edits_in_place,
    "move": _moves,
    "copy": lambda command: _puts(command, follows_links=True),
}
"""What an entry of a program may say under `affects.how`."""


def _rule_of(command: Command, programs: Programs) -> AffectedPathsRule | None:
    """Return how to tell what a command affects; None where it only reads or is not known."""
    rule = programs.of(command.program).affects
    if rule is None or rule.how != "edit-in-place":
        return rule
    return rule if command.invocation.has("-i", "--in-place") else None
