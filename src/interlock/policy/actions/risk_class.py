"""What does an action do to the world: read, write, reach other machines, or destroy?

Asked when a run may not do everything any more. Whatever is not known to be harmless writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, assert_never

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.programs.program_tables import Programs
from interlock.commands.programs.read_only import SINKS, only_reads, reaches_out
from interlock.commands.shell.command import Effect, EffectKind
from interlock.model.verdict import DESTRUCTIVE_OPS, Decision, Finding, Ranked
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.calls.tool_vocabulary import name_parts, verbs_in, words_in
from interlock.policy.actions.inspection import Call, CommandLine, InspectedEdit, Inspection

_DESTROYING_WORDS: Final = frozenset(
    "delete remove destroy drop purge wipe erase truncate uninstall rm rmdir".split()
)
"""Anywhere in a name."""

_NETWORK_WORDS: Final = frozenset(
    """
    web webfetch websearch fetch http https url urls internet online curl wget download upload
    browser browse navigate crawl scrape playwright puppeteer selenium chrome firecrawl tavily
    exa perplexity brave duckduckgo
    email mail gmail outlook slack discord telegram twilio sendgrid teams
    github gitlab bitbucket jira linear notion confluence asana trello sentry stripe
    aws azure gcp gcloud s3 kubernetes kubectl cloudflare vercel netlify supabase
    send publish deploy push pull clone notify
    """.split()
)
"""Anywhere in a name."""

_READING_VERBS: Final = frozenset(
    """
    read list ls get search find grep rg glob view show cat head tail stat tree look lookup describe
    count inspect explain summarize think ask
    """.split()
)
"""What a name begins with, and what stands behind an `and` or `or` in it."""

_READING_TOOLS: Final = frozenset(
    """
    notebook_read todo_write todo_read todowrite todoread bash_output task_output tool_search
    codebase_search code_search file_search semantic_search symbol_search directory_tree
    file_read fs_read fs_search update_plan exit_plan_mode enter_plan_mode attempt_completion
    finish submit complete done final_answer diagnostics wait sleep
    """.split()
)
"""Whole names, with `_` between their words: they read, plan, ask a person or come to an end."""

_VIEWING_CALLS: Final = {
    "str_replace_editor": ("command", "view"),
    "str_replace_based_edit_tool": ("command", "view"),
}
"""Tools that can do several things, with the parameter and the value by which they only read."""


class RiskClass(Ranked):
    """What an action does, from harmless to dangerous."""

    READS = "reads"
    WRITES = "writes"
    REACHES_OUT = "reaches-out"
    """Talks to other machines."""
    DESTROYS = "destroys"
    """Deletes, or does something else that a rule warns of."""


def risk_class_of(inspection: Inspection, findings: Iterable[Finding]) -> RiskClass:
    """Return what an action does, given what the gates found in it; the most dangerous counts."""
    if any(_warns_of_destruction(finding) for finding in findings):
        return RiskClass.DESTROYS
    subject = inspection.subject
    programs = inspection.policy.programs
    if isinstance(subject, Call):
        return _of_call(subject, programs)
    return _of_part(subject, programs)


def _warns_of_destruction(finding: Finding) -> bool:
    return finding.gate == DESTRUCTIVE_OPS and finding.decision is not Decision.ALLOW


def _most_dangerous(natures: Iterable[RiskClass]) -> RiskClass:
    return max(natures, default=RiskClass.READS)


def _of_part(part: CommandLine | InspectedEdit, programs: Programs) -> RiskClass:
    if isinstance(part, InspectedEdit):
        return RiskClass.WRITES
    return _most_dangerous(_natures_in(part.lowered, programs))


def _natures_in(found: CommandAnalysis, programs: Programs) -> Iterator[RiskClass]:
    """Yield what each command and each effect of a line does."""
    if found.unresolved:
        yield RiskClass.WRITES
    for effect in found.effects:
        yield _of_effect(effect)
    following = (*found.commands[1:], None)
    for command, next_one in zip(found.commands, following, strict=False):
        if reaches_out(command, programs):
            yield RiskClass.REACHES_OUT
        elif not only_reads(command, next_one, programs):
            yield RiskClass.WRITES


def _of_effect(effect: Effect) -> RiskClass:
    match effect.kind:
        case EffectKind.DELETE | EffectKind.FORK:
            return RiskClass.DESTROYS
        case EffectKind.SEND | EffectKind.FETCH:
            return RiskClass.REACHES_OUT
        case EffectKind.OVERWRITE | EffectKind.APPEND:
            return RiskClass.READS if effect.target in SINKS else RiskClass.WRITES
        case EffectKind.MOVE | EffectKind.PERMIT | EffectKind.EXECUTE:
            return RiskClass.WRITES
        case EffectKind.READ | EffectKind.SHOW:
            return RiskClass.READS
        case _:
            assert_never(effect.kind)


def _of_call(call: Call, programs: Programs) -> RiskClass:
    """Judge a call by what it carries; by its name where it carries nothing."""
    name = call.name
    if isinstance(call.params, Unreadable):
        return _most_dangerous((RiskClass.WRITES, _of_name(name)))
    carried = [_of_part(part, programs) for part in call.parts]
    if carried:
        return _most_dangerous((*carried, *_of_destroyer(name)))
    return RiskClass.READS if _only_views(name, call.params) else _of_name(name)


def _only_views(name: str, params: Mapping[str, object]) -> bool:
    parameter, value = _VIEWING_CALLS.get(name, ("", ""))
    return bool(parameter) and params.get(parameter) == value


def _of_destroyer(name: str) -> Iterator[RiskClass]:
    """An edit that removes a file is told from others by the tool's name alone."""
    if not _DESTROYING_WORDS.isdisjoint(words_in(name)):
        yield RiskClass.DESTROYS


def _of_name(name: str) -> RiskClass:
    words = words_in(name)
    if not _DESTROYING_WORDS.isdisjoint(words):
        return RiskClass.DESTROYS
    if not _NETWORK_WORDS.isdisjoint(words):
        return RiskClass.REACHES_OUT
    own = words_in(name_parts(name)[-1])
    reads = "_".join(own) in _READING_TOOLS or verbs_in(own) <= _READING_VERBS
    return RiskClass.READS if reads and own else RiskClass.WRITES
