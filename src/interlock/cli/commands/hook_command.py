"""`interlock hook`: what the entry of a hook runs where no server answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click
import msgspec

from interlock import hook_asker, settings
from interlock.adapters.clients.recognition import ANY, client_dialects
from interlock.extras import has_extra
from interlock.model.hook import REFUSED, HookCall, HookReply
from interlock.ports import Dialect
from interlock.server.hooks.hook_desk import HookDesk
from interlock.server.hooks.hook_socket import LARGEST_LINE
from interlock.server.hooks.own_dialect import OWN_DIALECT
from interlock.service.aio import LoopDriver
from interlock.service.ledgers import open_governor
from interlock.service.policies.policy_files import PolicyFiles

_ABOUT: Final = """\
Answer a hook of an agent's client, in its DIALECT; its payload is read from standard input.

DIALECT is `claude-code`, `codex`, `gemini`, `copilot`, `opencode`, `interlock` for hooks of your
own, or left out: then the payload shows whose it is.

Clients run `hook_entry.py` instead, which asks the server and takes a hundredth of the time. This
is what that runs where none answers: it starts one, and answers itself where it does not come up.

Examples:
  interlock hook claude-code < payload.json
"""
_SERVER_WITHIN_S: Final = 4.0
_NAP_S: Final = 0.02
_IDLE_S: Final = 1800
_OWN_S: Final = 20
"""So long an answer may take: less than clients wait for one."""
_SOONER_S: Final = 2


def dialects() -> Mapping[str, Dialect]:
    """Return every dialect of hooks, by its name."""
    return client_dialects(OWN_DIALECT)


@click.command("hook", help=_ABOUT, context_settings={"ignore_unknown_options": True}, hidden=True)
@click.argument("dialect", default=ANY)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def hook_command(*, dialect: str, args: Sequence[str]) -> NoReturn:
    """Answer a hook."""
    signal.signal(signal.SIGALRM, lambda _number, _frame: _end(_too_late(args)))
    signal.alarm(_seconds(args))
    try:
        payload = sys.stdin.buffer.read()
        reply = _from_server(dialect, args, payload) or _from_here(dialect, args, payload)
    except BaseException as error:  # noqa: BLE001 - whatever happens, it must not look like a yes
        reply = _no_answer(args, str(error) or type(error).__name__)
    _end(reply)


def _from_server(dialect: str, args: Sequence[str], payload: bytes) -> HookReply | None:
    """Start a server, which ends itself when nobody asks any more, and ask it."""
    if not has_extra("server"):
        return None
    places = settings.current_server_places(settings.current_ledger_places().ledger)
    line = hook_asker.request_line(
        [dialect, *args],
        os.getcwd(),  # noqa: PTH109 - as a text
        os.getppid(),
        payload,
        _told_of_itself(),
    )
    server = start_server()
    until = time.monotonic() + _SERVER_WITHIN_S
    # One that finds another one at work ends well: then that other one answers.
    while time.monotonic() < until and not server.poll():
        with contextlib.suppress(OSError, hook_asker.NoAnswerError):
            return HookReply(*hook_asker.asked(str(places.hooks), line))
        time.sleep(_NAP_S)
    return None


def start_server(
    environment: Mapping[str, str] | None = None, *, idle_s: int = _IDLE_S
) -> subprocess.Popen[bytes]:
    """Start a server on its own, which ends at once where one runs already."""
    own = ("INTERLOCK_RUN", "INTERLOCK_CAUSE", "INTERLOCK_TOKEN")
    known = settings.environment() if environment is None else environment
    # It serves every folder, and so stands in none; and it outlives whoever started it.
    return subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-I", "-m", "interlock", "serve", "--no-tcp", f"--idle-exit={idle_s}"],
        cwd="/",
        env={name: value for name, value in known.items() if name not in own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _from_here(dialect: str, args: Sequence[str], payload: bytes) -> HookReply:
    """Answer without a server, on the same record."""
    call = HookCall(
        hook=dialect,
        args=tuple(args),
        cwd=str(Path.cwd()),
        pid=os.getppid(),
        env=_told_of_itself(),
    )
    return asyncio.run(_answered(call, payload))


async def _answered(call: HookCall, payload: bytes) -> HookReply:
    files = PolicyFiles()
    governor = open_governor(None, policy=files.policy(), follows=files)
    try:
        desk = HookDesk(governor, LoopDriver(), dialects())
        if len(payload) > LARGEST_LINE:
            return desk.refusal(call, f"the payload is larger than {LARGEST_LINE:,} bytes")
        return await desk.reply(msgspec.structs.replace(call, payload=msgspec.Raw(payload)))
    finally:
        governor.ledger.close()


def _told_of_itself() -> dict[str, str]:
    return hook_asker.told_of_itself(dict(settings.environment()))


def _seconds(args: Sequence[str]) -> int:
    """Return how long an answer may take: a little less than the entry that waits for it."""
    said = HookCall(hook="", args=tuple(args)).option("deadline")
    return max(1, int(said) - _SOONER_S) if said is not None and said.isdecimal() else _OWN_S


def _too_late(args: Sequence[str]) -> HookReply:
    return _no_answer(args, f"it took longer than {_seconds(args)} seconds")


def _no_answer(args: Sequence[str], why: str) -> HookReply:
    reason = f"interlock: no answer: {why}; see `interlock status`\n"
    is_open = HookCall(hook="", args=tuple(args)).fails_open
    return HookReply(0 if is_open else REFUSED, stderr=reason.encode("utf-8", "replace"))


def _end(reply: HookReply) -> NoReturn:
    sys.stdout.buffer.write(reply.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(reply.stderr)
    sys.stderr.buffer.flush()
    os._exit(reply.code)
