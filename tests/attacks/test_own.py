"""Can an agent act as a person, or change what watches it? Its own commands, by effect."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

import interlock
from interlock import (
    AsyncInterlock,
    AsyncRun,
    Decision,
    Interlock,
    Run,
    evaluate_command,
    load_policy,
)
from interlock.backtest.run_replay import replay_run
from interlock.cli.command_group import cli
from interlock.service.policies.builtin_rules import command_packs, programs

_CASES = tomllib.loads(Path(__file__).with_name("own.toml").read_text("utf-8"))
_FREE = "free"


def _cases(least: str) -> list[object]:
    return [
        pytest.param(line, id=f"{kind}: {line}")
        for kind in _CASES[least]
        for line in _CASES[least][kind]
    ]


@pytest.mark.parametrize("line", _cases("block"))
def test_it_is_refused(line: str):
    assert evaluate_command(line).decision is Decision.BLOCK


@pytest.mark.parametrize("line", _cases("require-confirmation"))
def test_it_is_asked_about(line: str):
    assert evaluate_command(line).decision.rank >= Decision.REQUIRE_CONFIRMATION.rank


@pytest.mark.parametrize("line", _cases(_FREE))
def test_its_neighbour_is_free(line: str):
    assert evaluate_command(line).findings == ()


def _commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that a person can type, with its words."""
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _commands(inner, (*words, name))


_TYPED = dict(_commands(cli))
_OPERATORS = (
    "approve", "deny", "review resolve", "halt", "resume", "budget",
    "ledger repair", "ledger anchor", "setup", "operator", "policy adopt", "loop freeze",
    "loop unfreeze", "loop cancel", "recommendations apply", "recommendations dismiss",
    "recommendations undo", "token", "login", "ledger archive", "install", "uninstall", "mcp trust",
    "audit mark",
)  # fmt: skip


@pytest.mark.parametrize("words", _TYPED)
def test_every_command_is_known_to_be_harmless_or_not(words: str):
    """A new command must be listed: with those that only a person runs, or with the harmless."""
    rules = {rule.id: rule for pack in command_packs() for rule in pack.rules}
    decided, known = rules["gate-decide"].verbs, rules["gate-unknown"].unless_verbs

    leading = {" ".join(words.split()[:length]) for length in (1, 2)}

    assert leading & {*decided, *known} or words in {"init", "completion"}
    assert bool(leading & {*decided}) == words.startswith(_OPERATORS)


def test_its_options_are_read_as_it_reads_them():
    """Were a value taken for a verb, or a verb for a value, `--reason check approve` would pass."""
    options = [
        each
        for command in _TYPED.values()
        for each in command.params
        if isinstance(each, click.Option)
    ]
    with_values = {
        name for each in options if not each.is_flag and not each.count for name in each.opts
    }

    assert with_values <= programs().of("interlock").values


_ASKING_METHODS = frozenset(
    "run resume open approvals operators wait undo close governor ledger id state history child"
    " command tool may_edit ask apply_edits observe observe_unasked usage violation"
    " step steps stopped belief review verdict finish checkpoint checkpoint_store propose"
    " statistics tokens sign_out".split()
)


@pytest.mark.parametrize("owner", [Interlock, AsyncInterlock, Run, AsyncRun])
def test_every_method_is_known_to_decide_or_not(owner: type):
    """A new method must be listed: in the rule about what people decide, or among the harmless."""
    for name in [each for each in vars(owner) if not each.startswith("_")]:
        line = f"python -c 'import interlock; interlock.Interlock.open().x.{name}(1)'"
        is_refused = evaluate_command(line).decision is Decision.BLOCK
        assert is_refused == (name not in _ASKING_METHODS), name


def test_what_is_harmless_stays_free_and_nothing_else_is():
    for words in _TYPED:
        free = evaluate_command(f"interlock {words} 01a1").findings == ()
        asked = ("init", "completion", "checkpoint restore", "loop run", "loop tick", "serve")
        asked = (*asked, "mcp serve")
        assert free == (not words.startswith((*_OPERATORS, *asked))), words


_PREFIX = Path(sys.prefix)
_SITE = Path(msgspec.__file__).parent.parent
_PACKAGE = Path(interlock.__file__).parent


def _word(path: object) -> str:
    return shlex.quote(str(path))


