"""What next? `interlock loop`: let it run, look at it, and stop it."""

from __future__ import annotations

import platform
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

import click
import msgspec

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import (
    current_time,
    first_governing,
    governing,
    operator,
    reading_ledger,
)
from interlock.cli.call.options import (
    chosen_place,
    ledger_call,
    ledger_option,
    print_json,
    print_record,
    reason_option,
    show,
    wants_json,
)
from interlock.cli.commands.watch_commands import record_lines
from interlock.cli.text.loop_page import cycle_lines, slog_lines, status_lines
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_rows, print_lines
from interlock.errors import InputError, InterlockError
from interlock.extras import has_extra, require_extra
from interlock.ledger.abbreviations import named
from interlock.model.loop_events import CycleDecided
from interlock.model.principal import SYSTEM
from interlock.model.run import LEDGER_RUN
from interlock.model.short_code import code_of
from interlock.model.system_loop import DEFAULT_SCOPE, LOOP_RUN
from interlock.ports import Listener
from interlock.service.cycles.cycle_decision import cancel_cycle
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.governor import Governor
from interlock.service.interlock import Interlock
from interlock.service.policies.policy_book import recompiled_policy
from interlock.views.loop_timeline import loop_entry
from interlock.views.loop_view import (
    MOST_ENTRIES,
    LoopStatus,
    cycle_view,
    loop_state,
    loop_status,
    slog_page,
)
from interlock.views.watch_view import Feed

if TYPE_CHECKING:
    from interlock.loop.control_loop import ControlLoop
    from interlock.loop.worker import LoopWorker

_LOOK_S: Final = 0.5
_MOST_ROUNDS: Final = 50
_ABOUT: Final = """\
Run the loop that decides what comes next, or stop it.

Something happens (an event, a note, the heartbeat), the loop looks around, one action of a
closed set is chosen, and what passes the rails is done. Every decision is on record.

Examples:
  interlock loop tick
  interlock loop status
  interlock loop log --limit 5
"""
_ABOUT_RUN: Final = """\
Let the loop run until Ctrl-C or SIGTERM; each of its records is printed as it is made.

It answers events within seconds and looks around by itself every `loop.heartbeat-minutes`.
Whatever was cut off is gone on with when it runs again. Its durable engine is a file beside the
ledger (`LEDGER.loop.db`), or a schema of the same Postgres; `--engine` or INTERLOCK_ENGINE names
another place. Several workers share the work, each under a name of its own; without one, a worker
is called after this machine and the ledger. A job that it started ends with it.

`--once` does what is due, and ends: for a cron of your own.

Examples:
  interlock loop run
  interlock loop run --name night-shift
  interlock loop run --once
"""
_ABOUT_TICK: Final = """\
Look around now, decide once, and do what comes of it; no engine is needed.

A job is started only with `--wait`, which stays until it has ended; otherwise the next
`interlock loop run` or `interlock loop tick --wait` starts it.

Examples:
  interlock loop tick
  interlock loop tick --scope shop --wait
"""
_ABOUT_LOG: Final = """\
List what the loop decided, the newest first.

To do nothing is a decision as well.

With `--decision` one of them is shown stage by stage: what started it, what was seen, who chose
what and why, which rails held, and who got the event. ID is the code, or the beginning of the
id, of a decision, of the event that it emitted, or of one that it answered.

Examples:
  interlock loop log
  interlock loop log --limit 100 --json
  interlock loop log --decision W7HM4K
"""


@click.group("loop", cls=Commands, help=_ABOUT)
@ledger_option
def loop_command() -> None:
    """Hold the commands about the loop."""


@ledger_call("run", group=loop_command, help=_ABOUT_RUN)
@click.option("--name", metavar="NAME", help="What this worker is called.")
@click.option("--engine", metavar="PATH_OR_URL", help="Where the durable engine is.")
@click.option("--once", is_flag=True, help="Do what is due, wait for its jobs, and end.")
def run_command(*, name: str | None, engine: str | None, once: bool) -> None:
    """Let the loop run."""
    with first_governing() as interlock:
        loop = _control_loop(interlock)
        if once:
            decided = _done_once(loop)
            show(decided, _decided_lines(decided))
            return
        place = engine or settings.current_loop_places(chosen_place()).engine
        _serve(interlock, loop, place, name or _usual_name(interlock))


def _control_loop(interlock: Interlock) -> ControlLoop:
    from interlock.loop.control_loop import ControlLoop  # noqa: PLC0415 - to look at it takes less

    folder = settings.current_loop_places(chosen_place()).folder
    return ControlLoop(interlock.governor, folder=folder)


def _usual_name(interlock: Interlock) -> str:
    """Return what a worker is called: the same on this machine, for this ledger, every time."""
    ledger_id = interlock.ledger.rows.meta("id") or ""
    return f"{platform.node() or 'worker'}-{ledger_id[:8]}"


