"""What a peer answered before need not be asked again: a tool of one version says the same.

Some tools start a process for each question. Whoever changes Interlock and measures again would
wait for answers that cannot have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from peer_protocol import Asked, Peer, Question, ask, line_of


def ask_or_remember(
    peer: Peer, kind: str, questions: Sequence[Question], patience_s: float, folder: Path | None
) -> Asked:
    """Ask a peer, unless it answered the same questions before and still has the same version.

    Only whole conversations of peers that name their version are kept, and only in a folder that
    was named.
    """
    if folder is None:
        return ask(peer, kind, questions, patience_s)
    kept = folder / f"{_digest(peer, kind, questions)}.json"
    if kept.exists():
        before = msgspec.json.decode(kept.read_bytes(), type=Asked)
        if ask(peer, kind, [], patience_s).introduction == before.introduction:
            return before
    heard = ask(peer, kind, questions, patience_s)
    if _is_whole(heard):
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(msgspec.json.encode(heard))
    return heard


def _is_whole(heard: Asked) -> bool:
    answered = any(each is not None for each in heard.answers)
    failed = heard.missing or heard.wrong or heard.ended
    return answered and not failed and bool(heard.introduction.version)


def _digest(peer: Peer, kind: str, questions: Sequence[Question]) -> str:
    told = hashlib.sha256(f"{peer.name}\n{peer.command}\n{kind}\n".encode())
    for question in questions:
        told.update(line_of(question) + b"\n")
    return told.hexdigest()
