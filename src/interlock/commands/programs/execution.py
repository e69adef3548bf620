"""One command at the moment it would run: in its shell, among known places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.commands.programs.places import SYSTEM, SYSTEM_ROOT, TEMP, Places
from interlock.commands.programs.program_tables import UNKNOWN_PROGRAM, Program
from interlock.commands.programs.scripts import leaves_nothing
from interlock.commands.shell.cmdlets import cmdlet_of, is_item
from interlock.commands.shell.command import Command, Effect, EffectKind, Invocation
from interlock.commands.shell.provenance import EMPTY, MANY, UNKNOWN_FILE, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word

OUTPUT_OPTIONS: Final = frozenset(
    "-o -out --out --output --output-file --outfile --out-file --result-file".split()
)
"""Options that name what is written."""
_RUBBISH: Final = frozenset(
    "o obj lo a gcda gcno d orig rej bak tmp temp log swp swo pid aux toc fls out prof tsbuildinfo"
    " pyc pyo class coverage pdb ilk idb gcov bbl blg ilg idx ind lof lot".split()
)
"""How files end that nobody would miss."""
_FILE_ENDINGS: Final = frozenset(
    "json lock log txt md zip tgz gz tar yaml yml toml py js ts tsx go rs csv out tmp bak xml hcl"
    " html css pdf png jpg svg ini cfg conf sh map whl jar exe deb rpm msi".split()
)
_TAKES_SCRIPT: Final = re.compile("-[a-z0-9]*[eE]|--expression|--source")
"""Options that take a script: `-e`, `-pe`, `--expression`."""


_ITSELF: Final = frozenset((EffectKind.DELETE, EffectKind.MOVE))
"""What is done to a link, and not to what it leads to."""


class Execution(msgspec.Struct, frozen=True, gc=False):
    """All that is asked of what a program would do."""

    command: Command
    invocation: Invocation
    """The command line, taken apart."""
    scope: Scope
    places: Places

    @property
    def operands(self) -> list[Word]:
        """What is no option and no value of one."""
        return self.invocation.operands

    @property
    def words(self) -> tuple[Word, ...]:
        """Everything behind the program."""
        return self.command.argv[1:]

    @property
    def stdin(self) -> Stream:
        """What flows in."""
        return self.command.frame.stdin

    def file(self, word: Word) -> Stream:
        """Return what lies in the file that a word names."""
        return self.places.stream(word, self.scope)

    def store(self, name: str, stream: Stream) -> None:
        """Remember what lies in a file from now on."""
        self.scope.files[self.scope.path(name)] = stream

    def fill(self, folder: Word | None, stream: Stream) -> None:
        """Remember where files come from that now lie in a folder, or where one stands."""
        self.scope.fill("." if folder is None else folder.text, stream, mixed=folder is None)

    def link(self, targets: Iterable[Word], name: Word | None) -> None:
        """Remember where links lead; one in a folder has its target's name."""
        for target in targets:
            folder = "." if name is None else name.text
            last = target.text.rstrip("/").rpartition("/")[2]
            inside = name is None or folder.endswith((".", "/")) or self.invocation.has("-t")
            self.scope.link(target.text, f"{folder}/{last}" if inside else folder)

    def effect(
        self, kind: EffectKind, target: Word, *, recursive: bool = False, forced: bool = False
    ) -> Effect:
        """Return what it does to the file or folder that a word names."""
        scope = self.scope
        if scope.links and kind in _ITSELF and scope.path(target.text) in scope.links:
            # Without a slash behind it, a link goes by itself.
            behind = target.text[-1:] == "/"
            place = self.places.at(target.text, scope) if behind else TEMP
        else:
            place = self.places.at(target.text, scope)
        return Effect(kind, target, self.command, place, target.labels, recursive, forced)

    def effects(
        self,
        kind: EffectKind,
        targets: Iterable[Word],
        *,
        recursive: bool = False,
        forced: bool = False,
    ) -> Iterator[Effect]:
        """Return what it does to each of several."""
        for target in targets:
            yield self.effect(kind, target, recursive=recursive, forced=forced)


