"""One action, read once: whoever judges, explains, records or undoes it reads this value.

What it says is parsed when it is first asked for, and no text twice: not for another gate, and
not for the form of the action that is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from interlock.commands.analysis import CommandAnalysis, analyze
from interlock.commands.programs.file_effects import patched_folder
from interlock.commands.shell.command import Command
from interlock.commands.shell.scope import normal_path
from interlock.commands.shell.words import quoted
from interlock.commands.values.allowance import Budget
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.unchanged_lines import changed_lines, lines_of
from interlock.policy.actions.calls.json_text import Scan, Unreadable
from interlock.policy.actions.calls.payload import (
    Payload,
    files_in_patch,
    is_patch,
    is_unwritten,
    path_of,
    payloads_of,
)
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.parameters import check_is_json, params_from_text, strings_in
from interlock.secrets.redaction import redact
from interlock.secrets.scanner import SecretMatch

if TYPE_CHECKING:
    from interlock.policy.actions.calls.found_payloads import Found

_PATCH_TOOLS: Final = frozenset(("apply_patch", "applypatch", "apply-patch"))
_QUOTES: Final = frozenset("'\"\\$`")
_NOTHING: Final = CommandAnalysis(commands=(), effects=(), unresolved=())
_THE_COMMAND: Final = "the command"
_THE_PARAMETERS: Final = "the parameters"
_OWN_WORDS: Final = frozenset((_THE_COMMAND, _THE_PARAMETERS))


def inspect(action: Action, policy: CompiledPolicy) -> Inspection:
    """Return what an action is, as a policy reads it."""
    return Inspection(action, policy, _Memory(policy))


def lowered(
    command: str,
    cwd: str | None,
    policy: CompiledPolicy,
    budget: Budget | None = None,
    *,
    is_typed_to: bool = False,
) -> CommandAnalysis:
    """Return what a command line would run; the `budget` is that of the whole question."""
    return analyze(
        command,
        cwd=cwd,
        programs=policy.programs,
        places=policy.places,
        nesting=policy.config.limits.nesting,
        longest=policy.config.limits.command_bytes,
        budget=budget or Budget(),
        is_typed_to=is_typed_to,
    )


def encodable(text: str) -> str:
    """Replace lone surrogates, which no encoder takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Inspection:
    """An action, what it is made of, and what was found in its texts."""

    def __init__(self, action: Action, policy: CompiledPolicy, memory: _Memory) -> None:
        self.action = action
        self.policy = policy
        self.scan = memory.scan
        """Finds the credentials in a text."""
        self.lowered = memory.lowered
        """Finds what a command line would run."""
        self._memory = memory
        self.call = None
        """The tool call that it is, if it is one."""
        self._subject: CommandLine | InspectedEdit | Call | None = None
        if isinstance(action, ToolAction):
            self._subject = self.call = Call(action.name, action.params, memory)
        else:
            self._payload = _payload(action)

    def of(self, action: Action) -> Inspection:
        """Return the inspection of another form of the same action; what is known stays known."""
        return self if action == self.action else Inspection(action, self.policy, self._memory)

    @property
    def subject(self) -> CommandLine | InspectedEdit | Call:
        """What is asked about."""
        if self._subject is None:
            self._subject = _part(self._payload, self._memory)
        return self._subject

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """What would be run and written, as it was given: the action itself, or what it carries."""
        return (self._payload,) if self.call is None else self.call.payloads

    @property
    def parts(self) -> Sequence[CommandLine | InspectedEdit]:
        """The same, ready to be looked into."""
        subject = self.subject
        return subject.parts if isinstance(subject, Call) else (subject,)

    @property
    def commands(self) -> list[CommandLine]:
        """Every command line that would run, or may."""
        may = () if self.call is None else self.call.guesses
        return [part for part in (*self.parts, *may) if isinstance(part, CommandLine)]

    @property
    def texts(self) -> Sequence[Text]:
        """Every text that is searched for credentials, in the order of the gates."""
        if self.call is None:
            return self.subject.texts
        return [*self.call.texts, *(text for part in self.call.parts for text in part.texts)]


class Text:
    """A text that is searched for credentials, as far as it is, and where it stands."""

    __slots__ = ("_scan", "is_cut", "place", "searched", "size")

    def __init__(self, text: str, place: str, *, limit: int, scan: Scan) -> None:
        self.searched = text[:limit]
        self.size = len(text)
        self.is_cut = self.size > limit
        """Whether there is more of it than is searched."""
        self.place = place
        self._scan = scan

    @property
    def matches(self) -> Sequence[SecretMatch]:
        """The credentials in what is searched."""
        return self._scan(self.searched)

    @property
    def shown_place(self) -> str:
        """Where it stands, without credentials: names of files and parameters may hold some."""
        if self.place in _OWN_WORDS:
            return self.place
        return redact(self.place, self._scan(self.place))


