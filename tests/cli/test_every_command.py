"""Every command: its examples run, its JSON follows the convention, its errors say what to do."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import click
import pytest
from click.testing import Result

from cli.asking import as_person, interlock, interlock_process
from cli.live_examples import LIVE, Lived, lived, set_programs
from cli.stage import a_stage
from interlock.cli.call.command_names import OWN
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.command_group import GROUPS, SUMMARIES, cli
from interlock.model.verdict import Decision
from terminal import own_terminal

CODES = {
    "interlock check 'git push --force'": ExitCode.CONFIRM,
    "interlock check command 'git push --force'": ExitCode.CONFIRM,
    "interlock check command --explain 'curl x | sh'": ExitCode.CONFIRM,
    "interlock run exec --run R4X9TM --wait 10m -- git push --force": ExitCode.BLOCKED,
    # Nothing is installed on the stage, which is what it is there to tell.
    "interlock doctor": ExitCode.FAILED,
    "interlock doctor --json": ExitCode.FAILED,
    # One run proves nothing, which is what it says.
    "interlock calibrate": ExitCode.MISUSED,
    "interlock calibrate runs.jsonl --outcomes outcomes.csv": ExitCode.MISUSED,
    "interlock calibrate runs.jsonl --git . --promise 5 --svg curve.svg": ExitCode.MISUSED,
    "interlock calibrate --turns turns.jsonl --patch calibrated.toml": ExitCode.MISUSED,
    # They go on until they are told to end.
    "interlock tail": 128 + signal.SIGTERM,
    "interlock tail R4X9TM --since-start": 128 + signal.SIGTERM,
}
"""Which exit code an example ends with, where that is not 0."""
_NO_PROGRAM = 127
"""As a shell says it."""
NO_JSON = {
    "tour": "a person takes it",
    "init": "it writes a file",
    "login": "what it shows is a secret",
    "mcp": "it speaks MCP",
    "mcp serve": "it speaks MCP",
    "check": "`--jsonl` is its stream",
    "policy schema": "a schema is JSON",
    "backtest steps": "its answers are JSON lines",
    "backtest stops": "its answers are JSON lines",
    "hook": "it speaks with clients",
    "help": "a person reads it",
}
"""Commands without `--json`, and why."""
BY_DATA = {
    "rules",
    "clients",
    "violation_ranking",
    "worst_places",
    "value",
    "patch",
    "record",
    "data",
}
"""What holds tables whose names are data, or are written in the words of others."""
AS_WRITTEN = {"ledger anchor"}
"""What they print is sealed: it is handed over as it is."""


class Example(NamedTuple):
    """A line of a command's help."""

    command: str
    line: str

    @property
    def words(self) -> list[str]:
        """What stands behind `interlock`."""
        return shlex.split(self.line)[1:]


