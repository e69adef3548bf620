"""What goes on a run's record without being judged: that it begins, goes on, or a person spoke."""

from __future__ import annotations

from interlock.errors import NotPermittedError
from interlock.ledger.ledger import Work
from interlock.model.approval import Approval
from interlock.model.events import PersonSpoke
from interlock.model.principal import PrincipalKind
from interlock.model.run import RunState
from interlock.service.questions.question import Asking, Entry, Question
from interlock.service.records import approvals, runs
from interlock.service.records.runs import NewRun


def starting(new: NewRun) -> Question[RunState]:
    """Return the question whether a run may begin."""
    return Entry(
        lambda asking: runs.start_run(asking.runs.context_of(new.project), new, asking.principal)
    )


def resuming(state: RunState, process: str) -> Question[None] | None:
    """Return that a run goes on in another process, where that is so."""
    work = runs.resume_run(state, process)
    return None if work is None else Entry(lambda asking: work(asking.of_run(state.id)))


def person_heard(run_id: str) -> Question[PersonSpoke]:
    """Return that a person spoke to the agent of a run.

    An adapter asks it on behalf of `person_at(client)`, from the client's own hook for what
    people type; nobody else may speak for a person but an operator.
    """

    def work(asking: Asking) -> Work[PersonSpoke]:
        asked = asking.of_run(run_id)
        if asked.principal.kind not in (PrincipalKind.OPERATOR, PrincipalKind.PERSON):
            raise NotPermittedError(
                f"{asked.principal.kind.value} `{asked.principal.name}` may not speak for a"
                " person: an operator's token does, or the client's own prompt"
            )
        return asked.entry(PersonSpoke())

    return Entry(work)


def client_answered(approval_id: str, *, agreed: bool) -> Question[Approval]:
    """Return that a client's own user let one action happen, or refused it.

    An adapter asks it on behalf of `person_at(client)`, for what that client showed its user and
    nothing else. A client may answer in its user's place: it is on record as the client's word.
    """
    return Entry(
        lambda asking: approvals.answer_at_client(*asking.of_approval(approval_id), agreed=agreed)
    )
