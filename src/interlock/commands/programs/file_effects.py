"""What a simple command does to files: which it deletes, overwrites, reads, opens up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from interlock.commands.programs.credential_reads import credential_reads, hash_reads
from interlock.commands.programs.execution import (
    OUTPUT_OPTIONS,
    Execution,
    cmdlet_targets,
    counted,
    edited_in_place,
    goes_with_obj,
    is_one_file,
    is_rubbish,
    named,
    told_outputs,
)
from interlock.commands.programs.network_effects import NETWORK_WAYS, git_traffic, is_remote
from interlock.commands.programs.outputs import (
    Archive,
    output_of,
    packed_labels,
    python_archive,
    seven_zip,
    tar,
    unzip,
    zip_archive,
)
from interlock.commands.programs.places import (
    CREDENTIAL,
    HOME,
    SCRATCH,
    TEMP,
)
from interlock.commands.programs.program_tables import Program
from interlock.commands.shell.cmdlets import cmdlet_of
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.provenance import (
    ARCHIVE,
    DECODED,
    EMPTY,
    ENDLESS,
    ENVIRON,
    LOGIN,
    MANY,
    NOTHING,
    PICKED,
    REMOTE,
    SECRET,
    TYPED,
    Stream,
    ended,
    part_of,
    written,
)
from interlock.commands.shell.words import Word, quoted, unknown

_TIGHT_MODES: Final = frozenset("600 0600 400 0400 700 0700 500 go-rwx go= og-rwx o-rwx".split())
_NAME_TESTS: Final = frozenset(("-name", "-iname", "-path", "-wholename"))
_DENIALS: Final = frozenset(("!", "-not"))
_PACKS_AWAY: Final = {"tar": ("--remove-files",), "zip": ("-m", "--move"), "7z": ("-sdel",)}
"""Options with which an archiver deletes what it has packed."""
ASKING_FLAGS: Final = frozenset(("-ok", "-okdir"))
EXEC_FLAGS: Final = frozenset(("-exec", "-execdir")) | ASKING_FLAGS
EXEC_ENDS: Final = frozenset((";", "\\;", "+"))
"""Between these stands the command that `find` runs."""
ASKS_BACK: Final = "asks-back"
"""What a command stands behind that is run only where a person says yes to each time."""
FIND_OUTPUTS: Final = frozenset(("-fprint", "-fprint0", "-fprintf", "-fls"))
_FIND_OPTIONS: Final = frozenset(("-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x"))
_APPLIES: Final = frozenset(("apply", "am"))
_ONLY_TELLS_OF_A_PATCH: Final = (
    "--check --stat --numstat --summary --cached --abort --quit --show-current-patch".split()
)
_LEAVES_KEYS: Final = "-l -y -e -i -F -R -H -B -L -Q -r -D -s -M -A -Y -k".split()
"""With these `ssh-keygen` only tells, signs, or sees to other files than the keys."""
_COPIES_ALL: Final = ("if=", "of=", "status=", "bs=")
_BOX_SYSTEM: Final = ("/etc/", "/root/", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/lib/")
_PARTS: Final = "aa ab ac ad 00 01 02 03".split()
"""How the names end that `split` gives the first parts."""
_SWITCHES: Final = r"(?:/\w(?::\S*)?)+|/\?"
_WITH_VALUE: Final = ("-e", "-i", "-fi", "-cr", "-st")
"""How options of `Remove-Item` begin that take a word which names nothing to be removed."""
_STARTS_OF_WAYS: Final = frozenset("/~$")
_SOME_FILE: Final = "…"
"""How a file is written whose name only the run decides."""
_FOLLOWS: Final = REMOTE | DECODED | SECRET | LOGIN | ENVIRON | PICKED | ARCHIVE
"""What is true of everything that is made of something."""


def effects_of(run: Execution, known: Program) -> list[Effect]:
    """Return what the command does to files and over the network."""
    effects: list[Effect] = []
    if known.rehearses and run.invocation.has(*known.rehearses):
        return effects
    if known.files:
        effects.extend(FILE_WAYS[known.files](run))
    if known.network:
        effects.extend(NETWORK_WAYS[known.network](run))
    if not run.invocation.flags.isdisjoint(OUTPUT_OPTIONS):
        if not known.network:
            effects.extend(run.effects(EffectKind.OVERWRITE, told_outputs(run, known)))
        if labels := output_of(run, known).labels & _FOLLOWS:
            for word in run.invocation.all_values(*OUTPUT_OPTIONS):
                run.store(word.text, Stream(labels))
    if known.reads:
        effects.extend(credential_reads(run, known))
    elif "/etc/" in run.command.text or "$" in run.command.text:
        effects.extend(hash_reads(run))
    return effects


def _remove(run: Execution) -> Iterator[Effect]:
    spread = "find" in run.command.frame.via
    recursive = run.invocation.has("-r", "-R", "--recursive") or spread
    prompted = ASKS_BACK in run.command.frame.via
    # `-F` begins PowerShell's `-Force`, of which `rm` is a name as well.
    forced = run.invocation.has("-f", "-F", "--force") and not prompted
    asks_back = prompted or run.invocation.has("-i", "-I", "--interactive")
    for word in run.operands:
        if goes_with_obj(word, run.operands, run):
            continue
        tree = recursive and (spread or not is_one_file(word))
        if spread and is_rubbish(word):
            tree = run.invocation.has("-r", "-R", "--recursive")
        name = named(word)
        target = replace(name, labels=name.labels & ~MANY) if asks_back else counted(name)
        # What was moved away first is lost from where it was.
        lost = run.scope.moved_to(word.text) if run.scope.moved else ()
        yield from run.effects(EffectKind.DELETE, [target, *lost], recursive=tree, forced=forced)


def _boxed(run: Execution) -> Iterator[Effect]:
    """`docker cp` writes over files here, or over what the box's own system is made of."""
    if any(word.text == "cp" for word in run.operands[:2]):
        target = run.operands[-1]
        path = target.text.rpartition(":")[2]
        if path == target.text or path.startswith(_BOX_SYSTEM):
            yield run.effect(EffectKind.OVERWRITE, Word(path, known=target.known))


