"""What of an action may be kept: everything but credentials, and what nobody has looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, assert_never

import msgspec

from interlock.errors import InputError
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Verdict
from interlock.policy.actions.decide import Gates, lowered
from interlock.policy.actions.gates.schema import params_from_text
from interlock.policy.actions.gates.secrets import strings_in
from interlock.policy.actions.lookthrough import carried_by
from interlock.policy.actions.redactor import Redactor
from interlock.policy.actions.secrets.redaction import redact

WITHHELD: Final = "[withheld: a credential is put together here]"
_CUT: Final = "…[cut]"


class Kept(NamedTuple):
    """An action as it is kept, and whether that is all of it."""

    action: Action
    is_whole: bool


def kept_action(action: Action, verdict: Verdict, gates: Gates) -> Kept:
    """Return what may be kept of an action that got this verdict."""
    plain = _as_text(action)
    if _is_clean(plain, verdict, gates):
        return Kept(plain, is_whole=_says_the_same(plain, action))
    redacted = _redacted(plain, gates)
    return Kept(redacted, is_whole=redacted == plain and _says_the_same(plain, action))


def kept_text(text: str, gates: Gates) -> str:
    """Return a text without credentials, as far as it was searched for them."""
    limit = gates.policy.limits.content_bytes
    text = _encodable(text)
    shown = text if len(text) <= limit else text[:limit] + _CUT
    return redact(shown, gates.scanner.scan(shown))


def canonical_action(action: Action) -> bytes:
    """Return the bytes that tell an action from every other: equal actions have equal bytes."""
    plain: object = action
    if isinstance(action, ToolAction):
        params = action.params
        read = params_from_text(params) if isinstance(params, str) else params
        plain = ToolAction(name=action.name, params=read if isinstance(read, dict) else params)
    try:
        return msgspec.json.encode(plain, order="sorted")
    except UnicodeEncodeError:
        return msgspec.json.encode(_each_text(action, _escaped), order="sorted")
    except (TypeError, RecursionError) as error:
        raise InputError(f"the parameters are not JSON: {error}") from error


def _as_text(action: Action) -> Action:
    """Return the action with a tool's parameters as JSON text, which has no fractions to drift."""
    if not isinstance(action, ToolAction) or isinstance(action.params, str):
        return action
    try:
        text = msgspec.json.encode(action.params).decode()
    except UnicodeEncodeError:
        text = str(action.params)
    except (TypeError, RecursionError) as error:
        raise InputError(f"the parameters are not JSON: {error}") from error
    return ToolAction(name=action.name, params=text)


def _says_the_same(plain: Action, action: Action) -> bool:
    """Whether the text, read again, gives exactly the parameters that were asked about."""
    if plain is action or not isinstance(plain, ToolAction) or not isinstance(action, ToolAction):
        return True
    return isinstance(plain.params, str) and params_from_text(plain.params) == action.params


def _is_clean(action: Action, verdict: Verdict, gates: Gates) -> bool:
    """Whether the gates have looked at every text and found no credential."""
    if not gates.policy.secrets.enabled:
        return False
    if any(each.gate == "secrets" or each.rule.endswith(".broken") for each in verdict.findings):
        return False
    limit = gates.policy.limits.content_bytes
    if any(len(text) > limit or not _is_encodable(text) for text in _texts(action)):
        return False
    return not any(gates.scanner.scan(text) for text in _unjudged_texts(action))


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
    """Yield the texts that no gate has searched: where it happens, and what is replaced."""
    match action:
        case CommandAction(cwd=cwd):
            if cwd:
                yield cwd
        case ToolAction(params=params):
            yield str(params)
        case EditAction(path=path, old=old):
            yield path
            if old:
                yield old
        case _:
            assert_never(action)


def _redacted(action: Action, gates: Gates) -> Action:
    limit = gates.policy.limits.content_bytes
    short = _each_text(action, lambda text: _cut(_encodable(text), limit))
    joined = "\n".join(_shell_lines(short, gates))
    redactor = Redactor(gates.scanner, [*_texts(short), *_leaves(short)], joined)
    if redactor.is_taken_apart:
        return _each_text(short, lambda _: WITHHELD)
    return _each_text(short, redactor.text)


def _shell_lines(action: Action, gates: Gates) -> Iterator[str]:
    """Yield every command line as a shell reads it, quotes off."""
    for command, cwd in _commands(action, gates):
        yield from (each.line for each in lowered(command, cwd, gates).commands)


def _commands(action: Action, gates: Gates) -> Iterator[tuple[str, str | None]]:
    if isinstance(action, CommandAction):
        yield action.command, action.cwd
    elif isinstance(action, ToolAction):
        read = params_from_text(str(action.params))
        if isinstance(read, dict):
            for carried in carried_by(action.name, read, gates.policy.tools.carriers):
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


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + _CUT


def _is_encodable(text: str) -> bool:
    return text.isascii() or text == _encodable(text)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _escaped(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")
