"""What of an action may be kept: everything but credentials, and what nobody has looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, assert_never, cast

import msgspec

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Verdict
from interlock.policy.actions.decide import lowered
from interlock.policy.actions.parameters import check_is_json, params_from_text, strings_in
from interlock.policy.actions.payload import payloads_of
from interlock.policy.actions.redactor import Redactor
from interlock.policy.config.compiled import CompiledPolicy
from interlock.secrets.redaction import redact

WITHHELD: Final = "[withheld: a credential is put together here]"
TOO_LARGE: Final = "[withheld: too large to be searched for credentials]"
_NO_QUOTES: Final = str.maketrans("", "", "'\"\\")
_MOST_BYTES: Final = 4
"""In one character, as UTF-8."""
_CUT: Final = "…[cut]"
_LONGEST_SECRET: Final = 16_384


class Kept(NamedTuple):
    """An action as it is kept, and whether that is all of it."""

    action: Action
    is_whole: bool


def kept_action(action: Action, verdict: Verdict, gates: CompiledPolicy) -> Kept:
    """Return what may be kept of an action that got this verdict."""
    plain = _as_text(action)
    if _is_clean(plain, verdict, gates):
        return Kept(plain, is_whole=_says_the_same(plain, action))
    redacted = _redacted(plain, gates)
    return Kept(redacted, is_whole=redacted == plain and _says_the_same(plain, action))


def kept_text(text: str, gates: CompiledPolicy) -> str:
    """Return a text without credentials, as far as it was searched for them."""
    shown = _cut(_encodable(text), gates)
    return redact(shown, gates.scanner.scan(shown))


def canonical_action(action: Action) -> bytes:
    """Return the bytes that tell an action from every other: equal actions have equal bytes."""
    plain: object = action
    if isinstance(action, ToolAction):
        plain = ToolAction(name=action.name, params=_read(action.params))
    try:
        return msgspec.json.encode(plain, order="sorted")
    except UnicodeEncodeError:
        return msgspec.json.encode(_each_text(action, _escaped), order="sorted")


def _read(params: Mapping[str, object] | str) -> Mapping[str, object] | str:
    """Return the parameters that a text says, if it says any."""
    if not isinstance(params, str):
        check_is_json(params)
        return params
    read = params_from_text(params)
    return read if isinstance(read, dict) and _is_encodable(params) else params


def _as_text(action: Action) -> Action:
    """Return the action with a tool's parameters as JSON text, which has no fractions to drift."""
    if not isinstance(action, ToolAction) or isinstance(action.params, str):
        return action
    check_is_json(action.params)
    try:
        text = msgspec.json.encode(action.params)
    except UnicodeEncodeError:
        text = msgspec.json.encode(_mended(action.params))
    return ToolAction(name=action.name, params=text.decode())


def _mended(value: object) -> object:
    """Return parsed JSON with every half character replaced."""
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {_encodable(name): _mended(item) for name, item in entries.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in cast("Sequence[object]", value)]
    return value


def _says_the_same(plain: Action, action: Action) -> bool:
    """Whether the text, read again, gives exactly the parameters that were asked about."""
    if plain is action or not isinstance(plain, ToolAction) or not isinstance(action, ToolAction):
        return True
    return isinstance(plain.params, str) and params_from_text(plain.params) == action.params


def _is_clean(action: Action, verdict: Verdict, gates: CompiledPolicy) -> bool:
    """Whether the gates have looked at every text and found no credential."""
    if not gates.config.secrets.enabled:
        return False
    if any(each.gate == "secrets" or each.rule.endswith(".broken") for each in verdict.findings):
        return False
    limit = gates.config.limits.content_bytes
    if any(len(text) > limit or not _is_encodable(text) for text in _texts(action)):
        return False
    if _is_unread(action, gates):
        return False
    return not any(gates.scanner.scan(text) for text in _unjudged_texts(action))