class CommandLine:
    """A command line that would run."""

    def __init__(self, payload: Payload, memory: _Memory) -> None:
        self.payload = payload
        self.line = encodable(payload.command or "")
        self.cwd = None if payload.cwd is None else encodable(payload.cwd)
        self.is_oversize = len(self.line) > memory.limits.content_bytes
        """Whether it is too long to be read at all."""
        self.lowered = _NOTHING
        """What it comes down to; nothing, where it could not be read."""
        self.failure: Exception | None = None
        """What broke the reader."""
        if not self.is_oversize:
            try:
                self.lowered = memory.lowered(self.line, self.cwd, is_typed_to=payload.is_typed_to)
            except Exception as error:  # noqa: BLE001 - a reader that breaks must not let anything through
                self.failure = error
        self.joined = _joined(self.line, self.lowered)
        """The words as a shell reads them, quotes off, where a credential may join up."""
        written = memory.text(self.line, _THE_COMMAND)
        self.texts: Sequence[Text] = (written,)
        if self.joined is not None:
            self.texts = (written, memory.text(self.joined, _THE_COMMAND))
        self.edits = _patched(self.lowered, memory) if is_patch(self.line) else ()
        """The files that patches in it would write; what they say is searched with the line."""


def _patched(lowered: CommandAnalysis, memory: _Memory) -> tuple[InspectedEdit, ...]:
    return tuple(
        InspectedEdit(replace(payload, cwd=_patched_in(each)), memory, is_searched=True)
        for each in lowered.commands
        for patch in _patches_given_to(each)
        for payload in files_in_patch(patch)
    )


def _patches_given_to(command: Command) -> Iterator[str]:
    """Yield the patches that a command applies: as a word, or from its input."""
    if command.program in _PATCH_TOOLS:
        yield from (word.text for word in command.argv[1:] if is_patch(word.text))
    verb = command.invocation.operands[:1]
    applies = command.program == "git" and verb and verb[0].text in {"apply", "am"}
    if command.program in _PATCH_TOOLS or command.program == "patch" or applies:
        given = command.frame.stdin.text
        if given is not None and is_patch(given):
            yield given


def _patched_in(command: Command) -> str | None:
    folder = patched_folder(command)
    return command.cwd if folder is None else normal_path(folder.text, command.cwd)


def _joined(line: str, lowered: CommandAnalysis) -> str | None:
    if _QUOTES.isdisjoint(line):
        return None
    if all(word.text in line for each in lowered.commands for word in each.argv):
        return None
    return "\n".join([each.line for each in lowered.commands])


class InspectedEdit:
    """A file that would be written."""

    def __init__(self, payload: Payload, memory: _Memory, *, is_searched: bool = False) -> None:
        self.payload = payload
        self.path = encodable(payload.path or "")
        self.cwd = payload.cwd
        self.content = payload.content
        self.changed = payload.changed
        self.texts: Sequence[Text] = ()
        if not is_searched:
            self.texts = (memory.text(self.content, f"`{self.path}`"),)
        self._memory = memory

    @cached_property
    def removal(self) -> CommandLine | None:
        """The command that would take the file away as the tool does."""
        if not self.payload.removes:
            return None
        path, arrival = quoted(path_of(self.path)), self.payload.arrival
        line = f"rm -r -- {path}" if arrival is None else f"mv -- {path} {quoted(arrival)}"
        return CommandLine(Payload(command=line, cwd=self.cwd), self._memory)