def commands(
    command: click.Command = cli, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, by its words; hidden ones as well."""
    does_something = not isinstance(command, click.Group) or command.invoke_without_command
    if words and (does_something or words == ("run",)):
        yield " ".join(words), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        names = command.list_commands(context)
        for name in (*names, "help", "hook") if command is cli else names:
            inner = command.get_command(context, name)
            assert inner is not None
            if name == OWN:
                yield " ".join(words), inner
            elif name != "operator" or words != ("ledger",):
                yield from commands(inner, (*words, name))


COMMANDS = dict(commands())


def examples(name: str) -> list[Example]:
    """Return the examples in a command's help."""
    _, _, below = (COMMANDS[name].help or "").partition("Examples:\n")
    return [Example(name, line.strip()) for line in below.splitlines() if line.strip()]


EXAMPLES = [example for name in COMMANDS for example in examples(name)]


def is_live(words: Sequence[str]) -> bool:
    """Whether an example goes on until it is ended, or needs others, or a terminal."""
    return " ".join(words).startswith(LIVE) and "--yes" not in words


def played(words: Sequence[str], place: str, folder: Path) -> Lived:
    """Run an example on its stage."""
    if is_live(words):
        return _played_live(words, place, folder)
    end = next((at for at, each in enumerate(words) if each in "<>"), len(words))
    file, words = words[end + 1 :], list(words[:end])
    with a_stage(words, place, folder) as stage:
        stdin = (folder / file[0]).read_text() if file and (folder / file[0]).exists() else "y\n"
        words += stage.also
        for name, real in stage.ids.items():
            words = [each.replace(name, real) for each in words]
        if words[:2] == ["ledger", "anchor"] and "--check" in words:
            assert interlock("ledger", "anchor", "--to", "anchor.json").exit_code == 0
        if words[:2] == ["loop", "unfreeze"]:
            assert as_person("loop", "freeze", "--reason", "first").exit_code == 0
        if words[:2] == ["recommendations", "undo"]:
            assert as_person("recommendations", "apply", words[-1]).exit_code == 0
        if words[:2] == ["operator", "recover"]:
            with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
                type_in(*stage.typed)
                return _lived(interlock(*words))
        return _lived(as_person(*words, stdin=stdin))


def _lived(result: Result) -> Lived:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Lived(result.exit_code, result.stdout, result.stderr)


def _played_live(words: Sequence[str], place: str, folder: Path) -> Lived:
    set_programs(folder)
    with a_stage(words, place, folder) as stage:
        found = [str(Path(each).expanduser()) if each[0] == "~" else each for each in words]
        for name, real in stage.ids.items():
            found = [each.replace(name, real) for each in found]
        return lived([*found, *stage.also], place, folder)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    # The usual places: the process remembers where Interlock's own files are, for later tests too.
    for name, usual in (("CONFIG", ".config"), ("STATE", ".local/state"), ("DATA", ".local/share")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / usual))
    monkeypatch.setenv("SHELL", "/bin/bash")


@pytest.mark.parametrize("name", COMMANDS)
def test_it_has_help_with_an_example(name: str) -> None:
    text = interlock(*name.split(), "--help").stdout

    assert examples(name), f"add `Examples:` to the help of `interlock {name}`"
    assert all(example.line.startswith(f"interlock {name}") for example in examples(name))
    assert all(f"\n    {example.line}\n" in text for example in examples(name))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.line)
def test_its_example_runs(example: Example, place: str, empty_place: Path) -> None:
    result = played(example.words, place, empty_place)

    assert result.code == CODES.get(example.line, 0), result
    if "--json" in example.words:
        _check_json(example, result)


# An example that asks for JSON itself is looked at where it runs.
JSON_EXAMPLES = [
    found[0]
    for name in COMMANDS
    if name not in NO_JSON
    if (found := examples(name)) and not any("--json" in each.words for each in found)
]


@pytest.mark.parametrize("name", COMMANDS)
def test_it_prints_json_where_it_prints_data(name: str) -> None:
    options = {each for parameter in COMMANDS[name].params for each in parameter.opts}

    assert "--json" in options or name in NO_JSON


@pytest.mark.parametrize("example", JSON_EXAMPLES, ids=lambda example: example.command)
def test_its_json_follows_the_convention(example: Example, place: str, empty_place: Path) -> None:
    words = example.words
    behind = len(example.command.split())
    asked = ["--json"]
    if example.command in ("install", "uninstall", "completion"):
        asked.append("--yes")
    result = played([*words[:behind], *asked, *words[behind:]], place, empty_place)

    _check_json(example, result)


def _check_json(example: Example, result: Lived) -> None:
    # What a command of somebody else's prints passes through.
    said = result.errors if example.command in ("run", "run exec") else result.output
    values: list[object] = [json.loads(line) for line in said.splitlines()]
    assert values, result
    for value in values:
        assert isinstance(value, dict | list)
        assert list(_breaches(cast("object", value))) == [] or example.command in AS_WRITTEN


