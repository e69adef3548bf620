"""What of an action may be recorded or said: all but credentials, and what was not searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

import msgspec
from msgspec.structs import asdict, replace

from interlock.commands.shell.words import excerpt_of
from interlock.model.action import Action, ToolAction
from interlock.model.verdict import Finding, Verdict
from interlock.policy.actions.calls.json_text import Scan, Unreadable
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call, Inspection, encodable
from interlock.secrets.redaction import KnownSecrets, redact
from interlock.secrets.scanner import SecretMatch

_MAX_MESSAGE: Final = 400
_SHORTEST_PART: Final = 6
WITHHELD: Final = "[withheld: a credential is put together here]"
TOO_LARGE: Final = "[withheld: too large to be searched for credentials]"
NOT_JSON: Final = "[withheld: not the JSON of one object, so that its texts cannot be searched]"
_NO_QUOTES: Final = str.maketrans("", "", "'\"\\")
_MOST_BYTES: Final = 4
"""In one character, as UTF-8."""
_SEARCHED: Final = frozenset(("command", "content"))
"""The texts that gates search; not so names, where it happens, and what is replaced."""
_CUT: Final = "…[cut]"
_LONGEST_SECRET: Final = 16_384


class Recordable(msgspec.Struct, frozen=True):
    """An action as it may be recorded, and whether that is all of it."""

    action: Action
    is_whole: bool


def recordable_action(inspection: Inspection, verdict: Verdict) -> Recordable:
    """Return what may be recorded of an action that got this verdict."""
    written, says_the_same = inspection, True
    if inspection.call is not None and isinstance(inspection.call.params, Unreadable):
        # What is escaped or cut off in it cannot be found; the finding shows where it breaks.
        written = inspection.of(ToolAction(name=inspection.call.name, params=NOT_JSON))
        says_the_same = False
    elif inspection.call is not None and not isinstance(inspection.call.given, str):
        written = inspection.of(_as_text(inspection.call.name, inspection.call.given))
        # Read again, the text must give exactly the parameters that were asked about.
        says_the_same = written.call is None or written.call.params == inspection.call.params
    if _is_clean(written, verdict):
        return Recordable(written.action, is_whole=says_the_same)
    redacted = _redacted(written)
    return Recordable(redacted, is_whole=redacted == written.action and says_the_same)


def recordable_text(text: str, policy: CompiledPolicy) -> str:
    """Return a text without credentials, as far as it was searched for them."""
    scan = policy.scanner.scan
    shown = _cut(encodable(text), policy.config.limits.content_bytes, scan)
    return redact(shown, scan(shown))


def canonical_action(inspection: Inspection) -> bytes:
    """Return the bytes that tell an action from every other: equal actions have equal bytes."""
    action, call = inspection.action, inspection.call
    plain = action if call is None else ToolAction(name=call.name, params=_said(call))
    try:
        return msgspec.json.encode(plain, order="sorted")
    except UnicodeEncodeError:
        return msgspec.json.encode(_each_text(action, _escaped), order="sorted")


def _said(call: Call) -> Mapping[str, object] | str:
    """Return the parameters that a text says, if it says any."""
    given = call.given
    if not isinstance(given, str):
        return given
    return call.params if isinstance(call.params, dict) and _is_encodable(given) else given


def _as_text(name: str, given: Mapping[str, object]) -> ToolAction:
    """Return a call with its parameters as JSON text, which has no fractions to drift."""
    try:
        text = msgspec.json.encode(given)
    except UnicodeEncodeError:
        text = msgspec.json.encode(_mended(given))
    return ToolAction(name=name, params=text.decode())


def _mended(value: object) -> object:
    """Return parsed JSON with every half character replaced."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {encodable(name): _mended(item) for name, item in entries.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in cast("Sequence[object]", value)]
    return value


def _is_clean(written: Inspection, verdict: Verdict) -> bool:
    """Whether the gates have looked at every text and found no credential."""
    if not written.policy.config.secrets.enabled:
        return False
    if any(each.gate == "secrets" or each.rule.endswith(".broken") for each in verdict.findings):
        return False
    texts, limits = _texts(written.action), written.policy.config.limits
    size = max(map(len, texts.values()))
    if size > limits.content_bytes or not all(map(_is_encodable, texts.values())):
        return False
    if size * _MOST_BYTES > limits.command_bytes and _is_unread(written):
        return False
    return not any(written.scan(text) for name, text in texts.items() if name not in _SEARCHED)


