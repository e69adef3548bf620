"""What a command prints, as far as it can be known: its text, or at least where it is from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from posixpath import normpath, relpath
from typing import Final

import msgspec

from interlock.commands.programs.execution import Execution
from interlock.commands.programs.places import SCRATCH
from interlock.commands.programs.program_tables import Program
from interlock.commands.shell.command import Command
from interlock.commands.shell.provenance import (
    ARCHIVE,
    DECODED,
    ENDLESS,
    ENVIRON,
    LOGIN,
    MANY,
    NOTHING,
    PICKED,
    PROCESS,
    REMOTE,
    SECRET,
    STAND_IN,
    SYSTEM_FILE,
    TYPED,
    UNSEEN,
    Stream,
    as_written,
    ended,
    joined,
    part_of,
)
from interlock.commands.shell.words import Word, decode_ansi_c, labels_of

_PACKED_HISTORY: Final = frozenset(("archive", "bundle", "fast-export"))
_MADE_BY_MKTEMP: Final = "/tmp/made-by-mktemp"  # noqa: S108 - a name for what mktemp would make
_PATH_CHARS: Final = frozenset("/._~")
_MAX_NAME: Final = 1024
_VERBS: Final = 3
_WIDTH: Final = re.compile(r"-?[1-9][0-9]{0,2}(?![0-9])")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TAR_LETTERS: Final = frozenset("cxtruAdfzjJvkpPmwhlonsWOaCZ")
_ESCAPE: Final = r"\\(%s|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[abeEfnrtv\\%s])"
_OF_FORMATS: Final = re.compile(_ESCAPE % ("[0-7]{1,3}", "\"'?"))
_OF_ECHO: Final = re.compile(_ESCAPE % ("0[0-7]{0,3}", "c"))
_OF_ARGUMENTS: Final = re.compile(_ESCAPE % ("0[0-7]{0,3}|[1-7][0-7]{0,2}", "c"))
"""What a backslash makes of the characters behind it: in a format, for `echo -e`, for `%b`."""
_ECHO_OPTION: Final = re.compile(r"-[neE]+")
_WHOLE_FORMATS: Final = frozenset(("%s", "%s\n"))
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_ORDERED: Final = re.compile(r"[a-z0-9]*")
"""Lines whose order is the same in every language."""
_SHORT_COUNT: Final = re.compile(r"-[0-9]{1,9}")
_COUNT: Final = re.compile(r"([+-]?)([0-9]{1,9})")
_FIRST_LINES: Final = "10"
_TABLES_ONLY: Final = ("-s", "--schema-only", "--no-data", "--globals-only")
"""With these a database is told as it is built, without what lies in it."""
_CREDENTIAL: Final = re.compile(
    r"(?i)(?:\w*_)?(?:TOKEN|SECRET|PASSWORD|PASSWD|PAT|API_?KEY|(?:ACCESS|SECRET|PRIVATE)_KEY|CREDENTIALS?)"
)
"""Variables that hold a login by their names."""
_EVERY_NAME: Final = frozenset(("*", "**", "*.*"))
_PICKS_A_PART: Final = tuple(
    "-f --format -raw --raw -q --quiet --services --images --volumes --profiles --hash".split()
)
_KEEPS_THE_PLACE: Final = frozenset(
    "-e -f -L -m -n -P -q -s -v --canonicalize --canonicalize-existing --canonicalize-missing"
    " --logical --no-symlinks --physical --quiet --strip".split()
)
"""Options with which `realpath` and `readlink` still name the place that they are given."""


def output_of(run: Execution, known: Program) -> Stream:
    """Return what a command prints."""
    if known.picks and run.stdin.labels & ENVIRON:
        labels = _labels_of_operands(run) | run.stdin.labels
        return Stream((labels | PICKED) & ~ENVIRON)
    if known.prints_logins and _begins(run, known.prints_logins):
        return Stream(LOGIN | OUTPUT_WAYS[known.prints](run).labels & SECRET)
    if known.prints_settings and _begins(run, known.prints_settings):
        return UNSEEN if run.invocation.has(*_PICKS_A_PART) else Stream(LOGIN)
    return OUTPUT_WAYS[known.prints](run)


def _begins(run: Execution, verbs: Sequence[str]) -> bool:
    said = " ".join([*(word.text for word in run.operands[:_VERBS]), "$ "])
    return any(said.startswith(f"{verb} ") for verb in verbs) or run.invocation.has(*verbs)


def login_in(words: Sequence[Word]) -> int:
    """Return the label of a login, if one of the words is nothing but a variable called so."""
    names = [word.text.strip("${}") for word in words if word.text[:1] == "$"]
    return LOGIN if any(map(_CREDENTIAL.fullmatch, names)) else 0


def _forge(run: Execution) -> Stream:
    # What a shell completes with, the program prints by itself: `gh completion -s bash`.
    own = any(word.text == "completion" for word in run.operands[:1])
    return Stream(run.stdin.labels | (0 if own else REMOTE))


def _environment(run: Execution) -> Stream:
    named = any(_CREDENTIAL.fullmatch(word.text) for word in run.operands)
    return Stream(LOGIN if named else 0 if run.operands else ENVIRON)


def printf_text(words: Sequence[Word]) -> Stream:
    """Return what `printf` prints for literal words; formats are applied over and over."""
    if not words:
        return NOTHING
    known = all(word.known for word in words)
    labels = labels_of(words) | (0 if known else login_in(words))
    # Every round of the format takes some of the arguments, so this ends.
    template, _ = _unescaped(words[0].text, _OF_FORMATS)
    arguments = [word.text for word in words[1:]]
    if labels & STAND_IN and (template not in _WHOLE_FORMATS or len(arguments) != 1):
        return Stream(labels & ~STAND_IN)
    parts: list[str] = []
    while True:
        text, used = _formatted(template, arguments)
        if text is None:
            return Stream(labels | (DECODED if known else 0))
        parts.append(text)
        arguments = arguments[used:]
        if not used or not arguments:
            whole = "".join(parts)
            return _printed(whole, words) if known else as_written(labels, whole, known=False)


def _printed(text: str, words: Sequence[Word]) -> Stream:
    """Return what words print; bytes that escapes stand for may be no text of their own."""
    exact = text.isascii() or not any("\\" in word.text for word in words)
    return Stream(labels_of(words), text, exact)


def _unescaped(raw: str, escapes: re.Pattern[str]) -> tuple[str, bool]:
    """Return a text without its escapes, and whether one of them ended it."""
    stops = (found.start() for found in escapes.finditer(raw) if found[1] == "c")
    stop = next(stops, len(raw))
    return escapes.sub(_meant, raw[:stop]), stop < len(raw)


def _meant(found: re.Match[str]) -> str:
    octal = found[1][0] in "01234567"
    meant = chr(int(found[1], 8) & 0xFF) if octal else decode_ansi_c(found[0])
    # An escape begins no conversion.
    return "%%" if meant == "%" and found.re is _OF_FORMATS else meant


def _formatted(template: str, arguments: Sequence[str]) -> tuple[str | None, int]:
    """Put arguments into one round of the template; return how many it took."""
    out: list[str] = []
    used = 0
    index = 0
    while index < len(template):
        char = template[index]
        index += 1
        if char != "%":
            out.append(char)
            continue
        if template.startswith("%", index):
            out.append("%")
            index += 1
            continue
        found = _WIDTH.match(template, index)
        width = found[0] if found else ""
        kind = template[index + len(width) : index + len(width) + 1]
        index += len(width) + 1
        argument = arguments[used] if used < len(arguments) else ""
        used += 1
        if kind == "b":
            argument, ended = _unescaped(argument, _OF_ARGUMENTS)
            if ended:
                return "".join([*out, argument]), len(arguments)
        elif kind != "s" and not (kind in {"d", "i"} and _NUMBER.fullmatch(argument)):
            # Other conversions are not computed.
            return None, used
        out.append(_padded(argument, width))
    return "".join(out), used


def _padded(text: str, width: str) -> str:
    size = int(width.lstrip("-") or "0")
    return text.ljust(size) if width.startswith("-") else text.rjust(size)


def _something(run: Execution) -> Stream:
    """What is made of a text that the line shows is not computed, and may be anything."""
    shown = DECODED if run.stdin.text and not run.stdin.labels & MANY else 0
    # What is typed in reaches what a program prints only where that passes on what it reads.
    passed_on = run.stdin.labels & ~(STAND_IN | TYPED)
    return Stream(_labels_of_operands(run) & ~ENDLESS | passed_on | shown)


def _echo(run: Execution) -> Stream:
    words = list(run.words)
    letters = ""
    while words and _ECHO_OPTION.fullmatch(words[0].text):
        letters += words.pop(0).text
    labels = labels_of(words)
    text = " ".join([word.text for word in words])
    if not all(word.known for word in words):
        return as_written(labels | login_in(words), text, known=False)
    end = "" if "n" in letters else "\n"
    if letters.rfind("e") <= letters.rfind("E"):
        return Stream(labels, text + end)
    text, ended = _unescaped(text, _OF_ECHO)
    return _printed(text if ended else text + end, words)


def _read_by(run: Execution) -> Stream:
    """Return what a filter reads: its files, or what flows in."""
    if not run.operands:
        return run.stdin
    return joined([run.stdin if word.text == "-" else run.file(word) for word in run.operands])


def _cat(run: Execution) -> Stream:
    printed = _filtered(run) if run.invocation.flags - {"-u"} else _read_by(run)
    for word in run.operands:
        every = word.glob and word.text.rpartition("/")[2] in _EVERY_NAME
        # What was built is there to be handed out.
        if every and not run.places.at(word.text, run.scope) & SCRATCH:
            return Stream(printed.labels | ARCHIVE)
    return printed


def _input(run: Execution) -> Stream:
    """What flows in or a file holds, unless an option may change it."""
    source = _read_by(run)
    if run.invocation.flags or len(run.operands) > 1:
        return _filtered(run)
    return Stream(source.labels | _labels_of_operands(run), source.text, source.exact)


def _filtered(run: Execution) -> Stream:
    """What a filter leaves of a text: its words may be run, but not as they stand."""
    text = _read_by(run).text or run.stdin.text
    labels = _labels_of_operands(run) | run.stdin.labels & ~STAND_IN
    return part_of(Stream(labels, text))


def _computed(compute: Callable[[Execution, str], str | None], run: Execution) -> Stream:
    """What a filter makes of a known text, where that can be told exactly."""
    source = _read_by(run)
    text = None
    if source.text is not None and source.exact and len(run.operands) < 2:
        text = None if source.labels & STAND_IN else compute(run, source.text)
    return _filtered(run) if text is None else Stream(_input(run).labels, text)


def _first_or_last(run: Execution, text: str) -> str | None:
    """What `head` and `tail` leave: lines, or with `-c` characters."""
    given = run.invocation
    counts = [(name, each.text) for name, words in given.values.items() for each in words]
    options = {"-n", "-c", "--lines", "--bytes"}
    if not counts:
        short = [each.text for each in run.words if _SHORT_COUNT.fullmatch(each.text)]
        counts = [("-n", each[1:]) for each in short] or [("-n", _FIRST_LINES)]
        options = {f"-{digit}" for digit in "".join(short)}
    name, written = counts[0]
    found = _COUNT.fullmatch(written)
    if found is None or len(counts) > 1 or given.flags - options or not text.isascii():
        return None
    units = list(text) if name in {"-c", "--bytes"} else _LINE.findall(text)
    sign, count = found[1], int(found[2])
    if run.command.program == "head":
        return "".join(units[: len(units) - count] if sign == "-" else units[:count])
    from_start = max(count - 1, 0)
    return "".join(units[from_start if sign == "+" else max(len(units) - count, 0) :])


def _part(run: Execution) -> Stream:
    """What has no end, has one behind `head`."""
    return ended(_computed(_first_or_last, run))


def _backwards(run: Execution, text: str) -> str | None:
    return None if run.invocation.flags else "".join(reversed(_LINE.findall(text)))


def _sorted(run: Execution, text: str) -> str | None:
    lines = text.removesuffix("\n").split("\n")
    if run.invocation.flags or not (len(lines) < 2 or all(map(_ORDERED.fullmatch, lines))):
        return None
    return "".join([f"{line}\n" for line in sorted(lines)]) if text else ""


def _without_repeats(run: Execution, text: str) -> str | None:
    lines = text.removesuffix("\n").split("\n") if text else []
    return None if run.invocation.flags else "".join([f"{line}\n" for line, _ in groupby(lines)])


def _mktemp(run: Execution) -> Stream:
    folder = run.invocation.value("-p", "--tmpdir")
    template = run.operands[0].text if run.operands else ""
    if template.startswith(("/", "$", "~")):
        return Stream(STAND_IN, template)
    return Stream(STAND_IN, f"{folder.text}/made-by-mktemp" if folder else _MADE_BY_MKTEMP)


def _decoder(run: Execution) -> Stream:
    if run.operands[:1] == [Word("s_client")]:
        return Stream(REMOTE)
    decodes = run.invocation.has("-d", "-D", "--decode", "--decrypt", "-r", "-rp", "-di")
    return Stream(_something(run).labels | (DECODED if decodes else 0))


def _git(run: Execution) -> Stream:
    verb = run.operands[0].text if run.operands else ""
    if verb == "rev-parse" and run.invocation.has("--show-toplevel"):
        return Stream(STAND_IN, ".")
    if verb == "ls-files":
        return _names(run, run.operands[1:])
    if verb == "archive" and run.invocation.has("--remote"):
        return Stream(REMOTE)
    # What holds the history, whole or as text, is as much as the folder.
    history = verb in _PACKED_HISTORY or (verb == "log" and run.invocation.has("-p", "--patch"))
    return Stream(ARCHIVE if history else _labels_of_operands(run))


def _names(run: Execution, given: Sequence[Word]) -> Stream:
    """`ls` and `git ls-files` print names: those that patterns stand for, or all of a folder."""
    patterns = [word.text for word in given if "*" in word.text]
    ending = "\0" if run.invocation.has("-z", "--zero") else "\n"
    return Stream(MANY, "".join([f"{each}{ending}" for each in patterns or ["*"]]), exact=False)


def _bucket(run: Execution) -> Stream:
    """`aws s3 cp s3://bucket/file -` and `gsutil cat` print what a store holds."""
    texts = [word.text for word in run.operands]
    prints = texts[-1:] == ["-"] or "cat" in texts[:2]
    if prints and any(":" in text for text in texts):
        return Stream(REMOTE)
    return _something(run)


def _folder(run: Execution) -> Stream:
    """`pwd`."""
    cwd = run.scope.cwd or "."
    return Stream(0 if cwd.startswith("/") else STAND_IN, cwd)


def _same_name(run: Execution) -> Stream:
    """`realpath X` and the like print a name that stands for the same place."""
    if len(run.operands) != 1 or not run.operands[0].known:
        return UNSEEN
    labels, text = run.operands[0].labels, run.operands[0].text
    if text.startswith("/"):
        text = "/" + normpath(text).lstrip("/")
        origin = run.invocation.value("--relative-to")
        if origin is not None and origin.known and origin.text.startswith("/"):
            return Stream(labels, relpath(text, origin.text))
    if not _KEEPS_THE_PLACE.issuperset(run.invocation.flags):
        return UNSEEN
    return Stream(labels | STAND_IN, text)


def _one_path(run: Execution, most: int) -> str | None:
    """Return the path of which a part is printed; None where that is not known."""
    words = run.operands
    if not 0 < len(words) <= most or run.invocation.flags:
        return None
    known = all(word.known for word in words) and not labels_of(words) & STAND_IN
    return words[0].text if known else None


def _parent(run: Execution) -> Stream:
    """`dirname X` prints the folder that X lies in."""
    path = _one_path(run, 1)
    if path is None:
        return UNSEEN
    folder, slash, _ = path.rstrip("/").rpartition("/")
    above = "/" if slash or (path and not path.strip("/")) else "."
    return Stream(run.operands[0].labels, folder.rstrip("/") or above)


def _base_name(run: Execution) -> Stream:
    """`basename X .txt` prints the last name of X, without the ending."""
    path = _one_path(run, 2)
    if path is None:
        return UNSEEN
    name = path.rstrip("/").rpartition("/")[2] or path[:1]
    ending = run.operands[-1].text if len(run.operands) > 1 else ""
    return Stream(labels_of(run.operands), name if name == ending else name.removesuffix(ending))


def _last_name(run: Execution) -> Stream:
    """`$(which rm)` is `rm`."""
    return Stream(STAND_IN, run.words[-1].text) if run.words and run.words[-1].known else UNSEEN


def _labels_of_operands(run: Execution) -> int:
    labels = labels_of(run.words)
    files = run.scope.files
    for word in run.words:
        if files and (held := files.get(run.scope.path(word.text))) is not None:
            labels |= held.labels
        if _may_be_path(word) and run.places.is_credential(run.scope.path(word.text)):
            labels |= SECRET
    return labels


def _may_be_path(word: Word) -> bool:
    text = word.text
    if not word.known or text[:1] == "-" or len(text) > _MAX_NAME:
        return False
    return not _PATH_CHARS.isdisjoint(text)


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an archiver."""

    packs: bool = False
    unpacks: bool = False
    file: Word | None = None
    """The archive; None for standard input or output."""
    members: tuple[Word, ...] = ()
    folder: Word | None = None
    """Where it unpacks to, if that is said."""