@pytest.mark.parametrize(
    "line",
    [
        f"rm -rf {_word(_PREFIX)}",
        f"cd {_word(_PREFIX.parent)} && rm -rf {_word(_PREFIX.name)}",
        f"cd {_word(_PREFIX.parent)} && mv {_word(_PREFIX.name)} old",
        f"mv {_word(_PREFIX / 'bin')} /tmp/x",
        f"rm -rf {_word(_PREFIX / 'lib')}",
        f"chmod 000 {_word(_PREFIX)}",
        f"chmod -R a-r {_word(_PREFIX)}",
        f"cp evil {_word(_PREFIX / 'bin' / 'python')}",
        f"ln -sf /tmp/evil {_word(_PREFIX / 'bin' / 'python3')}",
        f"tar xf x.tar -C {_word(_PREFIX)}",
        f"rsync -a evil/ {_word(_PREFIX)}/",
        f"pip install --prefix {_word(_PREFIX)} evil",
        f"pip install --target {_word(_SITE)} evil",
        f"pip install --target {_word(_PACKAGE.parent)} evil",
        f"echo x > {_word(_SITE / 'msgspec' / '__init__.py')}",
        f"cp x.so {_word(_SITE / 'apsw')}/",
        f"rm -rf {_word(_SITE / 'rapidfuzz')}",
        f"sed -i s/a/b/ {_word(_SITE / 'click' / 'core.py')}",
        f"echo x > {_word(_SITE / 'evil.pth')}",
        f"rm -rf {_word(_PACKAGE)}",
        f"mv {_word(_PACKAGE.parent)} /tmp/x",
        f"rm -rf {_word(_PACKAGE.parent)}",
        f"chmod 000 {_word(_PACKAGE.parent)}",
        f"tar xf e.tar -C {_word(_PACKAGE.parent)}",
        f"patch -p1 -d {_word(_PACKAGE.parent)} < x",
    ],
)
def test_what_it_runs_with_is_not_taken_away_or_replaced(line: str):
    assert evaluate_command(line).decision.rank >= Decision.REQUIRE_CONFIRMATION.rank


@pytest.mark.parametrize(
    "line",
    [
        f"ls {_word(_PREFIX)} {_word(_SITE)}",
        f"cat {_word(_SITE / 'msgspec' / '__init__.py')}",
        f"grep -rn TODO {_word(_SITE)}",
        f"du -sh {_word(_PREFIX)}",
        f"{_word(_PREFIX / 'bin' / 'python')} x.py",
        f"{_word(_PREFIX / 'bin' / 'pip')} install requests",
        f"uv pip install --python {_word(_PREFIX / 'bin' / 'python')} requests",
        f"mypy --python-executable {_word(_PREFIX / 'bin' / 'python')} src",
        f"cp -r {_word(_PREFIX)} /tmp/copy",
        f"find {_word(_PREFIX)} -name '*.py'",
        f"cd {_word(_PREFIX.parent / 'web')} && rm -rf build dist",  # its parent may be a home
        f"cd {_word(_PREFIX.parent)} && python -m venv other",
        f"cd {_word(_PACKAGE.parent)} && touch other.py",
        f"chmod u+rwX {_word(_PREFIX)}",
    ],
)
def test_what_uses_it_is_free(line: str):
    assert evaluate_command(line).findings == ()


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, Path]:
    """Return unusual places for everything that belongs to a ledger."""
    (tmp_path / "elsewhere").mkdir()
    return {name: tmp_path / "elsewhere" / name for name in ("ledger.db", "keys", "undo")}


def opened(elsewhere: dict[str, Path]) -> Interlock:
    """Open the ledger that is there."""
    return Interlock.open(
        elsewhere["ledger.db"],
        policy=load_policy(),
        keys=elsewhere["keys"],
        undo_store=elsewhere["undo"],
    )


def test_its_places_are_protected_wherever_it_is_told_to_be(elsewhere: dict[str, Path]):
    with opened(elsewhere) as interlock:
        run = interlock.run("look around")

        for line in (
            f"cat {elsewhere['keys']}/a.key",
            f"rm {elsewhere['ledger.db']}-wal",
            f"sqlite3 {elsewhere['ledger.db']} 'delete from records'",
            f"tar xf evil.tar -C {elsewhere['undo']}",
            f"cd {elsewhere['undo']} && unzip /tmp/evil.zip",
        ):
            assert run.command(line).decision is Decision.BLOCK, line
        assert run.may_edit(str(elsewhere["undo"] / "x"), "y").decision is Decision.BLOCK
        assert run.command(f"ls {elsewhere['undo']}").decision is Decision.ALLOW


def test_a_run_goes_by_the_places_that_were_recorded_when_it_began(
    elsewhere: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An agent that moves the settings for its own process does not move what is protected."""
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "settings"))
    line = f"cat {tmp_path}/settings/operator-token"
    with opened(elsewhere) as interlock:
        run_id = interlock.run("look around").id
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "other"))
    with opened(elsewhere) as interlock:
        run = interlock.resume(run_id)

        assert run.command(line).decision is Decision.BLOCK
        assert str(tmp_path / "settings") in run.state.own_places.secrets
        monkeypatch.setenv("HOME", str(tmp_path / "third"))
        assert all(each.is_same for each in replay_run(interlock.ledger.rows, run_id))


def test_the_record_of_a_run_names_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INTERLOCK_LEDGER", "postgresql://ada:hunter2@db.example/audit")
    with opened({name: tmp_path / name for name in ("ledger.db", "keys", "undo")}) as interlock:
        run = interlock.run("look around")

        assert run.state.own_places.databases == ("db.example/audit",)
        assert "hunter2" not in str(run.state)
        answer = run.command("psql -h db.example audit -c 'delete from records'")
        assert answer.decision is Decision.BLOCK
