"""The recipes of `docs/where-do-i-add.md`, followed as printed in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from house.repository import ROOT, sources
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from ledger.events import KEY

PAGE = (ROOT / "docs" / "where-do-i-add.md").read_text()
_FOLLOWED = """
import json, sys
from click.testing import CliRunner
from interlock import Interlock
from interlock.cli.command_group import cli
from interlock.policy.evidence.tool_output import counts_in

ledger, policy = sys.argv[1:]
with Interlock.open(ledger) as interlock:
    for _ in range(2):
        interlock.run("t", project="shop")

def run(*words):
    result = CliRunner().invoke(cli, words)
    return [result.exit_code, result.output]

def check(line, *options):
    _, output = run("check", "command", "--json", *options, line)
    return [[each["rule"], each["short"]] for each in json.loads(output)["findings"]]

json.dump(
    {
        "policy test": run("policy", "test", "--json"),
        "rule": check("larder expire shop"),
        "zap": check("zap --log --force -r ~/src"),
        "rm": check("rm -r ~/src"),
        "gate": check("echo hello world", "--policy", policy),
        "idle": check("echo hello world"),
        "projects": run("projects", "--ledger", ledger),
        "help": [run("--help")[1], run("projects", "--help")[1]],
        "counts": [(counts := counts_in("zap: 3 passed, 1 failed\\n")).passed, counts.failed],
    },
    sys.stdout,
)
"""


def blocks(text: str) -> dict[str, list[str]]:
    """Return the code blocks below each heading of a page."""
    found = defaultdict[str, list[str]](list)
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        for block in re.findall(r"^( *)```\w+\n(.*?)^\1```", part, re.DOTALL | re.MULTILINE):
            found[part.partition("\n")[0]].append(textwrap.dedent(block[1]))
    return found


RECIPES = blocks(PAGE)


def put(file: Path, above: str, *added: str, indent: int = 0) -> None:
    """Insert lines into a file, above an existing one."""
    text = file.read_text()
    assert text.count(above) == 1, above
    lines = textwrap.indent("".join(added), " " * indent)
    file.write_text(text.replace(above, f"{lines}{above}"))


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Apply every recipe to a copy of the package; return what the copy then does."""
    above = tmp_path_factory.mktemp("recipes")
    package = above / "interlock"
    shutil.copytree(ROOT / "src" / "interlock", package)

    (rule,), (program,) = RECIPES["A rule"], RECIPES["A program"]
    with (package / "policy/actions/packs/backups.toml").open("a") as pack:
        pack.write(f"\n{rule}")
    put(package / "commands/programs/programs.toml", "isql = {", program)

    section, field, limit = RECIPES["A key"]
    sections = package / "policy/config/action_sections.py"
    put(sections, "class DiffSize(Section,", section, textwrap.indent(limit, " " * 4), "\n\n")
    document = package / "policy/config/document.py"
    put(document, "    DiffSize,\n", "    LineLength,\n")
    put(document, "    diff_size: DiffSize\n", field, indent=4)

    (gate,) = RECIPES["A gate"]
    (package / "policy/gates/line_length_gate.py").write_text(gate)
    judgement = package / "policy/gates/judgement.py"
    put(judgement, "    hold_gate,\n", "    line_length_gate,\n")
    put(judgement, "    allowlist_gate.GATE,\n", "    line_length_gate.GATE,\n")

    command, summary, home = RECIPES["A command"]
    (package / "cli/commands/project_command.py").write_text(command)
    (view,) = RECIPES["A view"]
    (package / "views/project_view.py").write_text(view)
    group = package / "cli/command_group.py"
    put(group, '        "runs": "List the latest', summary, indent=8)
    put(group, '        ("commands.watch_commands"', f"{home.rstrip()},\n", indent=8)

    (runner,) = RECIPES["A test runner, a linter, a manifest"]
    evidence = package / "policy/evidence/tool_output.py"
    text = evidence.read_text()
    evidence.write_text(text.replace("_RUNNERS: Final = (", f"_RUNNERS: Final = ({runner}, ", 1))

    policy = above / "policy.toml"
    policy.write_text("[line-length]\nenabled = true\ncharacters = 5\nmost = 9\n")
    done = subprocess.run(
        [sys.executable, "-c", _FOLLOWED, str(above / "ledger.db"), str(policy)],
        cwd=above,
        env={**os.environ, "PYTHONPATH": str(above), "INTERLOCK_CONFIG_HOME": str(above / "own")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_recipe_with_code_is_followed() -> None:
    assert {heading: len(printed) for heading, printed in RECIPES.items()} == {
        "A rule": 1,
        "A program": 1,
        "A key": 3,
        "A gate": 1,
        "A command": 3,
        "A view": 1,
        "A store": 1,
        "A test runner, a linter, a manifest": 1,
    }


def test_the_rule_matches_and_its_examples_pass(followed: dict[str, Any]) -> None:
    code, output = followed["policy test"]

    assert followed["rule"] == [["backups.larder-expire", "ask"]]
    assert code == 0, output
    assert followed["idle"] == []


def test_the_program_deletes_like_rm(followed: dict[str, Any]) -> None:
    assert followed["zap"] == followed["rm"] != []


def test_the_gate_uses_its_keys(followed: dict[str, Any]) -> None:
    assert followed["gate"] == [["line-length.characters", "warn"]]


def test_the_command_shows_the_view(followed: dict[str, Any]) -> None:
    assert followed["projects"] == [0, "shop  2 runs\n"]
    every, own = followed["help"]
    assert "  projects         List the projects that have runs.\n" in every
    assert "  Examples:\n    interlock projects\n" in own


def test_the_output_of_the_runner_is_counted(followed: dict[str, Any]) -> None:
    assert followed["counts"] == [3, 1]


def test_the_store_fits_into_the_contract_tests() -> None:
    (case,) = RECIPES["A store"]
    names: dict[str, Any] = {"ScratchStore": MemoryStore}
    exec(f"def open_store(param):\n  match param:\n{textwrap.indent(case, ' ' * 4)}", names)

    opened = names["open_store"]("scratch")
    with Ledger(opened(), key=KEY) as ledger:
        assert list(ledger.rows.runs(limit=1)) == []
    assert opened() is opened()


def test_every_name_on_the_page_is_in_the_code() -> None:
    prose = re.sub(r"^ *```.*?^ *```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`(_?[A-Za-z]\w*(?:_\w+|[A-Z]\w*)\w*)`", prose)) - {"LineLength"}
    code = "".join(path.read_text() for path in sources("src", "tests"))

    assert len(named) >= 20
    # What begins with the name itself is found many times faster.
    assert [name for name in named if not re.search(rf"{name}\b(?<=\b{name})", code)] == []
