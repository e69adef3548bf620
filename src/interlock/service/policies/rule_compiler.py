"""What comes with Interlock, compiled into one msgpack file when it is built.

It loads many times faster than the TOML files. It holds their checksum: if they have changed
since, it is ignored and the TOML files are read instead. A build has no other dependency of
Interlock than msgspec, so modules imported here may use no other.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import RulesError

COMPILED: Final = "builtin_rules.msgpack"
PACKAGE: Final = Path(__file__).parents[2]
"""Where the package is: `importlib.resources` would load a dozen modules to say the same."""
POLICY: Final = "policy"
KEYS: Final = "keys"
"""The modules that hold the defaults which stand in fields."""
_FOLDERS: Final = {
    "packs": "policy/actions/packs",
    "secrets": "secrets/packs",
    "programs": "commands/programs",
    POLICY: "policy/config",
}
_EXAMPLES: Final = frozenset(("match", "not-match", "example"))
"""What rules carry for their tests alone; every fifth byte is one."""

Document = Mapping[str, object]


class CompiledFile(msgspec.Struct, frozen=True, kw_only=True):
    """The compiled tables, and what they were made from."""

    checksum: int = -1
    """A file of another version may have none."""
    tables: msgspec.Raw


def compile_rules(root: Path | None = None) -> bytes:
    """Return the compiled file of what stands below a package folder."""
    texts = rule_texts(root)
    documents = documents_in(texts)
    tables: dict[str, object] = {
        kind: {name: _stripped(document) for name, document in named.items()}
        for kind, named in documents.items()
    }
    tables[POLICY] = {**documents[POLICY], "merged": _default_policy(documents[POLICY])}
    return msgspec.msgpack.encode(
        CompiledFile(
            checksum=checksum_of(texts), tables=msgspec.Raw(msgspec.msgpack.encode(tables))
        )
    )


def rule_texts(root: Path | None = None) -> dict[str, dict[str, bytes]]:
    """Return the files by kind and name."""
    package = PACKAGE if root is None else root
    texts = {kind: _files_in(package / folder, ".toml") for kind, folder in _FOLDERS.items()}
    return {**texts, KEYS: _files_in(package / _FOLDERS[POLICY], ".py")}


def documents_in(texts: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, Document]]:
    """Parse the TOML files, by kind and name."""
    return {
        kind: {name: document_from_toml(file_of(kind, name), text) for name, text in named.items()}
        for kind, named in texts.items()
        if kind != KEYS
    }


def document_from_toml(file: str, text: bytes) -> Document:
    """Parse a TOML file; raise RulesError if it is invalid."""
    import tomllib  # noqa: PLC0415 - not needed if the compiled file is current

    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesError([f"{file}: not valid TOML: {error}"]) from error


def file_of(kind: str, name: str) -> str:
    """Return the path of a TOML file, starting with the package."""
    return f"interlock/{_FOLDERS[kind]}/{name}.toml"


def checksum_of(texts: Mapping[str, Mapping[str, bytes]]) -> int:
    """Return a number that is another one when a file is changed."""
    checksum = 0
    for kind, named in texts.items():
        for name, text in named.items():
            checksum = crc32(text, crc32(f"{kind}/{name}/{len(text)}/".encode(), checksum))
    return checksum


def _default_policy(documents: Mapping[str, Document]) -> dict[str, object]:
    from interlock.policy.config.layers import KnownRules, default_layer, merge  # noqa: PLC0415 - for a build alone

    nothing = KnownRules(packs=frozenset(), commands={}, secrets=frozenset())
    presets = msgspec.convert(documents["presets"], dict[str, dict[str, object]])
    merged = merge([default_layer(documents["defaults"], presets)], nothing)
    return {"policy": merged.policy, "hash": merged.hash}


def _files_in(folder: Path, suffix: str) -> dict[str, bytes]:
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return {
        entry.name.removesuffix(suffix): entry.read_bytes()
        for entry in entries
        if entry.name.endswith(suffix)
    }


def _stripped(document: Document) -> Document:
    """Return a file without the examples of its rules."""
    if "rule" not in document:
        return document
    rules = msgspec.convert(document["rule"], list[dict[str, object]])
    return {**document, "rule": [_emptied(rule) for rule in rules]}


def _emptied(rule: Document) -> Document:
    return {key: () if key in _EXAMPLES else value for key, value in rule.items()}