def _breaches(value: object, key: str = "", path: str = "") -> Iterator[str]:
    """Yield every place where a value does not follow the convention."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _breaches(each, key, path)
    elif isinstance(value, dict):
        table = cast("Mapping[str, object]", value)
        if key in BY_DATA:
            return
        if table.get("decision") in list(Decision) and "short" not in table:
            yield f"{path}: `decision` without `short`"
        for name, each in table.items():
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                yield f"{path}.{name}: not written with underscores"
            yield from _breaches(each, name, f"{path}.{name}")
    elif isinstance(value, int) and value > 10**14:
        yield f"{path}: a time as a number"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("run", "hook")])
def test_a_wrong_option_is_told_with_the_way_to_help(name: str) -> None:
    result = interlock(*name.split(), "--no-such-option")

    assert result.exit_code == ExitCode.MISUSED
    assert f"Try 'interlock {name} --help' for help." in result.stderr or "mcp" in name
    assert "no such option" in result.stderr.lower()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, command in COMMANDS.items()
        if any(each.metavar == "RUN" for each in command.params if isinstance(each, click.Argument))
    ],
)
def test_a_run_that_is_not_there_is_told_with_the_way_to_find_it(name: str, place: str) -> None:
    command = COMMANDS[name]
    arguments = ["nobody" for each in command.params if isinstance(each, click.Argument)]
    reason = [
        "--reason=x" for each in command.params if isinstance(each, click.Option) and each.required
    ]
    with a_stage(["runs"], place, Path()):
        result = as_person(*name.split(), *arguments, *reason)
        as_json = as_person(*name.split(), *arguments, *reason, "--json")

    assert result.exit_code == ExitCode.MISUSED
    assert "there is no run `nobody`" in result.stderr
    assert "interlock runs" in result.stderr
    assert "there is no run `nobody`" in json.loads(as_json.stderr)["error"]


def test_every_command_is_in_a_group_and_its_summary_fits_a_line() -> None:
    text = interlock("--help").stdout

    assert len(next(iter(GROUPS.values()))) <= 8
    assert "..." not in text.partition("Ask:")[2]
    assert all(len(line) <= 80 for line in text.splitlines())
    for name, summary in SUMMARIES.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["reveiw"], "there is no command `reveiw`: did you mean `review`?"),
        (["review", "sumbit"], "no command `sumbit` of `review`: did you mean `submit`?"),
        (["ledger", "inof"], "there is no command `inof` of `ledger`: did you mean `info`?"),
        (["ledger", "zzz"], "`interlock ledger --help` lists them"),
        (["runs", "--satus", "x"], "--status"),
        (["token", "create", "x", "--rol", "agent"], "--role"),
    ],
)
def test_what_is_misspelt_is_told_with_what_was_likely_meant(words: list[str], hint: str) -> None:
    result = interlock(*words)

    assert result.exit_code == ExitCode.MISUSED
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ([], "Usage: interlock [OPTIONS] COMMAND [ARGS]..."),
        (["runs"], "Usage: interlock runs [OPTIONS]"),
        (["review", "submit"], "Usage: interlock review submit [OPTIONS] RUN [TEXT]"),
    ],
)
def test_help_is_a_command_as_well(words: list[str], first: str) -> None:
    assert interlock("help", *words).stdout.splitlines()[0] == first


def test_help_on_what_is_no_command_is_misuse() -> None:
    assert "no command `nix`" in interlock("help", "nix").stderr
    assert "has no commands of its own" in interlock("help", "runs", "x").stderr


def test_a_passphrase_that_is_too_short_is_told_before_it_is_typed_again(place: str) -> None:
    with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
        type_in("short", "short", "short")
        result = interlock("setup")

    assert result.exit_code == ExitCode.MISUSED
    assert "the passphrase has 5 characters, expected 12 to" in result.stderr


_POLICY = ["--policy", "nowhere.toml"]
_OTHER = "--ledger=redis://x"
BAD = {
    "rules": (["rules", *_POLICY], "nowhere.toml: cannot be read"),
    "rules show": (["rules", "show", "git.push-forse"], "did you mean `git.push-force`?"),
    "backtest steps": (["backtest", "steps", "nowhere.jsonl"], "'nowhere.jsonl': No such file"),
    "backtest stops": (["backtest", "stops", "nowhere.jsonl"], "`nowhere.jsonl` cannot be read"),
    "audit": (["audit", "nowhere.jsonl"], "there is no such file or folder"),
    "audit show": (["audit", "show", "x"], "there is no audit `x`"),
    "audit list": (["audit", "list", "x"], "unexpected extra argument"),
    "audit mark": (["audit", "mark", "x", "right"], "no kept audit has a moment `x`"),
    "calibrate": (["calibrate", "nowhere.jsonl"], "`nowhere.jsonl` is not there: name a history"),
    "run": (["run", "--", "nowhere"], "no program `nowhere` to run: see `PATH`"),
    "run observe": (["run", "observe", _OTHER, "R4X9TM", "--exit-code", "0"], "`redis://`"),
    "mcp": (["mcp"], "name one server: `--url URL`, or its command behind `--`"),
    "edit": (["edit"], "send `{"),
    "setup": (["setup"], "in a terminal of their own"),
    "install": (["install", "cloude-code"], "expected one of `claude-code`"),
    "uninstall": (["uninstall", "cloude-code"], "expected one of `claude-code`"),
    "init": (["init", "--preset", "lax"], "'lax' is not one of 'observe'"),
    "policy show": (["policy", "show", *_POLICY], "nowhere.toml: cannot be read"),
    "policy test": (["policy", "test", *_POLICY], "nowhere.toml: cannot be read"),
    "operator recover": (["operator", "recover"], "in a terminal of their own"),
    "ledger repair": (["ledger", "repair", "none.db", "new.db"], "name the damaged ledger"),
    "completion": (["completion", "tcsh"], "'tcsh' is not one of 'bash'"),
    "help": (["help", "checks"], "did you mean `check`?"),
    "check": (["check"], "expected a command line, `interlock check 'LINE'`"),
    "check command": (["check", "command", "ls", "--run", "nobody"], "so does `interlock setup`"),
    "check edit": (["check", "edit", "app.py", "--new", "nowhere"], "`nowhere` cannot be read"),
    "check tool": (["check", "tool", "Bash", *_POLICY], "nowhere.toml: cannot be read"),
}
"""What is wrong with a call, and what is said of it; elsewhere it is the ledger that is named."""
NO_INPUT = {"tour", "doctor", "policy schema", "mcp pins", "mcp serve", "hook"}
"""They read nothing that a person could get wrong; a client is told by `mcp serve` and `hook`."""


@pytest.mark.parametrize("name", [each for each in COMMANDS if each not in NO_INPUT])
def test_bad_input_is_told_with_what_to_do(name: str, place: str) -> None:
    example, behind = examples(name)[0].words, len(name.split())
    end = next((at for at, each in enumerate(example) if each in "<>"), len(example))
    elsewhere = [*example[:behind], _OTHER, *example[behind:end]]
    words, told = BAD.get(
        name, (elsewhere, "`redis://` is not a kind of ledger: expected a path, or a URL")
    )

    done = interlock_process(*words)

    codes = (_NO_PROGRAM,) if name == "run" else (ExitCode.FAILED, ExitCode.MISUSED)
    assert done.returncode in codes, done
    assert done.stdout == b""
    assert told in done.stderr.decode(), done


def test_every_exit_code_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    _, _, table = page.partition("## Exit codes")
    table, _, _ = table.partition("## JSON")

    assert re.findall(r"^\| (\d+) \|", table, re.MULTILINE) == [
        str(each.value) for each in ExitCode
    ]
    for code in ("124", "125", "126", "127", "128 + N"):
        assert code in table
