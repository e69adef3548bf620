"""What a call was and what came of it, reduced to what the meter compares.

Two calls are the same call when tool and arguments agree, but for arguments that differ every
time by their nature: timestamps, request ids and what else a policy declares volatile. What a
client does not say, whether a call changed something or only looked, is read from its words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, cast

import msgspec

from interlock.model.progress_meter import LONGEST_TEXT, ChangedFile, Kind, Observation
from interlock.model.review import TestCounts
from interlock.policy.config.run_sections import VOLATILE
from interlock.policy.evidence.tool_output import lint_counts_in
from interlock.policy.steps.call_failure import complaint_of, error_of, signature
from interlock.policy.steps.failure_report import only_views

_LOOKED_AT: Final = 2_000
"""So much of a text is looked at; digests cover the whole of it."""
_DIGITS: Final = 12
_MOST_NUMBERS: Final = 8
_LONGEST_NUMBER: Final = 15
_BRIEF: Final = 100
"""So short an answer tells something only together with the question."""
_SHORT: Final = 300
"""A longer result is more than a word that something is not ready."""

_NUMBER: Final = re.compile(r"(\d+)")
_SILENT: Final = re.compile(
    r"\W*(?:ok(?:ay)?|done|true|null|none|(?:\w+ ){0,3}success(?:ful(?:ly)?)?)?\W*", re.IGNORECASE
)
"""An acknowledgement, or nothing at all."""
_PASSING: Final = re.compile(
    r"\b(?:429|50[234]|time(?:d )?out|rate.?limit|too many requests|temporar(?:y|ily)|unavailable"
    r"|connection (?:reset|refused|aborted)|try again|overloaded|econn\w+)\b"
)
"""A trouble that passes by itself."""
_WAITING: Final = re.compile(
    r"\b(?:pending|queued|in[ _-]?progress|(?:is|still|status\W+|state\W+) ?running|waiting"
    r"|processing|scheduled|provisioning|starting|(?:container)?creating|initiali[sz]ing|building"
    r"|deploying|pulling|unfinished|incomplete|still \w+ing|try again later"
    r"|not (?:yet )?(?:ready|done|finished|complete|available))\b|^\W*running\W*$"
)
"""Something is not ready yet."""
_POLLS: Final = tuple("status poll wait watch sleep progress health heartbeat".split())
_POLLING: Final = re.compile(rf"(?:^|[\W_])(?:{'|'.join(_POLLS)})(?:$|[\W_s])")
"""A call that looks how far something is."""

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHANGING: Final = frozenset(
    "write edit create update delete remove insert replace patch apply append modify add send post"
    " put book cancel move rename upload commit push deploy install set submit transfer pay order"
    " schedule invite reserve exchange return save upsert toggle enable disable grant revoke reset"
    " reboot restart activate deactivate connect disconnect suspend resume lock unlock".split()
)
"""Words in the name of a tool that is made to change something."""
_ASKING: Final = frozenset(
    "get list search find read view show check fetch query describe lookup look retrieve browse"
    " count inspect is has can".split()
)
"""Words that such a name only looks by, where they come first: it gets an order and gives none."""
_EITHER: Final = frozenset(("or", "and"))
_LOOKING: Final = re.compile(
    r'"(?:command|action|operation)": ?"(?:view|read|get|list|search|find|open)\b'
)
"""How a tool that does several things is asked only to look."""
_SHELLS: Final = frozenset(
    "bash shell sh zsh terminal exec execute run command cmd powershell".split()
)
_RUNNERS: Final = _SHELLS | frozenset(
    "python node interpreter code cell test tests build compile make npm cargo go watch".split()
)
"""Words in the name of a tool that runs something."""
_CHANGING_COMMAND: Final = re.compile(
    r"(?:^|[\s;&|\"'(])(?:sed\s+(?:-\w+\s+)*-i|perl\s+-\w*i|tee|mv|cp|rm|mkdir|touch|chmod|chown"
    r"|ln|patch|git\s+(?:add|am|apply|bisect|checkout|cherry-pick|clean|clone|commit|merge|mv|pull"
    r"|push|rebase|reset|restore|revert|rm|stash|switch)|(?:pip3?|uv|npm|pnpm|yarn|apt(?:-get)?|cargo|go|gem|brew)\s+(?:add|get|i|install"
    r"|remove|uninstall|update|upgrade)|[a-z][\w-]+\s+(?:\w+\s+)?(?:apply|create|delete|deploy|publish"
    r"|push|release|restart|rollout|scale|start|stop))\s|(?<![0-9&>=-])>>?\s*(?!/dev/null|&)[\w./~$\"'{-]"
)


def call_seen(
    tool: str,
    *,
    arguments: str,
    result: str | None,
    failed: bool | None = None,
    changed: bool | None = None,
    files: tuple[ChangedFile, ...] = (),
    rewritten: int = 0,
    tests: TestCounts | None = None,
    volatile: tuple[str, ...] = VOLATILE,
    polling: tuple[str, ...] = (),
    arguments_digest: str | None = None,
    result_digest: str | None = None,
    result_size: int | None = None,
    text: str = "",
    at: int | None = None,
) -> Observation:
    """Return a call as the meter sees it.

    Whoever has only the beginning of the arguments or of the result gives their digests and the
    size as well. What the client does not know, None, is concluded from the words.
    """
    plain = arguments if arguments_digest is not None else _canonical(arguments, volatile)
    begun = plain[:_LOOKED_AT]
    around_numbers = _NUMBER.split(begun)
    shown = None if result is None else _both_ends(result)
    size = len(result or "") if result_size is None else result_size
    if changed is None:
        changed = bool(files) or _changes(tool, begun)
    runs = _runs(tool, begun)
    error = error_of(
        shown,
        failed=failed,
        tool=tool,
        arguments=begun,
        edits=changed,
        runs=runs and not _passes(tests),
        shows=not runs and not changed and not _ASKING.isdisjoint(_words_of(tool)),
        views=not runs and not changed and not _RUNNERS.isdisjoint(_words_of(tool)),
    )
    if error is None and shown is not None and tests is not None and tests.failed:
        error = signature(shown)
    call = _fingerprint(tool, arguments_digest or plain)
    waits = any(fnmatchcase(tool, each) for each in polling)
    if not waits and shown is not None and error is None:
        waits = _is_waiting(tool, begun, shown, size)
    return Observation(
        kind=Kind.CALL,
        tool=tool,
        call=call,
        shape=_fingerprint(tool, "0".join(around_numbers[::2])),
        numbers=tuple(map(_number, around_numbers[1 : 2 * _MOST_NUMBERS : 2])),
        result=None if result is None else result_digest or _fingerprint("", result),
        silent=shown is not None and _says_nothing(shown, error),
        brief=size <= _BRIEF,
        error=error,
        complaint="" if error is None or shown is None else _complaint(call, shown),
        place=_place(tool, begun, files) if changed else "",
        failing=_failing(shown, error, tests),
        waiting=waits,
        changed=changed and error is None,
        files=files,
        rewritten=rewritten,
        tests=tests,
        text=text[:LONGEST_TEXT],
        at=at,
    )


def _both_ends(result: str) -> str:
    """Return how a result begins and ends: what failed after much else says so at its end."""
    if len(result) <= _LOOKED_AT:
        return result
    return f"{result[: _LOOKED_AT // 2]}\n{result[1 - _LOOKED_AT // 2 :]}"


def _complaint(call: str, result: str) -> str:
    """Return a fingerprint of what went wrong; few words say so only of this very call."""
    said = complaint_of(result)
    return _fingerprint("", said) if said else call


def _failing(result: str | None, error: str | None, tests: TestCounts | None) -> int | None:
    """Return how much is still wrong, where a test runner or a checker has counted it."""
    if tests is not None:
        return tests.failed
    found = None if result is None or error is None else lint_counts_in(result)
    return None if found is None else found.errors


_PLACE: Final = re.compile(
    r'"(?:\w*[pP]ath|file|\w*file_?name|target_file|uri|notebook)": ?"((?:[^"\\]|\\.){1,300})"'
)


def _place(tool: str, arguments: str, files: tuple[ChangedFile, ...]) -> str:
    """Return a fingerprint of the file that is changed; empty where the arguments do not tell."""
    if files:
        return files[0].path
    named = _PLACE.search(arguments)
    if named is not None:
        return _fingerprint("", named[1])
    return "" if " " in arguments or tool in _SHELLS else _fingerprint("", arguments)


def _canonical(arguments: str, volatile: tuple[str, ...]) -> str:
    """Return the arguments in one order, without the volatile ones; text that is no JSON stays."""
    if not arguments.lstrip().startswith("{"):
        return " ".join(arguments.split())
    try:
        named = cast("Mapping[str, object]", msgspec.json.decode(arguments))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments
    lasting = {name: value for name, value in named.items() if not _is_volatile(name, volatile)}
    return msgspec.json.encode(lasting, order="sorted").decode()


@lru_cache(maxsize=1024)
def _is_volatile(name: str, volatile: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name.lower(), each.lower()) for each in volatile)


def _number(digits: str) -> int:
    return int(digits[-_LONGEST_NUMBER:])


def _fingerprint(tool: str, text: str) -> str:
    whole = f"{tool}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:_DIGITS]


def _says_nothing(result: str, error: str | None) -> bool:
    """Return whether it is an acknowledgement, or a trouble that passes by itself."""
    if error is not None:
        return _PASSING.search(result.lower()) is not None
    return _SILENT.fullmatch(result) is not None


def _is_waiting(tool: str, arguments: str, result: str, size: int) -> bool:
    """Return whether it looks how far something is, and may well have to look again."""
    if _is_poll(tool) or _polls(arguments[:_SHORT].lower()):
        return True
    return size < _SHORT and _WAITING.search(result.lower()) is not None


@lru_cache(maxsize=1024)
def _is_poll(tool: str) -> bool:
    return _polls("_".join(_words_of(tool)))


def _polls(text: str) -> bool:
    return any(word in text for word in _POLLS) and _POLLING.search(text) is not None


@lru_cache(maxsize=1024)
def _words_of(tool: str) -> tuple[str, ...]:
    return tuple([word.lower() for word in _WORD.findall(tool)])


def _changes(tool: str, arguments: str) -> bool:
    """Return whether a call of this name is made to change something."""
    if _LOOKING.search(arguments):
        return False
    words = _words_of(tool)
    if not _CHANGING.isdisjoint(words):
        return not _only_asks(words)
    return not _SHELLS.isdisjoint(words) and _CHANGING_COMMAND.search(arguments) is not None


def _passes(tests: TestCounts | None) -> bool:
    """Return whether tests ran and none failed: then what they print in between is no failure."""
    return tests is not None and tests.executed > 0 and not tests.failed


def _runs(tool: str, arguments: str) -> bool:
    """Return whether something is run, whose output is its own, and not only shown."""
    if not tool:
        return True
    return not _RUNNERS.isdisjoint(_words_of(tool)) and not only_views(arguments)


def _only_asks(words: tuple[str, ...]) -> bool:
    """Return whether the first word of a name that says what it does is one of looking."""
    first = next(word for word in words if word in _ASKING or word in _CHANGING)
    return first in _ASKING and _EITHER.isdisjoint(words)
