"""Interlock for programs that wait for a server: code changes one line to come here.

interlock = Interlock.open()      # the ledger, in this process
interlock = connect()             # a server, over its socket
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Never, Self, TypeVar, Unpack
from urllib.parse import quote

from interlock.client.connection import Connection, Request
from interlock.client.remote_run import RemoteOperations, RemoteRun, Started
from interlock.errors import InputError, NotPermittedError
from interlock.model.access import Token
from interlock.model.answers import AllRuns, ReviewAnswer
from interlock.model.approval import Approval, ApprovalPage, ApprovalState
from interlock.model.budget import Budget
from interlock.model.entrance import Amount, FilePath, Given, entrance
from interlock.model.events import BudgetChanged, Record, Undone
from interlock.model.principal import Scope
from interlock.model.promised_answer import completed
from interlock.model.question_fields import RunFields
from interlock.model.review import GateAction
from interlock.model.run import RunState
from interlock.model.step_loop import StepLoop
from interlock.model.waited_call import Waiting, waited

T = TypeVar("T")


class BlockingDriver:
    """Waits on the caller's own thread; its coroutines never suspend."""

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do it here and now."""
        return perform()

    async def delay(self, seconds: float) -> None:
        """Sleep here; an interrupt ends it."""
        time.sleep(seconds)  # noqa: ASYNC251 - whoever drives it waits by blocking

    def now(self) -> int:
        """Return the time since some moment, in microseconds."""
        return time.monotonic_ns() // 1000


_BLOCKING = BlockingDriver()


def _only_there(word: str) -> Callable[..., Never]:
    """Return a word that refuses: passphrases, policies and files stay where the ledger is."""

    def refuse(_self: object, *_args: object, **_fields: object) -> Never:
        raise NotPermittedError(
            f"`{word}` is not for those who ask from afar: do it where the ledger is, with"
            " `Interlock.open()` or the command line"
        )

    return refuse


class RemoteInterlock(RemoteOperations):
    """What can be asked of a server, besides what is asked of one run."""

    adopt = _only_there("adopt")
    set_up = _only_there("set_up")
    unlock = _only_there("unlock")
    operators = _only_there("operators")
    add_operator = _only_there("add_operator")
    change_passphrase = _only_there("change_passphrase")
    recover_operator = _only_there("recover_operator")
    revoke_operator = _only_there("revoke_operator")
    sign_in = _only_there("sign_in")
    sign_out = _only_there("sign_out")
    checkpoint_store = _only_there("checkpoint_store")

    @entrance
    async def approvals(self, state: ApprovalState | str | None = "pending") -> Sequence[Approval]:
        """Return the questions to people in one state, or all of them."""
        query: dict[str, object] = {"state": "all" if state is None else str(state), "limit": 500}
        found: list[Approval] = []
        while True:
            page = await self._asked(Request("GET", "/v1/approvals", query=query), ApprovalPage)
            found += page.approvals
            if page.cursor is None:
                return found
            query["cursor"] = page.cursor

    @entrance
    async def approve(
        self, approval_id: str, *, token: str, note: str | None = None, always: bool = False
    ) -> Approval:
        """Let an action happen, once; only an operator's token does."""
        table = {"note": note, "always": always}
        return await self._decided(approval_id, "approve", table, token, Approval)

    @entrance
    async def deny(self, approval_id: str, *, token: str, note: str | None = None) -> Approval:
        """Refuse an action; only an operator's token does."""
        return await self._decided(approval_id, "deny", {"note": note}, token, Approval)

    @entrance
    async def choose(
        self,
        approval_id: str,
        action: GateAction | str,
        *,
        token: str,
        instructions: str | None = None,
    ) -> ReviewAnswer:
        """Choose how a review goes on, `retry`, `skip` or `abort`; only an operator may."""
        table = {"action": GateAction(action), "instructions": instructions}
        return await self._decided(approval_id, "choose", table, token, ReviewAnswer)

    @entrance
    async def choose_review(
        self,
        run_id: str,
        action: GateAction | str,
        *,
        token: str,
        review: str | None = None,
        instructions: str | None = None,
    ) -> ReviewAnswer:
        """Choose the same by the name of the review, or for the only one that is pending."""
        state = await self._asked(
            Request("GET", f"/v1/runs/{_quoted(run_id)}/state", token=token), RunState
        )
        pending = state.reviews.pending
        found = pending.get(review) if review is not None else next(iter(pending.values()), None)
        if found is None or found.approval is None or (review is None and len(pending) > 1):
            raise InputError(
                f"run `{run_id}` has no review that waits for a choice by this name: pending are"
                f" {', '.join(f'`{each}`' for each in pending) or 'none'}"
            )
        return await self.choose(found.approval, action, token=token, instructions=instructions)

    @entrance
    async def halt(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Stop a run and everything below it; only an operator's token does."""
        return await self._held(run_id, "halt", reason, token)

    @entrance
    async def lift(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Let a run go on that was paused or stopped; only an operator's token does."""
        return await self._held(run_id, "lift", reason, token)

    @entrance
    async def halt_all(self, *, token: str, reason: str) -> int:
        """Stop every run, and let none begin; return how many are at work."""
        return await self._all_held("halt", reason, token)

    @entrance
    async def lift_all(self, *, token: str, reason: str) -> int:
        """End `halt_all`; a run that is held by itself stays so. Return how many are at work."""
        return await self._all_held("lift", reason, token)

    async def _all_held(self, word: str, reason: str, token: str) -> int:
        request = Request("POST", f"/v1/{word}", {"reason": reason}, token=token)
        return (await self._asked(request, AllRuns)).runs

    async def _held(self, run_id: str, word: str, reason: str, token: str) -> RunState:
        path = f"/v1/runs/{_quoted(run_id)}"
        await self._told(Request("POST", f"{path}/{word}", {"reason": reason}, token=token))
        return await self._asked(Request("GET", f"{path}/state", token=token), RunState)

    async def _decided(
        self,
        approval_id: str,
        word: str,
        table: Mapping[str, object],
        token: str,
        answer: type[T],
    ) -> T:
        path = f"/v1/approvals/{_quoted(approval_id)}/{word}"
        return await self._asked(Request("POST", path, table, token=token), answer)

    @entrance
    async def set_budget(
        self, scope: str, budget: Given[Budget], *, token: str, note: str | None = None
    ) -> Sequence[BudgetChanged]:
        """Give an account other limits, one for each that the budget names; an operator may."""
        path, table = f"/v1/budgets/{quote(scope)}", {"budget": budget, "note": note}
        return await self._asked(Request("PUT", path, table, token=token), list[BudgetChanged])

    @entrance
    async def wait(self, approval_id: str, *, wait_s: Amount | None = None) -> Approval:
        """Wait until an approval is decided, runs out, or the time is up."""
        return await self._decision(approval_id, wait_s)

    @entrance
    async def undo(self, undo_id: str) -> Undone:
        """Put files back: a set of edits, or what was copied away before a command."""
        return await self._asked(Request("POST", f"/v1/undo/{_quoted(undo_id)}", {}), Undone)

    @entrance
    async def add_token(self, name: str, *, scope: Scope | str, token: str) -> str:
        """Return a token for a program, good for what the scope says; only an admin's does."""
        table = {"name": name, "scope": Scope(scope)}
        made = await self._asked(Request("POST", "/v1/tokens", table, token=token), dict[str, str])
        return made["token"]

    @entrance
    async def tokens(self) -> Sequence[Token]:
        """Return the tokens of programs that count, by what the record calls them."""
        return await self._asked(Request("GET", "/v1/tokens"), list[Token])

    @entrance
    async def revoke_token(self, credential: str, *, token: str) -> None:
        """Let one token of a program go; only an admin's token does."""
        await self._told(Request("DELETE", f"/v1/tokens/{_quoted(credential)}", token=token))

    @entrance
    async def add_agent(self, name: str, *, token: str) -> str:
        """Return a token for an agent, which decides nothing; only an operator's token does."""
        return await self.add_token(name, scope=Scope.AGENT, token=token)

    @entrance
    async def revoke_agent(self, name: str, *, token: str) -> None:
        """Let an agent go, with every token it has; only an operator's token does."""
        listed = await self._asked(Request("GET", "/v1/tokens", token=token), list[Token])
        own = [each for each in listed if each.name == name and each.scope is Scope.AGENT]
        if not own:
            raise InputError(f"agent `{name}` has no token")
        for each in own:
            await self.revoke_token(each.credential, token=token)

    @entrance
    async def close(self) -> None:
        """Let the connections go; the server stays."""
        await self._driver.outside(self._connection.close)

    async def start(self, task: str, fields: RunFields) -> str:
        """Start a run; return what names it."""
        return await self._begun(task, fields)

    async def resumed(self, run_id: str, process: int | None) -> str:
        """Return what names a run that was started earlier and goes on."""
        path = f"/v1/runs/{_quoted(run_id)}/resume"
        return (await self._asked(Request("POST", path, {"process": process}), Started)).id


class Client(Waiting[RemoteInterlock]):
    """A server of Interlock, for whoever asks from Python and waits: the words of `Interlock`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(RemoteInterlock(connection, _BLOCKING))
        self._connection = connection

    @entrance
    def run(self, task: str, **fields: Unpack[RunFields]) -> ClientRun:
        """Start a run."""
        return ClientRun(self._connection, completed(self._operations.start, (task, fields)))

    @entrance
    def resume(self, run_id: str, *, process: int | None = None) -> ClientRun:
        """Go on with a run that was started earlier, by its id or the beginning of that.

        Where the process that it was started for has ended, it is this one's from now on, or
        that of `process`: nothing that descends from it decides.
        """
        return ClientRun(self._connection, completed(self._operations.resumed, (run_id, process)))

    adopt = RemoteInterlock.adopt
    approvals = waited(RemoteInterlock.approvals)
    approve = waited(RemoteInterlock.approve)
    deny = waited(RemoteInterlock.deny)
    choose = waited(RemoteInterlock.choose)
    choose_review = waited(RemoteInterlock.choose_review)
    halt = waited(RemoteInterlock.halt)
    lift = waited(RemoteInterlock.lift)
    halt_all = waited(RemoteInterlock.halt_all)
    lift_all = waited(RemoteInterlock.lift_all)
    set_budget = waited(RemoteInterlock.set_budget)
    set_up = RemoteInterlock.set_up
    unlock = RemoteInterlock.unlock
    operators = RemoteInterlock.operators
    add_operator = RemoteInterlock.add_operator
    change_passphrase = RemoteInterlock.change_passphrase
    recover_operator = RemoteInterlock.recover_operator
    revoke_operator = RemoteInterlock.revoke_operator
    add_agent = waited(RemoteInterlock.add_agent)
    revoke_agent = waited(RemoteInterlock.revoke_agent)
    add_token = waited(RemoteInterlock.add_token)
    tokens = waited(RemoteInterlock.tokens)
    revoke_token = waited(RemoteInterlock.revoke_token)
    sign_in = RemoteInterlock.sign_in
    sign_out = RemoteInterlock.sign_out
    wait = waited(RemoteInterlock.wait)
    undo = waited(RemoteInterlock.undo)
    checkpoint_store = RemoteInterlock.checkpoint_store
    close = waited(RemoteInterlock.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, _error: object, _trace: object) -> None:
        self.close()


class ClientRun(Waiting[RemoteRun]):
    """One run of a server: the words of `Run`."""

    def __init__(self, connection: Connection, run_id: str) -> None:
        super().__init__(RemoteRun(connection, _BLOCKING, run_id))
        self._connection = connection
        self.id = run_id
        """What names the run."""
        self.history = self._operations.history
        """The latest answers to `step` that this view of the run was given."""

    @property
    def state(self) -> RunState:
        """The run as it is on record."""
        return completed(self._operations.state, ())

    @property
    def ledger(self) -> ClientLedger:
        """Everything that happened in the run, in order."""
        return ClientLedger(self._operations)

    @entrance
    def child(self, task: str, **fields: Unpack[RunFields]) -> ClientRun:
        """Start a run below this one; what it spends counts here as well."""
        return ClientRun(self._connection, completed(self._operations.start_below, (task, fields)))

    @entrance
    def steps(self, *, wait_s: Amount | None = None) -> StepLoop:
        """Return the loop of an agent: it asks before each step and really waits.

        Throttles and approvals are waited for, each so long; without `wait_s`, as long as it
        takes. It ends when the agent is done or the run may not go on.
        """
        return StepLoop(self._operations, wait_s)

    command = waited(RemoteRun.command)
    tool = waited(RemoteRun.tool)
    may_edit = waited(RemoteRun.may_edit)
    ask = waited(RemoteRun.ask)
    apply_edits = waited(RemoteRun.apply_edits)
    observe = waited(RemoteRun.observe)
    observe_unasked = waited(RemoteRun.observe_unasked)
    usage = waited(RemoteRun.usage)
    violation = waited(RemoteRun.violation)
    step = waited(RemoteRun.step)
    statistics = waited(RemoteRun.statistics)
    stopped = waited(RemoteRun.stopped)
    belief = waited(RemoteRun.belief)
    person_spoke = waited(RemoteRun.person_spoke)
    review = waited(RemoteRun.review)
    verdict = waited(RemoteRun.verdict)
    finish = waited(RemoteRun.finish)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        completed(self._operations.leave, (), {"failed": error is not None})


class ClientLedger:
    """One run as it is on record; it is read anew each time it is looked at."""

    def __init__(self, run: RemoteRun) -> None:
        self._run = run
        self.run_id = run.id

    @property
    def state(self) -> RunState:
        """What the run has come to: what it spent, changed, broke and waits for."""
        return completed(self._run.state, ())

    def __iter__(self) -> Iterator[Record]:
        """Yield every record of the run, oldest first."""
        return self._run.records()


@entrance
def connect(place: FilePath | None = None, *, token: str | None = None) -> Client:
    """Return a server at a URL or the path of its socket, or where the environment says.

    `token` is whose programs ask; without one, that of `INTERLOCK_TOKEN`. On the socket of one's
    own user none is needed. Nothing is asked before the first word.
    """
    return Client(Connection(place, token))


def _quoted(name: str) -> str:
    return quote(name, safe="")
