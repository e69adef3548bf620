"""Opening a ledger: a file, a database by URL, or nothing but memory."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from interlock import settings
from interlock.errors import InputError, LedgerError, NotPermittedError, UnavailableError
from interlock.ledger.chain import SealKey
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.model.entrance import FilePath
from interlock.model.principal import Principal, PrincipalKind
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.ports import Clock, Store
from interlock.service.governor import Governor
from interlock.service.policies.policy_files import load_policy
from interlock.service.records.context import SystemClock
from interlock.service.records.undo_snapshot import recover_if_possible

_MEMORY = ":memory:"
_URL_SCHEMES = ("postgres", "postgresql")
_KEY_BYTES = 32


def open_governor(
    place: FilePath | None,
    *,
    policy: CompiledPolicy | None = None,
    projects: Mapping[str, CompiledPolicy] | None = None,
    clock: Clock | None = None,
    keys: FilePath | None = None,
    undo_store: FilePath | None = None,
    principal: Principal | None = None,
) -> Governor:
    """Open a ledger with the policy that counts here, unless other ones are given.

    `principal` is who opens it; whoever decides proves that each time.
    """
    if principal is not None and principal.kind not in (PrincipalKind.AGENT, PrincipalKind.USER):
        raise NotPermittedError(
            f"`principal` is {principal.kind.value} `{principal.name}`, which nobody becomes by"
            " saying so: leave it out, or name an agent; an operator decides with a token"
        )
    found = settings.current_ledger_places()
    if policy is None:
        files = settings.current_places()
        policy = load_policy(user=files.user, project=files.project)
    undo_store = Path(undo_store or found.undo)
    own = settings.current_own_places(
        ledgers=() if place is None else (os.fspath(place),),
        keys=None if keys is None else Path(keys),
        undo=undo_store,
    )
    ledger = open_ledger(place or found.ledger, keys=Path(keys or found.keys))
    try:
        recover_if_possible(undo_store)
        governor = Governor(
            ledger,
            policy,
            clock or SystemClock(),
            projects=projects,
            undo_store=undo_store,
            own_places=own,
            opener=principal,
        )
        governor.check_policies()
    except BaseException:
        ledger.close()
        raise
    return governor


def open_ledger(place: FilePath, *, keys: Path) -> Ledger:
    """Open the ledger at a path or URL; `keys` is the folder of the keys that seal ledgers."""
    store = _store(os.fspath(place))
    try:
        return Ledger(store, key=seal_key(store, keys))
    except BaseException:
        store.close()
        raise


def seal_key(store: Store, keys: Path) -> SealKey:
    """Return the local key of a ledger; make it with the first use."""
    ledger_id = store.reading().meta("id")
    if ledger_id is None:
        raise LedgerError(f"{store.name} has no id: run `interlock ledger recover`")
    if store.name == "memory":
        return SealKey(secrets.token_bytes(_KEY_BYTES))
    file = keys / f"{ledger_id}.key"
    if not file.exists():
        _make_key(file)
    return SealKey(_key_from(file))


def _store(place: str) -> Store:
    if place == _MEMORY:
        return MemoryStore()
    scheme, is_url, _ = place.partition("://")
    if not is_url:
        return SqliteStore(Path(place).expanduser())
    if scheme not in _URL_SCHEMES:
        raise InputError(
            f"`{scheme}://` is not a kind of ledger: expected a path, or a URL that starts with"
            " `postgresql://`"
        )
    return _postgres(place)


def _postgres(url: str) -> Store:
    try:
        from interlock.ledger.stores.postgres import PostgresStore  # noqa: PLC0415 - only with the extra
    except ImportError as error:
        raise LedgerError(
            "a Postgres ledger needs the extra `postgres`: pip install 'interlock[postgres]'"
        ) from error
    return PostgresStore(url)


def _make_key(file: Path) -> None:
    try:
        # Another process may be faster: then its key counts.
        with contextlib.suppress(FileExistsError):
            _write_new(file, secrets.token_hex(_KEY_BYTES))
    except OSError as error:
        raise UnavailableError(f"{file} cannot be written: {error}") from error


def _write_new(file: Path, text: str) -> None:
    """Write a private file that must not exist; nobody ever sees it half written."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
            stream.flush()
            # What it seals is on disk from the first record on: so must the key be.
            os.fsync(stream.fileno())
        os.link(unfinished, file)
    finally:
        unfinished.unlink()


def _key_from(file: Path) -> bytes:
    try:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise LedgerError(f"{file} can be read by others: run `chmod 600 {file}`")
        key = bytes.fromhex(file.read_text().strip())
    except (OSError, ValueError) as error:
        raise LedgerError(f"{file} cannot be read as a key: {error}") from error
    if len(key) != _KEY_BYTES:
        raise LedgerError(f"{file} holds {len(key)} bytes, a key has {_KEY_BYTES}: restore it")
    return key
