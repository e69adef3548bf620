"""The run that a call of a script is about: which one it is, and whether it is the caller's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from interlock import processes, settings
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import chosen_place
from interlock.ledger.abbreviations import found_run
from interlock.ledger.ledger import Ledger
from interlock.model.principal import Principal
from interlock.model.run import RunState
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.service.interlock import Interlock, Run
from interlock.service.ledgers import agent_of
from interlock.service.people.run_speaker import check_own, check_script
from interlock.service.policies.policy_files import load_policy
from interlock.service.questions.run_entries import resuming
from interlock.service.records.budgets import Recorded
from interlock.service.records.runs import ELSEWHERE


class Spoken(NamedTuple):
    """A run that is spoken for, and the ledger that it is in."""

    interlock: Interlock
    run: Run


@contextmanager
def spoken_run(named: str | None, *, ends: bool = False) -> Generator[Spoken]:
    """Open the run that is named, or that `INTERLOCK_RUN` names, for whoever may speak for it.

    Where its process has ended it is this caller's from now on.
    """
    text = named or settings.current_run()
    if text is None:
        raise click.UsageError(
            "which run? Name it, or set `INTERLOCK_RUN`:"
            ' `export INTERLOCK_RUN=$(interlock run start --task "TEXT")`'
        )
    with reading_ledger() as ledger:
        state = Recorded(ledger).state(found_run(ledger.rows, text).id)
    with Interlock.open(chosen_place(), policy=_policy_of(state)) as interlock:
        governor, ledger = interlock.governor, interlock.ledger
        principal = _asker(ledger)
        check_own(ledger, state, principal)
        check_script(state, ends=ends)
        going_on = resuming(state, processes.script_above() or ELSEWHERE)
        if going_on is not None:
            governor.answer(going_on, principal)
            governor.forget(state.id)
        yield Spoken(interlock, Run(governor, state.id, principal))


def _policy_of(state: RunState) -> CompiledPolicy:
    """Return the policy that counts where the run works, wherever the script stands by now.

    INVARIANT: nobody gets rid of a project's policy by going to another folder.
    """
    folder = Path(state.workspace) if state.workspace else settings.working_folder()
    found = settings.places(settings.environment(), home=Path.home(), cwd=folder)
    return load_policy(user=found.user, project=found.project)


def _asker(ledger: Ledger) -> Principal | None:
    token = settings.current_ledger_places().token
    return None if token is None else agent_of(token, ledger)
