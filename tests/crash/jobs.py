"""What children do until they are killed, and how they acknowledge what was answered."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import apsw

from crash import failing_disk, future
from interlock import Interlock, TokenUsage
from interlock.cli.call.ledger_access import close_at_exit
from interlock.errors import LedgerError, UnavailableError
from interlock.service.interlock import Run
from interlock.service.ledgers import open_ledger
from interlock.service.policies.policy_files import default_policy

Tell = Callable[[str], None]
OPENED: Final = "opened"
UNAVAILABLE: Final = "unavailable"
INTERRUPTED: Final = "interrupted"


def write(
    tell: Tell,
    *,
    place: str,
    keys: str,
    run: str,
    name: str,
    threads: int = 4,
    tidies: bool = False,
    disk: dict[str, Any] | None = None,
) -> None:
    """Work on a run without end, several threads at once, and acknowledge whatever is answered."""
    if disk is not None:
        failing_disk.install(**disk)
    interlock = _opened(place, keys)
    tell(OPENED)
    is_over = threading.Event()

    def tell_until_over(line: str) -> None:
        tell(line)
        if is_over.is_set():
            sys.exit()

    workers = [
        threading.Thread(target=work, args=(interlock, run, tell_until_over, f"{name}.{number}"))
        for number in range(threads)
    ]
    try:
        # A signal that ends the start of a thread may leave a lock of Python's to nobody.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        for worker in workers:
            worker.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        while tidies:
            interlock.ledger.tidy()
            tell("tidied")
        _stay()
    finally:
        is_over.set()


def write_alone(tell: Tell, *, place: str, keys: str, run: str, name: str) -> None:
    """Work on a run without end on the main thread, where signals arrive."""
    interlock = _opened(place, keys)
    tell(OPENED)
    work(interlock, run, tell, name)


def persist(tell: Tell, *, place: str, keys: str, run: str, name: str) -> None:
    """Work on a run without end; when the ledger is not available, ask again until it is."""
    interlock = _opened(place, keys)
    tell(OPENED)
    _start_persistent(interlock, run, tell, name)
    _stay()


def write_on(tell: Tell, *, place: str, keys: str, run: str, name: str) -> None:
    """Work without end, on the main thread in spite of every interrupt, and on others."""
    interlock = _opened(place, keys)

    def interrupt(signum: int, frame: object) -> NoReturn:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    # The next one waits until this one was told, and no other thread takes it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    _start_persistent(interlock, run, tell, name)
    tell(OPENED)
    for life in itertools.count():
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            work(interlock, run, tell, f"{name}.main.{life}")
        except KeyboardInterrupt:
            tell(f"{INTERRUPTED}.{life}")


def hold(tell: Tell, *, place: str, keys: str) -> None:
    """Open a ledger and do nothing."""
    with _opened(place, keys):
        tell(OPENED)
        _stay()


def migrate(
    tell: Tell, *, place: str, keys: str, migrations: list[str], disk: dict[str, Any] | None = None
) -> None:
    """Open a ledger with an Interlock that knows further migrations."""
    future.learn(migrations)
    if disk is not None:
        failing_disk.install(**disk)
    open_ledger(place, keys=Path(keys)).close()
    tell(f"{failing_disk.writes()}")


def grow(tell: Tell, *, place: str, keys: str, run: str, name: str, most_bytes: int) -> None:
    """Work until no file may grow any more, then once more without that limit."""
    interlock = _opened(place, keys)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    try:
        work(interlock, run, tell, name)
    except UnavailableError as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        tell(f"refused: {error}")
    _act(interlock.resume(run), tell, "again")
    interlock.close()


def fork(
    tell: Tell, *, place: str, keys: str, run: str, name: str, threads: int, turns: int
) -> None:
    """Fork with an open ledger, perhaps a busy one; the child tries to use it, then ends."""
    interlock = _opened(place, keys)
    ours = interlock.resume(run)
    _act(ours, tell, f"{name}.before")
    for number in range(threads):
        arguments = (interlock, run, tell, f"{name}.{number}")
        threading.Thread(target=work, args=arguments, daemon=True).start()
    for turn in range(turns):
        child = os.fork()
        if child == 0:
            # Whoever waits for a lock that nobody holds here would wait forever.
            signal.alarm(10)
            _tell_refusal(tell, lambda: ours.command("echo from the child"))
            _tell_refusal(tell, lambda: ours.state)
            sys.exit(0)
        tell(f"ended: {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
        _act(ours, tell, f"{name}.after.{turn}")
    tell("done")
    os._exit(0)


def _stay() -> NoReturn:
    """Live until a signal ends it. One that comes just before a wait is noticed only after it."""
    while True:
        time.sleep(0.1)


def _opened(place: str, keys: str) -> Interlock:
    """Open a ledger the way the command line does: a signal to end closes it in order."""
    interlock = Interlock.open(place, keys=Path(keys), policy=default_policy())
    close_at_exit(interlock.ledger)
    return interlock


def _tell_refusal(tell: Tell, use: Callable[[], object]) -> None:
    try:
        use()
    except LedgerError as error:
        tell(f"refused: {error}")


def read(tell: Tell, *, place: str) -> None:
    """Keep a read transaction open, as any other program may."""
    connection = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.wal_autocheckpoint(0)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    tell(OPENED)
    _stay()


def _start_persistent(interlock: Interlock, run: str, tell: Tell, name: str) -> None:
    """Start threads that ask again when the ledger is not available."""
    pause = threading.Event()

    def keep_at_it(name: str) -> None:
        for life in itertools.count():
            try:
                work(interlock, run, tell, f"{name}.{life}")
            except UnavailableError:
                tell(UNAVAILABLE)
                pause.wait(0.02)

    for number in range(4):
        threading.Thread(target=keep_at_it, args=(f"{name}.{number}",), daemon=True).start()


def work(interlock: Interlock, run_id: str, tell: Tell, name: str) -> None:
    """Do a bit of everything without end, and acknowledge each answer once it is there."""
    run = interlock.resume(run_id)
    for turn in itertools.count():
        _take_turn(run, tell, name, turn)


def rehearse(interlock: Interlock) -> None:
    """Do a bit of everything once, and tell nobody."""
    run = interlock.run("a rehearsal")
    for turn in range(4):
        _take_turn(run, lambda _: None, "rehearsal", turn)


def _take_turn(run: Run, tell: Tell, name: str, turn: int) -> None:
    _act(run, tell, f"{name}.{turn}")
    if turn % 4 == 1:
        _edit(run, tell, name, turn)
    if turn % 6 == 2:
        _ask_a_person(run, tell, f"{name}.{turn}")
    if turn % 8 == 3:
        _delegate(run, tell, f"{name}.{turn}")


def _act(run: Run, tell: Tell, name: str) -> None:
    command = f"echo {name}"
    answer = run.command(command, key=name)
    tell(f"judged {answer.action_id} {command}")
    run.observe(
        answer,
        exit_code=0,
        output=name,
        usage=TokenUsage(input_tokens=900, output_tokens=40),
        model="claude-sonnet-4-5",
    )
    tell(f"observed {answer.action_id}")


def _edit(run: Run, tell: Tell, name: str, turn: int) -> None:
    path = f"{name}.py"
    lines = "".join(f"x = {number}\n" for number in range(turn % 40))
    answer = run.may_edit(path, f"{lines}y = {turn}\n", old=f"{lines}y = {turn - 1}\n")
    tell(f"judged {answer.action_id} {path}")
    run.observe(answer)
    tell(f"observed {answer.action_id}")


def _ask_a_person(run: Run, tell: Tell, name: str) -> None:
    command = f"git push --force origin {name}"
    answer = run.command(command)
    tell(f"judged {answer.action_id} {command}")
    tell(f"opened {run.id} {answer.approval_id}")
    run.violation("no-force", f"asked for {name}")
    tell(f"violated {run.id} asked for {name}")


def _delegate(run: Run, tell: Tell, name: str) -> None:
    below = run.child(f"help with {name}")
    tell(f"started {below.id} help with {name}")
    _act(below, tell, name)
    below.usage(TokenUsage(input_tokens=77, output_tokens=1))
    tell(f"used {below.id} 77")
    below.finish()
    tell(f"finished {below.id} completed")


JOBS: Final[Mapping[str, Callable[..., None]]] = {
    each.__name__: each
    for each in (write, write_alone, write_on, persist, hold, migrate, grow, fork, read)
}
