"""One record and everything behind it: what was asked, what matched, what it was judged on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from interlock.errors import InterlockError, LedgerError, PolicyError, UnknownError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model import events
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.arbitration import Course
from interlock.model.budget import NOTHING, Amounts, BudgetBalance, Dimension
from interlock.model.recommendation import PatchOperation, SimulatedEffect
from interlock.model.rows import RecordRow
from interlock.model.run import RunState
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate
from interlock.policy.gates.judgement import GATES
from interlock.ports import Rows
from interlock.service.policies.policy_book import recompiled_policy
from interlock.service.policies.policy_simulation import recommended_policy, simulated
from interlock.views import units
from interlock.views.action_explanation import Stage, explain, looks_at
from interlock.views.action_view import ActionReading, action_reading
from interlock.views.run_timeline import ANSWER_TONES
from interlock.views.step_explanation import Check, checks_of
from interlock.views.timeline import Timeline
from interlock.views.timeline_entry import Entry

_MOST_RUNS: Final = 50
_MOST_ANSWERS: Final = 2_000
_MEANINGS: Final = {
    Decision.ALLOW: "It may happen",
    Decision.WARN: "It may happen, with a warning",
    Decision.REQUIRE_CONFIRMATION: "A person must approve first",
    Decision.BLOCK: "Must not happen",
}
_COURSES: Final = {
    Course.GO_ON: "It may go on",
    Course.WAIT: "It waits, and goes on by itself",
    Course.FINISH: "It is done",
    Course.AWAIT_PERSON: "A person must decide",
    Course.HALT: "It must stop",
}
RULE_ANSWERS: Final = {
    "deny": "block",
    "ask": "require-confirmation",
    "warn": "warn",
    "off": "off",
}
"""What a rule may say, in the words of people, and in those of a policy."""
_DESTRUCTIVE: Final = "destructive-ops"


class GateLine(msgspec.Struct, frozen=True, kw_only=True):
    """One gate, whether or not it found anything."""

    name: str
    decision: Decision
    findings: tuple[Finding, ...]
    silence: str
    """Why it says nothing, where it does not."""

    @property
    def severities(self) -> str:
        """How severe its findings are."""
        return ", ".join(dict.fromkeys(each.severity.value for each in self.findings))


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """A record in its chain."""

    seq: int
    kind: str
    hash: str
    at: int
    by: str
    is_here: bool


class RuleText(msgspec.Struct, frozen=True, kw_only=True):
    """Lines for a policy under which the answer would be another one."""

    answer: str
    text: str
    note: str
    effect: SimulatedEffect | None


class DecisionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page of a record shows."""

    run: str
    task: str
    agent: str
    seq: int
    at: int
    by: str
    kind: str
    """The kind of the record, in words."""
    word: str
    tone: str
    heading: str
    step: int | None
    where: str
    """The tool and the folder, or the file."""
    reading: ActionReading | None
    """None where no action was asked about, or it cannot be read under its policy any more."""
    said: str
    findings: tuple[Finding, ...]
    reasons: tuple[str, ...]
    """Why, where it is no action that was answered."""
    gates: tuple[GateLine, ...]
    checks: tuple[Check, ...]
    """The checks of the continue gate, where a step was answered."""
    suppressed: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    """What it was judged on: names and values."""
    chain: tuple[Neighbour, ...]
    json: str
    policy_hash: str
    policy_counts: bool
    """Whether it is the policy that counts now."""
    engine: str
    digest: str
    approval: str | None
    rule: RuleText | None


def decision_page(
    ledger: Ledger, state: RunState, seq: int, current: CompiledPolicy, *, rule: str, is_tried: bool
) -> DecisionPage:
    """Look at one record of a run."""
    rows = ledger.rows
    around = rows.records(state.id, after=max(seq - 2, 0), limit=3)
    row = next((each for each in around if each.seq == seq), None)
    if row is None:
        raise UnknownError(f"run `{state.id}` has no record {seq}: its last one is {state.seq}")
    record = decoded(row.body)
    event = record.event
    entry = Timeline(rows).entry(record)
    asked = event if isinstance(event, events.ActionJudged) else None
    policy_hash = state.policy_hash if asked is None else asked.verdict.policy_hash
    policy = _policy(rows, policy_hash, current, state)
    word, tone, heading = _answer(event, entry)
    return DecisionPage(
        run=state.id,
        task=state.task,
        agent=state.agent,
        seq=seq,
        at=record.at,
        by=record.by.name,
        kind=row.kind.replace("-", " "),
        word=word,
        tone=tone,
        heading=heading,
        step=_step_of(event),
        where="" if asked is None else _where(asked.action),
        reading=None if asked is None or policy is None else _reading(asked, policy),
        said=_said(event),
        findings=() if asked is None else asked.verdict.findings,
        reasons=() if asked is not None else entry.reasons,
        gates=() if asked is None else tuple(_gate_lines(asked, policy)),
        checks=_checks(event, policy),
        suppressed=() if asked is None or policy is None else _suppressed(asked.action, policy),
        facts=tuple(_facts(event, state)),
        chain=tuple(_neighbour(each, seq) for each in around),
        json=_pretty(row.body),
        policy_hash=policy_hash,
        policy_counts=policy_hash == current.hash,
        engine=_engine(rows, state),
        digest=getattr(event, "digest", "") or "",
        approval=getattr(event, "approval", None),
        rule=None if asked is None else _rule(rows, asked, current, rule, is_tried=is_tried),
    )