class Call:
    """A tool call, and what it carries."""

    def __init__(self, name: str, params: Mapping[str, object] | str, memory: _Memory) -> None:
        self.name = name
        self._given = params
        self._memory = memory

    @cached_property
    def given(self) -> Mapping[str, object] | str:
        """The parameters as they were given; raise InputError for what JSON cannot say."""
        if not isinstance(self._given, str):
            check_is_json(self._given)
        return self._given

    @cached_property
    def params(self) -> Mapping[str, object] | Unreadable:
        """What the parameters say, or why they say nothing."""
        given = self._given
        return params_from_text(given, self._memory.scan) if isinstance(given, str) else given

    @cached_property
    def _carried(self) -> tuple[Payload, ...]:
        """The commands and edits that the parameters carry by the policy's table."""
        if isinstance(self.params, Unreadable):
            return ()
        return tuple(payloads_of(self.params, self._memory.carriers_of(self.name)))

    @cached_property
    def found(self) -> Found:
        """What else the parameters carry, or may carry."""
        from interlock.policy.actions.calls.found_payloads import NOTHING  # noqa: PLC0415 - only calls need it

        if isinstance(self.params, Unreadable):
            return NOTHING
        try:
            return self._memory.search(self.name, self.params, self._carried)
        except Exception as error:  # noqa: BLE001 - a search that breaks must not let anything through
            return NOTHING._replace(failure=error)

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """The commands and edits that the parameters carry."""
        return (*self._carried, *self.found.payloads)

    @cached_property
    def parts(self) -> tuple[CommandLine | InspectedEdit, ...]:
        """What the payloads are when they are looked into."""
        return tuple(_part(payload, self._memory) for payload in self.payloads)

    @cached_property
    def guesses(self) -> tuple[CommandLine | InspectedEdit, ...]:
        """What the parameters may carry: it counts where a finding about it is grave enough."""
        return tuple(_part(payload, self._memory) for payload in self.found.guesses)

    def looked_into(self, payload: Payload) -> CommandLine:
        """Return a command that does the same as the tool, ready to be looked into."""
        return CommandLine(payload, self._memory)

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """Every text in the parameters; the whole of them where they cannot be read."""
        if isinstance(self.params, Unreadable):
            return (self._memory.text(str(self._given), _THE_PARAMETERS),)
        return tuple(self._memory.text(text, place) for place, text in self._strings)

    @property
    def leaves(self) -> Iterator[str]:
        """Every text in the parameters that can be read, without the escapes of JSON."""
        return (text for _, text in self._strings)

    @cached_property
    def _strings(self) -> tuple[tuple[str, str], ...]:
        return () if isinstance(self.params, Unreadable) else tuple(strings_in(self.params))


class _Memory:
    """What was parsed and searched on behalf of one question."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self._policy = policy
        self.limits = policy.config.limits
        self.carriers_of = policy.carriers_of
        self._budget = Budget()
        self._lowered: dict[tuple[str, str | None, bool], CommandAnalysis] = {}
        self._matches: dict[str, Sequence[SecretMatch]] = {}

    def lowered(
        self, command: str, cwd: str | None, *, is_typed_to: bool = False
    ) -> CommandAnalysis:
        key = command, cwd, is_typed_to
        found = self._lowered.get(key)
        if found is None:
            found = self._lowered[key] = lowered(
                command, cwd, self._policy, self._budget, is_typed_to=is_typed_to
            )
        return found

    def search(self, tool: str, params: Mapping[str, object], carried: Sequence[Payload]) -> Found:
        from interlock.policy.actions.calls.found_payloads import NOTHING, is_known_whole  # noqa: PLC0415 - the same

        policy = self._policy
        words = policy.vocabulary()
        if is_known_whole(params, carried, words.role_of(tool), words.kinds_of):
            return NOTHING
        from interlock.policy.actions.calls.payload_search import search  # noqa: PLC0415 - most calls need none

        found = search(tool, params, vocabulary=words, programs=policy.programs, carried=carried)
        if not carried and is_unwritten(params, self.carriers_of(tool)):
            return found._replace(is_opaque=True)
        return found

    def scan(self, text: str) -> Sequence[SecretMatch]:
        if not text:
            return ()
        found = self._matches.get(text)
        if found is None:
            found = self._matches[text] = self._policy.scanner.scan(text)
        return found

    def text(self, text: str, place: str) -> Text:
        return Text(text, place, limit=self.limits.content_bytes, scan=self.scan)


def _part(payload: Payload, memory: _Memory) -> CommandLine | InspectedEdit:
    return (
        InspectedEdit(payload, memory) if payload.command is None else CommandLine(payload, memory)
    )


def _payload(action: CommandAction | EditAction) -> Payload:
    if isinstance(action, CommandAction):
        return Payload(command=action.command, cwd=action.cwd)
    return Payload(
        path=action.path, content=action.content, old=action.old, changed=_size_of(action)
    )


def _size_of(edit: EditAction) -> int:
    """Return how many lines change: computed where both texts are known."""
    if edit.old is not None:
        return changed_lines(edit.old, edit.content)
    return len(lines_of(edit.content)) if edit.diff_lines is None else edit.diff_lines
