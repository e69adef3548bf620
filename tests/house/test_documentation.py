from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import click
import msgspec
import pytest

import interlock
import interlock.values
from house.imports import modules
from house.repository import ROOT, name_of
from interlock import errors
from interlock.cli.command_group import cli
from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.service.policies.catalogue import pack_titles
from interlock.service.policies.policy_files import default_policy, load_policy
from interlock.views.action_explanation import explain
from patience import LONG_ENOUGH_S

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


class Sample(NamedTuple):
    page: str
    command: str
    output: str


def samples() -> Iterator[Sample]:
    for page in PAGES:
        for block in re.findall(r"```console\n\$ (.*?)```", page.read_text(), re.DOTALL):
            command, _, output = block.partition("\n")
            yield Sample(name_of(page), command, output)


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "generated_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "sample", list(samples()), ids=lambda sample: f"{sample.page}: {sample.command}"
)
def test_every_sample_shows_what_is_really_printed(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "INTERLOCK_CONFIG_HOME": str(tmp_path / "config"),
        "COLUMNS": "80",
    }

    result = subprocess.run(
        ["bash", "-c", sample.command],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
        timeout=LONG_ENOUGH_S,
    )

    assert result.stdout == sample.output
    assert result.stderr == ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_python_sample_holds(page: Path) -> None:
    blocks = re.findall(r"```python\n(>>> .*?)```", page.read_text(), re.DOTALL)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    names: dict[str, object] = {}

    for number, block in enumerate(blocks):
        test = parser.get_doctest(block, names, f"{name_of(page)} {number}", str(page), 0)
        runner.run(test, clear_globs=False)
        names = test.globs

    assert runner.failures == 0


@pytest.mark.parametrize(
    "block",
    [
        block
        for page in PAGES
        if page.name != "where-do-i-add.md"
        for block in re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    ],
)
def test_every_sample_of_a_policy_loads(block: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(block)

    assert load_policy(user=file).hash != default_policy().hash


_ADDED_BY_RECIPES = {
    "cli/commands/project_command.py",
    "policy/gates/line_length_gate.py",
    "views/project_view.py",
}


@pytest.mark.parametrize("name", ["design.md", "where-do-i-add.md", "contributing.md"])
def test_every_file_that_a_page_names_is_there(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    if name == "contributing.md":
        text = (ROOT / "CONTRIBUTING.md").read_text()

    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    named = re.findall(r"`([\w/-]+(?:/|\.(?:py|toml|md|svg)))`", prose)
    places = (
        ROOT,
        ROOT / "src" / "interlock",
        ROOT / "src" / "interlock" / "commands" / "programs",
    )
    missing = {path for path in named if not any((place / path).exists() for place in places)}
    assert missing <= {"adapters/", *_ADDED_BY_RECIPES}


def test_the_picture_names_modules_that_there_are() -> None:
    picture = (ROOT / "docs" / "pictures" / "way-of-a-question.svg").read_text()

    named = re.findall(r'class="module"[^>]*>([\w.]+)<', picture)
    questions = [f"service.questions.{name}" for name in named if name.endswith("_question")]
    others = [name for name in named if not name.endswith("_question")]
    assert len(questions) == 5
    assert [name for name in questions + others if f"interlock.{name}" not in modules()] == []


def test_the_picture_of_the_loop_names_modules_that_there_are() -> None:
    picture = (ROOT / "docs" / "pictures" / "the-loop.svg").read_text()

    named = re.findall(r'class="module"[^>]*>([\w.]+)<', picture)
    assert len(named) >= 15
    assert [name for name in named if f"interlock.{name}" not in modules()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text())

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_reached_from_the_first() -> None:
    index = (ROOT / "docs" / "index.md").read_text()

    named = set(re.findall(r"^[\w-]+$", index, re.MULTILINE))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= named


def test_the_command_line_page_has_every_command(generated: ModuleType) -> None:
    text = generated.command_line()

    missing = [path for path in _command_paths(cli, "interlock") if f"## `{path}`" not in text]
    assert missing == []


def test_the_pages_written_by_hand_name_every_command() -> None:
    text = "".join(page.read_text() for page in PAGES)

    assert [
        name for name in cli.list_commands(click.Context(cli)) if f"interlock {name}" not in text
    ] == []


def test_the_question_page_names_every_gate() -> None:
    text = (ROOT / "docs" / "how-it-decides.md").read_text()
    picture = (ROOT / "docs" / "pictures" / "every-gate.svg").read_text()

    for gate in _gates():
        assert f"| `{gate}` |" in text
        assert f">{gate}</text>" in picture


def test_the_catalogue_has_every_pack_and_every_rule(generated: ModuleType) -> None:
    text = generated.rule_catalogue()

    packs = [pack for pack in pack_titles() if pack != "rules"]
    assert [pack for pack in packs if f"\n## `{pack}`: " not in text] == []
    rules = default_policy().rulebook.rules
    assert [rule for rule in rules if f"\n`{rule}` (" not in text] == []


def test_the_policy_reference_has_every_section(generated: ModuleType) -> None:
    text = generated.policy_reference()

    sections = re.findall(r"^## `\[(.*)\]`$", text, re.MULTILINE)
    assert {"limits", "secrets", "destructive-ops", "protected-paths", "diff-size"} <= set(sections)


_PUBLIC = (interlock, interlock.values)


def test_the_python_page_names_what_is_exported_and_nothing_else() -> None:
    text = (ROOT / "docs" / "python-api.md").read_text()

    named = re.findall(r"^\.\. (?:auto\w+|py:data):: (interlock\.[\w.]+)", text, re.MULTILINE)
    public = [f"{module.__name__}.{name}" for module in _PUBLIC for name in module.__all__]
    public += [
        f"interlock.errors.{name}"
        for name in vars(errors)
        if name.endswith("Error") and name not in interlock.__all__
    ]
    assert sorted(named) == sorted(public)


def test_every_exported_name_can_be_loaded_and_described() -> None:
    exported_names = [(module, name) for module in _PUBLIC for name in module.__all__]
    for module, name in exported_names:
        exported = getattr(module, name)
        assert exported is not None
        described = isinstance(exported, msgspec.StructMeta | FunctionType)
        assert not described or inspect.signature(exported) is not None


def _command_paths(command: click.Command, path: str) -> Iterator[str]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _command_paths(child, f"{path} {name}")


def _gates() -> list[str]:
    actions = (
        CommandAction(command="ls"),
        ToolAction(name="Read", params={}),
        EditAction(path="a", content=""),
    )
    steps = [step for action in actions for step in explain(action, default_policy()).steps]
    gates = {step.text.partition(":")[0] for step in steps if step.stage == "gate"}
    return sorted(gates - {"the strictest counts"})