def _policy(
    rows: Rows, policy_hash: str, current: CompiledPolicy, state: RunState
) -> CompiledPolicy | None:
    """Return the policy that something was answered under, as it judged where the run was."""
    if policy_hash == current.hash:
        return current.placed(state.own_places)
    try:
        return recompiled_policy(rows, policy_hash).placed(state.own_places)
    except (LedgerError, PolicyError):
        return None


def _answer(event: events.Event, entry: Entry) -> tuple[str, str, str]:
    match event:
        case events.ActionJudged(decision=decision):
            return decision.value, ANSWER_TONES[decision], _MEANINGS[decision]
        case events.StepJudged(ruling=ruling) | events.StopJudged(ruling=ruling):
            return entry.mark, entry.accent.tone, _COURSES[ruling.course]
        case _:
            return entry.mark, entry.accent.tone, entry.text


def _step_of(event: events.Event) -> int | None:
    match event:
        case events.StepJudged(context=context) | events.StopJudged(facts=context):
            return context.step_number
        case _:
            return None


def _said(event: events.Event) -> str:
    match event:
        case events.StepJudged(said=said):
            return said or ""
        case events.StopJudged(context=context):
            return context.text or ""
        case _:
            return ""


def _where(action: Action) -> str:
    match action:
        case CommandAction(cwd=cwd):
            return "a command" if cwd is None else f"a command, in `{cwd}`"
        case EditAction(path=path):
            return f"writes `{path}`"
        case ToolAction(name=name):
            return f"tool `{name}`"


def _reading(event: events.ActionJudged, policy: CompiledPolicy) -> ActionReading | None:
    try:
        return action_reading(event.action, policy, event.verdict.findings)
    except InterlockError:
        return None


def _suppressed(action: Action, policy: CompiledPolicy) -> tuple[str, ...]:
    """Return which rules would have matched: those suppressed by something, and those off."""
    steps = explain(action, policy).steps
    return tuple(step.text for step in steps if step.stage == Stage.SUPPRESSED)


def _gate_lines(event: events.ActionJudged, policy: CompiledPolicy | None) -> Iterator[GateLine]:
    """Yield every gate that looks at such an action or its run, also those that found nothing."""
    known = {gate.name for gate in GATES}
    for gate in GATES:
        silence = _silence(gate, event, policy)
        spoken = tuple(each for each in event.verdict.findings if each.gate == gate.name)
        if spoken or silence is not None:
            decision = max((each.decision for each in spoken), default=Decision.ALLOW)
            yield GateLine(
                name=gate.name, decision=decision, findings=spoken, silence=silence or ""
            )
    for name in dict.fromkeys(each.gate for each in event.verdict.findings):
        if name not in known:
            spoken = tuple(each for each in event.verdict.findings if each.gate == name)
            decision = max(each.decision for each in spoken)
            yield GateLine(name=name, decision=decision, findings=spoken, silence="")


_OF_RUNS: Final = {
    "budget": "within every limit",
    "privilege": "the run has no extra limits",
    "continue": "the run is not held",
    "approval": "not denied by a person",
    "undo": "no rule allows it because it can be undone",
}


def _silence(gate: Gate, event: events.ActionJudged, policy: CompiledPolicy | None) -> str | None:
    """Return why a gate says nothing; None where it has no part in such an action."""
    if gate.facts is not None:
        return _OF_RUNS.get(gate.name, "no rule matched")
    if not looks_at(gate, event.action):
        return None
    idle = "" if policy is None else gate.idle(event.action, policy)
    return None if idle is None else idle or "no rule matched"


def _checks(event: events.Event, policy: CompiledPolicy | None) -> tuple[Check, ...]:
    if policy is None:
        return ()
    match event:
        case events.StepJudged(context=context, decision=decision):
            return checks_of(context, decision, policy.config.steps, is_held=event.held)
        case events.StopJudged(facts=context, step=decision):
            return checks_of(context, decision, policy.config.steps, is_held=False)
        case _:
            return ()


def _facts(event: events.Event, state: RunState) -> Iterator[tuple[str, str]]:
    if isinstance(event, events.StepJudged | events.StopJudged):
        for hard in event.hard:
            yield "held by", hard.reason
        if event.waiting is not None:
            yield "waits for", event.waiting.what
        yield "credit", str(event.credit)
        return
    if not isinstance(event, events.ActionJudged):
        return
    facts = event.facts
    for balance in facts.balances:
        yield _scope_name(balance, state), _balance_text(balance)
    yield "asked for", _amounts_text(facts.asked) or "nothing that is counted"
    yield "approval", _approval_text(event)
    yield "redacted", "nothing" if facts.withheld is None else "a credential: it is not on record"
    if facts.hold is not None:
        yield "held", facts.hold.reason
    if facts.privilege is not None:
        yield "coherence", f"{facts.privilege.coherence:.2f}, so {facts.privilege.band}"
    if facts.undo is not None and facts.undo.snapshot is not None:
        yield "copied for undo", units.counted(facts.undo.snapshot.entries, "file")


