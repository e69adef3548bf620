"""The real clients: how each is started without a person, and what it needs to run offline."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

import pytest

from clients import opencode_session
from clients.jail import MODEL_URL, Jail, Played, Step, missing, packages, program

PROMPT: Final = "Please do it."
_MODEL: Final = "stub-model"


class JailedClient(ABC):
    """A client in a jail of its own."""

    name: ClassVar[str]
    executable: ClassVar[str]
    hooks: ClassVar[str]
    """Where, below its home, its hooks are written down."""

    def __init__(self, jail: Jail) -> None:
        self.jail = jail
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Have it run offline, and ask nobody for anything."""

    @abstractmethod
    def words(self, prompt: str) -> list[str]:
        """Return how it is started, to do what a prompt says and end."""

    def govern(self, *options: str) -> None:
        """Put Interlock between the client and what it does, as a person would."""
        self.jail.environment["PATH"] = f"{program('.')}:/usr/local/bin:/usr/bin:/bin"
        words = [sys.executable, "-I", "-m", "interlock", "install", self.name, "--yes", *options]
        installed = self.jail.play(words, ())
        assert installed.code == 0, installed

    def edit_hooks(self, pattern: str, replacement: str) -> None:
        """Change what was installed behind Interlock's back."""
        path = self.jail.home / self.hooks
        edited, count = re.subn(pattern, replacement, path.read_text())
        assert count > 0
        path.write_text(edited)

    @abstractmethod
    def delegated(self, *steps: Step) -> list[Step]:
        """Return the script in which a sub-agent takes steps, and the agent waits for it."""

    def play(self, *script: Step, meanwhile: Callable[[], None] | None = None) -> Played:
        """Run it once, the model playing a script."""
        return self.jail.play(self.words(PROMPT), script, meanwhile)

    def converse(self, *script: Step, stops: int) -> Played:
        """Run it so that it can be sent on, until it has stopped so often."""
        del stops  # it ends by itself
        return self.play(*script)


class ClaudeCode(JailedClient):
    """Anthropic's."""

    name = "claude-code"
    executable = "claude"
    hooks = ".claude/settings.json"

    def prepare(self) -> None:
        """Have it run offline."""
        self.jail.environment |= {
            "ANTHROPIC_BASE_URL": MODEL_URL,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # it lets root skip permissions only where it is told so
        }

    def words(self, prompt: str) -> list[str]:
        """Return how it is started."""
        return [str(program("claude")), "-p", "--dangerously-skip-permissions", prompt]

    def delegated(self, *steps: Step) -> list[Step]:
        """Return the script of its `Agent` tool."""
        about = {"description": "a part", "prompt": "Do it.", "subagent_type": "general-purpose"}
        return [_call("Agent", run_in_background=False, **about), *steps, {"text": "Did it."}]


class Codex(JailedClient):
    """OpenAI's."""

    name = "codex"
    executable = "codex"
    hooks = ".codex/hooks.json"

    def prepare(self) -> None:
        """Have it run offline."""
        self.jail.environment |= {"STUB_KEY": "none"}
        config = self.jail.home / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text(
            f'model = "{_MODEL}"\nmodel_provider = "stub"\n\n'
            f'[model_providers.stub]\nname = "stub"\nbase_url = "{MODEL_URL}/v1"\n'
            'wire_api = "responses"\nenv_key = "STUB_KEY"\n'
        )

    def words(self, prompt: str) -> list[str]:
        """Return how it is started."""
        return [
            str(program("codex")),
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            *self._trust,
            prompt,
        ]

    _trust: Sequence[str] = ()

    def edit_hooks(self, pattern: str, replacement: str) -> None:
        """Change them, and have it trust them all the same: it would leave them out."""
        super().edit_hooks(pattern, replacement)
        self._trust = ("--dangerously-bypass-hook-trust",)

    def delegated(self, *steps: Step) -> list[Step]:
        """Return the script of its `spawn_agent` tool, beside which the agent goes on at once."""
        waits = {"shell": "until [ -e delegated ]; do sleep 0.05; done"}
        begun = {"parallel": [_call("spawn_agent", message="Do it."), waits]}
        return [begun, *steps, {"shell": "touch delegated"}, {"text": "Did it."}]


