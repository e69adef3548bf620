"""Opening a ledger: a file, a database by URL, or nothing but memory."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from interlock import settings
from interlock.edits.journal import has_unfinished
from interlock.errors import DamagedError, InputError, LedgerError, NotPermittedError
from interlock.extras import needs_extra
from interlock.ledger.anchor import (
    AnchorFile,
    anchor_file,
    check_order,
    other_anchors,
)
from interlock.ledger.chain import KEY_ID, SealKey, check_meta
from interlock.ledger.key_file import KeyFile
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.sqlite import CHECKPOINT_PAGES, Progress, SqliteStore
from interlock.ledger.transaction import Transaction
from interlock.model.entrance import FilePath
from interlock.model.order import BEFORE_ALL
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.run import LEDGER_RUN
from interlock.ports import Clock, Rows, Store
from interlock.service.governor import Governor
from interlock.service.policies.policy_files import AnyPolicy, PolicyFiles, policy_given
from interlock.service.records.context import SystemClock

_MEMORY = ":memory:"
_URL_SCHEMES = ("postgres", "postgresql")
_KEY_BYTES = 32


def open_governor(
    place: FilePath | None,
    *,
    policy: AnyPolicy | None = None,
    projects: Mapping[str, AnyPolicy] | None = None,
    clock: Clock | None = None,
    keys: FilePath | None = None,
    undo_store: FilePath | None = None,
    principal: Principal | None = None,
    follows: PolicyFiles | None = None,
) -> Governor:
    """Open a ledger with the policy that counts here, unless other ones are given.

    `principal` is who opens it; whoever decides proves that each time. `follows` are the files
    that `policy` was read from, for a process that has to take up what changes in them.
    """
    if principal is not None and principal.kind not in (PrincipalKind.AGENT, PrincipalKind.USER):
        raise NotPermittedError(
            f"`principal` is {principal.kind.value} `{principal.name}`, which cannot be"
            " claimed: leave it out, or name an agent; an operator decides with a token"
        )
    found = settings.current_ledger_places()
    judge_by = policy_given(policy)
    # What nobody could put back once the process is over is not kept any longer.
    is_memory = place is not None and os.fspath(place) == _MEMORY
    is_passing = is_memory and undo_store is None
    undo_store = _passing_store() if is_passing else Path(undo_store or found.undo)
    own = settings.current_own_places(
        ledgers=() if place is None else (os.fspath(place),),
        keys=None if keys is None else Path(keys),
        undo=undo_store,
    )
    pages = judge_by.config.ledger.checkpoint_pages
    ledger = open_ledger(
        place or found.ledger, keys=Path(keys or found.keys), checkpoint_pages=pages
    )
    try:
        if principal is None and found.token is not None and not is_memory:
            principal = agent_of(found.token, ledger)
        governor = Governor(
            ledger,
            judge_by,
            clock or SystemClock(),
            projects={name: policy_given(own) for name, own in (projects or {}).items()},
            undo_store=undo_store,
            own_places=own,
            asker=principal,
            follows=follows,
        )
        if is_passing:
            weakref.finalize(ledger, _remove, undo_store)
        governor.check_policies()
        if has_unfinished(undo_store):
            from interlock.service.records.known_sets import recover_if_possible  # noqa: PLC0415 - only where something died

            recover_if_possible(governor.context)
    except BaseException:
        ledger.close()
        raise
    return governor


def agent_of(token: str, ledger: Ledger) -> Principal:
    """Return the agent that a token is of."""
    from interlock.service.people import credentials  # noqa: PLC0415 - only who was given a token

    row = credentials.valid_credential(ledger, credentials.token_digest(token))
    if row is None or row.kind != PrincipalKind.AGENT.value:
        raise NotPermittedError(
            "`INTERLOCK_TOKEN` holds no agent's token that this ledger knows: unset it, or have an"
            " operator make one with `interlock token create NAME --role agent`"
        )
    return Principal(
        kind=PrincipalKind.AGENT, name=row.name, credential=credentials.credential_id(row.digest)
    )


def _passing_store() -> Path:
    """Return a folder that nobody else may look into."""
    import tempfile  # noqa: PLC0415 - most ledgers are files

    return Path(tempfile.mkdtemp(prefix="interlock-undo-"))


def _remove(folder: Path) -> None:
    import shutil  # noqa: PLC0415 - most ledgers are files

    shutil.rmtree(folder, ignore_errors=True)


def open_ledger(
    place: FilePath,
    *,
    keys: Path,
    problems: list[str] | None = None,
    checkpoint_pages: int = CHECKPOINT_PAGES,
) -> Ledger:
    """Open the ledger at a path or URL; `keys` is the folder of its key and its anchor.

    What does not hold is raised as DamagedError, before anything is answered. Where `problems` is
    given it is noted there instead: `put_anchor` is for whoever accepts what is there.
    """
    named = os.fspath(place)
    if named == _MEMORY:
        ledger = Ledger(MemoryStore(), key=SealKey(secrets.token_bytes(_KEY_BYTES)))
        ledger.execute(Work(Transaction.seal_meta, locks=()))
        return ledger
    opening = _Opening(keys, problems)
    if problems is None and (gone := missing_ledger(named, keys)) is not None:
        raise DamagedError(gone)
    store = _store(named, opening.inspect, checkpoint_pages)
    try:
        return opening.ledger(store)
    except BaseException:
        store.close()
        raise


def put_anchor(
    ledger: Ledger, keys: Path, note: Callable[[Transaction], None] = lambda _: None
) -> None:
    """Let a ledger count as it is: seal what it says about itself, and write its anchor anew.

    `note` adds to the record that this was done.
    """
    anchor = required_anchor(ledger)

    def plan(transaction: Transaction) -> None:
        transaction.seal_meta()
        note(transaction)

    ledger.execute(Work(plan, locks=(f"run/{LEDGER_RUN}",)))
    anchor.put(ledger.rows.head())
    KeyFile(keys, anchor.ledger_id).note_anchor()
    # What was there before is let go of last: until then it is missed.
    for other in other_anchors(keys, anchor.ledger_id, anchor.place)[0]:
        other.unlink(missing_ok=True)


def required_anchor(ledger: Ledger) -> AnchorFile:
    """Return where a ledger's anchor is kept; raise LedgerError where it has none."""
    if ledger.anchor is None:
        raise LedgerError(f"{ledger.store.name} has no anchor: it is gone with its process")
    return ledger.anchor