def _scope_name(balance: BudgetBalance, state: RunState) -> str:
    kind, _, name = balance.scope.partition("/")
    return kind if name == state.id or kind != "agent" else f"{kind} {name}"


def _balance_text(balance: BudgetBalance) -> str:
    limited = [each for each in Dimension if balance.limits.of(each) is not None]
    parts = [
        f"{units.amount(each, balance.used.of(each))} of"
        f" {units.amount(each, balance.limits.of(each) or 0)} {each.label}"
        for each in limited
    ]
    return f"{'; '.join(parts)} used" if parts else "no limit"


def _amounts_text(amounts: Amounts) -> str:
    if amounts == NOTHING:
        return ""
    named = [(each, amounts.of(each)) for each in Dimension if amounts.of(each)]
    return ", ".join(f"{each.label} {units.amount(each, amount)}" for each, amount in named)


def _approval_text(event: events.ActionJudged) -> str:
    if event.facts.granted is not None:
        return f"approved: {code_of(event.facts.granted)}"
    if event.facts.denied is not None:
        return f"denied: {code_of(event.facts.denied.approval)}"
    return "none" if event.approval is None else "none yet: one was opened"


def _neighbour(row: RecordRow, seq: int) -> Neighbour:
    return Neighbour(
        seq=row.seq,
        kind=row.kind.replace("-", " "),
        hash=row.hash,
        at=row.at,
        by=decoded(row.body).by.name,
        is_here=row.seq == seq,
    )


def _pretty(body: bytes) -> str:
    return msgspec.json.format(body, indent=2).decode(errors="replace")


def _engine(rows: Rows, state: RunState) -> str:
    first = rows.record(state.id, 1)
    event = None if first is None else decoded(first.body).event
    return event.engine if isinstance(event, events.RunStarted) else ""


def _rule(
    rows: Rows, event: events.ActionJudged, policy: CompiledPolicy, answer: str, *, is_tried: bool
) -> RuleText:
    """Return the lines of a policy that would give such an action another answer."""
    wanted = RULE_ANSWERS.get(answer, "block")
    listed = [each for each in event.verdict.findings if _is_listed(each)]
    rules = list(dict.fromkeys(each.rule for each in listed))
    text = f"[{_DESTRUCTIVE}.rules]\n" if rules else ""
    text += "".join(f"{json.dumps(rule)} = {json.dumps(wanted)}\n" for rule in rules)
    own = _own_rule(event, wanted)
    if own:
        text += ("\n# or only here:\n" if rules else "") + own
    patch = tuple(
        PatchOperation(path=(_DESTRUCTIVE, "rules", rule), value=json.dumps(wanted))
        for rule in rules
    )
    effect = _effect(rows, policy, patch) if is_tried and patch else None
    note = "" if rules else "No rule of the policy matched: only a rule of your own can."
    if event.decision is Decision.BLOCK and wanted == "block":
        note = "It is denied already."
    return RuleText(answer=answer, text=text, note=note, effect=effect)


def _is_listed(finding: Finding) -> bool:
    return finding.gate == _DESTRUCTIVE and "." in finding.rule


def _own_rule(event: events.ActionJudged, answer: str) -> str:
    """Return a rule of one's own for this very command, with the example that it must match."""
    action = event.action
    if answer == "off" or not isinstance(action, CommandAction) or "\n" in action.command:
        return ""
    spoken = max(
        event.verdict.findings, key=lambda each: _SEVERITIES.index(each.severity), default=None
    )
    program = ((spoken.excerpt if spoken else None) or action.command).split(maxsplit=1)[:1]
    if not program:
        return ""
    condition = f"commands.exists(c, c.program == {json.dumps(program[0])})"
    return (
        "[[rules]]\n"
        'id = "my-rule"\n'
        f"when = {_toml(condition)}\n"
        f"decision = {json.dumps(answer)}\n"
        'message = "say here why"\n'
        'remediation = "say here what to do instead"\n'
        f"match = [{_toml(action.command)}]\n"
    )


_SEVERITIES: Final = tuple(Severity)


def _toml(text: str) -> str:
    is_literal = "'" not in text and text.isprintable()
    return f"'{text}'" if is_literal else json.dumps(text)


def _effect(rows: Rows, policy: CompiledPolicy, patch: Sequence[PatchOperation]) -> SimulatedEffect:
    """Return what the rule would have changed in the runs that were at work last."""
    after = recommended_policy(policy, patch)
    runs = [row.id for row in rows.runs(limit=_MOST_RUNS)]
    return simulated(rows, policy, after, runs=runs, most=_MOST_ANSWERS)