class Gemini(JailedClient):
    """Google's."""

    name = "gemini"
    executable = "gemini"
    hooks = ".gemini/settings.json"

    def prepare(self) -> None:
        """Have it run offline."""
        self.jail.environment |= {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": MODEL_URL,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        _write(self._settings, self._quiet)

    @property
    def _settings(self) -> Path:
        return self.jail.home / self.hooks

    _quiet: ClassVar = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }

    def words(self, prompt: str) -> list[str]:
        """Return how it is started."""
        # It wants a newer Node than many systems have.
        node = [str(program("node")), str(program("gemini"))]
        return [*node, "--yolo", "-m", "gemini-2.5-flash", "-p", prompt]

    def delegated(self, *steps: Step) -> list[Step]:
        """Return the script of its `invoke_agent` tool."""
        begun = _call("invoke_agent", agent_name="generalist", prompt="Do it.")
        return [begun, *steps, _call("complete_task", result={"response": "Did it."})]


class Copilot(JailedClient):
    """GitHub's."""

    name = "copilot"
    executable = "copilot"
    hooks = ".copilot/hooks/interlock.json"

    def prepare(self) -> None:
        """Have it run offline."""
        self.jail.environment |= {
            "COPILOT_PROVIDER_BASE_URL": f"{MODEL_URL}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": _MODEL,
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def words(self, prompt: str) -> list[str]:
        """Return how it is started."""
        return [str(program("copilot")), "--allow-all-tools", "--allow-all-paths", "-p", prompt]

    def delegated(self, *steps: Step) -> list[Step]:
        """Return the script of its `task` tool."""
        about = {"description": "a part of it", "prompt": "Do it.", "name": "part"}
        begun = _call("task", agent_type="general-purpose", mode="sync", **about)
        return [begun, *steps, {"text": "Did it."}]


class Opencode(JailedClient):
    """The one whose hooks are a plugin."""

    name = "opencode"
    executable = "opencode"
    hooks = ".config/opencode/plugins/interlock.js"

    def prepare(self) -> None:
        """Have it run offline."""
        self.jail.environment |= {"OPENCODE_DISABLE_MODELS_FETCH": "1"}
        model = f"stub/{_MODEL}"
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{MODEL_URL}/v1", "apiKey": "none"},
            "models": {_MODEL: {"tool_call": True}},
        }
        folder = self.jail.home / ".config" / "opencode"
        settings = {"share": "disabled", "autoupdate": False, "permission": "allow"}
        models = {"model": model, "small_model": model, "provider": {"stub": provider}}
        _write(folder / "opencode.json", settings | models)
        # It would install its plugins' package before anything else, and wait for a network.
        needs = {"dependencies": {"@opencode-ai/plugin": "*"}}
        _write(folder / "package.json", needs)
        _write(folder / "package-lock.json", {"lockfileVersion": 3, "packages": {"": needs}})
        (folder / "node_modules").symlink_to(packages())

    def words(self, prompt: str) -> list[str]:
        """Return how it is started."""
        return [str(program("opencode")), "run", prompt]

    def delegated(self, *steps: Step) -> list[Step]:
        """Return the script of its `task` tool."""
        begun = _call("task", description="a part", prompt="Do it.", subagent_type="general")
        return [begun, *steps, {"text": "Did it."}]

    def converse(self, *script: Step, stops: int) -> Played:
        """Run its server, which does not end by itself, until the last stop is on record."""
        ended = self.jail.folder / "ended"
        self.jail.opened().close()  # so that there is a record to be followed

        def end() -> None:
            self.jail.when_recorded("stop-judged", number=stops)
            ended.touch()

        own = [sys.executable, "-I", opencode_session.__file__, str(program("opencode"))]
        return self.jail.play([*own, PROMPT, str(ended)], script, end)


CLIENTS: Final[Mapping[str, type[JailedClient]]] = {
    each.name: each for each in (ClaudeCode, Codex, Gemini, Copilot, Opencode)
}


@contextmanager
def client_in_jail(name: str) -> Generator[JailedClient]:
    """Give a client that nobody governs yet, in a home that is gone afterwards."""
    kind = CLIENTS[name]
    lacking = missing()
    if lacking is None and not program(kind.executable).exists():
        lacking = f"`{kind.executable}` is not installed: `make test-clients` installs it"
    if lacking is not None:
        pytest.skip(f"no real client: {lacking}")
    # A socket's path is short: that of pytest's own folders is not.
    with tempfile.TemporaryDirectory(prefix="jail-", ignore_cleanup_errors=True) as folder:
        yield kind(Jail(Path(folder)))


def _call(tool: str, **given: object) -> Step:
    return {"tool": {"name": tool, "input": given}}


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
