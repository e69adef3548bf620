"""Requests that a command sends to a service over HTTP: their method, address and body."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from interlock.commands.shell.command import Command, Invocation

_ADDRESS: Final = (
    r"(?:\w{1,20}://)?(?:[^/@\s]*@)?(\[[0-9A-Fa-f:.]*\]|[^/:?#\s]*)(?::(\d{1,5}))?(/[^?#]*)?"
)
_LOCAL: Final = (
    r"|localhost|.*\.localhost|.*\.local|host\.docker\.internal|127\..*|0\.0\.0\.0|\[::1?\]"
)
_ID: Final = r".*\d.*|.*[$<{%].*"
_PORTS_OF_DEVELOPMENT: Final = frozenset(
    "3000 3001 3002 3003 4000 4200 4321 4566 5000 5001 5173 5174 8000 8787 8888".split()
)
_METHODS: Final = frozenset("GET HEAD OPTIONS POST PUT PATCH DELETE PURGE".split())
_READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_CURL_DATA: Final = (
    "-d --data --data-raw --data-binary --data-ascii --data-urlencode --json -F --form"
).split()
_FIELDS: Final = ("-f", "-F", "--field", "--raw-field", "-d", "--data", "--body", "-b", "--input")
_ENDPOINTS: Final = frozenset(("--endpoint-url", "--endpoint"))
_API_VERBS: Final = frozenset(("api", "rest"))


class Request(msgspec.Struct, frozen=True):
    """What is sent: the parts of the path that are no identifiers, and the texts of the body."""

    method: str
    path: str = ""
    steps: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    is_local: bool = False
    """Whether it goes to this machine."""
    is_tried_out: bool = False
    """Whether it goes to a port of this machine where only what is being built answers."""


def request_of(command: Command) -> Request | None:
    """Return the request that the command sends, if it may change something."""
    return REQUESTERS.get(command.program, _api)(command.invocation)


def asks_by_hand(command: Command) -> bool:
    """Whether a program of a service is told the request itself: `gh api`, `stripe post`."""
    words = [word.text for word in command.invocation.operands[:2]]
    verb = words[0] if words else ""
    return verb.lower() in _API_VERBS or (verb.upper() in _METHODS and len(words) > 1)


def is_tried_out(command: Command) -> bool:
    """Whether an option sends it to a port of this machine where nothing but a trial answers."""
    if _ENDPOINTS.isdisjoint(command.invocation.flags):
        return False
    words = [(*word.text.partition("="),) for word in command.argv]
    named = [
        value or following
        for (name, _, value), (following, _, _) in pairwise((*words, ("", "", "")))
        if name in _ENDPOINTS
    ]
    request = _request("POST", named, ())
    return request is not None and request.is_tried_out


def _curl(invocation: Invocation) -> Request | None:
    if not invocation.values:
        return None
    bodies = _texts(invocation, _CURL_DATA)
    method = _last(invocation, "-X", "--request")
    if not method:
        sends = bodies and not invocation.has("-G", "--get")
        method = "POST" if sends else "GET"
    urls = [*_texts(invocation, ("--url",)), *(word.text for word in invocation.operands)]
    return _request(method, urls, bodies)


def _wget(invocation: Invocation) -> Request | None:
    bodies = _texts(invocation, ("--post-data", "--body-data"))
    posts = bodies or invocation.has("--post-file", "--body-file")
    method = _last(invocation, "--method") or ("POST" if posts else "GET")
    return _request(method, [word.text for word in invocation.operands], bodies)


def _httpie(invocation: Invocation) -> Request | None:
    """`http POST host/path key=value`; with items and without a method it posts."""
    words = [word.text for word in invocation.operands]
    if not words:
        return None
    method = words.pop(0).upper() if words[0].upper() in _METHODS else ""
    items = [word for word in words[1:] if "=" in word and "==" not in word]
    bodies = [item.replace(":=", "=") for item in items]
    return _request(method or ("POST" if items else "GET"), words[:1], bodies)


def _powershell(invocation: Invocation) -> Request | None:
    """`Invoke-RestMethod -Method Delete -Uri address`: options with one dash."""
    words = [word.text for word in invocation.operands]
    method = next((word for word in words if word.upper() in _METHODS), "")
    if not method or not invocation.flags:
        return None
    urls = [word for word in words if "://" in word]
    return _request(method, urls, [word for word in words if word not in urls])


def _api(invocation: Invocation) -> Request | None:
    """`gh api -X POST path -f field=value`, `stripe post /v1/path`."""
    words = [word.text for word in invocation.operands]
    bodies = _texts(invocation, _FIELDS) or [word for word in words if word[:1] == "{"]
    method = _last(invocation, "-X", "--method", "-m")
    if not method:
        named = [word for word in words[:2] if word.upper() in _METHODS]
        method = named[0] if named else ("POST" if bodies else "GET")
    paths = [word for word in words[1:] if "/" in word or word == "graphql"]
    return _request(method, [f"service/{path.lstrip('/')}" for path in paths[:1]], bodies)


def _request(method: str, urls: Sequence[str], bodies: Sequence[str]) -> Request | None:
    """Read the first address; others are most likely values of options that are not known."""
    if method.upper() in _READS:
        return None
    found = re.match(_ADDRESS, urls[0]) if urls else None
    host, port, path = (found[1].lower(), found[2], found[3] or "") if found else ("", "", "")
    steps = tuple(part for part in path.split("/") if part and not re.fullmatch(_ID, part))
    is_local = found is not None and re.fullmatch(_LOCAL, host) is not None
    is_tried_out = is_local and port in _PORTS_OF_DEVELOPMENT
    return Request(method.upper(), path, steps, tuple(bodies), is_local, is_tried_out)


def _texts(invocation: Invocation, names: Sequence[str]) -> list[str]:
    return [word.text for word in invocation.all_values(*names)]


def _last(invocation: Invocation, *names: str) -> str:
    found = invocation.value(*names)
    return "" if found is None else found.text


REQUESTERS: Final[Mapping[str, Callable[[Invocation], Request | None]]] = {
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(("http", "https", "xh", "xhs", "httpie"), _httpie),
    **dict.fromkeys(("invoke-restmethod", "invoke-webrequest", "irm", "iwr"), _powershell),
}
"""Programs that do nothing but send requests, and how each takes its words."""