def _remove_item(run: Execution) -> Iterator[Effect]:
    """`del /s`, `rd /s`, `rd -Recurse`: options of Windows are words like others."""
    recursive = False
    targets: list[Word] = []
    words = iter(run.words)
    for word in words:
        text = word.text.lower()
        if text.startswith("-wh"):
            return
        if text[:1] == "-" or re.fullmatch(_SWITCHES, text):
            recursive = recursive or text.startswith(("-r", "/s")) or "/s" in text
            if text.startswith(_WITH_VALUE):
                next(words, None)
        else:
            parts = filter(None, word.text.split(","))
            targets += [replace(word, text=part) for part in parts]
    if recursive and not targets:
        targets.append(unknown("$_"))
    for target in targets:
        tree = recursive and not is_rubbish(target)
        yield run.effect(EffectKind.DELETE, counted(named(target)), recursive=tree, forced=tree)


def _remove_folder(run: Execution) -> Iterable[Effect]:
    """`rmdir` removes what is empty, but on Windows a tree with `/s` or `-Recurse`."""
    if any(word.text[:2].lower() in {"/s", "-r"} for word in run.words):
        return _remove_item(run)
    return run.effects(EffectKind.DELETE, map(named, run.operands))


def _cmdlet_remove(run: Execution) -> Iterator[Effect]:
    """`Remove-Item` never asks back; without a path it takes what flows in."""
    given = cmdlet_of(run.command)
    if given.has("whatif"):
        return
    recursive = given.has("recurse")
    targets = cmdlet_targets(run)
    for word in [each for each in targets if not goes_with_obj(each, targets, run)]:
        tree = recursive and not is_one_file(word)
        yield run.effect(EffectKind.DELETE, counted(named(word)), recursive=tree, forced=tree)


def _cmdlet_write(run: Execution) -> Iterator[Effect]:
    """`Set-Content file text` writes over a file, `Add-Content` and `-Append` add to it."""
    adds = run.command.program == "add-content" or cmdlet_of(run.command).has("append")
    kind = EffectKind.APPEND if adds else EffectKind.OVERWRITE
    return run.effects(kind, cmdlet_targets(run)[:1])