def _done_once(loop: ControlLoop) -> Sequence[CycleDecided]:
    """Let the heart beat once, and answer whatever waits and what follows from it."""
    minutes = loop.chain.settings.heartbeat_minutes * 60_000_000
    loop.beat(loop.now // minutes * minutes)
    decided: list[CycleDecided] = []
    for _ in range(_MOST_ROUNDS):
        loop.note_decisions()
        loop.jobs.close_abandoned()
        for run_id in loop.learner.unlearnt():
            loop.learner.learn(run_id)
        scopes = dict.fromkeys(each.scope for each in loop.chain.state.triggers.values())
        if not scopes:
            break
        for scope in scopes:
            decided += loop.answer(scope)
        loop.jobs.wait()
    loop.outbox.deliver_due()
    loop.jobs.wait()
    return decided


def _serve(interlock: Interlock, loop: ControlLoop, place: str, name: str) -> None:
    require_extra("interlock loop run without --once", "loop")
    from interlock.loop.worker import LoopWorker, engine_at  # noqa: PLC0415 - only with the extra

    make_engine = engine_at(place, name=name, clock=interlock.governor.clock)
    worker = _Worker(LoopWorker(loop, make_engine))
    with closing(interlock.ledger.listen()) as listener, _signals(listener) as over:
        feed = Feed(interlock.ledger.rows, LOOP_RUN)
        feed.skip()
        with worker.at_work():
            if worker.is_ready(over):
                _say_ready(loop, place, name)
            while not over.is_set() and worker.is_alive:
                _take_policy(interlock.governor)
                _print_news(interlock, feed)
                listener.wait(_LOOK_S)
        _print_news(interlock, feed)
    worker.raise_error()


class _Worker:
    """A worker on a thread of its own: signals come to the main one."""

    def __init__(self, worker: LoopWorker) -> None:
        self._worker = worker
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="interlock-loop", daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @contextmanager
    def at_work(self) -> Generator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._worker.stop()
            self._thread.join()

    def is_ready(self, over: threading.Event) -> bool:
        """Wait until it works, has failed, or is not wanted any more."""
        while not self._ready.wait(_LOOK_S / 5) and self.is_alive and not over.is_set():
            pass
        return self._ready.is_set()

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _serve(self) -> None:
        try:
            self._worker.serve(when_ready=self._ready.set)
        except BaseException as error:  # noqa: BLE001 - raised again where the command ends
            self._error = error


@contextmanager
def _signals(listener: Listener) -> Generator[threading.Event]:
    """On SIGINT or SIGTERM, set the event and wake the listener, but interrupt nothing."""
    over = threading.Event()

    def end(_signum: int, _frame: FrameType | None) -> None:
        over.set()
        listener.stop()

    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, end) for each in kinds]
    try:
        yield over
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


def _say_ready(loop: ControlLoop, place: str, name: str) -> None:
    chosen = loop.chain.settings
    shown = place if "://" not in place else "the same Postgres"
    if wants_json():
        print_json({"worker": name, "mode": chosen.mode, "heartbeat": chosen.heartbeat_minutes})
        return
    beat = f"worker `{name}`, {chosen.mode}, a heartbeat every {chosen.heartbeat_minutes} min"
    print_lines(
        [badge_line("RUNNING", Tone.ALLOW, beat), *labelled_rows(("engine", shown, Tone.FAINT))]
    )


def _print_news(interlock: Interlock, feed: Feed) -> None:
    rows = interlock.ledger.rows
    if wants_json():
        for row in feed.news():
            print_record(row)
    else:
        print_lines(record_lines(rows, feed.news(), LOOP_RUN))


def _take_policy(governor: Governor) -> None:
    """Go by the policy that counts in the ledger, whoever has changed it meanwhile."""
    own = governor.ledger.state(LEDGER_RUN)
    if own is None or own.policy_hash in ("", governor.context.policy.merged.user_level.hash):
        return
    governor.adopt(recompiled_policy(governor.ledger.rows, own.policy_hash), by=SYSTEM)


@ledger_call("tick", group=loop_command, help=_ABOUT_TICK)
@click.option("--scope", metavar="NAME", default=DEFAULT_SCOPE, help="What is decided together.")
@click.option("--wait", is_flag=True, help="Start jobs, and wait until they have ended.")
def tick_command(*, scope: str, wait: bool) -> None:
    """Look around now."""
    with first_governing() as interlock:
        loop = _control_loop(interlock)
        decided = loop.tick(scope, starts_jobs=wait)
        loop.jobs.wait()
        waits = [each for each in loop.outbox.waiting() if each.starts_job]
    show(decided, (*_decided_lines(decided), *_job_lines(len(waits))))


def _decided_lines(decided: Sequence[CycleDecided]) -> Iterator[Line]:
    for each in decided:
        entry = loop_entry(each, "")
        yield (
            Span(entry.mark, Tone[entry.accent.name]),
            Span(f"  {entry.text}"),
            Span(f"  {entry.facts}", Tone.FAINT),
        )
        yield from labelled_rows(*[("", reason, Tone.FAINT) for reason in entry.reasons])
        yield from labelled_rows(
            ("decision", code_of(each.decision_id), Tone.CODE),
            ("asks", f"interlock approve {code_of(each.approval)}", Tone.CODE)
            if each.approval_required
            else ("", ""),
        )
    if not decided:
        yield (Span("nothing waits", Tone.FAINT),)


