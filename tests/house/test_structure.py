"""The plan of the house: what a name, a file and a folder may be, and who may know whom."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict

from house.imports import circles, folder_of, imports, is_folder, modules
from house.repository import name_of

_VAGUE = {"utils", "util", "helpers", "helper", "common", "core", "manager", "base", "misc"}
_ROOT = "interlock"
_MOST_LINES = 600
_FEWEST_LINES = 40
_MOST_FILES = 14

_ONE_FILE_EACH = {
    "interlock.cli.commands",
    "interlock.model",
    "interlock.policy.gates",
    "interlock.views",
}
"""Folders that are a list: a file per command, noun, gate or view, however small or many."""

_SHADOWS = {"interlock.commands.code", "interlock.secrets"}
"""Packages named like standard modules; Python starts without importing any of those."""
_STARTING = """
import argparse, asyncio, collections, contextlib, dataclasses, enum, functools, inspect, json
import logging, operator, os, pathlib, re, site, subprocess, tempfile, threading, traceback, types
import typing, unittest, uuid
"""

FILES = [name for name in modules() if not is_folder(name)]
FOLDERS = [name for name in modules() if is_folder(name)]


def last(module: str) -> str:
    return module.rpartition(".")[2]


def lines(module: str) -> int:
    return len(modules()[module].read_text().splitlines())


def importers(module: str) -> list[str]:
    return [name for name, targets in imports().items() if module in targets]


def test_no_name_stands_for_two_modules() -> None:
    places = defaultdict[str, list[str]](list)
    for module in FILES:
        places[last(module)].append(name_of(modules()[module]))

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_module_is_named_after_an_activity() -> None:
    assert [module for module in modules() if last(module).endswith("ing")] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [module for module in modules() if _VAGUE & set(last(module).split("_"))] == []


def test_no_folder_knows_the_one_it_stands_in() -> None:
    """The files beside the outermost folders are floors of their own: contracts hold those."""
    known = [
        f"{module} imports {target}"
        for module, targets in imports().items()
        for target in targets
        if folder_of(target) != _ROOT and folder_of(module).startswith(f"{folder_of(target)}.")
    ]

    assert sorted(known) == []


def test_no_modules_import_one_another_in_a_circle() -> None:
    assert circles(imports()) == []


def test_no_folders_import_one_another_in_a_circle() -> None:
    graph = {folder: set[str]() for folder in FOLDERS}
    for module, targets in imports().items():
        graph[folder_of(module)] |= {folder_of(target) for target in targets}

    apart = {
        folder: frozenset(targets - {folder, _ROOT})
        for folder, targets in graph.items()
        if folder != _ROOT
    }
    assert circles(apart) == []


def test_no_file_has_two_subjects() -> None:
    sizes = {module: lines(module) for module in FILES}

    assert {module: size for module, size in sizes.items() if size > _MOST_LINES} == {}


def test_no_fragment_stands_apart_from_the_only_one_who_uses_it() -> None:
    fragments = [
        f"{module} ({lines(module)} lines) belongs to {importers(module)[0]}"
        for module in FILES
        if lines(module) < _FEWEST_LINES
        and len(importers(module)) == 1
        and folder_of(module) not in _ONE_FILE_EACH
    ]

    assert fragments == []


def test_no_folder_has_more_files_than_one_can_take_in() -> None:
    sizes = Counter(map(folder_of, FILES))

    many = {folder: size for folder, size in sizes.items() if size > _MOST_FILES}
    assert {folder: many[folder] for folder in many.keys() - _ONE_FILE_EACH} == {}


def test_python_starts_in_every_folder() -> None:
    """Modules in the current folder hide those of the standard library."""
    shadows = {module for module in modules() if last(module) in sys.stdlib_module_names}
    assert shadows == _SHADOWS

    for module in shadows:
        folder = modules()[module].parents[1]
        subprocess.run([sys.executable, "-c", _STARTING], cwd=folder, check=True)