def _cmdlet_empty(run: Execution) -> Iterator[Effect]:
    """`Clear-Content` leaves an empty file."""
    targets = [replace(word, labels=word.labels | EMPTY) for word in cmdlet_targets(run)]
    return run.effects(EffectKind.OVERWRITE, targets)


def _shred(run: Execution) -> Iterator[Effect]:
    """Unlike a plain delete, what was shredded cannot be found again."""
    for target in run.operands:
        yield run.effect(EffectKind.OVERWRITE, target)
        yield run.effect(EffectKind.DELETE, target, recursive=True, forced=True)


def _move(run: Execution) -> Iterator[Effect]:
    sources, destination = _sources_and_destination(run)
    yield from run.effects(EffectKind.MOVE, sources, recursive=True)
    yield from _copy(run)
    if destination is None:
        return
    away = bool(run.places.at(f"{destination.text}/{_SOME_FILE}", run.scope) & (TEMP | SCRATCH))
    for source in sources if away or run.scope.moved else ():
        run.scope.move(source, destination.text, away=away)


def _copy(run: Execution) -> Iterator[Effect]:
    sources, destination = _sources_and_destination(run)
    if destination is None:
        return
    yield _written_over(run, _emptied(destination, map(run.file, sources)))
    if destination.text.endswith((".", "/")) or run.invocation.has("-t", "--target-directory"):
        for source in sources:
            name = source.text.rstrip("/").rpartition("/")[2]
            inside = Word(f"{destination.text.rstrip('/')}/{name}", known=source.known)
            yield run.effect(EffectKind.OVERWRITE, inside)
    _carry(sources, destination, run)


def _written_over(run: Execution, target: Word) -> Effect:
    """Many files that are emptied are as much as gone."""
    marked = counted(target) if target.labels & EMPTY else target
    gone = target.labels & EMPTY and marked.labels & MANY
    return run.effect(EffectKind.DELETE if gone else EffectKind.OVERWRITE, marked)


def _emptied(target: Word, streams: Iterable[Stream]) -> Word:
    """Mark a target that is written over with nothing, or without end."""
    found = [written(stream, target.text) for stream in streams]
    empty = EMPTY if all(each & EMPTY for each in found) else 0
    endless = ENDLESS if any(each & ENDLESS for each in found) else 0
    return replace(target, labels=target.labels | empty | endless)


def _link(run: Execution) -> Iterator[Effect]:
    sources, destination = _sources_and_destination(run)
    if destination is not None:
        forced = run.invocation.has("-f", "--force")
        kind = EffectKind.OVERWRITE if forced else EffectKind.APPEND
        yield run.effect(kind, destination, forced=forced)
        _carry(sources, destination, run)
    run.link(sources or run.operands, destination)


def _sources_and_destination(run: Execution) -> tuple[list[Word], Word | None]:
    operands = run.operands
    folder = run.invocation.value("-t", "--target-directory")
    if folder is not None:
        return operands, folder
    return (operands[:-1], operands[-1]) if len(operands) > 1 else ([], None)


def _carry(sources: list[Word], destination: Word, run: Execution) -> None:
    """A copy of a secret is a secret; a copy of a program, or a link to it, runs that program."""
    for source in sources:
        name = source.text.rpartition("/")[2]
        stream = run.stdin if source.text == "/dev/stdin" else run.file(source)
        if stream.text is None and source.known and name and "." not in name:
            stream = Stream(stream.labels, f'{quoted(source.text)} "$@"')
        if stream.labels or stream.text is not None:
            run.store(destination.text, stream)
            run.store(f"{destination.text}/{name}", stream)


def _dd(run: Execution) -> Iterator[Effect]:
    given = [named(word.tail(3)) for word in run.operands if word.text.startswith("of=")]
    sources = [run.file(word.tail(3)) for word in run.operands if word.text.startswith("if=")]
    stream = sources[-1] if sources else run.stdin
    if not all(word.text.startswith(_COPIES_ALL) for word in run.words):
        stream = part_of(stream)
    if any(word.text.startswith("count=") for word in run.words):
        stream = ended(stream)
    if stream.labels or stream.text is not None:
        for target in given:
            run.store(target.text, stream)
    for target in given:
        yield replace(_written_over(run, _emptied(target, [stream])), forced=True)


