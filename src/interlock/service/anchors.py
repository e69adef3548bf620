"""A ledger's anchor, taken out to where nobody who can write to the ledger can change it."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from interlock.descriptors import content_of
from interlock.errors import DamagedError, InputError, LedgerError, UnavailableError
from interlock.ledger.anchor import Anchor, check_anchor
from interlock.ledger.ledger import Ledger
from interlock.ledger.transaction import Transaction
from interlock.model.events import LedgerAccepted
from interlock.model.principal import Principal
from interlock.model.run import LEDGER_RUN
from interlock.ports import Clock
from interlock.service.ledgers import put_anchor, required_anchor

_MOST_BYTES: Final = 65_536
_TIMEOUT_S: Final = 30


def current_anchor(ledger: Ledger) -> Anchor:
    """Return the anchor of a ledger as it is now."""
    kept = required_anchor(ledger)
    return Anchor.sealed(kept.ledger_id, kept.place, ledger.rows.head(), kept.key)


def accept_ledger(
    ledger: Ledger, problems: Sequence[str], *, keys: Path, by: Principal, clock: Clock
) -> Anchor:
    """Let a ledger count as it is, on the record: what was missed is not missed any more."""
    try:
        known = required_anchor(ledger).read()
    except DamagedError:
        known = None
    head = ledger.rows.head()
    accepted = LedgerAccepted(
        problems=tuple(problems),
        known=None if known is None else known.records,
        records=head.records,
        hash=head.hash,
    )

    def note(transaction: Transaction) -> None:
        transaction.append(LEDGER_RUN, accepted, at=clock.now(), by=by)

    put_anchor(ledger, keys, note)
    return current_anchor(ledger)


def check_exported(ledger: Ledger, file: Path) -> Anchor:
    """Hold a ledger against an anchor that was exported; raise DamagedError if it does not fit."""
    try:
        anchor = Anchor.read(content_of(file, most=_MOST_BYTES))
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error}") from error
    kept = required_anchor(ledger)
    if anchor.ledger != kept.ledger_id:
        raise DamagedError(f"`{file}` is of ledger {anchor.ledger}, this is {kept.ledger_id}")
    if not anchor.fits(kept.key):
        raise DamagedError(
            f"`{file}` is not sealed with the key of this ledger: it was changed, or the key was"
        )
    check_anchor(ledger.rows, anchor, kept.key)
    return anchor


def export_to_file(anchor: Anchor, file: Path) -> None:
    """Write an anchor to a new file."""
    try:
        with file.open("xb") as stream:
            stream.write(_text(anchor))
    except FileExistsError as error:
        raise InputError(f"`{file}` exists already: choose another name") from error
    except OSError as error:
        raise InputError(f"`{file}` cannot be written: {error}") from error


def export_to_git(anchor: Anchor, ref: str, repository: Path) -> str:
    """Let a ref of a git repository name an anchor; return the id of the object."""
    if not ref.startswith("refs/"):
        raise InputError(f"`{ref}` is no full name of a ref: say for example `refs/anchors/ledger`")
    written = _git(repository, "hash-object", "-w", "--stdin", given=_text(anchor))
    _git(repository, "update-ref", ref, written)
    return written


def export_to_webhook(anchor: Anchor, url: str) -> None:
    """Send an anchor to a URL with POST; raise UnavailableError unless it is taken."""
    try:
        split = urlsplit(url)
        # Only the host is ever named: the rest may hold what lets one in.
        where = split.hostname
    except ValueError as error:
        raise InputError(f"the webhook is no URL: {error}") from error
    if split.scheme not in ("http", "https") or not where:
        raise InputError("the webhook is no URL that starts with `https://` or `http://`")
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked above
        url, data=_text(anchor), headers={"Content-Type": "application/json"}, method="POST"
    )
    try:
        with _opener().open(request, timeout=_TIMEOUT_S) as answer:
            answer.read(_MOST_BYTES)
    except (OSError, HTTPException, ValueError) as error:
        raise UnavailableError(f"the webhook at {where} did not take it: {error}") from error


def _opener() -> urllib.request.OpenerDirector:
    """Return what follows nowhere: what is sent on would arrive without its content."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _text(anchor: Anchor) -> bytes:
    return msgspec.json.encode(anchor) + b"\n"


def _git(repository: Path, *words: str, given: bytes = b"") -> str:
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the words are ours but for a ref
            ("git", "-C", os.fspath(repository), *words),  # noqa: S607 - the user's own git
            input=given,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LedgerError(f"git cannot be run in `{repository}`: {error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise LedgerError(f"git refused it in `{repository}`: {said}")
    return done.stdout.decode().strip()
