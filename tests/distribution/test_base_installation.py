"""`pip install interlock`, without an extra: what works, and what is said of the rest."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest

from distribution.bare_environment import BareEnvironment
from interlock.errors import MissingExtraError
from interlock.extras import EXTRAS, needs_extra

_ROOT = Path(__file__).parents[2]
_ASKED = {
    "session_id": "s1",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf /"},
}
_CONDITION = """
[[rules]]
name = "mine"
message = "no"
when = 'tool == "x"'
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    return BareEnvironment(tmp_path_factory.mktemp("bare"))


def plain(name: str) -> str:
    return name.lower().replace("_", "-")


def project() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]


def test_every_command_works_or_says_what_to_install(bare: BareEnvironment) -> None:
    script = Path(__file__).with_name("every_command.py")

    called = bare.call("python", "-I", str(script))

    assert called.code == 0, called.stderr
    results: dict[str, tuple[int, str, str]] = json.loads(called.stdout.splitlines()[-1])
    assert {words: trace for words, (_, _, trace) in results.items() if trace} == {}
    assert {
        words for words, (code, _, _) in results.items() if code not in (*range(6), 127)
    } == set()
    helped = {words: code for words, (code, _, _) in results.items() if words.endswith("--help")}
    assert len(helped) > 40
    assert set(helped.values()) == {0}
    wanting = {words: text for words, (_, text, _) in results.items() if "Error: " in text}
    for words in ("serve", "loop run", "mcp serve"):
        assert re.fullmatch(
            rf"Error: interlock {words}.* needs the \S+ extra: pip install '\S+'\n", wanting[words]
        )


@pytest.mark.parametrize(
    ("words", "what", "extra"),
    [
        (("serve",), "interlock serve", "server"),
        (("serve", "--demo"), "interlock serve", "server"),
        (("run", "--sandbox", "auto", "--", "true"), "interlock run --sandbox", "server"),
        (("install", "claude-code", "--transport", "http"), "`--transport http`", "server"),
        (("loop", "run"), "interlock loop run without --once", "loop"),
        (("mcp", "serve"), "interlock mcp serve", "mcp"),
        (("mcp", "--url", "http://127.0.0.1:9/mcp"), "interlock mcp --url", "mcp"),
        (("mcp", "--listen", "127.0.0.1:0", "--", "true"), "interlock mcp --listen", "mcp"),
        (("runs", "--ledger", "postgresql:///x"), "a Postgres ledger", "postgres"),
    ],
)
def test_what_an_extra_brings_is_named_in_one_line(
    bare: BareEnvironment, words: tuple[str, ...], what: str, extra: str
) -> None:
    called = bare.call("interlock", *words)

    assert called.code == 1
    expected = f"Error: {what} needs the {extra} extra: pip install 'interlock[{extra}]'\n"
    assert called.stderr.endswith(expected)
    assert called.stderr.count("\n") == 1


def test_a_condition_in_a_policy_names_its_extra(bare: BareEnvironment, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(_CONDITION)

    called = bare.call("interlock", "policy", "show", variables={"INTERLOCK_POLICY": str(policy)})

    assert called.code == 1
    assert "a condition needs the cel extra: pip install 'interlock[cel]'" in called.stderr
    assert "Traceback" not in called.stderr


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("interlock.adapters.langchain", "langchain"),
        ("interlock.adapters.pydantic_ai", "pydantic-ai"),
        ("interlock.adapters.openai_agents", "openai-agents"),
        ("interlock.adapters.claude_agent_sdk", "claude-agent-sdk"),
    ],
)
def test_python_is_told_the_same(bare: BareEnvironment, module: str, extra: str) -> None:
    called = bare.call("python", "-c", f"import {module}")

    told = f"{module} needs the {extra} extra: pip install 'interlock[{extra}]'"
    assert called.stderr.splitlines()[-1] == f"interlock.errors.MissingExtraError: {told}"


def test_a_hook_answers_without_the_server(bare: BareEnvironment) -> None:
    entry = str(bare.packages / "interlock" / "hook_entry.py")

    called = bare.call("python", "-I", "-S", entry, "claude-code", stdin=json.dumps(_ASKED))

    said = json.loads(called.stdout)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert called.stderr == ""
    assert json.loads(bare.call("interlock", "runs", "--json").stdout) != []


def test_a_client_is_governed_and_the_doctor_says_what_the_server_would_add(
    bare: BareEnvironment, tmp_path: Path
) -> None:
    home = {"HOME": str(tmp_path)}

    installed = bare.call("interlock", "install", "claude-code", "--yes", variables=home)
    examined = bare.call("interlock", "doctor", variables=home)

    assert installed.code == 0
    assert examined.code == 0, examined.stdout
    assert "needs the server extra" in examined.stdout


def test_what_is_missing_is_named_by_the_tool_that_installed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = list[str]()
    for prefix in ("/home/a/.venv", "/home/a/.local/share/uv/tools/interlock", "/o/pipx/venvs/i"):
        monkeypatch.setattr("sys.prefix", prefix)
        told.append(str(MissingExtraError("it", "cel")))

    assert told == [
        "it needs the cel extra: pip install 'interlock[cel]'",
        "it needs the cel extra: uv tool install 'interlock[cel]'",
        "it needs the cel extra: pipx install --force 'interlock[cel]'",
    ]


def test_a_module_of_our_own_that_is_gone_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"interlock\.gone"), needs_extra("it", "cel"):
        __import__("interlock.gone")


def test_every_extra_is_known_by_what_it_brings() -> None:
    """The table of modules is held against the packages that `pyproject.toml` asks for."""
    extras = project()["optional-dependencies"]
    owners = packages_distributions()

    assert extras.keys() - {"all"} == EXTRAS.keys()
    for extra, modules in EXTRAS.items():
        asked = {plain(re.split(r"[^\w-]", each)[0]) for each in extras[extra]}
        asked |= {"openai", "opentelemetry-semantic-conventions"}  # they come with others
        for module in modules:
            assert asked & {plain(each) for each in owners[module]}, (extra, module)


def test_the_wheel_says_what_it_is(bare: BareEnvironment) -> None:
    with ZipFile(bare.wheel) as wheel:
        names = wheel.namelist()
        (place,) = [each for each in names if each.endswith(".dist-info/METADATA")]
        metadata = wheel.read(place).decode()

    assert "interlock/builtin_rules.msgpack" in names
    assert "interlock/py.typed" in names
    assert not [each for each in names if each.startswith(("tests/", "docs/", "benchmarks/"))]
    for line in (
        "License-Expression: Apache-2.0",
        "Author: Interlock contributors",
        "Requires-Python: >=3.11",
        "Classifier: Typing :: Typed",
        "Requires-Dist: click>=8.5",
    ):
        assert line in metadata.splitlines()
    assert re.search(r"^Keywords: .*audit-log", metadata, re.MULTILINE)
