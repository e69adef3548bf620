"""An error in a built-in file names the file, the entry and the field, on one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from interlock.cli.call.exit_code import ExitCode
from interlock.errors import InterlockError, RulesError
from interlock.service.policies.builtin_rules import Tables, tables_from
from interlock.service.policies.rule_compiler import documents_in, rule_texts

_CODE = """
import interlock
try:
    interlock.evaluate_command("ls")
except interlock.InterlockError as error:
    print(type(error).__name__, error)
"""


DOCUMENTS = documents_in(rule_texts())


def _complaints(kind: str, name: str, old: str, new: str) -> tuple[str, ...]:
    """Return the complaints about a file in which `old` is replaced by `new`."""
    text = rule_texts()[kind][name].decode()
    assert old in text
    with pytest.raises(RulesError) as caught:
        _read(kind, name, text.replace(old, new, 1).encode())
    return caught.value.complaints


def _read(kind: str, name: str, text: bytes) -> Tables:
    """Read all files, one of them with a different text."""
    changed = documents_in({kind: {name: text}})
    return tables_from({**DOCUMENTS, kind: {**DOCUMENTS[kind], **changed[kind]}})


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "expected"),
    [
        pytest.param(
            "packs",
            "git",
            'id = "notes-remove"',
            'id = "notes-remove"\nverb = ["x"]',
            "interlock/policy/actions/packs/git.toml: rule `notes-remove`:"
            " unknown field `verb`: did you mean `verbs`? known fields: `id`, `reason`,",
            id="unknown field of a rule",
        ),
        pytest.param(
            "packs",
            "git",
            'verbs = ["notes remove", "notes prune"]',
            'verbs = "notes remove"',
            "interlock/policy/actions/packs/git.toml: rule `notes-remove`: `verbs`:"
            ' `"notes remove"` is text; expected a list',
            id="wrong type in a rule",
        ),
        pytest.param(
            "packs",
            "git",
            'id = "notes-remove"',
            'id = "lfs-prune"',
            "interlock/policy/actions/packs/git.toml: rule `lfs-prune`: defined twice;",
            id="duplicate rule",
        ),
        pytest.param(
            "packs",
            "vendor",
            "[grammar]\n",
            '[grammar]\nmachines = ["x"]\n',
            "interlock/policy/actions/packs/vendor.toml: `grammar`:"
            " unknown field `machines`: did you mean `machine`? known fields: `services`,",
            id="unknown field of a grammar",
        ),
        pytest.param(
            "secrets",
            "ai",
            'id = "openai-key"',
            'id = "openai-key"\njugde = "x"',
            "interlock/secrets/packs/ai.toml: rule `openai-key`:"
            " unknown field `jugde`: did you mean `judge`? known fields: ",
            id="unknown field of a credential",
        ),
        pytest.param(
            "secrets",
            "ai",
            'id = "openai-key"\n',
            "",
            "interlock/secrets/packs/ai.toml: rule 1: the field `id` is missing: add it",
            id="missing field of a credential",
        ),
        pytest.param(
            "secrets",
            "ai",
            'id = "openai-key"',
            'id = "anthropic-key"',
            "interlock/secrets/packs/ai.toml: rule `anthropic-key`: defined twice;",
            id="duplicate credential",
        ),
        pytest.param(
            "programs",
            "programs",
            "isql = { sql = {} }",
            "isql = { sql = { codes = [] } }",
            "interlock/commands/programs/programs.toml: `isql`: `sql`:"
            " unknown field `codes`: did you mean `code`? known fields: `code`, `files`,",
            id="unknown field of a program",
        ),
        pytest.param(
            "programs",
            "programs",
            "isql = { sql = {} }",
            'isql = { shell = "posixx" }',
            "interlock/commands/programs/programs.toml: `isql`: `shell`:"
            ' `"posixx"` is unknown; did you mean `posix`?',
            id="unknown word of a program",
        ),
        pytest.param(
            "programs",
            "programs",
            "isql = { sql = {} }",
            "isql = { sql = {} }\nisql = {}",
            "interlock/commands/programs/programs.toml: not valid TOML:",
            id="duplicate program",
        ),
        pytest.param(
            "programs",
            "places",
            "[device]",
            "[devise]",
            "interlock/commands/programs/places.toml:"
            " unknown place `devise`: did you mean `device`? known places: `root`,",
            id="unknown place",
        ),
        pytest.param(
            "policy",
            "defaults",
            "[destructive-ops]\n",
            "[destructive-ops]\nenable = true\n",
            "interlock/policy/config/defaults.toml: `destructive-ops`:"
            " unknown field `enable`: did you mean `enabled`? known fields: ",
            id="unknown default",
        ),
        pytest.param(
            "policy",
            "presets",
            "diff-size.decision =",
            "diff-size.decisions =",
            "interlock/policy/config/presets.toml: `strict`: `diff-size`:"
            " unknown field `decisions`: did you mean `decision`? known fields: ",
            id="unknown key of a preset",
        ),
        pytest.param(
            "policy",
            "presets",
            "wall-time-s =",
            "wall-times =",
            "interlock/policy/config/presets.toml: `strict`: `budgets.run`:"
            " unknown limit `wall-times`: did you mean `wall-time-s`? known limits: `tokens`,",
            id="unknown limit of a preset",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_file_entry_and_field(
    kind: str, name: str, old: str, new: str, expected: str
) -> None:
    (complaint,) = _complaints(kind, name, old, new)

    assert complaint.startswith(expected)
    assert "\n" not in complaint


@pytest.mark.parametrize("kind", ["packs", "secrets", "programs", "policy"])
def test_invalid_toml_is_reported_with_its_line(kind: str) -> None:
    name = next(iter(DOCUMENTS[kind]))
    expected = rf"^interlock/[\w/-]+/{name}\.toml: not valid TOML: .*line 1"

    with pytest.raises(RulesError, match=expected):
        documents_in({kind: {name: b"[pack\n"}})


def test_all_mistakes_in_a_file_are_reported() -> None:
    complaints = _complaints("packs", "git", "\nreason = ", "\nraeson = ")

    assert len(complaints) == 2
    assert "unknown field `raeson`: did you mean `reason`?" in complaints[0]
    assert complaints[1].endswith("the field `reason` is missing: add it")


def test_the_command_line_prints_one_line_and_python_raises_rules_error(tmp_path: Path) -> None:
    copy = tmp_path / "interlock"
    shutil.copytree(str(files("interlock")), copy)
    pack = copy / "policy" / "actions" / "packs" / "git.toml"
    pack.write_text(pack.read_text().replace("\nreason = ", "\nraeson = 1\nreason = ", 1))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    asked = run("-m", "interlock", "check", "command", "git push")
    called = run("-c", _CODE)

    begins = "interlock/policy/actions/packs/git.toml: rule `"
    assert asked.returncode == ExitCode.FAILED
    assert asked.stdout == called.stderr == ""
    assert asked.stderr.startswith(f"Error: {begins}")
    assert asked.stderr.count("\n") == 1
    assert issubclass(RulesError, InterlockError)
    assert called.stdout.startswith(f"RulesError {begins}")
