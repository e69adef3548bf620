"""What a service is told by settings, in options or in bodies: names, values, their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from interlock.commands.shell.words import PART_OF_NAME

LAYS_OPEN: Final = "lay-open"
UNPROTECTS: Final = "unprotect"
SCALES_DOWN: Final = "scale-down"
SWITCHES_OFF: Final = "disable"
_PAIR: Final = re.compile(
    r"[\"']?\b([A-Za-z][\w.-]{0,60})[\"']?\s{0,9}[=:]\s{0,9}[\"'\[]{0,2}([^\s\"',{}\[\]]{1,60})"
)
"""A name and its value: `Status=Suspended`, `"replicas": 0`, `cidr: "0.0.0.0/0"`."""
_MOST_PAIRS: Final = 64
_OFF: Final = frozenset("false off no none disable disabled suspended inactive never 0".split())
_TAKES_BACK: Final = frozenset(("no", "disable", "clear", "skip", "without"))
_PROTECTS: Final = frozenset(
    "protection protect protected prevention backup backups versioning encryption encrypted logging"
    " audit auditing retention mfa pitr recovery firewall waf antivirus".split()
)
_ANYBODY: Final = frozenset(
    "0.0.0.0/0 ::/0 * any internet all everyone allusers allauthenticatedusers".split()
)
_ANYWHERE: Final = frozenset(("0.0.0.0/0", "::/0"))
_LETS_IN: Final = frozenset(
    "cidr cidrs cidrip source sources ingress inbound allow allowed allowlist whitelist authorized"
    " principal member members grantee trusted".split()
)
_WAYS_OUT: Final = frozenset(
    "destination dest egress outbound route routes gateway origin origins method methods header"
    " headers".split()
)
"""What a service reaches, or what a browser may ask it, lets nobody in."""
_PUBLIC: Final = frozenset("public publicly anonymous unauthenticated".split())
_PUBLIC_PARTS: Final = frozenset(
    "key keys ip ips address dns zone subnet subnets hostname id cert file url fqdn port".split()
)
"""`--public-key` and `--public-ip-address` name what is public by nature."""
_VISIBLE: Final = frozenset(("visibility", "access", "acl"))
_SEEN_BY_ALL: Final = frozenset("public public-read public-read-write container blob".split())
_SEEN_BY_ALL_CANNED: Final = frozenset(("public-read", "public-read-write"))
"""Names of rights that stand for themselves, without an option."""
_RUNS: Final = frozenset(("enabled", "active"))
_COPIES: Final = frozenset(
    "replicas desired nodes quantity instances capacity concurrency executions dynos".split()
)
_SIZE: Final = frozenset(("size",))
_COUNTED: Final = frozenset("node instance machine replica task server vm worker".split())
_NOT_THE_COPIES: Final = frozenset(
    "min minimum page retry retries unavailable surge offset number failed log spot".split()
)
"""`--min-instances 0` lets a service rest, `number_of_replicas: 0` keeps the first copy."""


def meanings_of(words: Sequence[str], *, makes: bool) -> Iterator[str]:
    """Yield what the settings on a command line do; a thing just made loses nothing by them."""
    for name, value in _told(words):
        yield from _meaning(name, value, makes=makes)


def meanings_in(body: str) -> Iterator[str]:
    """Yield what the settings in the body of a request do."""
    for name, value in _pairs(body):
        yield from _meaning(_parts(name), value.lower(), makes=False)


def _told(words: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Yield the parts of each name and its value, those of an option in front of its keys."""
    for word, following in pairwise((*words, "")):
        option: list[str] = []
        text = word
        if word[:1] == "-":
            name, _, value = word.lstrip("-").partition("=")
            option = _parts(name)
            text = value or ("" if following[:1] == "-" else following)
            yield option, text.lower()
        elif word in _SEEN_BY_ALL_CANNED:
            yield ["acl"], word
        # A sentence is for people; what a service reads has no blank, or brackets around it.
        if ("=" in text or ":" in text) and (" " not in text or text[0] in "{["):
            for name, value in _pairs(text):
                yield [*option, *_parts(name)], value.lower()


def _pairs(text: str) -> list[tuple[str, str]]:
    return re.findall(_PAIR, text)[:_MOST_PAIRS]


def _meaning(name: Sequence[str], value: str, *, makes: bool) -> Iterator[str]:
    parts = frozenset(name)
    if _lets_in(parts, value.split(",")):
        yield LAYS_OPEN
    elif makes or not name:
        return
    elif not parts.isdisjoint(_PROTECTS):
        if name[0] in _TAKES_BACK or value in _OFF:
            yield UNPROTECTS
    elif name[-1] in _RUNS:
        if name[0] in _TAKES_BACK or value in _OFF:
            yield SWITCHES_OFF
    elif _is_public(parts, value) and name[0] not in _TAKES_BACK:
        yield LAYS_OPEN
    elif value == "0" and _counts_copies(parts):
        yield SCALES_DOWN


def _lets_in(parts: frozenset[str], values: Sequence[str]) -> bool:
    anybody = _ANYWHERE if parts.isdisjoint(_LETS_IN) else _ANYBODY
    return not anybody.isdisjoint(values) and parts.isdisjoint(_WAYS_OUT)


def _is_public(parts: frozenset[str], value: str) -> bool:
    if "private" in parts and value in _OFF:
        return True
    if not parts.isdisjoint(_PUBLIC):
        return parts.isdisjoint(_PUBLIC_PARTS) and value not in _OFF
    return not parts.isdisjoint(_VISIBLE) and value in _SEEN_BY_ALL


def _counts_copies(parts: frozenset[str]) -> bool:
    if not parts.isdisjoint(_NOT_THE_COPIES):
        return False
    many = not parts.isdisjoint(_COPIES) or parts == _SIZE
    return many or ("count" in parts and not parts.isdisjoint(_COUNTED))


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(PART_OF_NAME, name)]
