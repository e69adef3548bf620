"""Make targets, the workflow, hooks, templates and pages agree with each other."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from house.repository import ROOT, files, name_of

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"
PAGES = [path for path in files() if path.suffix == ".md" and "tests" not in path.parts]
GROUPS = ["Use", "Develop", "Check", "Measure", "Release"]


@cache
def help_groups() -> dict[str, list[str]]:
    """Return the targets that `make help` lists, by group."""
    text = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {
        heading: re.findall(r"^  ([a-z-]+) +\S", body, re.MULTILINE)
        for heading, _, body in (part.partition("\n") for part in text.split("\n\n"))
    }


def listed_targets() -> list[str]:
    return [target for targets in help_groups().values() for target in targets]


def named_targets(path: Path) -> set[str]:
    """Return the make targets that a page or a configuration names."""
    text = path.read_text()
    code = re.findall(r"^ *```.*?^ *```", text, re.DOTALL | re.MULTILINE)
    found = re.findall(r"(?:`|run: )make ([a-z][a-z-]*)", text)
    found += re.findall(r"^\s*(?:\$ )?make ([a-z][a-z-]*)", "\n".join(code), re.MULTILINE)
    return set(found)


def load_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def workflow_jobs() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.stem}: {name}", job)
        for path in WORKFLOWS
        for name, job in load_yaml(path)["jobs"].items()
    ]


def supported_versions() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (re.fullmatch(r".*:: (3\.\d+)", each) for each in project["classifiers"])
    return [match[1] for match in found if match]


def test_make_help_lists_every_target_in_a_group() -> None:
    assert list(help_groups()) == GROUPS
    assert all(help_groups().values())
    assert len(listed_targets()) == len(set(listed_targets()))


def test_a_target_that_make_help_omits_is_used_by_another() -> None:
    text = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)

    assert set(listed_targets()) <= set(phony.split())
    for target in set(phony.split()) - set(listed_targets()):
        uses = re.findall(rf"^(?:[\w-]+:|\t).*(?<=\s){target}(?=\s|$)", text, re.MULTILINE)
        assert uses, target


@pytest.mark.parametrize(
    "path",
    [path for path in (*PAGES, *WORKFLOWS, HOOKS) if named_targets(path)],
    ids=name_of,
)
def test_every_target_that_a_page_or_workflow_names_is_in_make_help(path: Path) -> None:
    assert named_targets(path) <= set(listed_targets())


def test_the_main_pages_and_the_workflow_name_targets() -> None:
    naming = {name_of(path) for path in (*PAGES, *WORKFLOWS, HOOKS) if named_targets(path)}

    assert {"README.md", "CONTRIBUTING.md", ".github/workflows/test.yml"} <= naming


def test_the_workflow_tests_every_supported_python() -> None:
    jobs = load_yaml(ROOT / ".github" / "workflows" / "test.yml")["jobs"]
    set_up = [step["with"] for step in jobs["dist"]["steps"] if "setup-python" in str(step)]

    assert jobs["test"]["strategy"]["matrix"]["python"] == supported_versions()
    assert jobs["test"]["steps"][-1] == {"run": "make test PYTHON=python"}
    assert set_up[0]["python-version"].split() == supported_versions()
    assert jobs["dist"]["steps"][-1] == {"run": "make dist"}


@pytest.mark.parametrize(("version", "replaced"), [(sys.version, False), ("3.10.0", True)])
def test_a_python_that_is_named_replaces_an_environment_of_another_and_keeps_its_own(
    version: str, replaced: bool, tmp_path: Path
) -> None:
    (tmp_path / "src" / "interlock").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ncat <<'.'\n{version}\n.\n")
    python.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()

    planned = subprocess.run(
        ["make", "--dry-run", "install", f"PYTHON={sys.executable}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert ("setting up .venv" in planned) is replaced


@pytest.mark.parametrize("path", WORKFLOWS, ids=name_of)
def test_a_workflow_has_read_permission_only(path: Path) -> None:
    workflow = load_yaml(path)

    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values())


@pytest.mark.parametrize(("name", "job"), workflow_jobs())
def test_a_job_has_a_timeout_and_runs_only_pinned_actions(name: str, job: dict[str, Any]) -> None:
    assert 0 < job["timeout-minutes"] <= 60
    for step in job["steps"]:
        assert "run" in step or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"])


def test_hooks_are_local_and_run_what_make_install_installs() -> None:
    for repository in load_yaml(HOOKS)["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            program, *words = hook["entry"].split()
            assert hook["language"] == "system"
            assert re.fullmatch(r"\.venv/bin/(?:ruff|python)", program)
            assert all((ROOT / each).exists() for each in words if each.startswith("tests/"))


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=name_of
)
def test_an_issue_template_is_complete(path: Path) -> None:
    template = load_yaml(path)
    if path.name == "config.yml":
        assert template == {"blank_issues_enabled": True}
        return

    fields = [field for field in template["body"] if field["type"] != "markdown"]
    assert {"name", "description", "body"} <= template.keys()
    assert all(field["attributes"]["label"] for field in fields)
    assert len({field["id"] for field in fields}) == len(fields)


def test_the_editor_and_the_linter_agree_on_line_length() -> None:
    editor = configparser.ConfigParser()
    editor.read_string(f"[top]\n{(ROOT / '.editorconfig').read_text()}")
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]

    assert editor["*.py"].getint("max_line_length") == linter["line-length"]


def test_the_security_policy_names_the_threat_model() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "SECURITY.md").read_text())

    assert links == ["docs/threat-model.md"]
    assert (ROOT / links[0]).exists()