def _tee(run: Execution) -> Iterator[Effect]:
    for target in run.operands:
        run.store(target.text, run.stdin)
    if run.invocation.has("-a", "--append"):
        return run.effects(EffectKind.APPEND, run.operands)
    return (_written_over(run, _emptied(target, [run.stdin])) for target in run.operands)


def _split(run: Execution) -> Iterator[Effect]:
    """`split` and `csplit` write parts of a text; which one holds what is not worked out."""
    names = [word.text for word in run.operands]
    stream = run.stdin if names[:1] in ([], ["-"]) else run.file(run.operands[0])
    if run.command.program == "csplit":
        given = run.invocation.value("-f", "--prefix")
        beginning = "xx" if given is None else given.text
    else:
        beginning = names[1] if len(names) > 1 else "x"
    if stream.labels or stream.text is not None:
        for ending in _PARTS:
            run.store(beginning + ending, part_of(stream))
    return run.effects(EffectKind.OVERWRITE, ())


def _own_files(run: Execution) -> Iterator[Effect]:
    """`interlock ledger backup` writes a new file, `audit` and `calibrate` what they are told."""
    verbs = [word.text for word in run.operands[:2]]
    if verbs[:1] in (["audit"], ["calibrate"]):
        written = run.invocation.all_values("--html", "--patch", "--svg")
        return run.effects(EffectKind.OVERWRITE, written)
    return run.effects(EffectKind.APPEND, run.operands[2:] if verbs == ["ledger", "backup"] else [])


def _in_place(run: Execution) -> Iterator[Effect]:
    """`sed -i` and `perl -pi` rewrite their files, or empty them."""
    for target in edited_in_place(run):
        yield _written_over(run, target)


def _permissions(run: Execution) -> Iterator[Effect]:
    operands = run.operands
    tight = bool(operands) and operands[0].text in _TIGHT_MODES
    recursive = run.invocation.has("-R", "--recursive", "-r") or "find" in run.command.frame.via
    targets = () if tight else operands[1:] or operands
    return run.effects(EffectKind.PERMIT, targets, recursive=recursive)


def _find(run: Execution) -> Iterator[Effect]:
    deletes = "-delete" in run.invocation.flags and not _runs_it_first(run.command)
    found = found_by(run.command) if deletes else ()
    for word in found:
        # An empty file or folder holds nothing that could be lost.
        full = "-empty" not in run.invocation.flags and not is_rubbish(word)
        yield run.effect(EffectKind.DELETE, word, recursive=full, forced=full)
    written = [word for before, word in pairwise(run.command.argv) if before.text in FIND_OUTPUTS]
    yield from run.effects(EffectKind.OVERWRITE, written)


def _runs_it_first(command: Command) -> bool:
    """`find . -exec echo -delete` only prints the word."""
    texts = [word.text for word in command.argv]
    delete = texts.index("-delete")
    starts = [index for index, text in enumerate(texts) if text in EXEC_FLAGS and index < delete]
    return any(EXEC_ENDS.isdisjoint(texts[start:delete]) for start in starts)


def found_by(command: Command) -> list[Word]:
    """Return what `find` finds: its names below its roots, or everything below them."""
    argv = command.argv
    names = [
        word.text
        for at, (denial, before, word) in enumerate(zip(argv, argv[1:], argv[2:], strict=False))
        if before.text in _NAME_TESTS
        and denial.text not in _DENIALS
        and not _is_left_out(argv[at + 3 :])
    ]
    return [
        Word(f"{root.text.rstrip('/')}/{name}", known=root.known, glob=True, labels=root.labels)
        for root in _find_roots(command)
        for name in names or ["*"]
    ]


def _is_left_out(behind: Sequence[Word]) -> bool:
    """`-path ./a -prune -o ...`: what is meant are the others."""
    left_out = False
    for word in behind:
        if word.text == "-prune":
            left_out = True
        elif word.text == "-o":
            return left_out
        elif left_out and word.text != ")":
            return False
    return False


def _find_roots(command: Command) -> list[Word]:
    """Return where `find` starts: the words before its first expression."""
    roots: list[Word] = []
    for word in command.argv[1:]:
        if word.text[:1] not in {"-", "(", "!"}:
            roots.append(word)
        elif roots or word.text not in _FIND_OPTIONS:
            break
    return roots or [Word(".")]