def backup_ledger(ledger: Ledger, target: Path, *, keys: Path, progress: Progress) -> None:
    """Copy a ledger to a new file while others go on writing; the copy has an anchor of its own."""
    store = ledger.store
    if not isinstance(store, SqliteStore):
        raise LedgerError("a Postgres ledger is copied by Postgres itself: use `pg_dump`")
    head, ledger_id, place = store.backup(target, progress), _id_of(ledger.rows), _absolute(target)
    AnchorFile(anchor_file(keys, ledger_id, place), ledger_id, place, ledger.key).put(head)


def missing_ledger(place: str, keys: Path) -> str | None:
    """Return what is to be said where a ledger was in a file that is not there any more."""
    file = Path(place).expanduser()
    if "://" in place or _stands(file):
        return None
    gone, _ = other_anchors(keys, "", _absolute(file))
    # Another process may have made both just now.
    if not gone or _stands(file):
        return None
    return (
        f"{file} is gone: a ledger was there, its anchor is {gone[0]}: put the file back from a"
        " backup; where it is gone for good, delete the anchor yourself"
    )


def _stands(file: Path) -> bool:
    """Whether there is such a file; a name that no file can have is nobody's."""
    try:
        return file.exists()
    except OSError:
        return False


class _Opening:
    """What has to hold before a ledger is opened, and what is made when that is the first time."""

    def __init__(self, keys: Path, problems: list[str] | None) -> None:
        self._keys = keys
        self._problems = problems
        self._anchor: AnchorFile | None = None
        self._key = SealKey(b"")
        self._is_first = False

    def inspect(self, place: str, rows: Rows | None) -> bool:
        """Hold a ledger against its key and its anchor; return whether everything holds.

        Nothing in it was changed yet.
        """
        if rows is None:
            before, _ = other_anchors(self._keys, "", place)
            if before:
                # Looking at it would bring its schema up to date: it is not even looked at.
                raise DamagedError(
                    f"{place} is not what was written: a newer ledger was there, its anchor is"
                    f" {before[0]}: put that one back; `interlock ledger repair` takes what is"
                    " there into a new file"
                )
            return True
        ledger_id = _id_of(rows)
        key_file = KeyFile(self._keys, ledger_id)
        # Before its files are looked for: another process may be making them just now.
        is_sealed, is_used = rows.meta(KEY_ID) is not None, rows.head().records > 0
        if not key_file.exists():
            _make_key(key_file, place, is_new=not is_sealed and not is_used)
        self._key, is_anchored = key_file.key(), is_sealed or key_file.is_anchored()
        file = anchor_file(self._keys, ledger_id, place)
        self._anchor = AnchorFile(file, ledger_id, place, self._key)
        self._is_first = not file.exists() or not is_anchored
        self._note(place, _faults(rows, self._anchor, self._keys, is_anchored=is_anchored))
        if self._problems is None:
            return True
        self._anchor.is_left, self._is_first = True, False
        return not self._problems

    def _note(self, place: str, found: Iterable[str]) -> None:
        if self._problems is not None:
            self._problems += found
        elif faults := list(found):
            raise DamagedError(
                f"{place} is not what was written: {'; '.join(faults)}: put back what is missing;"
                " `interlock ledger repair` saves what can be read, and `interlock ledger anchor"
                " --accept` goes on with what is there"
            )

    def ledger(self, store: Store) -> Ledger:
        """Return the ledger; one that is opened for the first time gets its anchor."""
        anchor = self._anchor
        ledger = Ledger(store, key=self._key, anchor=anchor)
        if self._is_first and anchor is not None:
            anchor.make(ledger.rows.head())
            if ledger.rows.meta(KEY_ID) is None:
                ledger.execute(Work(Transaction.seal_meta, locks=()))
            # Last: whatever is missing from now on was there.
            KeyFile(self._keys, anchor.ledger_id).note_anchor()
        return ledger


