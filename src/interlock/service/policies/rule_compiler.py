"""The TOML files that come with Interlock, compiled into one msgpack file when it is built.

A new process reads that file thirty times as fast. It names the digest of the TOML files it was
made from: where those have changed since, it does not count, and they are read themselves.
This module needs msgspec and nothing else of Interlock, so that a build can use it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

COMPILED: Final = "builtin_rules.msgpack"
PACKAGE: Final = Path(__file__).parents[2]
"""Where the package is: `importlib.resources` would load a dozen modules to say the same."""
_FOLDERS: Final = {
    "packs": "policy/actions/packs",
    "secrets": "secrets/packs",
    "programs": "commands/programs",
    "policy": "policy/config",
}
_EXAMPLES: Final = frozenset(("match", "not-match", "example"))
"""What rules carry for their tests alone; every fifth byte is one."""

Document = Mapping[str, object]


class CompiledFile(msgspec.Struct, frozen=True, kw_only=True):
    """The compiled tables, and what they were made from."""

    digest: bytes
    tables: msgspec.Raw


def compile_rules(root: Path | None = None) -> bytes:
    """Return the compiled file of the TOML files below a package folder."""
    texts = rule_texts(root)
    tables = {kind: _without_examples(documents) for kind, documents in documents_in(texts).items()}
    return msgspec.msgpack.encode(
        CompiledFile(digest=digest_of(texts), tables=msgspec.Raw(msgspec.msgpack.encode(tables)))
    )


def rule_texts(root: Path | None = None) -> dict[str, dict[str, bytes]]:
    """Return the TOML files by kind and name."""
    package = PACKAGE if root is None else root
    return {kind: _files_in(package.joinpath(folder)) for kind, folder in _FOLDERS.items()}


def documents_in(texts: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, Document]]:
    """Return what the files say, by kind and name."""
    import tomllib  # noqa: PLC0415 - not needed where the compiled file counts

    return {
        kind: {name: tomllib.loads(text.decode()) for name, text in named.items()}
        for kind, named in texts.items()
    }


def digest_of(texts: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """Return what stands for these files and no others."""
    digest = hashlib.sha256()
    for kind, named in texts.items():
        for name, text in named.items():
            digest.update(f"{kind}/{name}/{len(text)}/".encode())
            digest.update(text)
    return digest.digest()


def _files_in(folder: Path) -> dict[str, bytes]:
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return {
        entry.name.removesuffix(".toml"): entry.read_bytes()
        for entry in entries
        if entry.name.endswith(".toml")
    }


def _without_examples(documents: Mapping[str, Document]) -> dict[str, Document]:
    return {name: _stripped(document) for name, document in documents.items()}


def _stripped(document: Document) -> Document:
    if "rule" not in document:
        return document
    rules = msgspec.convert(document["rule"], list[dict[str, object]])
    return {**document, "rule": [_emptied(rule) for rule in rules]}


def _emptied(rule: Document) -> Document:
    return {key: () if key in _EXAMPLES else value for key, value in rule.items()}