def _is_unread(written: Inspection) -> bool:
    """Whether a command is too long to be parsed, so that nobody has put its words together."""
    longest = written.policy.config.limits.command_bytes
    return any(len(command.line.encode()) > longest for command in written.commands)


def _texts(action: Action) -> dict[str, str]:
    """Return every text of an action, by its field."""
    fields: dict[str, object] = asdict(action)
    return {name: str(value) for name, value in fields.items() if not isinstance(value, int | None)}


def _redacted(written: Inspection) -> Action:
    short = written.of(_shortened(written))
    # As a shell would join them, and without the escapes of JSON.
    leaves = () if short.call is None else short.call.leaves
    read = "\n".join([*_shell_lines(short), *leaves])
    redactor = Redactor(short.scan, [*_texts(short.action).values()], read)
    if redactor.is_taken_apart:
        return _each_text(short.action, lambda _: WITHHELD)
    return _each_text(short.action, redactor.text)


def _shell_lines(short: Inspection) -> Iterator[str]:
    """Yield every command line as a shell reads it, quotes off."""
    for command in short.commands:
        followed = command.lowered.commands
        yield from (each.line for each in followed)
        if not followed:
            # Too long to be parsed, or no shell: without quotes is as near as one can come.
            yield command.line.translate(_NO_QUOTES)


def _each_text(action: Action, change: Callable[[str], str]) -> Action:
    return replace(action, **{name: change(text) for name, text in _texts(action).items()})


def _shortened(written: Inspection) -> Action:
    """Return what is not too large to be searched."""
    action, limit = written.action, written.policy.config.limits.content_bytes
    if isinstance(action, ToolAction) and len(action.params) > limit:
        # A part of JSON cannot be read, and what is escaped in it cannot be found.
        action = ToolAction(name=action.name, params=TOO_LARGE)
    return _each_text(action, lambda text: _cut(encodable(text), limit, written.scan))


def _cut(text: str, limit: int, scan: Scan) -> str:
    """Return as much of a text as is searched; no credential is cut in two."""
    if len(text) <= limit:
        return text
    near = scan(text[: limit + _LONGEST_SECRET])
    end = min((each.start for each in near if each.start < limit < each.end), default=limit)
    return text[:end] + _CUT


def _is_encodable(text: str) -> bool:
    return text.isascii() or text == encodable(text)


def _escaped(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


class Redactor:
    """Replaces every credential of one input, whole, before anything is cut short."""

    __slots__ = ("_known", "_scan", "is_taken_apart")

    def __init__(self, scan: Scan, texts: Sequence[str], joined: str = "") -> None:
        """Take the input's texts, and what a shell would make of them once quotes are off."""
        self._scan = scan
        known: dict[str, str] = {}
        for text in texts:
            _add(known, text, scan(text))
        self.is_taken_apart = False
        """Whether a credential shows only once the input is put together, as a shell would."""
        if joined and (matches := scan(joined)):
            together = {joined[each.start : each.end]: each.rule.id for each in matches}
            for secret in known.keys() & together:
                del together[secret]
            self.is_taken_apart = together.keys() != KnownSecrets(together).those_in(texts)
            _add(known, joined, matches)
        self._known = KnownSecrets(known) if known else None

    def finding(self, finding: Finding) -> Finding:
        """Return the finding without a character of any credential."""
        excerpt = finding.excerpt
        if self.is_taken_apart:
            # Its parts stand in the text as it was written, where nothing can name them.
            excerpt = None
        if excerpt is not None:
            excerpt = excerpt_of(self.text(excerpt))
        message = self.text(finding.message)
        if len(message) > _MAX_MESSAGE:
            message = message[: _MAX_MESSAGE - 1] + "…"
        return replace(finding, message=message, excerpt=excerpt)

    def text(self, text: str) -> str:
        """Return the text with every credential replaced by its kind."""
        if self._known is not None:
            text = self._known.replaced(text)
        return redact(text, self._scan(text))


def _add(known: dict[str, str], text: str, matches: Sequence[SecretMatch]) -> None:
    """Add the credentials in a text, and the parts a shell would take them apart into."""
    for match in matches:
        kind = match.rule.id
        for part in _with_parts(text[match.start : match.end]):
            known[part] = min(kind, known.get(part, kind))


def _with_parts(secret: str) -> list[str]:
    words = "".join([char if char.isalnum() or char in "-_" else " " for char in secret]).split()
    telling = [word for word in words if len(word) >= _SHORTEST_PART and not word.isalpha()]
    return [secret, *telling]