def _id_of(rows: Rows) -> str:
    ledger_id = rows.meta("id")
    if ledger_id is None:
        raise DamagedError("the ledger has lost its id: run `interlock ledger repair`")
    return ledger_id


def _make_key(key_file: KeyFile, place: str, *, is_new: bool) -> None:
    """Make the key of a ledger that never had one."""
    if not is_new:
        raise DamagedError(_without_key(key_file.file, place))
    key_file.make()


def _without_key(file: Path, place: str) -> str:
    """Return where a key was looked for and by whose word, where it is, and what to do."""
    moved = settings.moved_keys()
    if moved is not None and (moved.usual / file.name).exists():
        return (
            f"the key of {place} is in {moved.usual}, and `{moved.variable}` says to look in"
            f" {file.parent}: nothing is damaged; unset `{moved.variable}`, or name the ledger that"
            " belongs to it with `INTERLOCK_LEDGER`"
        )
    named = "" if moved is None else f" (`{moved.variable}` names that folder)"
    return (
        f"{place} cannot be opened without its key, which is not at {file}{named}: set"
        " `INTERLOCK_CONFIG_HOME` to the folder that it was made under, or put the key back from a"
        " copy or from another machine that opens this ledger; where it is gone for good,"
        " `interlock ledger repair` writes what is there into a new file, under a new key"
    )


def _faults(rows: Rows, anchor: AnchorFile, keys: Path, *, is_anchored: bool) -> Iterator[str]:
    """Yield what does not hold."""
    others, elsewhere = other_anchors(keys, anchor.ledger_id, anchor.place)
    for other in others:
        yield f"another ledger was there, its anchor is {other}"
    try:
        # Before the ledger is looked at: it only ever gets ahead of what is read here.
        known = anchor.read()
        if known is not None:
            check_order(rows, known, anchor.key)
        elif elsewhere:
            _check_copy(rows, [anchor.of_place(each) for each in elsewhere])
        elif is_anchored:
            yield f"its anchor {anchor.file} is gone"
        else:
            check_order(rows, BEFORE_ALL, anchor.key)
        if is_anchored:
            check_meta(rows.all_meta(), anchor.key)
    except DamagedError as error:
        yield str(error)


def _check_copy(rows: Rows, anchors: Sequence[AnchorFile]) -> None:
    """Hold a ledger that was moved, or copied, against where it comes from."""
    *others, last = anchors
    for each in others:
        with contextlib.suppress(DamagedError):
            check_order(rows, each.read() or BEFORE_ALL, each.key)
            return
    check_order(rows, last.read() or BEFORE_ALL, last.key)


def _absolute(file: Path) -> str:
    """Return what a file is called from everywhere; a link on the way stays one."""
    return os.path.abspath(file)  # noqa: PTH100 - that one follows links


def _store(place: str, inspect: Callable[[str, Rows | None], bool], checkpoint_pages: int) -> Store:
    scheme, is_url, _ = place.partition("://")
    if not is_url:
        file = Path(place).expanduser()
        _check_folder(place, file)
        return SqliteStore(file, partial(inspect, _absolute(file)), checkpoint_pages)
    if scheme not in _URL_SCHEMES:
        raise InputError(
            f"`{scheme}://` is not a kind of ledger: expected a path, or a URL that starts with"
            " `postgresql://`"
        )
    store = _postgres(place)
    try:
        inspect(store.name, store.reading())
    except BaseException:
        store.close()
        raise
    return store


def _check_folder(place: str, file: Path) -> None:
    """Refuse a file that has no place to be in.

    Only the folder of the ledger that counts here, whoever names it, is made where it is missing.
    """
    named = settings.current_ledger_places().ledger
    usual = Path(named).expanduser()
    if place.endswith(os.sep) or os.path.isdir(file):  # noqa: PTH112 - that one raises
        raise InputError(
            f"the ledger `{place}` is a folder: name a file in it, such as"
            f" `{Path(place) / 'ledger.db'}`"
        )
    is_there = os.path.isdir(file.parent)  # noqa: PTH112 - the same
    if not is_there and not file.is_relative_to(usual.parent):
        raise InputError(
            f"the folder `{file.parent}` of the ledger `{file.name}` does not exist: create it with"
            f" `mkdir -p {shlex.quote(str(file.parent))}`, or name no ledger: then it is"
            f" {'that of `INTERLOCK_LEDGER`' if '://' in named else usual}"
        )


def _postgres(url: str) -> Store:
    with needs_extra("a Postgres ledger", "postgres"):
        from interlock.ledger.stores.postgres import PostgresStore  # noqa: PLC0415 - only with the extra

    return PostgresStore(url)
