"""What any client says to its hooks, in the words of all: a dialect turns its own into these.

And what is asked because of it, which is the same for every client.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec

from interlock.errors import InputError
from interlock.model.action import Action, ToolAction
from interlock.model.arbitration import AUTOMATIC
from interlock.model.hook import (
    ActionSeen,
    CallAsked,
    HookCall,
    HookQuestion,
    HookRequest,
    HookSession,
    PromptHeard,
    SessionBegan,
    SessionEnded,
    StopAsked,
    WorkKept,
)

T = TypeVar("T")
MOST_TASK: Final = 2_000
"""So much of the first prompt says what a run is for."""
_SHELLS: Final = frozenset(
    "Bash bash Monitor PowerShell powershell run_shell_command shell local_shell".split()
)
"""The tools of the known clients that run a command line."""
_WRITERS: Final = frozenset(
    "apply_patch create edit multiedit patch replace str_replace write write_file".split()
)
"""Those that take the path of a file as it is seen from the session's folder."""
_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "codex": ("workdir",),
    "gemini": ("dir_path", "directory"),
    "opencode": ("workdir",),
}
"""By what each client's shell is told to run a line elsewhere; the others cannot be told."""
_OPEN_TODO: Final = frozenset("pending in_progress in-progress todo open not_started".split())
_TODO_LISTS: Final = ("todos", "plan")
_TODO_WORDS: Final = ("content", "step", "description", "title", "subject")
_LONGEST_OUTPUT: Final = 1 << 20
_SAID_BY_US: Final = 400
"""Within so much of a prompt our own words begin, whatever the client put before them."""
_LONGEST_WAIT_S: Final = 86_400


class Occasion(enum.Enum):
    """When a client calls its hooks."""

    BEGAN = enum.auto()
    """A session begins, or is gone on with."""
    PROMPT = enum.auto()
    CALL = enum.auto()
    """A tool is about to be called: the one occasion at which something can be prevented."""
    SEEN = enum.auto()
    """A tool was called."""
    STOP = enum.auto()
    """The agent ends its turn."""
    FORGETTING = enum.auto()
    """What the agent remembers is about to be shortened."""
    ENDED = enum.auto()
    OTHER = enum.auto()
    """Something that nothing follows from."""

    @property
    def is_decided(self) -> bool:
        """Whether something can be prevented then, so that no answer must be a no."""
        return self is Occasion.CALL


class ClientEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says."""

    occasion: Occasion
    session: HookSession
    is_sub_agent: bool = False
    is_attended: bool = False
    """Whether a person is known to be at the client's own prompt."""
    tool: str = ""
    params: Mapping[str, object] | str = {}
    key: str | None = None
    """The client's name for the call."""
    seen: Mapping[str, object] = {}
    text: str | None = None
    """What a person wrote, or the agent's last words."""
    fields: Mapping[str, object] = {}
    """What else is known at the end of a turn."""


def payload_of(call: HookCall, shape: type[T]) -> T:
    """Return what a client wrote to its hook; raise InputError where that cannot be read."""
    try:
        return msgspec.json.decode(call.payload, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the payload of the hook cannot be read: {error}") from None


def request_of(event: ClientEvent, call: HookCall) -> HookRequest | None:
    """Return what is asked because of an event; None where nothing is."""
    question = _question(event, call)
    return None if question is None else HookRequest(run=event.session, question=question)


def _question(event: ClientEvent, call: HookCall) -> HookQuestion | None:
    match event.occasion:
        case Occasion.CALL:
            return CallAsked(action=_action(event), key=event.key, wait_s=_patience_s(call))
        case Occasion.SEEN:
            return ActionSeen(
                action=_action(event),
                key=event.key,
                seen=event.seen,
                is_attended=event.is_attended,
            )
        case Occasion.STOP:
            return StopAsked(text=event.text, fields=event.fields, is_last=event.is_sub_agent)
        case Occasion.PROMPT:
            return None if is_our_own(event.text or "") else PromptHeard()
        case Occasion.BEGAN:
            return SessionBegan()
        case Occasion.FORGETTING:
            return WorkKept()
        case Occasion.ENDED:
            return SessionEnded(outcome=None)
        case Occasion.OTHER:
            return None


def is_our_own(prompt: str) -> bool:
    """Whether a prompt is what we sent the agent on with: no person has spoken then."""
    return AUTOMATIC in prompt[:_SAID_BY_US]


def _action(event: ClientEvent) -> Action:
    if not event.tool:
        raise InputError("the payload of the hook names no tool")
    return action_of(event.tool, event.params, event.session.client, event.session.workspace)


def action_of(
    tool: str, params: Mapping[str, object] | str, client: str, workspace: str | None
) -> Action:
    """Return what a call of a tool is; where one goes by the session's folder, it also says which.

    What the agent says a line is for is another text each time: no approval hangs on that.
    """
    if isinstance(params, Mapping) and tool in _SHELLS:
        params = {name: value for name, value in params.items() if name != "description"}
        params = _placed(params, workspace, _FOLDERS.get(client, ()))
    elif isinstance(params, Mapping) and tool in _WRITERS:
        params = _placed(params, workspace)
    return ToolAction(name=tool, params=params)


def _placed(
    params: Mapping[str, object], workspace: str | None, names: Sequence[str] = ()
) -> Mapping[str, object]:
    """Return parameters with where the client goes by them.

    INVARIANT: a folder counts only where the client obeys it. An agent could name any other, and
    have its line judged as if it ran there.
    """
    said = next((each for name in names if isinstance(each := params.get(name), str) and each), "")
    folder = f"{workspace or ''}/{said}" if said and said[0] not in "/~" else said
    folder = folder or workspace or ""
    return {**params, "cwd": folder} if folder else params


def _patience_s(call: HookCall) -> float | None:
    """Return how long a person is waited for, where the hook was installed to wait."""
    said = call.option("wait")
    return float(min(int(said), _LONGEST_WAIT_S)) if said is not None and said.isdecimal() else None


def text_of(output: object) -> str:
    """Return what a tool gave back, as text."""
    match output:
        case None:
            return ""
        case str():
            return output[:_LONGEST_OUTPUT]
        case {"stdout": str(said), "stderr": str(complaint)}:
            return f"{said}\n{complaint}".strip("\n")[:_LONGEST_OUTPUT]
        case {"content": [*parts]}:  # pyright: ignore[reportUnknownVariableType] - as it came
            texts = (each.get("text") for each in _tables(cast("list[object]", parts)))
            return "\n".join(each for each in texts if isinstance(each, str))[:_LONGEST_OUTPUT]
        case _:
            return msgspec.json.encode(output)[:_LONGEST_OUTPUT].decode("utf-8", "replace")


def open_todos(params: object) -> tuple[str, ...] | None:
    """Return what stands open on a list that the agent wrote; None where it wrote none."""
    if isinstance(params, Mapping):
        for name in _TODO_LISTS:
            listed = cast("Mapping[str, object]", params).get(name)
            if isinstance(listed, list):
                return tuple(_open(cast("list[object]", listed)))
    return None


def _open(listed: Sequence[object]) -> Iterator[str]:
    for each in _tables(listed):
        words = next((each[name] for name in _TODO_WORDS if isinstance(each.get(name), str)), None)
        if words and str(each.get("status", "")).lower() in _OPEN_TODO:
            yield str(words)


def _tables(listed: Sequence[object]) -> Iterator[Mapping[str, Any]]:
    return (cast("Mapping[str, Any]", each) for each in listed if isinstance(each, Mapping))
