"""Another policy for the user's file: read and checked beside it before it takes its place."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from interlock import settings
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.service.policies.policy_files import load_policy


def adopt_text(text: str, adopt: Callable[[CompiledPolicy], object]) -> CompiledPolicy:
    """Let a policy count, and write it where the next start finds it."""
    file = settings.current_user_file()
    with draft_beside(file, text) as draft:
        policy = load_policy(user=draft, project=None)
        adopt(policy)
        draft.replace(file)
    return policy


@contextmanager
def draft_beside(file: Path, text: str) -> Generator[Path]:
    """Yield a file beside another one, with what that may say next."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{digest_of(text)[:12]}.new")
    _write(draft, text)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def digest_of(text: str) -> str:
    """Return what tells a text from any other."""
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner reads, and have it on disk."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