def tar(command: Command) -> Archive:
    """Return what `tar` would do; `tar czf` without a dash is the old spelling of `tar -czf`."""
    invocation = command.invocation
    operands = list(invocation.operands)
    letters = ""
    if (
        operands
        and command.argv[1:2] == (operands[0],)
        and _TAR_LETTERS.issuperset(operands[0].text)
    ):
        letters = operands.pop(0).text
    file = invocation.value("-f", "--file")
    if "f" in letters and operands:
        file = operands.pop(0)
    # What is packed with its whole path goes where it was.
    absolute = "P" in letters or invocation.has("-P", "--absolute-names", "--absolute-paths")
    return Archive(
        packs="c" in letters or invocation.has("-c", "-r", "-u", "--create", "--append"),
        unpacks="x" in letters or invocation.has("-x", "--extract", "--get"),
        file=None if file is None or file.text == "-" else file,
        members=tuple(operands),
        folder=Word("/") if absolute else invocation.value("-C", "--directory"),
    )


def zip_archive(command: Command) -> Archive:
    """Return what `zip` would do."""
    return _packed(command.invocation.operands)


def seven_zip(command: Command) -> Archive:
    """Return what `7z` and `unrar` would do: the first word says whether they pack."""
    verb, *operands = command.invocation.operands or [Word("")]
    if verb.text in {"x", "e"}:
        told = [word.tail(2) for word in command.argv if word.text.startswith("-o")]
        told += [word for word in operands[1:] if word.text.endswith("/")]
        return Archive(unpacks=True, file=next(iter(operands), None), folder=next(iter(told), None))
    return _packed(operands)