def _git(run: Execution) -> Iterator[Effect]:
    verb, *others = run.operands or [Word("")]
    if verb.text == "rm" and not run.invocation.has("--cached", "-n", "--dry-run"):
        # What git removes, it still holds.
        for target in others:
            yield run.effect(EffectKind.DELETE, replace(target, labels=target.labels & ~MANY))
    elif verb.text == "bundle" and len(others) > 1 and others[0].text == "create":
        run.store(others[1].text, Stream(ARCHIVE))
    elif verb.text == "mv":
        yield from run.effects(EffectKind.MOVE, others)
    elif verb.text in {"clone", "push", "remote"}:
        yield from git_traffic(run)
    elif verb.text == "worktree" and len(others) > 1:
        _work_tree(run, others[0].text, others[1:])
    elif verb.text in _APPLIES:
        only_tells = run.invocation.has(*_ONLY_TELLS_OF_A_PATCH)
        if run.invocation.has("--apply") or not only_tells:
            yield from _filled(run, patched_folder(run.command))


def _work_tree(run: Execution, verb: str, words: list[Word]) -> None:
    """Nobody else's work is lost with a tree that the line itself has added."""
    added = {f"{run.scope.path(word.text)}/.git" for word in words}
    if verb == "add":
        for name in added:
            run.store(name, NOTHING)
    elif verb == "remove" and added <= run.scope.files.keys():
        run.invocation.harmless = "this line itself has added that tree"


def _rsync(run: Execution) -> Iterator[Effect]:
    """Mirroring deletes at the destination what the source does not have."""
    if len(run.operands) < 2:
        return
    *sources, destination = run.operands
    if not is_remote(destination.text):
        yield run.effect(EffectKind.OVERWRITE, destination)
    deleted: list[Word] = []
    if any(flag.startswith("--del") for flag in run.invocation.flags):
        deleted.append(destination)
    if run.invocation.has("--remove-source-files", "--remove-sent-files"):
        deleted += sources
    yield from run.effects(EffectKind.DELETE, deleted, recursive=True, forced=True)


def _archived(archive_of: Callable[[Command], Archive], run: Execution) -> Iterator[Effect]:
    """An archive holds what was packed into it; unpacking writes below a folder."""
    archive = archive_of(run.command)
    if archive.packs and archive.file is not None:
        run.store(archive.file.text, Stream(packed_labels(archive, run)))
        yield run.effect(EffectKind.OVERWRITE, archive.file)
    if archive.packs and run.invocation.has(*_PACKS_AWAY.get(run.command.program, ())):
        yield from run.effects(EffectKind.DELETE, archive.members, recursive=True, forced=True)
    if archive.unpacks:
        labels = (run.stdin if archive.file is None else run.file(archive.file)).labels
        if labels & _FOLLOWS:
            run.fill(archive.folder, Stream(labels & _FOLLOWS))
        effects = list(_filled(run, archive.folder))
        if archive.folder is None or not effects[0].places & HOME:
            yield from effects


def _unpacked(run: Execution) -> Iterator[Effect]:
    """`gunzip a.gz` leaves `a`, which is from where `a.gz` is, and `gzip a` the other way round."""
    for word in run.operands:
        labels = run.file(word).labels & _FOLLOWS
        if labels:
            run.store(word.text.rpartition(".")[0], Stream(labels))
            for ending in (".gz", ".bz2", ".xz", ".zst"):
                run.store(f"{word.text}{ending}", Stream(labels))
    return run.effects(EffectKind.OVERWRITE, ())


def _converted(run: Execution) -> Iterator[Effect]:
    """`openssl`, `gpg`, `base64`, `xxd`: one file is made of another, or of what flows in."""
    if run.command.program == "openssl":
        given = {before.text: word for before, word in pairwise(run.words)}
        source, output = given.get("-in"), given.get("-out")
    else:
        source = next(iter(run.operands), None)
        output = run.invocation.value("-o", "--output")
        if run.command.program == "xxd":
            output = next(iter(run.operands[1:]), None)
    if output is None:
        return
    labels = (run.stdin if source is None else run.file(source)).labels & _FOLLOWS
    if run.invocation.has("-d", "-D", "--decode", "--decrypt", "-r"):
        labels |= DECODED
    if labels:
        run.store(output.text, Stream(labels))
    yield run.effect(EffectKind.OVERWRITE, output)


