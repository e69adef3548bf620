"""Who may speak for a run: its own agent, and from the command line whatever its script starts."""

from __future__ import annotations

from typing import Final

from interlock import processes
from interlock.errors import NotPermittedError
from interlock.ledger.ledger import Ledger
from interlock.model.principal import Principal
from interlock.model.run import RunState, RunStatus
from interlock.service.people.operators import token_names

SHELL: Final = "shell"
"""The client of a run that a script began with `interlock run start`."""
SUPERVISED: Final = "interlock-run"
"""The client of a run that `interlock run -- COMMAND` began, and ends."""


def check_own(ledger: Ledger, run: RunState, principal: Principal | None) -> None:
    """Refuse whoever asks for a run whose agent has a token, and shows none or another's."""
    if principal is None:
        check_name(ledger, run.agent, f"run `{run.id}` is one of")
    elif principal.name != run.agent:
        raise NotPermittedError(
            f"run `{run.id}` is not one of `{principal.name}`: an agent asks for its own"
        )


def check_name(ledger: Ledger, agent: str, asked: str) -> None:
    """Refuse whoever asks in the name of an agent that has a token, and shows none."""
    if agent in token_names(ledger):
        raise NotPermittedError(
            f"{asked} `{agent}`, who has a token: show it, over HTTP or in `INTERLOCK_TOKEN`"
        )


def check_script(run: RunState, *, ends: bool) -> None:
    """Refuse the command line of whoever is not what the run is about.

    INVARIANT: no agent reports on a run that its client reports on, and none on another script's
    while that runs. What a script began it also `ends`; what supervises a command does so itself.
    """
    if run.client != SHELL and (ends or run.client != SUPERVISED):
        raise NotPermittedError(
            f"run `{run.id}` was begun by `{run.client}`, which reports on it and ends it itself:"
            " `interlock run start` begins one for a script; `interlock halt` stops any"
        )
    own = processes.own_name()
    is_over = run.status is not RunStatus.RUNNING or not processes.is_alive(run.process)
    # A script whose last line is `exec interlock ...` is that process itself.
    if not is_over and own != run.process and not processes.descends(own, run.process):
        raise NotPermittedError(
            f"run `{run.id}` is that of process {run.process.split('/')[1]}, which still runs: only"
            " what that starts speaks for the run; `interlock halt` stops it"
        )
