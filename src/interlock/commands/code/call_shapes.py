"""What a known call does, read off its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from interlock.commands.code.code_values import Call, CodeArgument, excerpt_of
from interlock.commands.code.known_calls import CodeEffect, Known, Shape
from interlock.commands.code.known_calls import CodeEffectKind as Kind

_NOTHING: Final = CodeArgument("")
_PATH_NAMES: Final = frozenset(
    {"path", "file", "filename", "src", "source", "url", "args", "command"}
)
_SHOWN_AS_WRITTEN: Final = frozenset({Kind.EVAL, Kind.ENV_DUMP})
_DECODERS: Final = ("base64.", "binascii.", "bytes.fromhex", "zlib.", "codecs.decode", "marshal.",
    "atob", "Buffer.from", "decode_base64", "MIME.Base64", "base64_decode", "Base64.", "hex2bin",
    "gzinflate", "gzuncompress", "gzdecode", "str_rot13")  # fmt: skip


def effects_of_known(call: Call, known: Known) -> Iterator[CodeEffect]:
    """Return what the call does to each of its targets."""
    yield from _SHAPES[known.shape](call, known)


def effect(
    kind: Kind, call: Call, argument: CodeArgument, *, recursive: bool = False
) -> CodeEffect:
    """Return what the call does to what the argument means."""
    shown = argument.literal or kind in _SHOWN_AS_WRITTEN
    return CodeEffect(
        kind=kind,
        target=argument.text if shown else argument.prefix,
        known=argument.literal,
        recursive=recursive,
        decoded=argument.path.startswith(_DECODERS),
        argv=argument.items if kind is Kind.ARGV else (),
        excerpt=excerpt_of(call.text),
    )


def is_remote(argument: CodeArgument) -> bool:
    """Whether the address is one of another machine."""
    address = argument.text if argument.literal else argument.prefix
    return _remote_address().match(address) is not None


def _one(call: Call, known: Known) -> Iterator[CodeEffect]:
    recursive = known.recursive or _says(call, "recursive")
    yield from _targets(call, known.kind, _at(call, known.argument), recursive=recursive)


def _each(call: Call, known: Known) -> Iterator[CodeEffect]:
    for argument in _positional(call) or [_NOTHING]:
        yield from _targets(call, known.kind, argument, recursive=known.recursive)


def _targets(
    call: Call, kind: Kind, argument: CodeArgument, *, recursive: bool = False
) -> Iterator[CodeEffect]:
    """Return one effect for each member of a list, or for what is no list."""
    if not argument.items:
        yield effect(kind, call, argument, recursive=recursive)
    for item in argument.items:
        member = CodeArgument(item or "", literal=item is not None)
        yield effect(kind, call, member, recursive=recursive)


def _mode(call: Call, _known: Known) -> Iterator[CodeEffect]:
    path = _at(call, 0)
    if path.literal and path.text.startswith("|"):
        command = CodeArgument(path.text[1:].strip(), literal=True)
        yield effect(Kind.SHELL, call, command)
        return
    mode = _named(call, "mode", "flags", "flag") or _at(call, 1)
    yield effect(_kind_of_mode(mode.text), call, path)


def _kind_of_mode(mode: str) -> Kind:
    if "w" in mode or "x" in mode or "O_TRUNC" in mode or "O_CREAT" in mode:
        return Kind.OVERWRITE
    return Kind.APPEND if "a" in mode or "+" in mode or "O_" in mode else Kind.READ


def _handle(call: Call, _known: Known) -> Iterator[CodeEffect]:
    """Read Perl's `open(F, ">", path)` and `open(F, ">path")`."""
    mode = _at(call, 1)
    path = _at(call, 2)
    if path is _NOTHING:
        sign = mode.text[: len(mode.text) - len(mode.text.lstrip("<>|+ "))]
        mode, path = CodeArgument(sign), CodeArgument(mode.text.lstrip("<>|+ "), mode.literal)
        if path.text.endswith("|"):
            mode, path = CodeArgument("|"), CodeArgument(path.text[:-1].strip(), path.literal)
    if "|" in mode.text:
        yield effect(Kind.SHELL, call, path)
    elif not path.text.startswith("&"):
        kind = Kind.APPEND if ">>" in mode.text or "+<" in mode.text else Kind.OVERWRITE
        yield effect(kind if ">" in mode.text or "+" in mode.text else Kind.READ, call, path)


def _to(call: Call, known: Known) -> Iterator[CodeEffect]:
    yield from _targets(call, Kind.READ, _at(call, 0), recursive=known.recursive)
    yield effect(Kind.OVERWRITE, call, _at(call, 1), recursive=known.recursive)


def _move(call: Call, _known: Known) -> Iterator[CodeEffect]:
    yield from _targets(call, Kind.MOVE, _at(call, 0))
    yield effect(Kind.OVERWRITE, call, _at(call, 1))