def _key_pair(run: Execution) -> Iterator[Effect]:
    """`ssh-keygen` writes a pair of keys; those with the usual names are somebody's already."""
    if run.invocation.has(*_LEAVES_KEYS):
        return
    for file in run.invocation.all_values("-f"):
        again = run.invocation.has("-p", "-c") or bool(run.stdin.text)
        again = again or file.text.rpartition("/")[2].startswith("id_")
        written = run.effect(EffectKind.OVERWRITE if again else EffectKind.APPEND, file)
        if again or not written.places & CREDENTIAL:
            # A new key may lie beside those that are there.
            yield written


def _fifo(run: Execution) -> Iterator[Effect]:
    """What a fifo will hold is written later."""
    for word in run.operands:
        run.store(word.text, Stream(TYPED))
    return run.effects(EffectKind.APPEND, ())


def _filled(run: Execution, folder: Word | None) -> Iterator[Effect]:
    """Files whose names nobody knows are written below a folder, or where one stands."""
    if folder is None and run.scope.cwd:
        cwd = run.scope.cwd
        folder = Word(cwd if cwd[0] in _STARTS_OF_WAYS else ".")
    if folder is not None:
        inside = _inside(folder, Word(_SOME_FILE))
        yield from run.effects(EffectKind.OVERWRITE, [folder, inside])


def _inside(folder: Word, name: Word) -> Word:
    """Return what a name stands for when it is seen from a folder."""
    if name.text[:1] in _STARTS_OF_WAYS:
        return name
    return Word(f"{folder.text.rstrip('/')}/{name.text}", known=folder.known and name.known)


def patched_folder(command: Command) -> Word | None:
    """Return the folder that a program is told to apply a patch in."""
    given = command.invocation.all_values("-C", "--work-tree", "-d", "--directory")
    return reduce(_inside, given) if given else None


def _patch(run: Execution) -> Iterator[Effect]:
    """A patch changes the file that is named, or files below the folder."""
    folder = patched_folder(run.command)
    output = run.invocation.value("-o", "--output")
    named = run.operands[:1] if output is None else [output]
    for name in named:
        yield run.effect(EffectKind.OVERWRITE, name if folder is None else _inside(folder, name))
    if not named:
        yield from _filled(run, folder)


def _install(run: Execution) -> Iterator[Effect]:
    """Packages go where their program's own are, or to a folder that is named."""
    return run.effects(
        EffectKind.OVERWRITE, run.invocation.all_values("-t", "--target", "--prefix")
    )


FILE_WAYS: Final[dict[str, Callable[[Execution], Iterable[Effect]]]] = {
    "remove": _remove,
    "remove-item": _remove_item,
    "remove-folder": _remove_folder,
    "unlink": lambda run: run.effects(EffectKind.DELETE, map(named, run.operands)),
    "boxed": _boxed,
    "shred": _shred,
    "truncate": lambda run: run.effects(
        EffectKind.OVERWRITE, map(named, run.operands), forced=True
    ),
    "move": _move,
    "copy": _copy,
    "link": _link,
    "dd": _dd,
    "tee": _tee,
    "split": _split,
    "own-files": _own_files,
    "edit-in-place": _in_place,
    "permit": _permissions,
    "find": _find,
    "git": _git,
    "mirror": _rsync,
    "tar": partial(_archived, tar),
    "zip": partial(_archived, zip_archive),
    "7z": partial(_archived, seven_zip),
    "unzip": partial(_archived, unzip),
    "python-archive": partial(_archived, python_archive),
    "install": _install,
    "patch": _patch,
    "unpack": _unpacked,
    "convert": _converted,
    "fifo": _fifo,
    "key-pair": _key_pair,
    "cmdlet-remove": _cmdlet_remove,
    "cmdlet-empty": _cmdlet_empty,
    "cmdlet-write": _cmdlet_write,
}
"""What an entry of a program may say under `files`."""