def goes_with_obj(target: Word, others: Iterable[Word], run: Execution) -> bool:
    """Whether it is a folder that a compiler fills: `bin`, beside `obj`."""
    beside = f"{target.text.removesuffix('bin')}obj"
    name = target.text.replace("\\", "/").rpartition("/")[2]
    if not target.known or name != "bin" or all(word.text != beside for word in others):
        return False
    return not run.places.at(target.text, run.scope) & (SYSTEM_ROOT | SYSTEM)


def cmdlet_targets(run: Execution) -> list[Word]:
    """Return the files that a command of PowerShell names, or else those that flow in."""
    given = cmdlet_of(run.command)
    paths = [word for word in given.paths if not is_item(word)]
    if paths or given.operands or not run.command.frame.piped:
        return paths
    names = (run.stdin.text or "$_").split("\n")
    known = run.stdin.text is not None
    labels = run.stdin.labels
    return [Word(name, known=known, glob=known, labels=labels) for name in names if name]


def edited_in_place(run: Execution) -> list[Word]:
    """Return the files that `sed -i` and the like rewrite; marked, where they leave nothing."""
    given = run.invocation
    if run.command.program.endswith("awk"):
        in_place = any(word.text == "inplace" for word in given.all_values("-i", "--include"))
    else:
        in_place = any(_edits_in_place(word.text) for word in run.words)
    if not in_place:
        return []
    values = given.values.items()
    scripts = [word for name, words in values if _TAKES_SCRIPT.fullmatch(name) for word in words]
    files = given.operands
    if not scripts and not given.has("-f", "--file"):
        # `sed -i '' d file` is how others write `sed -i d file`.
        first = 1 if len(files) > 2 and not files[0].text else 0
        scripts, files = files[first : first + 1], files[first + 1 :]
    options = [word.text for word in run.words if word.text[:1] == "-"]
    if not scripts or not leaves_nothing(options, ";".join([word.text for word in scripts])):
        return files
    return [replace(word, labels=word.labels | EMPTY) for word in files]


def _edits_in_place(text: str) -> bool:
    return text.startswith("--in-pl") or (
        text[:1] == "-" and text[:2] != "--" and "i" in text[:4].lower()
    )


def counted(target: Word) -> Word:
    """Mark a pattern that leaves open how its names begin: `*`, `src/*.py`, `src/**/a.ts`."""
    text = target.text
    if is_rubbish(target):
        return replace(target, labels=target.labels & ~MANY)
    if "*" not in text or (text.rpartition("/")[2][:1] != "*" and "**" not in text):
        return target
    return replace(target, labels=target.labels | MANY)


def is_one_file(target: Word) -> bool:
    """`rm -rf package-lock.json` deletes one file, not a tree; so does `rm -rf *.o`, for each."""
    _, dot, ending = target.text.rpartition("/")[2].rpartition(".")
    return bool(dot) and target.known and ending in (_RUBBISH if target.glob else _FILE_ENDINGS)


def is_rubbish(target: Word) -> bool:
    """Whether a name says that it is left over: from a build, an edit, a merge, a run."""
    return target.text.rpartition("/")[2].rpartition(".")[2] in _RUBBISH


def named(target: Word) -> Word:
    """Mark a target whose very name is unknown: `$X`, but not `$OUT/a.o`."""
    if target.known or "$" not in target.text.rpartition("/")[2]:
        return target
    return replace(target, labels=target.labels | UNKNOWN_FILE)


def told_outputs(run: Execution, known: Program) -> Iterator[Word]:
    """Yield the files that options called output name; a format or a setting is no path."""
    is_read = known is not UNKNOWN_PROGRAM and not known.verbs
    values = run.invocation.all_values(*OUTPUT_OPTIONS) if is_read else _behind_outputs(run.words)
    for word in values:
        if "/" in word.text and "=" not in word.text:
            yield word


def _behind_outputs(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the words behind such options, where nobody knows which of them take a value."""
    for before, word in pairwise(words):
        if before.text in OUTPUT_OPTIONS:
            yield word
    for word in words:
        option, _, value = word.text.partition("=")
        if value and option in OUTPUT_OPTIONS:
            yield Word(value, known=word.known)