def _line(call: Call, _known: Known) -> Iterator[CodeEffect]:
    line = _at(call, 0)
    in_shell = _says(call, "shell")
    if line.items and in_shell:
        known = None not in line.items
        text = " ".join(word for word in line.items if word is not None)
        yield effect(Kind.SHELL, call, CodeArgument(text, known, prefix=text))
    elif line.items:
        yield _program_run(call, line.items)
    elif not line.literal and not in_shell and call.callee.startswith("subprocess."):
        yield effect(Kind.ARGV, call, line)
    else:
        yield effect(Kind.SHELL, call, line)


def _words(call: Call, known: Known) -> Iterator[CodeEffect]:
    # Ruby may be given the environment first.
    words = [word for word in _positional(call) if word.literal or word.text[:1] != "{"]
    if len(words) == 1 and words[0].items:
        yield _program_run(call, words[0].items)
    elif len(words) == 1 and known.kind is Kind.SHELL:
        yield effect(Kind.SHELL, call, words[0])
    elif words:
        yield _program_run(call, tuple(word.text if word.literal else None for word in words))


def _program(call: Call, _known: Known) -> Iterator[CodeEffect]:
    program, *others = _positional(call) or [_NOTHING]
    first = program.text if program.literal else None
    given = others[0].items if others else ()
    if not given:
        given = tuple(word.text for word in others if word.literal)
    # What Python is given for the new process begins with the program's own name.
    words = given[1:] if call.callee.startswith("os.") else given
    if _says(call, "shell"):
        line = " ".join(word for word in (first, *words) if word is not None)
        yield effect(Kind.SHELL, call, CodeArgument(line, program.literal))
    else:
        yield _program_run(call, (first, *words))


def _program_run(call: Call, words: tuple[str | None, ...]) -> CodeEffect:
    text = " ".join(word for word in words if word is not None)
    argument = CodeArgument(text, None not in words, words, prefix=text)
    return effect(Kind.ARGV, call, argument)


def _request(call: Call, known: Known) -> Iterator[CodeEffect]:
    """Read the method off the arguments: what asks to delete deletes, what carries data sends."""
    address = _address(call)
    method = _method().search(" ".join(argument.text for argument in call.arguments))
    kind = known.kind
    if method is not None:
        kind = Kind.VENDOR_DELETE if method[0] == "DELETE" else Kind.SEND
    elif _carries_data(call):
        kind = Kind.SEND
    if kind is not Kind.VENDOR_DELETE or is_remote(address):
        yield effect(kind, call, address)


def _address(call: Call) -> CodeArgument:
    for argument in call.arguments:
        if "://" in argument.text or "://" in argument.prefix:
            return argument
    return _at(call, 0)


def _carries_data(call: Call) -> bool:
    if _named(call, "data", "body", "json", "files") is not None:
        return True
    return call.callee.startswith("urllib.") and len(_positional(call)) > 1


def _code(_call: Call, _known: Known) -> Iterator[CodeEffect]:
    """Code that runs code is read by whoever knows the language."""
    return iter(())


def _positional(call: Call) -> list[CodeArgument]:
    return [argument for argument in call.arguments if not argument.name]


def _at(call: Call, index: int) -> CodeArgument:
    """Return the argument at the index, or the one whose keyword says that it is the path."""
    positional = _positional(call)
    if index < len(positional):
        return positional[index]
    for argument in call.arguments if index == 0 else ():
        if argument.name in _PATH_NAMES:
            return argument
    return _NOTHING


def _named(call: Call, *names: str) -> CodeArgument | None:
    return next((argument for argument in call.arguments if argument.name in names), None)


def _says(call: Call, option: str) -> bool:
    """Whether an option is switched on: `shell=True`, `{recursive: true}`."""
    return any(
        option in argument.text and _switched_on(option).search(argument.text) is not None
        for argument in call.arguments
    )


_SHAPES: Final[Mapping[Shape, Callable[[Call, Known], Iterator[CodeEffect]]]] = {
    Shape.ONE: _one,
    Shape.EACH: _each,
    Shape.MODE: _mode,
    Shape.HANDLE: _handle,
    Shape.TO: _to,
    Shape.MOVE: _move,
    Shape.LINE: _line,
    Shape.WORDS: _words,
    Shape.PROGRAM: _program,
    Shape.REQUEST: _request,
    Shape.CODE: _code,
}


@cache
def _switched_on(option: str) -> re.Pattern[str]:
    return re.compile(rf"{option}['\"]?\s{{0,9}}(?:=>|[:=])\s{{0,9}}(?i:true|1|!0)")


@cache
def _method() -> re.Pattern[str]:
    return re.compile(r"\b(?:POST|PUT|PATCH|DELETE)\b")


@cache
def _remote_address() -> re.Pattern[str]:
    local = r"localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker"
    return re.compile(rf"https?://(?!{local})[\w.-]", re.IGNORECASE)