def _job_lines(count: int) -> Iterator[Line]:
    if count:
        yield (
            Span("a job is to be started: "),
            Span("interlock loop run", Tone.CODE),
            Span(" does it, or "),
            Span("interlock loop tick --wait", Tone.CODE),
        )


@ledger_call("status", group=loop_command)
def status_command() -> None:
    """Show how the loop stands: what waits, what it may do, and its last cycle.

    Examples:
      interlock loop status
      interlock loop status --json
    """
    now = current_time()
    with governing() as interlock:
        status = loop_status(interlock.ledger, LoopChain(interlock.governor).settings, now)
    workers = _workers(settings.current_loop_places(chosen_place()).engine)
    value: dict[str, object] = {**msgspec.structs.asdict(status), "workers": workers}
    show(value, status_lines(status, workers, now))


def _workers(place: str) -> Sequence[str] | None:
    """Return the workers that are at work; None where there is no engine, or none can be seen."""
    if not has_extra("loop"):
        return None
    from interlock.loop.engine_lease import EngineDatabase  # noqa: PLC0415 - heavy, for a look only

    database = EngineDatabase(place)
    try:
        if not database.has("interlock_workers"):
            return None
        return [each.name for each in database.workers() if each.is_alive]
    except InterlockError:
        # An engine that cannot be reached says nothing about the ledger.
        return None
    finally:
        database.close()


@ledger_call("freeze", group=loop_command, decides=True)
@reason_option
def freeze_command(*, reason: str) -> None:
    """Freeze the loop: it emits nothing until it is unfrozen; whatever happens is recorded.

    What was not delivered yet waits as well. A job that runs goes on: `interlock halt` stops it.

    Examples:
      interlock loop freeze --reason "the deploy is at risk"
    """
    status = _said("freeze", reason)
    lines = (
        badge_line("FROZEN", Tone.BLOCK, "nothing is emitted or delivered"),
        (Span("  interlock loop unfreeze --reason TEXT", Tone.CODE), Span(" lets it go on")),
    )
    show(status, lines)


@ledger_call("unfreeze", group=loop_command, decides=True)
@reason_option
def unfreeze_command(*, reason: str) -> None:
    """Unfreeze the loop: it goes on.

    Examples:
      interlock loop unfreeze --reason "the deploy is done"
    """
    show(_said("unfreeze", reason), [badge_line("UNFROZEN", Tone.ALLOW, "the loop goes on")])


@ledger_call("cancel", group=loop_command, decides=True)
@click.argument("thing", metavar="ID")
@reason_option
def cancel_command(*, thing: str, reason: str) -> None:
    """Take back what waits: a trigger, an action that a person is asked about, or an event.

    ID is the code of the trigger, the decision or the event, or the beginning of its id.

    Examples:
      interlock loop cancel W7HM4K --reason "nobody needs it"
    """
    with governing() as interlock:
        chain = LoopChain(interlock.governor)
        found = _cancellable(interlock, thing)
        by = operator(interlock, "cancel what the loop decided")
        if found in chain.state.triggers:
            cancel_cycle(chain, found, reason, by)
        else:
            chain.cancel(found, reason, by)
    lines = (
        badge_line("CANCELLED", Tone.BLOCK, "it does not happen"),
        (Span(f"  {code_of(found)}", Tone.CODE),),
    )
    show({"cancelled": found}, lines)


def _cancellable(interlock: Interlock, text: str) -> str:
    loop = loop_state(interlock.ledger)
    held = [each.decision_id for each in loop.held.values()]
    sent = [each.decision_id for each in loop.outgoing.values()]
    known = dict.fromkeys((*loop.outgoing, *sent, *held, *loop.triggers))
    if not known:
        raise InputError("nothing waits that could be cancelled: `interlock loop status` shows it")
    return named("decision", text, ((each, each) for each in known), "interlock loop status")


def _said(word: str, reason: str) -> LoopStatus:
    with governing() as interlock:
        chain = LoopChain(interlock.governor)
        by = operator(interlock, f"{word} the loop")
        (chain.freeze if word == "freeze" else chain.thaw)(reason, by)
        return loop_status(interlock.ledger, chain.settings, current_time())


@ledger_call("log", group=loop_command, help=_ABOUT_LOG)
@click.option("--decision", metavar="ID", help="Show one decision, stage by stage.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, MOST_ENTRIES),
    default=20,
    show_default=True,
    help="How many to list.",
)
@click.option(
    "--before", metavar="RECORD", type=click.IntRange(1), help="Only those before this record."
)
def log_command(*, decision: str | None, limit: int, before: int | None) -> None:
    """List decisions, or show one."""
    with reading_ledger() as ledger:
        if decision is not None:
            view = cycle_view(ledger, decision)
            show(view, cycle_lines(view))
            return
        page = slog_page(ledger, limit=limit, before=before)
    show(page, slog_lines(page, current_time()))
