"""The ledger of this call: to be read, or to decide in, by whose credential; left in good order."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn, TypeVar

import click

from interlock import settings
from interlock.cli.call.options import chosen_operator, chosen_place, is_policy_found
from interlock.cli.call.terminal import terminal
from interlock.cli.text.render import escape
from interlock.errors import (
    DamagedError,
    InputError,
    InterlockError,
    LedgerError,
    NotPermittedError,
)
from interlock.extras import needs_extra
from interlock.ledger.ledger import Ledger
from interlock.model.principal import SYSTEM, Principal, person_at
from interlock.model.run import LEDGER_RUN
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.service.governor import Governor
from interlock.service.interlock import Interlock
from interlock.service.ledgers import missing_ledger, open_ledger
from interlock.service.people.credentials import has_operator
from interlock.service.people.operators import (
    check_decider,
    check_setup,
    proven,
    refuse_descendants,
)
from interlock.service.policies.policy_book import recompiled_policy
from interlock.service.policies.policy_files import default_policy, load_policy
from interlock.service.records.adoption import check_adoption
from interlock.service.records.context import SystemClock

_Found = TypeVar("_Found")
_ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM


@contextmanager
def reading_ledger(
    *, creates: bool = False, problems: list[str] | None = None, otherwise: str = ""
) -> Generator[Ledger]:
    """Open the ledger that counts; one that is not there is not made, unless so wanted.

    Where there is none, `otherwise` is said as well.
    Where `problems` is given, what does not hold is noted there, and it opens all the same.
    """
    place = chosen_place()
    if not creates:
        _require_ledger(place, otherwise)
    ledger = open_ledger(place, keys=settings.current_ledger_places().keys, problems=problems)
    close = close_at_exit(ledger)
    try:
        yield ledger
    finally:
        close()


@contextmanager
def governing(*, creates: bool = False) -> Generator[Interlock]:
    """Open the ledger that counts for changes, under the policy that it has itself.

    INVARIANT: a person's decision changes no policy, in whatever folder it is made.
    """
    with reading_ledger(creates=creates) as ledger:
        yield Interlock(Governor(ledger, _own_policy(ledger), SystemClock()))


@contextmanager
def first_governing() -> Generator[Interlock]:
    """Open the ledger that counts, or make it, under the user's policy as its file says it."""
    with reading_ledger(creates=True) as ledger:
        policy = load_policy(user=settings.current_places().user, project=None)
        yield Interlock(Governor(ledger, policy, SystemClock()))


def policy_refused(policy: CompiledPolicy) -> str | None:
    """Return why runs here would not get this policy; None where they would, or nobody can say."""
    try:
        place = chosen_place()
        if not is_local(place) or not Path(place).expanduser().exists():
            return None
        with reading_ledger(problems=[]) as ledger:
            check_adoption(ledger, policy, SYSTEM, None)
    except NotPermittedError as error:
        return str(error)
    except (InterlockError, OSError):
        # Whoever asks about a line is not answered with what is wrong with the ledger.
        return None
    return None


def note_refusal(policy: CompiledPolicy) -> None:
    """Tell a person that runs are not judged by the policy of this folder and user yet."""
    refused = policy_refused(policy) if is_policy_found() else None
    if refused is not None:
        click.echo(escape(f"Note: not in force yet: {refused}"), err=True)


def looked_up(look: Callable[[Ledger], _Found], *, nothing: _Found) -> _Found | None:
    """Return what a look at the ledger that counts finds; None for one that does not open.

    Where there is no ledger yet, there is `nothing` to find.
    """
    try:
        place = chosen_place()
        if is_local(place) and not Path(place).expanduser().exists():
            return nothing
        with reading_ledger(problems=[]) as ledger:
            return look(ledger)
    except (InterlockError, OSError):
        # What is wrong with the ledger is told by whoever needs it.
        return None


def close_at_exit(ledger: Ledger) -> Callable[[], None]:
    """Return what closes the ledger; it is called at the latest when the program ends."""
    atexit.register(ledger.close)
    _end_on_sigterm()

    def close() -> None:
        atexit.unregister(ledger.close)
        ledger.close()

    return close


def current_time() -> int:
    """Return the present moment, as records have it."""
    return SystemClock().now()


def is_local(place: str) -> bool:
    """Whether a ledger is a file of this computer."""
    return "://" not in place


