"""The names that a snippet gives to modules and to what it takes out of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from interlock.commands.code.known import known_calls
from interlock.commands.code.results import module_path
from interlock.commands.code.tokens import Language

Importer = Callable[[str, int], Iterator[tuple[str, str]]]


def importer_of(language: Language, keyword: str) -> Importer | None:
    """Return what reads the names that a statement with this keyword imports."""
    importers = _IMPORTERS.get(language)
    return None if importers is None else importers.get(keyword)


def _python_names(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name with what it stands for: `import numpy as np` gives `np`, `numpy`."""
    found = _python_import().match(code, start)
    for clause in found[1].split(",") if found else ():
        module, _, alias = clause.strip().partition(" as ")
        if alias:
            yield alias.strip(), module.strip()


def _python_names_from(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name with what it stands for: `from os import remove` gives `os.remove`."""
    found = _python_from_import().match(code, start)
    if found is None:
        return
    module, names = found.groups()
    for clause in names.split(","):
        name, _, alias = clause.strip(" \t\n()").partition(" as ")
        if name == "*":
            yield from _known_names_of(module)
        else:
            yield (alias or name).strip(), f"{module}.{name.strip()}"


def _known_names_of(module: str) -> Iterator[tuple[str, str]]:
    """Return the names that `from module import *` brings and that matter."""
    for path in known_calls(Language.PYTHON):
        owner, _, name = path.rpartition(".")
        if owner == module:
            yield name, path


def _javascript_names(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name with what it stands for: `import {rm} from "fs"` gives `fs.rm`."""
    found = _javascript_import().match(code, start)
    if found is not None:
        module = module_path(found["module"])
        yield from _taken_out(found["names"] or "", module)
        yield found["whole"].strip(" ,\t\n").rpartition(" ")[2], module


def _javascript_unpacked(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name of `const {rm, cp: copy} = require("fs")` with what it stands for."""
    found = _javascript_unpacking().match(code, start)
    if found is not None:
        owner = found["owner"]
        path = module_path(found["module"]) + found["rest"] if found["module"] else owner
        yield from _taken_out(found["names"], path)


def _taken_out(names: str, module: str) -> Iterator[tuple[str, str]]:
    for clause in names.split(","):
        name, _, alias = clause.replace(" as ", ":").partition(":")
        yield (alias or name).strip(), f"{module}.{name.strip()}"


_IMPORTERS: Final[Mapping[Language, Mapping[str, Importer]]] = {
    Language.PYTHON: {"import": _python_names, "from": _python_names_from},
    Language.JAVASCRIPT: {
        "import": _javascript_names,
        "const": _javascript_unpacked,
        "let": _javascript_unpacked,
        "var": _javascript_unpacked,
    },
}


# INVARIANT: every repetition is bounded, so that a snippet of nothing but keywords stays linear.
@cache
def _python_import() -> re.Pattern[str]:
    return re.compile(r"import[ \t]{1,9}([\w., \t]{1,400})")


@cache
def _python_from_import() -> re.Pattern[str]:
    names = r"(\([\w,\s]{1,800}|[\w, \t*]{1,400})"
    return re.compile(rf"from[ \t]{{1,9}}([\w.]{{1,200}})[ \t]{{1,9}}import[ \t]{{0,9}}{names}")


@cache
def _javascript_import() -> re.Pattern[str]:
    return re.compile(
        r"import\s{1,9}(?:type\s{1,9})?(?P<whole>[\w$*, \t\n]{0,200})"
        r"(?:\{(?P<names>[\w$,\s]{0,400})\}\s{0,9}from|(?<=\s)from)\s{0,9}"
        r"['\"](?P<module>[^'\"\n]{0,100})['\"]"
    )


@cache
def _javascript_unpacking() -> re.Pattern[str]:
    return re.compile(
        r"(?:const|let|var)\s{0,9}\{(?P<names>[\w$,:\s]{0,400})\}\s{0,9}=\s{0,9}(?:await\s{1,9})?"
        r"(?:(?:require|import)\s{0,9}\(\s{0,9}['\"](?P<module>[^'\"\n]{0,100})['\"]\s{0,9}\)"
        r"(?P<rest>(?:\.\w{1,40}){0,4})|(?P<owner>[\w$.]{1,100}))"
    )