def _is_unread(action: Action, gates: CompiledPolicy) -> bool:
    """Whether a command is too long to be parsed, so that nobody has put its words together."""
    longest = gates.config.limits.command_bytes
    if max(map(len, _texts(action))) * _MOST_BYTES <= longest:
        return False
    return any(len(line.encode()) > longest for line, _ in _commands(action, gates))


def _texts(action: Action) -> tuple[str, ...]:
    match action:
        case CommandAction(command=command, cwd=cwd):
            return (command, cwd or "")
        case ToolAction(name=name, params=params):
            return (name, str(params))
        case EditAction(path=path, content=content, old=old):
            return (path, content, old or "")
        case _:
            assert_never(action)


def _unjudged_texts(action: Action) -> Iterator[str]:
    """Yield the texts that no gate has searched: names, where it happens, what is replaced."""
    match action:
        case CommandAction(cwd=cwd):
            if cwd:
                yield cwd
        case ToolAction(name=name, params=params):
            yield name
            yield str(params)
        case EditAction(path=path, old=old):
            yield path
            if old:
                yield old
        case _:
            assert_never(action)


def _redacted(action: Action, gates: CompiledPolicy) -> Action:
    short = _shortened(action, gates)
    # As a shell would join them, and without the escapes of JSON.
    read = "\n".join([*_shell_lines(short, gates), *_leaves(short)])
    redactor = Redactor(gates.scanner, _texts(short), read)
    if redactor.is_taken_apart:
        return _each_text(short, lambda _: WITHHELD)
    return _each_text(short, redactor.text)


def _shell_lines(action: Action, gates: CompiledPolicy) -> Iterator[str]:
    """Yield every command line as a shell reads it, quotes off."""
    for command, cwd in _commands(action, gates):
        followed = lowered(command, cwd, gates).commands
        yield from (each.line for each in followed)
        if not followed:
            # Too long to be parsed, or no shell: without quotes is as near as one can come.
            yield command.translate(_NO_QUOTES)


def _commands(action: Action, gates: CompiledPolicy) -> Iterator[tuple[str, str | None]]:
    if isinstance(action, CommandAction):
        yield action.command, action.cwd
    elif isinstance(action, ToolAction):
        read = params_from_text(str(action.params))
        if isinstance(read, dict):
            for carried in payloads_of(action.name, read, gates.config.tools.carriers):
                if carried.command is not None:
                    yield carried.command, carried.cwd


def _leaves(action: Action) -> Iterator[str]:
    if isinstance(action, ToolAction):
        read = params_from_text(str(action.params))
        if isinstance(read, dict):
            yield from (text for _, text in strings_in(read))


def _each_text(action: Action, change: Callable[[str], str]) -> Action:
    match action:
        case CommandAction(command=command, cwd=cwd):
            return CommandAction(command=change(command), cwd=None if cwd is None else change(cwd))
        case ToolAction(name=name, params=params):
            return ToolAction(name=change(name), params=change(str(params)))
        case EditAction(path=path, content=content, old=old, diff_lines=diff_lines):
            return EditAction(
                path=change(path),
                content=change(content),
                old=None if old is None else change(old),
                diff_lines=diff_lines,
            )
        case _:
            assert_never(action)


def _shortened(action: Action, gates: CompiledPolicy) -> Action:
    """Return what is not too large to be searched."""
    if isinstance(action, ToolAction) and len(action.params) > gates.config.limits.content_bytes:
        # A part of JSON cannot be read, and what is escaped in it cannot be found.
        action = ToolAction(name=action.name, params=TOO_LARGE)
    return _each_text(action, lambda text: _cut(_encodable(text), gates))


def _cut(text: str, gates: CompiledPolicy) -> str:
    """Return as much of a text as is searched; no credential is cut in two."""
    limit = gates.config.limits.content_bytes
    if len(text) <= limit:
        return text
    near = gates.scanner.scan(text[: limit + _LONGEST_SECRET])
    end = min((each.start for each in near if each.start < limit < each.end), default=limit)
    return text[:end] + _CUT


def _is_encodable(text: str) -> bool:
    return text.isascii() or text == _encodable(text)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _escaped(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")
