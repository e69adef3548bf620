"""What is installed for each client: its events, the hook of each, and the file they stand in."""

from __future__ import annotations

import enum
import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from interlock import settings
from interlock.adapters.installation.hook_settings import Wanted
from interlock.errors import InputError

_TIMEOUT_S: Final = 30
_DEADLINE_S: Final = 25
"""Before the client gives up, which to all of them means yes, the hook has said no."""
_STOP_TIMEOUT_S: Final = 600
_STOP_DEADLINE_S: Final = 590
"""Before a turn may end the checks of the policy are run, which takes as long as tests take."""
_TIMEOUT_ABOVE_WAIT_S: Final = 15
_DEADLINE_ABOVE_WAIT_S: Final = 10
_STOPS: Final = "stop"
_TELLS: Final = "told"
_TOKEN: Final = "INTERLOCK_TOKEN"  # noqa: S105 - the name of a variable
_ATTENDED: Final = "CLAUDE_CODE_SESSION_ATTENDED"


class Scope(enum.Enum):
    """Whose sessions are governed."""

    USER = "user"
    PROJECT = "project"


class Client(NamedTuple):
    """A client: where its settings are, and which of its events are asked about."""

    name: str
    program: str
    home: tuple[str, ...]
    """The variables that name its folder, then that folder below the home folder."""
    user_file: str
    """Below its folder."""
    project_file: str
    """Below the folder of the project."""
    decides: tuple[str, ...] = ()
    """Events that are asked about: without an answer, no."""
    tells: tuple[str, ...] = ()
    """Events that are only told: nothing hangs on them."""
    stops: tuple[str, ...] = ()
    """Ends of a turn: without an answer, yes."""
    matched: Mapping[str, str] = {}
    """Events of tools, with what matches every tool."""
    most_s: Mapping[str, int] = {}
    """Events that the client waits for no longer than this."""
    bare: Mapping[str, object] = {}
    """What a new file of settings holds besides hooks."""
    reads_comments: bool = False
    """Whether its settings may hold comments; trailing commas none of them reads."""
    reads_mark: bool = False
    """Whether they may begin with a byte order mark."""
    project_needs: str = ""
    """What has to be so that it loads the hooks of a project."""

    @property
    def events(self) -> tuple[str, ...]:
        """Every event that is hooked."""
        return (*self.decides, *self.tells, *self.stops)

    @property
    def is_plugin(self) -> bool:
        """Whether it runs a file of ours instead of hooks in its settings."""
        return not self.events


CLIENTS: Final = {
    each.name: each
    for each in (
        Client(
            name="claude-code",
            program="claude",
            home=("CLAUDE_CONFIG_DIR", ".claude"),
            user_file="settings.json",
            project_file=".claude/settings.json",
            decides=("PreToolUse",),
            tells=(
                "PostToolUse",
                "PostToolUseFailure",
                "UserPromptSubmit",
                "SessionStart",
                "SessionEnd",
                "PreCompact",
            ),
            stops=("Stop", "SubagentStop"),
            matched=dict.fromkeys(("PreToolUse", "PostToolUse", "PostToolUseFailure"), "*"),
            reads_mark=True,
            project_needs="Claude Code asks once whether the folder is trusted; `claude -p` runs"
            " its hooks in any folder",
        ),
        Client(
            name="codex",
            program="codex",
            home=("CODEX_HOME", ".codex"),
            user_file="hooks.json",
            project_file=".codex/hooks.json",
            decides=("PreToolUse",),
            tells=(
                "PostToolUse",
                "UserPromptSubmit",
                "SessionStart",
                "SessionEnd",
                "PreCompact",
            ),
            stops=("Stop", "SubagentStop"),
            matched=dict.fromkeys(("PreToolUse", "PostToolUse"), "*"),
            most_s={"SessionEnd": 3},
            project_needs="Codex reads the hooks of a project only where the project is trusted:"
            ' `trust_level = "trusted"` in its config.toml, or say so when Codex asks',
        ),
        Client(
            name="gemini",
            program="gemini",
            home=(".gemini",),
            user_file="settings.json",
            project_file=".gemini/settings.json",
            decides=("BeforeTool",),
            tells=("AfterTool", "BeforeAgent", "SessionStart", "SessionEnd"),
            stops=("AfterAgent",),
            matched=dict.fromkeys(("BeforeTool", "AfterTool"), ".*"),
            reads_comments=True,
            project_needs="Gemini CLI skips the hooks of a folder that is not trusted: trust it"
            " when it asks, or set GEMINI_CLI_TRUST_WORKSPACE=true",
        ),
        Client(
            name="copilot",
            program="copilot",
            home=("COPILOT_HOME", ".copilot"),
            user_file="hooks/interlock.json",
            project_file=".github/hooks/interlock.json",
            decides=("preToolUse",),
            tells=(
                "postToolUse",
                "postToolUseFailure",
                "userPromptSubmitted",
                "sessionStart",
                "sessionEnd",
                "preCompact",
            ),
            stops=("agentStop", "subagentStop"),
            bare={"version": 1},
            project_needs="`copilot -p` loads the hooks of a repository only in a trusted folder"
            " or with GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS=true; else it says nothing and runs"
            " without them",
        ),
        Client(
            name="opencode",
            program="opencode",
            home=("XDG_CONFIG_HOME", ".config"),
            user_file="opencode/plugins/interlock.js",
            project_file=".opencode/plugins/interlock.js",
            project_needs="OPENCODE_PURE turns plugins off",
        ),
    )
}
"""Every client that hooks can be installed for, by its name."""