def operator_token(interlock: Interlock, operation: str, about: Iterable[str] = ()) -> str:
    """Return the token of whoever decides, for the passphrase that they type at their terminal.

    What it is `about` is shown there first. Nothing of it is remembered: the next call asks again.
    """
    check_may_decide(interlock, operation)
    name = _operator_name(interlock)
    with terminal() as at:
        for line in about:
            at.show(line)
        return interlock.unlock(name, at.typed(f"passphrase of {name}"))


def check_may_decide(interlock: Interlock, operation: str) -> None:
    """Raise NotPermittedError where it is an agent that calls."""
    if settings.current_ledger_places().token is not None:
        raise NotPermittedError(
            "`INTERLOCK_TOKEN` is set, so an agent calls this: it decides nothing; a person does"
            " it in a terminal of their own"
        )
    check_decider(interlock.governor.context, operation)


def operator(interlock: Interlock, operation: str) -> Principal:
    """Return who decides; raise NotPermittedError if it is nobody who may."""
    token = operator_token(interlock, operation)
    return proven(interlock.governor.context, token, operation)


def agree_as_person(interlock: Interlock, operation: str) -> Principal:
    """Return who decides something that is not in the ledger: an operator, where it has one.

    Elsewhere it takes what making the first operator takes, and a word typed at a terminal.
    """
    if has_operator(interlock.ledger):
        return operator(interlock, operation)
    check_setup(interlock.governor.context)
    with terminal() as at:
        if at.typed("type `accept` to go on") != "accept":
            raise InputError("it was not accepted: nothing was changed")
    return person_at("terminal")


def agree_to_recovered(ledger: Ledger) -> Principal:
    """Return who lets a ledger that was saved take another's place: an operator, if it has one."""
    interlock = Interlock(Governor(ledger, default_policy(), SystemClock()))
    if has_operator(ledger):
        return operator(interlock, "recover the ledger")
    refuse_descendants(ledger.rows)
    return SYSTEM


def agree_to_accept(ledger: Ledger) -> Principal:
    """Return who accepts a ledger that is not what was written: an operator, where it has one.

    Elsewhere it takes what making the first operator takes, and a word typed at a terminal.
    """
    interlock = Interlock(Governor(ledger, default_policy(), SystemClock()))
    return agree_as_person(interlock, "accept the ledger")


def _operator_name(interlock: Interlock) -> str:
    """Return which operator is meant: the one that is named, the only one, or the namesake."""
    names = [each.name for each in interlock.operators()]
    chosen = chosen_operator()
    if chosen is not None:
        return chosen
    own = settings.user_name()
    if len(names) > 1 and own not in names:
        listed = ", ".join(f"`{name}`" for name in names)
        raise InputError(f"which operator are you, {listed}? Say it with `--as NAME`")
    return names[0] if len(names) == 1 else own


def _require_ledger(place: str, otherwise: str = "") -> None:
    """Refuse a ledger that is not there: to look at something must not make it."""
    if (gone := missing_ledger(place, settings.current_ledger_places().keys)) is not None:
        raise DamagedError(gone)
    if is_local(place):
        missing = None if Path(place).expanduser().exists() else place
    else:
        missing = _name_without_tables(place)
    if missing is not None:
        raise LedgerError(
            f"there is no ledger at `{missing}`: the first run makes one, and so does"
            f" `interlock setup`; --ledger or INTERLOCK_LEDGER names another one{otherwise}"
        )


def _name_without_tables(url: str) -> str | None:
    """Return what a database is called, without its password, if it holds no ledger."""
    if not url.startswith(("postgres://", "postgresql://")):
        return None
    with needs_extra("a Postgres ledger", "postgres"):
        from interlock.ledger.stores.postgres_connection import Address  # noqa: PLC0415 - only with the extra

    address = Address(url)
    with address.clear_errors("the ledger was not opened"), address.connect() as connection:
        row = connection.execute("SELECT to_regclass('interlock_schema')").fetchone()
    return address.name if row is None or row[0] is None else None


def _own_policy(ledger: Ledger) -> CompiledPolicy:
    """Return the ledger's own policy, or for a new ledger the one that counts here."""
    state = ledger.state(LEDGER_RUN)
    if state is not None and state.policy_hash:
        return recompiled_policy(ledger.rows, state.policy_hash)
    return load_policy(user=settings.current_places().user, project=None)


def _end_on_sigterm() -> None:
    """Let a program that has no wish of its own end like any other when SIGTERM asks it to."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(signum: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the shape of a handler
    sys.exit(_ENDED_BY_SIGTERM)