def unzip(command: Command) -> Archive:
    """Return what `unzip` would do."""
    file = next(iter(command.invocation.operands), None)
    return Archive(unpacks=True, file=file, folder=command.invocation.value("-d"))


def python_archive(command: Command) -> Archive:
    """Return what `python -m zipfile` and `python -m tarfile` would do."""
    file, folder = [*command.invocation.operands, None, None][:2]
    unpacks = command.invocation.has("-e", "--extract")
    return Archive(unpacks=unpacks, file=file, folder=folder)


def _packed(operands: Sequence[Word]) -> Archive:
    file = operands[0] if operands and operands[0].text != "-" else None
    return Archive(packs=True, file=file, members=tuple(operands[1:]))


def _archiver(archive_of: Callable[[Command], Archive], run: Execution) -> Stream:
    archive = archive_of(run.command)
    if not archive.packs:
        return UNSEEN
    return Stream(packed_labels(archive, run)) if archive.file is None else NOTHING


def packed_labels(archive: Archive, run: Execution) -> int:
    """Return where what is packed comes from."""
    names = [Word(name) for name in (run.stdin.text or "").split()[:16]]
    packed = [*archive.members, *names]
    built = packed and all(run.places.at(word.text, run.scope) & SCRATCH for word in packed)
    # What was built is there to be handed out.
    labels = run.stdin.labels | (0 if built else ARCHIVE)
    for word in packed:
        labels |= run.file(word).labels
    return labels


