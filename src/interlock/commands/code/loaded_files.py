"""Which files a snippet runs as code: `require("./a")`, `load "a.rb"`, `import a`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.commands.code.code_tokens import Language

_ENDINGS: Final = {
    Language.PYTHON: (".py", "/__init__.py"),
    Language.JAVASCRIPT: (".js", ".mjs", ".cjs", ".ts", "/index.js"),
    Language.RUBY: (".rb",),
    Language.PERL: (".pm", ".pl"),
    Language.PHP: (".php",),
    Language.LUA: (".lua",),
    Language.R: (".R",),
}
"""What a name may lack at its end."""
_DATA: Final = (".json", ".json5", ".csv", ".txt", ".yaml", ".yml", ".toml", ".wasm", ".css")
_DOTTED: Final = frozenset((Language.PYTHON, Language.LUA))
"""Where a dot in the name of a module is a folder."""
_NAMED: Final = re.compile(
    r"""\b(?:require(?:_relative|_once)?|include(?:_once)?|import|importScripts|from|load|autoload
    |do|dofile|loadfile|source|sys\.source|run_path|run_module|import_module|__import__
    |SourceFileLoader|spec_from_file_location)\b
    [ \t]{0,9}\(?[ \t]{0,9}(?:\w{1,40}['"]?,[ \t]{0,9}|['"]\w{1,40}['"],[ \t]{0,9})?
    ['"]([^'"\n]{1,400})['"]""",
    re.VERBOSE,
)
_IMPORTED: Final = re.compile(
    r"(?m)(?:^|;)[ \t]{0,40}(?:import|from|use|require)[ \t]+([\w.:, \t]+)"
)


def files_loaded(code: str, language: Language) -> Iterator[str]:
    """Yield every path at which a file may lie that the snippet runs; most of them do not exist."""
    for found in _NAMED.finditer(code):
        yield from module_files(found[1], language)
    for found in _IMPORTED.finditer(code):
        for name in found[1].split(","):
            yield from module_files(name.split()[0] if name.split() else "", language)


def module_files(name: str, language: Language) -> Iterator[str]:
    """Yield where the code of a module may lie, which is named by its path or by its name."""
    if not name or name.endswith(_DATA):
        return
    yield name
    bare = name.replace("::", "/")
    if language in _DOTTED and "/" not in name:
        bare = bare.replace(".", "/")
    for ending in _ENDINGS.get(language, ()):
        yield f"{bare}{ending}"