class Launch(NamedTuple):
    """How a hook is run, or asked over HTTP."""

    interpreter: str
    entry: str
    wait_s: int | None = None
    """How long a hook waits for a person who is asked."""
    url: str | None = None
    """The server, where hooks go over HTTP."""

    @property
    def timeout_s(self) -> int:
        """How long the client waits for an answer that counts."""
        return _TIMEOUT_S if self.wait_s is None else self.wait_s + _TIMEOUT_ABOVE_WAIT_S

    @property
    def deadline_s(self) -> int:
        """How long the hook takes for it at most."""
        return _DEADLINE_S if self.wait_s is None else self.wait_s + _DEADLINE_ABOVE_WAIT_S


def own_launch(*, wait_s: int | None = None, url: str | None = None) -> Launch:
    """Return how hooks run by the interpreter and the package that run now."""
    entry = Path(__file__).resolve().parents[2] / "hook_entry.py"
    return Launch(sys.executable, str(entry), wait_s, url)


def client_named(name: str) -> Client:
    """Return a client by its name; InputError where there is none."""
    if name not in CLIENTS:
        known = ", ".join(f"`{each}`" for each in CLIENTS)
        meant = [each.name for each in CLIENTS.values() if name == each.program]
        hint = f"did you mean `{meant[0]}`?" if meant else f"expected one of {known}"
        raise InputError(f"`{name}` is no client that is known: {hint}")
    return CLIENTS[name]


def settings_file(client: Client, scope: Scope, *, folder: Path | None = None) -> Path:
    """Return the file that the hooks of a client stand in; a project is the folder we are in."""
    if scope is Scope.PROJECT:
        return (folder or settings.working_folder()) / client.project_file
    return home_of(client) / client.user_file


def home_of(client: Client) -> Path:
    """Return the folder of a client, as its own variables move it."""
    *variables, below = client.home
    environment = settings.environment()
    named = next(filter(None, (environment.get(each) for each in variables)), None)
    return Path(named) if named else Path.home() / below


def found_clients() -> list[Client]:
    """Return the clients of this machine: their program is there, or their folder is."""
    return [each for each in CLIENTS.values() if _is_here(each)]


def _is_here(client: Client) -> bool:
    if shutil.which(client.program, path=settings.environment().get("PATH")):
        return True
    folder = home_of(client)
    return (folder / "opencode" if client.is_plugin else folder).is_dir()


def wanted_hooks(client: Client, launch: Launch) -> Wanted:
    """Return what is to stand in the list of each event."""
    return {event: _entry(client, event, launch) for event in client.events}


def plugin_text(client: Client, launch: Launch) -> str:
    """Return the file that a client runs in its own process: it runs the hook."""
    template = resources.files("interlock.adapters").joinpath("clients/opencode_plugin.js")
    waits = [] if launch.wait_s is None else [f"--wait={launch.wait_s}"]
    filled = {"COMMAND": _start(client, launch), "DEADLINE": launch.deadline_s, "WAITS": waits}
    text = template.read_text("utf-8")
    for name, value in filled.items():
        text = text.replace(f'"@{name}@"', json.dumps(value))
    return text


def _entry(client: Client, event: str, launch: Launch) -> Mapping[str, object]:
    hook = _hook(client, event, launch)
    if client.name == "copilot":
        return hook
    matcher = {"matcher": client.matched[event]} if event in client.matched else {}
    order = {"sequential": True} if client.name == "gemini" else {}
    return {**matcher, **order, "hooks": [hook]}


def _hook(client: Client, event: str, launch: Launch) -> dict[str, object]:
    is_asked = event in client.decides
    timeout, deadline = _limits(client, event, launch)
    words = _words(client, event, deadline, launch)
    # A hook whose file is gone ends as one that says no does: a turn would never end by that.
    line = shlex.join(words) if is_asked else f"{shlex.join(words)} || true"
    match client.name:
        case "claude-code":
            closes = {"onFailure": "block"} if is_asked else {}
            way = _over_http(launch.url) if launch.url else _by_command(words)
            return {**way, "timeout": timeout, **closes}
        case "gemini":
            return {
                "type": "command",
                "name": "interlock",
                "command": line,
                "timeout": timeout * 1000,
            }
        case "copilot":
            return {"type": "command", "bash": line, "timeoutSec": timeout}
        case _:
            return {"type": "command", "command": line, "timeout": timeout}


def _limits(client: Client, event: str, launch: Launch) -> tuple[int, int]:
    """Return how long the client waits, and how long the hook takes at most."""
    if event in client.decides:
        return launch.timeout_s, launch.deadline_s
    if event in client.stops:
        return _STOP_TIMEOUT_S, _STOP_DEADLINE_S
    most = client.most_s.get(event, _TIMEOUT_S)
    return most, min(_DEADLINE_S, most - 1)


def _words(client: Client, event: str, deadline: int, launch: Launch) -> list[str]:
    word = [_STOPS] if event in client.stops else [_TELLS] if event in client.tells else []
    named = [f"--event={event}"] if client.name == "copilot" else []
    is_waited_for = launch.wait_s is not None and event in client.decides
    wait = [f"--wait={launch.wait_s}"] if is_waited_for else []
    return [*_start(client, launch), *word, *named, f"--deadline={deadline}", *wait]


def _start(client: Client, launch: Launch) -> list[str]:
    return [launch.interpreter, "-I", "-S", launch.entry, client.name]


def _by_command(words: list[str]) -> dict[str, object]:
    program, *args = words
    return {"type": "command", "command": program, "args": args}


def _over_http(url: str) -> dict[str, object]:
    return {
        "type": "http",
        "url": f"{url.rstrip('/')}/v1/hooks/claude-code",
        "headers": {"Authorization": f"Bearer ${_TOKEN}", "Interlock-Attended": f"${_ATTENDED}"},
        "allowedEnvVars": [_TOKEN, _ATTENDED],
    }