OUTPUT_WAYS: Final[dict[str, Callable[[Execution], Stream]]] = {
    "": _something,
    "words": _echo,
    "files": _cat,
    "folder": _folder,
    "temporary-name": _mktemp,
    "environment": _environment,
    "decoded": _decoder,
    "scrambled": lambda run: Stream(run.stdin.labels | DECODED),
    "tar": partial(_archiver, tar),
    "zip": partial(_archiver, zip_archive),
    "git": _git,
    "names": lambda run: _names(run, run.operands),
    "last-word": _last_name,
    "same-name": _same_name,
    "parent": _parent,
    "base-name": _base_name,
    "bucket": _bucket,
    "history": lambda _run: Stream(SYSTEM_FILE),
    "fetched": lambda run: Stream(run.stdin.labels | REMOTE),
    "forge": _forge,
    "unseen": lambda _run: UNSEEN,
    "input": _input,
    "flow": lambda run: run.stdin,
    "filtered": _filtered,
    "part": _part,
    "processes": lambda _run: Stream(PROCESS),
    "endless": lambda _run: Stream(ENDLESS),
    "database": lambda run: Stream(0 if run.invocation.has(*_TABLES_ONLY) else ARCHIVE),
    "backwards": partial(_computed, _backwards),
    "sorted": partial(_computed, _sorted),
    "without-repeats": partial(_computed, _without_repeats),
}
"""What an entry of a program may say under `prints`."""
