"""Cargo.toml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.policy.evidence.manifests.toml_text import Line, Table, lines, parsed, strings, table

_SECTIONS: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_TOP: Final = frozenset(
    "badges bench bin build-dependencies cargo-features dependencies dev-dependencies example"
    " features lib lints package patch profile project replace target test workspace".split()
)
_NOT_PACKAGES: Final = frozenset(
    "authors autobenches autobins autoexamples autotests build bench categories codegen-units debug"
    " default default-run description doc documentation edition exclude features harness homepage"
    " include incremental keywords license license-file links lto name opt-level overflow-checks"
    " panic path proc-macro publish readme repository resolver rpath rust-version strip test"
    " version".split()
)


def cargo_toml(text: str) -> Iterator[str]:
    """Yield the crates of a Cargo.toml."""
    document = parsed(text)
    if document is not None and _TOP.issuperset(document):
        yield from (f"cargo:{name}" for name in _crates(document))
    else:
        yield from (f"cargo:{name}" for line in lines(text) for name in _crates_in(line))


def _crates(document: Table) -> Iterator[str]:
    places = [document, table(document.get("workspace")), *_tables_in(document.get("target"))]
    sections = [table(place.get(section)) for place in places for section in _SECTIONS]
    for section in (*sections, *_tables_in(document.get("patch"))):
        for name, wanted in section.items():
            renamed = table(wanted).get("package")
            yield renamed if isinstance(renamed, str) else name
    # The old way to patch names the version as well: `"foo:0.1.0" = { ... }`.
    yield from (name.partition(":")[0] for name in table(document.get("replace")))


def _tables_in(value: object) -> list[Table]:
    return [table(each) for each in table(value).values()]


def _crates_in(line: Line) -> Iterator[str]:
    parts = (line.header or "").split(".")
    if len(parts) > 1 and parts[-2] in _SECTIONS:
        yield parts[-1].strip("\"'")
        if line.starts and line.key == "package":
            yield from strings(line.value)
    elif line.starts and (parts[-1] in _SECTIONS or parts[0] == "patch" or _may_be_a_crate(line)):
        yield from _crate_of(line)


def _may_be_a_crate(line: Line) -> bool:
    name = (line.key or "").partition(".")[0]
    return line.header is None and name not in _NOT_PACKAGES and not line.value.startswith("[")


def _crate_of(line: Line) -> Iterator[str]:
    _, renamed, rest = line.value.partition("package")
    real = next(strings(rest), "") if renamed and line.value.startswith("{") else ""
    yield real or (line.key or "").partition(".")[0]
